#include "backends/cpu/target.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "graph/target/target_text.h"

namespace weft::cpu {
namespace {

// oneDNN takes neither cropping padding nor sizes that may be negative. Its post-ops compute in
// f32, so i32 routines of its have none. Those of 8 bits are ours: they run kernels on their
// results, as their claim of `convert` says (lowering/epilogues.h). Results of 16 bits are rounded
// after each op, as in the graph: by kernels of ours, which do bf16 with AVX512_BF16, or by a
// kernel behind the routine. oneDNN would round once, after the last post-op. A bias must be dense.
//
// The routines claim those operand broadcasts for which tests/backends/cpu/epilogue_test shows that
// all implementations are right; a kernel computes the others.
constexpr absl::string_view kTarget = R"(
target cpu {
  composites = [convolution_integer, dequantize_linear, gelu, group_norm, linear, log_softmax,
                matmul_integer, matmul_nbits, native_layer_norm, nll_loss, observe,
                quantize_linear, rms_norm, scaled_dot_product_attention, silu, softmax, stft, fused]
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
    strided = [0, 1, result]
    channel_dim = 1
    prefers_channels_last = true
    contract = "bit-exact"
  }
  routine nbits_matmul {
    ops = [matmul_nbits]
    dtypes = [f32, f16, bf16]
    strided = [0, result]
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
  routine byte_pooling {
    ops = [max_pool]
    dtypes = [u8, i8]
    min_rank = 3
    max_rank = 5
    unused_results = [1]
    strided = [0, result]
    channel_dim = 1
    prefers_channels_last = true
    contract = "bit-exact"
  }
  routine attention {
    ops = [scaled_dot_product_attention]
    dtypes = [f32, f16, bf16]
    strided = [0, 1, 2, 3, result]
  }
  routine recurrent {
    ops = [lstm, gru, rnn]
    dtypes = [f32]
    strided = [0, 5, 6, result]
  }
  routine fourier {
    ops = [dft, stft]
    dtypes = [f32, f16, bf16]
    strided = [0, result]
  }
  routine grid_sampling {
    ops = [grid_sampler]
    dtypes = [f32, f16, bf16]
    min_rank = 3
    max_rank = 5
    strided = [0, 1, result]
  }
  routine interpolation {
    ops = [interpolate]
    dtypes = [bool, i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64]
    strided = [0, result]
  }
  routine roll {
    ops = [roll]
    dtypes = [bool, i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64, c64]
    contract = "bit-exact"
  }
  routine observe {
    ops = [observe]
    dtypes = [f32, f16, bf16]
  }
  routine scan {
    ops = [cumsum, cumprod]
    dtypes = [f32, f64, f16, bf16, i32, i64]
    contract = "bit-exact"
  }
  routine running_extrema {
    ops = [cummax, cummin]
    dtypes = [bool, i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64]
    contract = "bit-exact"
  }
  routine sort {
    ops = [sort, topk]
    dtypes = [bool, i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64]
    contract = "bit-exact"
  }
  routine scatter {
    ops = [scatter, scatter_nd]
    dtypes = [bool, i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64]
    strided = [1, 2]
    indices = 1
    in_place = true
  }
  routine widen_float8 {
    ops = [convert]
    dtypes = [f8e4m3, f8e5m2, f8e4m3fnuz, f8e5m2fnuz]
    result_dtypes = [f32, f16, bf16]
    contract = "bit-exact"
  }
  routine round_to_float8 {
    ops = [convert]
    dtypes = [f32, f16, bf16, f8e4m3, f8e5m2, f8e4m3fnuz, f8e5m2fnuz]
    result_dtypes = [f8e4m3, f8e5m2, f8e4m3fnuz, f8e5m2fnuz]
    contract = "bit-exact"
  }
  routine fold {
    ops = [col2im]
    dtypes = [f32, f16, bf16]
    strided = [0]
  }
  epilogue {
    ops = [convert]
    routines = [quantized_matmul, quantized_convolution]
    dtypes = [i32]
  }
  epilogue {
    ops = [relu, hardtanh]
    routines = [matmul, nbits_matmul, convolution]
    dtypes = [f32, f16, bf16]
  }
  epilogue {
    ops = [leaky_relu, tanh, sigmoid, silu, hardswish, abs, exp, sqrt, gelu]
    routines = [matmul, nbits_matmul, convolution]
    dtypes = [f32]
  }
  epilogue {
    ops = [add, mul, maximum, minimum]
    routines = [matmul, nbits_matmul, convolution]
    dtypes = [f32]
    operand_sizes = [same, channels, scalar]
    either_operand = true
  }
  epilogue {
    ops = [tanh, sigmoid, silu, hardswish, gelu]
    routines = [matmul, convolution]
    dtypes = [bf16]
  }
  epilogue {
    ops = [add, mul, maximum, minimum]
    routines = [matmul, convolution]
    dtypes = [bf16]
    operand_sizes = [same, channels, scalar]
    either_operand = true
  }
  epilogue {
    ops = [sub, div]
    routines = [matmul, nbits_matmul, convolution]
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

CcTarget CcTargetOf(const Target& target) {
  CcTarget cc;
  if (target.vector_bytes >= 32) cc.isa = CcTarget::Isa::kAvx2;
  if (target.vector_bytes >= 64) cc.isa = CcTarget::Isa::kAvx512;
  return cc;
}

}  // namespace weft::cpu
