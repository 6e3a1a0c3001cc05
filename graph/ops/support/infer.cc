#include "graph/ops/support/infer.h"

#include <algorithm>
#include <utility>

#include "graph/ir/op_args.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_schema.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {

absl::StatusOr<int> NormalizeDim(int64_t dim, int rank) {
  if (rank == 0) {
    return Invalid("dim ", dim, " is out of range for a scalar");
  }
  if (dim < -rank || dim >= rank) {
    return Invalid("dim ", dim, " is out of range for rank ", rank, " (expected ", -rank, " to ",
                   rank - 1, ")");
  }
  return static_cast<int>(dim < 0 ? dim + rank : dim);
}

absl::StatusOr<std::vector<int>> NormalizeDims(absl::Span<const int64_t> dims, int rank) {
  std::vector<int> out;
  std::vector<bool> seen(rank);
  for (int64_t dim : dims) {
    WEFT_ASSIGN_OR_RETURN(const int d, NormalizeDim(dim, rank));
    if (seen[d]) return Invalid("dim ", dim, " appears twice");
    seen[d] = true;
    out.push_back(d);
  }
  return out;
}

absl::StatusOr<std::vector<int>> ReducedAxes(absl::Span<const int64_t> dims, int rank) {
  std::vector<int> axes;
  if (dims.empty()) {
    for (int i = 0; i < rank; ++i) axes.push_back(i);
    return axes;
  }
  if (rank == 0) {
    for (int64_t dim : dims) {
      if (dim != 0 && dim != -1) return NormalizeDim(dim, 0).status();
    }
    return axes;
  }
  WEFT_ASSIGN_OR_RETURN(axes, NormalizeDims(dims, rank));
  std::sort(axes.begin(), axes.end());
  return axes;
}

std::vector<SymInt> DimsAfterReduction(absl::Span<const SymInt> dims, absl::Span<const int> axes,
                                       bool keepdim) {
  std::vector<bool> reduced(dims.size());
  for (int a : axes) reduced[a] = true;
  std::vector<SymInt> out;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!reduced[i]) {
      out.push_back(dims[i]);
    } else if (keepdim) {
      out.push_back(1);
    }
  }
  return out;
}

namespace {

// The condition that two sizes broadcast. Sizes n and min(n, k), k >= 2, broadcast exactly if
// n <= k; this occurs when a table of k rows is cut to n rows.
SymInt FitTogether(const OpArgs& args, SymInt a, SymInt b) {
  for (const auto& [whole, part] : {std::pair(a, b), std::pair(b, a)}) {
    if (part.kind() != SymInt::Kind::kMin || args.symbols == nullptr) continue;
    SymInt rest;
    bool found = false, any = false;
    for (SymInt arg : part.args()) {
      if (arg == whole) {
        found = true;
      } else {
        rest = any ? Min(rest, arg) : arg;
        any = true;
      }
    }
    if (found && any && args.symbols->RangeOf(rest).min >= 2) return LessEqual(whole, rest);
  }
  return Or(Equal(a, b), Or(Equal(a, 1), Equal(b, 1)));
}

// Broadcasts `dims` with those of `t` in place; false when they do not fit.
bool BroadcastInto(const OpArgs& args, absl::Span<const SymInt> other, std::vector<SymInt>* dims) {
  if (other.size() > dims->size()) {
    dims->insert(dims->begin(), other.size() - dims->size(), SymInt(1));
  }
  const size_t shift = dims->size() - other.size();
  for (size_t i = 0; i < other.size(); ++i) {
    SymInt& d = (*dims)[shift + i];
    const SymInt before = d;
    d = BroadcastSize(before, other[i]);
    if (!d.is_valid()) return false;
    if (args.needs == nullptr || before == other[i] || before.Is(1) || other[i].Is(1)) continue;
    const SymInt fit = FitTogether(args, before, other[i]);
    // Sizes that the facts rule out are refused at run time: the branch may never be taken.
    if (!args.MayHold(fit)) args.needs->push_back(fit);
  }
  return true;
}

}  // namespace

