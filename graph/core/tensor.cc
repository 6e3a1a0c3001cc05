#include "graph/core/tensor.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/core/check.h"

namespace weft {
namespace {

using Wide = __int128;

constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();
constexpr int64_t kMinInt64 = std::numeric_limits<int64_t>::min();

// Zeroed memory that starts on a cache line.
class OwnedBuffer : public HostBuffer {
 public:
  // Null when there is not so much memory.
  static std::shared_ptr<HostBuffer> TryAllocate(int64_t size) {
    constexpr size_t kAlignment = 64;
    if (size < 0) return nullptr;
    void* block = std::calloc(static_cast<size_t>(size) + kAlignment, 1);
    if (block == nullptr) return nullptr;
    const uintptr_t start =
        (reinterpret_cast<uintptr_t>(block) + kAlignment - 1) & -kAlignment;
    return std::make_shared<OwnedBuffer>(
        block, reinterpret_cast<uint8_t*>(start), size);
  }
  OwnedBuffer(void* block, uint8_t* data, int64_t size)
      : HostBuffer(data, size), block_(block) {}
  ~OwnedBuffer() override { std::free(block_); }

 private:
  void* block_;
};

class BorrowedBuffer : public HostBuffer {
 public:
  BorrowedBuffer(uint8_t* data, int64_t size) : HostBuffer(data, size) {}
};

class MappedBuffer : public HostBuffer {
 public:
  MappedBuffer(uint8_t* pages, int64_t skipped, int64_t size)
      : HostBuffer(pages + skipped, size),
        pages_(pages),
        length_(static_cast<size_t>(skipped + size)) {}
  ~MappedBuffer() override { munmap(pages_, length_); }

