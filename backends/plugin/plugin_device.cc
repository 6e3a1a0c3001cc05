#include "backends/plugin/plugin_device.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "absl/strings/str_cat.h"
#include "backends/plugin/call_error.h"
#include "backends/plugin/device_entries.h"
#include "backends/plugin/device_events.h"
#include "backends/plugin/host_calls.h"
#include "backends/plugin/logs.h"
#include "base/align.h"
#include "base/status_macros.h"

namespace weft::plugin {
namespace {

constexpr int64_t kAlignment = 64;
// Bytes past the end of memory that vector code of the host may read, if it interprets a kernel in
// the device's memory.
constexpr int64_t kSlack = 64;
// More memory than any device has.
constexpr int64_t kMaxBytes = int64_t{1} << 48;

absl::Status Broken(absl::string_view device, absl::string_view call, absl::string_view what) {
  return absl::InternalError(absl::StrCat("device ", device, ": ", call, ": ", what));
}

}  // namespace

class PluginDevice::Piece : public DeviceMemory {
 public:
  Piece(PluginDevice& device, void* memory, int64_t bytes)
      : DeviceMemory(static_cast<char*>(memory), bytes), device_(device) {}
  ~Piece() override { device_.Free(data()); }

 private:
  PluginDevice& device_;
};

absl::StatusOr<std::unique_ptr<PluginDevice>> PluginDevice::Open(
    const DeviceEntries& entries, const std::vector<std::string>& values) {
  std::unique_ptr<PluginDevice> device(new PluginDevice(entries));
  if (entries.api.open != nullptr) {
    std::vector<const char*> texts;
    for (const std::string& value : values) texts.push_back(value.c_str());
    CallError error;
    const weft_status status =
        entries.api.open(&HostCalls(), texts.data(), &device->device_, error.c());
    WEFT_RETURN_IF_ERROR(error.ToStatus(status, entries.name(), "open"));
    if (device->device_ == nullptr) return Broken(entries.name(), "open", "it gave no device");
    device->open_ = true;
  }
  WEFT_RETURN_IF_ERROR(device->MakeStreams());
  return device;
}

PluginDevice::~PluginDevice() {
  if (pending_) Wait().IgnoreError();
  if (event_ != nullptr) entries_.api.event_destroy(device_, event_);
  for (weft_stream* stream : streams_) entries_.api.stream_destroy(device_, stream);
  if (open_) entries_.api.close(device_);
}

bool PluginDevice::host_visible() const { return !entries_.has_memory(); }
const std::string& PluginDevice::name() const { return entries_.name(); }

bool PluginDevice::takes_plans() const { return entries_.api.compile_plan != nullptr; }

absl::Status PluginDevice::MakeStreams() {
  if (!entries_.has_streams()) return absl::OkStatus();
  const int count = entries_.has_events() && entries_.has_memory() ? 2 : 1;
  for (int i = 0; i < count; ++i) {
    weft_stream* stream = nullptr;
    CallError error;
    const weft_status status = entries_.api.stream_create(device_, &stream, error.c());
    WEFT_RETURN_IF_ERROR(error.ToStatus(status, name(), "stream_create"));
    if (stream == nullptr) return Broken(name(), "stream_create", "it gave no stream");
    if (!streams_.empty() && streams_[0] == stream) {
      return Broken(name(), "stream_create", "it gave one stream twice");
    }
    streams_.push_back(stream);
  }
  if (count == 1) return absl::OkStatus();
  CallError error;
  const weft_status status = entries_.api.event_create(device_, &event_, error.c());
  WEFT_RETURN_IF_ERROR(error.ToStatus(status, name(), "event_create"));
  if (event_ == nullptr) return Broken(name(), "event_create", "it gave no event");
  return absl::OkStatus();
}

absl::StatusOr<weft_stream*> PluginDevice::Turn(Stream to) {
  pending_ = true;
  if (streams_.empty()) return nullptr;
  if (streams_.size() == 1) return streams_[0];
  if (to == current_) return streams_[to];
  CallError error;
  weft_status status = entries_.api.event_record(device_, event_, streams_[current_], error.c());
  WEFT_RETURN_IF_ERROR(error.ToStatus(status, name(), "event_record"));
  status = entries_.api.stream_wait(device_, streams_[to], event_, error.c());
  WEFT_RETURN_IF_ERROR(error.ToStatus(status, name(), "stream_wait"));
  current_ = to;
  return streams_[to];
}

absl::Status PluginDevice::Synchronize(weft_stream* stream) {
  CallError error;
  const weft_status status = entries_.api.stream_synchronize(device_, stream, error.c());
  const auto step = labels_.find(error.launch());
  if (step == labels_.end()) return error.ToStatus(status, name(), "stream_synchronize");
  return error.ToStatus(status, name(), absl::StrCat("launch of ", *step->second));
}

absl::Status PluginDevice::Wait() {
  if (!pending_) return absl::OkStatus();
  pending_ = false;
  // The stream of launches is synchronized last, so that errors of copies win: a kernel may fail
  // only because a copy before it failed.
  absl::Status first;
  for (auto stream = streams_.rbegin(); stream != streams_.rend(); ++stream) {
    first.Update(Synchronize(*stream));
  }
  labels_.clear();
  return first;
}

// --- Memory ------------------------------------------------------------------------------

absl::Status PluginDevice::CheckAddress(const void* memory, int64_t bytes) const {
  const auto address = reinterpret_cast<uintptr_t>(memory);
  const auto size = static_cast<uintptr_t>(bytes);
  if (address == 0) return Broken(name(), "allocate", "it gave no memory");
  if (address % kAlignment != 0) {
    return Broken(name(), "allocate",
                  absl::StrCat("the address is not a multiple of ", kAlignment));
  }
  if (address > std::numeric_limits<uintptr_t>::max() - size) {
    return Broken(name(), "allocate", "the memory passes the end of all addresses");
  }
  const auto next = live_.lower_bound(address);
  const bool hits_next = next != live_.end() && next->first < address + size;
  const bool hits_last =
      next != live_.begin() &&
      std::prev(next)->first + static_cast<uintptr_t>(std::prev(next)->second) > address;
  if (!hits_next && !hits_last) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("device ", name(), ": allocate: the memory is in use already"));
}

