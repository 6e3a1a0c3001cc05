#include "tests/passes/functionalize/mutable_interpreter.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/host_buffer.h"
#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_eval.h"
#include "graph/ops/evaluate.h"
#include "graph/ops/ops.h"

namespace weft {
namespace {

using Dims = std::vector<int64_t>;

// Calls fn(position) for each element in row-major order.
template <typename Fn>
void ForEachPosition(const Layout& layout, Fn fn) {
  int64_t numel = 1;
  for (int64_t d : layout.dims) numel *= d;
  Dims index(layout.dims.size());
  for (int64_t n = 0; n < numel; ++n) {
    int64_t position = layout.offset;
    for (size_t i = 0; i < index.size(); ++i) {
      position += index[i] * layout.strides[i];
    }
    fn(position);
    for (size_t i = index.size(); i-- > 0;) {
      if (++index[i] < layout.dims[i]) break;
      index[i] = 0;
    }
  }
}

int64_t Wrapped(int64_t dim, int64_t rank) { return dim < 0 ? dim + rank : dim; }

// The dims as runs of memory with a stride each, which can be cut anew; dims of
// size 1 are in none.
struct MemoryRun {
  int64_t size;
  int64_t stride;
};
std::vector<MemoryRun> RunsOf(const Layout& layout) {
  std::vector<MemoryRun> runs;
  for (size_t i = 0; i < layout.dims.size(); ++i) {
    const int64_t size = layout.dims[i];
    const int64_t stride = layout.strides[i];
    if (size == 1) continue;
    if (!runs.empty() && runs.back().stride == size * stride) {
      runs.back() = {runs.back().size * size, stride};
    } else {
      runs.push_back({size, stride});
    }
  }
  return runs;
}

std::optional<Layout> Reshaped(const Layout& in, const Dims& size) {
  Layout out{size, Dims(size.size(), 1), in.offset};
  if (std::count(size.begin(), size.end(), 0) > 0) {
    out.strides = ContiguousStrides(size);
    return out;
  }
  std::vector<MemoryRun> runs = RunsOf(in);
  for (size_t i = size.size(); i-- > 0;) {
    if (size[i] == 1) continue;
    if (!runs.empty() && runs.back().size == 1) runs.pop_back();
    if (runs.empty() || runs.back().size % size[i] != 0) return std::nullopt;
    out.strides[i] = runs.back().stride;
    runs.back().stride *= size[i];
    runs.back().size /= size[i];
  }
  if (!runs.empty() && runs.back().size == 1) runs.pop_back();
  if (!runs.empty()) return std::nullopt;
  return out;
}

std::optional<Layout> SlicedLayout(const Attrs& attrs, Layout out) {
  const int64_t d = Wrapped(attrs.Int("dim"), out.dims.size());
  const int64_t n = out.dims[d];
  const auto clamp = [n](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + n : i, 0, n); };
  const int64_t start = clamp(attrs.Int("start"));
  const int64_t end = std::max(clamp(attrs.Int("end")), start);
  const int64_t step = attrs.Int("step");
  out.offset += start * out.strides[d];
  out.dims[d] = (end - start + step - 1) / step;
  out.strides[d] *= step;
  return out;
}

std::optional<Layout> DiagonalLayout(const Attrs& attrs, Layout out) {
  const int64_t rank = out.dims.size();
  const int64_t a = Wrapped(attrs.Int("dim1"), rank);
  const int64_t b = Wrapped(attrs.Int("dim2"), rank);
  const int64_t below = std::max<int64_t>(-attrs.Int("offset"), 0);
  const int64_t above = std::max<int64_t>(attrs.Int("offset"), 0);
  const int64_t n = std::max<int64_t>(std::min(out.dims[a] - below, out.dims[b] - above), 0);
  const int64_t stride = out.strides[a] + out.strides[b];
  out.offset += below * out.strides[a] + above * out.strides[b];
  for (int64_t d : {std::max(a, b), std::min(a, b)}) {
    out.dims.erase(out.dims.begin() + d);
    out.strides.erase(out.strides.begin() + d);
  }
  out.dims.push_back(n);
  out.strides.push_back(stride);
  return out;
}

Layout ExpandedLayout(const Dims& size, const Layout& in) {
  Layout out{size, Dims(size.size()), in.offset};
  const size_t grown = size.size() - in.dims.size();
  for (size_t i = 0; i < in.dims.size(); ++i) {
    out.strides[grown + i] = in.dims[i] == 1 && size[grown + i] != 1 ? 0 : in.strides[i];
  }
  return out;
}

Layout LayoutOf(const HostTensor& t) {
  return {Dims(t.dims().begin(), t.dims().end()), Dims(t.strides().begin(), t.strides().end()),
          t.offset()};
}

// The elements of `from` over those of `to`, which has as many.
void WriteBytes(const HostTensor& from, const HostTensor& to) {
  const HostTensor dense = Copied(from);
  const int64_t size = DTypeBytes(to.dtype(), 1);
  const uint8_t* source = dense.raw();
  ForEachPosition(LayoutOf(to), [&](int64_t position) {
    std::memcpy(to.buffer()->data() + position * size, source, size);
    source += size;
  });
}

class Interpreter {
 public:
  explicit Interpreter(const Graph& graph) : graph_(graph), values_(graph.value_id_limit()) {}

