#include "serialize/flat/weftb_file.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/annotate.h"
#include "base/hash.h"
#include "base/host_buffer.h"
#include "base/mapped_memory.h"
#include "base/out_of_memory.h"
#include "base/status_macros.h"
#include "graph/tensor/tensor.h"
#include "serialize/flat/weftb_check.h"
#include "serialize/flat/weftb_constants.h"

namespace weft {
namespace {

absl::string_view BytesOf(const HostBuffer& buffer) {
  return {reinterpret_cast<const char*>(buffer.data()), static_cast<size_t>(buffer.size())};
}

std::string IdText(uint64_t id) { return absl::StrCat("0x", absl::Hex(id, absl::kZeroPad16)); }

// A part of a mapping, which it keeps alive. The destructor of the last tensor on it releases the
// pages, because passes have replaced these weights by others.
class MappedPart : public HostBuffer {
 public:
  MappedPart(std::shared_ptr<MappedMemory> whole, int64_t offset, int64_t bytes)
      : HostBuffer(whole->bytes().data() + offset, bytes), whole_(std::move(whole)) {}
  ~MappedPart() override { ReleaseMappedPages(data(), size()); }

 private:
  const std::shared_ptr<MappedMemory> whole_;
};

// Executors take any bytes of a bool for 0 or 1.
absl::Status CheckBools(const HostTensor& tensor) {
  if (tensor.dtype() != DType::kBool) return absl::OkStatus();
  uint8_t bits = 0;
  for (int64_t i = 0; i < tensor.numel(); ++i) bits |= tensor.raw()[i];
  if (bits <= 1) return absl::OkStatus();
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    if (tensor.raw()[i] <= 1) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("element ", i, " is ", tensor.raw()[i], "; a bool is 0 or 1"));
  }
  return absl::OkStatus();
}

}  // namespace

WeftbFile::WeftbFile(std::string name, std::shared_ptr<HostBuffer> bytes)
    : name_(std::move(name)), bytes_(std::move(bytes)) {}

WeftbFile::~WeftbFile() = default;

absl::Status WeftbFile::Check() {
  const absl::Status status = CatchOutOfMemory([&]() -> absl::Status {
    WEFT_ASSIGN_OR_RETURN(contents_, CheckWeftb(BytesOf(*bytes_)));
    for (size_t i = 0; i < contents_.constants.size(); ++i) {
      by_id_.emplace(contents_.constants[i].id, i);
    }
    return absl::OkStatus();
  });
  return Annotate(status, name_);
}

absl::StatusOr<std::shared_ptr<const WeftbFile>> WeftbFile::Open(const std::string& path) {
  WEFT_ASSIGN_OR_RETURN(std::shared_ptr<HostBuffer> bytes, HostBuffer::MapFile(path));
  return View(std::move(bytes), path, /*is_mapped=*/true);
}

absl::StatusOr<std::shared_ptr<const WeftbFile>> WeftbFile::Parse(absl::string_view bytes,
                                                                  const std::string& name) {
  auto copy = HostBuffer::Allocate(static_cast<int64_t>(bytes.size()));
  if (!bytes.empty()) std::memcpy(copy->data(), bytes.data(), bytes.size());
  return View(std::move(copy), name);
}

absl::StatusOr<std::shared_ptr<const WeftbFile>> WeftbFile::View(std::shared_ptr<HostBuffer> bytes,
                                                                 const std::string& name,
                                                                 bool is_mapped) {
  const std::shared_ptr<WeftbFile> file(new WeftbFile(name, bytes));
  if (is_mapped) file->mapping_ = std::make_shared<MappedMemory>(std::move(bytes));
  WEFT_RETURN_IF_ERROR(file->Check());
  return file;
}

absl::StatusOr<absl::string_view> WeftbFile::Text(int segment) const {
  return Hashed(segment, "text");
}

absl::StatusOr<absl::string_view> WeftbFile::Code(int plan, absl::string_view format) const {
  for (const WeftbContents::Code& code : contents_.codes) {
    if (code.plan == plan && code.format == format) return Hashed(code.segment, "machine code");
  }
  return absl::NotFoundError(absl::StrCat(name_, ": there is no machine code of plan ", plan));
}

absl::StatusOr<absl::string_view> WeftbFile::Hashed(int segment, absl::string_view what) const {
  const WeftbContents::Segment& s = contents_.segments[segment];
  const absl::string_view text = BytesOf(*bytes_).substr(s.offset, s.bytes);
  if (Fnv1a(text) == s.hash) return text;
  return absl::InvalidArgumentError(absl::StrCat(name_, ": the ", what, " in segment ", segment,
                                                 " does not have the hash that the file gives"));
}

absl::StatusOr<HostTensor> WeftbFile::Constant(uint64_t id) const {
  const auto it = by_id_.find(id);
  if (it == by_id_.end()) {
    return absl::NotFoundError(
        absl::StrCat(name_, ": there is no constant of content ", IdText(id)));
  }
  const WeftbContents::Constant& c = contents_.constants[it->second];
  // An empty tensor may have dims that no mapping is large enough for.
  if (c.bytes == 0) return HostTensor::Allocate(c.dtype, c.dims);
  absl::StatusOr<HostTensor> tensor =
      mapping_ != nullptr
          ? HostTensor::View(std::make_shared<MappedPart>(mapping_, c.offset, c.bytes), c.dtype,
                             c.dims)
          : HostTensor::View(bytes_, c.dtype, c.dims, {}, c.offset * 8 / DTypeBits(c.dtype));
  const absl::Status status = tensor.ok() ? CheckBools(*tensor) : tensor.status();
  if (status.ok()) return tensor;
  return Annotate(status, absl::StrCat(name_, ": constant ", IdText(id)));
}

absl::Status WeftbFile::CheckAll() const {
  if (contents_.graph >= 0) WEFT_RETURN_IF_ERROR(Text(contents_.graph).status());
  for (const WeftbContents::Plan& plan : contents_.plans) {
    WEFT_RETURN_IF_ERROR(Text(plan.segment).status());
  }
  for (const WeftbContents::Code& code : contents_.codes) {
    WEFT_RETURN_IF_ERROR(Code(code.plan, code.format).status());
  }
  WeftbConstants constants(*this);
  for (const WeftbContents::Constant& c : contents_.constants) constants.Find(c.id);
  WEFT_RETURN_IF_ERROR(constants.status());
  return constants.CheckContents([](const HostTensor&) { return std::string(); });
}

}  // namespace weft
