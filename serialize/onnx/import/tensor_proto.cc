#include "serialize/onnx/import/tensor_proto.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/annotate.h"
#include "base/status_macros.h"
#include "graph/tensor/type.h"
#include "serialize/onnx/raw_data.h"

namespace weft::onnx_import {
namespace {

using ::onnx::TensorProto;

struct OnnxType {
  const char* name;
  std::optional<DType> dtype;
};

// ONNX types by number; the last ones are newer than Debian's onnx.proto.
constexpr OnnxType kTypes[] = {
    {"UNDEFINED", std::nullopt},
    {"FLOAT", DType::kF32},
    {"UINT8", DType::kU8},
    {"INT8", DType::kI8},
    {"UINT16", DType::kU16},
    {"INT16", DType::kI16},
    {"INT32", DType::kI32},
    {"INT64", DType::kI64},
    {"STRING", std::nullopt},
    {"BOOL", DType::kBool},
    {"FLOAT16", DType::kF16},
    {"DOUBLE", DType::kF64},
    {"UINT32", DType::kU32},
    {"UINT64", DType::kU64},
    {"COMPLEX64", DType::kC64},
    {"COMPLEX128", DType::kC128},
    {"BFLOAT16", DType::kBF16},
    {"FLOAT8E4M3FN", DType::kF8E4M3},
    {"FLOAT8E4M3FNUZ", DType::kF8E4M3FNUZ},
    {"FLOAT8E5M2", DType::kF8E5M2},
    {"FLOAT8E5M2FNUZ", DType::kF8E5M2FNUZ},
    {"UINT4", DType::kU4},
    {"INT4", DType::kI4},
    {"FLOAT4E2M1", DType::kF4E2M1},
    {"FLOAT8E8M0", DType::kF8E8M0},
    {"UINT2", std::nullopt},
    {"INT2", std::nullopt},
};

class StringBuffer : public HostBuffer {
 public:
  explicit StringBuffer(std::unique_ptr<std::string> bytes)
      : HostBuffer(reinterpret_cast<uint8_t*>(bytes->data()), static_cast<int64_t>(bytes->size())),
        bytes_(std::move(bytes)) {}

