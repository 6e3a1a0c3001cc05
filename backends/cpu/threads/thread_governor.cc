#include "backends/cpu/threads/thread_governor.h"

#include <fcntl.h>
#include <omp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "backends/cpu/threads/available_cpus.h"

namespace weft::cpu {
namespace {

// Seconds of runs per window: many time slices of the scheduler, few steps of a model.
constexpr double kWindow = 0.02;
// Processors that must be missing before threads are reduced; and the largest share of a window
// that a thread may wait for more threads to be tried.
constexpr double kMissing = 0.3;
constexpr double kCalm = 0.05;
// Windows after which a number of threads counts as stable, and the limit of the patience.
constexpr int64_t kProven = 8;
constexpr int64_t kMaxPatience = 64;

class LinuxLoad : public LoadSource {
 public:
  ~LinuxLoad() override { Close(); }

  double Now() override {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
  }

  bool Waits(int threads, std::vector<double>* waits) override {
    const auto caller = static_cast<int>(syscall(SYS_gettid));
    const bool same = caller == caller_ && static_cast<int>(files_.size()) >= threads;
    // The team's threads may end when a smaller team runs.
    if (same && Read(threads, waits)) return true;
    Open(caller, threads);
    Read(threads, waits);
    return false;
  }

  int Runnable() override { return RunnableThreads(); }

 private:
  void Open(int caller, int threads) {
    Close();
    caller_ = caller;
    files_.assign(threads, -1);
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
      const int t = omp_get_thread_num();
      // Uses no allocation, because one that fails here would end the process.
      char path[64];
      std::snprintf(path, sizeof path, "/proc/self/task/%d/schedstat",
                    static_cast<int>(syscall(SYS_gettid)));
      files_[t] = open(path, O_RDONLY | O_CLOEXEC);
    }
  }

  void Close() {
    for (int file : files_) {
      if (file >= 0) close(file);
    }
    files_.clear();
  }

  // Reads "time on a processor, time waiting for one, slices", in nanoseconds. False, with `waits`
  // empty, if a thread has no file.
  bool Read(int threads, std::vector<double>* waits) const {
    waits->clear();
    for (int t = 0; t < threads; ++t) {
      char text[96];
      const ssize_t n = files_[t] < 0 ? -1 : pread(files_[t], text, sizeof text - 1, 0);
      if (n <= 0) {
        waits->clear();
        return false;
      }
      text[n] = 0;
      char* end = nullptr;
      std::strtoull(text, &end, 10);
      waits->push_back(static_cast<double>(std::strtoull(end, nullptr, 10)) * 1e-9);
    }
    return true;
  }

  int caller_ = 0;
  std::vector<int> files_;  // By thread of the team; -1: no file.
};

}  // namespace

std::shared_ptr<LoadSource> MakeLoadSource() { return std::make_shared<LinuxLoad>(); }

ThreadGovernor::ThreadGovernor(int most, std::shared_ptr<LoadSource> source)
    : levels_(Levels(most)), source_(std::move(source)), threads_(levels_.back()) {}

std::vector<int> ThreadGovernor::Levels(int most) {
  std::vector<int> levels;
  for (int power = 1; power < most; power *= 2) {
    levels.push_back(power);
    const int between = power + power / 2;
    if (between > power && between < most) levels.push_back(between);
  }
  levels.push_back(std::max(1, most));
  return levels;
}

int ThreadGovernor::LevelFor(double processors) const {
  int level = 1;
  for (int l : levels_) {
    if (l <= processors + kMissing) level = l;
  }
  return level;
}

int ThreadGovernor::BeginRun() {
  run_began_ = source_->Now();
  if (!started_) {
    started_ = true;
    // The first run is often the only one. The count is a snapshot, so it matters only if there are
    // already more threads than processors.
    const int most = levels_.back();
    const int others = source_->Runnable() - 1;
    if (others >= most) threads_ = 1;
    OpenWindow();
  }
  return threads_;
}

void ThreadGovernor::EndRun() {
  busy_ += source_->Now() - run_began_;
  if (busy_ >= kWindow && levels_.back() > 1) CloseWindow();
}

void ThreadGovernor::OpenWindow() {
  busy_ = 0;
  if (levels_.back() > 1) source_->Waits(threads_, &waited_);
}

void ThreadGovernor::CloseWindow() {
  const bool comparable = source_->Waits(threads_, &waits_) && waits_.size() == waited_.size();
  double processors = 0;
  double longest = 0;
  for (size_t t = 0; comparable && t < waits_.size(); ++t) {
    const double share = std::min(1.0, (waits_[t] - waited_[t]) / busy_);
    processors += 1 - share;
    longest = std::max(longest, share);
  }
  waited_.swap(waits_);
  busy_ = 0;
  if (!comparable) return;
  const int before = threads_;
  if (processors < threads_ - kMissing && threads_ > 1) {
    patience_ = trying_ ? std::min(2 * patience_, kMaxPatience) : 1;
    trying_ = false;
    calm_windows_ = 0;
    threads_ = LevelFor(processors);
  } else if (longest < kCalm) {
    ++calm_windows_;
    if (trying_ && calm_windows_ >= kProven) {
      trying_ = false;
      patience_ = 1;
    }
    if (!trying_ && threads_ < levels_.back() && calm_windows_ >= patience_) {
      threads_ = *std::upper_bound(levels_.begin(), levels_.end(), threads_);
      trying_ = true;
      calm_windows_ = 0;
    }
  } else {
    calm_windows_ = 0;
  }
  if (threads_ != before) OpenWindow();
}

}  // namespace weft::cpu
