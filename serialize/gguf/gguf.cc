#include "serialize/gguf/gguf.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/annotate.h"
#include "base/status_macros.h"
#include "serialize/gguf/gguf_blocks.h"

namespace weft {
namespace {

constexpr uint32_t kMagic = 0x46554747;  // "GGUF".
constexpr int64_t kDefaultAlignment = 32;
constexpr int kMaxRank = 4;
// The least bytes of a tensor's entry and of a pair: an empty name, and what follows.
constexpr int64_t kLeastEntry = 8 + 4 + 4 + 8;
constexpr int64_t kLeastPair = 8 + 4 + 1;

// Names of types by ggml's number.
struct TypeName {
  uint32_t number;
  const char* name;
};

constexpr TypeName kTypeNames[] = {
    {0, "F32"},   {1, "F16"},   {2, "Q4_0"},   {3, "Q4_1"},  {6, "Q5_0"},  {7, "Q5_1"},
    {8, "Q8_0"},  {9, "Q8_1"},  {10, "Q2_K"},  {11, "Q3_K"}, {12, "Q4_K"}, {13, "Q5_K"},
    {14, "Q6_K"}, {15, "Q8_K"}, {24, "I8"},    {25, "I16"},  {26, "I32"},  {27, "I64"},
    {28, "F64"},  {30, "BF16"}, {39, "MXFP4"},
};

std::string NameOfType(uint32_t number) {
  for (const TypeName& type : kTypeNames) {
    if (type.number == number) return type.name;
  }
  return absl::StrCat("type ", number);
}

std::optional<DType> PlainDType(uint32_t number) {
  switch (number) {
    case 0:
      return DType::kF32;
    case 1:
      return DType::kF16;
    case 24:
      return DType::kI8;
    case 25:
      return DType::kI16;
    case 26:
      return DType::kI32;
    case 27:
      return DType::kI64;
    case 28:
      return DType::kF64;
    case 30:
      return DType::kBF16;
    default:
      return std::nullopt;
  }
}

// Values of metadata.
enum ValueType : uint32_t {
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kString,
  kArray,
  kU64,
  kI64,
  kF64
};

class Reader {
 public:
  explicit Reader(const HostBuffer& data) : data_(data) {}

  absl::StatusOr<GgufFile> Run() {
    GgufFile file;
    WEFT_ASSIGN_OR_RETURN(const uint32_t magic, Number<uint32_t>());
    if (magic != kMagic) return Bad("it does not begin with the magic GGUF");
    WEFT_ASSIGN_OR_RETURN(file.version, Number<uint32_t>());
    if (file.version != 2 && file.version != 3) {
      return Bad(absl::StrCat("version ", file.version, "; versions 2 and 3 are read"));
    }
    WEFT_ASSIGN_OR_RETURN(const int64_t tensors, Count("tensors", kLeastEntry));
    WEFT_ASSIGN_OR_RETURN(const int64_t pairs, Count("pairs of metadata", kLeastPair));
    for (int64_t i = 0; i < pairs; ++i) WEFT_RETURN_IF_ERROR(ReadPair(&file));
    for (int64_t i = 0; i < tensors; ++i) WEFT_RETURN_IF_ERROR(ReadTensor(&file));
    WEFT_RETURN_IF_ERROR(PlaceTensors(&file));
    return file;
  }

 private:
  absl::Status Bad(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("byte ", at_, ": ", what));
  }
  int64_t left() const { return data_.size() - at_; }

  template <typename T>
  absl::StatusOr<T> Number() {
    if (left() < static_cast<int64_t>(sizeof(T))) return Bad("the file ends");
    T v;
    std::memcpy(&v, data_.data() + at_, sizeof(T));
    at_ += static_cast<int64_t>(sizeof(T));
    return v;
  }

  // A number of things that take at least `least` bytes each.
  absl::StatusOr<int64_t> Count(absl::string_view what, int64_t least) {
    WEFT_ASSIGN_OR_RETURN(const uint64_t n, Number<uint64_t>());
    if (n > static_cast<uint64_t>(left() / least)) {
      return Bad(absl::StrCat(n, " ", what, " do not fit in the file"));
    }
    return static_cast<int64_t>(n);
  }

  absl::StatusOr<std::string> String() {
    WEFT_ASSIGN_OR_RETURN(const int64_t n, Count("bytes of a string", 1));
    std::string text(reinterpret_cast<const char*>(data_.data() + at_), n);
    at_ += n;
    return text;
  }

  template <typename T>
  absl::StatusOr<std::string> Text() {
    WEFT_ASSIGN_OR_RETURN(const T v, Number<T>());
    if constexpr (sizeof(T) == 1) {
      return absl::StrCat(static_cast<int>(v));
    } else {
      return absl::StrCat(v);
    }
  }

