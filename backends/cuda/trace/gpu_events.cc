#include "backends/cuda/trace/gpu_events.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "profiler/activity.h"
#include "profiler/description.h"
#include "profiler/event.h"
#include "profiler/names.h"
#include "profiler/trace.h"

namespace weft::cuda {
namespace {

using Kind = GpuActivity::Kind;
using profiler::Activity;

// The row of a stream's synchronizations lies beside that of its work.
constexpr int64_t kSyncRow = int64_t{1} << 32;

bool IsCall(Kind kind) { return kind == Kind::kDriverCall || kind == Kind::kRuntimeCall; }

// Queries, and what every call does first.
bool IsQuiet(absl::string_view call) {
  constexpr absl::string_view kQuiet[] = {"cuCtxGet",
                                          "cuCtxPopCurrent",
                                          "cuCtxPushCurrent",
                                          "cuCtxSetCurrent",
                                          "cuDeviceGet",
                                          "cuDevicePrimaryCtxGetState",
                                          "cuDriverGetVersion",
                                          "cuEventElapsedTime",
                                          "cuFuncGet",
                                          "cuGetError",
                                          "cuGetProcAddress",
                                          "cuInit",
                                          "cuKernelGet",
                                          "cuMemGetInfo",
                                          "cuModuleGetFunction",
                                          "cuOccupancy",
                                          "cuPointerGet",
                                          "cuStreamGet",
                                          "cuStreamIsCapturing",
                                          "cudaDeviceGet",
                                          "cudaFuncGet",
                                          "cudaGet",
                                          "cudaOccupancy",
                                          "cudaPeekAtLastError",
                                          "cudaStreamGet",
                                          "cudaStreamIsCapturing"};
  // Prefixes, as of cuDeviceGetAttribute.
  return std::any_of(std::begin(kQuiet), std::end(kQuiet),
                     [&](absl::string_view quiet) { return absl::StartsWith(call, quiet); });
}

Activity ActivityOf(Kind kind) {
  switch (kind) {
    case Kind::kKernel:
      return Activity::kKernel;
    case Kind::kCopy:
      return Activity::kDeviceCopy;
    case Kind::kFill:
      return Activity::kDeviceFill;
    case Kind::kSync:
      return Activity::kDeviceSync;
    case Kind::kRuntimeCall:
      return Activity::kRuntimeCall;
    case Kind::kDriverCall:
      return Activity::kDriverCall;
    case Kind::kOverhead:
      return Activity::kOverhead;
  }
  return Activity::kOverhead;
}

// Kineto's words for CUPTI's numbers.
absl::string_view CopyName(uint8_t kind) {
  constexpr absl::string_view kNames[] = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                          "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP"};
  return kind < std::size(kNames) ? kNames[kind] : kNames[0];
}

absl::string_view MemoryName(uint8_t kind) {
  constexpr absl::string_view kNames[] = {"Unknown", "Pageable", "Pinned",        "Device",
                                          "Array",   "Managed",  "Device Static", "Managed Static"};
  return kind < std::size(kNames) ? kNames[kind] : kNames[0];
}

absl::string_view SyncName(uint8_t type) {
  constexpr absl::string_view kNames[] = {"Unknown", "Event Sync", "Stream Wait Event",
                                          "Stream Sync", "Context Sync"};
  return type < std::size(kNames) ? kNames[type] : kNames[0];
}

profiler::NameId NameOf(const GpuActivity& a) {
  switch (a.kind) {
    case Kind::kCopy:
      return profiler::InternName(absl::StrCat("Memcpy ", CopyName(a.copy_kind), " (",
                                               MemoryName(a.from_kind), " -> ",
                                               MemoryName(a.to_kind), ")"));
    case Kind::kFill:
      return profiler::InternName(absl::StrCat("Memset (", MemoryName(a.to_kind), ")"));
    case Kind::kSync:
      return profiler::InternName(SyncName(a.copy_kind));
    default:
      return a.name;
  }
}

std::string Quoted(absl::string_view text) { return absl::StrCat("\"", text, "\""); }

class EventMaker {
 public:
  EventMaker(const std::vector<DeviceLimits>& devices, const GpuRecording& recording,
             profiler::SourceEvents* events)
      : recording_(recording), events_(*events) {
    for (const DeviceLimits& limits : devices) devices_[limits.ordinal] = &limits;
  }

