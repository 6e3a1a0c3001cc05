#include "backends/cuda/trace/event_timer.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "profiler/clock.h"
#include "profiler/record.h"

namespace weft::cuda {
namespace {

// The default flags: with a time.
constexpr unsigned kTimedEvent = 0;

}  // namespace

EventTimer::~EventTimer() {
  for (const Piece& piece : pieces_) {
    for (const CuEvent event : {piece.begin, piece.end}) {
      if (event != nullptr) free_.push_back(event);
    }
  }
  if (anchor_ != nullptr) free_.push_back(anchor_);
  for (const CuEvent event : free_) driver_.event_destroy(event);
}

CuEvent EventTimer::NewEvent() {
  if (!free_.empty()) {
    const CuEvent event = free_.back();
    free_.pop_back();
    return event;
  }
  CuEvent event = nullptr;
  return driver_.event_create(&event, kTimedEvent) == kCuSuccess ? event : nullptr;
}

void EventTimer::Anchor() {
  if (anchor_ == nullptr) anchor_ = NewEvent();
  if (anchor_ == nullptr) return;
  // The second one finds the stream idle.
  for (int i = 0; i < 2; ++i) {
    const int64_t before = profiler::MonotonicNanos();
    driver_.event_record(anchor_, stream_);
    driver_.event_synchronize(anchor_);
    anchor_ns_ = before + (profiler::MonotonicNanos() - before) / 2;
  }
}

void EventTimer::Begin(GpuActivity work, profiler::NameId call) {
  if (pieces_.empty()) Anchor();
  Piece piece;
  piece.begin = NewEvent();
  piece.end = NewEvent();
  work.correlation = profiler::NewFlowId();
  piece.work = work;
  piece.call.kind = GpuActivity::Kind::kDriverCall;
  piece.call.name = call;
  piece.call.correlation = work.correlation;
  piece.call.cause = work.cause;
  piece.call.thread = static_cast<uint32_t>(syscall(SYS_gettid));
  if (piece.begin != nullptr) driver_.event_record(piece.begin, stream_);
  piece.call.begin = profiler::MonotonicNanos();
  pieces_.push_back(piece);
  open_ = true;
}

void EventTimer::End() {
  if (!open_) return;
  open_ = false;
  Piece& piece = pieces_.back();
  piece.call.end = profiler::MonotonicNanos();
  if (piece.end != nullptr) driver_.event_record(piece.end, stream_);
}

void EventTimer::Take(std::vector<GpuActivity>* activities) {
  constexpr double kNanosPerMilli = 1e6;
  std::vector<GpuActivity> works;
  int64_t early = 0;  // The most that work seems to begin before its call.
  for (const Piece& piece : pieces_) {
    float begin = 0;
    float end = 0;
    const bool timed = anchor_ != nullptr && piece.begin != nullptr && piece.end != nullptr &&
                       driver_.event_synchronize(piece.end) == kCuSuccess &&
                       driver_.event_elapsed(&begin, anchor_, piece.begin) == kCuSuccess &&
                       driver_.event_elapsed(&end, piece.begin, piece.end) == kCuSuccess;
    activities->push_back(piece.call);
    if (!timed) {
      ++lost_;
      continue;
    }
    GpuActivity work = piece.work;
    work.begin = anchor_ns_ + std::llround(begin * kNanosPerMilli);
    work.end = work.begin + std::llround(end * kNanosPerMilli);
    early = std::max(early, piece.call.begin - work.begin);
    works.push_back(work);
  }
  // A float of milliseconds is rounded, so that neighbours may overlap by a little.
  int64_t last = 0;
  for (GpuActivity& work : works) {
    work.begin = std::max(work.begin + early, last);
    work.end = std::max(work.end + early, work.begin);
    last = work.end;
    activities->push_back(work);
  }
  for (const Piece& piece : pieces_) {
    for (const CuEvent event : {piece.begin, piece.end}) {
      if (event != nullptr) free_.push_back(event);
    }
  }
  pieces_.clear();
  open_ = false;
}

}  // namespace weft::cuda
