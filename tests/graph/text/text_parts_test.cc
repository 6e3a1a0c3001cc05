// Sizes, types and literals of the text form by themselves.
#include <cstring>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/quote.h"
#include "gmock/gmock.h"
#include "graph/sym/sym_ops.h"
#include "graph/tensor/tensor.h"
#include "graph/text/parts/text_lexer.h"
#include "graph/text/parts/text_reader.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

std::string SizeText(absl::string_view text) {
  auto value = ParseSymInt(text);
  return value.ok() ? value->ToString() : std::string(value.status().message());
}

TEST(ParseSymInt, Expressions) {
  const SymInt s0 = SymInt::Symbol("s0"), s1 = SymInt::Symbol("s1");
  EXPECT_EQ(*ParseSymInt("3"), SymInt(3));
  EXPECT_EQ(*ParseSymInt("-3"), SymInt(-3));
  EXPECT_EQ(*ParseSymInt("2*s0 + 1"), SymInt(2) * s0 + 1);
  EXPECT_EQ(*ParseSymInt("s0 // 2"), FloorDiv(s0, 2));
  EXPECT_EQ(*ParseSymInt("s0//2*2"), FloorDiv(s0, 2) * 2);
  EXPECT_EQ(*ParseSymInt("s0 % 8"), Mod(s0, 8));
  EXPECT_EQ(*ParseSymInt("s0%8"), Mod(s0, 8));
  EXPECT_EQ(*ParseSymInt("s0 %s1"), Mod(s0, s1));
  EXPECT_EQ(*ParseSymInt("s0 - s1 - 3"), s0 - s1 - 3);
  EXPECT_EQ(*ParseSymInt("s0 - 2*s1 // 3"), s0 - FloorDiv(SymInt(2) * s1, 3));
  EXPECT_EQ(*ParseSymInt("-(s0 + s1)*s0"), -(s0 + s1) * s0);
  EXPECT_EQ(*ParseSymInt("-3 // 2"), SymInt(-2));
  EXPECT_EQ(*ParseSymInt("s0 - 3 // 2"), s0 - 1);
  EXPECT_EQ(*ParseSymInt("min(s0, s1, 4)"), Min(Min(s0, s1), 4));
  EXPECT_EQ(*ParseSymInt("max(s0 // 2, 1)"), Max(FloorDiv(s0, 2), 1));
  EXPECT_EQ(*ParseSymInt("broadcast(s0, s1)"), BroadcastSize(s0, s1));
  EXPECT_EQ(*ParseSymInt("\"batch size\" + 1"), SymInt::Symbol("batch size") + 1);
}

TEST(ParseSymInt, Limits) {
  const int64_t min = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(*ParseSymInt("9223372036854775807"), SymInt(-(min + 1)));
  EXPECT_EQ(*ParseSymInt("-9223372036854775808"), SymInt(min));
  EXPECT_EQ(*ParseSymInt("s0 - 9223372036854775808"), SymInt::Symbol("s0") + SymInt(min));
  EXPECT_EQ(*ParseSymInt("s0 - 9223372036854775808*s1"),
            SymInt::Symbol("s0") + SymInt(min) * SymInt::Symbol("s1"));
  EXPECT_THAT(SizeText("9223372036854775808"), HasSubstr("passes 64 bits"));
  EXPECT_THAT(SizeText("-9223372036854775809"), HasSubstr("passes 64 bits"));
  EXPECT_THAT(SizeText("9223372036854775807 + 1"), HasSubstr("passes 64 bits"));
  EXPECT_THAT(SizeText("99999999999999999999999"), HasSubstr("passes 64 bits"));
  EXPECT_THAT(SizeText("s0 // 0"), HasSubstr("divides by zero"));
  EXPECT_THAT(SizeText(std::string(1000, '(')), HasSubstr("nested"));
}

