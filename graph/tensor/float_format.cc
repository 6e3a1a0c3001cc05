// Floats of 32 bits and fewer, to and from the bits of a double.
//
// One table describes the formats, one routine reads them and one writes them; f8e8m0, which is an
// exponent alone, has its own two. Every value of every format is a double, so reading is exact and
// writing rounds once.
#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "graph/tensor/tensor.h"

namespace weft {
namespace {

// Meaning of the codes at the top of the exponent's range.
enum class Specials : uint8_t {
  kIeee,  // The largest exponent: infinity, and NaN with a payload.
  kFn,    // All ones is NaN; no infinity.
  kFnuz,  // The code of negative zero is NaN; no infinity.
  kNone,  // Neither infinity nor NaN.
};

struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  Specials specials;

  int bits() const { return 1 + exponent_bits + mantissa_bits; }
  uint64_t sign() const { return uint64_t{1} << (bits() - 1); }
  // Code of the largest finite value.
  uint64_t max_finite() const {
    switch (specials) {
      case Specials::kIeee:
        return infinity() - 1;
      case Specials::kFn:
        return sign() - 2;
      case Specials::kFnuz:
      case Specials::kNone:
        break;
    }
    return sign() - 1;
  }
  // Code of infinity, for formats that have one.
  uint64_t infinity() const { return ((uint64_t{1} << exponent_bits) - 1) << mantissa_bits; }
};

constexpr FloatFormat kF4E2M1 = {2, 1, 1, Specials::kNone};
constexpr FloatFormat kF8E4M3 = {4, 3, 7, Specials::kFn};
constexpr FloatFormat kF8E5M2 = {5, 2, 15, Specials::kIeee};
constexpr FloatFormat kF8E4M3Fnuz = {4, 3, 8, Specials::kFnuz};
constexpr FloatFormat kF8E5M2Fnuz = {5, 2, 16, Specials::kFnuz};
constexpr FloatFormat kF16 = {5, 10, 15, Specials::kIeee};
constexpr FloatFormat kBF16 = {8, 7, 127, Specials::kIeee};
constexpr FloatFormat kF32 = {8, 23, 127, Specials::kIeee};

const FloatFormat& FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kF4E2M1:
      return kF4E2M1;
    case DType::kF8E4M3:
      return kF8E4M3;
    case DType::kF8E5M2:
      return kF8E5M2;
    case DType::kF8E4M3FNUZ:
      return kF8E4M3Fnuz;
    case DType::kF8E5M2FNUZ:
      return kF8E5M2Fnuz;
    case DType::kF16:
      return kF16;
    case DType::kBF16:
      return kBF16;
    default:
      break;
  }
  WEFT_CHECK(dtype == DType::kF32) << DTypeName(dtype);
  return kF32;
}

constexpr int kDoubleMantissa = 52;
constexpr int kDoubleBias = 1023;
constexpr uint64_t kDoubleSign = uint64_t{1} << 63;
constexpr uint64_t kDoubleInfinity = uint64_t{0x7ff} << kDoubleMantissa;
constexpr uint64_t kDoubleQuiet = uint64_t{1} << (kDoubleMantissa - 1);