  void Add(const GpuActivity& a) {
    profiler::Event event;
    event.activity = ActivityOf(a.kind);
    event.name = NameOf(a);
    event.time = a.begin;
    event.value = a.end - a.begin;
    event.id = a.correlation;
    if (a.cause != 0) event.total = static_cast<int64_t>(a.cause);
    event.description = profiler::InternDescription(DescriptionOf(a));
    event.track = TrackOf(a);
    events_.Add(event);
  }

  void AddFlow(const GpuActivity& a, Activity end) {
    static const profiler::NameId name = profiler::InternName("ac2g");
    profiler::Event event;
    event.activity = end;
    event.name = name;
    event.time = a.begin;
    event.id = a.correlation;
    event.track = TrackOf(a);
    events_.Add(event);
  }

 private:
  using Facts = std::vector<std::pair<std::string, std::string>>;

  profiler::Description DescriptionOf(const GpuActivity& a) const {
    profiler::Description d;
    const auto add = [&](const char* key, const auto& value) {
      d.facts.emplace_back(key, absl::StrCat(value));
    };
    if (IsCall(a.kind)) {
      add("cbid", a.number);
      return d;
    }
    if (a.kind == Kind::kOverhead) return d;
    if (a.kind == Kind::kSync) {
      add("cuda_sync_kind", Quoted(SyncName(a.copy_kind)));
    } else if (a.kind == Kind::kKernel) {
      add("queued", a.queued);
    }
    add("device", a.device);
    add("context", a.context);
    add("stream", a.stream);
    // A library's call that is timed as a whole has no launch.
    if (a.kind == Kind::kKernel && a.block[0] > 0) AddKernelFacts(a, &d.facts);
    if (a.kind == Kind::kCopy || a.kind == Kind::kFill) d.bytes = a.bytes;
    if (a.graph != 0) {
      add("graph id", a.graph);
      add("graph node id", a.graph_node);
    }
    if (recording_.by_events) add("clock", Quoted("event"));
    if (recording_.emulated) add("emulated", 1);
    return d;
  }

  void AddKernelFacts(const GpuActivity& a, Facts* facts) const {
    const auto add = [&](const char* key, const auto& value) {
      facts->emplace_back(key, absl::StrCat(value));
    };
    const auto list = [](const std::array<int32_t, 3>& sizes) {
      return absl::StrCat("[", absl::StrJoin(sizes, ", "), "]");
    };
    const int64_t blocks = int64_t{a.grid[0]} * a.grid[1] * a.grid[2];
    const int64_t threads = int64_t{a.block[0]} * a.block[1] * a.block[2];
    add("registers per thread", a.registers);
    add("shared memory", a.static_shared + a.dynamic_shared);
    const auto device = devices_.find(a.device);
    if (device != devices_.end() && device->second->multiprocessors > 0) {
      const DeviceLimits& limits = *device->second;
      const double each = static_cast<double>(blocks) / limits.multiprocessors;
      add("blocks per SM", absl::StrFormat("%.6f", each));
      add("warps per SM",
          absl::StrFormat("%.6f", each * static_cast<double>(threads) / kWarpThreads));
    }
    add("grid", list(a.grid));
    add("block", list(a.block));
    if (device != devices_.end()) AddOccupancy(a, *device->second, blocks, threads, facts);
  }

  static void AddOccupancy(const GpuActivity& a, const DeviceLimits& limits, int64_t blocks,
                           int64_t threads, Facts* facts) {
    const Occupancy o =
        OccupancyOf(limits, {threads, a.registers, int64_t{a.static_shared} + a.dynamic_shared});
    const double resident =
        std::min(static_cast<double>(o.Blocks()),
                 static_cast<double>(blocks) / std::max(limits.multiprocessors, 1));
    const double share = ShareOfThreads(limits, resident, threads);
    facts->emplace_back("est. achieved occupancy %",
                        absl::StrCat(static_cast<int64_t>(share * 100 + 0.5)));
    facts->emplace_back(
        "occupancy",
        absl::StrCat("{\"activeBlocksPerMultiprocessor\": ", o.Blocks(), ", \"blockLimitRegs\": ",
                     o.by_registers, ", \"blockLimitSharedMem\": ", o.by_shared,
                     ", \"blockLimitWarps\": ", o.by_warps, ", \"blockLimitBlocks\": ", o.by_blocks,
                     ", \"allocatedRegistersPerBlock\": ", o.registers_per_block,
                     ", \"allocatedSharedMemPerBlock\": ", o.shared_per_block, "}"));
  }

