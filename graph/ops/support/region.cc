#include "graph/ops/support/region.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_eval.h"
#include "graph/ir/op_schema.h"
#include "graph/ops/ops.h"
#include "graph/ops/support/eval.h"
#include "graph/ops/support/infer.h"
#include "graph/ops/support/sizes.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"

namespace weft::ops {

absl::Status CheckRegions(const OpArgs& args) {
  const std::vector<std::string>& names = args.op->schema().regions;
  if (args.regions.size() == names.size()) return absl::OkStatus();
  return Invalid("needs ", names.size(), " nested graphs, got ", args.regions.size());
}

namespace {

// Two types of values that may be the same.
absl::Status CheckFits(const OpArgs& args, Type a, Type b, absl::string_view what) {
  bool fits = a.is_tensor() && b.is_tensor() && a.dtype() == b.dtype() && a.rank() == b.rank();
  for (int i = 0; fits && i < a.rank(); ++i) {
    fits = MayBeEqual(args, a.dim(i), b.dim(i));
  }
  if (fits) return absl::OkStatus();
  return Invalid(what, ": ", a.ToString(), " and ", b.ToString(), " do not fit");
}

}  // namespace

absl::Status CheckRegionInputs(const OpArgs& args, int r, absl::Span<const Type> types) {
  const Graph& graph = *args.regions[r];
  const std::string& name = args.op->schema().regions[r];
  if (graph.num_inputs() != static_cast<int>(types.size())) {
    return Invalid(name, " takes ", graph.num_inputs(), " inputs, not ", types.size());
  }
  for (int i = 0; i < graph.num_inputs(); ++i) {
    WEFT_RETURN_IF_ERROR(
        CheckFits(args, types[i], graph.input(i)->type(), absl::StrCat("input ", i, " of ", name)));
  }
  return absl::OkStatus();
}

absl::Status CheckCarried(const OpArgs& args, int r, int first_input, int first_output,
                          int carried) {
  const Graph& graph = *args.regions[r];
  const std::string& name = args.op->schema().regions[r];
  if (graph.num_outputs() < first_output + carried) {
    return Invalid(name, " has ", graph.num_outputs(), " outputs where ", first_output + carried,
                   " are needed");
  }
  for (int i = 0; i < graph.num_outputs(); ++i) {
    const Type type = graph.output(i)->type();
    const std::string what = absl::StrCat("output ", i, " of ", name);
    if (!type.is_tensor()) return Invalid(what, " is ", type.ToString());
    const int k = i - first_output;
    if (k < 0 || k >= carried) continue;
    WEFT_RETURN_IF_ERROR(CheckFits(args, type, graph.input(first_input + k)->type(),
                                   absl::StrCat(what, ", carried")));
  }
  return absl::OkStatus();
}

void RegionTypes::Bind(int i, Type type) {
  const Type inner = graph_.input(i)->type();
  for (int d = 0; d < inner.rank(); ++d) {
    const SymInt size = inner.dim(d);
    if (size == type.dim(d) || !size.is_symbol() || !args_.symbols->IsUnbacked(size)) {
      continue;
    }
    sizes_.push_back({size, type.dim(d)});
  }
}

Type RegionTypes::Replaced(Type type) const {
  return type.Substitute([this](SymInt symbol) -> std::optional<SymInt> {
    for (const auto& [inner, outer] : sizes_) {
      if (inner == symbol) return outer;
    }
    return std::nullopt;
  });
}

ResultTypes::ResultTypes(const OpArgs& args) : args_(args) {
  for (Type t : args.types) {
    if (!t.is_tensor()) continue;
    for (SymInt d : t.dims()) {
      ForEachSymbol(d, [this](SymInt s) {
        if (args_.symbols->IsUnbacked(s)) known_.push_back(s);
      });
    }
  }
}

bool ResultTypes::IsKnown(SymInt size) const {
  bool known = true;
  ForEachSymbol(size, [&](SymInt s) {
    known = known && (!args_.symbols->IsUnbacked(s) ||
                      std::find(known_.begin(), known_.end(), s) != known_.end());
  });
  return known;
}

SymInt ResultTypes::JoinSize(std::vector<SymInt> sizes) {
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  if (sizes.size() == 1 && IsKnown(sizes[0])) return sizes[0];
  for (const auto& [reason, size] : joined_) {
    if (reason == sizes) return size;
  }
  SymRange range = args_.symbols->RangeOf(sizes[0]);
  for (SymInt s : sizes) {
    const SymRange r = args_.symbols->RangeOf(s);
    range = {std::min(range.min, r.min), std::max(range.max, r.max)};
  }
  const SymInt fresh = FreshSize(args_, std::max<int64_t>(range.min, 0), range.max);
  joined_.push_back({std::move(sizes), fresh});
  return fresh;
}

Type ResultTypes::Join(absl::Span<const Type> alternatives) {
  std::vector<SymInt> dims;
  for (int i = 0; i < alternatives[0].rank(); ++i) {
    std::vector<SymInt> sizes;
    for (Type t : alternatives) sizes.push_back(t.dim(i));
    dims.push_back(JoinSize(std::move(sizes)));
  }
  return alternatives[0].WithDims(dims);
}

Type ResultTypes::Carry(Type init, Type in, Type out) {
  // A size that a step does not change keeps its initial value.
  std::vector<SymInt> last;
  for (int i = 0; i < init.rank(); ++i) {
    last.push_back(out.dim(i) == in.dim(i) ? init.dim(i) : out.dim(i));
  }
  return Join({init, init.WithDims(last)});
}

Type Stacked(SymInt size, Type type) {
  std::vector<SymInt> dims = {size};
  dims.insert(dims.end(), type.dims().begin(), type.dims().end());
  return type.WithDims(dims);
}

namespace {

absl::StatusOr<HostTensor> StackSteps(absl::Span<const HostTensor> steps, Type type,
                                      absl::string_view what) {
  std::vector<int64_t> dims = {static_cast<int64_t>(steps.size())};
  if (steps.empty()) {
    for (SymInt d : type.dims().subspan(1)) {
      dims.push_back(d.constant().value_or(0));
    }
    return HostTensor::Allocate(type.dtype(), dims);
  }
  const HostTensor& first = steps[0];
  dims.insert(dims.end(), first.dims().begin(), first.dims().end());
  WEFT_ASSIGN_OR_RETURN(HostTensor out, HostTensor::Allocate(first.dtype(), dims));
  std::vector<int64_t> target(first.numel());
  std::iota(target.begin(), target.end(), 0);
  for (const HostTensor& step : steps) {
    if (step.dtype() != first.dtype() || step.dims() != first.dims()) {
      return Invalid(what, " is ", first.type().ToString(), " in one step and ",
                     step.type().ToString(), " in another");
    }
    Scatter(step, target, &out);
    for (int64_t& t : target) t += first.numel();
  }
  return out;
}

}  // namespace

absl::Status SetStacked(EvalContext& c, int first,
                        absl::Span<const std::vector<HostTensor>> steps) {
  for (size_t i = 0; i < steps.size(); ++i) {
    const int result = first + static_cast<int>(i);
    WEFT_ASSIGN_OR_RETURN(HostTensor stacked, StackSteps(steps[i], c.out_type(result),
                                                         absl::StrCat("result ", result)));
    c.set_out(result, std::move(stacked));
  }
  return absl::OkStatus();
}

int CapturedOperand(const Node& node, int input) {
  if (node.Is(cond)) return input + 1;
  if (!node.Is(loop) && !node.Is(scan)) return -1;
  // Inputs of the body are numbered like operands: the iteration and the condition correspond to
  // the two operands before the carried ones.
  int64_t first = node.attrs().Int("num_carried");
  first += node.Is(loop) ? 2 : node.attrs().Int("num_scanned");
  return input < first ? -1 : input;
}

int FirstOperandSeen(const Node& node) { return node.Is(cond) || node.Is(loop) ? 1 : 0; }

}  // namespace weft::ops
