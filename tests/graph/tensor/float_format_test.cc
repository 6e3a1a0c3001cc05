// Codes of floats: their values, rounding, overflow and zeros.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// f8e8m0 is tested on its own.
constexpr DType kNarrowFloats[] = {DType::kF4E2M1,     DType::kF8E4M3,     DType::kF8E5M2,
                                   DType::kF8E4M3FNUZ, DType::kF8E5M2FNUZ, DType::kF16,
                                   DType::kBF16};

uint64_t BitsOf(double v) {
  uint64_t bits;
  std::memcpy(&bits, &v, sizeof(bits));
  return bits;
}

TEST(FloatFormatTest, EveryCodeSurvives) {
  for (DType dtype : kNarrowFloats) {
    int nans = 0;
    for (uint64_t code = 0; code < uint64_t{1} << DTypeBits(dtype); ++code) {
      const double v = DecodeFloat(dtype, code);
      if (std::isnan(v)) {
        ++nans;
        EXPECT_TRUE(std::isnan(DecodeFloat(dtype, EncodeFloat(dtype, v))));
        EXPECT_TRUE(std::isnan(DecodeFloat(dtype, EncodeFloat(dtype, v, true))));
      } else {
        ASSERT_EQ(EncodeFloat(dtype, v), code) << DTypeName(dtype) << " " << v;
      }
    }
    const bool fnuz = dtype == DType::kF8E4M3FNUZ || dtype == DType::kF8E5M2FNUZ;
    const int want = dtype == DType::kF4E2M1   ? 0
                     : fnuz                    ? 1
                     : dtype == DType::kF8E4M3 ? 2
                     : dtype == DType::kF8E5M2 ? 6
                     : dtype == DType::kF16    ? 2 * 1023
                                               : 2 * 127;
    EXPECT_EQ(nans, want) << DTypeName(dtype);
  }
}

TEST(FloatFormatTest, CodesGrowWithTheirValues) {
  for (DType dtype : kNarrowFloats) {
    double last = -1;
    const uint64_t sign = uint64_t{1} << (DTypeBits(dtype) - 1);
    for (uint64_t code = 0; code < sign; ++code) {
      const double v = DecodeFloat(dtype, code);
      if (std::isnan(v)) break;
      EXPECT_GT(v, last) << DTypeName(dtype) << " " << code;
      last = v;
    }
  }
}

struct FormatFacts {
  DType dtype;
  double max, min_normal, min_subnormal, one_code;
};

TEST(FloatFormatTest, KnownValues) {
  const FormatFacts all[] = {{DType::kF4E2M1, 6, 1, 0.5, 2},
                             {DType::kF8E4M3, 448, 0x1p-6, 0x1p-9, 0x38},
                             {DType::kF8E5M2, 57344, 0x1p-14, 0x1p-16, 0x3c},
                             {DType::kF8E4M3FNUZ, 240, 0x1p-7, 0x1p-10, 0x40},
                             {DType::kF8E5M2FNUZ, 57344, 0x1p-15, 0x1p-17, 0x40},
                             {DType::kF16, 65504, 0x1p-14, 0x1p-24, 0x3c00},
                             {DType::kBF16, 0x1.fep127, 0x1p-126, 0x1p-133, 0x3f80},
                             {DType::kF32, 0x1.fffffep127, 0x1p-126, 0x1p-149, 0x3f800000}};
  for (const FormatFacts& f : all) {
    SCOPED_TRACE(DTypeName(f.dtype));
    EXPECT_EQ(EncodeFloat(f.dtype, 1.0), f.one_code);
    for (double v : {f.max, -f.max, f.min_normal, f.min_subnormal}) {
      EXPECT_EQ(DecodeFloat(f.dtype, EncodeFloat(f.dtype, v)), v);
    }
    EXPECT_EQ(EncodeFloat(f.dtype, f.min_subnormal), 1);
    // Half of the smallest is a tie with zero, which is even.
    EXPECT_EQ(EncodeFloat(f.dtype, f.min_subnormal / 2), 0);
    EXPECT_EQ(EncodeFloat(f.dtype, f.min_subnormal * 0.50001), 1);
    EXPECT_EQ(EncodeFloat(f.dtype, f.min_subnormal * 1.5), 2);
    EXPECT_EQ(EncodeFloat(f.dtype, std::numeric_limits<double>::denorm_min()), 0);
  }
}

