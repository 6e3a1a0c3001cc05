// Ops whose operations have no formula over sizes.
#include "graph/ops/ops.h"
#include "passes/engine/cost/tables.h"

namespace weft::cost {
namespace {

constexpr char kAlgorithm[] = "the number depends on the algorithm";
constexpr char kData[] = "the number depends on the data";
constexpr char kSteps[] = "it goes on until the result is exact enough";

}  // namespace

absl::Span<const Uncounted> UncountedOps() {
  static const Uncounted kOps[] = {
      {&ops::dft, kAlgorithm},
      {&ops::eigh, kSteps},
      {&ops::matrix_exp, kSteps},
      {&ops::max_roi_pool, kData},
      {&ops::mel_weight_matrix, kData},
      {&ops::mode, kAlgorithm},
      {&ops::non_max_suppression, kData},
      {&ops::roi_align, kData},
      {&ops::searchsorted, kAlgorithm},
      {&ops::sort, kAlgorithm},
      {&ops::stft, kAlgorithm},
      {&ops::svd, kSteps},
      {&ops::topk, kAlgorithm},
      {&ops::unique, kAlgorithm},
  };
  return kOps;
}

}  // namespace weft::cost