 private:
  uint8_t* pages_;
  size_t length_;
};

// Closes the file when it goes out of scope.
class File {
 public:
  explicit File(const std::string& path)
      : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

// Bytes of `numel` elements when 64 bits hold them.
std::optional<int64_t> CheckedBytes(DType dtype, int64_t numel) {
  const Wide bytes = (static_cast<Wide>(numel) * DTypeBits(dtype) + 7) / 8;
  if (bytes > kMaxInt64) return std::nullopt;
  return static_cast<int64_t>(bytes);
}

std::string DimsToString(absl::Span<const int64_t> dims) {
  return absl::StrCat("[", absl::StrJoin(dims, ", "), "]");
}

std::string Describe(DType dtype, absl::Span<const int64_t> dims) {
  return absl::StrCat(DTypeName(dtype), DimsToString(dims));
}

// The smallest and largest element index that dims and strides reach. No
// element: nothing.
std::optional<std::pair<Wide, Wide>> Reach(absl::Span<const int64_t> dims,
                                           absl::Span<const int64_t> strides,
                                           int64_t offset) {
  // One product takes up to 126 bits; the bound keeps sums of them in 127.
  constexpr Wide kFar = static_cast<Wide>(1) << 120;
  Wide low = offset;
  Wide high = offset;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0) return std::nullopt;
    const Wide last = static_cast<Wide>(dims[i] - 1) * strides[i];
    low = std::max(low + std::min<Wide>(last, 0), -kFar);
    high = std::min(high + std::max<Wide>(last, 0), kFar);
  }
  return std::make_pair(low, high);
}

// Elements `start`, `start + stride`, ... of the buffer.
struct Run {
  int64_t start;
  int64_t stride;
  int64_t count;
};

struct Axis {
  int64_t size;
  int64_t stride;
};

// The axes that matter for a walk in row-major order: none of size 1, and
// neighbours joined where one stride walks both.
std::vector<Axis> JoinAxes(const HostTensor& t) {
  std::vector<Axis> axes;
  for (int i = 0; i < t.rank(); ++i) {
    const Axis axis = {t.dim(i), t.strides()[i]};
    if (axis.size == 1) continue;
    if (!axes.empty() &&
        axes.back().stride == static_cast<Wide>(axis.stride) * axis.size) {
      axes.back() = {axes.back().size * axis.size, axis.stride};
    } else {
      axes.push_back(axis);
    }
  }
  return axes;
}

// Calls `fn(Run)` for the elements of `t` in row-major order; once for a
// contiguous tensor.
template <typename Fn>
void ForEachRun(const HostTensor& t, Fn fn) {
  if (t.numel() == 0) return;
  std::vector<Axis> axes = JoinAxes(t);
  if (axes.empty()) axes.push_back({1, 1});
  const Axis inner = axes.back();
  axes.pop_back();
  std::vector<int64_t> index(axes.size(), 0);
  int64_t start = t.offset();
  while (true) {
    fn(Run{start, inner.stride, inner.size});
    int i = static_cast<int>(axes.size()) - 1;
    for (; i >= 0; --i) {
      if (++index[i] < axes[i].size) {
        start += axes[i].stride;
        break;
      }
      start -= axes[i].stride * (axes[i].size - 1);
      index[i] = 0;
    }
    if (i < 0) return;
  }
}

// `fn(i)` for each element index of a run. The dense case is apart, so that it
// compiles to vector code.
template <typename Fn>
void ForEachInRun(Run run, Fn fn) {
  if (run.stride == 1) {
    for (int64_t i = 0; i < run.count; ++i) fn(run.start + i);
  } else {
    for (int64_t i = 0; i < run.count; ++i) fn(run.start + i * run.stride);
  }
}

// Position in the buffer of the element at a row-major index.
int64_t ElementAt(const HostTensor& t, int64_t index) {
  WEFT_CHECK(index >= 0 && index < t.numel())
      << index << " of " << t.numel() << " elements";
  int64_t element = t.offset();
  for (int i = t.rank() - 1; i >= 0; --i) {
    element += index % t.dim(i) * t.strides()[i];
    index /= t.dim(i);
  }
  return element;
}

// Toward zero; what 64 bits do not hold becomes the nearest value that they do,
// and NaN becomes zero.
int64_t TruncateToInt(double v) {
  if (std::isnan(v)) return 0;
  if (v >= 0x1p63) return kMaxInt64;
  if (v < -0x1p63) return kMinInt64;
  return static_cast<int64_t>(v);
}

uint64_t TruncateToUnsigned(double v) {
  if (v < 0x1p63 || std::isnan(v)) {
    return static_cast<uint64_t>(TruncateToInt(v));
  }
  if (v >= 0x1p64) return std::numeric_limits<uint64_t>::max();
  return static_cast<uint64_t>(v);
}

// A double that rounds to a narrower format as `v` itself does: bits that do
// not fit leave a trace in the last one.
double ToDoubleSticky(int64_t v) {
  uint64_t magnitude = v < 0 ? -static_cast<uint64_t>(v) : v;
  int shift = 0;
  while (magnitude >= (uint64_t{1} << 53)) {
    magnitude = magnitude >> 1 | (magnitude & 1);
    ++shift;
  }
  const double result = std::ldexp(static_cast<double>(magnitude), shift);
  return v < 0 ? -result : result;
}

// Codecs: how the elements of a dtype are read and written by their position.
// Bytes are little-endian and may be unaligned.

template <typename T>
struct PlainCodec {
  T Load(const uint8_t* base, int64_t i) const {
    T v;
    std::memcpy(&v, base + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
    return v;
  }
  void Store(uint8_t* base, int64_t i, T v) const {
    std::memcpy(base + i * static_cast<int64_t>(sizeof(T)), &v, sizeof(T));
  }
};

template <typename T>
struct IntCodec : PlainCodec<T> {
  double ReadDouble(const uint8_t* base, int64_t i) const {
    return static_cast<double>(this->Load(base, i));
  }
  int64_t ReadInt(const uint8_t* base, int64_t i) const {
    return static_cast<int64_t>(this->Load(base, i));
  }
  void WriteDouble(uint8_t* base, int64_t i, double v) const {
    if constexpr (std::is_same_v<T, uint64_t>) {
      this->Store(base, i, TruncateToUnsigned(v));
    } else {
      this->Store(base, i, static_cast<T>(TruncateToInt(v)));
    }
  }
  void WriteInt(uint8_t* base, int64_t i, int64_t v) const {
    this->Store(base, i, static_cast<T>(v));
  }
};

struct BoolCodec : PlainCodec<uint8_t> {
  double ReadDouble(const uint8_t* base, int64_t i) const {
    return Load(base, i) != 0;
  }
  int64_t ReadInt(const uint8_t* base, int64_t i) const {
    return Load(base, i) != 0;
  }
  void WriteDouble(uint8_t* base, int64_t i, double v) const {
    Store(base, i, v != 0);
  }
  void WriteInt(uint8_t* base, int64_t i, int64_t v) const {
    Store(base, i, v != 0);
  }
};

// f32 and f64.
template <typename T>
struct FloatCodec : PlainCodec<T> {
  double ReadDouble(const uint8_t* base, int64_t i) const {
    return this->Load(base, i);
  }
  int64_t ReadInt(const uint8_t* base, int64_t i) const {
    return TruncateToInt(this->Load(base, i));
  }
  void WriteDouble(uint8_t* base, int64_t i, double v) const {
    this->Store(base, i, static_cast<T>(v));
  }
  void WriteInt(uint8_t* base, int64_t i, int64_t v) const {
    this->Store(base, i, static_cast<T>(v));
  }
};

// Floats that C++ has no type for, in the bits of T.
template <typename T>
struct EncodedCodec : PlainCodec<T> {
  DType dtype;
  explicit EncodedCodec(DType d) : dtype(d) {}
  double ReadDouble(const uint8_t* base, int64_t i) const {
    return DecodeFloat(dtype, this->Load(base, i));
  }
  int64_t ReadInt(const uint8_t* base, int64_t i) const {
    return TruncateToInt(ReadDouble(base, i));
  }
  void WriteDouble(uint8_t* base, int64_t i, double v) const {
    this->Store(base, i, static_cast<T>(EncodeFloat(dtype, v)));
  }
  void WriteInt(uint8_t* base, int64_t i, int64_t v) const {
    WriteDouble(base, i, ToDoubleSticky(v));
  }
};

// Two elements a byte, the low nibble first.
template <bool is_signed>
struct NibbleCodec {
  int64_t ReadInt(const uint8_t* base, int64_t i) const {
    const int nibble = base[i >> 1] >> (i % 2 * 4) & 0xf;
    return is_signed ? (nibble ^ 8) - 8 : nibble;
  }
  double ReadDouble(const uint8_t* base, int64_t i) const {
    return static_cast<double>(ReadInt(base, i));
  }
  void WriteInt(uint8_t* base, int64_t i, int64_t v) const {
    const int shift = static_cast<int>(i % 2 * 4);
    const int kept = base[i >> 1] & ~(0xf << shift);
    base[i >> 1] = static_cast<uint8_t>(kept | (v & 0xf) << shift);
  }
  void WriteDouble(uint8_t* base, int64_t i, double v) const {
    WriteInt(base, i, TruncateToInt(v));
  }
};

// Calls `fn` with the codec of `dtype`.
template <typename Fn>
void WithCodec(DType dtype, Fn fn) {
  switch (dtype) {
    case DType::kBool:
      return fn(BoolCodec());
    case DType::kU4:
      return fn(NibbleCodec<false>());
    case DType::kU8:
      return fn(IntCodec<uint8_t>());
    case DType::kU16:
      return fn(IntCodec<uint16_t>());
    case DType::kU32:
      return fn(IntCodec<uint32_t>());
    case DType::kU64:
      return fn(IntCodec<uint64_t>());
    case DType::kI4:
      return fn(NibbleCodec<true>());
    case DType::kI8:
      return fn(IntCodec<int8_t>());
    case DType::kI16:
      return fn(IntCodec<int16_t>());
    case DType::kI32:
      return fn(IntCodec<int32_t>());
    case DType::kI64:
      return fn(IntCodec<int64_t>());
    case DType::kF8E4M3:
    case DType::kF8E5M2:
    case DType::kF8E4M3FNUZ:
    case DType::kF8E5M2FNUZ:
      return fn(EncodedCodec<uint8_t>(dtype));
    case DType::kF16:
    case DType::kBF16:
      return fn(EncodedCodec<uint16_t>(dtype));
    case DType::kF32:
      return fn(FloatCodec<float>());
    case DType::kF64:
      return fn(FloatCodec<double>());
    case DType::kC32:
    case DType::kC64:
    case DType::kC128:
      break;
  }
  WEFT_CHECK(false) << "no real value of " << DTypeName(dtype);
}

// Copies elements by their bits into `out`, densely.
template <typename T>
void CopyElements(const HostTensor& t, uint8_t* out) {
  const uint8_t* base = t.buffer()->data();
  ForEachRun(t, [&](Run run) {
    ForEachInRun(run, [&](int64_t i) {
      std::memcpy(out, base + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
      out += sizeof(T);
    });
  });
}

void CopyNibbles(const HostTensor& t, uint8_t* out) {
  const NibbleCodec<false> codec;
  const uint8_t* base = t.buffer()->data();
  int64_t at = 0;
  ForEachRun(t, [&](Run run) {
    ForEachInRun(run, [&](int64_t i) {
      codec.WriteInt(out, at++, codec.ReadInt(base, i));
    });
  });
}

struct Pair64 {
  uint64_t parts[2];
};

// Of a contiguous tensor: its bytes, and the mask of those bits of the last
// byte that elements use.
struct DenseBytes {
  const uint8_t* data;
  int64_t size;
  uint8_t last_mask;

  explicit DenseBytes(const HostTensor& t)
      : data(t.raw()),
        size(t.bytes()),
        last_mask(DTypeBits(t.dtype()) == 4 && t.numel() % 2 == 1 ? 0x0f
                                                                  : 0xff) {}
};

uint64_t HashStep(uint64_t h, uint64_t word) {
  using U128 = unsigned __int128;
  const U128 product = static_cast<U128>(h ^ word) * 0x9e3779b97f4a7c15ull;
  const uint64_t folded =
      static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  // The rotated state keeps what a zero factor would lose.
  return folded + (h << 23 | h >> 41);
}

uint64_t HashDense(uint64_t h, const DenseBytes& bytes) {
  if (bytes.size == 0) return h;
  const int64_t words = (bytes.size - 1) / 8;  // The last byte is not in these.
  for (int64_t i = 0; i < words; ++i) {
    uint64_t word;
    std::memcpy(&word, bytes.data + i * 8, sizeof(word));
    h = HashStep(h, word);
  }
  const int64_t rest = bytes.size - words * 8;
  uint8_t tail[8] = {};
  std::memcpy(tail, bytes.data + words * 8, rest);
  tail[rest - 1] &= bytes.last_mask;
  uint64_t word;
  std::memcpy(&word, tail, sizeof(word));
  return HashStep(h, word);
}

uint64_t FinishHash(uint64_t h) {
  h = (h ^ h >> 33) * 0xff51afd7ed558ccdull;
  h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53ull;
  return h ^ h >> 33;
}

}  // namespace

std::vector<int64_t> ContiguousStrides(absl::Span<const int64_t> dims) {
  std::vector<int64_t> strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    // Only a tensor without elements, whose strides say nothing, overflows.
    if (__builtin_mul_overflow(stride, std::max<int64_t>(dims[i], 1),
                               &stride)) {
      stride = kMaxInt64;
    }
  }
  return strides;
}

std::optional<int64_t> CheckedNumel(absl::Span<const int64_t> dims) {
  bool empty = false;
  for (int64_t d : dims) {
    if (d < 0) return std::nullopt;
    empty |= d == 0;
  }
  if (empty) return 0;
  int64_t numel = 1;
  for (int64_t d : dims) {
    if (__builtin_mul_overflow(numel, d, &numel)) return std::nullopt;
  }
  return numel;
}

std::shared_ptr<HostBuffer> HostBuffer::Allocate(int64_t size) {
  auto buffer = OwnedBuffer::TryAllocate(size);
  WEFT_CHECK(buffer != nullptr) << "no memory for " << size << " bytes";
  return buffer;
}

std::shared_ptr<HostBuffer> HostBuffer::Borrow(void* data, int64_t size) {
  WEFT_CHECK(size >= 0 && (data != nullptr || size == 0)) << size;
  return std::make_shared<BorrowedBuffer>(static_cast<uint8_t*>(data), size);
}

absl::StatusOr<std::shared_ptr<HostBuffer>> HostBuffer::MapFile(
    const std::string& path, int64_t offset, int64_t size) {
  const File file(path);
  if (file.fd() < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  }
  struct stat info;
  if (fstat(file.fd(), &info) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot stat ", path));
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat("not a regular file: ", path));
  }
  const int64_t file_size = info.st_size;
  if (offset < 0 || offset > file_size || size < -1 ||
      size > file_size - offset) {
    return absl::OutOfRangeError(
        absl::StrCat("bytes ", offset, " + ", size, " lie outside of ", path,
                     ", which has ", file_size));
  }
  if (size == -1) size = file_size - offset;
  if (size == 0) return Allocate(0);  // An empty mapping is an error of mmap.
  const int64_t skipped = offset % sysconf(_SC_PAGESIZE);
  void* pages = mmap(nullptr, static_cast<size_t>(size + skipped), PROT_READ,
                     MAP_PRIVATE, file.fd(), offset - skipped);
  if (pages == MAP_FAILED) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot map ", path));
  }
  return std::make_shared<MappedBuffer>(static_cast<uint8_t*>(pages), skipped,
                                        size);
}

