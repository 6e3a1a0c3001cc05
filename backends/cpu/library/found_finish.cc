#include "backends/cpu/library/found_finish.h"

#include <emmintrin.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace weft::cpu {
namespace {

template <typename T>
double ElementAt(const void* data, int64_t at) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + at * static_cast<int64_t>(sizeof(T)),
              sizeof(T));
  return static_cast<double>(value);
}

// Opens a clamp on the sides where narrowing clamps all that it does, since narrowing is monotonic.
void OpenCovered(const IntegerFinish::Narrow& narrow, IntegerFinish::Clamp* clamp) {
  if (!(narrow.step > 0)) return;
  const auto narrowed = [&](float bound) {
    return std::nearbyint(bound / narrow.step) + narrow.zero_point;
  };
  const IntegerFinish::Clamp open;
  if (narrowed(clamp->least) <= narrow.range.least) clamp->least = open.least;
  if (narrowed(clamp->most) >= narrow.range.most) clamp->most = open.most;
}

// Whether the values are rounded and packed without a division (IntegerFinish::Unit).
class UnitFinder {
 public:
  // Largest magnitudes of factors and biases.
  struct Largest {
    float scale = 0;
    float bias = 0;
    float late_bias[kMaxMiddles] = {};
  };
  UnitFinder(const IntegerFinish& finish, const Largest& largest) : f_(finish), largest_(largest) {}

  IntegerFinish::Unit Run() const {
    IntegerFinish::Unit unit;
    if (!f_.all_finite || !FitsSteps() || !FitsRange()) return unit;
    unit.fits = true;
    for (int m = 0; m < f_.middles; ++m) {
      const IntegerFinish::Narrow& narrow = f_.middle[m].narrow;
      // Between the middles is no clamp.
      const IntegerFinish::Clamp clamp = m == 0 ? f_.first : IntegerFinish::Clamp();
      unit.middle[m].least = Limited(narrow, clamp.least) - narrow.zero_point;
      unit.middle[m].most = Limited(narrow, clamp.most) - narrow.zero_point;
    }
    if (!Narrows()) return unit;
    const bool has_second = f_.middles > 0 || Adds();
    const IntegerFinish::Clamp& clamp = has_second ? f_.second : f_.first;
    unit.zero_point = static_cast<int16_t>(f_.narrow.zero_point);
    unit.least = static_cast<uint8_t>(static_cast<int>(Limited(f_.narrow, clamp.least)));
    unit.most = static_cast<uint8_t>(static_cast<int>(Limited(f_.narrow, clamp.most)));
    return unit;
  }

 private:
  // Half of the range of i32, for errors of the bound.
  static constexpr double kMost = 1 << 30;

  bool Narrows() const {
    return f_.result == IntegerResult::kU8 || f_.result == IntegerResult::kI8;
  }
  bool Adds() const { return f_.addend_kind != IntegerResult::kI32; }

  static float Limited(const IntegerFinish::Narrow& narrow, float bound) {
    return std::clamp(std::nearbyint(bound) + narrow.zero_point, narrow.range.least,
                      narrow.range.most);
  }

  bool FitsSteps() const {
    if (f_.result != IntegerResult::kF32 && !Narrows()) return false;
    const bool has_narrow = Narrows() && f_.narrow.step == 1;
    if (Narrows() != has_narrow) return false;
    for (int m = 0; m < f_.middles; ++m) {
      const IntegerFinish::Middle& middle = f_.middle[m];
      if (middle.narrow.step != 1 || middle.narrow.zero_point != middle.wide_zero_point) {
        return false;
      }
    }
    // A clamp before the addend limits another number than the bytes.
    return f_.middles > 0 || (has_narrow && (!Adds() || f_.first.is_open()));
  }

  bool FitsRange() const {
    constexpr double kMostSum = 2147483648.0;
    constexpr double kMostByte = 512;  // Less its zero point.
    double most = kMostSum * largest_.scale + largest_.bias;
    for (int m = 0; m < f_.middles; ++m) {
      if (!(most <= kMost)) return false;
      most = kMostByte * std::abs(f_.middle[m].wide_scale) + largest_.late_bias[m];
    }
    if (!Narrows()) return true;
    if (f_.addend_kind == IntegerResult::kF32) return false;
    if (Adds()) most += kMostByte * std::abs(f_.addend_scale);
    return most <= kMost;
  }

  const IntegerFinish& f_;
  const Largest largest_;
};

