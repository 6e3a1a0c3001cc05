// Inference and folds of the ops that move and reduce elements, on symbolic sizes, beyond the
// samples of the ops.
#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/op_args.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"
#include "graph/tensor/type.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

const SymInt s0 = SymInt::Symbol("s0");
const SymInt s1 = SymInt::Symbol("s1");
constexpr int64_t kEnd = SymRange::kMax;

std::vector<SymInt> L(std::initializer_list<SymInt> sizes) { return sizes; }

Type F32(std::initializer_list<SymInt> dims) { return Type::Tensor(DType::kF32, dims); }

// Infers with facts about s0 (and none about other symbols).
class ShapeInferTest : public testing::Test {
 protected:
  void Know(int64_t min, int64_t max, int64_t divisor = 1) {
    symbols_.Declare({s0, {min, max}, divisor});
  }

  // The result types, or the error.
  std::string Infer(const OpDef& op, std::vector<Type> types,
                    std::initializer_list<NamedAttr> attrs) {
    auto list = MakeAttrs(op, attrs);
    if (!list.ok()) return std::string(list.status().message());
    OpArgs args;
    args.op = &op;
    args.types = types;
    args.attr_list = *list;
    args.symbols = &symbols_;
    auto results = InferTypes(args);
    if (!results.ok()) return std::string(results.status().message());
    return absl::StrJoin(*results, ", ", absl::StreamFormatter());
  }

  std::string Slice(SymInt n, SymInt start, SymInt end, SymInt step = 1) {
    return Infer(ops::slice, {F32({n})},
                 {{"dim", 0}, {"start", start}, {"end", end}, {"step", step}});
  }

  SymbolTable symbols_;
};

TEST_F(ShapeInferTest, ReshapeAcceptsWhatMayBeEqual) {
  EXPECT_EQ(Infer(ops::reshape, {F32({s0, 4})}, {{"size", L({s0 * 2, 2})}}), "f32[2*s0, 2]");
  EXPECT_EQ(Infer(ops::reshape, {F32({s0})}, {{"size", L({s1, 2})}}), "f32[s1, 2]");
}

TEST_F(ShapeInferTest, ReshapeRefusesWhatCannotBeEqual) {
  Know(1, 100);
  EXPECT_EQ(Infer(ops::reshape, {F32({s0})}, {{"size", L({s0 + 1})}}),
            "reshape: cannot see f32[s0] of s0 elements as [s0 + 1] of s0 + 1");
  EXPECT_EQ(Infer(ops::reshape, {F32({s0})}, {{"size", L({-s0, -1})}}),
            "reshape: size[0] is negative: -s0");
}

TEST_F(ShapeInferTest, ExpandAcceptsASizeThatMayBeOne) {
  EXPECT_EQ(Infer(ops::expand, {F32({s0, 1})}, {{"size", L({2, 4, s1})}}), "f32[2, 4, s1]");
  Know(2, 3);
  EXPECT_EQ(Infer(ops::expand, {F32({s0})}, {{"size", L({4})}}),
            "expand: cannot broadcast f32[s0] to [4]");
}

TEST_F(ShapeInferTest, SliceOfAllIsTheSize) {
  EXPECT_EQ(Slice(s0, 0, kEnd), "f32[s0]");
  EXPECT_EQ(Slice(s0, SymRange::kMin, kEnd), "f32[s0]");
  EXPECT_EQ(Slice(s0, 0, s0), "f32[s0]");
}

TEST_F(ShapeInferTest, SliceByConstants) {
  EXPECT_EQ(Slice(s0, 0, 4), "f32[min(4, s0)]");
  EXPECT_EQ(Slice(s0, 2, kEnd), "f32[max(0, s0 - 2)]");
  EXPECT_EQ(Slice(s0, 0, -1), "f32[max(0, s0 - 1)]");
  EXPECT_EQ(Slice(s0, -1, kEnd), "f32[min(1, s0)]");
  EXPECT_EQ(Slice(s0, 0, kEnd, 2), "f32[(s0 + 1) // 2]");
}