HostTensor::HostTensor(DType dtype, absl::Span<const int64_t> dims)
    : dtype_(dtype),
      dims_(dims.begin(), dims.end()),
      strides_(ContiguousStrides(dims)) {
  const std::optional<int64_t> numel = CheckedNumel(dims);
  WEFT_CHECK(numel.has_value()) << Describe(dtype, dims);
  const std::optional<int64_t> bytes = CheckedBytes(dtype, *numel);
  WEFT_CHECK(bytes.has_value()) << Describe(dtype, dims);
  numel_ = *numel;
  buffer_ = HostBuffer::Allocate(*bytes);
}

absl::StatusOr<HostTensor> HostTensor::Allocate(DType dtype,
                                                absl::Span<const int64_t> dims,
                                                int64_t max_bytes) {
  const std::optional<int64_t> numel = CheckedNumel(dims);
  if (!numel) {
    return absl::InvalidArgumentError(
        absl::StrCat(Describe(dtype, dims),
                     ": a negative dim, or too many elements to count"));
  }
  const std::optional<int64_t> bytes = CheckedBytes(dtype, *numel);
  if (!bytes || *bytes > max_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat(Describe(dtype, dims), " takes more than the ", max_bytes,
                     " bytes allowed"));
  }
  HostTensor t;
  t.buffer_ = OwnedBuffer::TryAllocate(*bytes);
  if (t.buffer_ == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat(Describe(dtype, dims), ": no memory"));
  }
  t.dtype_ = dtype;
  t.dims_.assign(dims.begin(), dims.end());
  t.strides_ = ContiguousStrides(dims);
  t.numel_ = *numel;
  return t;
}

