// The name, target, options and functions of a device out of tree, checked.
#ifndef WEFT_BACKENDS_PLUGIN_DEVICE_ENTRIES_H_
#define WEFT_BACKENDS_PLUGIN_DEVICE_ENTRIES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "api/c/device.h"
#include "backends/backend.h"
#include "graph/target/target.h"

namespace weft::plugin {

struct DeviceEntries {
  // The functions of the device; null for those that it does not have.
  weft_device_api api = {};
  Target target;
  std::string passes;
  std::vector<BackendOption> options;

  const std::string& name() const { return target.name; }
  bool has_memory() const { return api.allocate != nullptr; }
  bool has_streams() const { return api.stream_create != nullptr; }
  // Without events, all work goes to one stream.
  bool has_events() const { return has_streams() && api.event_create != nullptr; }
  bool has_code() const { return api.find_code != nullptr; }
};

// Copies and checks everything: FailedPrecondition for another version of the interface;
// InvalidArgument names the device, if it has a name, and the entry at fault. Remarks on missing
// entries go to the log of performance hints.
absl::StatusOr<DeviceEntries> ReadDeviceEntries(const weft_device_api* api);

}  // namespace weft::plugin

#endif  // WEFT_BACKENDS_PLUGIN_DEVICE_ENTRIES_H_
