// How each op is written, by theme.
#ifndef WEFT_SERIALIZE_ONNX_EXPORT_EXPORT_TABLES_H_
#define WEFT_SERIALIZE_ONNX_EXPORT_EXPORT_TABLES_H_

#include "absl/types/span.h"
#include "serialize/onnx/export/export_node.h"

namespace weft {
class OpDef;
}  // namespace weft

namespace weft::onnx_export {

absl::Span<const ExportEntry> AbsentExports();
absl::Span<const ExportEntry> ActivationExports();
absl::Span<const ExportEntry> BinaryExports();
absl::Span<const ExportEntry> ControlExports();
absl::Span<const ExportEntry> EinsumExports();
absl::Span<const ExportEntry> ElementwiseExports();
absl::Span<const ExportEntry> IndexExports();
absl::Span<const ExportEntry> NnExports();
absl::Span<const ExportEntry> PoolExports();
absl::Span<const ExportEntry> QuantExports();
absl::Span<const ExportEntry> RecurrentExports();
absl::Span<const ExportEntry> ReduceExports();
absl::Span<const ExportEntry> ShapeExports();
absl::Span<const ExportEntry> SignalExports();
absl::Span<const ExportEntry> ViewExports();
absl::Span<const ExportEntry> VisionExports();

// Null for ops that no table has.
const ExportEntry* FindExport(const OpDef& op);

}  // namespace weft::onnx_export

#endif  // WEFT_SERIALIZE_ONNX_EXPORT_EXPORT_TABLES_H_
