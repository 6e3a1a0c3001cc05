// Views of a plan with numbers instead of expressions.
#ifndef WEFT_BACKENDS_RUNTIME_RUN_VIEW_H_
#define WEFT_BACKENDS_RUNTIME_RUN_VIEW_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/runtime/symbol_env.h"
#include "graph/tensor/dtype.h"
#include "lowering/plan.h"

namespace weft {

struct RunView {
  int buffer = -1;  // -1: absent, or a symint.
  bool symint = false;
  int64_t value = 0;  // Value of a symint.
  DType dtype = DType::kF32;
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;  // In elements.
  int64_t offset = 0;

  bool present() const { return buffer >= 0; }
  int rank() const { return static_cast<int>(dims.size()); }
  int64_t numel() const;
  // Row-major without gaps.
  bool dense() const;
};

// True if all symbols in the view have values.
bool IsKnown(const View& view, const SymbolEnv& env);
// Requires IsKnown.
RunView MakeRunView(const View& view, const SymbolEnv& env);

// A dense view with these dims.
RunView DenseView(DType dtype, const std::vector<int64_t>& dims);

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_RUN_VIEW_H_
