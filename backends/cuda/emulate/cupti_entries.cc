// CUPTI's functions, over what the emulation records.
#include <cstring>
#include <mutex>
#include <type_traits>

#include "backends/cuda/driver/cupti_api.h"
#include "backends/cuda/emulate/activities.h"
#include "backends/cuda/emulate/entries.h"

namespace {

using namespace weft::cuda;  // NOLINT(build/namespaces): the interface has its types.
using weft::cuda::emulate::Activities;

// The function has the declared type.
#define WEFT_SAME_CUPTI(function, member) \
  static_assert(std::is_same_v<decltype(CuptiApi::member), decltype(&function)>)

constexpr uint32_t kVersion = 130001;

}  // namespace

WEFT_EXPORT CuptiResult cuptiGetVersion(uint32_t* version) {
  *version = kVersion;
  return kCuptiSuccess;
}
WEFT_SAME_CUPTI(cuptiGetVersion, version);

WEFT_EXPORT CuptiResult cuptiGetResultString(CuptiResult result, const char** text) {
  *text = result == kCuptiSuccess ? "CUPTI_SUCCESS" : "CUPTI_ERROR";
  return kCuptiSuccess;
}
WEFT_SAME_CUPTI(cuptiGetResultString, result_string);

WEFT_EXPORT CuptiResult cuptiGetTimestamp(uint64_t* nanoseconds) {
  *nanoseconds = emulate::NowNanos();
  return kCuptiSuccess;
}
WEFT_SAME_CUPTI(cuptiGetTimestamp, timestamp);

WEFT_EXPORT CuptiResult cuptiActivityRegisterCallbacks(CuptiBufferRequested requested,
                                                       CuptiBufferCompleted completed) {
  Activities::Get().SetCallbacks(requested, completed);
  return kCuptiSuccess;
}
WEFT_SAME_CUPTI(cuptiActivityRegisterCallbacks, register_callbacks);

WEFT_EXPORT CuptiResult cuptiActivityEnable(CuptiKind kind) {
  emulate::State& state = emulate::State::Get();
  const std::lock_guard<std::mutex> lock(state.mutex);
  const CuptiResult result = state.Enter("cuptiActivityEnable");
  if (result != kCuSuccess) return result;
  Activities::Get().SetEnabled(kind, true);
  return kCuptiSuccess;
}
WEFT_SAME_CUPTI(cuptiActivityEnable, enable);

WEFT_EXPORT CuptiResult cuptiActivityDisable(CuptiKind kind) {
  Activities::Get().SetEnabled(kind, false);
  return kCuptiSuccess;
}
WEFT_SAME_CUPTI(cuptiActivityDisable, disable);

WEFT_EXPORT CuptiResult cuptiActivityFlushAll(uint32_t) {
  Activities::Get().Flush();
  return kCuptiSuccess;
}
WEFT_SAME_CUPTI(cuptiActivityFlushAll, flush_all);

WEFT_EXPORT CuptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid_size,
                                                   void** record) {
  uint8_t* next = buffer;
  if (*record != nullptr) {
    uint64_t size = 0;
    std::memcpy(&size, static_cast<uint8_t*>(*record) - sizeof size, sizeof size);
    next = static_cast<uint8_t*>(*record) + size;
  }
  if (next + sizeof(uint64_t) >= buffer + valid_size) return kCuptiMaxLimitReached;
  *record = next + sizeof(uint64_t);
  return kCuptiSuccess;
}
WEFT_SAME_CUPTI(cuptiActivityGetNextRecord, next_record);

WEFT_EXPORT CuptiResult cuptiActivityGetNumDroppedRecords(CuContext, uint32_t, size_t* dropped) {
  *dropped = 0;
  return kCuptiSuccess;
}
WEFT_SAME_CUPTI(cuptiActivityGetNumDroppedRecords, num_dropped);

WEFT_EXPORT CuptiResult cuptiActivityPushExternalCorrelationId(uint32_t, uint64_t id) {
  Activities::Get().Push(id);
  return kCuptiSuccess;
}
WEFT_SAME_CUPTI(cuptiActivityPushExternalCorrelationId, push_external);

WEFT_EXPORT CuptiResult cuptiActivityPopExternalCorrelationId(uint32_t, uint64_t* last_id) {
  return Activities::Get().Pop(last_id) ? kCuptiSuccess : kCuptiQueueEmpty;
}
WEFT_SAME_CUPTI(cuptiActivityPopExternalCorrelationId, pop_external);

WEFT_EXPORT CuptiResult cuptiSetThreadIdType(int) { return kCuptiSuccess; }
WEFT_SAME_CUPTI(cuptiSetThreadIdType, set_thread_id_type);

WEFT_EXPORT CuptiResult cuptiGetCallbackName(int, uint32_t number, const char** name) {
  *name = Activities::Get().NameOf(number);
  return *name == nullptr ? kCuptiInvalidParameter : kCuptiSuccess;
}
WEFT_SAME_CUPTI(cuptiGetCallbackName, call_name);
