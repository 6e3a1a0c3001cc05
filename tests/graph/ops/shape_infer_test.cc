// Inference of the ops that move and reduce elements, on symbolic sizes: what
// the samples of an op cannot say.
#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "graph/core/builder.h"
#include "graph/core/op.h"
#include "graph/core/sym.h"
#include "graph/core/type.h"
#include "graph/ops/ops.h"

namespace weft {
namespace {

const SymInt s0 = SymInt::Symbol("s0");
const SymInt s1 = SymInt::Symbol("s1");
constexpr int64_t kEnd = SymRange::kMax;

Type F32(std::initializer_list<SymInt> dims) {
  return Type::Tensor(DType::kF32, dims);
}

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
  EXPECT_EQ(Infer(ops::reshape, {F32({s0, 4})},
                  {{"size", std::vector<SymInt>{s0 * 2, 2}}}),
            "f32[2*s0, 2]");
  EXPECT_EQ(Infer(ops::reshape, {F32({s0})},
                  {{"size", std::vector<SymInt>{s1, 2}}}),
            "f32[s1, 2]");
}

TEST_F(ShapeInferTest, ReshapeRefusesWhatCannotBeEqual) {
  Know(1, 100);
  EXPECT_EQ(Infer(ops::reshape, {F32({s0})},
                  {{"size", std::vector<SymInt>{s0 + 1}}}),
            "reshape: cannot see f32[s0] of s0 elements as [s0 + 1] of s0 + 1");
  EXPECT_EQ(Infer(ops::reshape, {F32({s0})},
                  {{"size", std::vector<SymInt>{-s0, -1}}}),
            "reshape: size[0] is negative: -s0");
}

TEST_F(ShapeInferTest, ExpandAcceptsASizeThatMayBeOne) {
  EXPECT_EQ(Infer(ops::expand, {F32({s0, 1})},
                  {{"size", std::vector<SymInt>{2, 4, s1}}}),
            "f32[2, 4, s1]");
  Know(2, 3);
  EXPECT_EQ(Infer(ops::expand, {F32({s0})},
                  {{"size", std::vector<SymInt>{4}}}),
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
        const NamedAttr attrs[] = {
            {"dim", 0}, {"start", start}, {"end", end}, {"step", step}};
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
            const auto value = [&](SymInt s) -> std::optional<int64_t> {
              return s == s0 ? n : p;
            };
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
                << (*result)[0] << " for " << start << ":" << end << ":"
                << step << " at n=" << n << ", s1=" << p;
          }
        }
      }
    }
  }
}

TEST_F(ShapeInferTest, CatAddsSizesAndPrefersConstants) {
  EXPECT_EQ(Infer(ops::cat, {F32({s0, s1}), F32({2, 8})}, {}),
            "f32[s0 + 2, 8]");
  EXPECT_EQ(Infer(ops::cat, {F32({s0, 7}), F32({2, 8})}, {}),
            "cat: tensors[1]: sizes 7 and 8 of dim 1 differ");
}

TEST_F(ShapeInferTest, PadAddsAndRefusesWhatMustBeNegative) {
  EXPECT_EQ(Infer(ops::pad, {F32({s0}), Type()},
                  {{"pad", std::vector<SymInt>{1, s1}}}),
            "f32[s0 + s1 + 1]");
  Know(0, 2);
  EXPECT_EQ(Infer(ops::pad, {F32({s0}), Type()},
                  {{"pad", std::vector<SymInt>{-3, 0}}}),
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
  EXPECT_EQ(Infer(ops::index_select,
                  {F32({s0, 10, 4}), Type::Tensor(DType::kI64, {s1, 2})},
                  {{"dim", 1}}),
            "f32[s0, s1, 2, 4]");
}

TEST_F(ShapeInferTest, GatherRefusesAnIndexThatCannotFit) {
  Know(5, 9);
  EXPECT_EQ(Infer(ops::gather, {F32({4, 4}), Type::Tensor(DType::kI64, {s0, 2})},
                  {{"dim", 1}}),
            "gather: index of type i64[s0, 2] is larger than f32[4, 4] in "
            "dim 0");
}

}  // namespace
}  // namespace weft