TEST_F(ShapeInferTest, SliceByConstantsWithinAKnownRange) {
  Know(4, 4096);
  EXPECT_EQ(Slice(s0, 0, 4), "f32[4]");
  EXPECT_EQ(Slice(s0, 2, kEnd), "f32[s0 - 2]");
  EXPECT_EQ(Slice(s0, 0, -1), "f32[s0 - 1]");
  EXPECT_EQ(Slice(s0, 1, -1), "f32[s0 - 2]");
  EXPECT_EQ(Slice(s0, -1, kEnd), "f32[1]");
  EXPECT_EQ(Slice(s0, -3, -1), "f32[2]");
  EXPECT_EQ(Slice(s0, 0, 5000), "f32[s0]");
  EXPECT_EQ(Slice(s0, -5000, kEnd), "f32[s0]");
  EXPECT_EQ(Slice(s0, 3, 1), "f32[0]");
}

TEST_F(ShapeInferTest, SliceBySymbols) {
  EXPECT_EQ(Slice(s0 + 4, s0, s0 + 4), "f32[4]");
  EXPECT_EQ(Slice(s0 + s1, s0, kEnd), "f32[s1]");
  EXPECT_EQ(Slice(s0 * 3, s0, s0 * 2), "f32[s0]");
  EXPECT_EQ(Slice(10, 0, s0), "f32[min(10, s0)]");
  EXPECT_EQ(Slice(10, s0, kEnd), "f32[max(0, -s0 + 10)]");
}

// Every length is right for every value of the symbols, also of a position
// whose sign is not known.
TEST_F(ShapeInferTest, SliceLengthsEvaluateToWhatSlicesHave) {
  symbols_.Declare({s0, {0, 5}});
  symbols_.Declare({s1, {-7, 7}});
  for (const SymInt start : {SymInt(0), SymInt(2), SymInt(-3), s1}) {
    for (const SymInt end : {SymInt(kEnd), SymInt(3), SymInt(-1), s1 + 2}) {
      for (int64_t step = 1; step <= 3; ++step) {
        const NamedAttr attrs[] = {{"dim", 0}, {"start", start}, {"end", end}, {"step", step}};
        OpArgs args;
        const std::vector<Type> types = {F32({s0})};
        args.op = &ops::slice;
        args.types = types;
        args.attr_list = *MakeAttrs(ops::slice, attrs);
        args.symbols = &symbols_;
        const auto result = InferTypes(args);
        ASSERT_TRUE(result.ok()) << result.status();
        for (int64_t n = 0; n <= 5; ++n) {
          for (int64_t p = -7; p <= 7; ++p) {
            const auto value = [&](SymInt s) -> std::optional<int64_t> { return s == s0 ? n : p; };
            const auto position = [&](SymInt s) {
              int64_t v = *Evaluate(s, value);
              if (v < 0) v += n;
              return std::min(std::max<int64_t>(v, 0), n);
            };
            int64_t count = 0;
            for (int64_t i = position(start); i < position(end); i += step) {
              ++count;
            }
            EXPECT_EQ(Evaluate((*result)[0].dim(0), value), count)
                << (*result)[0] << " for " << start << ":" << end << ":" << step << " at n=" << n
                << ", s1=" << p;
          }
        }
      }
    }
  }
}

TEST_F(ShapeInferTest, CatAddsSizesAndPrefersConstants) {
  EXPECT_EQ(Infer(ops::cat, {F32({s0, s1}), F32({2, 8})}, {}), "f32[s0 + 2, 8]");
  EXPECT_EQ(Infer(ops::cat, {F32({s0, 7}), F32({2, 8})}, {}),
            "cat: tensors[1]: sizes 7 and 8 of dim 1 differ");
}

TEST_F(ShapeInferTest, PadAddsAndRefusesWhatMustBeNegative) {
  EXPECT_EQ(Infer(ops::pad, {F32({s0}), Type()}, {{"pad", L({1, s1})}}), "f32[s0 + s1 + 1]");
  Know(0, 2);
  EXPECT_EQ(Infer(ops::pad, {F32({s0}), Type()}, {{"pad", L({-3, 0})}}),
            "pad: size[0] is negative: s0 - 3");
}

