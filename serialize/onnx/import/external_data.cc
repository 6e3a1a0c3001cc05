// Tensor data in files beside the model.
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/host_buffer.h"
#include "base/status_macros.h"
#include "graph/tensor/tensor.h"
#include "serialize/onnx/import/tensor_proto.h"

namespace weft::onnx_import {
namespace {

namespace fs = std::filesystem;

// Refuses locations that could name a file outside of the folder, before the file system is
// accessed.
absl::Status CheckLocation(const std::string& location) {
  const auto refuse = [&](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("external data location \"", location, "\" ", why));
  };
  if (location.empty()) return refuse("is empty");
  if (location.find('\0') != std::string::npos) return refuse("has a NUL byte");
  if (location[0] == '/' || location[0] == '\\' || (location.size() > 1 && location[1] == ':')) {
    return refuse("is not relative to the model's folder");
  }
  for (absl::string_view part : absl::StrSplit(location, absl::ByAnyChar("/\\"))) {
    if (part == "..") return refuse("leaves the model's folder");
  }
  return absl::OkStatus();
}

// The path with symbolic links resolved; must be below `folder`.
absl::StatusOr<std::string> ResolveInside(const std::string& folder, const std::string& location) {
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  if (error) {
    return absl::NotFoundError(absl::StrCat("the model's folder ", folder, ": ", error.message()));
  }
  const fs::path file = fs::canonical(root / location, error);
  if (error) {
    return absl::NotFoundError(
        absl::StrCat("external data file \"", location, "\": ", error.message()));
  }
  if (file == root) {
    return absl::InvalidArgumentError(absl::StrCat("external data location \"", location,
                                                   "\" is the model's folder and not a file"));
  }
  std::string prefix = root.string();
  if (!absl::EndsWith(prefix, "/")) prefix += '/';
  if (file == root || fs::is_directory(file, error)) {
    return absl::InvalidArgumentError(
        absl::StrCat("external data location \"", location, "\" is not a file, it is a folder"));
  }
  if (!absl::StartsWith(file.string(), prefix)) {
    return absl::InvalidArgumentError(absl::StrCat("external data location \"", location,
                                                   "\" is a link that leaves the model's folder"));
  }
  if (!fs::is_regular_file(file, error)) {
    return absl::InvalidArgumentError(
        absl::StrCat("external data location \"", location, "\" is not a file"));
  }
  return file.string();
}

struct ExternalEntry {
  std::string location;
  int64_t offset = 0;
  int64_t length = -1;
};

absl::StatusOr<ExternalEntry> ReadEntry(const ::onnx::TensorProto& proto) {
  ExternalEntry entry;
  bool located = false;
  for (const auto& pair : proto.external_data()) {
    int64_t* number = pair.key() == "offset"   ? &entry.offset
                      : pair.key() == "length" ? &entry.length
                                               : nullptr;
    if (pair.key() == "location") {
      entry.location = pair.value();
      located = true;
    } else if (number != nullptr && (!absl::SimpleAtoi(pair.value(), number) || *number < 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the ", pair.key(), " of its external data is \"", pair.value(), "\""));
    }
  }
  if (!located) {
    return absl::InvalidArgumentError("its external data has no location");
  }
  return entry;
}

}  // namespace

absl::StatusOr<std::shared_ptr<HostBuffer>> TensorLoader::OpenExternal(const std::string& location,
                                                                       int64_t offset,
                                                                       int64_t length) {
  WEFT_RETURN_IF_ERROR(CheckLocation(location));
  if (base_dir_.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("external data location \"", location,
                     "\" cannot be opened: the model was not read from a folder"));
  }
  WEFT_ASSIGN_OR_RETURN(const std::string path, ResolveInside(base_dir_, location));
  std::error_code error;
  const auto size = static_cast<int64_t>(fs::file_size(path, error));
  if (error) {
    return absl::NotFoundError(
        absl::StrCat("external data file \"", location, "\": ", error.message()));
  }
  if (offset > size || length > size - offset) {
    return absl::InvalidArgumentError(absl::StrCat("external data file \"", location, "\" has ",
                                                   size, " bytes, but the tensor is at offset ",
                                                   offset, ", ", length, " bytes long"));
  }
  return HostBuffer::MapFile(path, offset, length);
}

absl::StatusOr<HostTensor> TensorLoader::LoadExternal(const ::onnx::TensorProto& proto,
                                                      DType dtype) {
  WEFT_ASSIGN_OR_RETURN(const ExternalEntry entry, ReadEntry(proto));
  const std::vector<int64_t> dims(proto.dims().begin(), proto.dims().end());
  const std::optional<int64_t> numel = CheckedNumel(dims);
  const int64_t want = DTypeBytes(dtype, *numel);
  if (entry.length >= 0 && entry.length != want) {
    return absl::InvalidArgumentError(absl::StrCat("its external data has ", entry.length,
                                                   " bytes, ", DTypeName(dtype),
                                                   ToString(ToSymInts(dims)), " needs ", want));
  }
  // The location of an empty tensor is checked too.
  if (want == 0) {
    WEFT_RETURN_IF_ERROR(CheckLocation(entry.location));
    return HostTensor::Allocate(dtype, dims, max_bytes_);
  }
  WEFT_ASSIGN_OR_RETURN(std::shared_ptr<HostBuffer> mapped,
                        OpenExternal(entry.location, entry.offset, want));
  const auto address = reinterpret_cast<uintptr_t>(mapped->data());
  if (dtype != DType::kBool && address % alignof(std::max_align_t) == 0) {
    return HostTensor::View(std::move(mapped), dtype, dims);
  }
  WEFT_ASSIGN_OR_RETURN(HostTensor t, HostTensor::Allocate(dtype, dims, max_bytes_));
  std::memcpy(t.raw(), mapped->data(), want);
  if (dtype == DType::kBool) {
    for (int64_t i = 0; i < want; ++i) t.raw()[i] = t.raw()[i] != 0;
  }
  return t;
}

}  // namespace weft::onnx_import
