// Models of linears.
#include "examples/models/families.h"
#include "examples/models/layers.h"

namespace weft::models {

absl::StatusOr<Model> BuildMlp(const ModelOptions& options) {
  Net net(options);
  const SymInt batch = net.Size("batch", net.Pick(64, 4), 65536);
  const int64_t width = net.Pick(1024, 32);
  const int64_t inner = 4 * width;
  Value* x = net.Input("x", DType::kF32, {batch, width}, {-1, 1});
  Value* y = Gelu(net, Linear(net, "fc1", x, width, inner));
  net.Output("y", Linear(net, "fc2", y, inner, width));
  return net.Finish();
}

absl::StatusOr<Model> BuildFourLinears(const ModelOptions& options) {
  Net net(options);
  const SymInt batch = net.Size("batch", net.Pick(64, 4), 65536);
  const int64_t width = net.Pick(1024, 32);
  Value* x = net.Input("x", DType::kF32, {batch, width}, {-1, 1});
  for (const char* name : {"query", "key", "value", "gate"}) {
    net.Output(name, Linear(net, name, x, width, width));
  }
  return net.Finish();
}

}  // namespace weft::models
