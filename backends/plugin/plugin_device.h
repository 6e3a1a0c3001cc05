// A device out of tree behind the interface runtime/device.h.
//
// If the device has streams and events, launches go to one stream and copies to another. An event
// orders them at each change between the two, so that all work is one sequence, as runtime/device.h
// requires. Wait() returns errors of asynchronous work with the name of the failed step, if the
// device names the launch.
#ifndef WEFT_BACKENDS_PLUGIN_PLUGIN_DEVICE_H_
#define WEFT_BACKENDS_PLUGIN_PLUGIN_DEVICE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "api/c/device.h"
#include "backends/runtime/device.h"
#include "backends/runtime/host_device.h"

namespace weft::plugin {

struct DeviceEntries;

class PluginDevice : public Device {
 public:
  // Opens the device, with the values of its options in their order. `entries` outlives it.
  static absl::StatusOr<std::unique_ptr<PluginDevice>> Open(const DeviceEntries& entries,
                                                            const std::vector<std::string>& values);
  // All memory and code of the device must have been released.
  ~PluginDevice() override;

  bool host_visible() const override;
  absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(
      int64_t bytes, profiler::MemoryCategory category) override;
  absl::Status CopyIn(char* to, const void* from, int64_t bytes) override;
  absl::Status CopyOut(void* to, const char* from, int64_t bytes) override;
  absl::Status Wait() override;

  // --- For launchers ---

  const std::string& name() const;
  struct Code {
    weft_code* code = nullptr;  // Null: the device has no code.
    int64_t scratch = 0;
  };
  absl::StatusOr<Code> FindCode(const weft_call& call);
  // Releases code after waiting for the work that uses it.
  void Release(weft_code* code);
  // `memory` and `scratch` are addresses of the device. `label` names the step in errors.
  absl::Status Launch(weft_code* code, absl::Span<void* const> memory, void* scratch,
                      const std::shared_ptr<const std::string>& label);
  bool takes_plans() const;
  // Null if the device has no code for the whole plan. Requires a device that takes plans.
  absl::StatusOr<weft_plan*> CompilePlan(const std::string& text);
  void Release(weft_plan* plan);

  // Tells the device whether a trace is being recorded, if that has changed.
  void UpdateProfile();
  int64_t launches() const { return launches_; }

 private:
  class Piece;
  enum Stream { kCompute, kTransfers };

  explicit PluginDevice(const DeviceEntries& entries) : entries_(entries) {}

  absl::Status MakeStreams();
  // Returns the stream for the next work, ordered after everything submitted before.
  absl::StatusOr<weft_stream*> Turn(Stream to);
  absl::Status Synchronize(weft_stream* stream);
  // Checks an address that the device gave for `bytes` bytes.
  absl::Status CheckAddress(const void* memory, int64_t bytes) const;
  void Free(char* memory);

  const DeviceEntries& entries_;
  weft_device* device_ = nullptr;
  bool open_ = false;
  HostDevice host_;  // Allocates if the device shares the host's memory.
  std::vector<weft_stream*> streams_;
  weft_event* event_ = nullptr;
  Stream current_ = kCompute;
  bool pending_ = false;  // Something was submitted since the last Wait().
  bool profiled_ = false;
  int64_t launches_ = 0;
  // Step names of the launches since the last Wait(), by number.
  std::map<int64_t, std::shared_ptr<const std::string>> labels_;
  std::map<uintptr_t, int64_t> live_;  // Bytes of allocated memory by address.
};

}  // namespace weft::plugin

#endif  // WEFT_BACKENDS_PLUGIN_PLUGIN_DEVICE_H_