  uint32_t TrackOf(const GpuActivity& a) {
    profiler::Track track;
    if (IsCall(a.kind) || a.kind == Kind::kOverhead) {
      // Kineto's process of overheads.
      track.pid = a.kind == Kind::kOverhead ? -1 : getpid();
      track.tid = a.thread;
      track.name = absl::StrCat("thread ", a.thread);
    } else {
      const bool sync = a.kind == Kind::kSync;
      track.pid = a.device;
      track.tid = a.stream + (sync ? kSyncRow : 0);
      track.name = absl::StrCat("stream ", a.stream, sync ? " (sync)" : "");
      track.is_device = true;
    }
    const auto [known, is_new] = tracks_.try_emplace(std::make_pair(track.pid, track.tid), 0);
    if (is_new) known->second = events_.AddTrack(std::move(track));
    return known->second;
  }

  const GpuRecording recording_;
  profiler::SourceEvents& events_;
  absl::flat_hash_map<uint32_t, const DeviceLimits*> devices_;
  absl::flat_hash_map<std::pair<int64_t, int64_t>, uint32_t> tracks_;
};

}  // namespace

void RelateActivities(std::vector<GpuActivity>* activities) {
  activities->erase(std::remove_if(activities->begin(), activities->end(),
                                   [](const GpuActivity& a) {
                                     return IsCall(a.kind) && IsQuiet(profiler::NameOf(a.name));
                                   }),
                    activities->end());
  absl::flat_hash_map<uint64_t, uint64_t> causes;
  absl::flat_hash_map<uint32_t, uint32_t> devices;  // By context.
  for (const GpuActivity& a : *activities) {
    if (IsCall(a.kind) && a.cause != 0) causes[a.correlation] = a.cause;
    if (IsWork(a.kind)) devices[a.context] = a.device;
  }
  for (GpuActivity& a : *activities) {
    // CUPTI tells the context alone.
    if (a.kind == Kind::kSync && devices.contains(a.context)) a.device = devices[a.context];
    if (a.cause != 0 || a.correlation == 0) continue;
    const auto known = causes.find(a.correlation);
    if (known != causes.end()) a.cause = known->second;
  }
  std::stable_sort(activities->begin(), activities->end(),
                   [](const GpuActivity& a, const GpuActivity& b) { return a.begin < b.begin; });
}

void AddToTrace(const std::vector<DeviceLimits>& devices,
                const std::vector<GpuActivity>& activities, const GpuRecording& recording,
                profiler::SourceEvents* events) {
  for (const DeviceLimits& limits : devices) {
    events->AddDevice(
        {limits.ordinal, absl::StrCat("GPU ", limits.ordinal), PropertiesJson(limits)});
  }
  // A call of the runtime and the driver's within it have one correlation id; a launch of a graph
  // has one for all of its nodes. The arrow leads from the first call to the first work.
  struct Arrow {
    bool has_call = false, has_work = false, started = false, finished = false;
  };
  absl::flat_hash_map<uint64_t, Arrow> arrows;
  for (const GpuActivity& a : activities) {
    if (IsCall(a.kind)) arrows[a.correlation].has_call = true;
    if (IsWork(a.kind)) arrows[a.correlation].has_work = true;
  }
  EventMaker maker(devices, recording, events);
  for (const GpuActivity& a : activities) {
    maker.Add(a);
    if (!IsCall(a.kind) && !IsWork(a.kind)) continue;
    Arrow& arrow = arrows[a.correlation];
    if (!arrow.has_call || !arrow.has_work) continue;
    bool& drawn = IsCall(a.kind) ? arrow.started : arrow.finished;
    if (std::exchange(drawn, true)) continue;
    maker.AddFlow(a, IsCall(a.kind) ? Activity::kFlowStart : Activity::kFlowFinish);
  }
}

}  // namespace weft::cuda
