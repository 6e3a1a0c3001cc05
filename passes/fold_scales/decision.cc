#include "passes/fold_scales/decision.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/quant.h"
#include "graph/tensor/tensor.h"

namespace weft {
namespace {

constexpr size_t kMaxNodes = 12;
// Larger constants would be there twice.
constexpr int64_t kMaxElements = int64_t{1} << 16;
constexpr double kMaxTerm = 1 << 20;
// Above the magnitude of all integers that are converted to f32.
constexpr double kMaxInteger = 2147483648.0;

bool IsF32(const Value* value) {
  return value->type().is_tensor() && value->type().dtype() == DType::kF32;
}

bool IsFactor(const Node& node) { return node.Is(ops::mul); }
bool IsClamp(const Node& node) {
  return node.Is(ops::clamp) || node.Is(ops::maximum) || node.Is(ops::minimum);
}

// The operand that a relu or a clamp limits.
int ClampedOperand(const Node& node) {
  const bool either = node.Is(ops::maximum) || node.Is(ops::minimum);
  return either && LiteralOf(node.operand(0)) != nullptr ? 1 : 0;
}

// The number that a quantize_linear to 8 bits divides by; 1: it stays as it is.
double ScaleOf(const Node& node) {
  if (!node.Is(ops::quantize_linear)) return 1;
  const ops::QuantizeLinearView quantize(node);
  const HostTensor* scale = LiteralOf(quantize.scale());
  const bool narrow = IsInt(quantize.dtype()) && DTypeBits(quantize.dtype()) == 8;
  if (!narrow || !IsF32(quantize.self()) || scale == nullptr || scale->dtype() != DType::kF32 ||
      scale->numel() != 1 || quantize.block_size() != 0 || !quantize.block_shape().empty()) {
    return 1;
  }
  const double s = scale->DoubleAt(0);
  return s > 0 && std::isnormal(static_cast<float>(s)) ? s : 1;
}

// Walks from the operand of a quantize_linear to the integers that it is computed from.
class ScaledWalk {
 public:
  explicit ScaledWalk(ScaledCandidate* candidate) : candidate_(*candidate) {}

  // False if no integers are converted or dequantized.
  bool Run() {
    Open(candidate_.node->operand(0));
    while (!open_.empty()) {
      Node* node = open_.back();
      open_.pop_back();
      candidate_.nodes.push_back(node);
      if (candidate_.nodes.size() > kMaxNodes) {
        Refuse("more nodes than a sum has are before it");
        break;
      }
      Visit(*node);
    }
    return found_integers_;
  }

 private:
  void Refuse(const char* reason) {
    if (candidate_.refusal == nullptr) candidate_.refusal = reason;
  }

  void Open(Value* value) {
    Node* node = value->node();
    if (node == nullptr || !IsF32(value)) return Refuse("its operand is no sum of integers");
    if (!node->Is(ops::dequantize_linear) && !value->has_one_use()) {
      return Refuse("others read a value before it");
    }
    open_.push_back(node);
  }

  void Visit(const Node& node) {
    if (node.Is(ops::dequantize_linear)) {
      const ops::DequantizeLinearView view(node);
      found_integers_ = true;
      const DType dtype = view.self()->type().dtype();
      if (!IsInt(dtype) || DTypeBits(dtype) > 16) Refuse("it dequantizes wide integers");
      CheckConstant(view.scale());
    } else if (IsFactor(node)) {
      VisitFactor(node);
    } else if (node.Is(ops::add)) {
      for (int i = 0; i < 2; ++i) {
        if (LiteralOf(node.operand(i)) == nullptr) Open(node.operand(i));
      }
      VisitConstants(node);
    } else if (node.Is(ops::relu) || IsClamp(node)) {
      Open(node.operand(ClampedOperand(node)));
      VisitConstants(node);
    } else {
      Refuse("its operand is no sum of integers");
    }
  }

  void VisitFactor(const Node& node) {
    const int constant = LiteralOf(node.operand(0)) != nullptr ? 0 : 1;
    const Value* other = node.operand(1 - constant);
    if (!other->IsResultOf(ops::convert) ||
        other->node()->operand(0)->type().dtype() != DType::kI32) {
      return Refuse("its operand is no sum of integers");
    }
    found_integers_ = true;
    CheckConstant(node.operand(constant));
  }

  void VisitConstants(const Node& node) {
    for (int i = 0; i < node.num_operands(); ++i) {
      if (IsDividedConstant(node, i)) CheckConstant(node.operand(i));
    }
  }

