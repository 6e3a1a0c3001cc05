// The tables of ATen operators: one for each theme file, joined here.
#ifndef WEFT_SERIALIZE_PT2_ATEN_TABLES_H_
#define WEFT_SERIALIZE_PT2_ATEN_TABLES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "serialize/pt2/aten_call.h"

namespace weft::pt2 {

absl::Span<const AtenOp> ActivationTable();
absl::Span<const AtenOp> AdaptivePoolTable();
absl::Span<const AtenOp> AttentionTable();
absl::Span<const AtenOp> AttentionKernelTable();
absl::Span<const AtenOp> BackwardTable();
absl::Span<const AtenOp> BinaryTable();
absl::Span<const AtenOp> ComplexTable();
absl::Span<const AtenOp> ComposeTable();
absl::Span<const AtenOp> ConvTable();
absl::Span<const AtenOp> CopyTable();
absl::Span<const AtenOp> CreateTable();
absl::Span<const AtenOp> DropoutTable();
absl::Span<const AtenOp> EinsumTable();
absl::Span<const AtenOp> EmbeddingTable();
absl::Span<const AtenOp> FftTable();
absl::Span<const AtenOp> GradientTable();
absl::Span<const AtenOp> GroupedTable();
absl::Span<const AtenOp> IndexTable();
absl::Span<const AtenOp> JoinTable();
absl::Span<const AtenOp> LinalgTable();
absl::Span<const AtenOp> LossTable();
absl::Span<const AtenOp> MatmulTable();
absl::Span<const AtenOp> NormTable();
absl::Span<const AtenOp> PadTable();
absl::Span<const AtenOp> PoolTable();
absl::Span<const AtenOp> PrimsTable();
absl::Span<const AtenOp> QuantBlocksTable();
absl::Span<const AtenOp> QuantChooseTable();
absl::Span<const AtenOp> QuantTable();
absl::Span<const AtenOp> RandomTable();
absl::Span<const AtenOp> RecurrentTable();
absl::Span<const AtenOp> ReduceTable();
absl::Span<const AtenOp> ResizeTable();
absl::Span<const AtenOp> ScatterTable();
absl::Span<const AtenOp> SearchTable();
absl::Span<const AtenOp> SortTable();
absl::Span<const AtenOp> SpecialTable();
absl::Span<const AtenOp> SpectralTable();
absl::Span<const AtenOp> SpectrogramTable();
absl::Span<const AtenOp> StatisticsTable();
absl::Span<const AtenOp> StorageTable();
absl::Span<const AtenOp> SymbolicTable();
absl::Span<const AtenOp> UnaryTable();
absl::Span<const AtenOp> ViewTable();
absl::Span<const AtenOp> VisionTable();

// An operator with its schema parsed.
struct KnownOp {
  AtenSchema schema;
  AtenFn fn = nullptr;
};

// Looks up a target such as "torch.ops.aten.add.Tensor"; null if it is unknown. FindWritten handles
// operators that write an argument (`add_.Tensor`).
const KnownOp* FindAten(absl::string_view target);
// "torch.ops.aten.add_.Tensor" gives the functional twin, `add.Tensor`; null if the name does not
// end in `_`, or there is no twin.
const KnownOp* FindWritten(absl::string_view target);
// All operators, sorted by target.
std::vector<std::pair<std::string, const KnownOp*>> AllAten();

// True if an operator with that schema name draws random numbers (in training, if it has a flag for
// that).
bool IsRandom(absl::string_view name);

// The reason that an operator is left out on purpose; "" if no reason is recorded.
absl::string_view ReasonForAbsence(absl::string_view target);

}  // namespace weft::pt2

#endif  // WEFT_SERIALIZE_PT2_ATEN_TABLES_H_