absl::StatusOr<HostTensor> HostTensor::View(std::shared_ptr<HostBuffer> buffer,
                                            DType dtype,
                                            absl::Span<const int64_t> dims,
                                            absl::Span<const int64_t> strides,
                                            int64_t offset) {
  const auto error = [&](absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat("view ", Describe(dtype, dims), ": ", what));
  };
  if (buffer == nullptr) return error("no buffer");
  const std::optional<int64_t> numel = CheckedNumel(dims);
  if (!numel || !CheckedBytes(dtype, *numel)) {
    return error("a negative dim, or too many elements to count");
  }
  HostTensor t;
  t.strides_ = strides.empty()
                   ? ContiguousStrides(dims)
                   : std::vector<int64_t>(strides.begin(), strides.end());
  if (t.strides_.size() != dims.size()) {
    return error(absl::StrCat(strides.size(), " strides"));
  }
  const Wide capacity =
      static_cast<Wide>(buffer->size()) * 8 / DTypeBits(dtype);
  const auto reach = Reach(dims, t.strides_, offset);
  const bool inside = reach ? reach->first >= 0 && reach->second < capacity
                            : offset >= 0 && offset <= capacity;
  if (!inside) {
    return error(absl::StrCat(
        "strides ", DimsToString(t.strides_), " from element ", offset,
        " leave a buffer of ", buffer->size(), " bytes"));
  }
  t.buffer_ = std::move(buffer);
  t.dtype_ = dtype;
  t.dims_.assign(dims.begin(), dims.end());
  t.offset_ = offset;
  t.numel_ = *numel;
  return t;
}

