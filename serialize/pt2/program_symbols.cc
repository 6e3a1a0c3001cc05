// Symbols, and the comparison of shapes in the file with inferred ones.
#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ops/ops.h"
#include "graph/ops/shape.h"
#include "graph/sym/sym_facts.h"
#include "graph/verify/verifier.h"
#include "serialize/logs.h"
#include "serialize/pt2/guards.h"
#include "serialize/pt2/program_importer.h"
#include "serialize/pt2/sympy.h"

namespace weft::pt2 {
namespace {

constexpr size_t kMaxSymbolName = 64;

// True for errors of expressions with unknown names, or that Weft cannot represent.
bool SaysNothing(const absl::Status& status) {
  return status.code() == absl::StatusCode::kNotFound ||
         status.code() == absl::StatusCode::kUnimplemented ||
         status.code() == absl::StatusCode::kResourceExhausted;
}

bool IsName(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
  });
}

// The name if the expression is a single symbol.
std::optional<std::string> LoneSymbol(const std::string& expr) {
  std::string name;
  int count = 0;
  const auto value = ParseSympy(expr, [&](absl::string_view symbol) {
    name = std::string(symbol);
    ++count;
    return absl::StatusOr<SymInt>(SymInt::Symbol("x"));
  });
  if (!value.ok() || count != 1 || !value->is_symbol()) return std::nullopt;
  return name;
}

}  // namespace

absl::Status ProgramImporter::DeclareSymbols() {
  for (const RangeConstraint& range : program_.ranges) {
    std::string name = range.expr;
    if (!IsName(name)) {
      // The range of a derived expression follows from those of its symbols.
      const auto lone = LoneSymbol(range.expr);
      if (!lone) continue;
      name = *lone;
    }
    if (range.min && range.max && *range.min > *range.max) {
      return absl::InvalidArgumentError(absl::StrCat("no value of ", name, " lies in its range, [",
                                                     *range.min, ", ", *range.max, "]"));
    }
    ranges_[name] = range;
  }
  return absl::OkStatus();
}

void ProgramImporter::BindSymbol(const std::string& name, SymInt value) {
  symbols_[name] = value;
  const auto range = ranges_.find(name);
  if (range == ranges_.end() || !value.is_symbol()) return;
  const SymbolInfo* known = module_->symbols().Find(value);
  SymbolInfo info;
  info.symbol = value;
  info.unbacked = known != nullptr && known->unbacked;
  info.range.min = range->second.min.value_or(SymRange::kMin);
  info.range.max = range->second.max.value_or(SymRange::kMax);
  if (known != nullptr) {
    info.range.min = std::max(info.range.min, known->range.min);
    info.range.max = std::min(info.range.max, known->range.max);
  }
  if (info.range.min <= info.range.max) module_->symbols().Declare(info);
}

// Adds the exporter's conditions on sizes that the inputs' types do not imply. A guard that is not
// about sizes alone, or that cannot be expressed, is logged and left out.
absl::Status ProgramImporter::AssumeGuards(const Graph& main) {
  for (const std::string& guard : program_.guards) {
    const absl::Status status = AssumeGuard(main, guard);
    if (status.ok()) continue;
    const std::string text = absl::StrCat("guard \"", guard.substr(0, 200), "\": ");
    if (!SaysNothing(status)) {
      return absl::InvalidArgumentError(absl::StrCat(text, status.message()));
    }
    Log(import_log, LogSeverity::kWarning, absl::StrCat(text, "left out: ", status.message()));
  }
  return absl::OkStatus();
}

absl::Status ProgramImporter::AssumeGuard(const Graph& main, absl::string_view guard) {
  const auto size_of = [&](absl::string_view name, int64_t dim) -> absl::StatusOr<SymInt> {
    for (int i = 0; i < main.num_inputs(); ++i) {
      if (main.input_info(i).name != name || !main.input(i)->type().is_tensor()) continue;
      const Type type = main.input(i)->type();
      if (dim >= 0 && dim < type.rank()) return type.dim(static_cast<int>(dim));
      return absl::InvalidArgumentError(absl::StrCat(name, " has no dim ", dim));
    }
    return absl::NotFoundError(absl::StrCat("there is no input ", name));
  };
  SymbolTable& symbols = module_->symbols();
  WEFT_ASSIGN_OR_RETURN(const SymInt condition, ParseGuard(guard, size_of, &symbols));
  if (symbols.Assume(condition, "a guard of the export") != Proof::kNo) return absl::OkStatus();
  return absl::InvalidArgumentError("no sizes that the inputs may have meet it");
}

