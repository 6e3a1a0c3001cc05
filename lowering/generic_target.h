// A backend that stands for those there are, for plans that are made to be
// read.
#ifndef WEFT_LOWERING_GENERIC_TARGET_H_
#define WEFT_LOWERING_GENERIC_TARGET_H_

#include "lowering/lower.h"

namespace weft {

// Routines for products, convolutions, pooling and attention. Products and
// attention take operands of any strides; products and convolutions add, multiply and apply
// relu, gelu, silu, sigmoid and tanh on the way out.
LoweringTarget GenericTarget();

}  // namespace weft

#endif  // WEFT_LOWERING_GENERIC_TARGET_H_
