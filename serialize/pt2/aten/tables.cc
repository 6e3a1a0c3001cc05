#include "serialize/pt2/aten/tables.h"

#include <map>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/check.h"

namespace weft::pt2 {
namespace {

using OpMap = std::map<std::string, KnownOp, std::less<>>;

// "prims::mul.default" is torch.ops.prims.mul.default; without a namespace the operator is ATen's.
std::string TargetOf(absl::string_view name) {
  const size_t colons = name.find("::");
  if (colons == absl::string_view::npos) {
    return absl::StrCat("torch.ops.aten.", name);
  }
  return absl::StrCat("torch.ops.", name.substr(0, colons), ".", name.substr(colons + 2));
}

void AddTable(absl::Span<const AtenOp> table, OpMap* ops) {
  for (const AtenOp& row : table) {
    auto schema = AtenSchema::Parse(row.schema);
    WEFT_CHECK(schema.ok()) << schema.status();
    std::string target = TargetOf(schema->name);
    const bool added = ops->emplace(target, KnownOp{*std::move(schema), row.fn}).second;
    WEFT_CHECK(added) << target << " is listed twice";
  }
}

const OpMap& AllOps() {
  static const OpMap& all = *[] {
    auto* ops = new OpMap;
    for (auto table : {ActivationTable, AdaptivePoolTable, AttentionTable,   AttentionKernelTable,
                       BackwardTable,   BinaryTable,       ComplexTable,     ComposeTable,
                       ConvTable,       CopyTable,         CreateTable,      DropoutTable,
                       EinsumTable,     EmbeddingTable,    FftTable,         GradientTable,
                       GroupedTable,    IndexTable,        JoinTable,        LinalgTable,
                       LossTable,       MatmulTable,       NormTable,        PadTable,
                       PoolTable,       PrimsTable,        QuantBlocksTable, QuantChooseTable,
                       QuantTable,      RandomTable,       RecurrentTable,   ReduceTable,
                       ResizeTable,     ScatterTable,      SearchTable,      SortTable,
                       SpecialTable,    SpectralTable,     SpectrogramTable, StatisticsTable,
                       StorageTable,    SymbolicTable,     UnaryTable,       ViewTable,
                       VisionTable}) {
      AddTable(table(), ops);
    }
    return ops;
  }();
  return all;
}

struct Absence {
  // "rand": all overloads of torch.ops.aten.rand; "export::f": those of torch.ops.export.f.
  const char* base;
  const char* reason;
};

constexpr char kRejection[] = "it is drawn by rejection, with no fixed number of draws";
constexpr Absence kAbsent[] = {
    {"binomial", kRejection},
    {"poisson", kRejection},
    {"_standard_gamma", kRejection},
    {"_sample_dirichlet", kRejection},
    {"set_", "storages are not exchanged"},
    {"_weight_int4pack_mm_for_cpu", "its weights are packed for one machine"},
    {"export::access_subclass_inner_tensor",
     "call torchao.utils.unwrap_tensor_subclass before export"},
};

}  // namespace

const KnownOp* FindAten(absl::string_view target) {
  const auto found = AllOps().find(target);
  return found == AllOps().end() ? nullptr : &found->second;
}

const KnownOp* FindWritten(absl::string_view target) {
  const size_t dot = target.rfind('.');
  if (dot == absl::string_view::npos) return nullptr;
  absl::string_view base = target.substr(0, dot);
  if (!absl::ConsumeSuffix(&base, "_") || absl::EndsWith(base, "_")) {
    return nullptr;
  }
  if (const KnownOp* op = FindAten(absl::StrCat(base, target.substr(dot)))) return op;
  // The functional twin of `floor_divide_.Tensor` is `floor_divide`, and that of `ldexp_` is
  // `ldexp.Tensor`.
  return FindAten(absl::StrCat(base, target.substr(dot) == ".Tensor" ? ".default" : ".Tensor"));
}

std::vector<std::pair<std::string, const KnownOp*>> AllAten() {
  std::vector<std::pair<std::string, const KnownOp*>> all;
  for (const auto& [target, op] : AllOps()) all.emplace_back(target, &op);
  return all;
}

bool IsRandom(absl::string_view name) {
  const absl::string_view base = name.substr(0, name.find('.'));
  for (const auto table : {RandomTable, DropoutTable}) {
    for (const AtenOp& row : table()) {
      const absl::string_view schema = row.schema;
      if (schema.substr(0, schema.find_first_of(".(")) == base) return true;
    }
  }
  return false;
}

absl::string_view ReasonForAbsence(absl::string_view target) {
  for (const Absence& absence : kAbsent) {
    absl::string_view overload = target;
    if (!absl::ConsumePrefix(&overload, TargetOf(absence.base))) continue;
    if (overload.empty() || overload[0] == '.') return absence.reason;
  }
  return "";
}

}  // namespace weft::pt2
