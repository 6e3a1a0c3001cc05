#include "api/check/target/rounding_trial.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/container/flat_hash_set.h"
#include "base/hash.h"
#include "base/host_buffer.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ops/ops.h"
#include "graph/tensor/tensor.h"

namespace weft {
namespace {

// Error of results of inexact ops and of operands of sums, in units in the last place.
constexpr double kUnits = 2;
// Sums use at least this many accumulators: rounding grows with the root of the length of each.
constexpr double kLanes = 64;

using OpSet = absl::flat_hash_set<const OpDef*>;

// Exact ops besides those that move data.
const OpSet& ExactOps() {
  static const auto& ops = *new OpSet{
      &ops::abs,         &ops::neg,         &ops::sign,        &ops::relu,        &ops::maximum,
      &ops::minimum,     &ops::clamp,       &ops::hardtanh,    &ops::where,       &ops::eq,
      &ops::ne,          &ops::lt,          &ops::le,          &ops::gt,          &ops::ge,
      &ops::logical_not, &ops::logical_and, &ops::logical_or,  &ops::logical_xor, &ops::bitwise_not,
      &ops::bitwise_and, &ops::bitwise_or,  &ops::bitwise_xor, &ops::isnan,       &ops::ceil,
      &ops::floor,       &ops::round,       &ops::trunc,       &ops::convert,     &ops::bitcast,
      &ops::amax,        &ops::amin,        &ops::argmax,      &ops::argmin,      &ops::any,
      &ops::all,         &ops::sort,        &ops::topk,        &ops::max_pool,    &ops::cummax,
      &ops::cummin,      &ops::constant,    &ops::fused};
  return ops;
}

// Pointwise ops whose error is relative to the result, because no intermediate value is larger.
const OpSet& RelativeOps() {
  static const auto& ops = *new OpSet{
      &ops::add,   &ops::sub, &ops::mul,        &ops::div,        &ops::exp,   &ops::sqrt,
      &ops::rsqrt, &ops::pow, &ops::reciprocal, &ops::leaky_relu, &ops::prelu, &ops::sigmoid};
  return ops;
}

bool IsPointwise(const OpDef& op) { return op.has(kPointwise); }

bool HasIntegerResult(const Node& node) {
  for (int r = 0; r < node.num_results(); ++r) {
    const Type type = node.result(r)->type();
    if (type.is_tensor() && !IsFloat(type.dtype()) && !IsComplex(type.dtype())) return true;
  }
  return false;
}

bool Sums(const Node& node) {
  const OpDef& op = node.op();
  if (!op.has(kControlFlow)) return !IsPointwise(op) && !IsExactOp(op);
  for (int r = 0; r < node.num_regions(); ++r) {
    for (const Node* inner : node.region(r)->nodes()) {
      if (Sums(*inner)) return true;
    }
  }
  return false;
}

// Complex elements viewed as pairs.
HostTensor AsReal(const HostTensor& tensor) {
  if (!IsComplex(tensor.dtype())) return tensor;
  const DType real = tensor.dtype() == DType::kC128  ? DType::kF64
                     : tensor.dtype() == DType::kC64 ? DType::kF32
                                                     : DType::kF16;
  std::vector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  dims.push_back(2);
  auto view = HostTensor::View(tensor.buffer(), real, dims, {}, tensor.offset() * 2);
  return view.ok() ? *std::move(view) : HostTensor();
}

}  // namespace

double EpsilonOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kC128:
      return std::numeric_limits<double>::epsilon();
    case DType::kF32:
    case DType::kC64:
      return std::numeric_limits<float>::epsilon();
    case DType::kF16:
    case DType::kC32:
      return std::ldexp(1.0, -10);
    case DType::kBF16:
      return std::ldexp(1.0, -7);
    case DType::kF4E2M1:
      return 0.5;
    case DType::kF8E8M0:
      return 1;
    case DType::kF8E4M3:
    case DType::kF8E4M3FNUZ:
      return 0.125;
    case DType::kF8E5M2:
    case DType::kF8E5M2FNUZ:
      return 0.25;
    default:
      return 0;
  }
}

bool IsExactOp(const OpDef& op) {
  return op.has(kDataMovement) || op.has(kDataDependent) || ExactOps().contains(&op);
}

bool IsExactNode(const Node& node) {
  if (!node.op().has(kControlFlow) && !IsExactOp(node.op())) return false;
  for (int r = 0; r < node.num_regions(); ++r) {
    for (const Node* inner : node.region(r)->nodes()) {
      if (!IsExactNode(*inner)) return false;
    }
  }
  return true;
}

