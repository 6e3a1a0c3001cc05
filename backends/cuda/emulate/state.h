// The emulated device: memory, streams, errors, counters. One mutex protects all of it.
#ifndef WEFT_BACKENDS_CUDA_EMULATE_STATE_H_
#define WEFT_BACKENDS_CUDA_EMULATE_STATE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "backends/cuda/driver/driver_api.h"
#include "backends/cuda/emulate/shadow.h"

namespace weft::cuda::emulate {

// The number of the null stream in records, as CUPTI's.
inline constexpr uint32_t kFirstStream = 7;

// Fills memory that nothing was written to: NaN as a float.
inline constexpr unsigned char kPoison = 0xff;
// Most bytes of dynamic shared memory that a function can be set to, as on sm_80.
inline constexpr int kMaxOptInBytes = 163 << 10;

// Device memory. Its addresses have a bit that no host address has, so that the host cannot follow
// them; new and freed memory is filled with NaN.
class Memory {
 public:
  struct Piece {
    char* host = nullptr;
    size_t bytes = 0;
    std::unique_ptr<Shadow> shadow;
    uint64_t number = 0;  // No other piece has it.
  };

  // 0: more than the device has.
  CuAddress Allocate(size_t bytes);
  // False: the address is not the begin of a piece.
  bool Free(CuAddress address);
  // The same, but the bytes stay until the returned handle is gone; null: no such piece.
  std::shared_ptr<void> Retire(CuAddress address);
  // The piece around the address; null: none.
  const Piece* Find(CuAddress address) const;
  // The host memory behind the range; null if a piece does not contain it.
  char* Range(CuAddress address, size_t bytes) const;
  static char* Reveal(CuAddress address);
  static CuAddress Hide(const char* host);

  int64_t live_bytes() const { return live_bytes_; }
  static constexpr size_t kTotalBytes = size_t{16} << 30;

 private:
  std::map<CuAddress, Piece> pieces_;  // By their begin.
  int64_t live_bytes_ = 0;
  uint64_t made_ = 0;  // Pieces so far.
};

struct Event {
  uint64_t recorded = 0;   // Records submitted.
  uint64_t completed = 0;  // Records that streams have reached.
  uint64_t time = 0;       // When the last one was reached.
  bool timed = true;
};

// Memory that work accesses.
struct Access {
  const char* begin = nullptr;
  const char* end = nullptr;
  bool written = false;
};

// Work of a stream or of a node of a graph.
struct Task {
  std::string name;
  std::function<CuResult()> run;
  std::vector<Access> accesses;
  std::string activity;  // CUPTI's record of it, without stream and times; empty: none.
};

// Work of one stream, which runs in its order.
struct Stream {
  struct Work {
    std::function<CuResult()> run;         // Empty for events.
    std::shared_ptr<Event> record, await;  // One of them, or null.
    uint64_t number = 0;                   // Of the record.
    std::string activity;                  // CUPTI's record of it; empty: none.
  };
  uint32_t number = 0;  // In records.
  std::deque<Work> queue;
  CuGraph capture = nullptr;  // Where work goes that is submitted; null: to the queue.
};

class State {
 public:
  static State& Get();

  std::mutex mutex;
  Memory memory;
  bool initialized = false;
  bool has_context = false;  // The primary context is retained.
  std::map<CuStream, std::unique_ptr<Stream>> streams;
  std::map<CuEvent, std::shared_ptr<Event>> events;
  std::map<std::string, int64_t> calls;
  int64_t launches = 0;
  uint32_t call = 0;            // Correlation id of the present call; 0: it is not recorded.
  int64_t library_calls = 0;    // Matmuls of cuBLASLt.
  int64_t library_objects = 0;  // Handles and descriptors of it that exist.

  // The compute capability of the device.
  int compute_major = 8;
  int compute_minor = 0;

  // Errors of kernels: the result of every later call, and the first one in words.
  CuResult sticky = kCuSuccess;
  std::string report;
  std::string shown;  // The last report that was handed out.

  // The injected error.
  std::string fail_name;
  unsigned fail_count = 0;
  CuResult fail_result = kCuSuccess;

  // Ranges for the next launch.
  struct Operand {
    char* begin = nullptr;
    size_t bytes = 0;
  };
  std::vector<Operand> operands;
  // Memory whose content is lost when the next work begins.
  std::vector<Operand> forgets;
  int64_t graphs = 0;  // That exist, of both kinds.
  int64_t pools = 0;
  std::map<const char*, size_t> locked;  // Page-locked memory of the host, by begin.
  int64_t locked_bytes = 0;

  bool IsLocked(const void* address) const;

  // Counts the call; the result that it must return at once, or success.
  CuResult Enter(const char* name);
  // Null: there is no such stream. The null stream exists from the beginning.
  Stream* FindStream(CuStream stream);
  // Adds work to a stream, or to the graph that the stream's work is captured in.
  CuResult Submit(CuStream to, Task task);
  // True if the work of some stream is captured.
  bool Captures() const;
  // Adds the loss of the content of `forgets` to the task.
  void TakeForgets(Task* task);
  // Runs work until the stream is empty; null: all streams. Other streams advance, too, in an order
  // that the seed determines. Work behind an error is dropped.
  CuResult Drain(Stream* stream);
  void Seed(unsigned seed) { random_.seed(seed); }
  size_t Random(size_t below) { return random_() % below; }

 private:
  State();
  bool CanRun(const Stream& stream) const;
  void RunOne(Stream* stream);

  std::mt19937 random_;
};

}  // namespace weft::cuda::emulate

#endif  // WEFT_BACKENDS_CUDA_EMULATE_STATE_H_
