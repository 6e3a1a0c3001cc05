// com.microsoft operators that are pointwise: activations that ONNX Runtime writes into models it
// has optimised. Other operators of the domain are refused.
#include "graph/ir/builder.h"
#include "graph/ops/elementwise.h"
#include "serialize/onnx/import/import_tables.h"
#include "serialize/onnx/import/import_util.h"

namespace weft::onnx_import {
namespace {

absl::Status ImportGelu(NodeContext& c, Value* x, const char* approximate) {
  c.SetOutput(0, ops::BuildGelu(c, x, approximate));
  return c.status();
}

absl::Status Gelu(NodeContext& c) { return ImportGelu(c, c.in(0), "none"); }

absl::Status BiasGelu(NodeContext& c) {
  return ImportGelu(c, c.Op(ops::add, {c.in(0), c.in(1)}), "none");
}

absl::Status FastGelu(NodeContext& c) {
  Value* x = c.in(0);
  if (c.has_input(1)) x = c.Op(ops::add, {x, c.in(1)});
  return ImportGelu(c, x, "tanh");
}

absl::Status QuickGelu(NodeContext& c) {
  c.SetOutput(0, c.Op(ops::swish, {c.in(0)}, {{"alpha", c.Float("alpha", 1.702)}}));
  return c.status();
}

constexpr OnnxOp kTable[] = {
    {"BiasGelu", {1}, BiasGelu, "com.microsoft"},
    {"FastGelu", {1}, FastGelu, "com.microsoft"},
    {"Gelu", {1}, Gelu, "com.microsoft"},
    {"QuickGelu", {1}, QuickGelu, "com.microsoft"},
};

}  // namespace

absl::Span<const OnnxOp> ContribTable() { return kTable; }

}  // namespace weft::onnx_import
