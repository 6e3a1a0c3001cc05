// A target without a backend, for tests of plans.
#ifndef WEFT_TESTS_SUPPORT_GENERIC_TARGET_H_
#define WEFT_TESTS_SUPPORT_GENERIC_TARGET_H_

#include "graph/target/target.h"

namespace weft {

// Routines for matmuls, convolutions, pooling and attention. Matmuls and attention take operands
// of any strides; matmuls and convolutions add, multiply and apply relu, gelu, silu, sigmoid and
// tanh before they store.
const Target& GenericTarget();

}  // namespace weft

#endif  // WEFT_TESTS_SUPPORT_GENERIC_TARGET_H_
