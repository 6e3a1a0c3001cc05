// What a file that defines an op includes. One whose Decompose or Fold names
// other ops also includes graph/ops/ops.h, which changes with every new op.
#ifndef WEFT_GRAPH_OPS_SUPPORT_OP_H_
#define WEFT_GRAPH_OPS_SUPPORT_OP_H_

#include "graph/ir/builder.h"         // IWYU pragma: export
#include "graph/ir/graph.h"           // IWYU pragma: export
#include "graph/ir/op.h"              // IWYU pragma: export
#include "graph/ops/support/eval.h"   // IWYU pragma: export
#include "graph/ops/support/infer.h"  // IWYU pragma: export

#endif  // WEFT_GRAPH_OPS_SUPPORT_OP_H_
