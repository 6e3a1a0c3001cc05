// Weighted sums of elements of images; compiled once for each instruction set.
//
// Positions are computed in double, as by the reference executor: in f32 a position near a border
// or between two elements could be rounded to the other side.
#include "backends/cpu/kernels/sample_tile.h"

#include "backends/cpu/kernels/vector_math.h"

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {

constexpr int64_t kPoints = kSamplePoints;
constexpr int kMostAxisTaps = 4;

// --- Positions along one axis ----------------------------------------------------------------

struct Axis {
  double size;
  double last;  // The greatest index.
  double low;   // Where positions are mirrored, and how far apart.
  double span;
};

Axis AxisOf(const SampleRule& rule, int axis) {
  const double size = static_cast<double>(rule.sizes[axis]);
  return {size, size - 1, rule.align_corners ? 0 : -0.5, rule.align_corners ? size - 1 : size};
}

// From [-1, 1] to elements.
void Unnormalize(const Axis& axis, bool align_corners, const float* from, double* to) {
  for (int64_t i = 0; i < kPoints; ++i) {
    const double v = static_cast<double>(from[i]);
    to[i] = align_corners ? (v + 1) / 2 * axis.last : ((v + 1) * axis.size - 1) / 2;
  }
}

bool IsFinite(double v) { return v - v == 0; }

// Brings positions to which a span adds nothing near the image; they repeat after two spans.
void MoveNear(const Axis& axis, double* at) {
  constexpr double kFar = 1e9;
  for (int64_t i = 0; i < kPoints; ++i) {
    if (__builtin_fabs(at[i]) < kFar || !IsFinite(at[i]) || axis.span <= 0) continue;
    at[i] = __builtin_fmod(at[i] - axis.low, 2 * axis.span) + axis.low;
  }
}

// Moves positions into the image as the padding says.
void Pad(const Axis& axis, SamplePadding padding, double* at) {
  if (padding == SamplePadding::kZeros) return;
  if (padding == SamplePadding::kReflection) {
    MoveNear(axis, at);
    for (int64_t i = 0; i < kPoints; ++i) {
      const double from = __builtin_fabs(at[i] - axis.low);
      const double turns = __builtin_floor(from / axis.span);
      const double extra = from - turns * axis.span;
      const bool flips = turns - 2 * __builtin_floor(turns / 2) != 0;
      const double mirrored = (flips ? axis.span - extra : extra) + axis.low;
      at[i] = IsFinite(at[i]) ? (axis.span > 0 ? mirrored : 0) : at[i];
    }
  }
  for (int64_t i = 0; i < kPoints; ++i) {
    const double v = at[i] < 0 ? 0 : at[i];
    at[i] = IsFinite(at[i]) ? (v > axis.last ? axis.last : v) : 0;
  }
}

// Taps of kPoints points along one axis.
struct AxisTaps {
  int count = 0;
  int32_t offset[kMostAxisTaps][kPoints];
  int32_t inside[kMostAxisTaps][kPoints];  // 0 or -1.
  double weight[kMostAxisTaps][kPoints];
};

// Sets the elements of tap `t`; all others are outside.
void SetIndices(const Axis& axis, int64_t stride, int t, const double* index, AxisTaps* taps) {
  for (int64_t i = 0; i < kPoints; ++i) {
    const bool inside = index[i] >= 0 && index[i] <= axis.last;
    taps->inside[t][i] = inside ? -1 : 0;
    taps->offset[t][i] = static_cast<int32_t>(inside ? index[i] : 0) * static_cast<int32_t>(stride);
  }
}

// The cubic convolution kernel at the distance x.
double CubicNear(double x) { return (1.25 * x - 2.25) * x * x + 1; }
double CubicFar(double x) { return ((-0.75 * x + 3.75) * x - 6) * x + 3; }

void FindCubic(const SampleRule& rule, const Axis& axis, int64_t stride, const double* at,
               AxisTaps* taps) {
  taps->count = 4;
  for (int64_t i = 0; i < kPoints; ++i) {
    const double t = at[i] - __builtin_floor(at[i]);
    taps->weight[0][i] = CubicFar(t + 1);
    taps->weight[1][i] = CubicNear(t);
    taps->weight[2][i] = CubicNear(1 - t);
    taps->weight[3][i] = CubicFar(2 - t);
  }
  for (int k = 0; k < 4; ++k) {
    double index[kPoints];
    for (int64_t i = 0; i < kPoints; ++i) index[i] = __builtin_floor(at[i]) - 1 + k;
    Pad(axis, rule.padding, index);
    // Mirrored positions may differ from integers in the last place.
    for (int64_t i = 0; i < kPoints; ++i) index[i] = __builtin_floor(index[i]);
    SetIndices(axis, stride, k, index, taps);
  }
}

void FindAxis(const SampleRule& rule, int number, const float* coordinates, AxisTaps* taps) {
  const Axis axis = AxisOf(rule, number);
  const int64_t stride = rule.strides[number];
  double at[kPoints], index[kPoints];
  Unnormalize(axis, rule.align_corners, coordinates, at);
  if (rule.mode == SampleMode::kBicubic) return FindCubic(rule, axis, stride, at, taps);
  Pad(axis, rule.padding, at);
  if (rule.mode == SampleMode::kNearest) {
    taps->count = 1;
    for (int64_t i = 0; i < kPoints; ++i) {
      index[i] = __builtin_nearbyint(at[i]);
      taps->weight[0][i] = 1;
    }
    return SetIndices(axis, stride, 0, index, taps);
  }
  taps->count = 2;
  for (int64_t i = 0; i < kPoints; ++i) {
    index[i] = __builtin_floor(at[i]);
    taps->weight[0][i] = 1 - (at[i] - index[i]);
    taps->weight[1][i] = at[i] - index[i];
  }
  SetIndices(axis, stride, 0, index, taps);
  for (int64_t i = 0; i < kPoints; ++i) index[i] += 1;
  SetIndices(axis, stride, 1, index, taps);
}

// --- Points --------------------------------------------------------------------------------------

// Tap `t` of all axes combined is tap part[axis] of each.
bool Combine(const AxisTaps* axes, int count, const int* part, int32_t* offsets, float* weights,
             int32_t* inside) {
  double weight[kPoints];
  int32_t all = -1;
  for (int64_t i = 0; i < kPoints; ++i) {
    offsets[i] = axes[0].offset[part[0]][i];
    inside[i] = axes[0].inside[part[0]][i];
    weight[i] = axes[0].weight[part[0]][i];
  }
  for (int a = 1; a < count; ++a) {
    for (int64_t i = 0; i < kPoints; ++i) {
      offsets[i] += axes[a].offset[part[a]][i];
      inside[i] &= axes[a].inside[part[a]][i];
      weight[i] *= axes[a].weight[part[a]][i];
    }
  }
  for (int64_t i = 0; i < kPoints; ++i) {
    weights[i] = static_cast<float>(weight[i]);
    offsets[i] &= inside[i];
    all &= inside[i];
  }
  return all != 0;
}

bool Find(const SampleRule& rule, const float* coordinates, int32_t* offsets, float* weights,
          int32_t* inside) {
  AxisTaps axes[kMostSampleAxes];
  int64_t taps = 1;
  for (int a = 0; a < rule.axes; ++a) {
    FindAxis(rule, a, coordinates + a * kPoints, &axes[a]);
    taps *= axes[a].count;
  }
  bool all = true;
  for (int64_t t = 0; t < taps; ++t) {
    int part[kMostSampleAxes];
    int64_t rest = t;
    for (int a = rule.axes; a-- > 0;) {
      part[a] = static_cast<int>(rest % axes[a].count);
      rest /= axes[a].count;
    }
    all &= Combine(axes, rule.axes, part, offsets + t * kPoints, weights + t * kPoints,
                   inside + t * kPoints);
  }
  return all;
}

// --- Sums of elements -------------------------------------------------------------------------

inline Vec LoadAt(const float* x, const int32_t* offsets) {
  Vec v;
  for (int64_t i = 0; i < kLanes; ++i) v[i] = x[offsets[i]];
  return v;
}

inline float SumAt(const float* x, const SampleTaps& taps, int64_t i) {
  float sum = 0;
  for (int64_t t = 0; t < taps.taps; ++t) {
    const int64_t at = t * taps.pitch + i;
    if (taps.inside != nullptr && taps.inside[at] == 0) continue;
    sum = __builtin_fmaf(taps.weights[at], x[taps.offsets[at]], sum);
  }
  return sum;
}

void Gather(const float* x, const SampleTaps& taps, int64_t count, float* y, int64_t y_step) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Vec sum = {};
    for (int64_t t = 0; t < taps.taps; ++t) {
      const int64_t at = t * taps.pitch + i;
      const Vec v = LoadAt(x, taps.offsets + at);
      const Vec next = Fma(LoadVec(taps.weights + at), v, sum);
      if (taps.inside == nullptr) {
        sum = next;
      } else {
        Ints inside;
        __builtin_memcpy(&inside, taps.inside + at, sizeof inside);
        sum = inside ? next : sum;
      }
    }
    if (y_step == 1) {
      StoreVec(y + i, sum);
    } else {
      for (int64_t l = 0; l < kLanes; ++l) y[(i + l) * y_step] = sum[l];
    }
  }
  for (; i < count; ++i) y[i * y_step] = SumAt(x, taps, i);
}