TEST_F(ShapeInferTest, SizesFromDataAreFreshSymbols) {
  EXPECT_EQ(Infer(ops::nonzero, {F32({s0, 4})}, {}), "i64[u0, 2]");
  EXPECT_EQ(Infer(ops::nonzero, {F32({3, 4})}, {}), "i64[u1, 2]");
  EXPECT_TRUE(symbols_.IsUnbacked(SymInt::Symbol("u1")));
  EXPECT_EQ(symbols_.RangeOf(SymInt::Symbol("u1")), (SymRange{0, 12}));
  EXPECT_EQ(Infer(ops::item, {Type::Scalar(DType::kI8)}, {}), "symint[u2]");
  EXPECT_EQ(symbols_.RangeOf(SymInt::Symbol("u2")), (SymRange{-128, 127}));
}

TEST_F(ShapeInferTest, IndexSelectPutsTheDimsOfIndexInPlace) {
  EXPECT_EQ(Infer(ops::index_select, {F32({s0, 10, 4}), Type::Tensor(DType::kI64, {s1, 2})},
                  {{"dim", 1}}),
            "f32[s0, s1, 2, 4]");
}

TEST_F(ShapeInferTest, GatherRefusesAnIndexThatCannotFit) {
  Know(5, 9);
  const Type index = Type::Tensor(DType::kI64, {s0, 2});
  EXPECT_EQ(Infer(ops::gather, {F32({4, 4}), index}, {{"dim", 1}}),
            "gather: index of type i64[s0, 2] is larger than f32[4, 4] in "
            "dim 0");
}

TEST_F(ShapeInferTest, RepeatAndSplitFollowSizes) {
  EXPECT_EQ(Infer(ops::repeat, {F32({s0, 2})}, {{"repeats", L({2, s1})}}), "f32[2*s0, 2*s1]");
  const std::vector<SymInt> halves = {s0, 4};
  EXPECT_EQ(Infer(ops::split_with_sizes, {F32({s0 + 4})}, {{"split_sizes", halves}}),
            "f32[s0], f32[4]");
  EXPECT_EQ(Infer(ops::split_with_sizes, {F32({s0 + 5})}, {{"split_sizes", halves}}),
            "split_with_sizes: split_sizes [s0, 4] do not add up to dim 0 of "
            "f32[s0 + 5]");
}

TEST_F(ShapeInferTest, ArangeCountsItsSteps) {
  const auto arange = [&](SymInt start, SymInt end, SymInt step) {
    return Infer(ops::arange, {}, {{"start", start}, {"end", end}, {"step", step}});
  };
  EXPECT_EQ(arange(0, s0, 1), "i64[s0]");
  EXPECT_EQ(arange(s0, s0 + 7, 2), "i64[4]");
  EXPECT_EQ(arange(1, s0, 1), "i64[max(0, s0 - 1)]");
  EXPECT_EQ(arange(0, s0, 2), "i64[(s0 + 1) // 2]");
  EXPECT_EQ(arange(s0 - 1, -1, -1), "i64[s0]");
}

TEST_F(ShapeInferTest, BlocksMustFitWhatIsKnown) {
  EXPECT_EQ(Infer(ops::depth_to_space, {F32({1, s0 * 4, s1, 3})}, {{"block_size", 2}}),
            "f32[1, s0, 2*s1, 6]");
  EXPECT_EQ(Infer(ops::space_to_depth, {F32({1, 3, s0, 4})}, {{"block_size", 2}}),
            "f32[1, 12, s0 // 2, 2]");
  EXPECT_EQ(Infer(ops::space_to_depth, {F32({1, 3, s0 * 2 + 1, 4})}, {{"block_size", 2}}),
            "space_to_depth: dim 2 of f32[1, 3, 2*s0 + 1, 4] is not a multiple "
            "of 2");
}

TEST_F(ShapeInferTest, TopkRefusesMoreThanThereCanBe) {
  EXPECT_EQ(Infer(ops::topk, {F32({s0, 8})}, {{"k", s1}}), "f32[s0, s1], i64[s0, s1]");
  Know(1, 3);
  EXPECT_EQ(Infer(ops::topk, {F32({s0})}, {{"k", 4}}),
            "topk: k is 4 but dim 0 of f32[s0] has fewer elements");
}