absl::StatusOr<std::unique_ptr<DeviceMemory>> PluginDevice::Allocate(
    int64_t bytes, profiler::MemoryCategory category) {
  if (host_visible()) return host_.Allocate(bytes, category);
  if (bytes < 0 || bytes > kMaxBytes) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory for ", bytes, " bytes"));
  }
  const int64_t size = AlignUp(std::max<int64_t>(bytes, 1), kAlignment) + kSlack;
  void* memory = nullptr;
  CallError error;
  const weft_status status = entries_.api.allocate(device_, size, kAlignment, &memory, error.c());
  WEFT_RETURN_IF_ERROR(error.ToStatus(status, name(), "allocate"));
  const absl::Status good = CheckAddress(memory, size);
  if (!good.ok()) {
    // An address that is already in use belongs to another piece, so it is not freed.
    if (memory != nullptr && !absl::IsDataLoss(good)) entries_.api.deallocate(device_, memory);
    return good;
  }
  live_[reinterpret_cast<uintptr_t>(memory)] = size;
  return std::make_unique<Piece>(*this, memory, bytes);
}

void PluginDevice::Free(char* memory) {
  // The run that this error belongs to has already failed, or nothing waits for its result.
  Wait().IgnoreError();
  live_.erase(reinterpret_cast<uintptr_t>(memory));
  entries_.api.deallocate(device_, memory);
}

