// Parallel loops: the one place where code of the CPU gets threads. They are OpenMP's, or those of
// the embedding program's loop (host_loop.h). Members and their shares are the same in both cases,
// and so are results.
//
// Bodies do not wait for each other, because a loop of the host may run them one after another;
// those of RunMeetingTeam may.
#ifndef WEFT_BACKENDS_CPU_THREADS_PARALLEL_H_
#define WEFT_BACKENDS_CPU_THREADS_PARALLEL_H_

#include <omp.h>

#include <atomic>
#include <cstdint>

#include "backends/cpu/threads/host_loop.h"
#include "backends/cpu/threads/thread_scope.h"

namespace weft::cpu {

// One of those that share the work of a loop.
struct TeamMember {
  int64_t index = 0;
  int64_t count = 1;

  // The member's share of n items is [Begin(n), End(n)).
  int64_t Begin(int64_t n) const { return n * index / count; }
  int64_t End(int64_t n) const { return n * (index + 1) / count; }
  // Waits until all members have come here. Only in RunMeetingTeam.
  void Meet() const {
    if (count > 1) {
#pragma omp barrier
    }
  }
};

// Calls body(member) for each member of a team of `threads`, or of fewer.
template <typename Body>
void RunTeam(int64_t threads, const Body& body) {
  if (threads <= 1) {
    body(TeamMember());
    return;
  }
  struct Call {
    const Body* body;
    int64_t count;
  } call = {&body, threads};
  const auto run = [](void* data, int64_t index) {
    const Call& call = *static_cast<const Call*>(data);
    (*call.body)(TeamMember{index, call.count});
  };
  if (RunHostLoop(threads, run, &call)) return;
#pragma omp parallel num_threads(static_cast <int>(threads))
  body(TeamMember{omp_get_thread_num(), omp_get_num_threads()});
}

// The same for members that meet: with a loop of the host, one member does all.
template <typename Body>
void RunMeetingTeam(int64_t threads, const Body& body) {
  if (threads <= 1 || HasHostLoop()) {
    body(TeamMember());
    return;
  }
#pragma omp parallel num_threads(static_cast <int>(threads))
  body(TeamMember{omp_get_thread_num(), omp_get_num_threads()});
}

// Calls body(item, member) for each of the items; a member has neighbouring ones.
template <typename Body>
void ForEach(int64_t threads, int64_t items, const Body& body) {
  RunTeam(threads, [&](const TeamMember& member) {
    const int64_t end = member.End(items);
    for (int64_t item = member.Begin(items); item < end; ++item) body(item, member);
  });
}

// The same for items that take different times: a member that is free takes the next one.
template <typename Body>
void ForEachNext(int64_t threads, int64_t items, const Body& body) {
  std::atomic<int64_t> next{0};
  RunTeam(threads, [&](const TeamMember& member) {
    int64_t item = 0;
    while ((item = next.fetch_add(1, std::memory_order_relaxed)) < items) body(item, member);
  });
}

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_THREADS_PARALLEL_H_