absl::StatusOr<std::vector<SymInt>> BroadcastDims(const OpArgs& args,
                                                  absl::Span<const Type> types) {
  std::vector<SymInt> dims;
  int last = -1;
  for (size_t i = 0; i < types.size(); ++i) {
    if (!types[i].is_tensor()) continue;
    if (last >= 0 && types[i].dims() == absl::MakeConstSpan(dims)) continue;
    const std::vector<SymInt> before = dims;
    if (!BroadcastInto(args, types[i].dims(), &dims)) {
      // Two operands are shown as they are, more as the shape so far.
      const std::string left =
          last >= 0 && before ==
                           std::vector<SymInt>(types[last].dims().begin(), types[last].dims().end())
              ? types[last].ToString()
              : ToString(before);
      return Invalid(left, " and ", types[i].ToString(), " do not broadcast");
    }
    last = static_cast<int>(i);
  }
  return dims;
}

SymInt WindowedSize(SymInt in, SymInt kernel, SymInt stride, SymInt dilation, SymInt pad_before,
                    SymInt pad_after, bool ceil_mode) {
  const SymInt slack = in + pad_before + pad_after - dilation * (kernel - 1) - 1;
  if (!ceil_mode) return FloorDiv(slack, stride) + 1;
  return Min(CeilDiv(slack, stride) + 1, CeilDiv(in + pad_before, stride));
}

std::string OperandName(const OpArgs& args, int i) {
  const std::vector<OperandSpec>& specs = args.op->schema().operands;
  const int last = static_cast<int>(specs.size()) - 1;
  if (i < last || (i == last && !specs[last].variadic)) return specs[i].name;
  return absl::StrCat(specs[last].name, "[", i - last, "]");
}

absl::Status CheckRank(const OpArgs& args, int i, int rank) {
  if (!args.has(i) || args.type(i).rank() == rank) return absl::OkStatus();
  return Invalid(OperandName(args, i), " must have rank ", rank, ", got ", args.type(i).ToString());
}

absl::Status CheckRankAtLeast(const OpArgs& args, int i, int rank) {
  if (!args.has(i) || args.type(i).rank() >= rank) return absl::OkStatus();
  return Invalid(OperandName(args, i), " must have at least rank ", rank, ", got ",
                 args.type(i).ToString());
}

namespace {

absl::Status CheckClass(const OpArgs& args, int i, bool (*test)(DType), absl::string_view what) {
  if (!args.has(i) || !args.type(i).is_tensor() || test(args.type(i).dtype())) {
    return absl::OkStatus();
  }
  return Invalid(OperandName(args, i), " must have ", what, " dtype, got ",
                 DTypeName(args.type(i).dtype()));
}

bool IsBool(DType d) { return d == DType::kBool; }
bool IsIntOrBool(DType d) { return IsInt(d) || IsBool(d); }
bool IsComputed(DType d) { return IsFloat(d) && !IsStorageFloat(d); }
bool IsNumeric(DType d) { return IsInt(d) || IsComputed(d); }
bool IsReal(DType d) { return !IsComplex(d) && !IsStorageFloat(d); }
bool IsIndex(DType d) { return d == DType::kI32 || d == DType::kI64; }

}  // namespace

absl::Status CheckFloat(const OpArgs& args, int i) {
  return CheckClass(args, i, IsComputed, "a float");
}
absl::Status CheckInt(const OpArgs& args, int i) {
  return CheckClass(args, i, IsInt, "an integer");
}
absl::Status CheckIntOrBool(const OpArgs& args, int i) {
  return CheckClass(args, i, IsIntOrBool, "an integer or bool");
}
absl::Status CheckBool(const OpArgs& args, int i) { return CheckClass(args, i, IsBool, "bool"); }
absl::Status CheckNumeric(const OpArgs& args, int i) {
  return CheckClass(args, i, IsNumeric, "an integer or float");
}
absl::Status CheckReal(const OpArgs& args, int i) { return CheckClass(args, i, IsReal, "a real"); }
absl::Status CheckIndex(const OpArgs& args, int i) {
  return CheckClass(args, i, IsIndex, "i32 or i64");
}

absl::Status CheckDType(const OpArgs& args, int i, DType dtype) {
  if (!args.has(i) || args.type(i).dtype() == dtype) return absl::OkStatus();
  return Invalid(OperandName(args, i), " must have dtype ", DTypeName(dtype), ", got ",
                 DTypeName(args.type(i).dtype()));
}

