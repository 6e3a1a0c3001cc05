// Copies of a target's memory, taken before later steps change it.
#ifndef WEFT_API_CHECK_TARGET_SNAPSHOT_H_
#define WEFT_API_CHECK_TARGET_SNAPSHOT_H_

#include "graph/tensor/tensor.h"

namespace weft {

// A dense copy of the elements; invalid for an invalid tensor.
HostTensor Snapshot(const HostTensor& tensor);

}  // namespace weft

#endif  // WEFT_API_CHECK_TARGET_SNAPSHOT_H_