absl::StatusOr<SymInt> ProgramImporter::ParseSize(const SizeExpr& size, bool declare) {
  if (size.value) return SymInt(*size.value);
  const auto symbol = [&](absl::string_view name) -> absl::StatusOr<SymInt> {
    const std::string key(name);
    const auto known = symbols_.find(key);
    if (known != symbols_.end()) return known->second;
    if (!declare) {
      return absl::NotFoundError(absl::StrCat("the symbol ", name, " is not defined"));
    }
    if (name.size() > kMaxSymbolName || name.empty()) {
      return absl::InvalidArgumentError("a symbol's name is too long");
    }
    SymbolInfo info;
    info.symbol = SymInt::Symbol(name);
    module_->symbols().Declare(info);
    BindSymbol(key, info.symbol);
    return info.symbol;
  };
  return ParseSympy(size.expr, symbol, &module_->symbols());
}

std::optional<AtenCall::Layout> ProgramImporter::LayoutOf(const Scope& scope,
                                                          const Argument& argument) {
  if (!argument.is(Argument::Kind::kTensor)) return std::nullopt;
  const auto meta = scope.def->tensors.find(argument.name);
  if (meta == scope.def->tensors.end()) return std::nullopt;
  AtenCall::Layout layout;
  for (const SizeExpr& stride : meta->second.strides) {
    const auto value = ParseSize(stride, false);
    if (!value.ok()) return std::nullopt;
    layout.strides.push_back(*value);
  }
  if (layout.strides.size() != meta->second.sizes.size()) return std::nullopt;
  const auto offset = ParseSize(meta->second.storage_offset, false);
  if (!offset.ok()) return std::nullopt;
  layout.offset = *offset;
  return layout;
}

// On return `have` is the file's size if that is more precise.
absl::Status ProgramImporter::CheckDim(const SizeExpr& want, SymInt* have) {
  if (!want.value && !want.expr.empty()) {
    if (const auto name = LoneSymbol(want.expr)) {
      if (!symbols_.contains(*name)) {
        BindSymbol(*name, *have);
        return absl::OkStatus();
      }
    }
  }
  const auto size = ParseSize(want, false);
  if (!size.ok()) {
    return SaysNothing(size.status()) ? absl::OkStatus() : size.status();
  }
  if (*size == *have) return absl::OkStatus();
  if (module_->symbols().ProveEq(*size, *have) == Proof::kNo) {
    return absl::InvalidArgumentError(
        absl::StrCat("the file says ", size->ToString(), ", inference ", have->ToString()));
  }
  *have = *size;
  return absl::OkStatus();
}

absl::Status ProgramImporter::CheckTensor(const Scope& scope, const std::string& name,
                                          const TensorMeta& meta, Value** given) {
  Value* value = *given;
  const auto fail = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("value '", name, "': ", what));
  };
  const Type type = value->type();
  if (!meta.strided) return fail("it is not strided");
  if (!type.is_tensor() || meta.dtype != type.dtype()) {
    return fail(absl::StrCat(
        "the file says ", meta.dtype ? DTypeName(*meta.dtype) : DTypeNumberName(meta.dtype_number),
        ", inference ", type.ToString()));
  }
  if (static_cast<int>(meta.sizes.size()) != type.rank()) {
    return fail(
        absl::StrCat("the file says rank ", meta.sizes.size(), ", inference ", type.ToString()));
  }
  std::vector<SymInt> dims(type.dims().begin(), type.dims().end());
  for (size_t i = 0; i < dims.size(); ++i) {
    absl::Status status = CheckDim(meta.sizes[i], &dims[i]);
    if (!status.ok()) {
      return fail(absl::StrCat("size ", i, ": ", status.message()));
    }
  }
  const Type refined = type.WithDims(dims);
  // A nested graph only has its own symbols.
  if (!scope.nested && refined != type && value->node() != nullptr &&
      IsLegalRefinement(refined, type, module_->symbols())) {
    // If a size that one node defines equals that of another (PyTorch caches the answer of
    // `nonzero`), both symbols stay, and are checked to be equal.
    if (value->node()->op().has(kDataDependent)) {
      *given = ops::BuildReshape(*scope.builder, value, dims);
      return *given == nullptr ? scope.builder->status() : absl::OkStatus();
    }
    value->set_type(refined);
  }
  return absl::OkStatus();
}

absl::Status ProgramImporter::CheckValue(Scope* scope, const std::string& name, Arg* arg) {
  if (arg->is(Arg::Kind::kTensor)) {
    const auto meta = scope->def->tensors.find(name);
    if (meta == scope->def->tensors.end() || arg->value == nullptr) {
      return absl::OkStatus();
    }
    return CheckTensor(*scope, name, meta->second, &arg->value);
  }
  const auto known = scope->def->sym_ints.find(name);
  if (!arg->is(Arg::Kind::kInt) || known == scope->def->sym_ints.end()) {
    return absl::OkStatus();
  }
  SymInt value = arg->integer;
  absl::Status status = CheckDim(known->second, &value);
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat("value '", name, "': ", status.message()));
}

}  // namespace weft::pt2
