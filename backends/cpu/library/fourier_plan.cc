#include "backends/cpu/library/fourier_plan.h"

#include <algorithm>
#include <complex>
#include <utility>

#include "graph/ops/signal/chirp.h"

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

}  // namespace

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

void FourierPlan::MakeConvolution(Form form, const FourierTable& table) {
  const Chirp made = MakeChirp(length_);
  const auto padded = static_cast<int64_t>(made.spectrum.size());
  inner_ = std::make_unique<FourierPlan>(padded, Admits(padded, form) ? form : Form::kBlock, table);
  for (const Number& v : made.chirp) Append(v, &chirp_);
  for (const Number& v : made.spectrum) Append(v, &spectrum_);
}

}  // namespace weft::cpu
