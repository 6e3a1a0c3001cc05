// Parallel loops: the one place where code of the CPU gets threads. They are OpenMP's, or those of
// the embedding program's loop (host_loop.h). Members and their shares are the same in both cases,
// and so are results.
//
// Bodies do not wait for each other, because a loop of the host may run them one after another;
// those of RunMeetingTeam may.
#ifndef WEFT_BACKENDS_CPU_THREADS_PARALLEL_H_
#define WEFT_BACKENDS_CPU_THREADS_PARALLEL_H_

#include <atomic>
#include <cstdint>

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
  void Meet() const;
};

// A body, as a function of the data that it has.
struct TeamBody {
  void (*run)(const void* data, const TeamMember& member);
  const void* data;
};

template <typename Body>
TeamBody TeamBodyOf(const Body& body) {
  return {
      [](const void* data, const TeamMember& member) { (*static_cast<const Body*>(data))(member); },
      &body};
}

void RunTeam(int64_t threads, const TeamBody& body);
void RunMeetingTeam(int64_t threads, const TeamBody& body);

// Calls body(member) for each member of a team of `threads`, or of fewer.
template <typename Body>
void RunTeam(int64_t threads, const Body& body) {
  RunTeam(threads, TeamBodyOf(body));
}

// The same for members that meet: with a loop of the host, one member does all.
template <typename Body>
void RunMeetingTeam(int64_t threads, const Body& body) {
  RunMeetingTeam(threads, TeamBodyOf(body));
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