  absl::StatusOr<std::vector<HostTensor>> Run(const std::vector<HostTensor>& inputs) {
    for (int i = 0; i < graph_.num_inputs(); ++i) {
      values_[graph_.input(i)->id()] = inputs[i];
    }
    for (const Node* node : graph_.nodes()) {
      WEFT_RETURN_IF_ERROR(RunNode(*node));
    }
    std::vector<HostTensor> outputs;
    for (Value* v : graph_.outputs()) outputs.push_back(Copied(values_[v->id()]));
    const int own = graph_.num_own_outputs();
    for (size_t k = 0; k < graph_.write_backs().size(); ++k) {
      WriteBytes(outputs[own + k], inputs[graph_.write_backs()[k]]);
    }
    outputs.resize(own);
    return outputs;
  }

 private:
  absl::Status RunNode(const Node& node) {
    if (node.Is(ops::constant)) {
      values_[node.result()->id()] = Copied(*LiteralOf(node.result()));
      return absl::OkStatus();
    }
    std::vector<HostTensor> operands(node.num_operands());
    for (int i = 0; i < node.num_operands(); ++i) {
      if (node.has_operand(i)) operands[i] = values_[node.operand(i)->id()];
    }
    if (ViewedBy(node.result()) != nullptr && View(node, operands[0])) {
      return absl::OkStatus();
    }
    WEFT_ASSIGN_OR_RETURN(std::vector<HostTensor> results,
                          node.op().has(kControlFlow)
                              ? RunControlFlow(node, operands)
                              : Evaluate(node.op(), node.attr_list(), operands));
    for (int i = 0; i < node.num_results(); ++i) {
      const Value* written = WrittenAs(node.result(i));
      HostTensor& value = values_[node.result(i)->id()];
      if (written == nullptr) {
        value = Copied(results[i]);
        continue;
      }
      value = values_[written->id()];
      if (!LayoutOf(value).IsInjective()) {
        return absl::InvalidArgumentError("it writes an element twice");
      }
      WriteBytes(results[i], value);
    }
    return absl::OkStatus();
  }

  // Nested graphs get the operands themselves, so what they write is written here.
  static absl::StatusOr<std::vector<HostTensor>> RunControlFlow(
      const Node& node, const std::vector<HostTensor>& operands) {
    Types types;
    for (int i = 0; i < node.num_results(); ++i) types.push_back(node.result(i)->type());
    const auto run_region = [&](int region, absl::Span<const HostTensor> inputs,
                                std::vector<HostTensor>* outputs) {
      auto result = Interpreter(*node.region(region)).Run({inputs.begin(), inputs.end()});
      if (result.ok()) *outputs = *std::move(result);
      return result.status();
    };
    EvalContext context(node.op(), node.attr_list(), operands, std::move(types), run_region);
    WEFT_RETURN_IF_ERROR(node.op().eval()(context));
    return context.TakeOutputs();
  }