HostTensor HostTensor::FromDoubles(DType dtype, absl::Span<const int64_t> dims,
                                   absl::Span<const double> values) {
  HostTensor t(dtype, dims);
  t.WriteDoubles(values);
  return t;
}

HostTensor HostTensor::FromInts(DType dtype, absl::Span<const int64_t> dims,
                                absl::Span<const int64_t> values) {
  HostTensor t(dtype, dims);
  t.WriteInts(values);
  return t;
}

HostTensor HostTensor::Scalar(DType dtype, double value) {
  return FromDoubles(dtype, {}, {value});
}

HostTensor HostTensor::ScalarInt(DType dtype, int64_t value) {
  return FromInts(dtype, {}, {value});
}

Type HostTensor::type() const {
  return Type::Tensor(dtype_, ToSymInts(dims_));
}

bool HostTensor::is_contiguous() const {
  // Half a byte in, the bytes are not those of the dense form.
  if (DTypeBits(dtype_) == 4 && offset_ % 2 != 0) return false;
  if (numel_ <= 1) return true;
  const std::vector<int64_t> dense = ContiguousStrides(dims_);
  for (int i = 0; i < rank(); ++i) {
    if (dims_[i] != 1 && strides_[i] != dense[i]) return false;
  }
  return true;
}

uint8_t* HostTensor::raw() const {
  WEFT_CHECK(valid());
  const int bits = DTypeBits(dtype_);
  return buffer_->data() + (bits == 4 ? offset_ / 2 : offset_ * (bits / 8));
}

