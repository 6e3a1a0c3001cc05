// What the emulated CUPTI records: calls of the driver, and the work that they submit. Times are
// those of the host while the emulation runs: they grow, and say nothing about a GPU.
#ifndef WEFT_BACKENDS_CUDA_EMULATE_ACTIVITIES_H_
#define WEFT_BACKENDS_CUDA_EMULATE_ACTIVITIES_H_

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "backends/cuda/driver/cupti_api.h"

namespace weft::cuda::emulate {

// The clock of records and events, in nanoseconds. Not that of any caller.
uint64_t NowNanos();

// Registers of a thread, in records and attributes; the emulation has none.
inline constexpr int kRegisters = 32;

// CUPTI's numbers of kinds of copies and memory.
inline constexpr uint8_t kToDevice = 1;
inline constexpr uint8_t kToHost = 2;
inline constexpr uint8_t kWithinDevice = 8;
inline constexpr uint8_t kPageable = 1;
inline constexpr uint8_t kPinned = 2;
inline constexpr uint8_t kOnDevice = 3;

// The bytes of a CuptiKernelRecord, CuptiCopyRecord or CuptiFillRecord, without the fields below.
std::string KernelRecord(const std::string& name, const std::array<unsigned, 3>& grid,
                         const std::array<unsigned, 3>& block, unsigned dynamic_bytes);
std::string CopyRecord(uint8_t kind, uint8_t from, uint8_t to, size_t bytes);
std::string FillRecord(unsigned char value, size_t bytes);
// Sets fields of such a record; "" stays "".
void SetSubmission(std::string* record, uint32_t stream, uint32_t correlation);
void SetTimes(std::string* record, uint64_t begin, uint64_t end);

// Thread-safe; it has a mutex of its own, below that of the state.
class Activities {
 public:
  static Activities& Get();

  bool IsEnabled(uint32_t kind);
  void SetEnabled(uint32_t kind, bool enabled);
  void SetCallbacks(CuptiBufferRequested requested, CuptiBufferCompleted completed);

  // A call of the driver begins; its correlation id is that of the work that it submits.
  uint32_t BeginCall(const char* name);
  void EndCall(uint32_t correlation);
  // The name of a function by its number in records; null: unknown.
  const char* NameOf(uint32_t number);

  void Push(uint64_t external);
  bool Pop(uint64_t* last);

  // Adds the record of a piece of work, if its kind is enabled; "": none.
  void AddWork(const std::string& record);
  // Appends a record.
  void Add(const void* record, size_t bytes);
  // Hands the records out in buffers of the user.
  void Flush();

 private:
  struct Call {
    uint32_t number = 0;
    uint64_t begin = 0;
  };

  std::mutex mutex_;
  std::map<uint32_t, bool> enabled_;
  CuptiBufferRequested requested_ = nullptr;
  CuptiBufferCompleted completed_ = nullptr;
  uint32_t next_correlation_ = 0;
  std::map<uint32_t, Call> calls_;           // That have not ended, by correlation id.
  std::map<std::string, uint32_t> numbers_;  // Of functions.
  std::vector<std::string> records_;
};

// A call of the driver, from here to the end of the block. Its work has its correlation id.
class CallScope {
 public:
  CallScope(const char* name, uint32_t* current);
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

 private:
  uint32_t* const current_;
};

}  // namespace weft::cuda::emulate

#endif  // WEFT_BACKENDS_CUDA_EMULATE_ACTIVITIES_H_
