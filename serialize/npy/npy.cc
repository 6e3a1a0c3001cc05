#include "serialize/npy/npy.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/annotate.h"
#include "base/host_buffer.h"
#include "base/out_of_memory.h"
#include "base/output_file.h"
#include "base/status_macros.h"
#include "graph/tensor/tensor.h"
#include "graph/tensor/type.h"

namespace weft {
namespace {

constexpr absl::string_view kMagic("\x93NUMPY", 6);

struct Descr {
  absl::string_view name;  // Without the byte order.
  DType dtype;
};

constexpr Descr kDescrs[] = {
    {"b1", DType::kBool}, {"u1", DType::kU8},    {"u2", DType::kU16}, {"u4", DType::kU32},
    {"u8", DType::kU64},  {"i1", DType::kI8},    {"i2", DType::kI16}, {"i4", DType::kI32},
    {"i8", DType::kI64},  {"f2", DType::kF16},   {"f4", DType::kF32}, {"f8", DType::kF64},
    {"c8", DType::kC64},  {"c16", DType::kC128},
};

absl::Status Bad(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("not a valid .npy: ", what));
}

// The text after `'key':` in the header's dictionary.
absl::StatusOr<absl::string_view> Field(absl::string_view header, absl::string_view key) {
  const size_t at = header.find(absl::StrCat("'", key, "'"));
  if (at == absl::string_view::npos) {
    return Bad(absl::StrCat("the header has no '", key, "'"));
  }
  absl::string_view rest = header.substr(at + key.size() + 2);
  rest = absl::StripLeadingAsciiWhitespace(rest);
  if (!absl::ConsumePrefix(&rest, ":")) return Bad("the header is malformed");
  return absl::StripLeadingAsciiWhitespace(rest);
}

absl::StatusOr<DType> ParseDescr(absl::string_view header) {
  WEFT_ASSIGN_OR_RETURN(auto field, Field(header, "descr"));
  const std::vector<absl::string_view> quoted = absl::StrSplit(field, '\'');
  if (quoted.size() < 2 || quoted[1].size() < 3) {
    return Bad("'descr' is not a plain type");
  }
  if (quoted[1][0] == '>') {
    return absl::UnimplementedError("big-endian .npy files are not read");
  }
  for (const Descr& d : kDescrs) {
    if (d.name == quoted[1].substr(1)) return d.dtype;
  }
  return absl::UnimplementedError(
      absl::StrCat("dtype '", quoted[1], "' of a .npy file is not read"));
}

absl::StatusOr<std::vector<int64_t>> ParseShape(absl::string_view header) {
  WEFT_ASSIGN_OR_RETURN(auto field, Field(header, "shape"));
  const size_t close = field.find(')');
  if (!absl::ConsumePrefix(&field, "(") || close == absl::string_view::npos) {
    return Bad("'shape' is not a tuple");
  }
  std::vector<int64_t> dims;
  for (absl::string_view part : absl::StrSplit(field.substr(0, close - 1), ',')) {
    part = absl::StripAsciiWhitespace(part);
    if (part.empty()) continue;
    int64_t dim;
    if (!absl::SimpleAtoi(part, &dim) || dim < 0 || dims.size() >= Type::kMaxRank) {
      return Bad("'shape' has a bad size");
    }
    dims.push_back(dim);
  }
  return dims;
}

absl::StatusOr<HostTensor> Parse(absl::string_view bytes) {
  if (!absl::ConsumePrefix(&bytes, kMagic) || bytes.size() < 4) {
    return Bad("it does not begin with the magic string");
  }
  const int major = bytes[0];
  bytes.remove_prefix(2);
  const size_t length_bytes = major == 1 ? 2 : 4;
  if (bytes.size() < length_bytes) return Bad("it is truncated");
  uint32_t length = 0;
  std::memcpy(&length, bytes.data(), length_bytes);
  bytes.remove_prefix(length_bytes);
  if (bytes.size() < length) return Bad("it is truncated");
  const absl::string_view header = bytes.substr(0, length);
  bytes.remove_prefix(length);

  WEFT_ASSIGN_OR_RETURN(auto dtype, ParseDescr(header));
  WEFT_ASSIGN_OR_RETURN(auto dims, ParseShape(header));
  WEFT_ASSIGN_OR_RETURN(auto order, Field(header, "fortran_order"));
  const bool column_major = absl::StartsWith(order, "True");

  const auto numel = CheckedNumel(dims);
  const int64_t have = static_cast<int64_t>(bytes.size());
  if (!numel || *numel > have || DTypeBytes(dtype, *numel) > have) {
    return Bad("it holds less data than its shape says");
  }
  auto buffer = HostBuffer::Allocate(DTypeBytes(dtype, *numel));
  std::memcpy(buffer->data(), bytes.data(), buffer->size());
  if (dtype == DType::kBool) {
    // Any byte except 0 is true in NumPy; Weft requires 1.
    for (int64_t i = 0; i < buffer->size(); ++i) buffer->data()[i] = buffer->data()[i] != 0;
  }
  // Without elements the order does not matter, and strides may not fit in 64 bits.
  if (!column_major || *numel == 0) {
    return HostTensor::View(std::move(buffer), dtype, dims);
  }
  std::vector<int64_t> strides(dims.size());
  int64_t stride = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    strides[i] = stride;
    stride *= dims[i];
  }
  WEFT_ASSIGN_OR_RETURN(auto view, HostTensor::View(std::move(buffer), dtype, dims, strides));
  return view.Contiguous();
}

}  // namespace

absl::StatusOr<HostTensor> ParseNpy(absl::string_view bytes) {
  return CatchOutOfMemory([&] { return Parse(bytes); });
}

absl::StatusOr<HostTensor> ReadNpy(const std::string& path) {
  WEFT_ASSIGN_OR_RETURN(const std::shared_ptr<HostBuffer> file, HostBuffer::MapFile(path));
  auto tensor =
      ParseNpy({reinterpret_cast<const char*>(file->data()), static_cast<size_t>(file->size())});
  if (!tensor.ok()) return Annotate(tensor.status(), path);
  return tensor;
}

absl::StatusOr<std::string> FormatNpy(const HostTensor& tensor) {
  const Descr* descr = nullptr;
  for (const Descr& d : kDescrs) {
    if (d.dtype == tensor.dtype()) descr = &d;
  }
  if (descr == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("NumPy has no dtype for ", DTypeName(tensor.dtype())));
  }
  std::string header =
      absl::StrCat("{'descr': '", DTypeBits(tensor.dtype()) == 8 ? "|" : "<", descr->name,
                   "', 'fortran_order': False, 'shape': (", absl::StrJoin(tensor.dims(), ", "),
                   tensor.rank() == 1 ? "," : "", "), }");
  // The data starts at a multiple of 64 bytes, and the header ends with a newline.
  while ((kMagic.size() + 4 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string out(kMagic);
  out.append("\x01\x00", 2);
  const uint16_t length = static_cast<uint16_t>(header.size());
  out.append(reinterpret_cast<const char*>(&length), sizeof(length));
  out += header;
  const HostTensor dense = tensor.Contiguous();
  out.append(reinterpret_cast<const char*>(dense.raw()), dense.bytes());
  return out;
}

absl::Status WriteNpy(const std::string& path, const HostTensor& tensor) {
  WEFT_ASSIGN_OR_RETURN(auto bytes, FormatNpy(tensor));
  return WriteFile(path, bytes);
}

}  // namespace weft
