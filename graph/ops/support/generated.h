// Conversions of parameters in the generated builders of ops (graph/ops/<family>.cc).
#ifndef WEFT_GRAPH_OPS_SUPPORT_GENERATED_H_
#define WEFT_GRAPH_OPS_SUPPORT_GENERATED_H_

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "graph/ir/attr.h"
#include "graph/ir/graph.h"

namespace weft::ops {

// An absent attribute for nullopt.
template <typename T>
AttrValue OptionalAttr(const std::optional<T>& value) {
  return value ? AttrValue(*value) : AttrValue();
}

template <typename T>
AttrValue ListAttr(absl::Span<const T> values) {
  return AttrValue(std::vector<T>(values.begin(), values.end()));
}

inline std::vector<Value*> JoinOperands(std::vector<Value*> first, absl::Span<Value* const> list) {
  first.insert(first.end(), list.begin(), list.end());
  return first;
}

template <typename... Graphs>
std::vector<std::unique_ptr<Graph>> RegionList(Graphs... graphs) {
  std::vector<std::unique_ptr<Graph>> list;
  (list.push_back(std::move(graphs)), ...);
  return list;
}

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_SUPPORT_GENERATED_H_