TEST_F(ShapeInferTest, ReductionsDropOrKeepDims) {
  const std::vector<SymInt> last = {-1};
  EXPECT_EQ(Infer(ops::sum, {F32({s0, s1})}, {{"dim", last}}), "f32[s0]");
  EXPECT_EQ(Infer(ops::amax, {F32({s0, s1})}, {{"dim", last}, {"keepdim", true}}), "f32[s0, 1]");
  EXPECT_EQ(Infer(ops::mean, {F32({s0, s1})}, {}), "f32[]");
  EXPECT_EQ(Infer(ops::argmax, {F32({s0, s1})}, {{"dim", 0}}), "i64[s1]");
}

TEST_F(ShapeInferTest, UniqueAndCompressFindAtMostAll) {
  Know(1, 9);
  EXPECT_EQ(Infer(ops::unique, {F32({s0, 2})}, {{"dim", 0}}),
            "f32[u0, 2], i64[u0], i64[s0], i64[u0]");
  EXPECT_EQ(symbols_.RangeOf(SymInt::Symbol("u0")), (SymRange{1, 9}));
  EXPECT_EQ(Infer(ops::compress, {F32({s0, 2}), Type::Tensor(DType::kBool, {s1})}, {}), "f32[u1]");
  EXPECT_EQ(symbols_.RangeOf(SymInt::Symbol("u1")), (SymRange{0, 18}));
  EXPECT_EQ(
      Infer(ops::compress, {F32({s0, 2}), Type::Tensor(DType::kBool, {s0 + 1})}, {{"dim", 0}}),
      "compress: condition of type bool[s0 + 1] is longer than s0");
}

TEST_F(ShapeInferTest, TuplesOfIndicesMustBeOfAKnownLength) {
  const Type pairs = Type::Tensor(DType::kI64, {s1, 2});
  EXPECT_EQ(Infer(ops::gather_nd, {F32({s0, 4, 5}), pairs}, {}), "f32[s1, 5]");
  EXPECT_EQ(Infer(ops::gather_nd, {F32({s0, 4}), Type::Tensor(DType::kI64, {2, s1})}, {}),
            "gather_nd: indices of type i64[2, s1] hold tuples that do not fit "
            "f32[s0, 4]");
  EXPECT_EQ(Infer(ops::scatter_nd, {F32({s0, 4, 5}), pairs, F32({s1, 5})}, {}), "f32[s0, 4, 5]");
  EXPECT_EQ(Infer(ops::scatter_nd, {F32({s0, 4, 5}), pairs, F32({s1, 6})}, {}),
            "scatter_nd: dim 1 of updates: 5 and 6 differ");
}

// --- Folds ------------------------------------------------------------------
// Folds that must happen; the conformance test only checks that folds are right.

class ShapeFoldTest : public testing::Test {
 protected:
  Value* Input(std::initializer_list<SymInt> dims) { return graph_->AddInput(F32(dims)); }

  Module module_{ops::Registry()};
  Graph* graph_ = module_.AddFunction("main");
  Builder b_{graph_};
};