absl::Status CheckSameDType(const OpArgs& args, int i, int j) {
  if (!args.has(i) || !args.has(j)) return absl::OkStatus();
  const DType a = args.type(i).dtype();
  const DType b = args.type(j).dtype();
  if (a == b) return absl::OkStatus();
  return Invalid("operands have different dtypes: ", DTypeName(a), " and ", DTypeName(b));
}

absl::Status CheckSameDType(const OpArgs& args) {
  int first = -1;
  for (int i = 0; i < args.size(); ++i) {
    if (!args.type(i).is_tensor()) continue;
    if (first < 0) first = i;
    WEFT_RETURN_IF_ERROR(CheckSameDType(args, first, i));
  }
  return absl::OkStatus();
}

bool MayBeEqual(const OpArgs& args, SymInt a, SymInt b) {
  if (a == b) return true;
  if (args.symbols == nullptr) return !(a.is_constant() && b.is_constant());
  const Proof proof = args.symbols->ProveEq(a, b);
  const bool is_need = proof == Proof::kUnknown && args.needs != nullptr;
  if (is_need) args.needs->push_back(Equal(a, b));
  return proof != Proof::kNo;
}

bool MayBroadcastTo(const OpArgs& args, SymInt a, SymInt size) {
  if (a == size || a.Is(1)) return true;
  return args.MayHold(Or(Equal(a, 1), Equal(a, size)));
}

absl::Status CheckEqualSizes(const OpArgs& args, SymInt a, SymInt b, absl::string_view what) {
  if (MayBeEqual(args, a, b)) return absl::OkStatus();
  return Invalid(what, ": ", a.ToString(), " and ", b.ToString(), " differ");
}

absl::StatusOr<Types> InferSame(const OpArgs& args) { return Types{args.type(0)}; }

namespace {

using Check = absl::Status (*)(const OpArgs&, int);

absl::StatusOr<Types> UnaryOf(const OpArgs& args, Check check) {
  WEFT_RETURN_IF_ERROR(check(args, 0));
  return Types{args.type(0)};
}

absl::StatusOr<Types> BinaryOf(const OpArgs& args, Check check) {
  WEFT_RETURN_IF_ERROR(CheckSameDType(args));
  WEFT_RETURN_IF_ERROR(check(args, 0));
  if (args.size() == 2 && args.type(0) == args.type(1)) {
    return Types{args.type(0)};  // Most often nothing broadcasts.
  }
  WEFT_ASSIGN_OR_RETURN(const std::vector<SymInt> dims, BroadcastDims(args, args.types));
  return Types{args.type(0).WithDims(dims)};
}

}  // namespace

absl::StatusOr<Types> InferUnary(const OpArgs& args) { return UnaryOf(args, CheckReal); }
absl::StatusOr<Types> InferUnaryNumeric(const OpArgs& args) { return UnaryOf(args, CheckNumeric); }
absl::StatusOr<Types> InferUnaryFloat(const OpArgs& args) { return UnaryOf(args, CheckFloat); }
absl::StatusOr<Types> InferUnaryIntOrBool(const OpArgs& args) {
  return UnaryOf(args, CheckIntOrBool);
}

absl::StatusOr<Types> InferPredicate(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckReal(args, 0));
  return Types{args.type(0).WithDType(DType::kBool)};
}

absl::StatusOr<Types> InferBinary(const OpArgs& args) { return BinaryOf(args, CheckReal); }
absl::StatusOr<Types> InferBinaryNumeric(const OpArgs& args) {
  return BinaryOf(args, CheckNumeric);
}
absl::StatusOr<Types> InferBinaryFloat(const OpArgs& args) { return BinaryOf(args, CheckFloat); }
absl::StatusOr<Types> InferBinaryIntOrBool(const OpArgs& args) {
  return BinaryOf(args, CheckIntOrBool);
}
absl::StatusOr<Types> InferBinaryInt(const OpArgs& args) { return BinaryOf(args, CheckInt); }

absl::StatusOr<Types> InferCompare(const OpArgs& args) {
  WEFT_ASSIGN_OR_RETURN(Types types, InferBinary(args));
  types[0] = types[0].WithDType(DType::kBool);
  return types;
}

}  // namespace weft::ops