TEST(ParseSymInt, Errors) {
  EXPECT_EQ(SizeText("s0 +"), "<size>:1:5: expected a size, found the end of the text");
  EXPECT_EQ(SizeText("s0 s1"), "<size>:1:4: expected the end of the size, found \"s1\"");
  EXPECT_THAT(SizeText("1.5"), HasSubstr("found \"1.5\""));
  EXPECT_THAT(SizeText("invalid"), HasSubstr("reserved"));
  EXPECT_THAT(SizeText(""), HasSubstr("expected a size"));
}

// Random expressions read back as themselves.
TEST(ParseSymInt, RoundTrip) {
  uint64_t state = 7;
  const auto random = [&state](int n) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<int>((state >> 33) % n);
  };
  for (int i = 0; i < 20000; ++i) {
    std::vector<SymInt> pool = {
        SymInt::Symbol("s0"), SymInt::Symbol("s1"), SymInt::Symbol("a b"), 2, 3, -1, 8};
    for (int n = 0; n < 6; ++n) {
      const SymInt a = pool[random(static_cast<int>(pool.size()))];
      const SymInt b = pool[random(static_cast<int>(pool.size()))];
      const SymInt results[] = {a + b,     a - b,     a * b, FloorDiv(a, b),     Mod(a, b),
                                Min(a, b), Max(a, b), -a,    BroadcastSize(a, b)};
      const SymInt r = results[random(9)];
      if (r.is_valid()) pool.push_back(r);
    }
    const SymInt value = pool.back();
    const auto parsed = ParseSymInt(value.ToString());
    ASSERT_TRUE(parsed.ok()) << value << ": " << parsed.status();
    ASSERT_EQ(*parsed, value);
  }
}

TEST(ParseType, RoundTrip) {
  for (const char* text : {"f32[]", "f32[2, 3]", "bf16[s0, 2*s0 + 1]", "symint[u0]", "symint[4]",
                           "u4[0]", "f8e4m3fnuz[broadcast(s0, s1)]", "i64[\"a]b\", 3]"}) {
    const auto type = ParseType(text);
    ASSERT_TRUE(type.ok()) << type.status();
    EXPECT_EQ(type->ToString(), text);
  }
}

TEST(ParseType, Errors) {
  const auto error = [](absl::string_view text) {
    return std::string(ParseType(text).status().message());
  };
  EXPECT_THAT(error("f32[-1]"), HasSubstr("<type>:1:5: negative size -1"));
  EXPECT_THAT(error("f32[2"), HasSubstr("expected"));
  EXPECT_THAT(error("f32[2] x"), HasSubstr("expected the end of the type"));
  EXPECT_THAT(error("none"), HasSubstr("expected a type"));
  std::string dims = "1";
  for (int i = 0; i < 63; ++i) dims += ", 1";
  EXPECT_TRUE(ParseType(absl::StrCat("f32[", dims, "]")).ok());
  EXPECT_THAT(error(absl::StrCat("f32[", dims, ", 1]")), HasSubstr("more than 64 dims"));
  EXPECT_THAT(error("f32[4294967296, 4294967296]"), HasSubstr("passes 64 bits"));
}

// --- Literals --------------------------------------------------------------

// All bit patterns of a dtype of 16 bits or fewer, and back.
TEST(Literals, SmallFloatsAreExact) {
  for (DType dtype : {DType::kF8E4M3, DType::kF8E5M2, DType::kF8E4M3FNUZ, DType::kF8E5M2FNUZ,
                      DType::kF8E8M0, DType::kF16, DType::kBF16}) {
    const int bytes = DTypeBits(dtype) / 8;
    const int64_t n = int64_t{1} << (8 * bytes);
    HostTensor tensor(dtype, {n});
    for (int64_t i = 0; i < n; ++i) {
      std::memcpy(tensor.raw() + i * bytes, &i, bytes);
    }
    std::string text;
    text::AppendDense(tensor, &text);
    text::TextReader reader(text, "t");
    size_t elements;
    HostTensor back;
    ASSERT_TRUE(reader.SkipDense(&elements) && reader.ParseElements(elements, tensor.type(), &back))
        << reader.status();
    EXPECT_TRUE(back.BitEqual(tensor)) << DTypeName(dtype);
  }
}