// Between two neighbours: below the middle, the middle, above it.
TEST(FloatFormatTest, RoundsToNearestEven) {
  for (DType dtype : kNarrowFloats) {
    const uint64_t sign = uint64_t{1} << (DTypeBits(dtype) - 1);
    for (uint64_t code = 0; code + 1 < sign; ++code) {
      const double low = DecodeFloat(dtype, code);
      const double high = DecodeFloat(dtype, code + 1);
      if (!std::isfinite(low) || !std::isfinite(high)) break;
      const double middle = low + (high - low) / 2;
      const uint64_t even = code % 2 == 0 ? code : code + 1;
      ASSERT_EQ(EncodeFloat(dtype, middle), even) << DTypeName(dtype) << code;
      ASSERT_EQ(EncodeFloat(dtype, std::nextafter(middle, 0)), code);
      ASSERT_EQ(EncodeFloat(dtype, std::nextafter(middle, kInf)), code + 1);
      if (code != 0) {
        ASSERT_EQ(EncodeFloat(dtype, -middle), sign | even);
      }
    }
  }
}

TEST(FloatFormatTest, F32IsTheHardwares) {
  const auto want = [](double v) {
    const float f = static_cast<float>(v);
    uint32_t bits;
    std::memcpy(&bits, &f, sizeof(bits));
    return bits;
  };
  uint64_t state = 1;
  for (int i = 0; i < 200000; ++i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    uint64_t bits = state ^ state >> 29;
    // Exponents near those of f32.
    if (i % 4 != 0) {
      const uint64_t exponent = 1023 - 160 + (state >> 33) % 300;
      bits = (bits & ~(uint64_t{0x7ff} << 52)) | exponent << 52;
    }
    if (i % 8 == 1) bits &= ~uint64_t{0x0fffffff};  // Ties.
    double v;
    std::memcpy(&v, &bits, sizeof(v));
    const uint64_t got = EncodeFloat(DType::kF32, v);
    ASSERT_EQ(got, want(v)) << v;
    float back;
    const uint32_t low = static_cast<uint32_t>(got);
    std::memcpy(&back, &low, sizeof(back));
    ASSERT_EQ(BitsOf(DecodeFloat(DType::kF32, got)), BitsOf(static_cast<double>(back)));
  }
}

struct Special {
  DType dtype;
  uint64_t max, overflow, nan;  // Codes; overflow is without saturation.
};

TEST(FloatFormatTest, OverflowAndSaturation) {
  const Special all[] = {{DType::kF8E4M3, 0x7e, 0x7f, 0x7f},
                         {DType::kF8E5M2, 0x7b, 0x7c, 0x7e},
                         {DType::kF8E4M3FNUZ, 0x7f, 0x80, 0x80},
                         {DType::kF8E5M2FNUZ, 0x7f, 0x80, 0x80}};
  for (const Special& s : all) {
    SCOPED_TRACE(DTypeName(s.dtype));
    const double max = DecodeFloat(s.dtype, s.max);
    const double step = max - DecodeFloat(s.dtype, s.max - 1);
    // Half a step past the largest is a tie, and goes to the even code.
    const double limit = max + step / 2;
    EXPECT_EQ(EncodeFloat(s.dtype, std::nextafter(limit, 0)), s.max);
    EXPECT_EQ(EncodeFloat(s.dtype, limit), s.max % 2 == 0 ? s.max : s.overflow);
    for (double v : {std::nextafter(limit, kInf), 2 * max, 1e300, kInf}) {
      EXPECT_EQ(EncodeFloat(s.dtype, v), s.overflow) << v;
      EXPECT_EQ(EncodeFloat(s.dtype, -v), s.overflow | 0x80) << v;
      EXPECT_EQ(EncodeFloat(s.dtype, v, /*saturate=*/true), s.max) << v;
      EXPECT_EQ(EncodeFloat(s.dtype, -v, /*saturate=*/true), s.max | 0x80) << v;
    }
    EXPECT_EQ(EncodeFloat(s.dtype, kNan), s.nan);
    EXPECT_EQ(EncodeFloat(s.dtype, kNan, /*saturate=*/true), s.nan);
    EXPECT_EQ(EncodeFloat(s.dtype, max, /*saturate=*/true), s.max);
  }
}

