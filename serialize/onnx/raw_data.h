// Large raw data of a model's initializers, left where it lies.
//
// Protobuf copies what it parses. Of a model that is mapped into memory the weights
// need no copy: they are taken out of the bytes before these are parsed.
#ifndef WEFT_SERIALIZE_ONNX_RAW_DATA_H_
#define WEFT_SERIALIZE_ONNX_RAW_DATA_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace weft::onnx_import {

// Data that is not worth a place of its own.
inline constexpr size_t kSmallRawBytes = 4096;

struct RawData {
  int initializer = 0;     // Of the main graph, by position.
  absl::string_view data;  // In the model's bytes.
};

struct WithoutRawData {
  std::string model;  // A ModelProto.
  std::vector<RawData> removed;
};

// Nothing when no initializer has more than kSmallRawBytes of raw data, or the bytes are
// not a model as writers write them: the parser then says what is wrong.
std::optional<WithoutRawData> RemoveRawData(absl::string_view model);

}  // namespace weft::onnx_import

#endif  // WEFT_SERIALIZE_ONNX_RAW_DATA_H_
