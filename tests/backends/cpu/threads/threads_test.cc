// Numbers of threads of runs: on busy machines, under quotas, and on this machine.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/threads/available_cpus.h"
#include "backends/cpu/threads/thread_governor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft::cpu {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::Le;

constexpr double kNone = std::numeric_limits<double>::infinity();

// --- Quotas ----------------------------------------------------------------------------

class CpuQuotaTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path to = root_ + path;
    std::filesystem::create_directories(to.parent_path());
    std::ofstream(to) << text;
  }

  const std::string root_ = testing::TempDir() + "/" +
                            testing::UnitTest::GetInstance()->current_test_info()->name() + "/";
};

TEST_F(CpuQuotaTest, IsInfiniteWithoutGroups) { EXPECT_EQ(CpuQuota(root_), kNone); }

TEST_F(CpuQuotaTest, IsTheLeastOnTheWayUp) {
  Write("proc/self/cgroup", "0::/system/job\n");
  Write("sys/fs/cgroup/system/job/cpu.max", "max 100000\n");
  EXPECT_EQ(CpuQuota(root_), kNone);
  Write("sys/fs/cgroup/system/cpu.max", "150000 100000\n");
  EXPECT_EQ(CpuQuota(root_), 1.5);
  Write("sys/fs/cgroup/system/job/cpu.max", "400000 100000\n");
  EXPECT_EQ(CpuQuota(root_), 1.5);
  Write("sys/fs/cgroup/cpu.max", "50000 100000\n");
  EXPECT_EQ(CpuQuota(root_), 0.5);
}

