// A backend for a device out of tree.
//
// All claims of the device are checked before they are used: an error names the device, the call
// and, in a run, the step. After a failed run the next one starts with a clean state.
#ifndef WEFT_BACKENDS_PLUGIN_BACKEND_H_
#define WEFT_BACKENDS_PLUGIN_BACKEND_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "api/c/device.h"
#include "backends/backend.h"
#include "backends/runtime/step_launcher.h"

namespace weft::plugin {

// Makes the interpreter of kernels and copies in the host's memory. Its code runs on one thread,
// and on several at once.
using MakeInterpreter = std::function<absl::StatusOr<std::unique_ptr<StepLauncher>>()>;

// Errors are those of ReadDeviceEntries (device_entries.h). The device's functions and texts must
// live as long as the process.
absl::StatusOr<std::unique_ptr<const Backend>> MakeBackend(const weft_device_api* api,
                                                           MakeInterpreter make_interpreter);

}  // namespace weft::plugin

#endif  // WEFT_BACKENDS_PLUGIN_BACKEND_H_
