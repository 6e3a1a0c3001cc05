// Bounds of the rounding error of each element of a result, measured by runs with added rounding
// errors.
#ifndef WEFT_API_CHECK_TARGET_ELEMENT_BOUNDS_H_
#define WEFT_API_CHECK_TARGET_ELEMENT_BOUNDS_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "graph/tensor/tensor.h"

namespace weft {

// Units in the last place by which a result of an inexact op may differ without a trial.
inline constexpr double kPlainUnits = 4;

// Elements as doubles, complex ones as pairs. Integers of more than 53 bits keep their order but
// lose their last bits.
std::vector<double> Elements(const HostTensor& tensor);

// Equality in which NaN equals NaN.
bool SameElement(double a, double b);

// The magnitude that three of four elements reach. Zeros, infinities and NaN do not count.
double TypicalMagnitude(absl::Span<const float> values);
double TypicalMagnitude(absl::Span<const double> values);

class ElementBounds {
 public:
  // `exact`: no executor rounds, so results are equal in every bit except the sign of a zero.
  ElementBounds(const HostTensor& want, bool exact);

  // Adds the result of a run in which operands and results were moved by rounding errors
  // (rounding_trial.h).
  void Add(const HostTensor& trial);
  // The result of a run in which zeros have other signs: an element may be near it instead.
  void AddAlternative(const HostTensor& other);
  // After the trials, which may go on.
  void Finish();

  // The error of an element in units of its bound: above 1 it differs. `near_overflow`: finite sums
  // in wider arithmetic may give infinities and NaN in the dtype's.
  double Excess(size_t i, double got, bool near_overflow) const;
  // The distance of two results, both of which rounding may have moved, in these units.
  double Distance(size_t i, double a, double b) const;
  double want(size_t i) const { return want_[i]; }

 private:
  double Allowed(size_t i, double center) const;
  double ExcessFrom(double center, size_t i, double got, bool near_overflow) const;

  DType dtype_;
  std::vector<double> want_;
  std::vector<double> moved_;
  std::vector<double> low_, high_;
  std::vector<std::vector<double>> alternatives_;
  double least_ = 0;
  bool exact_ = false;
};

}  // namespace weft

#endif  // WEFT_API_CHECK_TARGET_ELEMENT_BOUNDS_H_
