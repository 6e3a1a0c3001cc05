#include "backends/cuda/trace/cupti_recorder.h"

#include <cstdlib>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "backends/cuda/trace/demangle.h"
#include "base/status_macros.h"
#include "profiler/clock.h"

namespace weft::cuda {
namespace {

using Kind = GpuActivity::Kind;

constexpr size_t kBufferBytes = size_t{4} << 20;
constexpr size_t kBufferAlignment = 8;
// Some 160 bytes each.
constexpr size_t kMaxActivities = size_t{4} << 20;

constexpr CuptiKind kKinds[] = {kCuptiKernel,      kCuptiCopy,     kCuptiFill, kCuptiDriverCall,
                                kCuptiRuntimeCall, kCuptiExternal, kCuptiSync, kCuptiOverhead};

// "cudaLaunchKernel" for "cudaLaunchKernel_v7000".
absl::string_view WithoutVersion(absl::string_view call) {
  const size_t end = call.find_last_not_of("0123456789");
  const bool versioned = end != absl::string_view::npos && end > 0 && end + 1 < call.size() &&
                         call[end] == 'v' && call[end - 1] == '_';
  return versioned ? call.substr(0, end - 1) : call;
}

// True after a copy of the record's first fields; false if the buffer ends within them.
template <typename Record>
bool Copy(const void* from, size_t left, Record* to) {
  if (left < sizeof(Record)) return false;
  std::memcpy(to, from, sizeof(Record));
  return true;
}

template <typename Record>
GpuActivity FromDevice(Kind kind, const Record& r) {
  GpuActivity a;
  a.kind = kind;
  a.begin = static_cast<int64_t>(r.start);
  a.end = static_cast<int64_t>(r.end);
  a.device = r.device;
  a.context = r.context;
  a.stream = r.stream;
  a.correlation = r.correlation;
  a.graph = r.graph;
  a.graph_node = r.graph_node;
  return a;
}

GpuActivity FromRecord(const CuptiKernelRecord& r) {
  GpuActivity a = FromDevice(Kind::kKernel, r);
  a.name = profiler::InternName(Demangled(r.name));
  for (int d = 0; d < 3; ++d) {
    a.grid[d] = r.grid[d];
    a.block[d] = r.block[d];
  }
  a.registers = r.registers;
  a.static_shared = r.static_shared;
  a.dynamic_shared = r.dynamic_shared;
  a.queued = static_cast<int64_t>(r.queued);
  return a;
}

GpuActivity FromRecord(const CuptiCopyRecord& r) {
  GpuActivity a = FromDevice(Kind::kCopy, r);
  a.bytes = static_cast<int64_t>(r.bytes);
  a.copy_kind = r.copy_kind;
  a.from_kind = r.from_kind;
  a.to_kind = r.to_kind;
  return a;
}

GpuActivity FromRecord(const CuptiFillRecord& r) {
  GpuActivity a = FromDevice(Kind::kFill, r);
  a.bytes = static_cast<int64_t>(r.bytes);
  a.to_kind = static_cast<uint8_t>(r.memory_kind);
  return a;
}

GpuActivity FromRecord(const CuptiSyncRecord& r) {
  GpuActivity a;
  a.kind = Kind::kSync;
  a.begin = static_cast<int64_t>(r.start);
  a.end = static_cast<int64_t>(r.end);
  a.context = r.context;
  // Of a whole context: no stream.
  a.stream = r.stream == std::numeric_limits<uint32_t>::max() ? 0 : r.stream;
  a.correlation = r.correlation;
  a.copy_kind = static_cast<uint8_t>(r.type);
  return a;
}

GpuActivity FromRecord(const CuptiCallRecord& r) {
  GpuActivity a;
  a.kind = r.kind == kCuptiDriverCall ? Kind::kDriverCall : Kind::kRuntimeCall;
  a.begin = static_cast<int64_t>(r.start);
  a.end = static_cast<int64_t>(r.end);
  a.thread = r.thread;
  a.correlation = r.correlation;
  a.number = r.number;
  return a;
}

const char* OverheadName(uint32_t kind) {
  switch (kind) {
    case 1:
      return "Driver Compiler";
    case 1 << 16:
      return "Buffer Flush";
    case 2 << 16:
      return "Instrumentation";
    case 3 << 16:
      return "Resource";
    case 4 << 16:
      return "Runtime Triggered Module Loading";
    case 5 << 16:
      return "Lazy Function Loading";
    case 6 << 16:
      return "Command Buffer Full";
    case 7 << 16:
      return "Activity Buffer Request";
    default:
      return "Overhead";
  }
}

GpuActivity FromRecord(const CuptiOverheadRecord& r) {
  GpuActivity a;
  a.kind = Kind::kOverhead;
  a.name = profiler::InternName(OverheadName(r.overhead_kind));
  a.begin = static_cast<int64_t>(r.start);
  a.end = static_cast<int64_t>(r.end);
  if (r.object_kind == kCuptiObjectThread) a.thread = r.object[1];
  return a;
}

}  // namespace

CuptiRecorder& CuptiRecorder::Get() {
  static CuptiRecorder& recorder = *new CuptiRecorder;
  return recorder;
}

absl::Status CuptiRecorder::ToStatus(CuptiResult result, absl::string_view call) const {
  if (result == kCuptiSuccess) return absl::OkStatus();
  const CuptiApi* const api = last_api_.load();
  const char* text = nullptr;
  if (api->result_string(result, &text) != kCuptiSuccess || text == nullptr) text = "";
  const std::string message = absl::StrCat(call, ": ", text, " (", result, ")");
  return result == kCuptiMultipleSubscribers
             ? absl::FailedPreconditionError(
                   absl::StrCat(message, "; another profiler records the process's GPUs"))
             : absl::InternalError(message);
}

CuptiRecorder::ClockPair CuptiRecorder::ReadClocks() const {
  const CuptiApi& api = *last_api_.load();
  ClockPair best;
  int64_t narrowest = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < 16; ++i) {
    uint64_t cupti = 0;
    const int64_t before = profiler::MonotonicNanos();
    api.timestamp(&cupti);
    const int64_t after = profiler::MonotonicNanos();
    if (after - before >= narrowest) continue;
    narrowest = after - before;
    best = {static_cast<int64_t>(cupti), before + (after - before) / 2};
  }
  return best;
}