  void CheckConstant(const Value* value) {
    const HostTensor* literal = LiteralOf(value);
    if (literal == nullptr || literal->dtype() != DType::kF32) {
      Refuse("a scale or a bound is no constant of f32");
    } else if (literal->numel() > kMaxElements) {
      Refuse("a constant before it is large");
    }
  }

  ScaledCandidate& candidate_;
  std::vector<Node*> open_;
  bool found_integers_ = false;
};

// The largest magnitude of the elements over `scale` in f32; infinite if a quotient is infinite,
// NaN or has lost bits.
double LargestQuotient(const Value* constant, double scale) {
  double largest = 0;
  for (const double element : LiteralOf(constant)->ReadDoubles()) {
    const double quotient = std::abs(element / scale);
    const bool kept = quotient == 0 || (quotient >= std::numeric_limits<float>::min() &&
                                        quotient <= std::numeric_limits<float>::max());
    if (!kept) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, quotient);
  }
  return largest;
}

// The same of bounds, which may be infinite.
double LargestBound(const Value* constant, double scale) {
  const std::vector<double> bounds = LiteralOf(constant)->ReadDoubles();
  const bool open =
      std::all_of(bounds.begin(), bounds.end(), [](double b) { return std::isinf(b); });
  return open ? 0 : LargestQuotient(constant, scale);
}

// Adds up what the header says about the terms.
class TermCheck {
 public:
  explicit TermCheck(double scale) : scale_(scale) {}

  // Null, or why the scale stays.
  const char* Run(const std::vector<Node*>& nodes) {
    for (const Node* node : nodes) {
      for (int i = 0; i < node->num_operands(); ++i) {
        if (IsDividedConstant(*node, i)) Add(*node, i);
      }
    }
    if (lost_) return "a quotient of its constants is no number of f32";
    return wide_ > 1 ? "its terms may be large and cancel" : nullptr;
  }

 private:
  void Add(const Node& node, int operand) {
    const Value* constant = node.operand(operand);
    const bool bounds = IsClamp(node);
    const double largest =
        bounds ? LargestBound(constant, scale_) : LargestQuotient(constant, scale_);
    const double integers = node.Is(ops::dequantize_linear) ? 1 << 17
                            : IsFactor(node)                ? kMaxInteger
                                                            : 1;
    lost_ = lost_ || std::isinf(largest);
    // Large constants are not worth a case of their own.
    wide_ += largest * integers <= kMaxTerm ? 0 : integers > 1 ? 1 : 2;
  }

  const double scale_;
  bool lost_ = false;
  int wide_ = 0;
};

}  // namespace

bool IsDividedConstant(const Node& node, int operand) {
  if (!node.has_operand(operand)) return false;
  if (node.Is(ops::dequantize_linear)) return operand == 1;
  if (IsClamp(node)) return operand != ClampedOperand(node);
  return (node.Is(ops::add) || IsFactor(node)) && LiteralOf(node.operand(operand)) != nullptr;
}

std::vector<ScaledCandidate> CollectScaled(const Graph& graph) {
  std::vector<ScaledCandidate> candidates;
  for (Node* node : graph.nodes()) {
    ScaledCandidate candidate;
    candidate.node = node;
    candidate.scale = ScaleOf(*node);
    if (candidate.scale == 1 || !ScaledWalk(&candidate).Run()) continue;
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

ScaleDecision DecideScales(std::vector<ScaledCandidate> candidates) {
  ScaleDecision decision;
  for (ScaledCandidate& candidate : candidates) {
    const char* reason = candidate.refusal;
    if (reason == nullptr) reason = TermCheck(candidate.scale).Run(candidate.nodes);
    if (reason == nullptr) {
      decision.folds.push_back(std::move(candidate));
    } else {
      decision.refusals.push_back({candidate.node, reason});
    }
  }
  return decision;
}

std::string ToString(const ScaleDecision& decision) {
  std::string text;
  for (const ScaledCandidate& fold : decision.folds) {
    const size_t nodes = fold.nodes.size();
    absl::StrAppend(&text, NodeText(*fold.node), ": its scale goes into ", nodes,
                    nodes == 1 ? " node" : " nodes", "\n");
  }
  for (const NodeRefusal& refusal : decision.refusals) {
    absl::StrAppend(&text, ToString(refusal), "\n");
  }
  return text;
}

}  // namespace weft
