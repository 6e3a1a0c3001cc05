// Convolutional networks, as torchvision defines them.
#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "examples/models/families.h"
#include "examples/models/layers.h"
#include "graph/ir/builder.h"
#include "graph/ops/ops.h"

namespace weft::models {
namespace {

constexpr int64_t kMaxBatch = 4096;

Value* Image(Net& net) {
  const SymInt batch = net.Size("batch", 1, kMaxBatch);
  const SymInt side = net.Pick(224, 32);
  return net.Input("image", DType::kF32, {batch, 3, side, side}, {-1, 1});
}

Value* MaxPool3x3(Net& net, Value* x) {
  return net.Op(ops::max_pool, {x},
                {{"kernel_size", Dims{3, 3}},
                 {"stride", Dims{2, 2}},
                 {"padding", Dims{1, 1, 1, 1}},
                 {"dilation", Dims{1, 1}}});
}

// relu(bn3(conv1x1(relu(bn2(conv3x3(relu(bn1(conv1x1 x))))))) + shortcut). The
// last norm is small, so that the variance does not grow with depth.
Value* Bottleneck(Net& net, Value* x, int64_t in, int64_t width, int64_t stride) {
  const int64_t out = 4 * width;
  Value* y = Conv(net, "conv1", x, {in, width, 1});
  y = Relu(net, BatchNorm(net, "bn1", y, width));
  y = Conv(net, "conv2", y, {width, width, 3, stride});
  y = Relu(net, BatchNorm(net, "bn2", y, width));
  y = Conv(net, "conv3", y, {width, out, 1});
  y = BatchNorm(net, "bn3", y, out, 0.25);
  Value* shortcut = x;
  if (in != out || stride != 1) {
    Net::Scope scope(net, "downsample");
    shortcut = Conv(net, "0", x, {in, out, 1, stride});
    shortcut = BatchNorm(net, "1", shortcut, out);
  }
  return Relu(net, Add(net, y, shortcut));
}

// A plane of channels that an inverted residual works on.
struct InvertedShape {
  int64_t in, out, stride, expand;
};

// Expand, depthwise, project; the input is added where sizes are kept.
Value* InvertedResidual(Net& net, Value* x, const InvertedShape& shape) {
  Net::Scope scope(net, "conv");
  const int64_t hidden = shape.in * shape.expand;
  Value* y = x;
  int next = 0;
  const auto block = [&](const ConvShape& conv) {
    Net::Scope inner(net, absl::StrCat(next++));
    y = Conv(net, "0", y, conv);
    y = Relu6(net, BatchNorm(net, "1", y, conv.out));
  };
  if (shape.expand != 1) block({shape.in, hidden, 1});
  block({hidden, hidden, 3, shape.stride, hidden});
  y = Conv(net, absl::StrCat(next++), y, {hidden, shape.out, 1});
  y = BatchNorm(net, absl::StrCat(next), y, shape.out);
  const bool same = shape.stride == 1 && shape.in == shape.out;
  return same ? Add(net, x, y) : y;
}

// torchvision's rounding of scaled widths: to eights, by at most a tenth down.
int64_t RoundWidth(double width) {
  const auto rounded = std::max<int64_t>(8, static_cast<int64_t>(width + 4) / 8 * 8);
  return rounded < 0.9 * width ? rounded + 8 : rounded;
}

}  // namespace

absl::StatusOr<Model> BuildResNet50(const ModelOptions& options) {
  constexpr int kStages = 4;
  constexpr int64_t kBlocks[kStages] = {3, 4, 6, 3};
  Net net(options);
  const int64_t base = net.Pick(64, 8);
  Value* x = Conv(net, "conv1", Image(net), {3, base, 7, 2});
  x = Relu(net, BatchNorm(net, "bn1", x, base));
  x = MaxPool3x3(net, x);
  int64_t in = base;
  for (int stage = 0; stage < kStages; ++stage) {
    Net::Scope layer(net, absl::StrCat("layer", stage + 1));
    const int64_t width = base << stage;
    const int64_t blocks = net.Pick(kBlocks[stage], 1);
    for (int64_t block = 0; block < blocks; ++block) {
      Net::Scope scope(net, absl::StrCat(block));
      x = Bottleneck(net, x, in, width, block == 0 && stage > 0 ? 2 : 1);
      in = 4 * width;
    }
  }
  x = GlobalAveragePool(net, x);
  net.Output("logits", Linear(net, "fc", x, in, net.Pick(1000, 10)));
  return net.Finish();
}

absl::StatusOr<Model> BuildMobileNetV2(const ModelOptions& options) {
  struct Stage {
    int64_t expand, width, count, stride;
  };
  constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                               {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  Net net(options);
  const double scale = options.small ? 0.25 : 1;
  const int64_t last = net.Pick(1280, 64);
  int64_t in = RoundWidth(32 * scale);
  int next = 0;
  Value* x = Image(net);
  const auto conv_block = [&](const ConvShape& conv) {
    Net::Scope scope(net, absl::StrCat("features.", next++));
    x = Conv(net, "0", x, conv);
    x = Relu6(net, BatchNorm(net, "1", x, conv.out));
  };
  conv_block({3, in, 3, 2});
  for (const Stage& stage : kStages) {
    const int64_t out = RoundWidth(static_cast<double>(stage.width) * scale);
    const int64_t count = options.small ? std::min<int64_t>(2, stage.count) : stage.count;
    for (int64_t i = 0; i < count; ++i) {
      Net::Scope scope(net, absl::StrCat("features.", next++));
      const int64_t stride = i == 0 ? stage.stride : 1;
      x = InvertedResidual(net, x, {in, out, stride, stage.expand});
      in = out;
    }
  }
  conv_block({in, last, 1});
  x = GlobalAveragePool(net, x);
  net.Output("logits", Linear(net, "classifier.1", x, last, net.Pick(1000, 10)));
  return net.Finish();
}

}  // namespace weft::models
