// A ModelProto as bytes, with large weights where a reader can map them.
#ifndef WEFT_SERIALIZE_ONNX_EXPORT_EXPORT_BYTES_H_
#define WEFT_SERIALIZE_ONNX_EXPORT_EXPORT_BYTES_H_

#include <string>

#include "onnx/onnx_pb.h"

namespace weft::onnx_export {

// Raw data of more than kSmallRawBytes starts at a multiple of this.
inline constexpr int64_t kRawAlignment = 64;

// Takes the raw data out of `model`. Empty when the bytes pass `max_bytes`. Blanks in the
// doc_string of an initializer move its data to its place.
std::string SerializeModel(onnx::ModelProto* model, int64_t max_bytes);

}  // namespace weft::onnx_export

#endif  // WEFT_SERIALIZE_ONNX_EXPORT_EXPORT_BYTES_H_
