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

// The first of the items that belong to a range, of `ranges` about equal ones.
inline int64_t RangeBegin(int64_t items, int64_t ranges, int64_t range) {
  return items * range / ranges;
}

// One of those that share the work of a loop.
struct TeamMember {
  int64_t index = 0;
  int64_t count = 1;

  // The member's share of n items is [Begin(n), End(n)).
  int64_t Begin(int64_t n) const { return RangeBegin(n, count, index); }
  int64_t End(int64_t n) const { return RangeBegin(n, count, index + 1); }
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

// True if a range begins with the item.
inline bool BeginsRange(int64_t items, int64_t ranges, int64_t item) {
  const int64_t range = (item * ranges + items - 1) / items;
  return range < ranges && RangeBegin(items, ranges, range) == item;
}

// The items of a loop in ranges, of which each is begun by one member. Members that have finished
// theirs take items of the others.
class ItemRanges {
 public:
  ItemRanges(int64_t threads, int64_t items)
      : ranges_(threads < kMost ? threads : kMost), items_(items) {
    for (int64_t r = 0; r < ranges_; ++r) next_[r].item.store(Begin(r), std::memory_order_relaxed);
  }

  // Calls body(item) for what the member takes.
  template <typename Body>
  void Run(int64_t member, const Body& body) {
    for (int64_t i = 0; i < ranges_; ++i) {
      const int64_t r = (member + i) % ranges_;
      const int64_t end = Begin(r + 1);
      int64_t item = 0;
      while ((item = next_[r].item.fetch_add(1, std::memory_order_relaxed)) < end) body(item);
    }
  }

 private:
  static constexpr int64_t kMost = 32;
  struct alignas(64) Next {
    std::atomic<int64_t> item;
  };

  int64_t Begin(int64_t range) const { return RangeBegin(items_, ranges_, range); }

  const int64_t ranges_;
  const int64_t items_;
  Next next_[kMost];
};

// The same for items that take different times: a member that is free takes those of others. It
// begins with the items of ForEach: what a step writes is mostly read from the cache of the same
// processor by the next one.
template <typename Body>
void ForEachNext(int64_t threads, int64_t items, const Body& body) {
  if (threads <= 1) return ForEach(1, items, body);
  ItemRanges ranges(threads, items);
  RunTeam(threads, [&](const TeamMember& member) {
    ranges.Run(member.index, [&](int64_t item) { body(item, member); });
  });
}

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_THREADS_PARALLEL_H_
