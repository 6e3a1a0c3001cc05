#include "backends/plugin/backend.h"

#include <string>
#include <utility>
#include <vector>

#include "backends/plugin/device_entries.h"
#include "backends/plugin/executable.h"
#include "base/out_of_memory.h"
#include "base/status_macros.h"
#include "lowering/plan.h"

namespace weft::plugin {
namespace {

class PluginBackend : public Backend {
 public:
  PluginBackend(DeviceEntries entries, MakeInterpreter make_interpreter)
      : entries_(std::move(entries)), make_interpreter_(std::move(make_interpreter)) {}

  const Target& target() const override { return entries_.target; }
  std::string default_pipeline() const override { return entries_.passes; }
  absl::Span<const BackendOption> options() const override { return entries_.options; }

  absl::StatusOr<std::unique_ptr<Executable>> Compile(const Graph&, Plan plan,
                                                      const BackendOptions& given,
                                                      const ExecutableHooks& hooks) const override {
    std::vector<std::string> values;
    for (const BackendOption& option : entries_.options) {
      values.push_back(OptionOf(*this, given, option.name));
    }
    WEFT_ASSIGN_OR_RETURN(std::unique_ptr<StepLauncher> interpreter, make_interpreter_());
    return CatchOutOfMemory([&]() -> absl::StatusOr<std::unique_ptr<Executable>> {
      return PluginExecutable::Create(entries_, std::move(plan), values, std::move(interpreter),
                                      hooks);
    });
  }

 private:
  const DeviceEntries entries_;
  const MakeInterpreter make_interpreter_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<const Backend>> MakeBackend(const weft_device_api* api,
                                                           MakeInterpreter make_interpreter) {
  WEFT_ASSIGN_OR_RETURN(DeviceEntries entries, ReadDeviceEntries(api));
  return std::make_unique<const PluginBackend>(std::move(entries), std::move(make_interpreter));
}

}  // namespace weft::plugin
