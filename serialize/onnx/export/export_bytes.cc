#include "serialize/onnx/export/export_bytes.h"

#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "serialize/onnx/raw_data.h"

namespace weft::onnx_export {
namespace {

// Of onnx.proto.
constexpr int kModelGraph = 7;
constexpr int kGraphInitializer = 5;
constexpr int kTensorRawData = 9;
constexpr int kTensorDocString = 12;

int64_t VarintSize(int64_t value) {
  int64_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}

// Of a message, string or bytes; all tags here take one byte.
int64_t FieldSize(int64_t bytes) { return 1 + VarintSize(bytes) + bytes; }

void AppendVarint(int64_t value, std::string* to) {
  for (; value >= 0x80; value >>= 7) to->push_back(static_cast<char>(value | 0x80));
  to->push_back(static_cast<char>(value));
}

void AppendHead(int field, int64_t bytes, std::string* to) {
  to->push_back(static_cast<char>(field << 3 | 2));
  AppendVarint(bytes, to);
}

// An initializer: its other fields, blanks, its raw data.
struct Part {
  std::string head;
  std::unique_ptr<std::string> raw;  // Null: the head is all.
  int64_t blanks = -1;               // -1: no doc_string.

  int64_t PaddingSize() const { return blanks < 0 ? 0 : FieldSize(blanks); }
  int64_t DataSize() const { return raw == nullptr ? 0 : static_cast<int64_t>(raw->size()); }
  int64_t size() const {
    const auto fixed = static_cast<int64_t>(head.size()) + PaddingSize();
    return raw == nullptr ? fixed : fixed + FieldSize(DataSize());
  }
  // Where the data starts after the place of the part.
  int64_t DataAt() const { return FieldSize(size()) - DataSize(); }
};

// Initializers of the graph, which loses them.
std::vector<Part> TakeParts(onnx::GraphProto* graph) {
  std::vector<Part> parts;
  for (onnx::TensorProto& tensor : *graph->mutable_initializer()) {
    Part part;
    const bool large = tensor.raw_data().size() > onnx_import::kSmallRawBytes;
    if (large && !tensor.has_doc_string()) {
      part.raw = std::make_unique<std::string>(std::move(*tensor.mutable_raw_data()));
      tensor.clear_raw_data();
    }
    part.head = tensor.SerializeAsString();
    parts.push_back(std::move(part));
  }
  graph->clear_initializer();
  return parts;
}

// Chooses the blanks for a first part at `at`; where the last one ends.
int64_t Align(int64_t at, std::vector<Part>* parts) {
  for (Part& part : *parts) {
    part.blanks = -1;
    if (part.raw != nullptr) {
      while ((at + part.DataAt()) % kRawAlignment != 0) ++part.blanks;
      WEFT_CHECK(part.blanks < 2 * kRawAlignment) << part.blanks;
    }
    at += FieldSize(part.size());
  }
  return at;
}

void AppendPart(Part* part, std::string* to) {
  AppendHead(kGraphInitializer, part->size(), to);
  to->append(part->head);
  if (part->blanks >= 0) {
    AppendHead(kTensorDocString, part->blanks, to);
    to->append(part->blanks, ' ');
  }
  if (part->raw == nullptr) return;
  AppendHead(kTensorRawData, part->DataSize(), to);
  to->append(*part->raw);
  part->raw.reset();
}

}  // namespace

std::string SerializeModel(onnx::ModelProto* model, int64_t max_bytes) {
  if (!model->has_graph()) return model->SerializeAsString();
  std::vector<Part> parts = TakeParts(model->mutable_graph());
  const std::string graph = model->graph().SerializeAsString();
  model->clear_graph();
  std::string bytes = model->SerializeAsString();
  const auto rest = static_cast<int64_t>(bytes.size());
  // The graph's size comes before its bytes, and what it takes decides where these lie.
  int64_t size = 0;
  for (int64_t digits = 1; digits <= 9; ++digits) {
    const int64_t start = rest + 1 + digits;
    size = Align(start + static_cast<int64_t>(graph.size()), &parts) - start;
    if (VarintSize(size) <= digits) break;
  }
  if (rest + FieldSize(size) > max_bytes) return "";
  bytes.reserve(rest + FieldSize(size));
  AppendHead(kModelGraph, size, &bytes);
  bytes.append(graph);
  for (Part& part : parts) AppendPart(&part, &bytes);
  return bytes;
}

}  // namespace weft::onnx_export