  bool View(const Node& node, const HostTensor& operand) {
    for (int i = 0; i < node.num_results(); ++i) {
      auto layout = ViewLayout(node.op(), node.attr_list(), LayoutOf(operand), i);
      if (!layout) return false;
      // A view of nothing may begin past the end.
      if (std::count(layout->dims.begin(), layout->dims.end(), 0) > 0) {
        layout->offset = 0;
      }
      const DType dtype = node.result(i)->type().dtype();
      auto view =
          HostTensor::View(operand.buffer(), dtype, layout->dims, layout->strides, layout->offset);
      if (!view.ok()) return false;
      values_[node.result(i)->id()] = *std::move(view);
    }
    return true;
  }

  const Graph& graph_;
  std::vector<HostTensor> values_;
};

}  // namespace

bool Layout::IsContiguous() const {
  const std::vector<int64_t> dense = ContiguousStrides(dims);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != 1 && strides[i] != dense[i]) return false;
  }
  return true;
}

bool Layout::IsInjective() const {
  std::set<int64_t> taken;
  bool injective = true;
  ForEachPosition(
      *this, [&](int64_t position) { injective = injective && taken.insert(position).second; });
  return injective;
}

std::optional<Layout> ViewLayout(const OpDef& op, const AttrList* attrs, const Layout& in,
                                 int result) {
  const Attrs a(&op.schema(), attrs);
  Layout out = in;
  if (&op == &ops::bitcast) return out;
  if (&op == &ops::reshape) return Reshaped(in, a.Ints("size"));
  if (&op == &ops::expand) return ExpandedLayout(a.Ints("size"), in);
  if (&op == &ops::slice) return SlicedLayout(a, in);
  if (&op == &ops::diagonal) return DiagonalLayout(a, in);
  if (&op == &ops::permute) {
    const Dims dims = a.Ints("dims");
    for (size_t i = 0; i < dims.size(); ++i) {
      const int64_t d = Wrapped(dims[i], dims.size());
      out.dims[i] = in.dims[d];
      out.strides[i] = in.strides[d];
    }
    return out;
  }
  if (&op == &ops::select) {
    const int64_t d = Wrapped(a.Int("dim"), in.dims.size());
    out.offset += Wrapped(a.Int("index"), in.dims[d]) * in.strides[d];
    out.dims.erase(out.dims.begin() + d);
    out.strides.erase(out.strides.begin() + d);
    return out;
  }
  if (&op == &ops::as_strided) {
    if (!in.IsContiguous()) return std::nullopt;
    return Layout{a.Ints("size"), a.Ints("stride"), in.offset + a.Int("storage_offset")};
  }
  if (&op == &ops::unfold) {
    const int64_t d = Wrapped(a.Int("dimension"), in.dims.size());
    const int64_t size = a.Int("size");
    out.dims[d] = (in.dims[d] - size) / a.Int("step") + 1;
    out.strides[d] *= a.Int("step");
    out.dims.push_back(size);
    out.strides.push_back(in.strides[d]);
    return out;
  }
  if (&op == &ops::split_with_sizes) {
    const int64_t d = Wrapped(a.Int("dim"), in.dims.size());
    const Dims sizes = a.Ints("split_sizes");
    for (int i = 0; i < result; ++i) out.offset += sizes[i] * in.strides[d];
    out.dims[d] = sizes[result];
    return out;
  }
  return std::nullopt;
}

absl::StatusOr<std::vector<HostTensor>> RunMutable(const Graph& graph,
                                                   const std::vector<HostTensor>& inputs) {
  return Interpreter(graph).Run(inputs);
}

HostTensor Copied(const HostTensor& tensor) {
  HostTensor copy(tensor.dtype(), tensor.dims());
  const int64_t size = DTypeBytes(tensor.dtype(), 1);
  uint8_t* target = copy.raw();
  ForEachPosition(LayoutOf(tensor), [&](int64_t position) {
    std::memcpy(target, tensor.buffer()->data() + position * size, size);
    target += size;
  });
  return copy;
}

}  // namespace weft
