#include "backends/cpu/target.h"

#include <algorithm>

#include "backends/cpu/library/epilogue_claims.h"
#include "backends/cpu/library/library_internal.h"
#include "graph/ops/ops.h"
#include "lowering/clamp_bounds.h"

namespace weft::cpu {
namespace {

bool IsRoutineFloat(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

bool IsProduct(const Node& node) { return node.Is(ops::matmul) || node.Is(ops::linear); }

// Padding that crops, and sizes that are not known to be otherwise, are none of
// oneDNN's.
bool IsConvolution(const Node& node) {
  if (!node.Is(ops::convolution)) return false;
  const int n = node.operand(0)->type().rank() - 2;
  const Attrs attrs = node.attrs();
  for (const char* name : {"stride", "padding", "dilation", "output_padding"}) {
    for (SymInt s : attrs.Syms(name)) {
      if (!s.is_constant() || s.value() < 0) return false;
    }
  }
  return n >= 1 && n <= 3 && attrs.Sym("groups").is_constant();
}

// Of numbers that are 8 bits wide as a rule; the routine looks, and refuses others.
bool IsIntegerProduct(const Node& node) {
  if (!IsProduct(node) && !IsConvolution(node)) return false;
  if (node.result()->type().dtype() != DType::kI32) return false;
  const bool bias = node.num_operands() > 2 && node.has_operand(2);
  return !bias;
}

bool IsPooling(const Node& node) {
  if (!node.Is(ops::max_pool) && !node.Is(ops::avg_pool)) return false;
  if (node.Is(ops::max_pool) && node.result(1)->has_uses()) return false;
  const int n = node.operand(0)->type().rank() - 2;
  const std::vector<int64_t> dilation = node.attrs().Ints("dilation");
  return n >= 1 && n <= 3 &&
         std::all_of(dilation.begin(), dilation.end(), [](int64_t d) { return d == 1; });
}

}  // namespace

bool HasRoutine(const Node& node) {
  if (node.num_operands() == 0 || !node.has_operand(0)) return false;
  const Type type = node.operand(0)->type();
  if (IsIntegerProduct(node)) return true;
  if (!type.is_tensor() || !IsRoutineFloat(type.dtype())) return false;
  return IsProduct(node) || IsConvolution(node) || IsPooling(node) ||
         node.Is(ops::scaled_dot_product_attention);
}

// A bias is dense.
bool TakesStrides(const Node& node, int operand) {
  return HasRoutine(node) && (operand != 2 || node.Is(ops::scaled_dot_product_attention));
}

bool TakesEpilogue(const Node& library, const Node& op, int operand) {
  if (!IsProduct(library) && !IsConvolution(library)) return false;
  const DType dtype = library.result()->type().dtype();
  if (op.Is(ops::clamp)) {
    return dtype == DType::kF32 && operand == 0 && HardtanhOfClamp(op) != nullptr &&
           op.result()->type() == library.result()->type();
  }
  const DnnPostOp post = PostOpOf(op.op(), op.attr_list());
  if (post.function == DnnFunction::kNone) return false;
  // Post-ops of oneDNN's integers go through f32.
  if (dtype == DType::kI32) return false;
  // What is not rounded between two ops must not need it.
  if (dtype != DType::kF32) return post.function == DnnFunction::kRelu && post.alpha == 0;
  if (post.function < DnnFunction::kAdd) return true;
  const bool either =
      op.Is(ops::add) || op.Is(ops::mul) || op.Is(ops::maximum) || op.Is(ops::minimum);
  if (op.Is(ops::div) && op.attrs().Has("rounding_mode")) return false;
  const Type result = library.result()->type();
  const Type other = op.operand(1 - operand)->type();
  const int channel = library.Is(ops::convolution) ? 1 : result.rank() - 1;
  return (operand == 0 || either) && other.dtype() == dtype && op.result()->type() == result &&
         BroadcastOf(other.dims(), result.dims(), channel) != Broadcast::kOther;
}

// oneDNN's fast kernels of 32-bit convolutions and of pooling.
bool PrefersChannelsLast(const Node& node) {
  return HasRoutine(node) && (IsConvolution(node) || IsPooling(node));
}

LoweringTarget CpuLoweringTarget() {
  LoweringTarget target;
  target.channels_last = PrefersChannelsLast;
  target.library = HasRoutine;
  target.strided = TakesStrides;
  target.epilogue = TakesEpilogue;
  return target;
}

}  // namespace weft::cpu
