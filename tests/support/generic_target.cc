#include "tests/support/generic_target.h"

#include "base/check.h"
#include "graph/target/target_text.h"

namespace weft {
namespace {

constexpr absl::string_view kTarget = R"(
target "generic" {
  routine matmul {
    ops = [matmul, linear]
    strided = [0, 1]
  }
  routine convolution {
    ops = [convolution]
    channel_dim = 1
  }
  routine pooling {
    ops = [max_pool, avg_pool]
    unused_results = [1]
  }
  routine attention {
    ops = [scaled_dot_product_attention]
    strided = [0, 1, 2, 3, result]
  }
  epilogue {
    ops = [relu, gelu, silu, sigmoid, tanh]
    routines = [matmul, convolution]
  }
  epilogue {
    ops = [add, mul]
    routines = [matmul, convolution]
    operand_sizes = [same, channels, scalar, other]
    either_operand = true
  }
}
)";

}  // namespace

const Target& GenericTarget() {
  static const Target& target = *[] {
    auto parsed = ParseTarget(kTarget);
    WEFT_CHECK(parsed.ok()) << parsed.status();
    return new Target(*std::move(parsed));
  }();
  return target;
}

}  // namespace weft