  absl::StatusOr<std::string> Value(uint32_t type) {
    switch (type) {
      case kU8:
      case kBool:
        return Text<uint8_t>();
      case kI8:
        return Text<int8_t>();
      case kU16:
        return Text<uint16_t>();
      case kI16:
        return Text<int16_t>();
      case kU32:
        return Text<uint32_t>();
      case kI32:
        return Text<int32_t>();
      case kF32:
        return Text<float>();
      case kU64:
        return Text<uint64_t>();
      case kI64:
        return Text<int64_t>();
      case kF64:
        return Text<double>();
      case kString:
        return String();
      case kArray:
        return Array();
      default:
        return Bad(absl::StrCat("a value of type ", type, ", which GGUF lacks"));
    }
  }

  // Arrays of arrays are not written by anyone, and would nest as deep as the file is long.
  absl::StatusOr<std::string> Array() {
    WEFT_ASSIGN_OR_RETURN(const uint32_t type, Number<uint32_t>());
    if (type == kArray) return Bad("an array of arrays");
    WEFT_ASSIGN_OR_RETURN(const int64_t n, Count("elements of an array", 1));
    for (int64_t i = 0; i < n; ++i) WEFT_RETURN_IF_ERROR(Value(type).status());
    return absl::StrCat(n);
  }

  absl::Status ReadPair(GgufFile* file) {
    WEFT_ASSIGN_OR_RETURN(std::string key, String());
    WEFT_ASSIGN_OR_RETURN(const uint32_t type, Number<uint32_t>());
    WEFT_ASSIGN_OR_RETURN(std::string value, Value(type));
    if (key == "general.alignment") {
      if (type != kU32) return Bad("general.alignment is a number of type UINT32");
      WEFT_RETURN_IF_ERROR(SetAlignment(value));
    }
    if (!file->metadata.emplace(std::move(key), std::move(value)).second) {
      return Bad("a second value of a key");
    }
    return absl::OkStatus();
  }

  absl::Status SetAlignment(const std::string& value) {
    if (absl::SimpleAtoi(value, &alignment_) && alignment_ > 0 &&
        (alignment_ & (alignment_ - 1)) == 0)
      return absl::OkStatus();
    return Bad(absl::StrCat("general.alignment is ", value, ", which is no power of two"));
  }

  absl::Status ReadTensor(GgufFile* file) {
    GgufTensor tensor;
    WEFT_ASSIGN_OR_RETURN(tensor.name, String());
    if (!names_.insert(tensor.name).second) {
      return Bad(absl::StrCat("a second tensor '", tensor.name, "'"));
    }
    WEFT_ASSIGN_OR_RETURN(const uint32_t rank, Number<uint32_t>());
    if (rank > kMaxRank) return Bad(absl::StrCat(rank, " dims; tensors have at most ", kMaxRank));
    for (uint32_t d = 0; d < rank; ++d) {
      WEFT_ASSIGN_OR_RETURN(const int64_t size, Number<int64_t>());
      tensor.dims.insert(tensor.dims.begin(), size);
    }
    WEFT_ASSIGN_OR_RETURN(tensor.type, Number<uint32_t>());
    WEFT_ASSIGN_OR_RETURN(tensor.offset, Number<int64_t>());
    WEFT_RETURN_IF_ERROR(CheckTensor(&tensor));
    file->tensors.push_back(std::move(tensor));
    return absl::OkStatus();
  }

  absl::Status CheckTensor(GgufTensor* tensor) const {
    const std::optional<int64_t> numel = CheckedNumel(tensor->dims);
    if (!numel) return Bad(absl::StrCat("the dims of '", tensor->name, "' are not a tensor's"));
    tensor->type_name = NameOfType(tensor->type);
    tensor->bytes = -1;
    const std::optional<DType> plain = PlainDType(tensor->type);
    const GgufBlockFormat* format = FindGgufBlockFormat(tensor->type);
    if (!plain && format == nullptr) return absl::OkStatus();
    const int64_t elements = plain ? 1 : format->elements;
    const int64_t bytes = plain ? DTypeBits(*plain) / 8 : format->bytes;
    const int64_t row = tensor->dims.empty() ? 1 : tensor->dims.back();
    if (row % elements != 0) {
      return Bad(absl::StrCat("rows of ", row, " elements of '", tensor->name,
                              "' are no blocks of ", elements));
    }
    const int64_t blocks = *numel / elements;
    if (blocks > data_.size() / bytes) {
      return Bad(absl::StrCat("'", tensor->name, "' is larger than the file"));
    }
    tensor->bytes = blocks * bytes;
    return absl::OkStatus();
  }

