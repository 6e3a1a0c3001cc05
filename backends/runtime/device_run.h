// How a run on tensors of a device is ordered with other work of the program, and where its
// outputs go.
#ifndef WEFT_BACKENDS_RUNTIME_DEVICE_RUN_H_
#define WEFT_BACKENDS_RUNTIME_DEVICE_RUN_H_

#include <optional>

#include "absl/types/span.h"
#include "backends/runtime/device_tensor.h"

namespace weft {

struct DeviceRunOptions {
  // A stream of the caller, in the terms of the device: for CUDA a CUstream of the GPU's primary
  // context, which may be null, the legacy default stream. The run is done behind all that the
  // stream was given before the call, and all that it is given after the call is done behind the
  // run. The call may return before; an error of the run then comes with a later call on the same
  // executable, or with Synchronize(). Without a stream, the run is done when the call returns.
  //
  // The call waits all the same if the host needs a value of the device (a size that depends on
  // data, a condition of control flow, a step that runs on the host), if an input is in page-locked
  // memory of the host, if a trace is recorded, and if the run writes inputs and may fail because
  // of data (an index out of bounds): such an error leaves all inputs as they were.
  //
  // The tensors that the run makes are freed in the order of the stream: when one is dropped, what
  // the stream was given before may still use it. A tensor that several streams use is dropped when
  // the others are done with it. The stream outlives the tensors of its runs, and the work of the
  // executable until Synchronize().
  std::optional<void*> stream;

  // By output, without write-backs: dense memory of the device for it, or an invalid tensor for
  // new memory; empty: all have new memory. The type must be that of the output. The memory may be
  // that of an input. After an error its content is undefined.
  absl::Span<const DeviceTensor> outputs;
};

}  // namespace weft

#endif  // WEFT_BACKENDS_RUNTIME_DEVICE_RUN_H_
