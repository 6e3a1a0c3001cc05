// The operator tables: one for each theme file, joined here.
#ifndef WEFT_SERIALIZE_ONNX_IMPORT_IMPORT_TABLES_H_
#define WEFT_SERIALIZE_ONNX_IMPORT_IMPORT_TABLES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "serialize/onnx/import/import_context.h"

namespace weft::onnx_import {

// Each theme file defines `absl::Span<const OnnxOp> XTable()`, sorted by operator name.
absl::Span<const OnnxOp> AttentionTable();
absl::Span<const OnnxOp> BinaryTable();
absl::Span<const OnnxOp> ContribAttentionTable();
absl::Span<const OnnxOp> ContribMatMulTable();
absl::Span<const OnnxOp> ContribQuantTable();
absl::Span<const OnnxOp> ContribTable();
absl::Span<const OnnxOp> ContribWeightTable();
absl::Span<const OnnxOp> ConvTable();
absl::Span<const OnnxOp> FlexAttentionTable();
absl::Span<const OnnxOp> GenericTable();
absl::Span<const OnnxOp> IfTable();
absl::Span<const OnnxOp> IndexTable();
absl::Span<const OnnxOp> LinearAttentionTable();
absl::Span<const OnnxOp> LossTable();
absl::Span<const OnnxOp> LoopTable();
absl::Span<const OnnxOp> MathTable();
absl::Span<const OnnxOp> MoveTable();
absl::Span<const OnnxOp> NormTable();
absl::Span<const OnnxOp> PoolTable();
absl::Span<const OnnxOp> QuantTable();
absl::Span<const OnnxOp> ReduceTable();
absl::Span<const OnnxOp> ResizeTable();
absl::Span<const OnnxOp> RnnTable();
absl::Span<const OnnxOp> RotaryTable();
absl::Span<const OnnxOp> ScanTable();
absl::Span<const OnnxOp> ShapeTable();
absl::Span<const OnnxOp> SignalTable();
absl::Span<const OnnxOp> UnaryTable();
absl::Span<const OnnxOp> VisionTable();

// All tables.
std::vector<absl::Span<const OnnxOp>> AllTables();

struct FoundOp {
  const OnnxOp* op = nullptr;
  int since_version = 0;
};
// The greatest version that is not above `opset`; `op` is null if there is none.
FoundOp FindOp(absl::string_view domain, absl::string_view op_type, int opset);
// True if the tables have the operator in any version.
bool IsKnownOp(absl::string_view domain, absl::string_view op_type);

// The reason that an operator is left out on purpose; "" if no reason is recorded.
absl::string_view ReasonForAbsence(absl::string_view domain, absl::string_view op_type);

}  // namespace weft::onnx_import

#endif  // WEFT_SERIALIZE_ONNX_IMPORT_IMPORT_TABLES_H_
