// Specs as text: round trips over all parts, and errors that name their place.
#include "passes/quantize/spec.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "passes/quantize/observer.h"

namespace weft {
namespace {

QuantSpec Parse(absl::string_view text) {
  const absl::StatusOr<QuantSpec> spec = ParseQuantSpec(text);
  EXPECT_TRUE(spec.ok()) << spec.status();
  return spec.ok() ? *spec : QuantSpec();
}

std::string Error(absl::string_view text) {
  const absl::StatusOr<QuantSpec> spec = ParseQuantSpec(text);
  return spec.ok() ? "parsed" : std::string(spec.status().message());
}

// The examples of the header.
TEST(QuantSpec, PrintsWhatWasRead) {
  for (const char* text : {
           "u8 affine tensor histogram eps=0.000244140625",
           "i8[-127..127] symmetric axis=0 min_max",
           "i4 symmetric axis=1 block=32 min_max",
           "i8 affine token dynamic",
           "u8 fixed scale=0.00390625 zero_point=0",
           "i32 derived axis=0",
           "f8e4m3 symmetric tensor min_max",
           "f4e2m1 symmetric axis=1 block=32 mse scales=f8e8m0",
           "f8e5m2 symmetric axis=-1 block=32 dynamic scales=f8e8m0 eps=1e-05",
           "u8[0..127] affine tensor min_max",
           "i8 symmetric tensor dynamic eps=1e-05",
           "i32 derived",
           "i16 symmetric axis=-1 min_max",
       }) {
    EXPECT_EQ(ToText(Parse(text)), text);
  }
}

TEST(QuantSpec, EveryObserverGranularitySchemeAndDtypeComesBack) {
  for (const char* dtype : {"i4", "u4", "i8", "u8", "i16", "u16", "i32", "i8[-100..90]"}) {
    for (const char* scheme : {"affine", "symmetric"}) {
      for (const char* part : {"tensor", "axis=2", "axis=-1 block=16"}) {
        for (const char* observer : ObserverNames()) {
          const std::string text = absl::StrCat(dtype, " ", scheme, " ", part, " ", observer);
          EXPECT_EQ(ToText(Parse(text)), text);
          EXPECT_TRUE(Parse(text) == Parse(ToText(Parse(text))));
        }
      }
    }
  }
}

TEST(QuantSpec, FillsTheFields) {
  const QuantSpec block = Parse("i4[-7..7] symmetric mse block=32 axis=1 eps=0.5");
  EXPECT_EQ(block.dtype, DType::kI4);
  EXPECT_EQ(block.quant_min, -7);
  EXPECT_EQ(block.quant_max, 7);
  EXPECT_EQ(block.scheme, QuantScheme::kSymmetric);
  EXPECT_EQ(block.granularity, QuantGranularity::kBlock);
  EXPECT_EQ(block.axis, 1);
  EXPECT_EQ(block.block, 32);
  EXPECT_EQ(block.observer, "mse");
  EXPECT_EQ(block.eps, 0.5);
  EXPECT_FALSE(block.dynamic);

  const QuantSpec fixed = Parse("u8 fixed zero_point=7 scale=0.25");
  EXPECT_EQ(fixed.scale, 0.25);
  EXPECT_EQ(fixed.zero_point, 7);
  EXPECT_EQ(fixed.quant_max, 255);
}

TEST(QuantSpec, DefaultsAreThoseOfTheDtype) {
  const QuantSpec spec = Parse("u4 affine");
  EXPECT_EQ(spec.quant_min, 0);
  EXPECT_EQ(spec.quant_max, 15);
  EXPECT_EQ(spec.granularity, QuantGranularity::kTensor);
  EXPECT_EQ(spec.observer, "min_max");
  EXPECT_EQ(Parse("f8e5m2 symmetric").quant_max, 57344);
}

TEST(QuantSpec, UnusedFieldsDoNotTellSpecsApart) {
  QuantSpec a = Parse("u8 affine tensor min_max");
  QuantSpec b = a;
  b.axis = 3;
  b.scale = 7;
  EXPECT_TRUE(a == b);
  b.eps = 1;
  EXPECT_FALSE(a == b);
  EXPECT_TRUE(Parse("i8 symmetric axis=0") != Parse("i8 symmetric axis=1"));
  EXPECT_TRUE(Parse("u8 affine mse") != Parse("u8 affine min_max"));
  EXPECT_TRUE(Parse("i8 symmetric scales=f8e8m0") != Parse("i8 symmetric"));
}

TEST(QuantSpec, ErrorsNameTheWordAndTheColumn) {
  const std::string lead = "quantization spec ";
  EXPECT_EQ(Error("q8 affine"),
            lead + "\"q8 affine\", column 1: \"q8\" is no dtype of quantized values");
  EXPECT_THAT(Error("f32 affine"), testing::HasSubstr("column 1: \"f32\" is no dtype"));
  EXPECT_THAT(Error("u8"), testing::HasSubstr("column 3: a scheme follows"));
  EXPECT_THAT(Error("u8 afine"), testing::HasSubstr("column 4: a scheme follows"));
  EXPECT_THAT(Error("u8 affine  minmax"), testing::HasSubstr("column 12: \"minmax\" is no part"));
  EXPECT_THAT(Error("u8 affine axis=x"), testing::HasSubstr("column 11: \"x\" is no number"));
  EXPECT_THAT(Error("u8 affine mse mse"), testing::HasSubstr("column 15: a second mse"));
  EXPECT_THAT(Error("u8 affine mse entropy"), testing::HasSubstr("column 15: a second observer"));
  EXPECT_THAT(Error("u8[0..] affine"), testing::HasSubstr("column 3: a range is written"));
  EXPECT_THAT(Error(""), testing::HasSubstr("column 1: a spec begins with a dtype"));
}

TEST(QuantSpec, RefusesWhatMeansNothing) {
  EXPECT_THAT(Error("u8[0..256] affine"), testing::HasSubstr("[0..256] is not within u8"));
  EXPECT_THAT(Error("u8[1..255] affine"), testing::HasSubstr("does not hold 0"));
  EXPECT_THAT(Error("i8[0..0] affine"), testing::HasSubstr("does not hold 0 and another"));
  EXPECT_THAT(Error("i8 affine block=4"), testing::HasSubstr("block= goes with axis="));
  EXPECT_THAT(Error("i8 affine axis=0 block=0"), testing::HasSubstr("is not positive"));
  EXPECT_THAT(Error("i8 affine axis=0 tensor"), testing::HasSubstr("one of tensor"));
  EXPECT_THAT(Error("i8 affine token"), testing::HasSubstr("scales of tokens are dynamic"));
  EXPECT_THAT(Error("i8 affine dynamic min_max"), testing::HasSubstr("nothing is observed"));
  EXPECT_THAT(Error("u8 fixed"), testing::HasSubstr("has scale="));
  EXPECT_THAT(Error("f8e8m0 symmetric"), testing::HasSubstr("is no dtype of quantized values"));
  EXPECT_THAT(Error("i8 symmetric scales=f16"), testing::HasSubstr("scales are f32 or f8e8m0"));
  EXPECT_THAT(Error("u8 affine scales=f8e8m0"), testing::HasSubstr("goes with symmetric"));
  EXPECT_THAT(Error("u8 affine scale=1"), testing::HasSubstr("has scale="));
  EXPECT_THAT(Error("u8 fixed scale=0"), testing::HasSubstr("positive and finite"));
  EXPECT_THAT(Error("u8 fixed scale=1 zero_point=-1"), testing::HasSubstr("zero point -1"));
  EXPECT_THAT(Error("u8 fixed scale=1 axis=0"), testing::HasSubstr("one scale"));
  EXPECT_THAT(Error("i32 derived dynamic"), testing::HasSubstr("is affine or symmetric"));
  EXPECT_THAT(Error("i32 derived axis=0 block=2"), testing::HasSubstr("by tensor or by axis"));
  EXPECT_THAT(Error("f8e4m3 affine"), testing::HasSubstr("are symmetric"));
  EXPECT_THAT(Error("i64 symmetric"), testing::HasSubstr("is no dtype"));
  EXPECT_THAT(Error("u8 affine eps=0"), testing::HasSubstr("eps is positive"));
}

TEST(QuantSpec, CheckFindsAnUnknownObserver) {
  QuantSpec spec;
  spec.observer = "guess";
  EXPECT_THAT(CheckQuantSpec(spec).message(), testing::HasSubstr("no observer guess"));
}

}  // namespace
}  // namespace weft
