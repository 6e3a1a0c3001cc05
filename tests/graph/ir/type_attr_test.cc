// Types, attributes and dtypes: identity, printing, substitution.
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/quote.h"
#include "graph/ir/attr.h"
#include "graph/tensor/dtype.h"
#include "graph/tensor/type.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

const SymInt s0 = SymInt::Symbol("s0");

std::optional<SymInt> S0IsFour(SymInt s) {
  if (s == s0) return SymInt(4);
  return std::nullopt;
}

TEST(DTypeTest, NamesParseBack) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const DType dtype = static_cast<DType>(i);
    EXPECT_EQ(ParseDType(DTypeName(dtype)), dtype);
    EXPECT_EQ(IsFloat(dtype) + IsInt(dtype) + IsComplex(dtype), dtype == DType::kBool ? 0 : 1);
  }
  EXPECT_EQ(DTypeName(DType::kF8E4M3FNUZ), "f8e4m3fnuz");
  EXPECT_EQ(ParseDType("f31"), std::nullopt);
  EXPECT_EQ(ParseDType(""), std::nullopt);
}

TEST(DTypeTest, SizesAndLimits) {
  EXPECT_EQ(DTypeBytes(DType::kI4, 3), 2);
  EXPECT_EQ(DTypeBytes(DType::kF4E2M1, 3), 2);
  EXPECT_EQ(DTypeBytes(DType::kF8E8M0, 3), 3);
  EXPECT_EQ(DTypeBytes(DType::kU4, 0), 0);
  EXPECT_EQ(DTypeBytes(DType::kC128, 3), 48);
  EXPECT_EQ(IntMin(DType::kI4), -8);
  EXPECT_EQ(IntMax(DType::kI4), 7);
  EXPECT_EQ(IntMax(DType::kU4), 15);
  EXPECT_EQ(IntMin(DType::kI64), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(IntMax(DType::kU64), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(IntMin(DType::kU8), 0);
  EXPECT_EQ(IntMax(DType::kBool), 1);
}

TEST(TypeTest, Prints) {
  EXPECT_EQ(Type().ToString(), "none");
  EXPECT_EQ(Type::Scalar(DType::kF32).ToString(), "f32[]");
  EXPECT_EQ(Type::Tensor(DType::kBF16, {s0, 128}).ToString(), "bf16[s0, 128]");
  EXPECT_EQ(Type::Symbolic(s0 + 1).ToString(), "symint[s0 + 1]");
}

TEST(TypeTest, EqualTypesAreOne) {
  const Type t = Type::Tensor(DType::kF32, {s0, 2});
  EXPECT_EQ(t, Type::Tensor(DType::kF32, {s0, 2}));
  EXPECT_NE(t, Type::Tensor(DType::kF32, {2, s0}));
  EXPECT_NE(t, t.WithDType(DType::kF64));
  EXPECT_NE(Type::Symbolic(3), Type::Tensor(DType::kI64, {3}));
  EXPECT_EQ(t.WithDims({1}), Type::Tensor(DType::kF32, {1}));
}

TEST(TypeTest, Dims) {
  const Type t = Type::Tensor(DType::kF32, {s0, 2});
  EXPECT_EQ(t.numel(), 2 * s0);
  EXPECT_FALSE(t.is_static());
  EXPECT_EQ(t.static_dims(), std::nullopt);
  const Type four = t.Substitute(S0IsFour);
  EXPECT_TRUE(four.is_static());
  EXPECT_EQ(four.static_dims(), (std::vector<int64_t>{4, 2}));
  EXPECT_EQ(Type::Scalar(DType::kI8).numel(), 1);
  EXPECT_EQ(Type::Symbolic(s0).Substitute(S0IsFour), Type::Symbolic(4));
  EXPECT_EQ(Type().Substitute(S0IsFour), Type());
}

TEST(AttrTest, Prints) {
  EXPECT_EQ(AttrValue().ToString(), "none");
  EXPECT_EQ(AttrValue(true).ToString(), "true");
  EXPECT_EQ(AttrValue(-3).ToString(), "-3");
  EXPECT_EQ(AttrValue(s0 + 1).ToString(), "s0 + 1");
  EXPECT_EQ(AttrValue(1.0).ToString(), "1.0");
  EXPECT_EQ(AttrValue(DType::kF8E5M2).ToString(), "f8e5m2");
  EXPECT_EQ(AttrValue("a\"b").ToString(), "\"a\\\"b\"");
  EXPECT_EQ(AttrValue(std::vector<SymInt>{1, s0}).ToString(), "[1, s0]");
  EXPECT_EQ(AttrValue(std::vector<double>{}).ToString(), "[]");
  EXPECT_EQ(AttrValue(std::vector<double>{0.5, -2}).ToString(), "[0.5, -2.0]");
  EXPECT_EQ(AttrValue(std::vector<std::string>{"x", ""}).ToString(), "[\"x\", \"\"]");
}

TEST(AttrTest, FloatsReadBack) {
  EXPECT_EQ(FloatToString(0.1), "0.1");
  EXPECT_EQ(FloatToString(0.1f), "0.1");
  EXPECT_EQ(FloatToString(1e30), "1e+30");
  EXPECT_EQ(FloatToString(-0.0), "-0.0");
  EXPECT_EQ(FloatToString(HUGE_VAL), "inf");
  EXPECT_EQ(FloatToString(-HUGE_VAL), "-inf");
  EXPECT_EQ(FloatToString(std::nan("")), "nan");
  for (double v : {1.0 / 3, 5e-324, 1.7976931348623157e308, 123456789.0}) {
    EXPECT_EQ(std::strtod(FloatToString(v).c_str(), nullptr), v);
  }
}

TEST(AttrTest, QuotesWhatIsNotText) {
  EXPECT_EQ(Quote("a\\\n\t"), "\"a\\\\\\n\\t\"");
  EXPECT_EQ(Quote(absl::string_view("\0\x1f\x7f", 3)), "\"\\x00\\x1f\\x7f\"");
  EXPECT_EQ(Quote("\xc3\xa9"), "\"\xc3\xa9\"");
}

TEST(AttrTest, Matches) {
  EXPECT_TRUE(AttrValue(3).Matches(AttrKind::kInt));
  EXPECT_TRUE(AttrValue(3).Matches(AttrKind::kSymInt));
  EXPECT_FALSE(AttrValue(s0).Matches(AttrKind::kInt));
  EXPECT_FALSE(AttrValue(3).Matches(AttrKind::kFloat));
  EXPECT_FALSE(AttrValue(true).Matches(AttrKind::kInt));
  EXPECT_FALSE(AttrValue().Matches(AttrKind::kBool));
  const std::vector<SymInt> symbolic = {1, s0};
  EXPECT_TRUE(AttrValue(symbolic).Matches(AttrKind::kSymInts));
  EXPECT_FALSE(AttrValue(symbolic).Matches(AttrKind::kInts));
}

TEST(AttrTest, FloatsCompareByBits) {
  const double nan = std::nan("");
  EXPECT_EQ(AttrValue(nan), AttrValue(nan));
  EXPECT_NE(AttrValue(0.0), AttrValue(-0.0));
  EXPECT_EQ(AttrValue(std::vector<double>{nan}), AttrValue(std::vector<double>{nan}));
  EXPECT_NE(AttrValue(std::vector<double>{0.0}), AttrValue(std::vector<double>{-0.0}));
  EXPECT_NE(AttrValue(1), AttrValue(1.0));
  EXPECT_NE(AttrValue(1), AttrValue(true));
}

TEST(AttrTest, ListsAreInterned) {
  const AttrList* a = AttrList::Get({1, "x", s0});
  EXPECT_EQ(a, AttrList::Get({1, "x", s0}));
  EXPECT_NE(a, AttrList::Get({1, "y", s0}));
  EXPECT_TRUE(a->is_symbolic());
  EXPECT_EQ(a->Substitute(S0IsFour), AttrList::Get({1, "x", 4}));
  EXPECT_FALSE(a->Substitute(S0IsFour)->is_symbolic());
  EXPECT_EQ(AttrList::Empty(), AttrList::Get({}));
  EXPECT_EQ(AttrList::Empty()->size(), 0);
}

}  // namespace
}  // namespace weft
