// Compares results of a program with those of the same program in narrower floats.
//
// How far they may be apart is a matter of the program: a difference of large numbers loses all of
// its bits. The program is therefore run again with errors of the narrow dtype in all floats that
// its nodes read and give, and moves its results by as much as narrow floats may.
#ifndef WEFT_API_CHECK_NARROW_ERROR_H_
#define WEFT_API_CHECK_NARROW_ERROR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "backends/reference/executor.h"
#include "graph/tensor/dtype.h"

namespace weft {

class Graph;
class HostTensor;

// bf16 or f16, if `after` has more values of it than `before`, nested graphs included. bf16, which
// has fewer bits, goes first.
std::optional<DType> NarrowedTo(const Graph& before, const Graph& after);

// A run with errors: each element of a float that a node reads or gives is larger or smaller by one
// unit in the last place of the narrow dtype.
class NarrowTrial {
 public:
  NarrowTrial(DType low, int trial) : low_(low), trial_(trial) {}
  // Refer to this object.
  reference::RunOptions Options();

 private:
  void Move(std::vector<HostTensor>* tensors);

  const DType low_;
  const int trial_;
  uint64_t moved_ = 0;  // Tensors so far.
};

// The difference as text, or "". `trials` are results of runs with errors, as `want` without.
// Integers and bools that one of the trials changes are not compared.
std::string NarrowDifference(absl::Span<const HostTensor> got, absl::Span<const HostTensor> want,
                             absl::Span<const std::vector<HostTensor>> trials, DType low);

}  // namespace weft

#endif  // WEFT_API_CHECK_NARROW_ERROR_H_