TEST_F(ShapeFoldTest, WhatChangesNothingIsTheOperand) {
  Value* x = Input({s0, 1, 3});
  const std::vector<SymInt> same = {s0, 1, 3};
  const std::vector<SymInt> zeros(6);
  EXPECT_EQ(b_.Op(ops::reshape, {x}, {{"size", same}}), x);
  EXPECT_EQ(b_.Op(ops::expand, {x}, {{"size", same}}), x);
  EXPECT_EQ(b_.Op(ops::permute, {x}, {{"dims", L({0, -2, 2})}}), x);
  EXPECT_EQ(b_.Op(ops::slice, {x}, {{"dim", 0}}), x);
  EXPECT_EQ(b_.Op(ops::slice, {x}, {{"dim", 2}, {"end", 7}}), x);
  EXPECT_EQ(b_.Op(ops::cat, {x}, {}), x);
  EXPECT_EQ(b_.Op(ops::pad, {x, nullptr}, {{"pad", zeros}}), x);
  EXPECT_EQ(b_.Op(ops::repeat, {x}, {{"repeats", L({1, 1, 1})}}), x);
  EXPECT_EQ(b_.Op(ops::flip, {x}, {{"dims", L({1})}}), x);
  EXPECT_EQ(b_.Op(ops::roll, {x}, {{"shifts", L({0, 5})}, {"dims", L({0, 1})}}), x);
  EXPECT_EQ(b_.Op(ops::split_with_sizes, {x}, {{"split_sizes", L({s0})}}), x);
  EXPECT_EQ(b_.Op(ops::tril, {x}, {{"diagonal", 2}}), x);
  EXPECT_EQ(b_.Op(ops::triu, {x}, {{"diagonal", 0}}), x);
  EXPECT_EQ(b_.Op(ops::sum, {x}, {{"dim", L({1})}, {"keepdim", true}}), x);
  EXPECT_EQ(b_.Op(ops::cumsum, {x}, {{"dim", 1}}), x);
  EXPECT_TRUE(b_.status().ok()) << b_.status();
  EXPECT_EQ(graph_->num_nodes(), 0);
}

TEST_F(ShapeFoldTest, WhatIsUndoneIsTheOperand) {
  Value* x = Input({s0, 4, 3});
  const std::vector<SymInt> flat = {s0 * 12};
  const std::vector<SymInt> whole = {s0, 4, 3};
  Value* y = b_.Op(ops::reshape, {x}, {{"size", flat}});
  EXPECT_EQ(b_.Op(ops::reshape, {y}, {{"size", whole}}), x);
  y = b_.Op(ops::permute, {x}, {{"dims", L({1, 2, 0})}});
  EXPECT_EQ(b_.Op(ops::permute, {y}, {{"dims", L({2, 0, 1})}}), x);
  y = b_.Op(ops::flip, {x}, {{"dims", L({0, 2})}});
  EXPECT_EQ(b_.Op(ops::flip, {y}, {{"dims", L({0, 2})}}), x);
  EXPECT_TRUE(b_.status().ok()) << b_.status();
}

TEST_F(ShapeFoldTest, WhatChangesSomethingStays) {
  Value* x = Input({s0, 4});
  Value* y = b_.Op(ops::permute, {x}, {{"dims", L({1, 0})}});
  EXPECT_NE(y, x);
  EXPECT_NE(b_.Op(ops::flip, {b_.Op(ops::flip, {x}, {{"dims", L({0})}})}, {{"dims", L({1})}}), x);
  EXPECT_NE(b_.Op(ops::slice, {x}, {{"dim", 0}, {"end", 7}}), x);
  EXPECT_NE(b_.Op(ops::cumsum, {x}, {{"dim", 1}}), x);
  EXPECT_NE(b_.Op(ops::tril, {x}, {{"diagonal", 2}}), x);
  EXPECT_TRUE(b_.status().ok()) << b_.status();
  EXPECT_EQ(graph_->num_nodes(), 6);
}

TEST_F(ShapeFoldTest, EmptyPartsOfACatAreDropped) {
  Value* x = Input({4, 3});
  Value* none = Input({0, 3});
  EXPECT_EQ(b_.Op(ops::cat, {none, x, none}, {}), x);
  EXPECT_NE(b_.Op(ops::cat, {none, x, x}, {}), x);
}

TEST_F(ShapeFoldTest, ReductionsOfNothingAreLiterals) {
  Value* none = Input({0, 3});
  const HostTensor* sum = LiteralOf(b_.Op(ops::sum, {none}, {{"dim", L({0})}}));
  ASSERT_NE(sum, nullptr);
  EXPECT_EQ(sum->ReadDoubles(), std::vector<double>(3, 0.0));
  const HostTensor* all = LiteralOf(b_.Op(ops::all, {none}));
  ASSERT_NE(all, nullptr);
  EXPECT_EQ(all->IntAt(0), 1);
  EXPECT_EQ(LiteralOf(b_.Op(ops::sum, {none}, {{"dim", L({1})}})), nullptr);
}

}  // namespace
}  // namespace weft
