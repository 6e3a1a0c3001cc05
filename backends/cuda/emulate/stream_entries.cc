// The driver's functions about streams and events.
#include <memory>
#include <utility>

#include "backends/cuda/driver/cupti_api.h"
#include "backends/cuda/emulate/activities.h"
#include "backends/cuda/emulate/entries.h"

namespace {

using namespace weft::cuda;  // NOLINT(build/namespaces): the interface has its types.
using weft::cuda::emulate::Activities;
using weft::cuda::emulate::Event;
using weft::cuda::emulate::State;
using weft::cuda::emulate::Stream;

}  // namespace

WEFT_EXPORT CuResult cuStreamCreate(CuStream* stream, unsigned) {
  WEFT_ENTER("cuStreamCreate");
  auto made = std::make_unique<Stream>();
  made->number = emulate::kFirstStream + static_cast<uint32_t>(state.calls["cuStreamCreate"]);
  *stream = reinterpret_cast<CuStream>(made.get());
  state.streams[*stream] = std::move(made);
  return kCuSuccess;
}
WEFT_SAME(cuStreamCreate, stream_create);

WEFT_EXPORT CuResult cuStreamDestroy_v2(CuStream stream) {
  State& state = State::Get();
  const std::lock_guard<std::mutex> lock(state.mutex);
  const CuResult entered = state.Enter("cuStreamDestroy_v2");
  if (entered != kCuSuccess && state.sticky == kCuSuccess) return entered;
  Stream* found = state.FindStream(stream);
  if (found == nullptr || stream == nullptr) return kCuInvalidHandle;
  state.Drain(found);
  state.streams.erase(stream);
  return state.sticky;
}
WEFT_SAME(cuStreamDestroy_v2, stream_destroy);

WEFT_EXPORT CuResult cuStreamSynchronize(CuStream stream) {
  WEFT_ENTER("cuStreamSynchronize");
  Stream* found = state.FindStream(stream);
  if (found == nullptr) return kCuInvalidHandle;
  if (found->capture != nullptr) return kCuCaptureUnsupported;
  CuptiSyncRecord record = {};
  record.start = emulate::NowNanos();
  const CuResult result = state.Drain(found);
  Activities& activities = Activities::Get();
  if (!activities.IsEnabled(kCuptiSync)) return result;
  record.kind = kCuptiSync;
  record.type = 3;  // Of a stream.
  record.end = emulate::NowNanos();
  record.correlation = state.call;
  record.context = 1;
  record.stream = found->number;
  activities.Add(&record, sizeof record);
  return result;
}
WEFT_SAME(cuStreamSynchronize, stream_synchronize);

WEFT_EXPORT CuResult cuStreamIsCapturing(CuStream stream, int* status) {
  WEFT_ENTER("cuStreamIsCapturing");
  const Stream* const found = state.FindStream(stream);
  if (found == nullptr) return kCuInvalidHandle;
  *status = found->capture != nullptr ? 1 : 0;
  return kCuSuccess;
}
WEFT_SAME(cuStreamIsCapturing, stream_is_capturing);

WEFT_EXPORT CuResult cuEventCreate(CuEvent* event, unsigned flags) {
  WEFT_ENTER("cuEventCreate");
  auto made = std::make_shared<Event>();
  made->timed = (flags & kCuEventDisableTiming) == 0;
  *event = reinterpret_cast<CuEvent>(made.get());
  state.events[*event] = std::move(made);
  return kCuSuccess;
}
WEFT_SAME(cuEventCreate, event_create);

WEFT_EXPORT CuResult cuEventDestroy_v2(CuEvent event) {
  WEFT_ENTER("cuEventDestroy_v2");
  return state.events.erase(event) == 1 ? kCuSuccess : kCuInvalidHandle;
}
WEFT_SAME(cuEventDestroy_v2, event_destroy);

WEFT_EXPORT CuResult cuEventRecord(CuEvent event, CuStream stream) {
  WEFT_ENTER("cuEventRecord");
  const auto it = state.events.find(event);
  Stream* found = state.FindStream(stream);
  if (it == state.events.end() || found == nullptr) return kCuInvalidHandle;
  found->queue.push_back({nullptr, it->second, nullptr, ++it->second->recorded});
  return kCuSuccess;
}
WEFT_SAME(cuEventRecord, event_record);

WEFT_EXPORT CuResult cuEventSynchronize(CuEvent event) {
  WEFT_ENTER("cuEventSynchronize");
  const auto it = state.events.find(event);
  if (it == state.events.end()) return kCuInvalidHandle;
  const bool reached = it->second->completed >= it->second->recorded;
  return reached ? state.sticky : state.Drain(nullptr);
}
WEFT_SAME(cuEventSynchronize, event_synchronize);

WEFT_EXPORT CuResult cuEventQuery(CuEvent event) {
  WEFT_ENTER("cuEventQuery");
  const auto it = state.events.find(event);
  if (it == state.events.end()) return kCuInvalidHandle;
  return it->second->completed >= it->second->recorded ? kCuSuccess : kCuNotReady;
}
WEFT_SAME(cuEventQuery, event_query);

WEFT_EXPORT CuResult cuEventElapsedTime(float* milliseconds, CuEvent begin, CuEvent end) {
  WEFT_ENTER("cuEventElapsedTime");
  constexpr double kNanosPerMilli = 1e6;
  const auto from = state.events.find(begin);
  const auto to = state.events.find(end);
  if (from == state.events.end() || to == state.events.end()) return kCuInvalidHandle;
  for (const auto& it : {from, to}) {
    if (!it->second->timed || it->second->recorded == 0) return kCuInvalidHandle;
    if (it->second->completed < it->second->recorded) return kCuNotReady;
  }
  *milliseconds = static_cast<float>(
      (static_cast<double>(to->second->time) - static_cast<double>(from->second->time)) /
      kNanosPerMilli);
  return kCuSuccess;
}
WEFT_SAME(cuEventElapsedTime, event_elapsed);

WEFT_EXPORT CuResult cuStreamWaitEvent(CuStream stream, CuEvent event, unsigned) {
  WEFT_ENTER("cuStreamWaitEvent");
  const auto it = state.events.find(event);
  Stream* found = state.FindStream(stream);
  if (it == state.events.end() || found == nullptr) return kCuInvalidHandle;
  found->queue.push_back({nullptr, nullptr, it->second, it->second->recorded});
  return kCuSuccess;
}
WEFT_SAME(cuStreamWaitEvent, stream_wait_event);
