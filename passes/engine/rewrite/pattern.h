// Patterns of rules, as values.
//
//   using namespace pattern;
//   constexpr Pattern p = Op(ops::permute, Op(ops::permute, x));
//
// A pattern is a tree over the values of a graph, written with
//
//   x y z u v w          any value; the same letter twice is the same value
//   Constant(x)          the result of a `constant` node
//   Splat(0.0)           a constant whose elements all are that number
//   Input(x)             an input of the graph
//   Op(op, p, q)         a result of a node of that op whose operands match; all
//                        of them, or as many as come before Rest()
//   Op(op)               a result of a node of that op, whatever the operands
//   AnyOf(ops, p, q)     the same for a few ops
//   OpWith(traits, p)    the same for all ops that have these traits
//   OneOf(p, q)          the first of two patterns that matches
//   Optional(op, p)      p, or op(p)
//   Repeated(op, m, n, p)  op(op(...p)), m to n times, as often as possible
//   p.As(y)              p, and y stands for its value
//   p.OneUse()           p, and its value has one use
//   p.If({"name", test}) p, and `test` holds for its value
//
// The two operands of commutative ops match in either order; the written order is tried first. In
// the canonical form (Builder) constants are last. Variables that the pattern cannot distinguish
// are bound in only one order.
//
// Patterns are independent of the driver: they describe what matches, not when and where to match.
// They do not support several roots, because a rule replaces the value of one node, nor trees of
// associative ops as one n-ary node, because the depth of such a tree is not known beforehand and
// an edit would have to revisit every root above it (rule.h, LookingDepth). Rules match two nodes
// of such trees at a time.
#ifndef WEFT_PASSES_ENGINE_REWRITE_PATTERN_H_
#define WEFT_PASSES_ENGINE_REWRITE_PATTERN_H_

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

class OpDef;
class Value;

// A condition on one value, with a name for explanations.
struct Predicate {
  const char* name = nullptr;
  bool (*holds)(const Value& value) = nullptr;
};

struct PatternNode {
  enum class Kind : uint8_t {
    kAny,
    kConstant,
    kInput,
    kOp,
    kRest,
    kOneOf,
  };
  Kind kind = Kind::kAny;
  int8_t variable = -1;
  bool one_use = false;
  bool has_splat = false;
  bool any_operands = false;
  uint8_t num_operands = 0;
  uint8_t size = 1;  // Nodes of the subtree, including this one.
  uint8_t min = 1;   // Least number of consecutive ops.
  uint8_t max = 1;
  uint8_t num_ops = 1;        // Number of `ops`.
  const OpDef* op = nullptr;  // Null: `ops`, or every op with `traits`.
  const OpDef* const* ops = nullptr;
  uint32_t traits = 0;
  double splat = 0;
  Predicate predicate;
};

// Nodes in preorder: a node, followed by the subtrees of its operands.
class Pattern {
 public:
  static constexpr int kMaxNodes = 14;
  static constexpr int kNumVariables = 12;

  constexpr Pattern() = default;
  constexpr explicit Pattern(PatternNode node) : size_(1) { nodes_[0] = node; }

  constexpr int size() const { return size_; }
  constexpr const PatternNode& node(int i) const { return nodes_[i]; }
  constexpr const PatternNode& root() const { return nodes_[0]; }
  // The variable bound to the root, or -1.
  constexpr int variable() const { return nodes_[0].variable; }

  constexpr Pattern As(const Pattern& name) const {
    Pattern p = *this;
    p.nodes_[0].variable = name.nodes_[0].variable;
    return p;
  }
  constexpr Pattern OneUse() const {
    Pattern p = *this;
    p.nodes_[0].one_use = true;
    return p;
  }
  constexpr Pattern If(Predicate predicate) const {
    Pattern p = *this;
    p.nodes_[0].predicate = predicate;
    return p;
  }
  // Adds `operand` as the root's last operand. Too many nodes fail to compile in a constant
  // expression.
  constexpr Pattern& Add(const Pattern& operand) {
    for (int i = 0; i < operand.size_; ++i) nodes_[size_++] = operand.nodes_[i];
    nodes_[0].size = static_cast<uint8_t>(size_);
    ++nodes_[0].num_operands;
    nodes_[0].any_operands = false;
    return *this;
  }