// Infinite or NaN if an element is.
float LargestMagnitude(const float* from, int64_t n) {
  // Magnitudes are in the order of their bits.
  const __m128i magnitude = _mm_set1_epi32(0x7fffffff);
  __m128i largest = _mm_setzero_si128();
  const auto take = [&](__m128i bits) {
    bits = _mm_and_si128(bits, magnitude);
    const __m128i more = _mm_cmpgt_epi32(bits, largest);
    largest = _mm_or_si128(_mm_and_si128(more, bits), _mm_andnot_si128(more, largest));
  };
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) take(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
  for (; i < n; ++i) take(_mm_castps_si128(_mm_set1_ps(from[i])));
  alignas(16) int32_t lanes[4];
  _mm_store_si128(reinterpret_cast<__m128i*>(lanes), largest);
  float number;
  std::memcpy(&number, std::max_element(lanes, lanes + 4), sizeof number);
  return number;
}

void ReadColumns(const FinishOperand& from, absl::Span<void* const> args, int64_t columns,
                 float* to) {
  if (from.arg < 0) {
    std::fill_n(to, columns, from.value);
  } else if (from.dtype == DType::kF32 && from.stride == 1) {
    std::memcpy(to, static_cast<const float*>(args[from.arg]) + from.offset, columns * 4);
  } else {
    for (int64_t j = 0; j < columns; ++j) to[j] = static_cast<float>(from.At(j, args));
  }
}

}  // namespace

double FinishOperand::At(int64_t column, absl::Span<void* const> args) const {
  if (arg < 0) return value;
  const int64_t at = offset + column * stride;
  switch (dtype) {
    case DType::kF32:
      return ElementAt<float>(args[arg], at);
    case DType::kI32:
      return ElementAt<int32_t>(args[arg], at);
    case DType::kU8:
      return ElementAt<uint8_t>(args[arg], at);
    default:
      return ElementAt<int8_t>(args[arg], at);
  }
}

IntegerFinish FoundFinish::Read(absl::Span<void* const> args, int64_t real, int64_t columns,
                                float* scratch) const {
  IntegerFinish read = finish;
  if (table) read.table = table->data();
  read.scale = scratch;
  read.bias = scratch + columns;
  std::fill(scratch, scratch + ScratchFloats(columns), 0.0f);
  ReadColumns(scale, args, real, scratch);
  ReadColumns(bias, args, real, scratch + columns);
  UnitFinder::Largest largest;
  largest.scale = LargestMagnitude(scratch, real);
  largest.bias = LargestMagnitude(scratch + columns, real);
  for (int m = 0; m < read.middles; ++m) {
    if (late_bias[m].arg < 0 && late_bias[m].value == 0) continue;
    float* own = scratch + (2 + m) * columns;
    ReadColumns(late_bias[m], args, real, own);
    largest.late_bias[m] = LargestMagnitude(own, real);
    read.middle[m].late_bias = own;
  }
  read.all_finite = std::isfinite(largest.scale) && std::isfinite(largest.bias);
  const auto narrows = [&](const Narrow& from, IntegerFinish::Narrow* to) {
    to->step = static_cast<float>(from.step.At(0, args));
    to->zero_point = static_cast<float>(from.zero_point.At(0, args));
  };
  for (int m = 0; m < read.middles; ++m) narrows(middle[m], &read.middle[m].narrow);
  narrows(narrow, &read.narrow);
  // Quotients by 0, infinity and NaN may be NaN.
  const float step = read.middle[0].narrow.step;
  read.all_finite = read.all_finite && std::isfinite(step) && step != 0;
  const bool is_narrow = read.result == IntegerResult::kU8 || read.result == IntegerResult::kI8;
  if (read.middles > 0) {
    OpenCovered(read.middle[0].narrow, &read.first);
  } else if (is_narrow && addend < 0) {
    OpenCovered(read.narrow, &read.first);
  }
  if (is_narrow) OpenCovered(read.narrow, &read.second);
  if (addend >= 0) {
    const int64_t bytes = finish.addend_kind == IntegerResult::kF32 ? 4 : 1;
    read.addend = static_cast<const char*>(args[addend]) + addend_offset * bytes;
  }
  read.unit = UnitFinder(read, largest).Run();
  return read;
}

void FoundFinish::AddTo(absl::Span<void* const> args, int64_t real, int32_t* start) const {
  if (sum_bias.arg < 0 && sum_bias.value == 0) return;
  for (int64_t j = 0; j < real; ++j) {
    const auto bias = static_cast<uint32_t>(static_cast<int32_t>(sum_bias.At(j, args)));
    start[j] = static_cast<int32_t>(static_cast<uint32_t>(start[j]) + bias);
  }
}

}  // namespace weft::cpu