absl::Status CuptiRecorder::Start(const CuptiLibrary& library) {
  if (recording()) return absl::OkStatus();
  const CuptiApi& api = library.api;
  last_api_ = &api;
  uint32_t version = 0;
  WEFT_RETURN_IF_ERROR(ToStatus(api.version(&version), "cuptiGetVersion"));
  WEFT_RETURN_IF_ERROR(
      ToStatus(api.register_callbacks(&GiveBuffer, &TakeBuffer), "cuptiActivityRegisterCallbacks"));
  // Thread ids are those of the trace's other events; without it they are others.
  api.set_thread_id_type(kCuptiSystemThreads);
  // CUPTI may hold its lock while it waits for this object's: none of its functions is called under
  // the latter.
  const ClockPair start = ReadClocks();
  {
    const absl::MutexLock lock(&mutex_);
    version_ = version;
    activities_.clear();
    causes_.clear();
    counts_.clear();
    without_time_ = beyond_limit_ = dropped_ = 0;
    start_ = start;
  }
  for (const CuptiKind kind : kKinds) {
    const absl::Status status =
        ToStatus(api.enable(kind), absl::StrCat("cuptiActivityEnable of kind ", kind));
    // Overheads and synchronizations can be missed.
    if (status.ok() || kind == kCuptiOverhead || kind == kCuptiSync) continue;
    for (const CuptiKind other : kKinds) api.disable(other);
    return status;
  }
  api_.store(&api, std::memory_order_release);
  return absl::OkStatus();
}

absl::Status CuptiRecorder::Stop(std::vector<GpuActivity>* activities) {
  activities->clear();
  const CuptiApi* const api = api_.exchange(nullptr);
  if (api == nullptr) return absl::OkStatus();
  // Buffers come back within the call.
  const absl::Status flushed = ToStatus(api->flush_all(0), "cuptiActivityFlushAll");
  for (const CuptiKind kind : kKinds) api->disable(kind);
  api->flush_all(1);
  size_t dropped = 0;
  const bool counted = api->num_dropped(nullptr, 0, &dropped) == kCuptiSuccess;
  const ClockPair stop = ReadClocks();
  const absl::MutexLock lock(&mutex_);
  if (counted) dropped_ = static_cast<int64_t>(dropped);
  const double rate = stop.cupti > start_.cupti
                          ? static_cast<double>(stop.monotonic - start_.monotonic) /
                                static_cast<double>(stop.cupti - start_.cupti)
                          : 1.0;
  const auto to_monotonic = [&](int64_t cupti) {
    const auto since = static_cast<double>(cupti - start_.cupti) * rate;
    return start_.monotonic + static_cast<int64_t>(since + (since < 0 ? -0.5 : 0.5));
  };
  activities->swap(activities_);
  for (GpuActivity& a : *activities) {
    a.begin = to_monotonic(a.begin);
    a.end = to_monotonic(a.end);
    const auto cause = causes_.find(a.correlation);
    if (a.correlation != 0 && cause != causes_.end()) a.cause = cause->second;
  }
  return flushed;
}

