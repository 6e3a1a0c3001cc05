// Einstein summation.
#include <algorithm>
#include <map>

#include "graph/ir/numeric_contract.h"
#include "graph/ir/op_flops.h"
#include "graph/ops/nn/einsum_equation.h"
#include "graph/ops/nn/product.h"
#include "graph/ops/ops.h"
#include "graph/ops/support/build.h"
#include "graph/ops/support/op.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {
namespace {

using Labels = std::vector<int>;

bool Has(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

int PositionOf(const Labels& labels, int label) {
  return static_cast<int>(std::find(labels.begin(), labels.end(), label) - labels.begin());
}

absl::StatusOr<Equation> ParseFor(const OpArgs& args) {
  std::vector<int> ranks;
  for (Type t : args.types) ranks.push_back(t.rank());
  return Equation::Parse(args.attrs().Str("equation"), ranks);
}

absl::Status Verify(const OpArgs& args) {
  if (args.size() == 0) return Invalid("it needs an operand");
  for (int i = 0; i < args.size(); ++i) {
    WEFT_RETURN_IF_ERROR(CheckNumeric(args, i));
  }
  WEFT_RETURN_IF_ERROR(CheckSameDType(args));
  return ParseFor(args).status();
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  WEFT_ASSIGN_OR_RETURN(const Equation equation, ParseFor(args));
  std::map<int, SymInt> sizes;
  for (int i = 0; i < args.size(); ++i) {
    const Labels& labels = equation.operands[i];
    for (int d = 0; d < args.type(i).rank(); ++d) {
      const SymInt size = args.type(i).dim(d);
      // A diagonal is of a square.
      const int first = PositionOf(labels, labels[d]);
      if (!MayBeEqual(args, size, args.type(i).dim(first))) {
        return Invalid("the sizes of a label differ in dims ", first, " and ", d, " of operand ",
                       i);
      }
      auto [it, inserted] = sizes.emplace(labels[d], size);
      if (inserted) continue;
      const SymInt other = it->second;
      it->second = BroadcastSize(other, size);
      const SymInt one = Or(Equal(other, 1), Equal(size, 1));
      if (!it->second.is_valid() || !args.MayHold(Or(Equal(other, size), one))) {
        return Invalid("the sizes of a label differ in dim ", d, " of operand ", i);
      }
    }
  }
  std::vector<SymInt> dims;
  for (int label : equation.result) dims.push_back(sizes.at(label));
  return Types{args.type(0).WithDims(dims)};
}

// --- Decomposition ----------------------------------------------------------------
// Operands are multiplied from left to right; a label is summed over as soon as no later operand
// uses it.

struct Term {
  Value* value;
  Labels labels;

  SymInt Size(int label) const { return value->type().dim(PositionOf(labels, label)); }
};

// Sums over the labels that are not in `keep`.
void SumOut(Builder& b, const Labels& keep, Term* term) {
  std::vector<int64_t> dims;
  Labels kept;
  for (size_t i = 0; i < term->labels.size(); ++i) {
    const int label = term->labels[i];
    if (Has(keep, label)) {
      kept.push_back(label);
    } else {
      dims.push_back(static_cast<int64_t>(i));
    }
  }
  if (dims.empty()) return;
  term->value = b.Op(sum, {term->value}, {{"dim", dims}});
  term->labels = kept;
}

// Takes the diagonal of two dims with the same label: other elements become 0, and one of the dims
// is summed over.
void TakeDiagonals(Builder& b, Term* term) {
  for (size_t j = 1; j < term->labels.size() && term->value != nullptr;) {
    const size_t i = PositionOf(term->labels, term->labels[j]);
    if (i == j) {
      ++j;
      continue;
    }
    const Type type = term->value->type();
    const auto positions = [&](size_t d) {
      std::vector<SymInt> size(type.rank() - d, SymInt(1));
      size[0] = type.dim(static_cast<int>(d));
      Value* v = b.Op(arange, {}, {{"start", 0}, {"end", size[0]}});
      return Reshape(b, v, size);
    };
    Value* same = b.Op(eq, {positions(i), positions(j)});
    Value* v = b.Op(where, {same, term->value, b.Scalar(type.dtype(), 0)});
    term->value = b.Op(sum, {v}, {{"dim", std::vector<int64_t>{static_cast<int64_t>(j)}}});
    term->labels.erase(term->labels.begin() + j);
  }
}

// The labels of a matmul by their role.
struct Roles {
  Labels batch, left, right, summed;

  Roles(const Labels& a, const Labels& b, const Labels& keep) {
    for (int label : a) {
      Labels& role = !Has(b, label) ? left : Has(keep, label) ? batch : summed;
      role.push_back(label);
    }
    for (int label : b) {
      if (!Has(a, label)) right.push_back(label);
    }
  }
};

// The dims of `term` in the order of `labels`.
Value* Ordered(Builder& b, const Term& term, std::vector<const Labels*> labels) {
  std::vector<int64_t> dims;
  for (const Labels* list : labels) {
    for (int label : *list) dims.push_back(PositionOf(term.labels, label));
  }
  return Permute(b, term.value, dims);
}

void AppendSizes(const Term& term, const Labels& labels, std::vector<SymInt>* sizes) {
  for (int label : labels) sizes->push_back(term.Size(label));
}

SymInt Elements(const Term& term, const Labels& labels) {
  std::vector<SymInt> sizes;
  AppendSizes(term, labels, &sizes);
  return Product(sizes);
}

// Gives a summed label the same size in both terms.
void BroadcastSummed(Builder& b, const Labels& summed, Term* x, Term* y) {
  for (int label : summed) {
    const SymInt a = x->Size(label);
    const SymInt c = y->Size(label);
    const bool may_broadcast = label >= Equation::kEllipsis || a.Is(1) || c.Is(1);
    if (a == c || !may_broadcast) continue;
    for (Term* term : {x, y}) {
      std::vector<SymInt> size = DimsOf(term->value->type());
      size[PositionOf(term->labels, label)] = BroadcastSize(a, c);
      term->value = Expand(b, term->value, size);
    }
  }
}

// The elementwise product over broadcast dims; nothing is summed.
Term MultiplyElements(Builder& b, const Roles& roles, const Term& x, const Term& y) {
  std::vector<SymInt> left, right;
  AppendSizes(x, roles.batch, &left);
  AppendSizes(x, roles.summed, &left);
  AppendSizes(x, roles.left, &left);
  left.resize(left.size() + roles.right.size(), SymInt(1));
  AppendSizes(y, roles.batch, &right);
  AppendSizes(y, roles.summed, &right);
  right.resize(right.size() + roles.left.size(), SymInt(1));
  AppendSizes(y, roles.right, &right);
  Value* a = Ordered(b, x, {&roles.batch, &roles.summed, &roles.left});
  Value* c = Ordered(b, y, {&roles.batch, &roles.summed, &roles.right});
  Term product = {b.Op(mul, {Reshape(b, a, left), Reshape(b, c, right)}), {}};
  for (const Labels* list : {&roles.batch, &roles.summed, &roles.left, &roles.right}) {
    product.labels.insert(product.labels.end(), list->begin(), list->end());
  }
  return product;
}

// The contraction as a matmul: left by summed times summed by right.
Term MultiplyMatrices(Builder& b, const Roles& roles, const Term& x, const Term& y) {
  std::vector<SymInt> left, right;
  AppendSizes(x, roles.batch, &left);
  left.push_back(Elements(x, roles.left));
  left.push_back(Elements(x, roles.summed));
  AppendSizes(y, roles.batch, &right);
  right.push_back(Elements(y, roles.summed));
  right.push_back(Elements(y, roles.right));
  Value* a = Ordered(b, x, {&roles.batch, &roles.left, &roles.summed});
  Value* c = Ordered(b, y, {&roles.batch, &roles.summed, &roles.right});
  Term product = {b.Op(matmul, {Reshape(b, a, left), Reshape(b, c, right)}), roles.batch};
  if (product.value == nullptr) return product;
  std::vector<SymInt> size = DimsOf(product.value->type());
  size.resize(roles.batch.size());
  AppendSizes(x, roles.left, &size);
  AppendSizes(y, roles.right, &size);
  product.value = Reshape(b, product.value, size);
  for (const Labels* list : {&roles.left, &roles.right}) {
    product.labels.insert(product.labels.end(), list->begin(), list->end());
  }
  return product;
}

std::vector<Value*> Decompose(Builder& b, const OpArgs& args) {
  const Equation equation = *ParseFor(args);
  const bool has_matmul = CheckAccumulator(args, 0).ok();
  Term all = {nullptr, {}};
  for (int i = 0; i < args.size(); ++i) {
    Labels later = equation.result;
    for (int k = i + 1; k < args.size(); ++k) {
      const Labels& labels = equation.operands[k];
      later.insert(later.end(), labels.begin(), labels.end());
    }
    Labels keep = later;
    keep.insert(keep.end(), all.labels.begin(), all.labels.end());
    Term term = {args.operand(i), equation.operands[i]};
    TakeDiagonals(b, &term);
    SumOut(b, keep, &term);
    if (i > 0) {
      keep = later;
      keep.insert(keep.end(), term.labels.begin(), term.labels.end());
      SumOut(b, keep, &all);
      if (all.value == nullptr || term.value == nullptr) return {nullptr};
      const Roles roles(all.labels, term.labels, later);
      BroadcastSummed(b, roles.summed, &all, &term);
      if (all.value == nullptr || term.value == nullptr) return {nullptr};
      term = has_matmul && !roles.summed.empty() ? MultiplyMatrices(b, roles, all, term)
                                                 : MultiplyElements(b, roles, all, term);
      SumOut(b, later, &term);
    }
    all = term;
  }
  return {Ordered(b, all, {&equation.result})};
}

// --- Evaluation -------------------------------------------------------------------

// The loops over all labels, those of the result first.
struct Loops {
  std::vector<int64_t> sizes;
  std::vector<std::vector<int64_t>> strides;  // By operand.
  size_t outer;                               // Labels of the result.

  Loops(const Equation& equation, const EvalContext& c) : outer(equation.result.size()) {
    Labels labels = equation.result;
    for (const Labels& operand : equation.operands) {
      for (int label : operand) {
        if (!Has(labels, label)) labels.push_back(label);
      }
    }
    sizes.assign(labels.size(), 1);
    for (int i = 0; i < c.num_inputs(); ++i) {
      strides.emplace_back(labels.size(), 0);
      const auto dims = c.in(i).dims();
      const std::vector<int64_t> own = ContiguousStrides(dims);
      for (size_t d = 0; d < dims.size(); ++d) {
        if (dims[d] == 1) continue;
        const int p = PositionOf(labels, equation.operands[i][d]);
        sizes[p] = dims[d];
        strides[i][p] += own[d];  // A repeated label walks the diagonal.
      }
    }
  }

  // Advances loops [begin, end) to the next index.
  void Advance(size_t begin, size_t end, std::vector<int64_t>* index,
               std::vector<int64_t>* at) const {
    for (size_t d = end; d-- > begin;) {
      const bool carry = ++(*index)[d] == sizes[d];
      for (size_t k = 0; k < at->size(); ++k) {
        (*at)[k] += carry ? strides[k][d] * (1 - sizes[d]) : strides[k][d];
      }
      if (!carry) return;
      (*index)[d] = 0;
    }
  }
};

template <typename T>
void RunLoops(const Loops& loops, const std::vector<std::vector<T>>& in, std::vector<T>* out) {
  const auto sizes = absl::MakeConstSpan(loops.sizes);
  const int64_t terms = Numel(sizes.subspan(loops.outer));
  ParallelChunks(out->size(), 256, [&](int64_t begin, int64_t end) {
    std::vector<int64_t> index(sizes.size(), 0);
    std::vector<int64_t> at(in.size(), 0);
    int64_t rest = begin;
    for (size_t d = loops.outer; d-- > 0; rest /= sizes[d]) {
      index[d] = rest % sizes[d];
      for (size_t k = 0; k < at.size(); ++k) {
        at[k] += index[d] * loops.strides[k][d];
      }
    }
    for (int64_t i = begin; i < end; ++i) {
      T total{0};
      for (int64_t t = 0; t < terms; ++t) {
        T product = in[0][at[0]];
        for (size_t k = 1; k < in.size(); ++k) product *= in[k][at[k]];
        total += product;
        loops.Advance(loops.outer, sizes.size(), &index, &at);
      }
      (*out)[i] = total;
      loops.Advance(0, loops.outer, &index, &at);
    }
  });
}

absl::Status Eval(EvalContext& c) {
  std::vector<int> ranks;
  for (int i = 0; i < c.num_inputs(); ++i) ranks.push_back(c.in(i).rank());
  WEFT_ASSIGN_OR_RETURN(const Equation equation, Equation::Parse(c.attrs().Str("equation"), ranks));
  const Loops loops(equation, c);
  return VisitProductDomain(c.in(0).dtype(), [&](auto zero) {
    using T = decltype(zero);
    std::vector<std::vector<T>> in;
    for (int i = 0; i < c.num_inputs(); ++i) in.push_back(Read<T>(c.in(i)));
    std::vector<T> out(c.out(0).numel(), T{0});
    RunLoops(loops, in, &out);
    Write(out, &c.out(0));
    return absl::OkStatus();
  });
}

// A product for each combination of the labels: as one loop nest.
SymInt Flops(const FlopsArgs& args) {
  std::vector<int> ranks;
  for (Type type : args.operands) ranks.push_back(type.rank());
  const auto equation = Equation::Parse(args.attrs().Str("equation"), ranks);
  if (!equation.ok()) return SymInt::Invalid();
  std::map<int, SymInt> sizes;
  for (size_t i = 0; i < args.operands.size(); ++i) {
    const auto dims = args.operands[i].dims();
    for (size_t d = 0; d < dims.size(); ++d) {
      SymInt& size = sizes.emplace(equation->operands[i][d], 1).first->second;
      if (size.Is(1)) size = dims[d];
    }
  }
  SymInt flops = static_cast<int64_t>(args.operands.size());
  for (const auto& [label, size] : sizes) flops = flops * size;
  return flops;
}

}  // namespace

WEFT_DEFINE_OP(einsum, OpSpec("einsum(Tensor[] operands, str equation) -> Tensor",
                              "Sum over the products of elements whose labels agree; sizes of 1 "
                              "broadcast between operands, a label repeated in one operand takes "
                              "the diagonal of equal sizes. "
                              "ATen: aten::einsum; ONNX: Einsum-12.")
                           .Verify(Verify)
                           .Infer(Infer)
                           .Decompose(Decompose)
                           .DecomposeContract(NumericContract::kReassociating)
                           .Eval(Eval)
                           .Flops(Flops)
                           .Samples(R"(
einsum(f32[2, 3], f32[3, 4], equation="ij,jk->ik")
einsum(f32[2, 3], equation="ij->ji")
einsum(f32[2, 3], equation="ij->i")
einsum(f64[3], f64[3], equation="i,i")
einsum(f32[2, 3, 4, 5], f32[2, 3, 6, 5], equation="bhqd,bhkd->bhqk")
einsum(f32[5, 2, 3], f32[5, 3, 4], equation="bij, bjk -> bik")
einsum(f32[2, 3, 3], equation="...ii->...i")
einsum(f32[2, 2, 3, 3], equation="iijj->j")
einsum(f32[5, 1, 2, 3], f32[4, 3, 2], equation="...ij,...jk->...ik")
einsum(f32[5, 1, 3], f32[4, 3], equation="...i,...i->i")
einsum(f32[2, 3], f32[3, 4], f32[2, 4], equation="ij,jk,ik->kj")
einsum(f32[2, 1], f32[3, 4], equation="ij,jk->ik")
einsum(f32[2], f32[3], equation="i,j->ji")
einsum(f32[2, 3], f32[4, 3], equation="ij,kj->i")
einsum(i32[2, 3], i32[3], i32[2], equation="ij,j,i->")
einsum(i8[2, 3]{-99..99}, i8[3]{-99..99}, equation="ij,j->i")
einsum(u64[2, 3], u64[3], equation="ij,j->i")
einsum(f16[2, 3], f16[3, 4], equation="ij,jk")
einsum(bf16[2, 3], bf16[3, 4], equation="ij,jk")
einsum(f32[], f32[2], equation=",i->i")
einsum(f32[0, 3], f32[3, 4], equation="ij,jk->ik")
einsum(f32[2, 0], f32[0, 4], equation="ij,jk->ik")
einsum(f32[2, 3], equation="ij,jk->ik") ! "does not have 1 terms"
einsum(f32[2, 3], equation="i->i") ! "does not fit rank 2"
einsum(f32[2, 3], equation="ij->ik") ! "that no operand has"
einsum(f32[2, 3], f32[4], equation="ij,j->i") ! "the sizes of a label differ"
einsum(f32[2, 1, 3], equation="iij->j") ! "the sizes of a label differ in dims 0 and 1"
einsum(f32[2], equation="1->1") ! "is no label"
einsum(equation="->") ! "it needs an operand"
einsum(bool[2], equation="i->i") ! "integer or float"
)"));

}  // namespace weft::ops
