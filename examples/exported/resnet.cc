#include <cmath>

#include "absl/strings/str_cat.h"
#include "examples/exported/model_writer.h"
#include "examples/exported/models.h"

namespace weft::examples {
namespace {

using Strings = std::vector<std::string>;
using Scope = ModelWriter::Scope;

std::string Conv(ModelWriter& w, absl::string_view name, const std::string& x, int in, int out,
                 int kernel, int stride) {
  Scope scope(&w, name);
  const float bound = static_cast<float>(std::sqrt(6.0 / (in * kernel * kernel)));
  const std::string weight = w.Parameter("weight", {out, in, kernel, kernel}, -bound, bound);
  const int pad = kernel / 2;
  return w.Op("Conv", {x, weight},
              {IntsAttr("dilations", {1, 1}), IntAttr("group", 1),
               IntsAttr("kernel_shape", {kernel, kernel}), IntsAttr("pads", {pad, pad, pad, pad}),
               IntsAttr("strides", {stride, stride})});
}

std::string BatchNorm(ModelWriter& w, absl::string_view name, const std::string& x, int channels) {
  Scope scope(&w, name);
  const std::string weight = w.Parameter("weight", {channels}, 0.8f, 1.2f);
  const std::string bias = w.Parameter("bias", {channels}, -0.1f, 0.1f);
  const std::string mean = w.Parameter("running_mean", {channels}, -0.2f, 0.2f);
  const std::string var = w.Parameter("running_var", {channels}, 0.7f, 1.3f);
  return w.Op("BatchNormalization", {x, weight, bias, mean, var},
              {FloatAttr("epsilon", 1e-5f), FloatAttr("momentum", 0.9f)});
}

std::string Relu(ModelWriter& w, const std::string& x) {
  Scope scope(&w, "relu");
  return w.Op("Relu", {x});
}

// relu(bn(conv(relu(bn(conv(x))))) + shortcut); the shortcut has a convolution
// where the sizes change.
std::string BasicBlock(ModelWriter& w, const std::string& x, int in, int out, int stride) {
  std::string y = Conv(w, "conv1", x, in, out, 3, stride);
  y = BatchNorm(w, "bn1", y, out);
  y = Relu(w, y);
  y = Conv(w, "conv2", y, out, out, 3, 1);
  y = BatchNorm(w, "bn2", y, out);
  std::string shortcut = x;
  if (in != out || stride != 1) {
    Scope scope(&w, "downsample");
    shortcut = Conv(w, "0", x, in, out, 1, stride);
    shortcut = BatchNorm(w, "1", shortcut, out);
  }
  y = w.Op("Add", {y, shortcut});
  return Relu(w, y);
}

// x.view(x.size(0), -1)
std::string Flatten(ModelWriter& w, const std::string& x) {
  const std::string batch = w.Size(x, 0);
  return w.Reshape(x, {batch, "-1"});
}

std::string Linear(ModelWriter& w, absl::string_view name, const std::string& x, int in, int out) {
  Scope scope(&w, name);
  const float bound = static_cast<float>(std::sqrt(1.0 / in));
  const std::string weight = w.Parameter("weight", {out, in}, -bound, bound);
  const std::string bias = w.Parameter("bias", {out}, -bound, bound);
  return w.Op("Gemm", {x, weight, bias},
              {FloatAttr("alpha", 1), FloatAttr("beta", 1), IntAttr("transB", 1)});
}

}  // namespace

std::string ResNetModel() {
  constexpr int kStages = 4;
  constexpr int kWidth[kStages] = {8, 16, 32, 64};
  constexpr int kBlocks[kStages] = {2, 2, 1, 1};
  constexpr int kClasses = 10;
  ModelWriter w("resnet", 1);
  std::string x = w.Input("image", onnx::TensorProto::FLOAT, Strings{"batch", "3", "64", "64"});
  x = Conv(w, "conv1", x, 3, kWidth[0], 7, 2);
  x = BatchNorm(w, "bn1", x, kWidth[0]);
  x = Relu(w, x);
  {
    Scope scope(&w, "maxpool");
    x = w.Op("MaxPool", {x},
             {IntAttr("ceil_mode", 0), IntsAttr("kernel_shape", {3, 3}),
              IntsAttr("pads", {1, 1, 1, 1}), IntsAttr("strides", {2, 2})});
  }
  int in = kWidth[0];
  for (int stage = 0; stage < kStages; ++stage) {
    Scope layer(&w, absl::StrCat("layer", stage + 1));
    for (int block = 0; block < kBlocks[stage]; ++block) {
      Scope scope(&w, absl::StrCat(block));
      x = BasicBlock(w, x, in, kWidth[stage], block == 0 && stage > 0 ? 2 : 1);
      in = kWidth[stage];
    }
  }
  {
    Scope scope(&w, "avgpool");
    x = w.Op("GlobalAveragePool", {x});
  }
  x = Flatten(w, x);
  x = Linear(w, "fc", x, in, kClasses);
  w.Output("logits", x, Strings{"batch", absl::StrCat(kClasses)});
  return w.Serialize();
}

}  // namespace weft::examples