TEST_F(CpuQuotaTest, ReadsGroupsOfVersionOne) {
  Write("proc/self/cgroup", "5:memory:/a\n4:cpu,cpuacct:/docker/f00\n");
  Write("sys/fs/cgroup/cpu/docker/f00/cpu.cfs_quota_us", "-1\n");
  Write("sys/fs/cgroup/cpu/docker/f00/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(CpuQuota(root_), kNone);
  // A container sees its own group at the top.
  Write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n");
  Write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(CpuQuota(root_), 2);
}

TEST_F(CpuQuotaTest, DoesWithoutWhatItCannotRead) {
  Write("proc/self/cgroup", "\n:\n0::\n0::relative\nx:cpu:/g\n");
  Write("sys/fs/cgroup/cpu.max", "fast 0\n");
  Write("sys/fs/cgroup/cpu/g/cpu.cfs_quota_us", "100000\n");
  Write("sys/fs/cgroup/cpu/g/cpu.cfs_period_us", "0\n");
  EXPECT_EQ(CpuQuota(root_), kNone);
}

TEST(AvailableCpus, AreAtLeastOne) {
  EXPECT_GE(AvailableCpus(), 1);
  EXPECT_LE(AvailableCpus(), std::max(1.0, std::ceil(CpuQuota())));
}

// --- The governor ------------------------------------------------------------------------

// A machine of `cpus` processors, shared fairly, where a run takes `work` seconds of one.
class FakeMachine {
 public:
  FakeMachine(int cpus, int neighbours) : cpus_(cpus), neighbours_(neighbours) {}

  class Source : public LoadSource {
   public:
    explicit Source(FakeMachine* machine) : machine_(machine) {}
    double Now() override { return machine_->now_; }
    bool Waits(int threads, std::vector<double>* waits) override {
      *waits = machine_->waits_;
      waits->resize(machine_->silent_ ? 0 : threads);
      return !std::exchange(machine_->fresh_, false) && !machine_->silent_;
    }
    int Runnable() override { return 1 + machine_->neighbours_; }

   private:
    FakeMachine* machine_;
  };

  // One run of the governor's number of threads, which it gives.
  int Run(ThreadGovernor& governor, double seconds = 0.004) {
    const int threads = governor.BeginRun();
    // Each thread runs for its share of the time.
    const double share = std::min(1.0, static_cast<double>(cpus_) / (threads + neighbours_));
    for (int t = 0; t < threads; ++t) waits_[t] += seconds * (1 - share);
    now_ += seconds;
    governor.EndRun();
    now_ += 0.5;  // The caller does something else.
    return threads;
  }

  std::vector<int> Runs(ThreadGovernor& governor, int n) {
    std::vector<int> threads;
    for (int i = 0; i < n; ++i) threads.push_back(Run(governor));
    return threads;
  }

  void set_neighbours(int n) { neighbours_ = n; }
  void set_fresh() { fresh_ = true; }
  void set_silent() { silent_ = true; }

 private:
  int cpus_;
  int neighbours_;
  double now_ = 5;
  bool fresh_ = true;
  bool silent_ = false;
  std::vector<double> waits_ = std::vector<double>(64);
};

ThreadGovernor Govern(FakeMachine& machine, int most) {
  return ThreadGovernor(most, std::make_shared<FakeMachine::Source>(&machine));
}

TEST(ThreadGovernor, HasLevelsUpToTheMost) {
  EXPECT_THAT(ThreadGovernor::Levels(1), ElementsAre(1));
  EXPECT_THAT(ThreadGovernor::Levels(2), ElementsAre(1, 2));
  EXPECT_THAT(ThreadGovernor::Levels(3), ElementsAre(1, 2, 3));
  EXPECT_THAT(ThreadGovernor::Levels(16), ElementsAre(1, 2, 3, 4, 6, 8, 12, 16));
}

TEST(ThreadGovernor, GivesTheMostOnAQuietMachine) {
  FakeMachine machine(2, 0);
  ThreadGovernor governor = Govern(machine, 2);
  EXPECT_THAT(machine.Runs(governor, 500), Each(2));
}

TEST(ThreadGovernor, LeavesBusyProcessorsAlone) {
  FakeMachine machine(2, 0);
  ThreadGovernor governor = Govern(machine, 2);
  machine.Runs(governor, 20);
  machine.set_neighbours(4);
  machine.Runs(governor, 10);
  EXPECT_THAT(machine.Runs(governor, 500), Each(1));
}

TEST(ThreadGovernor, StartsWithOneThreadWhereAllProcessorsAreTaken) {
  FakeMachine machine(2, 4);
  ThreadGovernor governor = Govern(machine, 2);
  EXPECT_THAT(machine.Runs(governor, 100), Each(1));
}

TEST(ThreadGovernor, TriesMoreLessAndLessOften) {
  FakeMachine machine(2, 1);
  ThreadGovernor governor = Govern(machine, 2);
  const std::vector<int> early = machine.Runs(governor, 200);
  EXPECT_EQ(early[0], 2);
  const std::vector<int> runs = machine.Runs(governor, 5000);
  // A try takes a window, five runs or six.
  EXPECT_LE(std::count(runs.begin(), runs.end(), 2), 150);
  EXPECT_GE(std::count(runs.begin(), runs.end(), 2), 50);
}

TEST(ThreadGovernor, ComesBackWhenTheNeighboursLeave) {
  FakeMachine machine(2, 4);
  ThreadGovernor governor = Govern(machine, 2);
  machine.Runs(governor, 100);
  machine.set_neighbours(0);
  machine.Runs(governor, 20);
  EXPECT_THAT(machine.Runs(governor, 100), Each(2));
}

TEST(ThreadGovernor, TakesWhatIsLeftOfAManyCoreMachine) {
  FakeMachine machine(16, 10);
  ThreadGovernor governor = Govern(machine, 16);
  machine.Runs(governor, 50);
  // Six processors are free; with twelve threads each has three quarters of one.
  EXPECT_THAT(machine.Runs(governor, 300), Each(AllOf(Ge(6), Le(12))));
}

TEST(ThreadGovernor, ForgetsAWindowOfOtherThreads) {
  FakeMachine machine(2, 0);
  ThreadGovernor governor = Govern(machine, 2);
  machine.Runs(governor, 20);
  machine.set_neighbours(4);
  for (int i = 0; i < 100; ++i) {
    machine.set_fresh();
    EXPECT_EQ(machine.Run(governor), 2);
  }
}

TEST(ThreadGovernor, GivesTheMostWhereTheSystemSaysNothing) {
  FakeMachine machine(2, 1);
  machine.set_silent();
  ThreadGovernor governor = Govern(machine, 2);
  EXPECT_THAT(machine.Runs(governor, 100), Each(2));
}

// --- This machine -------------------------------------------------------------------------

TEST(LoadSource, SeesTheThreadsOfTheTeam) {
  const auto source = MakeLoadSource();
  std::vector<double> first;
  EXPECT_FALSE(source->Waits(2, &first));
  if (first.empty()) GTEST_SKIP() << "no /proc/self/task/*/schedstat here";
  std::vector<double> second;
  EXPECT_TRUE(source->Waits(2, &second));
  ASSERT_EQ(second.size(), 2u);
  for (size_t t = 0; t < 2; ++t) EXPECT_GE(second[t], first[t]);
  EXPECT_GE(source->Runnable(), 1);
}

}  // namespace
}  // namespace weft::cpu
