// Programs that memory bounds: norms, softmax, many small tensors.
#include "absl/strings/str_cat.h"
#include "examples/models/families.h"
#include "examples/models/layers.h"
#include "graph/ir/builder.h"
#include "graph/ops/ops.h"

namespace weft::models {
namespace {

constexpr int64_t kMaxRows = 1 << 20;

}  // namespace

absl::StatusOr<Model> BuildNormChain(const ModelOptions& options) {
  Net net(options);
  const SymInt rows = net.Size("rows", net.Pick(4096, 6), kMaxRows);
  const int64_t width = net.Pick(1024, 40);
  Value* x = net.Input("x", DType::kF32, {rows, width}, {-2, 2});
  Value* y = LayerNorm(net, "norm", x, width, 1e-5);
  net.Output("y", Add(net, x, Gelu(net, y)));
  return net.Finish();
}

absl::StatusOr<Model> BuildSoftmax(const ModelOptions& options) {
  Net net(options);
  const SymInt rows = net.Size("rows", net.Pick(4096, 6), kMaxRows);
  const SymInt width = net.Pick(1024, 40);
  Value* x = net.Input("x", DType::kF32, {rows, width}, {-4, 4});
  net.Output("y", Softmax(net, x));
  return net.Finish();
}

absl::StatusOr<Model> BuildStack299(const ModelOptions& options) {
  constexpr int kTensors = 299;
  Net net(options);
  const SymInt batch = net.Size("batch", net.Pick(32, 2), kMaxRows);
  const SymInt width = net.Pick(64, 5);
  std::vector<Value*> parts;
  for (int i = 0; i < kTensors; ++i) {
    Value* x = net.Input(absl::StrCat("x", i), DType::kF32, {batch, width}, {-1, 1});
    parts.push_back(Relu(net, x));
  }
  net.Output("y", net.Op(ops::stack, parts, {{"dim", 1}}));
  return net.Finish();
}

}  // namespace weft::models