// --- Sums of vectors of channels --------------------------------------------------------------

void PackPixels(const float* x, int64_t x_channel, int64_t channels, int64_t pixels, float* to,
                int64_t to_pixel) {
  int64_t i = 0;
  for (; i + kLanes <= pixels; i += kLanes) {
    Vec square[kLanes];
    for (int64_t c = 0; c < kLanes; ++c) {
      square[c] = c < channels ? LoadVec(x + c * x_channel + i) : Vec{};
    }
    TransposeSquare<1>(square);
    for (int64_t l = 0; l < kLanes; ++l) StoreVec(to + (i + l) * to_pixel, square[l]);
  }
  for (; i < pixels; ++i) {
    for (int64_t c = 0; c < kLanes; ++c) {
      to[i * to_pixel + c] = c < channels ? x[c * x_channel + i] : 0;
    }
  }
}

// The channels of kLanes points from `first` on.
template <bool kAllInside>
inline void SumPixels(const float* x, const SampleTaps& taps, int64_t first, Vec* sums) {
  for (int64_t i = 0; i < kLanes; ++i) sums[i] = Vec{};
  for (int64_t t = 0; t < taps.taps; ++t) {
    const int64_t at = t * taps.pitch + first;
#pragma GCC unroll 16
    for (int64_t i = 0; i < kLanes; ++i) {
      const Vec v = LoadVec(x + taps.offsets[at + i]);
      const Vec next = Fma(Splat(taps.weights[at + i]), v, sums[i]);
      if constexpr (kAllInside) {
        sums[i] = next;
      } else {
        sums[i] = (Ints{} + taps.inside[at + i]) ? next : sums[i];
      }
    }
  }
}

