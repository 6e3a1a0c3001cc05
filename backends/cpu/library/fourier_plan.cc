#include "backends/cpu/library/fourier_plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weft::cpu {
namespace {

using Number = std::complex<double>;

constexpr int64_t kLeastLine = 256;  // A shorter line is a block with empty lanes.

void Append(Number v, std::vector<float>* to) {
  to->push_back(static_cast<float>(v.real()));
  to->push_back(static_cast<float>(v.imag()));
}

// The radices of a transform of `length`, empty for 1; false if a prime factor is too large.
bool FindRadices(int64_t length, std::vector<int64_t>* radices) {
  for (const int64_t radix : {4, 2, 3}) {
    for (; length % radix == 0; length /= radix) radices->push_back(radix);
  }
  for (int64_t radix = 5; radix <= kMostFourierRadix && radix <= length; radix += 2) {
    for (; length % radix == 0; length /= radix) radices->push_back(radix);
  }
  return length == 1;
}

int64_t PowerOfTwoFrom(int64_t least) {
  int64_t n = 1;
  while (n < least) n *= 2;
  return n;
}

// The transform of a power of two of numbers in double, in place.
void TransformDoubles(std::vector<Number>* values) {
  std::vector<Number>& x = *values;
  const int64_t n = static_cast<int64_t>(x.size());
  for (int64_t i = 1, j = 0; i < n; ++i) {
    int64_t bit = n / 2;
    for (; (j & bit) != 0; bit /= 2) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(x[i], x[j]);
  }
  std::vector<Number> roots(n / 2);
  for (int64_t j = 0; j < n / 2; ++j) roots[j] = std::conj(UnitRoot(j, n));
  for (int64_t half = 1; half < n; half *= 2) {
    for (int64_t i = 0; i < n; i += 2 * half) {
      for (int64_t k = 0; k < half; ++k) {
        const Number odd = x[i + half + k] * roots[k * (n / (2 * half))];
        x[i + half + k] = x[i + k] - odd;
        x[i + k] += odd;
      }
    }
  }
}

}  // namespace

Number UnitRoot(int64_t j, int64_t n) {
  constexpr double kHalfPi = 1.57079632679489661923;
  const int64_t quarter = 4 * j / n;
  const double angle = kHalfPi * static_cast<double>(4 * j % n) / static_cast<double>(n);
  const Number root = {std::cos(angle), std::sin(angle)};
  switch (quarter) {
    case 0:
      return root;
    case 1:
      return {-root.imag(), root.real()};
    case 2:
      return -root;
    default:
      return {root.imag(), -root.real()};
  }
}

std::vector<float> FourierRoots(int64_t length, int64_t count) {
  std::vector<float> roots;
  for (int64_t k = 0; k < count; ++k) Append(std::conj(UnitRoot(k, length)), &roots);
  return roots;
}

bool FourierPlan::Admits(int64_t length, Form form) {
  return form == Form::kBlock || length >= kLeastLine;
}

FourierPlan::FourierPlan(int64_t length, Form form, const FourierTable& table) : length_(length) {
  std::vector<int64_t> radices;
  if (!FindRadices(length, &radices)) {
    MakeConvolution(form, table);
  } else if (form == Form::kLine) {
    MakeMatrix(radices, table);
  } else {
    MakeStages(radices);
  }
}

int64_t FourierPlan::room() const { return inner_ == nullptr ? length_ : inner_->length(); }

void FourierPlan::MakeStages(const std::vector<int64_t>& radices) {
  int64_t left = length_;
  for (const int64_t radix : radices) {
    FourierStage s;
    s.radix = radix;
    s.parts = left / radix;
    s.width = length_ / left;
    std::vector<float> twiddles;
    for (int64_t p = 0; p < s.parts; ++p) {
      for (int64_t k = 1; k < radix; ++k) {
        Append(std::conj(UnitRoot(p * k % left, left)), &twiddles);
      }
    }
    s.twiddles = tables_.emplace_back(std::move(twiddles)).data();
    std::vector<float> roots;
    for (int64_t j = 0; radix % 2 == 1 && j < radix; ++j) Append(UnitRoot(j, radix), &roots);
    s.roots = tables_.emplace_back(std::move(roots)).data();
    stages_.push_back(s);
    left /= radix;
  }
}

void FourierPlan::MakeMatrix(const std::vector<int64_t>& radices, const FourierTable& table) {
  std::vector<int64_t> sorted = radices;
  std::sort(sorted.rbegin(), sorted.rend());
  int64_t columns = 1, rows = 1;
  for (const int64_t radix : sorted) (columns < rows ? columns : rows) *= radix;
  columns_ = std::make_unique<FourierPlan>(columns, Form::kBlock, table);
  rows_ = std::make_unique<FourierPlan>(rows, Form::kBlock, table);
  const int64_t lanes = table.lanes;
  const int64_t blocks = (rows + lanes - 1) / lanes;
  twiddles_.resize(blocks * columns * 2 * lanes);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t k = 0; k < columns; ++k) {
      const Number root = std::conj(UnitRoot(i * k, length_));
      float* to = &twiddles_[(i / lanes * columns + k) * 2 * lanes + i % lanes];
      to[0] = static_cast<float>(root.real());
      to[lanes] = static_cast<float>(root.imag());
    }
  }
}

// j k = (j^2 + k^2 - (k - j)^2) / 2 makes the transform a convolution with exp(pi i j^2 / length).
void FourierPlan::MakeConvolution(Form form, const FourierTable& table) {
  const int64_t m = PowerOfTwoFrom(2 * length_ - 1);
  inner_ = std::make_unique<FourierPlan>(m, Admits(m, form) ? form : Form::kBlock, table);
  std::vector<Number> b(m);
  int64_t square = 0;  // j^2 mod 2 * length.
  for (int64_t j = 0; j < length_; ++j) {
    const Number root = UnitRoot(square, 2 * length_);
    Append(std::conj(root), &chirp_);
    b[j] = root;
    if (j > 0) b[m - j] = root;
    square = (square + 2 * j + 1) % (2 * length_);
  }
  TransformDoubles(&b);
  for (const Number& v : b) Append(v / static_cast<double>(m), &spectrum_);
}

}  // namespace weft::cpu
