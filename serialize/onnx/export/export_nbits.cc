#include "serialize/onnx/export/export_nbits.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "graph/ir/builtin_ops.h"
#include "graph/ir/node.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"
#include "graph/ops/quant.h"
#include "graph/ops/shape.h"
#include "graph/tensor/tensor.h"
#include "serialize/onnx/export/export_node.h"

namespace weft::onnx_export {
namespace {

constexpr char kDomain[] = "com.microsoft";
constexpr int64_t kMinBlock = 16;

// dequantize_linear as the weight of a product.
struct Weight {
  const Node* dequantize = nullptr;
  bool rows = false;  // The quantized tensor is [N, K], else [K, N].
};

bool IsBlock(int64_t size) { return size >= kMinBlock && (size & (size - 1)) == 0; }

bool IsSwap(const Node& node) {
  return node.Is(ops::permute) && ops::PermuteView(node).dims() == std::vector<int64_t>{1, 0};
}

// The weight of the product without a look at whether it can be packed.
Weight WeightOf(const Node& product) {
  if (!product.Is(ops::matmul) && !product.Is(ops::linear)) return {};
  const Node* node = product.operand(1)->node();
  bool rows = product.Is(ops::linear);
  if (node != nullptr && IsSwap(*node)) {
    node = node->operand(0)->node();
    rows = !rows;
  }
  if (node == nullptr || !node->Is(ops::dequantize_linear)) return {};
  return {node, rows};
}

bool IsPackable(const Weight& weight, DType dtype) {
  const ops::DequantizeLinearView view(*weight.dequantize);
  const Type q = view.self()->type();
  if (q.rank() != 2 || !IsInt(q.dtype()) || q.numel().Is(0)) return false;
  const int bits = DTypeBits(q.dtype());
  if (bits != 4 && bits != 8) return false;
  const int64_t axis = view.axis() < 0 ? view.axis() + 2 : view.axis();
  const int64_t block = view.block_size();
  if (axis != (weight.rows ? 1 : 0) || !IsBlock(block)) return false;
  if (dtype != DType::kF32 && dtype != DType::kF16 && dtype != DType::kBF16) return false;
  // MatMulNBits has one dtype for the input, the scales and the result.
  if (view.dtype() != dtype || view.scale()->type().dtype() != dtype) return false;
  const bool floats = view.zero_point() != nullptr && IsFloat(view.zero_point()->type().dtype());
  // ONNX Runtime has them for 4 bits alone.
  if (floats && q.dtype() != DType::kU4) return false;
  const bool known = LiteralOf(view.self()) != nullptr && LiteralOf(view.scale()) != nullptr;
  return known && (view.zero_point() == nullptr || LiteralOf(view.zero_point()) != nullptr);
}

// Integers [N, length], or [length, N] turned round, as rows of `width` bytes: low bits first, and
// zeros behind the last one of a row.
HostTensor Pack(const HostTensor& tensor, bool rows, int64_t width, int bits, int64_t offset) {
  const int64_t n = tensor.dim(rows ? 0 : 1);
  const int64_t length = tensor.dim(rows ? 1 : 0);
  const int64_t per_byte = 8 / bits;
  const std::vector<int64_t> values = tensor.ReadInts();
  HostTensor packed(DType::kU8, {n * width});
  auto* bytes = packed.data<uint8_t>();
  for (int64_t row = 0; row < n; ++row) {
    for (int64_t i = 0; i < length; ++i) {
      const int64_t value = values[rows ? row * length + i : i * n + row] + offset;
      bytes[row * width + i / per_byte] |= static_cast<uint8_t>(value << (i % per_byte * bits));
    }
  }
  return packed;
}

struct Packed {
  HostTensor weight;
  HostTensor scale;
  HostTensor zero_point;  // Invalid where all are the middle of the range.
  int64_t k = 0;
  int64_t n = 0;
  int64_t block = 0;
  int bits = 0;
};

// The scales of rows one after another.
HostTensor RowsOfScales(const HostTensor& scale, bool rows) {
  HostTensor flat(scale.dtype(), {scale.numel()});
  const std::vector<double> given = scale.ReadDoubles();
  std::vector<double> turned(given.size());
  const int64_t n = scale.dim(rows ? 0 : 1);
  const int64_t blocks = scale.dim(rows ? 1 : 0);
  for (int64_t i = 0; i < scale.numel(); ++i) {
    turned[rows ? i : i % n * blocks + i / n] = given[i];
  }
  flat.WriteDoubles(turned);
  return flat;
}

Packed PackWeight(const Weight& weight) {
  const ops::DequantizeLinearView view(*weight.dequantize);
  const HostTensor& q = *LiteralOf(view.self());
  Packed p;
  p.n = q.dim(weight.rows ? 0 : 1);
  p.k = q.dim(weight.rows ? 1 : 0);
  p.block = view.block_size();
  p.bits = DTypeBits(q.dtype());
  const int64_t blocks = (p.k + p.block - 1) / p.block;
  const int64_t bytes = p.block * p.bits / 8;
  // MatMulNBits has unsigned integers: those with a sign move up by the middle of the range, which
  // is also the zero point that it takes without one.
  const int64_t middle = int64_t{1} << (p.bits - 1);
  const int64_t offset = IsSignedInt(q.dtype()) ? middle : 0;
  p.weight = Pack(q, weight.rows, blocks * bytes, p.bits, offset).Reshaped({p.n, blocks, bytes});
  p.scale = RowsOfScales(*LiteralOf(view.scale()), weight.rows);
  if (view.zero_point() != nullptr && IsFloat(view.zero_point()->type().dtype())) {
    p.zero_point = RowsOfScales(*LiteralOf(view.zero_point()), weight.rows);
    return p;
  }
  const HostTensor zero = view.zero_point() != nullptr
                              ? *LiteralOf(view.zero_point())
                              : HostTensor(q.dtype(), LiteralOf(view.scale())->dims());
  const std::vector<int64_t> points = zero.ReadInts();
  if (std::any_of(points.begin(), points.end(), [&](int64_t v) { return v + offset != middle; })) {
    p.zero_point = Pack(zero, weight.rows, (blocks * p.bits + 7) / 8, p.bits, offset);
  }
  return p;
}

// Whether every use of the node's result leads to a product that packs it.
template <typename UsePacks>
bool AllUses(const Node& node, UsePacks packs) {
  for (const Use* use = node.result(0)->first_use(); use != nullptr; use = use->next()) {
    if (!packs(*use->user())) return false;
  }
  return true;
}

bool PacksOperandOne(const Node& user, const Value* value) {
  return HasPackedWeight(user) && user.operand(0) != value &&
         (user.num_operands() < 3 || user.operand(2) != value);
}

bool DequantizeIsPackedAway(const Node& node) {
  return AllUses(node, [&](const Node& user) {
    if (!IsSwap(user)) return PacksOperandOne(user, node.result(0));
    return user.result(0)->has_uses() && AllUses(user, [&](const Node& product) {
             return PacksOperandOne(product, user.result(0));
           });
  });
}

}  // namespace

bool HasPackedWeight(const Node& product) {
  const Weight weight = WeightOf(product);
  if (weight.dequantize == nullptr) return false;
  const Type x = product.operand(0)->type();
  return x.rank() >= 2 && IsPackable(weight, x.dtype());
}

void ExportMatMulNBits(NodeExport& e) {
  const Packed p = PackWeight(WeightOf(e.node()));
  GraphWriter& w = e.w();
  Val zero = p.zero_point.valid() ? w.Tensor(p.zero_point) : nullptr;
  Val y = w.OpAs("MatMulNBits", {e.in(0), w.Tensor(p.weight), w.Tensor(p.scale), zero},
                 {{"K", p.k}, {"N", p.n}, {"bits", int64_t{p.bits}}, {"block_size", p.block}},
                 e.dtype(), kDomain);
  if (e.node().Is(ops::linear) && e.has(2)) y = e.Op("Add", {y, e.in(2)});
  e.SetOutput(0, y);
}

absl::Status ExportMatmulNbitsOp(NodeExport& e) {
  const ops::MatmulNbitsView view(e.node());
  const int64_t group = view.group_size();
  const SymInt k = e.type(0).dims().back();
  const SymInt n = e.type(1).dim(0);
  if (!IsBlock(group)) return NodeExport::Unsupported("groups of ", group, " weights");
  if (e.rank(0) < 2 || !k.is_constant() || !n.is_constant()) {
    return NodeExport::Unsupported("a vector or symbolic sizes of weights");
  }
  if (k.value() == 0 || n.value() == 0) return NodeExport::Unsupported("weights without elements");
  if (view.offset()) return NodeExport::Unsupported("offsets of weights");
  if (view.bits() == 8 && view.zero_point() != nullptr && IsFloat(e.dtype(3))) {
    return NodeExport::Unsupported("float zero points of weights of 8 bits");
  }
  if (e.dtype(2) != e.dtype(0)) return NodeExport::Unsupported("scales of another dtype");
  Val zero = view.zero_point() != nullptr ? e.in(3) : nullptr;
  Val y =
      e.w().OpAs("MatMulNBits", {e.in(0), e.in(1), e.in(2), zero},
                 {{"K", k.value()}, {"N", n.value()}, {"bits", view.bits()}, {"block_size", group}},
                 e.dtype(), kDomain);
  if (view.bias() != nullptr) y = e.Op("Add", {y, e.in(4)});
  e.SetOutput(0, y);
  return absl::OkStatus();
}

bool IsPackedAway(const Node& node) {
  if (node.Is(ops::dequantize_linear)) {
    return node.result(0)->has_uses() && DequantizeIsPackedAway(node);
  }
  if (IsSwap(node)) {
    return node.result(0)->has_uses() &&
           AllUses(node, [&](const Node& user) { return PacksOperandOne(user, node.result(0)); });
  }
  if (!node.Is(ops::constant) || !node.result(0)->has_uses()) return false;
  return AllUses(node, [](const Node& user) {
    return user.Is(ops::dequantize_linear) && user.result(0)->has_uses() &&
           DequantizeIsPackedAway(user);
  });
}

}  // namespace weft::onnx_export
