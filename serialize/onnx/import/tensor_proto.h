// Converts TensorProto to HostTensor.
//
// Sizes are checked before allocation: a tensor's data must be complete, in the message or in a
// file. External data is memory-mapped; its location must be a relative path inside of the model's
// folder, after resolving symbolic links.
#ifndef WEFT_SERIALIZE_ONNX_IMPORT_TENSOR_PROTO_H_
#define WEFT_SERIALIZE_ONNX_IMPORT_TENSOR_PROTO_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/host_buffer.h"
#include "graph/tensor/tensor.h"
#include "onnx/onnx_pb.h"
#include "serialize/onnx/import/narrow_types.h"

namespace weft::onnx_import {

// TensorProto.DataType as a dtype. Unimplemented for strings and for types that Weft lacks; the
// message names the type.
absl::StatusOr<DType> DTypeFromOnnx(int data_type);
// The same for elements of a tensor: types of narrow_types.h give the dtype that stores them.
absl::StatusOr<DType> HeldDType(int data_type);
// "FLOAT", "INT4", ...; "data type 99" for unknown numbers.
std::string OnnxTypeName(int data_type);

class TensorLoader {
 public:
  // `base_dir`: folder of external data; empty: there must be none.
  explicit TensorLoader(std::string base_dir, int64_t max_bytes = HostTensor::kDefaultMaxBytes)
      : base_dir_(std::move(base_dir)), max_bytes_(max_bytes) {}

  // `data` is the raw data of `proto`, which was removed from it. The tensor uses it in place if
  // its alignment allows that, else a copy.
  void SetRawData(const ::onnx::TensorProto* proto, std::shared_ptr<HostBuffer> data) {
    raw_data_[proto] = std::move(data);
  }

  // Large raw data is moved out of `proto`, so that there is one copy of it; the loader keeps it,
  // and returns it again for the same message. `what` names the tensor in messages.
  absl::StatusOr<HostTensor> Load(::onnx::TensorProto& proto, absl::string_view what);
  // The dtype and dims, without the data.
  static absl::StatusOr<Type> TypeOf(const ::onnx::TensorProto& proto, absl::string_view what);

 private:
  absl::StatusOr<HostTensor> LoadAs(::onnx::TensorProto& proto, DType dtype);
  absl::StatusOr<HostTensor> LoadNarrow(const ::onnx::TensorProto& proto, const NarrowType& type);
  absl::StatusOr<HostTensor> LoadRaw(::onnx::TensorProto& proto, DType dtype);
  absl::StatusOr<HostTensor> LoadInPlace(const ::onnx::TensorProto& proto, DType dtype,
                                         const std::shared_ptr<HostBuffer>& data);
  absl::StatusOr<HostTensor> LoadExternal(const ::onnx::TensorProto& proto, DType dtype);
  absl::StatusOr<std::shared_ptr<HostBuffer>> OpenExternal(const std::string& location,
                                                           int64_t offset, int64_t length);

  std::string base_dir_;
  int64_t max_bytes_;
  absl::flat_hash_map<const ::onnx::TensorProto*, HostTensor> loaded_;
  absl::flat_hash_map<const ::onnx::TensorProto*, std::shared_ptr<HostBuffer>> raw_data_;
};

}  // namespace weft::onnx_import

#endif  // WEFT_SERIALIZE_ONNX_IMPORT_TENSOR_PROTO_H_