double FromBits(uint64_t bits) {
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

uint64_t ToBits(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

// NaN keeps its sign and, if the format has room, its payload. A format without NaN gets minus
// zero.
uint64_t EncodeNan(const FloatFormat& f, uint64_t sign, uint64_t mantissa) {
  switch (f.specials) {
    case Specials::kIeee:
      mantissa = (mantissa | kDoubleQuiet) >> (kDoubleMantissa - f.mantissa_bits);
      return sign | f.infinity() | mantissa;
    case Specials::kFn:
      return sign | (f.sign() - 1);
    case Specials::kFnuz:
    case Specials::kNone:
      break;
  }
  return f.sign();
}

// Infinity, or a finite value that rounds past the largest one.
uint64_t EncodeOverflow(const FloatFormat& f, uint64_t sign, bool saturate) {
  const bool saturates = f.specials == Specials::kNone || (saturate && f.bits() == 8);
  if (saturates) return sign | f.max_finite();
  if (f.specials == Specials::kIeee) return sign | f.infinity();
  return EncodeNan(f, sign, 0);
}

// `value` >> `shift`, to nearest even.
uint64_t ShiftRounded(uint64_t value, int shift) {
  const uint64_t quotient = value >> shift;
  const uint64_t rest = value - (quotient << shift);
  const uint64_t half = uint64_t{1} << (shift - 1);
  return quotient + (rest > half || (rest == half && quotient % 2 == 1));
}

constexpr uint64_t kScaleNan = 0xff;
constexpr int kScaleBias = 127;

double DecodeScale(uint64_t code) {
  if (code == kScaleNan) return std::numeric_limits<double>::quiet_NaN();
  return std::ldexp(1.0, static_cast<int>(code) - kScaleBias);
}

// The nearest power of two to |value|, ties to the larger one. Zero and what is smaller than the
// least power becomes that.
uint64_t EncodeScale(double value, bool saturate) {
  if (std::isnan(value)) return kScaleNan;
  if (std::abs(value) <= std::ldexp(1.0, -kScaleBias)) return 0;
  int exponent = kScaleBias + 2;
  if (!std::isinf(value)) {
    const double fraction = std::frexp(std::abs(value), &exponent);  // In [0.5, 1).
    if (fraction < 0.75) --exponent;
  }
  if (exponent <= kScaleBias) return static_cast<uint64_t>(exponent + kScaleBias);
  return saturate ? kScaleNan - 1 : kScaleNan;
}

}  // namespace

double DecodeFloat(DType dtype, uint64_t bits) {
  if (dtype == DType::kF8E8M0) return DecodeScale(bits);
  const FloatFormat& f = FormatOf(dtype);
  const bool negative = (bits & f.sign()) != 0;
  const uint64_t sign = negative ? kDoubleSign : 0;
  const uint64_t code = bits & (f.sign() - 1);
  const uint64_t mantissa = code & ((uint64_t{1} << f.mantissa_bits) - 1);
  const int exponent = static_cast<int>(code >> f.mantissa_bits);
  const uint64_t widened = mantissa << (kDoubleMantissa - f.mantissa_bits);
  if (f.specials == Specials::kFnuz && negative && code == 0) {
    return FromBits(kDoubleInfinity | kDoubleQuiet);
  }
  if (code > f.max_finite()) {
    const bool infinite = f.specials == Specials::kIeee && mantissa == 0;
    return FromBits(sign | kDoubleInfinity | (infinite ? 0 : widened | kDoubleQuiet));
  }
  if (exponent == 0) {
    const double value = std::ldexp(static_cast<double>(mantissa), 1 - f.bias - f.mantissa_bits);
    return negative ? -value : value;
  }
  const uint64_t wide_exponent = exponent - f.bias + kDoubleBias;
  return FromBits(sign | wide_exponent << kDoubleMantissa | widened);
}

uint64_t EncodeFloat(DType dtype, double value, bool saturate) {
  if (dtype == DType::kF8E8M0) return EncodeScale(value, saturate);
  const FloatFormat& f = FormatOf(dtype);
  const uint64_t bits = ToBits(value);
  const uint64_t sign = (bits & kDoubleSign) != 0 ? f.sign() : 0;
  const uint64_t magnitude = bits & ~kDoubleSign;
  const uint64_t mantissa = bits & ((uint64_t{1} << kDoubleMantissa) - 1);
  if (magnitude > kDoubleInfinity) return EncodeNan(f, sign, mantissa);
  if (magnitude == kDoubleInfinity) return EncodeOverflow(f, sign, saturate);

  // Doubles too small to be normal round to zero in every format of this file.
  const int wide_exponent = static_cast<int>(magnitude >> kDoubleMantissa);
  const int exponent = wide_exponent - kDoubleBias + f.bias;
  const int shift = kDoubleMantissa - f.mantissa_bits;
  uint64_t code = 0;
  if (wide_exponent != 0) {
    const uint64_t full = mantissa | uint64_t{1} << kDoubleMantissa;
    if (exponent >= 1) {
      // A carry out of the mantissa moves into the exponent. The implicit bit
      // adds the last one of it.
      code = (static_cast<uint64_t>(exponent - 1) << f.mantissa_bits) + ShiftRounded(full, shift);
    } else if (shift + 1 - exponent <= kDoubleMantissa + 2) {
      code = ShiftRounded(full, shift + 1 - exponent);
    }
  }
  if (code > f.max_finite()) return EncodeOverflow(f, sign, saturate);
  if (code == 0 && f.specials == Specials::kFnuz) return 0;
  return sign | code;
}

}  // namespace weft