double SumLength(const Node& node, absl::Span<const HostTensor> operands) {
  if (!Sums(node)) return 1;
  double length = 1;
  double first = 1, second = 1;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].valid()) continue;
    for (int64_t d : operands[i].dims()) length = std::max(length, static_cast<double>(d));
    if (i == 0) first = static_cast<double>(operands[i].numel());
    if (i == 1) second = static_cast<double>(operands[i].numel());
  }
  if (node.op().has(kReduction)) return std::max(length, first);
  // A matmul of operands with n and m elements and a result with r has sums of length sqrt(n * m /
  // r). r is not known here; it is usually at least the smaller of n and m.
  return std::max(length, std::sqrt(first * second / std::max(1.0, std::min(first, second))));
}

reference::RunOptions RoundingTrial::Options() {
  reference::RunOptions options;
  options.edit_operands = [this](const Node& node, std::vector<HostTensor>* operands) {
    EditOperands(node, operands);
  };
  options.edit_results = [this](const Node& node, std::vector<HostTensor>* results) {
    EditResults(node, results);
  };
  return options;
}

void RoundingTrial::EditOperands(const Node& node, std::vector<HostTensor>* operands) {
  // Exact values count too; one trial covers them all.
  for (const HostTensor& operand : *operands) {
    if (trial_ == 0 && operand.valid()) Move(operand, 0, 0);
  }
  if (node.op().has(kControlFlow) || IsExactOp(node.op())) return;
  const bool sums = !IsPointwise(node.op());
  if (!sums && !HasIntegerResult(node)) return;
  // Partial products may overflow in one order and not in another.
  if (node.Is(ops::prod) || node.Is(ops::cumprod)) largest_ = HUGE_VAL;
  const double units = kUnits + (sums ? std::sqrt(SumLength(node, *operands) / kLanes) : 0);
  for (HostTensor& operand : *operands) {
    if (!operand.valid() || EpsilonOf(operand.dtype()) == 0) continue;
    const double relative = std::max(units * EpsilonOf(operand.dtype()), operand_error_);
    operand = Move(operand, relative, 0);
  }
}

void RoundingTrial::EditResults(const Node& node, std::vector<HostTensor>* results) {
  const bool exact = node.op().has(kControlFlow) || IsExactOp(node.op());
  const bool bounded = !IsPointwise(node.op()) && !node.Is(ops::log_softmax);
  const bool relative = bounded || RelativeOps().contains(&node.op());
  for (HostTensor& result : *results) {
    if (!result.valid()) continue;
    const double epsilon = exact ? 0 : EpsilonOf(result.dtype());
    if (epsilon > 0) result = Move(result, kUnits * epsilon, relative ? 0 : kUnits * epsilon);
  }
}

HostTensor RoundingTrial::Move(const HostTensor& tensor, double relative, double absolute) {
  if (EpsilonOf(tensor.dtype()) == 0) return tensor;
  const HostTensor from = AsReal(tensor.Contiguous());
  std::vector<double> values = from.ReadDoubles();
  const uint64_t salt = MixBits((static_cast<uint64_t>(trial_) << 32) + ++moved_);
  for (size_t i = 0; i < values.size(); ++i) {
    double& x = values[i];
    const double magnitude = std::abs(x);
    if (!std::isfinite(x)) continue;
    largest_ = std::max(largest_, magnitude);
    const bool away = trial_ == 0 ? x >= 0 : (MixBits(salt + i) & 1) != 0;
    const double by = relative * magnitude + absolute;
    x += away ? by : -by;
  }
  if (relative == 0 && absolute == 0) return tensor;
  HostTensor moved(tensor.dtype(), tensor.dims());
  AsReal(moved).WriteDoubles(values);
  return moved;
}

reference::RunOptions ZeroSignTrial::Options() {
  reference::RunOptions options;
  options.edit_results = [this](const Node& node, std::vector<HostTensor>* results) {
    const OpDef& op = node.op();
    if (op.has(kControlFlow) || op.has(kDataMovement) || node.Is(ops::constant)) return;
    for (HostTensor& result : *results) {
      if (result.valid() && EpsilonOf(result.dtype()) > 0) result = Sign(result);
    }
  };
  return options;
}

HostTensor ZeroSignTrial::Sign(const HostTensor& tensor) {
  HostTensor result(tensor.dtype(), tensor.dims());
  std::vector<double> values = AsReal(tensor.Contiguous()).ReadDoubles();
  const uint64_t salt = MixBits((static_cast<uint64_t>(trial_) << 32) + ++signed_);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0) continue;
    const bool negative = trial_ < 2 ? trial_ == 0 : (MixBits(salt + i) & 1) != 0;
    values[i] = negative ? -0.0 : 0.0;
  }
  AsReal(result).WriteDoubles(values);
  return result;
}

}  // namespace weft
