#include "api/check/narrow_error.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "api/check/compare.h"
#include "base/hash.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/tensor/tensor.h"

namespace weft {
namespace {

// The error of an element is at most this many times that of the trials, ...
constexpr double kElementFactor = 8;
// ... or this many times the root of the mean square of the tensor's, as a few trials may happen to
// leave one element where it is.
constexpr double kTensorFactor = 4;

// From 1 to the next number.
double Epsilon(DType dtype) { return std::ldexp(1.0, dtype == DType::kF16 ? -10 : -7); }

bool IsHalf(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

// How many values of f16 and of bf16 a graph has.
struct Halves {
  int64_t f16 = 0, bf16 = 0;
};

Halves HalvesOf(const Graph& graph) {
  Halves found;
  std::vector<const Graph*> open = {&graph};
  const auto look = [&found](const Value* value) {
    if (!value->type().is_tensor()) return;
    if (value->type().dtype() == DType::kF16) ++found.f16;
    if (value->type().dtype() == DType::kBF16) ++found.bf16;
  };
  while (!open.empty()) {
    const Graph& next = *open.back();
    open.pop_back();
    for (const Value* input : next.inputs()) look(input);
    for (const Node* node : next.nodes()) {
      for (int i = 0; i < node->num_results(); ++i) look(node->result(i));
      for (int r = 0; r < node->num_regions(); ++r) open.push_back(node->region(r));
    }
  }
  return found;
}

// By how much trials move each element, at most.
std::vector<double> Deviations(size_t output, const std::vector<double>& want,
                               absl::Span<const std::vector<HostTensor>> trials) {
  std::vector<double> deviations(want.size());
  for (const std::vector<HostTensor>& trial : trials) {
    const std::vector<double> moved = trial[output].ReadDoubles();
    if (moved.size() != want.size()) continue;
    for (size_t i = 0; i < want.size(); ++i) {
      const double by = std::abs(moved[i] - want[i]);
      // An element that overflows in a trial may do so in the narrow dtype.
      deviations[i] = std::isnan(by) ? INFINITY : std::max(deviations[i], by);
    }
  }
  return deviations;
}

double RootMeanSquare(const std::vector<double>& numbers) {
  double sum = 0;
  int64_t count = 0;
  for (const double number : numbers) {
    if (!std::isfinite(number)) continue;
    sum += number * number;
    ++count;
  }
  return count == 0 ? 0 : std::sqrt(sum / static_cast<double>(count));
}

std::string FloatDifference(const HostTensor& got, const HostTensor& want,
                            const std::vector<double>& deviations, DType low) {
  const std::vector<double> a = got.ReadDoubles(), b = want.ReadDoubles();
  const double floor = kTensorFactor * RootMeanSquare(deviations);
  int64_t differing = 0;
  size_t worst = 0;
  double excess = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    if (std::isnan(b[i]) && std::isnan(a[i])) continue;
    if (a[i] == b[i] || std::isinf(deviations[i])) continue;
    const double bound =
        std::max(kElementFactor * deviations[i], floor) + 2 * Epsilon(low) * std::abs(b[i]);
    const double over =
        std::isfinite(a[i]) && std::isfinite(b[i]) ? std::abs(a[i] - b[i]) - bound : INFINITY;
    if (over <= 0) continue;
    if (++differing == 1 || over > excess) {
      excess = over;
      worst = i;
    }
  }
  if (differing == 0) return "";
  return absl::StrCat(differing, " of ", b.size(), " elements differ by more than errors of ",
                      DTypeName(low), " explain; worst is element ", worst, ": got ", a[worst],
                      ", want ", b[worst]);
}

bool Stable(size_t output, const HostTensor& want,
            absl::Span<const std::vector<HostTensor>> trials) {
  return std::all_of(trials.begin(), trials.end(), [&](const std::vector<HostTensor>& trial) {
    return trial[output].BitEqual(want);
  });
}

}  // namespace

std::optional<DType> NarrowedTo(const Graph& before, const Graph& after) {
  const Halves had = HalvesOf(before), has = HalvesOf(after);
  if (has.bf16 > had.bf16) return DType::kBF16;
  if (has.f16 > had.f16) return DType::kF16;
  return std::nullopt;
}

reference::RunOptions NarrowTrial::Options() {
  reference::RunOptions options;
  options.edit_operands = [this](const Node&, std::vector<HostTensor>* operands) {
    Move(operands);
  };
  options.edit_results = [this](const Node&, std::vector<HostTensor>* results) { Move(results); };
  return options;
}

void NarrowTrial::Move(std::vector<HostTensor>* tensors) {
  for (HostTensor& tensor : *tensors) {
    if (!tensor.valid() || (tensor.dtype() != DType::kF32 && !IsHalf(tensor.dtype()))) continue;
    const uint64_t salt = MixBits((static_cast<uint64_t>(trial_) << 32) + ++moved_);
    std::vector<double> numbers = tensor.ReadDoubles();
    for (size_t i = 0; i < numbers.size(); ++i) {
      const bool up = (MixBits(salt + i) & 1) != 0;
      numbers[i] *= up ? 1 + Epsilon(low_) : 1 - Epsilon(low_);
    }
    HostTensor moved(tensor.dtype(), tensor.dims());
    moved.WriteDoubles(numbers);
    tensor = std::move(moved);
  }
}

std::string NarrowDifference(absl::Span<const HostTensor> got, absl::Span<const HostTensor> want,
                             absl::Span<const std::vector<HostTensor>> trials, DType low) {
  if (got.size() != want.size()) return "another number of outputs";
  for (size_t i = 0; i < want.size(); ++i) {
    if (got[i].BitEqual(want[i])) continue;
    std::string difference;
    if (got[i].dtype() != want[i].dtype() || got[i].dims() != want[i].dims()) {
      difference = std::string(Compare(got[i], want[i]).message());
    } else if (IsFloat(want[i].dtype())) {
      difference =
          FloatDifference(got[i], want[i], Deviations(i, want[i].ReadDoubles(), trials), low);
    } else if (Stable(i, want[i], trials)) {
      difference = std::string(Compare(got[i], want[i]).message());
    }
    if (!difference.empty()) return absl::StrCat("output ", i, ": ", difference);
  }
  return "";
}

}  // namespace weft
