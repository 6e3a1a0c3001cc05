#include "serialize/onnx/raw_data.h"

#include <cstdint>
#include <utility>

namespace weft::onnx_import {
namespace {

// Field numbers of onnx.proto.
constexpr uint64_t kModelGraph = 7;
constexpr uint64_t kGraphInitializer = 5;
constexpr uint64_t kTensorRawData = 9;

struct Field {
  uint64_t number = 0;
  bool has_bytes = false;   // The field is a message, string or bytes.
  absl::string_view whole;  // Bytes of the field with its tag.
  absl::string_view bytes;  // Bytes of the payload.
};

// The fields of one message.
class FieldReader {
 public:
  explicit FieldReader(absl::string_view message) : rest_(message) {}

  bool done() const { return rest_.empty(); }
  // False if the bytes are malformed.
  bool Next(Field* field) {
    const absl::string_view start = rest_;
    uint64_t tag = 0;
    uint64_t size = 0;
    if (!Varint(&tag) || tag >> 3 == 0) return false;
    field->number = tag >> 3;
    field->has_bytes = (tag & 7) == 2;
    switch (tag & 7) {
      case 0:
        if (!Varint(&size)) return false;
        size = 0;
        break;
      case 1:
        size = 8;
        break;
      case 2:
        if (!Varint(&size)) return false;
        break;
      case 5:
        size = 4;
        break;
      default:
        return false;
    }
    if (size > rest_.size()) return false;
    field->bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    field->whole = start.substr(0, start.size() - rest_.size());
    return true;
  }

 private:
  bool Varint(uint64_t* value) {
    *value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<uint8_t>(rest_[0]);
      rest_.remove_prefix(1);
      *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  absl::string_view rest_;
};

void Append(absl::string_view bytes, std::string* to) { to->append(bytes.data(), bytes.size()); }

void AppendVarint(uint64_t value, std::string* to) {
  for (; value >= 0x80; value >>= 7) to->push_back(static_cast<char>(value | 0x80));
  to->push_back(static_cast<char>(value));
}

void AppendMessage(uint64_t number, absl::string_view message, std::string* to) {
  AppendVarint(number << 3 | 2, to);
  AppendVarint(message.size(), to);
  Append(message, to);
}

// Copies a tensor without its raw data; `removed` is null if the data is kept.
bool CopyTensor(absl::string_view tensor, std::string* to, absl::string_view* removed) {
  Field field;
  for (FieldReader reader(tensor); !reader.done();) {
    if (!reader.Next(&field)) return false;
    const bool raw = field.number == kTensorRawData;
    if (raw && (!field.has_bytes || removed->data() != nullptr)) return false;
    if (raw && field.bytes.size() > kSmallRawBytes) {
      *removed = field.bytes;
    } else {
      Append(field.whole, to);
    }
  }
  return true;
}

bool CopyGraph(absl::string_view graph, std::string* to, std::vector<RawData>* removed) {
  Field field;
  int position = 0;
  for (FieldReader reader(graph); !reader.done();) {
    if (!reader.Next(&field)) return false;
    if (field.number != kGraphInitializer) {
      Append(field.whole, to);
      continue;
    }
    std::string tensor;
    RawData data{position++, {}};
    if (!field.has_bytes || !CopyTensor(field.bytes, &tensor, &data.data)) return false;
    AppendMessage(kGraphInitializer, tensor, to);
    if (data.data.data() != nullptr) removed->push_back(data);
  }
  return true;
}

}  // namespace

std::optional<WithoutRawData> RemoveRawData(absl::string_view model) {
  WithoutRawData result;
  Field field;
  bool seen = false;
  for (FieldReader reader(model); !reader.done();) {
    if (!reader.Next(&field)) return std::nullopt;
    if (field.number != kModelGraph) {
      Append(field.whole, &result.model);
      continue;
    }
    std::string graph;
    // Gives up on a second graph, because protobuf would merge the two.
    if (seen || !field.has_bytes || !CopyGraph(field.bytes, &graph, &result.removed)) {
      return std::nullopt;
    }
    seen = true;
    AppendMessage(kModelGraph, graph, &result.model);
  }
  if (result.removed.empty()) return std::nullopt;
  return result;
}

}  // namespace weft::onnx_import
