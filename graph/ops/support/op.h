// The includes of a file that defines an op. A file whose Decompose or Fold names other ops also
// includes graph/ops/ops.h, which changes with every new op; one that accesses nodes or graphs
// includes graph/ir/node.h or graph/ir/graph.h.
#ifndef WEFT_GRAPH_OPS_SUPPORT_OP_H_
#define WEFT_GRAPH_OPS_SUPPORT_OP_H_

#include "graph/ir/attrs.h"           // IWYU pragma: export
#include "graph/ir/builder.h"         // IWYU pragma: export
#include "graph/ir/op_args.h"         // IWYU pragma: export
#include "graph/ir/op_def.h"          // IWYU pragma: export
#include "graph/ir/op_eval.h"         // IWYU pragma: export
#include "graph/ir/op_fold.h"         // IWYU pragma: export
#include "graph/ir/value.h"           // IWYU pragma: export
#include "graph/ops/support/eval.h"   // IWYU pragma: export
#include "graph/ops/support/infer.h"  // IWYU pragma: export

#endif  // WEFT_GRAPH_OPS_SUPPORT_OP_H_