HostTensor HostTensor::Contiguous() const {
  WEFT_CHECK(valid());
  if (is_contiguous()) return *this;
  HostTensor dense(dtype_, dims_);
  uint8_t* out = dense.raw();
  switch (DTypeBits(dtype_)) {
    case 4:
      CopyNibbles(*this, out);
      break;
    case 8:
      CopyElements<uint8_t>(*this, out);
      break;
    case 16:
      CopyElements<uint16_t>(*this, out);
      break;
    case 32:
      CopyElements<uint32_t>(*this, out);
      break;
    case 64:
      CopyElements<uint64_t>(*this, out);
      break;
    default:
      CopyElements<Pair64>(*this, out);
      break;
  }
  return dense;
}

HostTensor HostTensor::Reshaped(absl::Span<const int64_t> dims) const {
  WEFT_CHECK(valid() && is_contiguous()) << Describe(dtype_, dims_);
  WEFT_CHECK(CheckedNumel(dims) == numel_)
      << Describe(dtype_, dims_) << " to " << DimsToString(dims);
  HostTensor t = *this;
  t.dims_.assign(dims.begin(), dims.end());
  t.strides_ = ContiguousStrides(dims);
  return t;
}

std::vector<double> HostTensor::ReadDoubles() const {
  WEFT_CHECK(valid());
  std::vector<double> values(numel_);
  WithCodec(dtype_, [&](auto codec) {
    const uint8_t* base = buffer_->data();
    double* out = values.data();
    ForEachRun(*this, [&](Run run) {
      ForEachInRun(run,
                   [&](int64_t i) { *out++ = codec.ReadDouble(base, i); });
    });
  });
  return values;
}

