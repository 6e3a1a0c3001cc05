// A device out of tree as a backend.
//
// All claims of the device are checked before anything relies on them: an error names the device,
// the call and, in a run, the step. A run that fails leaves nothing behind, and the next one starts
// afresh.
#ifndef WEFT_BACKENDS_PLUGIN_BACKEND_H_
#define WEFT_BACKENDS_PLUGIN_BACKEND_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "api/c/device.h"
#include "backends/backend.h"
#include "backends/runtime/step_launcher.h"

namespace weft::plugin {

// Makes code of kernels and copies that runs in the host's memory, on one thread and in several
// threads at once.
using MakeInterpreter = std::function<absl::StatusOr<std::unique_ptr<StepLauncher>>()>;

// Errors as those of ReadDeviceEntries (device_entries.h). The device's functions and texts live as
// long as the process.
absl::StatusOr<std::unique_ptr<const Backend>> MakeBackend(const weft_device_api* api,
                                                           MakeInterpreter make_interpreter);

}  // namespace weft::plugin

#endif  // WEFT_BACKENDS_PLUGIN_BACKEND_H_
