#include "backends/cuda/target.h"

#include <utility>

#include "absl/strings/string_view.h"
#include "base/check.h"
#include "graph/target/target_text.h"

namespace weft::cuda {
namespace {

// A vector is a warp's access of 32 f32. Divisions and functions are cheap beside memory, so values
// are computed again rather than kept, unless they are costly.
constexpr absl::string_view kTarget = R"(
target cuda {
  composites = [convolution_integer, dequantize_linear, gelu, group_norm, linear, log_softmax,
                matmul_float8, matmul_integer, native_layer_norm, nll_loss, quantize_linear, rms_norm,
                scaled_dot_product_attention, silu, softmax, fused]
  routine quantized_matmul {
    ops = [matmul_integer]
    max_rank = 7
    strided = [0, 1, result]
    contract = "bit-exact"
  }
  routine float8_matmul {
    ops = [matmul_float8]
    max_rank = 7
    strided = [0, 1, result]
  }
  routine widen_float8 {
    ops = [convert]
    dtypes = [f8e4m3, f8e5m2]
    result_dtypes = [f32, f16, bf16]
    contract = "bit-exact"
  }
  routine round_to_float8 {
    ops = [convert]
    dtypes = [f32, f16, bf16]
    result_dtypes = [f8e4m3, f8e5m2]
    contract = "bit-exact"
  }
  routine matmul {
    ops = [matmul, linear]
    dtypes = [f32, f16, bf16, f64]
    result_dtypes = [f32, f16, bf16, f64]
    strided = [0, 1, 2, result]
  }
  routine integer_matmul {
    ops = [matmul, linear]
    dtypes = [i32, i64, u32, u64]
    strided = [0, 1, 2, result]
    contract = "bit-exact"
  }
  routine quantized_convolution {
    ops = [convolution_integer]
    min_rank = 3
    max_rank = 5
    strided = [0, 1, result]
    channel_dim = 1
    prefers_channels_last = true
    contract = "bit-exact"
  }
  routine attention {
    ops = [scaled_dot_product_attention]
    dtypes = [f32, f16, bf16]
    strided = [0, 1, 2, 3, result]
  }
  routine convolution {
    ops = [convolution]
    dtypes = [f32, f16, bf16, f64]
    result_dtypes = [f32, f16, bf16, f64]
    min_rank = 3
    max_rank = 5
    strided = [0, 1, 2, result]
    channel_dim = 1
    prefers_channels_last = true
  }
  routine integer_convolution {
    ops = [convolution]
    dtypes = [i32, i64, u32, u64]
    min_rank = 3
    max_rank = 5
    strided = [0, 1, 2, result]
    channel_dim = 1
    prefers_channels_last = true
    contract = "bit-exact"
  }
  routine pooling {
    ops = [max_pool, avg_pool]
    dtypes = [i8, u8, i16, u16, i32, u32, i64, u64, f32, f16, bf16, f64]
    min_rank = 3
    max_rank = 5
    strided = [0, result]
    channel_dim = 1
    prefers_channels_last = true
  }
  routine fourier {
    ops = [dft]
    dtypes = [f32, f16, bf16, f64]
  }
  routine grid_sampling {
    ops = [grid_sampler]
    dtypes = [f32, f16, bf16, f64]
    min_rank = 3
    max_rank = 5
    strided = [0, 1, result]
    channel_dim = 1
  }
  routine interpolation {
    ops = [interpolate]
    dtypes = [bool, i8, u8, i16, u16, i32, u32, i64, u64, f32, f16, bf16, f64]
    strided = [0, result]
    channel_dim = 1
  }
  routine scan {
    ops = [cumsum, cumprod]
    dtypes = [i8, u8, i16, u16, i32, u32, i64, u64, f32, f16, bf16, f64]
  }
  routine running_extremum {
    ops = [cummax, cummin]
    dtypes = [bool, i8, u8, i16, u16, i32, u32, i64, u64, f32, f16, bf16, f64]
    contract = "bit-exact"
  }
  routine sort {
    ops = [sort, topk]
    dtypes = [bool, i8, u8, i16, u16, i32, u32, i64, u64, f32, f16, bf16, f64]
    contract = "bit-exact"
  }
  routine selection {
    ops = [nonzero, unique]
    dtypes = [bool, i8, u8, i16, u16, i32, u32, i64, u64, f32, f16, bf16, f64]
    contract = "bit-exact"
  }
  routine scatter {
    ops = [scatter]
    dtypes = [bool, i8, u8, i16, u16, i32, u32, i64, u64, f32, f16, bf16, f64]
    strided = [1, 2]
    indices = 1
    in_place = true
  }
  routine scatter_nd {
    ops = [scatter_nd]
    dtypes = [bool, i8, u8, i16, u16, i32, u32, i64, u64, f32, f16, bf16, f64]
    indices = 1
    in_place = true
  }
  epilogue {
    ops = [convert]
    routines = [quantized_matmul, quantized_convolution]
    dtypes = [i32]
  }
  epilogue {
    ops = [relu, hardtanh, leaky_relu, tanh, sigmoid, silu, hardswish, abs, exp, sqrt, gelu]
    routines = [matmul, float8_matmul, convolution]
  }
  epilogue {
    ops = [add, mul, maximum, minimum]
    routines = [matmul, float8_matmul, convolution]
    operand_sizes = [same, channels, scalar, other]
    either_operand = true
  }
  epilogue {
    ops = [sub, div]
    routines = [matmul, float8_matmul, convolution]
    operand_sizes = [same, channels, scalar, other]
    absent_attrs = [rounding_mode]
  }
  vector_bytes = 128
}
)";

}  // namespace

const Target& CudaTarget() {
  static const Target& target = *[] {
    auto parsed = ParseTarget(kTarget, "backends/cuda/target.cc");
    WEFT_CHECK(parsed.ok()) << parsed.status();
    return new Target(*std::move(parsed));
  }();
  return target;
}

}  // namespace weft::cuda