std::vector<int64_t> HostTensor::ReadInts() const {
  WEFT_CHECK(valid());
  std::vector<int64_t> values(numel_);
  WithCodec(dtype_, [&](auto codec) {
    const uint8_t* base = buffer_->data();
    int64_t* out = values.data();
    ForEachRun(*this, [&](Run run) {
      ForEachInRun(run, [&](int64_t i) { *out++ = codec.ReadInt(base, i); });
    });
  });
  return values;
}

double HostTensor::DoubleAt(int64_t index) const {
  WEFT_CHECK(valid());
  const int64_t element = ElementAt(*this, index);
  double value = 0;
  WithCodec(dtype_, [&](auto codec) {
    value = codec.ReadDouble(buffer_->data(), element);
  });
  return value;
}

int64_t HostTensor::IntAt(int64_t index) const {
  WEFT_CHECK(valid());
  const int64_t element = ElementAt(*this, index);
  int64_t value = 0;
  WithCodec(dtype_, [&](auto codec) {
    value = codec.ReadInt(buffer_->data(), element);
  });
  return value;
}

void HostTensor::WriteDoubles(absl::Span<const double> values) {
  WEFT_CHECK(valid());
  WEFT_CHECK(static_cast<int64_t>(values.size()) == numel_)
      << values.size() << " values for " << Describe(dtype_, dims_);
  WithCodec(dtype_, [&](auto codec) {
    uint8_t* base = buffer_->data();
    const double* in = values.data();
    ForEachRun(*this, [&](Run run) {
      ForEachInRun(run,
                   [&](int64_t i) { codec.WriteDouble(base, i, *in++); });
    });
  });
}

void HostTensor::WriteInts(absl::Span<const int64_t> values) {
  WEFT_CHECK(valid());
  WEFT_CHECK(static_cast<int64_t>(values.size()) == numel_)
      << values.size() << " values for " << Describe(dtype_, dims_);
  WithCodec(dtype_, [&](auto codec) {
    uint8_t* base = buffer_->data();
    const int64_t* in = values.data();
    ForEachRun(*this, [&](Run run) {
      ForEachInRun(run, [&](int64_t i) { codec.WriteInt(base, i, *in++); });
    });
  });
}

bool HostTensor::BitEqual(const HostTensor& other) const {
  if (valid() != other.valid()) return false;
  if (!valid()) return true;
  if (dtype_ != other.dtype_ || dims_ != other.dims_) return false;
  if (numel_ == 0) return true;
  const HostTensor mine = Contiguous();
  const HostTensor theirs = other.Contiguous();
  const DenseBytes a(mine);
  const DenseBytes b(theirs);
  const int64_t last = a.size - 1;
  return std::memcmp(a.data, b.data, last) == 0 &&
         ((a.data[last] ^ b.data[last]) & a.last_mask) == 0;
}

uint64_t HostTensor::Fingerprint() const {
  if (!valid()) return 0;
  uint64_t h = HashStep(0x2545f4914f6cdd1dull, static_cast<uint64_t>(dtype_));
  h = HashStep(h, dims_.size());
  for (int64_t d : dims_) h = HashStep(h, static_cast<uint64_t>(d));
  if (numel_ == 0) return FinishHash(h);
  const HostTensor dense = Contiguous();
  return FinishHash(HashDense(h, DenseBytes(dense)));
}

}  // namespace weft
