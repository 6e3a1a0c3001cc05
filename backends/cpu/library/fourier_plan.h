// Plans of Fourier transforms: the stages of fourier_tile.h and their tables, made once for a
// length.
#ifndef WEFT_BACKENDS_CPU_LIBRARY_FOURIER_PLAN_H_
#define WEFT_BACKENDS_CPU_LIBRARY_FOURIER_PLAN_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "backends/cpu/kernels/fourier_tile.h"

namespace weft::cpu {

// exp(-2 pi i k / length) for k in [0, count), as pairs.
std::vector<float> FourierRoots(int64_t length, int64_t count);

class FourierPlan {
 public:
  // How transforms are to run. A block has a line in each lane. A line has its own elements in the
  // lanes: it is a matrix whose columns and then rows are transformed as blocks.
  enum class Form : uint8_t { kBlock, kLine };

  FourierPlan(int64_t length, Form form, const FourierTable& table);

  // False for lengths that have no plan of the form: they are too short to be a line.
  static bool Admits(int64_t length, Form form);

  int64_t length() const { return length_; }
  // Elements that the buffers of a transform hold.
  int64_t room() const;

  // A length with a large prime factor is done by convolution (Bluestein): with the chirp, a
  // transform of a power of two, the spectrum, the inverse transform, and the chirp again.
  const FourierPlan* inner() const { return inner_.get(); }
  const float* chirp() const { return chirp_.data(); }        // [length, 2]
  const float* spectrum() const { return spectrum_.data(); }  // [inner length, 2]

  // Of a line: transforms of the columns [first->length], twiddles, transforms of the rows.
  const FourierPlan* columns() const { return columns_.get(); }
  const FourierPlan* rows() const { return rows_.get(); }
  // For each block of columns, [column length, 2, lanes].
  const float* twiddles() const { return twiddles_.data(); }

  FourierStages stages() const { return {stages_.data(), static_cast<int64_t>(stages_.size())}; }

 private:
  void MakeStages(const std::vector<int64_t>& radices);
  void MakeMatrix(const std::vector<int64_t>& radices, const FourierTable& table);
  void MakeConvolution(Form form, const FourierTable& table);

  const int64_t length_;
  std::vector<FourierStage> stages_;
  std::vector<std::vector<float>> tables_;  // What stages point to.
  std::unique_ptr<FourierPlan> inner_, columns_, rows_;
  std::vector<float> chirp_, spectrum_, twiddles_;
};

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LIBRARY_FOURIER_PLAN_H_
