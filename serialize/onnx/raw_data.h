// Large raw data of a model's initializers, used in place.
//
// Protobuf copies what it parses. For a memory-mapped model the weights need no copy: they are
// removed from the bytes before parsing.
#ifndef WEFT_SERIALIZE_ONNX_RAW_DATA_H_
#define WEFT_SERIALIZE_ONNX_RAW_DATA_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace weft::onnx_import {

// Smaller data is copied.
inline constexpr size_t kSmallRawBytes = 4096;

struct RawData {
  int initializer = 0;     // Index among the main graph's initializers.
  absl::string_view data;  // A range of the model's bytes.
};

struct WithoutRawData {
  std::string model;  // A ModelProto.
  std::vector<RawData> removed;
};

// Nullopt if no initializer has more than kSmallRawBytes of raw data, or if the bytes have an
// unusual form: the parser then reports the error, if any.
std::optional<WithoutRawData> RemoveRawData(absl::string_view model);

}  // namespace weft::onnx_import

#endif  // WEFT_SERIALIZE_ONNX_RAW_DATA_H_
