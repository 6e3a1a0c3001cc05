// An op that runs in kernels.
#ifndef SQUASH_H_
#define SQUASH_H_

#include "weft/graph/ir/op_def.h"

extern const weft::OpDef squash;

#endif  // SQUASH_H_