 private:
  std::unique_ptr<std::string> bytes_;
};

std::vector<int64_t> Dims(const TensorProto& proto) {
  return {proto.dims().begin(), proto.dims().end()};
}

std::string DimsText(const TensorProto& proto) { return ToString(ToSymInts(Dims(proto))); }

// Number of elements; an error for negative dims and overflow, also if 16 bytes per element would
// overflow.
absl::StatusOr<int64_t> NumElements(const TensorProto& proto) {
  const std::optional<int64_t> numel = CheckedNumel(Dims(proto));
  if (!numel || *numel > (int64_t{1} << 58)) {
    return absl::InvalidArgumentError(
        absl::StrCat("its dims ", DimsText(proto), " are not a tensor's"));
  }
  return *numel;
}

absl::Status WrongSize(const TensorProto& proto, DType dtype, int64_t got, int64_t want,
                       absl::string_view unit) {
  return absl::InvalidArgumentError(absl::StrCat(DTypeName(dtype), DimsText(proto), " needs ", want,
                                                 " ", unit, ", but there are ", got));
}

// A bool byte must be 0 or 1 in Weft.
void NormalizeBools(HostTensor* t) {
  if (t->dtype() != DType::kBool) return;
  uint8_t* p = t->raw();
  for (int64_t i = 0; i < t->numel(); ++i) p[i] = p[i] != 0;
}

absl::StatusOr<HostTensor> FromBytes(const TensorProto& proto, DType dtype, const void* bytes,
                                     int64_t size, int64_t max_bytes) {
  WEFT_ASSIGN_OR_RETURN(HostTensor t, HostTensor::Allocate(dtype, Dims(proto), max_bytes));
  if (size > 0) std::memcpy(t.raw(), bytes, size);
  NormalizeBools(&t);
  return t;
}

// Converts a typed field, with one entry per element or part of one, to To.
template <typename To, typename Field>
absl::StatusOr<HostTensor> FromField(const TensorProto& proto, DType dtype, const Field& field,
                                     int64_t want, int64_t max_bytes) {
  if (field.size() != want) {
    return WrongSize(proto, dtype, field.size(), want, "entries");
  }
  std::vector<To> values(field.begin(), field.end());
  return FromBytes(proto, dtype, values.data(), static_cast<int64_t>(values.size() * sizeof(To)),
                   max_bytes);
}

}  // namespace

std::string OnnxTypeName(int data_type) {
  if (data_type < 0 || data_type >= static_cast<int>(std::size(kTypes))) {
    return absl::StrCat("data type ", data_type);
  }
  return kTypes[data_type].name;
}

absl::StatusOr<DType> DTypeFromOnnx(int data_type) {
  if (data_type <= 0 || data_type >= static_cast<int>(std::size(kTypes))) {
    return absl::InvalidArgumentError(
        absl::StrCat(OnnxTypeName(data_type), " is not an element type of ONNX"));
  }
  if (!kTypes[data_type].dtype) {
    return absl::UnimplementedError(
        absl::StrCat("element type ", OnnxTypeName(data_type), " is not supported"));
  }
  return *kTypes[data_type].dtype;
}

absl::StatusOr<DType> HeldDType(int data_type) {
  const NarrowType* narrow = FindNarrowType(data_type);
  if (narrow != nullptr) return narrow->held;
  return DTypeFromOnnx(data_type);
}

absl::StatusOr<Type> TensorLoader::TypeOf(const TensorProto& proto, absl::string_view what) {
  auto dtype = HeldDType(proto.data_type());
  auto numel = NumElements(proto);
  const absl::Status& bad = dtype.ok() ? numel.status() : dtype.status();
  if (!bad.ok()) return Annotate(bad, what);
  return Type::Tensor(*dtype, ToSymInts(Dims(proto)));
}

absl::StatusOr<HostTensor> TensorLoader::Load(TensorProto& proto, absl::string_view what) {
  auto it = loaded_.find(&proto);
  if (it != loaded_.end()) return it->second;
  auto dtype = HeldDType(proto.data_type());
  absl::StatusOr<HostTensor> tensor = dtype.ok() ? LoadAs(proto, *dtype) : dtype.status();
  if (!tensor.ok()) return Annotate(tensor.status(), what);
  loaded_[&proto] = *tensor;
  return tensor;
}

absl::StatusOr<HostTensor> TensorLoader::LoadAs(TensorProto& proto, DType dtype) {
  WEFT_ASSIGN_OR_RETURN(const int64_t n, NumElements(proto));
  if (proto.dims_size() > Type::kMaxRank) {
    return absl::InvalidArgumentError(
        absl::StrCat("it has ", proto.dims_size(), " dims; the limit is ", Type::kMaxRank));
  }
  if (proto.has_segment()) {
    return absl::UnimplementedError("tensors in segments are not supported");
  }
  const NarrowType* narrow = FindNarrowType(proto.data_type());
  if (narrow != nullptr) return LoadNarrow(proto, *narrow);
  if (proto.data_location() == TensorProto::EXTERNAL) {
    return LoadExternal(proto, dtype);
  }
  const auto in_place = raw_data_.find(&proto);
  if (in_place != raw_data_.end()) return LoadInPlace(proto, dtype, in_place->second);
  if (proto.has_raw_data()) return LoadRaw(proto, dtype);
  switch (dtype) {
    case DType::kF32:
      return FromField<float>(proto, dtype, proto.float_data(), n, max_bytes_);
    case DType::kC64:
      return FromField<float>(proto, dtype, proto.float_data(), 2 * n, max_bytes_);
    case DType::kF64:
      return FromField<double>(proto, dtype, proto.double_data(), n, max_bytes_);
    case DType::kC128:
      return FromField<double>(proto, dtype, proto.double_data(), 2 * n, max_bytes_);
    case DType::kI64:
      return FromField<int64_t>(proto, dtype, proto.int64_data(), n, max_bytes_);
    case DType::kU64:
      return FromField<uint64_t>(proto, dtype, proto.uint64_data(), n, max_bytes_);
    case DType::kU32:
      return FromField<uint32_t>(proto, dtype, proto.uint64_data(), n, max_bytes_);
    default:
      break;
  }
  // All other dtypes are in int32_data: integers, and the bits of narrow floats. Two 4-bit elements
  // share an entry.
  const int64_t entries = DTypeBits(dtype) < 8 ? DTypeBytes(dtype, n) : n;
  switch (DTypeBits(dtype)) {
    case 32:
      return FromField<int32_t>(proto, dtype, proto.int32_data(), entries, max_bytes_);
    case 16:
      return FromField<uint16_t>(proto, dtype, proto.int32_data(), entries, max_bytes_);
    default:
      return FromField<uint8_t>(proto, dtype, proto.int32_data(), entries, max_bytes_);
  }
}

// Reads the packed bytes, from any field, as a vector of u8, and unpacks the elements.
absl::StatusOr<HostTensor> TensorLoader::LoadNarrow(const TensorProto& proto,
                                                    const NarrowType& type) {
  WEFT_ASSIGN_OR_RETURN(const int64_t n, NumElements(proto));
  TensorProto packed;
  packed.set_data_type(TensorProto::UINT8);
  packed.add_dims(PackedBytes(type, n));
  packed.set_data_location(proto.data_location());
  *packed.mutable_external_data() = proto.external_data();
  const auto in_place = raw_data_.find(&proto);
  if (in_place != raw_data_.end()) {
    WEFT_ASSIGN_OR_RETURN(const HostTensor bytes,
                          LoadInPlace(packed, DType::kU8, in_place->second));
    return Unpack(type, Dims(proto), {bytes.raw(), static_cast<size_t>(bytes.numel())}, max_bytes_);
  }
  *packed.mutable_int32_data() = proto.int32_data();
  if (proto.has_raw_data()) packed.set_raw_data(proto.raw_data());
  WEFT_ASSIGN_OR_RETURN(const HostTensor bytes, LoadAs(packed, DType::kU8));
  return Unpack(type, Dims(proto), {bytes.raw(), static_cast<size_t>(bytes.numel())}, max_bytes_);
}

absl::StatusOr<HostTensor> TensorLoader::LoadRaw(TensorProto& proto, DType dtype) {
  WEFT_ASSIGN_OR_RETURN(const int64_t n, NumElements(proto));
  const int64_t want = DTypeBytes(dtype, n);
  const auto got = static_cast<int64_t>(proto.raw_data().size());
  if (got != want) return WrongSize(proto, dtype, got, want, "bytes");
  if (want <= static_cast<int64_t>(kSmallRawBytes) || dtype == DType::kBool) {
    return FromBytes(proto, dtype, proto.raw_data().data(), got, max_bytes_);
  }
  if (want > max_bytes_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("it takes ", want, " bytes; the limit is ", max_bytes_));
  }
  auto bytes = std::make_unique<std::string>();
  bytes->swap(*proto.mutable_raw_data());
  return HostTensor::View(std::make_shared<StringBuffer>(std::move(bytes)), dtype, Dims(proto));
}

absl::StatusOr<HostTensor> TensorLoader::LoadInPlace(const TensorProto& proto, DType dtype,
                                                     const std::shared_ptr<HostBuffer>& data) {
  WEFT_ASSIGN_OR_RETURN(const int64_t n, NumElements(proto));
  const int64_t want = DTypeBytes(dtype, n);
  if (data->size() != want) return WrongSize(proto, dtype, data->size(), want, "bytes");
  const int64_t alignment = std::max<int64_t>(DTypeBits(dtype) / 8, 1);
  const bool aligned = reinterpret_cast<uintptr_t>(data->data()) % alignment == 0;
  if (aligned && dtype != DType::kBool) return HostTensor::View(data, dtype, Dims(proto));
  return FromBytes(proto, dtype, data->data(), data->size(), max_bytes_);
}

}  // namespace weft::onnx_import
