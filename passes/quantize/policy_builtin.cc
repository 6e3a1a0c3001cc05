// The policies that Weft brings, in the text form that policies of users have.
#include "passes/quantize/policy.h"

namespace weft {
namespace {

struct BuiltinPolicy {
  absl::string_view name;
  absl::string_view text;
};

// The op table of PyTorch's X86InductorQuantizer: results are quantized where their users are.
// A matmul with a constant is taken for a linear. Weights keep the smallest scale of f32:
// with 2^-12, channels of small weights would lose bits.
constexpr absl::string_view kX86 = R"(
policy x86 "u8 activations, i8 weights by channel; for x86 processors"
spec activation = u8 affine tensor histogram eps=0.000244140625
weight weight = i8 symmetric axis=0 min_max
weight tensor_weight = i8 symmetric tensor min_max
op convolution(activation, weight) where transposed=false
op convolution(activation, weight axis=1) where transposed=true, groups=1
op convolution(activation, tensor_weight) where transposed=true
op linear(activation, weight)
op matmul(activation, weight axis=-1) where matrices
op mul(activation, activation) where same_shape, independent
fuse convolution + add(activation) + relu
fuse convolution + add(activation)
fuse convolution + relu|clamp|hardtanh|hardswish|silu
fuse linear + add + relu
fuse linear + add
fuse linear + relu|leaky_relu|tanh|gelu
fuse matmul + add + relu|leaky_relu|tanh|gelu
fuse matmul + add
fuse matmul + relu|leaky_relu|tanh|gelu
propagate activation: max_pool, avg_pool, mean, cat, reshape
)";

// Zero points are 0 everywhere, and every pattern's result is quantized: targets whose integer
// units take s8 with s8, as XNNPACK and TensorRT have them.
constexpr absl::string_view kSymmetric = R"(
policy symmetric "i8 activations and weights without zero points"
spec activation = i8 symmetric tensor histogram eps=0.000244140625
weight weight = i8[-127..127] symmetric axis=0 min_max
weight tensor_weight = i8[-127..127] symmetric tensor min_max
op convolution(activation, weight) -> activation where transposed=false
op convolution(activation, weight axis=1) -> activation where transposed=true, groups=1
op convolution(activation, tensor_weight) -> activation where transposed=true
op linear(activation, weight) -> activation
op matmul(activation, weight axis=-1) -> activation where matrices
op matmul(activation, activation) -> activation
op add(activation, activation) -> activation where same_shape
op mul(activation, activation) -> activation
fuse convolution + relu|clamp|hardtanh
fuse linear + relu|clamp|hardtanh
fuse matmul + add + relu|clamp|hardtanh
fuse matmul + add
fuse matmul + relu|clamp|hardtanh
fuse add + relu|clamp|hardtanh
fuse mul + relu|clamp|hardtanh
propagate activation: max_pool, avg_pool, mean, cat, reshape, permute, slice, select, expand, relu, hardtanh
)";

constexpr absl::string_view kDynamic = R"(
policy dynamic "u8 activations with parameters of the run, i8 weights by channel"
spec activation = u8 affine tensor dynamic
weight weight = i8 symmetric axis=0 min_max
op linear(activation, weight)
op matmul(activation, weight axis=-1) where matrices
)";

constexpr absl::string_view kWeightOnly = R"(
policy weight_only(bits=4, group=32) "weights in groups along the sum; activations stay float"
weight weight = i$bits symmetric axis=1 block=$group mse
op linear(_, weight)
op matmul(_, weight axis=-2) where matrices
)";

constexpr absl::string_view kWeightOnlyHqq = R"(
policy weight_only_hqq(bits=4, group=32) "weights in groups with zero points, by HQQ"
weight weight = u$bits affine axis=1 block=$group hqq
op linear(_, weight)
op matmul(_, weight axis=-2) where matrices
)";

constexpr absl::string_view kWeightOnlyChannels = R"(
policy weight_only_channels(bits=8) "weights by channel; activations stay float"
weight weight = i$bits symmetric axis=0 min_max
op convolution(_, weight) where transposed=false
op linear(_, weight)
op matmul(_, weight axis=-1) where matrices
)";

constexpr absl::string_view kF8 = R"(
policy f8 "f8e4m3 activations and weights"
spec activation = f8e4m3 symmetric tensor min_max
weight weight = f8e4m3 symmetric axis=0 min_max
op linear(activation, weight)
op matmul(activation, weight axis=-1) where matrices
fuse linear + relu|leaky_relu|tanh|gelu
fuse matmul + add + relu|leaky_relu|tanh|gelu
fuse matmul + add
)";

// The OCP microscaling formats: blocks of 32 along the sum with a power of two each.
constexpr absl::string_view kMxFp4 = R"(
policy mxfp4 "weights of f4e2m1 in blocks of 32 with scales of f8e8m0; activations stay float"
weight weight = f4e2m1 symmetric axis=1 block=32 mse scales=f8e8m0
op linear(_, weight)
op matmul(_, weight axis=-2) where matrices
)";

constexpr absl::string_view kMxFp8 = R"(
policy mxfp8 "f8e4m3 in blocks of 32 with scales of f8e8m0, of activations by run"
spec activation = f8e4m3 symmetric axis=-1 block=32 dynamic scales=f8e8m0
weight weight = f8e4m3 symmetric axis=1 block=32 mse scales=f8e8m0
op linear(activation, weight)
op matmul(activation, weight axis=-2) where matrices
)";

constexpr BuiltinPolicy kPolicies[] = {
    {"x86", kX86},
    {"symmetric", kSymmetric},
    {"dynamic", kDynamic},
    {"weight_only", kWeightOnly},
    {"weight_only_hqq", kWeightOnlyHqq},
    {"weight_only_channels", kWeightOnlyChannels},
    {"f8", kF8},
    {"mxfp4", kMxFp4},
    {"mxfp8", kMxFp8},
};

}  // namespace

absl::Span<const absl::string_view> BuiltinQuantPolicies() {
  static const auto& names = *[] {
    auto* built = new std::vector<absl::string_view>;
    for (const BuiltinPolicy& policy : kPolicies) built->push_back(policy.name);
    return built;
  }();
  return names;
}

absl::string_view BuiltinQuantPolicyText(absl::string_view name) {
  for (const BuiltinPolicy& policy : kPolicies) {
    if (policy.name == name) return policy.text;
  }
  return "";
}

}  // namespace weft
