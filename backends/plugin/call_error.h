// Converts the errors of a device's calls (api/c/device.h) to statuses.
#ifndef WEFT_BACKENDS_PLUGIN_CALL_ERROR_H_
#define WEFT_BACKENDS_PLUGIN_CALL_ERROR_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "api/c/device.h"

namespace weft::plugin {

// The error that one call may write. The device is not trusted: its text is truncated and escaped,
// and an unknown status becomes Internal.
class CallError {
 public:
  weft_device_error* c() { return &error_; }
  // The number of the launch that failed; 0 if the device does not give it.
  int64_t launch() const { return error_.launch; }
  // "device sim: copy_in: TEXT", or OK.
  absl::Status ToStatus(weft_status status, absl::string_view device, absl::string_view call) const;

 private:
  weft_device_error error_ = {};
};

// The opposite direction: statuses of functions that Weft offers to a device.
weft_status FromStatus(const absl::Status& status, weft_device_error* error);

}  // namespace weft::plugin

#endif  // WEFT_BACKENDS_PLUGIN_CALL_ERROR_H_
