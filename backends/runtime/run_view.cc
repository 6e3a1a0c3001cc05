#include "backends/runtime/run_view.h"

#include "base/check.h"
#include "graph/tensor/tensor.h"

namespace weft {
namespace {

int64_t Known(SymInt s, const SymbolEnv& env) {
  const std::optional<int64_t> value = env.Eval(s);
  WEFT_CHECK(value.has_value()) << s.ToString();
  return *value;
}

}  // namespace

int64_t RunView::numel() const {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

bool RunView::dense() const {
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    if (dims[i] != 1 && strides[i] != stride) return false;
    stride *= dims[i];
  }
  return true;
}

bool IsKnown(const View& view, const SymbolEnv& env) {
  if (view.type.is_symint()) return env.Eval(view.type.symint()).has_value();
  if (!view.present()) return true;
  bool known = env.Eval(view.offset).has_value();
  for (SymInt s : view.strides) known = known && env.Eval(s).has_value();
  for (SymInt s : view.type.dims()) known = known && env.Eval(s).has_value();
  return known;
}

RunView MakeRunView(const View& view, const SymbolEnv& env) {
  RunView run;
  if (view.type.is_symint()) {
    run.symint = true;
    run.value = Known(view.type.symint(), env);
    return run;
  }
  if (!view.present()) return run;
  run.buffer = view.buffer;
  run.dtype = view.type.dtype();
  run.offset = Known(view.offset, env);
  for (SymInt s : view.strides) run.strides.push_back(Known(s, env));
  for (SymInt s : view.type.dims()) run.dims.push_back(Known(s, env));
  return run;
}

RunView DenseView(DType dtype, const std::vector<int64_t>& dims) {
  RunView view;
  view.dtype = dtype;
  view.dims = dims;
  view.strides = ContiguousStrides(dims);
  return view;
}

}  // namespace weft
