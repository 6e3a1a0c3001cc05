// Fourier transforms of blocks of lines; compiled once for each instruction set.
//
// The transform is Stockham's: each stage reads one block and writes another one, and the result is
// in order. A stage of radix r takes elements that lie a r-th of what is left apart.
#include "backends/cpu/kernels/fourier_tile.h"

#include "backends/cpu/kernels/vector_math.h"

namespace weft::cpu {
namespace WEFT_CPU_ISA {
namespace {

// --- Vectors, or single numbers ------------------------------------------------------------

template <typename V>
constexpr int64_t kWidth = sizeof(V) / sizeof(float);

template <typename V>
inline V Load(const float* from) {
  V v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
template <typename V>
inline void Store(float* to, V v) {
  __builtin_memcpy(to, &v, sizeof v);
}
inline float Fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
template <typename V>
inline V All(float f) {
  return f - V{};
}

template <typename V>
struct Complex {
  V re, im;
};

template <typename V>
inline Complex<V> operator+(Complex<V> a, Complex<V> b) {
  return {a.re + b.re, a.im + b.im};
}
template <typename V>
inline Complex<V> operator-(Complex<V> a, Complex<V> b) {
  return {a.re - b.re, a.im - b.im};
}
template <typename V>
inline Complex<V> operator*(Complex<V> a, Complex<V> b) {
  return {Fma(-a.im, b.im, a.re * b.re), Fma(a.im, b.re, a.re * b.im)};
}
template <typename V>
inline Complex<V> Conj(Complex<V> a) {
  return {a.re, -a.im};
}
template <typename V>
inline Complex<V> Scale(float f, Complex<V> a) {
  return {f * a.re, f * a.im};
}
// a - i b, and a + i b.
template <typename V>
inline Complex<V> MinusI(Complex<V> a, Complex<V> b) {
  return {a.re + b.im, a.im - b.re};
}
template <typename V>
inline Complex<V> PlusI(Complex<V> a, Complex<V> b) {
  return {a.re - b.im, a.im + b.re};
}
template <typename V>
inline Complex<V> Constant(const float* pair) {
  return {All<V>(pair[0]), All<V>(pair[1])};
}

// Elements of a block, whose parts may be swapped.
template <typename V>
struct Elements {
  Elements(float* block, bool swapped)
      : re(block + (swapped ? kWidth<V> : 0)), im(block + (swapped ? 0 : kWidth<V>)) {}
  Complex<V> Get(int64_t i) const {
    return {Load<V>(re + i * 2 * kWidth<V>), Load<V>(im + i * 2 * kWidth<V>)};
  }
  void Set(int64_t i, Complex<V> v) const {
    Store(re + i * 2 * kWidth<V>, v.re);
    Store(im + i * 2 * kWidth<V>, v.im);
  }
  float* re;
  float* im;
};

// --- Transforms of a few elements ------------------------------------------------------------

struct Radix2 {
  static constexpr int kRadix = 2;
  static void Run(const FourierStage&, const Complex<Vec>* a, Complex<Vec>* b) {
    b[0] = a[0] + a[1];
    b[1] = a[0] - a[1];
  }
};

struct Radix4 {
  static constexpr int kRadix = 4;
  static void Run(const FourierStage&, const Complex<Vec>* a, Complex<Vec>* b) {
    const Complex<Vec> even = a[0] + a[2], even_apart = a[0] - a[2];
    const Complex<Vec> odd = a[1] + a[3], odd_apart = a[1] - a[3];
    b[0] = even + odd;
    b[1] = MinusI(even_apart, odd_apart);
    b[2] = even - odd;
    b[3] = PlusI(even_apart, odd_apart);
  }
};

// Elements j and radix - j together: roots of theirs are conjugates. kOdd is the radix, or 0 for
// one that only the stage tells.
template <int kOdd>
struct OddRadix {
  static constexpr int kRadix = kOdd;
  static void Run(const FourierStage& s, const Complex<Vec>* a, Complex<Vec>* b) {
    constexpr int kMost = kOdd == 0 ? kMostFourierRadix : kOdd;
    const int radix = kOdd == 0 ? static_cast<int>(s.radix) : kOdd;
    Complex<Vec> sums[kMost / 2 + 1], apart[kMost / 2 + 1];
    Complex<Vec> all = a[0];
    for (int j = 1; j <= radix / 2; ++j) {
      sums[j] = a[j] + a[radix - j];
      apart[j] = a[j] - a[radix - j];
      all = all + sums[j];
    }
    b[0] = all;
    for (int k = 1; k <= radix / 2; ++k) {
      Complex<Vec> even = a[0];
      Complex<Vec> odd = {Vec{}, Vec{}};
      int at = 0;
      for (int j = 1; j <= radix / 2; ++j) {
        at = at + k < radix ? at + k : at + k - radix;
        const Vec c = Splat(s.roots[2 * at]), sine = Splat(s.roots[2 * at + 1]);
        even = {Fma(c, sums[j].re, even.re), Fma(c, sums[j].im, even.im)};
        odd = {Fma(sine, apart[j].re, odd.re), Fma(sine, apart[j].im, odd.im)};
      }
      b[k] = MinusI(even, odd);
      b[radix - k] = PlusI(even, odd);
    }
  }
};

template <typename Radix>
void RunStage(const FourierStage& s, const Elements<Vec>& x, const Elements<Vec>& y) {
  constexpr int kMost = Radix::kRadix == 0 ? kMostFourierRadix : Radix::kRadix;
  const int radix = Radix::kRadix == 0 ? static_cast<int>(s.radix) : Radix::kRadix;
  for (int64_t p = 0; p < s.parts; ++p) {
    const float* twiddles = s.twiddles + p * (radix - 1) * 2;
    for (int64_t q = 0; q < s.width; ++q) {
      Complex<Vec> a[kMost], b[kMost];
      for (int j = 0; j < radix; ++j) a[j] = x.Get(q + s.width * (p + s.parts * j));
      Radix::Run(s, a, b);
      const int64_t to = q + s.width * radix * p;
      y.Set(to, b[0]);
      // The first part has twiddles of 1.
      for (int j = 1; j < radix; ++j) {
        y.Set(to + s.width * j, p == 0 ? b[j] : b[j] * Constant<Vec>(twiddles + 2 * (j - 1)));
      }
    }
  }
}

float* Transform(const FourierStages& plan, float* x, float* y, bool swapped) {
  for (int64_t i = 0; i < plan.count; ++i) {
    const FourierStage& s = plan.stages[i];
    const Elements<Vec> from(x, swapped), to(y, swapped);
    switch (s.radix) {
      case 2:
        RunStage<Radix2>(s, from, to);
        break;
      case 3:
        RunStage<OddRadix<3>>(s, from, to);
        break;
      case 4:
        RunStage<Radix4>(s, from, to);
        break;
      case 5:
        RunStage<OddRadix<5>>(s, from, to);
        break;
      case 7:
        RunStage<OddRadix<7>>(s, from, to);
        break;
      default:
        RunStage<OddRadix<0>>(s, from, to);
    }
    float* const written = y;
    y = x;
    x = written;
  }
  return x;
}

// --- What comes before and after -------------------------------------------------------------

template <typename V>
void Multiply(float* block, int64_t count, const float* factors, bool swapped) {
  const Elements<V> x(block, swapped);
  for (int64_t i = 0; i < count; ++i) x.Set(i, x.Get(i) * Constant<V>(factors + 2 * i));
}

void Twiddle(float* block, int64_t count, const float* factors, bool swapped) {
  const Elements<Vec> x(block, swapped);
  for (int64_t i = 0; i < count; ++i) {
    const float* f = factors + i * 2 * kLanes;
    x.Set(i, x.Get(i) * Complex<Vec>{LoadVec(f), LoadVec(f + kLanes)});
  }
}

template <typename V>
void Window(float* block, int64_t count, const float* window, int64_t step) {
  const Elements<V> x(block, false);
  for (int64_t i = 0; i < count; ++i) {
    const Complex<V> v = x.Get(i);
    x.Set(i, {v.re * window[i * step], v.im * window[i * step + step - 1]});
  }
}

bool FitsVectors(const float* block, int64_t count) {
  Ints all = ~Ints{};
  for (int64_t i = 0; i < 2 * count; ++i) {
    const Vec size = (Vec)((Ints)LoadVec(block + i * kLanes) & 0x7fffffff);
    all &= size <= Splat(kMostFourierNumber);
  }
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    if (all[lane] == 0) return false;
  }
  return true;
}

bool FitsNumbers(const float* block, int64_t count) {
  bool fits = true;
  for (int64_t i = 0; i < 2 * count; ++i) fits &= __builtin_fabsf(block[i]) <= kMostFourierNumber;
  return fits;
}

// Elements k and half - k are done together. The even and the odd numbers have the transforms
// (a + conj b) / 2 and (a - conj b) / 2i.
template <typename V>
void FinishReal(float* block, int64_t half, const float* roots) {
  const Elements<V> x(block, false);
  const Complex<V> first = x.Get(0);
  x.Set(0, {first.re + first.im, V{}});
  x.Set(half, {first.re - first.im, V{}});
  for (int64_t k = 1; k <= half - k; ++k) {
    const Complex<V> a = x.Get(k), b = Conj(x.Get(half - k));
    const Complex<V> even = Scale(0.5f, a + b);
    const Complex<V> twice = a - b;
    const Complex<V> odd =
        Constant<V>(roots + 2 * k) * Complex<V>{0.5f * twice.im, -0.5f * twice.re};
    x.Set(k, even + odd);
    x.Set(half - k, Conj(even - odd));
  }
}

template <typename V>
void StartReal(float* block, int64_t half, const float* roots) {
  const Elements<V> x(block, false);
  const V first = x.Get(0).re, last = x.Get(half).re;
  x.Set(0, {first + last, first - last});
  for (int64_t k = 1; k <= half - k; ++k) {
    const Complex<V> a = x.Get(k), b = Conj(x.Get(half - k));
    const Complex<V> even = a + b;
    const Complex<V> odd = Conj(Constant<V>(roots + 2 * k)) * (a - b);
    x.Set(k, PlusI(even, odd));
    x.Set(half - k, Conj(MinusI(even, odd)));
  }
}

template <typename V>
void Mirror(float* block, int64_t length, int64_t count) {
  const Elements<V> x(block, false);
  for (int64_t k = length / 2 + 1; k < count; ++k) x.Set(k, Conj(x.Get(length - k)));
}

// --- Memory ------------------------------------------------------------------------------------

// Elements [first, count) one by one.
template <typename V>
void LoadEach(const FourierLines& from, int64_t first, int64_t count, float* block) {
  constexpr int64_t kW = kWidth<V>;
  for (int64_t lane = 0; lane < kW; ++lane) {
    const float* line =
        from.data + from.offsets[lane < from.lanes ? lane : from.lanes - 1] + first * from.step;
    float* to = block + first * 2 * kW + lane;
    for (int64_t k = first; k < count; ++k, line += from.step, to += 2 * kW) {
      to[0] = line[0];
      to[kW] = from.part == 0 ? 0.0f : line[from.part];
    }
  }
}

template <typename V>
void StoreEach(const float* block, int64_t first, int64_t count, FourierScale scale,
               const FourierLines& to) {
  constexpr int64_t kW = kWidth<V>;
  for (int64_t lane = 0; lane < kW && lane < to.lanes; ++lane) {
    float* line = to.data + to.offsets[lane] + first * to.step;
    const float* from = block + first * 2 * kW + lane;
    for (int64_t k = first; k < count; ++k, line += to.step, from += 2 * kW) {
      line[0] = from[0] * scale.re;
      if (to.part != 0) line[to.part] = from[kW] * scale.im;
    }
  }
}

// True if all lanes have lines that start `apart` elements behind one another.
bool StartApart(const FourierLines& lines, int64_t apart) {
  if (lines.lanes != kLanes) return false;
  for (int64_t i = 1; i < kLanes; ++i) {
    if (lines.offsets[i] != lines.offsets[0] + i * apart) return false;
  }
  return true;
}

// Parts of kLanes pairs that lie in two vectors.
inline Complex<Vec> Unzip(Vec a, Vec b) {
  Ints even, odd;
  for (int i = 0; i < kLanes; ++i) {
    even[i] = 2 * i;
    odd[i] = 2 * i + 1;
  }
  return {__builtin_shuffle(a, b, even), __builtin_shuffle(a, b, odd)};
}
inline void Zip(Complex<Vec> v, float* to) {
  Ints low, high;
  for (int i = 0; i < kLanes; ++i) {
    low[i] = i / 2 + i % 2 * kLanes;
    high[i] = low[i] + kLanes / 2;
  }
  StoreVec(to, __builtin_shuffle(v.re, v.im, low));
  StoreVec(to + kLanes, __builtin_shuffle(v.re, v.im, high));
}

// Squares of lines whose numbers are adjacent, from `first` on: pairs, or real numbers. Returns the
// elements that are done.
int64_t LoadSquares(const FourierLines& from, int64_t count, float* block) {
  const bool pairs = from.part != 0;
  const int64_t each = pairs ? kLanes / 2 : kLanes;
  int64_t k = 0;
  for (; k + each <= count; k += each) {
    Vec v[kLanes];
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const int64_t line = lane < from.lanes ? lane : from.lanes - 1;
      v[lane] = LoadVec(from.data + from.offsets[line] + k * from.step);
    }
    TransposeSquare<1>(v);
    float* to = block + k * 2 * kLanes;
    for (int64_t i = 0; i < kLanes; ++i) {
      StoreVec(to + (pairs ? i : 2 * i) * kLanes, v[i]);
      if (!pairs) StoreVec(to + (2 * i + 1) * kLanes, Vec{});
    }
  }
  return k;
}

int64_t StoreSquares(const float* block, int64_t count, FourierScale scale,
                     const FourierLines& to) {
  const bool pairs = to.part != 0;
  const int64_t each = pairs ? kLanes / 2 : kLanes;
  int64_t k = 0;
  for (; k + each <= count; k += each) {
    Vec v[kLanes];
    const float* from = block + k * 2 * kLanes;
    for (int64_t i = 0; i < kLanes; ++i) {
      const bool imaginary = pairs && i % 2 == 1;
      v[i] = LoadVec(from + (pairs ? i : 2 * i) * kLanes) * (imaginary ? scale.im : scale.re);
    }
    TransposeSquare<1>(v);
    for (int64_t lane = 0; lane < to.lanes; ++lane) {
      StoreVec(to.data + to.offsets[lane] + k * to.step, v[lane]);
    }
  }
  return k;
}

void LoadBlock(const FourierLines& from, int64_t count, float* block) {
  const Elements<Vec> x(block, false);
  int64_t done = 0;
  if ((from.part == 1 && from.step == 2) || (from.part == 0 && from.step == 1)) {
    done = LoadSquares(from, count, block);
  } else if (from.part == 1 && StartApart(from, 2)) {
    for (; done < count; ++done) {
      const float* at = from.data + from.offsets[0] + done * from.step;
      x.Set(done, Unzip(LoadVec(at), LoadVec(at + kLanes)));
    }
  } else if (StartApart(from, 1)) {
    for (; done < count; ++done) {
      const float* at = from.data + from.offsets[0] + done * from.step;
      x.Set(done, {LoadVec(at), from.part == 0 ? Vec{} : LoadVec(at + from.part)});
    }
  }
  LoadEach<Vec>(from, done, count, block);
}

void StoreBlock(const float* block, int64_t count, FourierScale scale, const FourierLines& to) {
  const Elements<Vec> x(const_cast<float*>(block), false);
  int64_t done = 0;
  if ((to.part == 1 && to.step == 2) || (to.part == 0 && to.step == 1)) {
    done = StoreSquares(block, count, scale, to);
  } else if (to.part == 1 && StartApart(to, 2)) {
    for (; done < count; ++done) {
      const Complex<Vec> v = x.Get(done);
      Zip({v.re * scale.re, v.im * scale.im}, to.data + to.offsets[0] + done * to.step);
    }
  } else if (StartApart(to, 1)) {
    for (; done < count; ++done) {
      const Complex<Vec> v = x.Get(done);
      float* at = to.data + to.offsets[0] + done * to.step;
      StoreVec(at, v.re * scale.re);
      if (to.part != 0) StoreVec(at + to.part, v.im * scale.im);
    }
  }
  StoreEach<Vec>(block, done, count, scale, to);
}

void LoadLine(const FourierLines& from, int64_t count, float* block) {
  LoadEach<float>(from, 0, count, block);
}
void StoreLine(const float* block, int64_t count, FourierScale scale, const FourierLines& to) {
  StoreEach<float>(block, 0, count, scale, to);
}

}  // namespace

const FourierTable& TheFourier() {
  static const FourierTable table = {
      kLanes,
      {LoadBlock, StoreBlock, Multiply<Vec>, Window<Vec>, FitsVectors, FinishReal<Vec>,
       StartReal<Vec>, Mirror<Vec>},
      {LoadLine, StoreLine, Multiply<float>, Window<float>, FitsNumbers, FinishReal<float>,
       StartReal<float>, Mirror<float>},
      Transform,
      Twiddle,
  };
  return table;
}

}  // namespace WEFT_CPU_ISA

#if defined(__AVX512F__)
const FourierTable& Avx512Fourier() { return avx512::TheFourier(); }
#else
const FourierTable& Avx2Fourier() { return avx2::TheFourier(); }
#endif

}  // namespace weft::cpu