 private:
  PatternNode nodes_[kMaxNodes];
  int size_ = 0;
};

// "permute(permute(x))".
std::string ToString(const Pattern& pattern, int node = 0);
// The name of a variable.
const char* VariableName(int variable);
// The orders in which the operands of commutative nodes are tried, the written order first: bit i
// of an order swaps the operands of node i.
std::vector<uint32_t> OrdersOf(const Pattern& pattern);
// True if a node of kind kOp matches `op`.
bool IsAbout(const PatternNode& node, const OpDef& op);

namespace pattern {

constexpr Pattern Variable(int index) {
  PatternNode node;
  node.variable = static_cast<int8_t>(index);
  return Pattern(node);
}
inline constexpr Pattern x = Variable(0), y = Variable(1), z = Variable(2), u = Variable(3),
                         v = Variable(4), w = Variable(5);
inline constexpr Pattern a = Variable(6), b = Variable(7), c = Variable(8), d = Variable(9);

constexpr Pattern Any() { return Pattern(PatternNode()); }
constexpr Pattern Rest() {
  PatternNode node;
  node.kind = PatternNode::Kind::kRest;
  return Pattern(node);
}
constexpr Pattern Constant(const Pattern& name = Any()) {
  PatternNode node;
  node.kind = PatternNode::Kind::kConstant;
  return Pattern(node).As(name);
}
constexpr Pattern Splat(double value) {
  PatternNode node;
  node.kind = PatternNode::Kind::kConstant;
  node.has_splat = true;
  node.splat = value;
  return Pattern(node);
}
constexpr Pattern Input(const Pattern& name = Any()) {
  PatternNode node;
  node.kind = PatternNode::Kind::kInput;
  return Pattern(node).As(name);
}

template <typename... Operands>
constexpr Pattern Op(const OpDef& op, const Operands&... operands) {
  PatternNode node;
  node.kind = PatternNode::Kind::kOp;
  node.op = &op;
  node.any_operands = true;
  Pattern p(node);
  (p.Add(operands), ...);
  return p;
}
template <size_t n, typename... Operands>
constexpr Pattern AnyOf(const OpDef* const (&ops)[n], const Operands&... operands) {
  PatternNode node;
  node.kind = PatternNode::Kind::kOp;
  node.ops = ops;
  node.num_ops = n;
  node.any_operands = true;
  Pattern p(node);
  (p.Add(operands), ...);
  return p;
}
template <typename... Operands>
constexpr Pattern OpWith(uint32_t traits, const Operands&... operands) {
  PatternNode node;
  node.kind = PatternNode::Kind::kOp;
  node.traits = traits;
  node.any_operands = true;
  Pattern p(node);
  (p.Add(operands), ...);
  return p;
}
constexpr Pattern OneOf(const Pattern& first, const Pattern& second) {
  PatternNode node;
  node.kind = PatternNode::Kind::kOneOf;
  Pattern p(node);
  p.Add(first).Add(second);
  return p;
}
constexpr Pattern Repeated(const OpDef& op, uint8_t min, uint8_t max, const Pattern& operand) {
  PatternNode node;
  node.kind = PatternNode::Kind::kOp;
  node.op = &op;
  node.min = min;
  node.max = max;
  return Pattern(node).Add(operand);
}
constexpr Pattern Optional(const OpDef& op, const Pattern& operand) {
  return Repeated(op, 0, 1, operand);
}

}  // namespace pattern

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_REWRITE_PATTERN_H_