TEST(FloatFormatTest, WiderFormatsDoNotSaturate) {
  EXPECT_EQ(EncodeFloat(DType::kF16, 65520, /*saturate=*/true), 0x7c00);
  EXPECT_EQ(EncodeFloat(DType::kF16, 65519.99), 0x7bff);
  EXPECT_EQ(EncodeFloat(DType::kBF16, -kInf, /*saturate=*/true), 0xff80);
  EXPECT_EQ(EncodeFloat(DType::kF32, 1e39, /*saturate=*/true), 0x7f800000);
}

TEST(FloatFormatTest, F4HasNumbersOnly) {
  const double all[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (uint64_t code = 0; code < 8; ++code) {
    EXPECT_EQ(DecodeFloat(DType::kF4E2M1, code), all[code]);
    EXPECT_EQ(DecodeFloat(DType::kF4E2M1, code | 8), -all[code]);
  }
  for (bool saturate : {false, true}) {
    EXPECT_EQ(EncodeFloat(DType::kF4E2M1, 5.0, saturate), 6);
    for (double v : {5.01, 7.0, 1e300, kInf}) {
      EXPECT_EQ(EncodeFloat(DType::kF4E2M1, v, saturate), 7) << v;
      EXPECT_EQ(EncodeFloat(DType::kF4E2M1, -v, saturate), 15) << v;
    }
    EXPECT_EQ(EncodeFloat(DType::kF4E2M1, kNan, saturate), 8);
  }
}

TEST(FloatFormatTest, ScalesArePowersOfTwo) {
  constexpr DType kScale = DType::kF8E8M0;
  for (uint64_t code = 0; code < 255; ++code) {
    const double v = DecodeFloat(kScale, code);
    ASSERT_EQ(v, std::ldexp(1.0, static_cast<int>(code) - 127));
    EXPECT_EQ(EncodeFloat(kScale, v), code);
    EXPECT_EQ(EncodeFloat(kScale, -v), code);  // It has no sign.
    EXPECT_EQ(EncodeFloat(kScale, std::nextafter(1.5 * v, 0)), code);
    EXPECT_EQ(EncodeFloat(kScale, 1.5 * v, /*saturate=*/true), std::min<uint64_t>(code + 1, 254));
    EXPECT_EQ(EncodeFloat(kScale, 1.5 * v), code + 1);  // The largest one becomes NaN.
  }
  EXPECT_TRUE(std::isnan(DecodeFloat(kScale, 255)));
  for (double tiny : {0.0, -0.0, 0x1p-1074, 0x1p-128}) EXPECT_EQ(EncodeFloat(kScale, tiny), 0);
  EXPECT_EQ(EncodeFloat(kScale, kInf), 255);
  EXPECT_EQ(EncodeFloat(kScale, -kInf, /*saturate=*/true), 254);
  EXPECT_EQ(EncodeFloat(kScale, kNan, /*saturate=*/true), 255);
}

TEST(FloatFormatTest, ZerosKeepTheirSignWhereThereIsOne) {
  EXPECT_EQ(EncodeFloat(DType::kF8E4M3, -0.0), 0x80);
  EXPECT_EQ(EncodeFloat(DType::kF8E5M2, -1e-30), 0x80);
  EXPECT_EQ(EncodeFloat(DType::kF16, -0.0), 0x8000);
  EXPECT_EQ(EncodeFloat(DType::kF8E4M3FNUZ, -0.0), 0);
  EXPECT_EQ(EncodeFloat(DType::kF8E5M2FNUZ, -1e-30), 0);
  EXPECT_TRUE(std::signbit(DecodeFloat(DType::kBF16, 0x8000)));
}

}  // namespace
}  // namespace weft
