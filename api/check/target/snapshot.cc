#include "api/check/target/snapshot.h"

#include <cstring>

namespace weft {

HostTensor Snapshot(const HostTensor& tensor) {
  if (!tensor.valid()) return tensor;
  const HostTensor dense = tensor.Contiguous();
  if (dense.raw() != tensor.raw()) return dense;
  HostTensor copy(tensor.dtype(), tensor.dims());
  if (dense.bytes() > 0) std::memcpy(copy.raw(), dense.raw(), dense.bytes());
  return copy;
}

}  // namespace weft
