// Times the work of one stream by events of the driver around each piece of it: without CUPTI.
//
// An event takes the GPU about a microsecond, and times have its resolution of half of one. The
// place on the host's axis comes from one event for each batch, for which the host waits; work
// never begins before its call.
#ifndef WEFT_BACKENDS_CUDA_TRACE_EVENT_TIMER_H_
#define WEFT_BACKENDS_CUDA_TRACE_EVENT_TIMER_H_

#include <cstdint>
#include <vector>

#include "backends/cuda/driver/libraries.h"
#include "backends/cuda/trace/gpu_activity.h"

namespace weft::cuda {

// Calls are made from one thread at a time, with the device's context current.
class EventTimer {
 public:
  // The library and the stream outlive it.
  EventTimer(const Libraries& libraries, CuStream stream)
      : driver_(libraries.driver), stream_(stream) {}
  ~EventTimer();
  EventTimer(const EventTimer&) = delete;
  EventTimer& operator=(const EventTimer&) = delete;

  // Called before and after the work is submitted. `call`: the driver's function.
  void Begin(GpuActivity work, profiler::NameId call);
  void End();
  // Pieces that Take() has not returned yet.
  size_t num_pending() const { return pieces_.size(); }
  // Waits for the work, and appends it and its calls.
  void Take(std::vector<GpuActivity>* activities);
  // Pieces that could not be timed.
  int64_t num_lost() const { return lost_; }

 private:
  struct Piece {
    GpuActivity work;
    GpuActivity call;
    CuEvent begin = nullptr;
    CuEvent end = nullptr;
  };

  // Null if there is none.
  CuEvent NewEvent();
  // Records the event that the times of a batch are relative to.
  void Anchor();

  const DriverApi& driver_;
  const CuStream stream_;
  std::vector<CuEvent> free_;
  CuEvent anchor_ = nullptr;
  int64_t anchor_ns_ = 0;  // On the host.
  std::vector<Piece> pieces_;
  bool open_ = false;  // Between Begin() and End().
  int64_t lost_ = 0;
};

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_TRACE_EVENT_TIMER_H_