  // Offsets count from the first multiple of the alignment behind the entries.
  absl::Status PlaceTensors(GgufFile* file) {
    const int64_t pad = (alignment_ - at_ % alignment_) % alignment_;
    // Without data the file may end early.
    const int64_t begin = at_ + std::min(pad, left());
    for (GgufTensor& tensor : file->tensors) {
      const int64_t room = data_.size() - begin;
      const bool aligned = tensor.offset >= 0 && tensor.offset % alignment_ == 0;
      if (!aligned || tensor.offset > room ||
          std::max<int64_t>(tensor.bytes, 0) > room - tensor.offset) {
        return absl::InvalidArgumentError(
            absl::StrCat("the data of '", tensor.name, "' at offset ", tensor.offset,
                         aligned ? " lies outside of the file" : " is not aligned"));
      }
      tensor.offset += begin;
    }
    return absl::OkStatus();
  }

  const HostBuffer& data_;
  int64_t at_ = 0;
  int64_t alignment_ = kDefaultAlignment;
  std::set<std::string> names_;
};

// Two codes of four bits are a byte, the first one in the low bits.
void WriteCodes(const GgufBlock& block, const GgufBlockFormat& format, uint8_t* to) {
  if (DTypeBits(format.values) == 8) {
    std::memcpy(to, block.codes, format.elements);
    return;
  }
  for (int64_t i = 0; i < format.elements / 2; ++i) {
    to[i] = static_cast<uint8_t>((block.codes[2 * i] & 15) | (block.codes[2 * i + 1] & 15) << 4);
  }
}

absl::StatusOr<GgufWeight> LoadBlocks(const GgufFile& file, const GgufTensor& tensor,
                                      const GgufBlockFormat& format) {
  GgufWeight weight;
  weight.block = format.group;
  std::vector<int64_t> dims = tensor.dims;
  WEFT_ASSIGN_OR_RETURN(weight.values, HostTensor::Allocate(format.values, dims));
  dims.back() /= format.group;
  WEFT_ASSIGN_OR_RETURN(weight.scales, HostTensor::Allocate(format.scales, dims));
  const int64_t code_bytes = format.elements * DTypeBits(format.values) / 8;
  const int64_t groups = format.elements / format.group;
  const uint8_t* from = file.data->data() + tensor.offset;
  std::vector<double> scales, offsets;
  scales.reserve(weight.scales.numel());
  GgufBlock block;
  for (int64_t i = 0; i < weight.scales.numel() / groups; ++i) {
    format.read(from + i * format.bytes, &block);
    WriteCodes(block, format, weight.values.raw() + i * code_bytes);
    scales.insert(scales.end(), block.scales, block.scales + groups);
    if (format.has_offsets) offsets.insert(offsets.end(), block.offsets, block.offsets + groups);
  }
  weight.scales.WriteDoubles(scales);
  if (format.has_offsets) {
    WEFT_ASSIGN_OR_RETURN(weight.offsets, HostTensor::Allocate(format.scales, dims));
    weight.offsets.WriteDoubles(offsets);
  }
  return weight;
}

}  // namespace

absl::StatusOr<GgufFile> ParseGguf(std::shared_ptr<HostBuffer> data) {
  WEFT_ASSIGN_OR_RETURN(GgufFile file, Reader(*data).Run());
  file.data = std::move(data);
  return file;
}

absl::StatusOr<GgufFile> ReadGguf(const std::string& path) {
  WEFT_ASSIGN_OR_RETURN(std::shared_ptr<HostBuffer> data, HostBuffer::MapFile(path));
  auto file = ParseGguf(std::move(data));
  if (!file.ok()) return Annotate(file.status(), path);
  return file;
}

absl::StatusOr<GgufWeight> LoadGguf(const GgufFile& file, const GgufTensor& tensor) {
  if (tensor.bytes < 0) {
    return absl::UnimplementedError(absl::StrCat(
        "tensor '", tensor.name, "' is of ", tensor.type_name,
        "; F32, F16, BF16, F64, integers, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K to Q6_K and MXFP4 are "
        "read"));
  }
  const std::optional<DType> plain = PlainDType(tensor.type);
  if (!plain) return LoadBlocks(file, tensor, *FindGgufBlockFormat(tensor.type));
  GgufWeight weight;
  const uint8_t* bytes = file.data->data() + tensor.offset;
  const int64_t size = DTypeBits(*plain) / 8;
  if (reinterpret_cast<uintptr_t>(bytes) % size == 0 && tensor.offset % size == 0) {
    WEFT_ASSIGN_OR_RETURN(
        weight.values, HostTensor::View(file.data, *plain, tensor.dims, {}, tensor.offset / size));
    return weight;
  }
  WEFT_ASSIGN_OR_RETURN(weight.values, HostTensor::Allocate(*plain, tensor.dims));
  std::memcpy(weight.values.raw(), bytes, tensor.bytes);
  return weight;
}

}  // namespace weft