inline void StorePart(float* to, Vec v, int64_t count) {
  if (count == kLanes) return StoreVec(to, v);
  __builtin_memcpy(to, &v, count * sizeof(float));
}

// Stores `count` points, of which each vector has the channels.
inline void StorePixels(Vec* sums, int64_t count, int64_t channels, float* y, int64_t y_channel,
                        int64_t y_step) {
  if (y_channel == 1) {
    for (int64_t i = 0; i < count; ++i) StorePart(y + i * y_step, sums[i], channels);
    return;
  }
  TransposeSquare<1>(sums);
  for (int64_t c = 0; c < channels; ++c) {
    if (y_step == 1) {
      StorePart(y + c * y_channel, sums[c], count);
    } else {
      for (int64_t i = 0; i < count; ++i) y[c * y_channel + i * y_step] = sums[c][i];
    }
  }
}

void GatherPixels(const float* x, const SampleTaps& taps, int64_t count, int64_t channels, float* y,
                  int64_t y_channel, int64_t y_step) {
  for (int64_t i = 0; i < count; i += kLanes) {
    Vec sums[kLanes];
    if (taps.inside == nullptr) {
      SumPixels<true>(x, taps, i, sums);
    } else {
      SumPixels<false>(x, taps, i, sums);
    }
    StorePixels(sums, Least(kLanes, count - i), channels, y + i * y_step, y_channel, y_step);
  }
}

// --- Other sums -------------------------------------------------------------------------------

void Blend(const float* const* rows, const float* weights, int64_t taps, int64_t count, float* y) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Vec sum = LoadVec(rows[0] + i) * weights[0];
    for (int64_t t = 1; t < taps; ++t) {
      sum = Fma(LoadVec(rows[t] + i), Splat(weights[t]), sum);
    }
    StoreVec(y + i, sum);
  }
  for (; i < count; ++i) {
    float sum = rows[0][i] * weights[0];
    for (int64_t t = 1; t < taps; ++t) sum = __builtin_fmaf(rows[t][i], weights[t], sum);
    y[i] = sum;
  }
}

void Add(const float* x, int64_t x_step, int64_t count, float* y, int64_t y_step) {
  if (x_step == 1 && y_step == 1) {
    for (int64_t i = 0; i < count; ++i) y[i] += x[i];
    return;
  }
  for (int64_t i = 0; i < count; ++i) y[i * y_step] += x[i * x_step];
}

}  // namespace

const SampleTable& TheSample() {
  static const SampleTable table = {Find, Gather, PackPixels, GatherPixels, Blend, Add, kLanes};
  return table;
}

}  // namespace WEFT_CPU_ISA

#if defined(__AVX512F__)
const SampleTable& Avx512Sample() { return avx512::TheSample(); }
#else
const SampleTable& Avx2Sample() { return avx2::TheSample(); }
#endif

}  // namespace weft::cpu
