#include "serialize/onnx/import/import_tables.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"

namespace weft::onnx_import {

std::vector<absl::Span<const OnnxOp>> AllTables() {
  return {
      AttentionTable(),
      BinaryTable(),
      ContribAttentionTable(),
      ContribMatMulTable(),
      ContribQuantTable(),
      ContribTable(),
      ContribWeightTable(),
      ConvTable(),
      FlexAttentionTable(),
      GenericTable(),
      IfTable(),
      IndexTable(),
      LinearAttentionTable(),
      LossTable(),
      LoopTable(),
      MathTable(),
      MoveTable(),
      NormTable(),
      PoolTable(),
      QuantTable(),
      ReduceTable(),
      ResizeTable(),
      RnnTable(),
      RotaryTable(),
      ScanTable(),
      ShapeTable(),
      SignalTable(),
      UnaryTable(),
      VisionTable(),
  };
}

namespace {

using OpKey = std::pair<absl::string_view, absl::string_view>;
using OpMap = absl::flat_hash_map<OpKey, std::vector<FoundOp>>;

const OpMap& Map() {
  static const OpMap* const map = [] {
    auto* m = new OpMap;
    for (absl::Span<const OnnxOp> table : AllTables()) {
      for (const OnnxOp& op : table) {
        for (int version : op.versions) {
          if (version == 0) break;
          (*m)[{op.domain, op.op_type}].push_back({&op, version});
        }
      }
    }
    return m;
  }();
  return *map;
}

struct Absence {
  const char* op_type;
  const char* reason;
};

constexpr char kRandom[] = "random numbers cannot be reproduced";
constexpr char kSequence[] = "sequences and optionals are not supported";
constexpr char kString[] = "strings are not supported";

constexpr Absence kAbsent[] = {
    {"Bernoulli", kRandom},
    {"ConcatFromSequence", kSequence},
    {"ImageDecoder", "decoding images is not a tensor program"},
    {"Multinomial", kRandom},
    {"Optional", kSequence},
    {"OptionalGetElement", kSequence},
    {"OptionalHasElement", kSequence},
    {"RandomNormal", kRandom},
    {"RandomNormalLike", kRandom},
    {"RandomUniform", kRandom},
    {"RandomUniformLike", kRandom},
    {"RegexFullMatch", kString},
    {"SequenceAt", kSequence},
    {"SequenceConstruct", kSequence},
    {"SequenceEmpty", kSequence},
    {"SequenceErase", kSequence},
    {"SequenceInsert", kSequence},
    {"SequenceLength", kSequence},
    {"SequenceMap", kSequence},
    {"SplitToSequence", kSequence},
    {"StringConcat", kString},
    {"StringNormalizer", kString},
    {"StringSplit", kString},
    {"TfIdfVectorizer", kString},
};

}  // namespace

FoundOp FindOp(absl::string_view domain, absl::string_view op_type, int opset) {
  FoundOp best;
  auto it = Map().find(OpKey(domain, op_type));
  if (it == Map().end()) return best;
  for (const FoundOp& found : it->second) {
    if (found.since_version <= opset && found.since_version > best.since_version) {
      best = found;
    }
  }
  return best;
}

bool IsKnownOp(absl::string_view domain, absl::string_view op_type) {
  return Map().contains(OpKey(domain, op_type));
}

absl::string_view ReasonForAbsence(absl::string_view domain, absl::string_view op_type) {
  if (absl::StartsWith(domain, "ai.onnx.preview.training") ||
      absl::StartsWith(domain, "ai.onnx.training")) {
    return "training operators are not supported";
  }
  if (domain == "ai.onnx.ml") {
    return "traditional machine learning is out of scope";
  }
  if (!domain.empty()) return "";
  for (const Absence& absence : kAbsent) {
    if (op_type == absence.op_type) return absence.reason;
  }
  return "";
}

}  // namespace weft::onnx_import
