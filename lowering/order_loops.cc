#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "graph/sym/sym_expr.h"
#include "lowering/kernel_builder.h"

namespace weft {
namespace {

// A symbol in strides that are compared.
constexpr int64_t kUsualSize = 61;

// Strides of the outer loops in the nest's first store, as numbers; empty if one has no value.
std::vector<int64_t> StoreStrides(const Nest& nest) {
  for (const Stage& stage : nest.stages) {
    for (const Store& store : stage.stores) {
      std::vector<int64_t> strides;
      for (size_t l = 0; l < nest.outer.size(); ++l) {
        const auto stride = Evaluate(store.access.strides[l],
                                     [](SymInt) -> std::optional<int64_t> { return kUsualSize; });
        if (!stride) return {};
        strides.push_back(*stride);
      }
      return strides;
    }
  }
  return {};
}

template <typename T>
void Permute(const std::vector<size_t>& order, std::vector<T>* values) {
  const std::vector<T> before = *values;
  for (size_t i = 0; i < order.size(); ++i) (*values)[i] = before[order[i]];
}

}  // namespace

void OrderLoops(Nest* nest) {
  const std::vector<int64_t> strides = StoreStrides(*nest);
  std::vector<size_t> order(strides.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return strides[a] > strides[b]; });
  if (std::is_sorted(order.begin(), order.end())) return;
  std::vector<int> place(order.size());
  for (size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<int>(i);
  const auto permute = [&](Access* access) {
    Permute(order, &access->strides);
    for (Access::Guard& g : access->guards) Permute(order, &g.strides);
  };
  Permute(order, &nest->outer);
  for (Stage& stage : nest->stages) {
    for (Instr& i : stage.body) {
      if (i.op == ScalarOp::kLoad) permute(&i.access);
      const bool outer = i.op == ScalarOp::kIndex && i.loop < static_cast<int>(place.size());
      if (outer) i.loop = place[i.loop];
    }
    for (Store& s : stage.stores) permute(&s.access);
  }
}

}  // namespace weft
