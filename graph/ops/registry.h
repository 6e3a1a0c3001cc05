// The table of all ops defined in graph/ops and graph/ir.
#ifndef WEFT_GRAPH_OPS_REGISTRY_H_
#define WEFT_GRAPH_OPS_REGISTRY_H_

namespace weft {
class OpRegistry;
}  // namespace weft

namespace weft::ops {

const OpRegistry& Registry();

}  // namespace weft::ops

#endif  // WEFT_GRAPH_OPS_REGISTRY_H_
