// Matmuls and convolutions, and ops before and after them.
#include <cmath>
#include <vector>

#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/nn.h"
#include "graph/ops/shape.h"
#include "graph/sym/sym_facts.h"
#include "passes/canonicalize/match.h"
#include "passes/canonicalize/rules.h"

namespace weft::canonicalize {
namespace {

using namespace pattern;  // NOLINT

// Pads with +0 alone, around the spatial dims alone, and cuts nothing off.
constexpr Predicate kPadsSpaceWithZeros = {
    "that adds zeros around the spatial dims", [](const Value& v) {
      const ops::PadView pad(*v.node());
      const absl::Span<const SymInt> sizes = pad.pad();
      const size_t rank = sizes.size() / 2;
      if (pad.mode() != "constant") return false;
      for (size_t i = 0; i < sizes.size(); ++i) {
        const bool spatial = i % rank >= 2;
        if (spatial ? !ProvablyNotNegative(pad.node(), sizes[i]) : !sizes[i].Is(0)) return false;
      }
      if (pad.value() == nullptr) return true;
      const std::optional<double> value = SplatFloat(pad.value());
      return value == 0 && !std::signbit(*value);
    }};

// The combined padding of the convolution and of its operand, begins first; one entry per dim if it
// was so before and both ends are still equal.
struct Padding {
  std::vector<SymInt> sizes;
};
bool IsPaddingValid(const Node& root, Match& m) {
  const auto outer = ops::PadView(m.node(y)).pad(), inner = ops::ConvolutionView(root).padding();
  const size_t rank = outer.size() / 2, n = rank - 2;
  std::vector<SymInt>& sizes = m.Find<Padding>().sizes;
  sizes.resize(2 * n);
  bool even = inner.size() == n;
  for (size_t i = 0; i < 2 * n; ++i) {
    const SymInt own = inner[inner.size() == n ? i % n : i];
    sizes[i] = own + outer[i < n ? 2 + i : rank + 2 + i - n];
    if (!sizes[i].is_valid()) return false;
    even &= i < n || sizes[i] == sizes[i - n];
  }
  if (even) sizes.resize(n);
  return true;
}

Value* BuildPaddedConvolution(const Match& m, Rewriter& rewriter) {
  const ops::ConvolutionView conv(*m.root);
  const std::vector<SymInt>& sizes = m.Found<Padding>().sizes;
  return ops::BuildConvolution(rewriter, m[x], conv.weight(), conv.bias(), conv.stride(), sizes,
                               conv.dilation(), conv.transposed(), conv.output_padding(),
                               conv.groups());
}

// b has one element for each index of dim `dim` of the matmul or convolution z, counted from the
// last, and adding it does not enlarge z.
bool IsPerIndex(const Node& root, const Match& m, int dim) {
  const Type product = m[z]->type(), type = m[b]->type();
  const int at = type.rank() - dim;
  if (at < 0 || type.rank() > product.rank() || root.result()->type() != product) return false;
  for (int i = 0; i < type.rank(); ++i) {
    if (i != at && !type.dim(i).Is(1)) return false;
  }
  return ProvablyEqual(root, type.dim(at), product.dim(product.rank() - dim));
}
// The channels are dim 1, before the spatial dims.
bool IsPerChannel(const Node& root, Match& m) {
  return IsPerIndex(root, m, m[z]->type().rank() - 1);
}
bool IsPerFeature(const Node& root, Match& m) { return IsPerIndex(root, m, 1); }

Value* BuildWithBias(const Match& m, Rewriter& rewriter) {
  const ops::BiasedProductView product(m.node(z));
  SymInt size = 1;
  for (SymInt d : m[b]->type().dims()) size = size * d;
  Value* bias = m[b];
  if (bias->type().rank() != 1) bias = ops::BuildReshape(rewriter, bias, {size});
  if (product.bias() != nullptr) bias = ops::BuildAdd(rewriter, product.bias(), bias);
  return rewriter.CreateOne(m.node(z).op(), {product.input(), product.weight(), bias},
                            m.node(z).attr_list());
}

// A permute that swaps the last two dims.
constexpr Predicate kTransposes = {"that swaps the last two dims", [](const Value& v) {
                                     const int rank = v.type().rank();
                                     if (rank < 2) return false;
                                     const auto dims = PermutedDims(*v.node());
                                     for (int i = 0; i + 2 < rank; ++i) {
                                       if (dims[i] != i) return false;
                                     }
                                     return dims[rank - 1] == rank - 2;
                                   }};
constexpr Pattern kTransposedX = Op(ops::permute, x).If(kTransposes),
                  kTransposedY = Op(ops::permute, y).If(kTransposes);

bool MovesFewer(const Node& root, Match& m) {
  const SymInt operands = m[x]->type().numel() + m[y]->type().numel();
  const SymInt result = root.result()->type().numel();
  return operands.is_valid() && result.is_valid() &&
         SymbolsOf(root).ProveLe(result, operands) == Proof::kYes;
}
Value* BuildTransposedMatmul(const Match& m, Rewriter& rewriter) {
  const int rank = m.root->result()->type().rank();
  std::vector<int64_t> dims;
  for (int i = 0; i < rank; ++i) dims.push_back(i);
  std::swap(dims[rank - 1], dims[rank - 2]);
  return ops::BuildPermute(rewriter, ops::BuildMatmul(rewriter, m[y], m[x]), dims);
}

constexpr Rule kRules[] = {
    {"convolution-pad",
     "convolution(pad(x, p), w, padding=q) = convolution(x, w, padding=p + q)",
     kBitExact,
     Op(ops::convolution, Op(ops::pad, x, Rest()).If(kPadsSpaceWithZeros).As(y), Rest()),
     {{"not transposed",
       [](const Node& root, Match&) { return !ops::ConvolutionView(root).transposed(); }},
      {"p + q is a size", IsPaddingValid}},
     BuildPaddedConvolution},
    // The sum is rounded once.
    {"convolution-add",
     "convolution(x, w, c) + b = convolution(x, w, c + b), b a number for each channel",
     kReassociating,
     Op(ops::add, Op(ops::convolution).OneUse().As(z), b),
     {{"b has a number for each channel", IsPerChannel}},
     BuildWithBias},
    {"linear-add",
     "linear(x, w, c) + b = linear(x, w, c + b)",
     kReassociating,
     Op(ops::add, Op(ops::linear).OneUse().As(z), b),
     {{"b has a number for each feature", IsPerFeature}},
     BuildWithBias},
    // Linear transposes its weight itself. The reverse rule would introduce linear, a composite op.
    {"linear-permute",
     "linear(x, y') = x @ y",
     kBitExact,
     Op(ops::linear, x, kTransposedY),
     {},
     Op(ops::matmul, x, y)},
    {"matmul-permute",
     "x' @ y' = (y @ x)'",
     kBitExact,
     Op(ops::matmul, kTransposedX.OneUse(), kTransposedY.OneUse()),
     {{"the result has no more elements than the operands", MovesFewer}},
     BuildTransposedMatmul},
};

}  // namespace

absl::Span<const Rule> ProductRules() { return kRules; }

}  // namespace weft::canonicalize