std::string RoundTrip(const HostTensor& tensor) {
  std::string text;
  text::AppendDense(tensor, &text);
  text::TextReader reader(text, "t");
  size_t elements;
  HostTensor back;
  EXPECT_TRUE(reader.SkipDense(&elements) && reader.ParseElements(elements, tensor.type(), &back))
      << reader.status();
  EXPECT_TRUE(back.valid() && back.BitEqual(tensor)) << text;
  std::string error;
  const auto decoded = text::DecodeTensor(text::EncodeTensor(tensor), tensor.type(), &error);
  EXPECT_TRUE(decoded && decoded->BitEqual(tensor)) << error;
  return text;
}

TEST(Literals, RandomBitsAreExact) {
  uint64_t state = 99;
  for (DType dtype : {DType::kF32, DType::kF64, DType::kC32, DType::kC64, DType::kC128, DType::kI8,
                      DType::kU64, DType::kI64, DType::kBool, DType::kU16, DType::kI32}) {
    HostTensor tensor(dtype, {5, 400});
    for (int64_t i = 0; i < tensor.bytes(); ++i) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      tensor.raw()[i] = static_cast<uint8_t>(state >> 40);
    }
    RoundTrip(tensor);
  }
}

TEST(Literals, Spelling) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(RoundTrip(HostTensor::FromDoubles(DType::kF32, {2, 2}, {0.1, -0.0, nan, 1e30})),
            "dense<[[0.1, -0.0], [nan, 1e+30]]>");
  EXPECT_EQ(RoundTrip(HostTensor::FromInts(DType::kI4, {3}, {-8, 7, 0})), "dense<[-8, 7, 0]>");
  EXPECT_EQ(RoundTrip(HostTensor::FromInts(DType::kU4, {2, 1}, {15, 1})), "dense<[[15], [1]]>");
  EXPECT_EQ(RoundTrip(HostTensor::FromDoubles(DType::kF4E2M1, {5}, {-0.0, 0.5, -6, 3, 1.5})),
            "dense<[-0.0, 0.5, -6.0, 3.0, 1.5]>");
  EXPECT_EQ(RoundTrip(HostTensor::FromDoubles(DType::kF8E8M0, {3}, {0.25, 1024, nan})),
            "dense<[0.25, 1024.0, nan]>");
  EXPECT_EQ(RoundTrip(HostTensor::ScalarInt(DType::kU64, -1)), "dense<18446744073709551615>");
  EXPECT_EQ(RoundTrip(HostTensor::ScalarInt(DType::kI64, std::numeric_limits<int64_t>::min())),
            "dense<-9223372036854775808>");
  EXPECT_EQ(RoundTrip(HostTensor(DType::kF32, {2, 0, 3})), "dense<[]>");
  HostTensor odd(DType::kBool, {2});
  odd.raw()[1] = 2;
  EXPECT_EQ(RoundTrip(odd), "dense<[false, 0x2]>");
}

TEST(Literals, ListsMayBeFlat) {
  const std::string text = "dense<[1, 2, 3, 4]>";
  text::TextReader reader(text, "t");
  size_t elements;
  HostTensor tensor;
  ASSERT_TRUE(reader.SkipDense(&elements) &&
              reader.ParseElements(elements, *ParseType("i8[2, 2]"), &tensor));
  EXPECT_EQ(tensor.IntAt(3), 4);
}

TEST(Lexer, FindsLinesAndColumns) {
  using Place = std::pair<size_t, size_t>;
  EXPECT_EQ(text::LineAndColumn("ab\ncd", 0), Place(1, 1));
  EXPECT_EQ(text::LineAndColumn("ab\ncd", 2), Place(1, 3));
  EXPECT_EQ(text::LineAndColumn("ab\ncd", 3), Place(2, 1));
  EXPECT_EQ(text::LineAndColumn("ab\ncd", 5), Place(2, 3));
}

TEST(Lexer, QuotesUndoneAreTheText) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  const std::string quoted = Quote(all);
  EXPECT_EQ(text::Unescape(absl::string_view(quoted).substr(1, quoted.size() - 2)), all);
}

}  // namespace
}  // namespace weft
