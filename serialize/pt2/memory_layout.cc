#include "serialize/pt2/memory_layout.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace weft::pt2 {
namespace {

// For symbolic sizes the example values count: a view for the example is a view for all sizes that
// the program is valid for.
std::optional<std::vector<int64_t>> Numbers(const std::vector<SizeExpr>& exprs) {
  std::vector<int64_t> numbers;
  for (const SizeExpr& e : exprs) {
    if (!e.value && !e.hint) return std::nullopt;
    numbers.push_back(e.value ? *e.value : *e.hint);
  }
  return numbers;
}

struct Shape {
  std::vector<int64_t> sizes, strides;
};

std::optional<Shape> ShapeOf(const GraphDef& graph, const Argument& value) {
  const auto meta = graph.tensors.find(value.name);
  if (meta == graph.tensors.end()) return std::nullopt;
  const auto sizes = Numbers(meta->second.sizes);
  const auto strides = Numbers(meta->second.strides);
  if (!sizes || !strides || sizes->size() != strides->size()) {
    return std::nullopt;
  }
  return Shape{*sizes, *strides};
}

bool IsContiguous(const Shape& s) {
  int64_t expected = 1;
  for (size_t i = s.sizes.size(); i-- > 0;) {
    if (s.sizes[i] == 0) return true;
    if (s.sizes[i] != 1 && s.strides[i] != expected) return false;
    expected *= s.sizes[i];
  }
  return true;
}

// True if the elements can be viewed with the sizes `to`: dims that one stride walks form groups,
// and each group must be divisible into dims of `to`.
bool CanView(const Shape& from, const std::vector<int64_t>& to) {
  if (std::find(from.sizes.begin(), from.sizes.end(), 0) != from.sizes.end()) {
    return true;
  }
  size_t next = to.size();
  int64_t group = 1;
  for (size_t i = from.sizes.size(); i-- > 0;) {
    group *= from.sizes[i];
    // Joined with the dim before it if one stride walks both.
    bool joined = false;
    if (i > 0) {
      joined = from.sizes[i - 1] == 1 || from.strides[i - 1] == from.strides[i] * from.sizes[i];
      // The stride of a dim of size 1 is irrelevant.
      for (size_t k = i; from.sizes[k] == 1 && !joined; ++k) {
        joined = k + 1 == from.sizes.size() || group == 1;
        if (k + 1 == from.sizes.size()) break;
        joined |= from.strides[i - 1] == from.strides[k + 1] * from.sizes[k + 1];
      }
    }
    if (joined) continue;
    int64_t made = 1;
    while (next > 0 && (made < group || to[next - 1] == 1)) made *= to[--next];
    if (made != group) return false;
    group = 1;
  }
  return true;
}

const Argument* Find(const NodeDef& node, const char* name) {
  for (const NodeDef::Input& input : node.inputs) {
    if (input.name == name) return &input.value;
  }
  return nullptr;
}

}  // namespace

bool CopiesByLayout(const NodeDef& node, const GraphDef& graph) {
  absl::string_view name = node.target;
  if (!absl::ConsumePrefix(&name, "torch.ops.aten.")) return false;
  name = name.substr(0, name.find('.'));
  const Argument* self = Find(node, "self");
  if (self == nullptr || node.outputs.empty()) return false;
  const auto from = ShapeOf(graph, *self);
  const auto to = ShapeOf(graph, node.outputs[0]);
  if (name == "contiguous") return !from || !IsContiguous(*from);
  if (name == "to") {
    const Argument* copy = Find(node, "copy");
    return copy != nullptr && copy->integer != 0;
  }
  if (name == "reshape" || name == "reshape_as" || name == "flatten" || name == "ravel") {
    if (!from || !to) return true;
    return !CanView(*from, to->sizes);
  }
  return false;
}

}  // namespace weft::pt2
