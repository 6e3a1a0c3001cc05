// Parallel loops on OpenMP's threads and on those of a host.
#include "backends/cpu/threads/parallel.h"

#include <omp.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "backends/cpu/threads/host_loop.h"
#include "backends/cpu/threads/thread_scope.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft::cpu {
namespace {

using testing::Each;
using testing::ElementsAre;

using Task = void (*)(void* data, int64_t index);

// Counts what it is asked for, and runs tasks one after another, from the last one on.
struct Backwards {
  int loops = 0;
  int64_t tasks = 0;

  static void Run(void* context, int64_t count, Task task, void* data) {
    auto& self = *static_cast<Backwards*>(context);
    ++self.loops;
    self.tasks += count;
    for (int64_t i = count; i-- > 0;) task(data, i);
  }
};

void RunInThreads(void*, int64_t count, Task task, void* data) {
  std::vector<std::thread> threads;
  for (int64_t i = 0; i < count; ++i) threads.emplace_back(task, data, i);
  for (std::thread& thread : threads) thread.join();
}

class HostLoopTest : public testing::Test {
 protected:
  void SetUp() override { SetHostLoop({Backwards::Run, &host_}); }
  void TearDown() override { SetHostLoop({}); }

  Backwards host_;
};

// How often each of the items was done, by both kinds of loops.
std::vector<int> Times(int64_t threads, int64_t items) {
  std::vector<std::atomic<int>> times(items);
  ForEach(threads, items, [&](int64_t item, const TeamMember& member) {
    EXPECT_LT(member.index, member.count);
    EXPECT_LE(member.count, threads);
    ++times[item];
  });
  ForEachNext(threads, items, [&](int64_t item, const TeamMember& member) {
    EXPECT_LT(member.index, member.count);
    ++times[item];
  });
  return std::vector<int>(times.begin(), times.end());
}

TEST(Parallel, EachItemIsDoneOnce) {
  EXPECT_THAT(Times(1, 10), Each(1 + 1));
  EXPECT_THAT(Times(4, 10), Each(2));
  EXPECT_THAT(Times(4, 3), Each(2));
  EXPECT_THAT(Times(4, 0), ElementsAre());
  EXPECT_THAT(Times(40, 100), Each(2));
}

// A range is [n r / 4, n (r + 1) / 4), as the share of a member of ForEach.
TEST(Parallel, MembersTakeTheirOwnItemsFirst) {
  ItemRanges ranges(4, 10);
  std::vector<int64_t> taken;
  ranges.Run(1, [&](int64_t item) { taken.push_back(item); });
  EXPECT_THAT(taken, ElementsAre(2, 3, 4, 5, 6, 7, 8, 9, 0, 1));
  ranges.Run(0, [&](int64_t item) { taken.push_back(item); });
  EXPECT_EQ(taken.size(), 10);
}

TEST(Parallel, MembersMeet) {
  std::vector<int> came(4);
  std::atomic<bool> all{true};
  RunMeetingTeam(4, [&](const TeamMember& member) {
    came[member.index] = 1;
    member.Meet();
    for (int64_t i = 0; i < member.count; ++i) {
      if (came[i] == 0) all = false;
    }
  });
  EXPECT_TRUE(all);
}

TEST_F(HostLoopTest, RunsTheLoops) {
  EXPECT_THAT(Times(4, 10), Each(2));
  EXPECT_EQ(host_.loops, 2);
  EXPECT_EQ(host_.tasks, 8);
  EXPECT_THAT(Times(1, 10), Each(2));
  EXPECT_EQ(host_.loops, 2);  // One thread needs no loop.
  SetHostLoop({RunInThreads, nullptr});
  EXPECT_THAT(Times(4, 1000), Each(2));
  SetHostLoop({});
  EXPECT_THAT(Times(4, 10), Each(2));
  EXPECT_EQ(host_.loops, 2);
}

TEST_F(HostLoopTest, ALoopOfATaskIsTheTasksOwn) {
  std::atomic<int> inner{0};
  RunTeam(3, [&](const TeamMember&) {
    RunTeam(2, [&](const TeamMember& member) {
      EXPECT_EQ(member.count, 2);
      ++inner;
    });
  });
  EXPECT_EQ(inner, 6);
  EXPECT_EQ(host_.loops, 1);
}

TEST_F(HostLoopTest, MembersThatMeetAreOne) {
  int calls = 0;
  RunMeetingTeam(4, [&](const TeamMember& member) {
    EXPECT_EQ(member.count, 1);
    member.Meet();
    ++calls;
  });
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(host_.loops, 0);
}

TEST_F(HostLoopTest, OpenMpHasOneThread) {
  const int before = omp_get_max_threads();
  {
    const ThreadScope scope(4);
    EXPECT_EQ(omp_get_max_threads(), 1);
    EXPECT_EQ(ScopeThreads(), 4);
    {
      const ThreadScope inner(2);
      EXPECT_EQ(ScopeThreads(), 2);
    }
    EXPECT_EQ(ScopeThreads(), 4);
    EXPECT_EQ(omp_get_max_threads(), 1);
  }
  EXPECT_EQ(omp_get_max_threads(), before);
  SetHostLoop({});
  const ThreadScope scope(4);
  EXPECT_EQ(omp_get_max_threads(), 4);
  EXPECT_EQ(ScopeThreads(), 4);
}

}  // namespace
}  // namespace weft::cpu
