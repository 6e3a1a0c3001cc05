#include "backends/cpu/evaluator.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "backends/cpu/kernels/order_keys.h"
#include "backends/step_reference.h"
#include "graph/ir/attrs.h"
#include "graph/ir/op_def.h"
#include "graph/ops/index.h"

namespace weft::cpu {
namespace {

// Elements with equal keys, in the order in which they first come.
template <typename U>
struct KeyGroups {
  std::vector<U> keys;
  std::vector<int64_t> first, counts;  // Of each group.
  std::vector<int64_t> inverse;        // The group of each element.
};

template <typename U, typename Key>
KeyGroups<U> GroupByKey(const U* x, int64_t n, Key key) {
  KeyGroups<U> groups;
  groups.inverse.resize(n);
  absl::flat_hash_map<U, int64_t> number;
  for (int64_t i = 0; i < n; ++i) {
    const auto [it, inserted] =
        number.try_emplace(key(x[i]), static_cast<int64_t>(groups.first.size()));
    if (inserted) {
      groups.keys.push_back(it->first);
      groups.first.push_back(i);
      groups.counts.push_back(0);
    }
    ++groups.counts[it->second];
    groups.inverse[i] = it->second;
  }
  return groups;
}

template <typename U>
void SortByKey(KeyGroups<U>* groups) {
  const size_t n = groups->keys.size();
  std::vector<int64_t> order(n), place(n), first(n), counts(n);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](int64_t a, int64_t b) { return groups->keys[a] < groups->keys[b]; });
  for (size_t i = 0; i < n; ++i) {
    place[order[i]] = static_cast<int64_t>(i);
    first[i] = groups->first[order[i]];
    counts[i] = groups->counts[order[i]];
  }
  for (int64_t& group : groups->inverse) group = place[group];
  groups->first = std::move(first);
  groups->counts = std::move(counts);
}

HostTensor List(const std::vector<int64_t>& values) {
  HostTensor list(DType::kI64, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), list.data<int64_t>());
  return list;
}

// `self` is dense.
std::vector<HostTensor> Unique(const HostTensor& self, bool sorted) {
  std::vector<HostTensor> results;
  WithKey(self.dtype(), [&](auto zero, auto key) {
    using U = decltype(zero);
    const U* x = self.data<U>();
    KeyGroups<U> groups = GroupByKey(x, self.numel(), key);
    if (sorted) SortByKey(&groups);
    HostTensor values(self.dtype(), {static_cast<int64_t>(groups.first.size())});
    std::transform(groups.first.begin(), groups.first.end(), values.data<U>(),
                   [&](int64_t first) { return x[first]; });
    results = {std::move(values), List(groups.first), List(groups.inverse), List(groups.counts)};
  });
  return results;
}

class Evaluator : public StepEvaluator {
 public:
  absl::StatusOr<std::vector<HostTensor>> Evaluate(
      const Step& step, const AttrList* attrs,
      absl::Span<const HostTensor> operands) const override {
    if (step.op == &ops::unique && step.epilogue.empty() && operands.size() == 1 &&
        operands[0].valid() && HasKey(operands[0].dtype())) {
      const Attrs unique(&step.op->schema(), attrs);
      if (!unique.Has("dim") || operands[0].rank() == 1) {
        return Unique(operands[0].Contiguous(), unique.Bool("sorted"));
      }
    }
    return OpEvaluator().Evaluate(step, attrs, operands);
  }

  bool DependsOnData(const Step& step) const override { return OpEvaluator().DependsOnData(step); }

  void AddToProfile(const Plan& plan, const Step& step, const SymbolEnv& env,
                    profiler::Description* description) const override {
    OpEvaluator().AddToProfile(plan, step, env, description);
  }
};

}  // namespace

const StepEvaluator& CpuEvaluator() {
  static const auto& evaluator = *new Evaluator();
  return evaluator;
}

}  // namespace weft::cpu