absl::Status PluginDevice::CopyIn(char* to, const void* from, int64_t bytes) {
  if (bytes <= 0) return absl::OkStatus();
  if (host_visible()) {
    WEFT_RETURN_IF_ERROR(Wait());
    return host_.CopyIn(to, from, bytes);
  }
  WEFT_ASSIGN_OR_RETURN(weft_stream * stream, Turn(kTransfers));
  CallError error;
  const weft_status status = entries_.api.copy_in(device_, stream, to, from, bytes, error.c());
  return error.ToStatus(status, name(), "copy_in");
}

absl::Status PluginDevice::CopyOut(void* to, const char* from, int64_t bytes) {
  if (bytes <= 0) return absl::OkStatus();
  if (host_visible()) {
    WEFT_RETURN_IF_ERROR(Wait());
    return host_.CopyOut(to, from, bytes);
  }
  WEFT_ASSIGN_OR_RETURN(weft_stream * stream, Turn(kTransfers));
  CallError error;
  const weft_status status = entries_.api.copy_out(device_, stream, to, from, bytes, error.c());
  absl::Status done = error.ToStatus(status, name(), "copy_out");
  // An error of the work that fills the memory takes precedence.
  const absl::Status before = Wait();
  return before.ok() ? done : before;
}

// --- Code --------------------------------------------------------------------------------

absl::StatusOr<PluginDevice::Code> PluginDevice::FindCode(const weft_call& call) {
  Code found;
  if (!entries_.has_code()) return found;
  CallError error;
  const weft_status status =
      entries_.api.find_code(device_, &call, &found.code, &found.scratch, error.c());
  if (status == WEFT_UNIMPLEMENTED) return Code();
  WEFT_RETURN_IF_ERROR(error.ToStatus(status, name(), "find_code"));
  if (found.code == nullptr) return Broken(name(), "find_code", "it gave no code");
  if (found.scratch >= 0 && found.scratch <= kMaxBytes) return found;
  Release(found.code);
  return Broken(name(), "find_code", absl::StrCat("it asks for ", found.scratch, " scratch bytes"));
}

void PluginDevice::Release(weft_code* code) {
  if (entries_.api.release_code == nullptr) return;
  Wait().IgnoreError();
  entries_.api.release_code(device_, code);
}

absl::Status PluginDevice::Launch(weft_code* code, absl::Span<void* const> memory, void* scratch,
                                  const std::shared_ptr<const std::string>& label) {
  WEFT_ASSIGN_OR_RETURN(weft_stream * stream, Turn(kCompute));
  weft_launch launch = {};
  launch.struct_size = sizeof launch;
  launch.number = ++launches_;
  launch.count = static_cast<int32_t>(memory.size());
  launch.memory = memory.data();
  launch.scratch = scratch;
  CallError error;
  const weft_status status = entries_.api.launch(device_, stream, code, &launch, error.c());
  if (status == WEFT_OK) labels_[launch.number] = label;
  return error.ToStatus(status, name(), "launch");
}

absl::StatusOr<weft_plan*> PluginDevice::CompilePlan(const std::string& text) {
  weft_plan* plan = nullptr;
  CallError error;
  const weft_status status = entries_.api.compile_plan(device_, text.c_str(), &plan, error.c());
  if (status != WEFT_UNIMPLEMENTED) {
    WEFT_RETURN_IF_ERROR(error.ToStatus(status, name(), "compile_plan"));
    return plan;
  }
  Log(device_hints_log, error.ToStatus(status, name(), "compile_plan").message());
  return nullptr;
}

void PluginDevice::Release(weft_plan* plan) {
  if (plan != nullptr && entries_.api.release_plan != nullptr) {
    entries_.api.release_plan(device_, plan);
  }
}

void PluginDevice::UpdateProfile() {
  const bool recording = DeviceEvents::Get()->recording();
  if (recording == profiled_ || entries_.api.profile == nullptr) return;
  profiled_ = recording;
  entries_.api.profile(device_, recording ? 1 : 0);
}

}  // namespace weft::plugin
