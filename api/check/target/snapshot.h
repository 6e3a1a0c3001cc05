// Copies of a target's memory, which does not stay as it is.
#ifndef WEFT_API_CHECK_TARGET_SNAPSHOT_H_
#define WEFT_API_CHECK_TARGET_SNAPSHOT_H_

#include "graph/tensor/tensor.h"

namespace weft {

// Copies the elements densely into memory of their own; invalid for an invalid tensor.
HostTensor Snapshot(const HostTensor& tensor);

}  // namespace weft

#endif  // WEFT_API_CHECK_TARGET_SNAPSHOT_H_