std::string CuptiRecorder::Report() const {
  const absl::MutexLock lock(&mutex_);
  std::string text = absl::StrCat("{\"version\": ", version_, ", \"records\": {");
  const char* comma = "";
  for (const auto& [kind, count] : counts_) {
    absl::StrAppend(&text, comma, "\"", kind, "\": ", count);
    comma = ", ";
  }
  return absl::StrCat(text, "}, \"dropped\": ", dropped_, ", \"without_time\": ", without_time_,
                      ", \"beyond_limit\": ", beyond_limit_, "}");
}

void CuptiRecorder::Push(uint64_t cause) {
  const CuptiApi* const api = api_.load(std::memory_order_acquire);
  if (api != nullptr) api->push_external(kCuptiCustomCorrelation, cause);
}

// A recording that started or stopped in between has no matching Push(); the error is harmless.
void CuptiRecorder::Pop() {
  const CuptiApi* const api = api_.load(std::memory_order_acquire);
  uint64_t last = 0;
  if (api != nullptr) api->pop_external(kCuptiCustomCorrelation, &last);
}

void CuptiRecorder::GiveBuffer(uint8_t** buffer, size_t* size, size_t* max_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(kBufferAlignment, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *max_records = 0;  // As many as fit.
}

void CuptiRecorder::TakeBuffer(CuContext, uint32_t, uint8_t* buffer, size_t, size_t valid_size) {
  CuptiRecorder& recorder = Get();
  const CuptiApi* const api = recorder.last_api_.load();
  if (api != nullptr && buffer != nullptr && valid_size > 0) {
    recorder.Read(*api, buffer, valid_size);
  }
  std::free(buffer);
}

void CuptiRecorder::Read(const CuptiApi& api, uint8_t* buffer, size_t valid_size) {
  const absl::MutexLock lock(&mutex_);
  void* record = nullptr;
  while (api.next_record(buffer, valid_size, &record) == kCuptiSuccess && record != nullptr) {
    const auto at = static_cast<size_t>(static_cast<uint8_t*>(record) - buffer);
    if (at >= valid_size) return;
    ReadRecord(api, record, valid_size - at);
  }
}

void CuptiRecorder::ReadRecord(const CuptiApi& api, const void* record, size_t left) {
  uint32_t kind = 0;
  if (!Copy(record, left, &kind)) return;
  ++counts_[kind];
  const auto keep = [&](auto fields) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (Copy(record, left, &fields)) Keep(FromRecord(fields));
  };
  switch (kind) {
    case kCuptiKernel:
      return keep(CuptiKernelRecord());
    case kCuptiCopy:
      return keep(CuptiCopyRecord());
    case kCuptiFill:
      return keep(CuptiFillRecord());
    case kCuptiSync:
      return keep(CuptiSyncRecord());
    case kCuptiOverhead:
      return keep(CuptiOverheadRecord());
    case kCuptiDriverCall:
    case kCuptiRuntimeCall: {
      CuptiCallRecord call;
      if (!Copy(record, left, &call)) return;
      GpuActivity activity = FromRecord(call);
      const int domain = kind == kCuptiDriverCall ? kCuptiDriverDomain : kCuptiRuntimeDomain;
      activity.name = NameOfCall(api, domain, call.number);
      return Keep(activity);
    }
    case kCuptiExternal: {
      CuptiExternalRecord external;
      if (Copy(record, left, &external) && external.external_kind == kCuptiCustomCorrelation) {
        causes_[external.correlation] = external.external;
      }
      return;
    }
    default:
      return;
  }
}

void CuptiRecorder::Keep(GpuActivity activity) {
  // The library had no memory for its times.
  if (activity.begin <= 0 || activity.end < activity.begin) {
    ++without_time_;
  } else if (activities_.size() >= kMaxActivities) {
    ++beyond_limit_;
  } else {
    activities_.push_back(activity);
  }
}

profiler::NameId CuptiRecorder::NameOfCall(const CuptiApi& api, int domain, uint32_t number) {
  const auto [known, is_new] = call_names_.try_emplace({domain, number}, 0);
  if (is_new) {
    const char* name = nullptr;
    if (api.call_name(domain, number, &name) != kCuptiSuccess || name == nullptr) name = "call";
    known->second = profiler::InternName(WithoutVersion(name));
  }
  return known->second;
}

}  // namespace weft::cuda
