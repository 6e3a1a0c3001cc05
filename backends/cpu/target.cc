#include "backends/cpu/target.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "graph/target/target_text.h"

namespace weft::cpu {
namespace {

// oneDNN takes neither cropping padding nor sizes that may be negative. Its post-ops compute in
// f32, so i32 routines have none. Results of 16 bits are rounded once, after the last post-op, so
// their routines have only post-ops that this does not change. A bias must be dense.
//
// The routines claim those operand broadcasts for which tests/backends/cpu/epilogue_test shows that
// all implementations are right; a kernel computes the others.
constexpr absl::string_view kTarget = R"(
target cpu {
  composites = [convolution_integer, dequantize_linear, gelu, group_norm, linear, log_softmax,
                matmul_integer, native_layer_norm, nll_loss, quantize_linear, rms_norm,
                scaled_dot_product_attention, silu, softmax, fused]
  routine quantized_matmul {
    ops = [matmul_integer]
    strided = [0, 1]
    contract = "bit-exact"
  }
  routine quantized_convolution {
    ops = [convolution_integer]
    min_rank = 3
    max_rank = 5
    constant_attrs = [stride, padding, dilation, output_padding, groups]
    unit_attrs = [groups]
    strided = [0, 1, result]
    channel_dim = 1
    prefers_channels_last = true
    contract = "bit-exact"
  }
  routine integer_matmul {
    ops = [matmul, linear]
    result_dtypes = [i32]
    absent_operands = [2]
    strided = [0, 1, result]
    contract = "bit-exact"
  }
  routine integer_convolution {
    ops = [convolution]
    result_dtypes = [i32]
    min_rank = 3
    max_rank = 5
    constant_attrs = [stride, padding, dilation, output_padding, groups]
    absent_operands = [2]
    strided = [0, 1, result]
    channel_dim = 1
    prefers_channels_last = true
    contract = "bit-exact"
  }
  routine matmul {
    ops = [matmul, linear]
    dtypes = [f32, f16, bf16]
    strided = [0, 1, result]
  }
  routine convolution {
    ops = [convolution]
    dtypes = [f32, f16, bf16]
    min_rank = 3
    max_rank = 5
    constant_attrs = [stride, padding, dilation, output_padding, groups]
    strided = [0, 1, result]
    channel_dim = 1
    prefers_channels_last = true
  }
  routine pooling {
    ops = [max_pool, avg_pool]
    dtypes = [f32, f16, bf16]
    min_rank = 3
    max_rank = 5
    unit_attrs = [dilation]
    unused_results = [1]
    strided = [0, result]
    channel_dim = 1
    prefers_channels_last = true
  }
  routine attention {
    ops = [scaled_dot_product_attention]
    dtypes = [f32, f16, bf16]
    strided = [0, 1, 2, 3, result]
  }
  epilogue {
    ops = [relu]
    routines = [matmul, convolution]
    dtypes = [f32, f16, bf16]
  }
  epilogue {
    ops = [leaky_relu, tanh, sigmoid, silu, hardswish, hardtanh, abs, exp, sqrt, gelu]
    routines = [matmul, convolution]
    dtypes = [f32]
  }
  epilogue {
    ops = [add, mul, maximum, minimum]
    routines = [matmul, convolution]
    dtypes = [f32]
    operand_sizes = [same, channels, scalar]
    either_operand = true
  }
  epilogue {
    ops = [sub, div]
    routines = [matmul, convolution]
    dtypes = [f32]
    operand_sizes = [same, channels, scalar]
    absent_attrs = [rounding_mode]
  }
}
)";

// The target without the properties of a machine.
const Target& BaseTarget() {
  static const Target& target = *[] {
    auto parsed = ParseTarget(kTarget, "backends/cpu/target.cc");
    WEFT_CHECK(parsed.ok()) << parsed.status();
    return new Target(*std::move(parsed));
  }();
  return target;
}

}  // namespace

const Target& CpuTarget() {
  static const Target& target = *[] {
    const absl::StatusOr<Isa> isa = DetectIsa();
    // Plans are also printed on machines that cannot run them.
    return new Target(TargetOf(isa.ok() ? *isa : Isa::kAvx2));
  }();
  return target;
}

Target TargetOf(Isa isa) {
  Target target = BaseTarget();
  target.vector_bytes = isa == Isa::kAvx512 ? 64 : 32;
  return target;
}

}  // namespace weft::cpu
