// Chooses the number of threads of a run, on a machine that is shared with other processes.
//
// Threads of a parallel loop wait for each other at its end, so the slowest thread determines its
// time. Beside busy processes each thread sometimes waits for a processor, and every loop waits for
// the slowest: fewer threads are faster then, often one. The governor measures how long the threads
// of earlier runs were ready but had no processor, and gives the next runs as many threads as there
// were processors. When no thread waits any more it tries more threads, after a time that doubles
// whenever that was too early.
//
// An undisturbed run always gets the maximum: context switches and other processes are not counted
// by themselves.
//
// Not thread-safe.
#ifndef WEFT_BACKENDS_CPU_THREADS_THREAD_GOVERNOR_H_
#define WEFT_BACKENDS_CPU_THREADS_THREAD_GOVERNOR_H_

#include <cstdint>
#include <memory>
#include <vector>

namespace weft::cpu {

// Measurements of the machine's load.
class LoadSource {
 public:
  virtual ~LoadSource() = default;
  // Seconds since a fixed time.
  virtual double Now() = 0;
  // Seconds for which each of the first `threads` threads of the caller's OpenMP team has been
  // ready to run without a processor, since the thread began; the caller is the first. Empty if the
  // system does not report it. False if the threads differ from those of the previous call.
  virtual bool Waits(int threads, std::vector<double>* waits) = 0;
  // Threads in the machine that run or wait for a processor; 0: unknown.
  virtual int Runnable() = 0;
};

// Linux: /proc/self/task/*/schedstat and /proc/loadavg.
std::shared_ptr<LoadSource> MakeLoadSource();

class ThreadGovernor {
 public:
  // A run gets from 1 to `most` threads.
  ThreadGovernor(int most, std::shared_ptr<LoadSource> source);

  // Returns the threads for a run that begins; each call is followed by EndRun. Runs shorter than a
  // window are measured together, so that measuring is cheap.
  int BeginRun();
  void EndRun();

  // Numbers of threads that runs may get, ascending: code is made once for each one used.
  static std::vector<int> Levels(int most);

 private:
  void OpenWindow();
  void CloseWindow();
  // The largest level that `processors` suffice for.
  int LevelFor(double processors) const;

  const std::vector<int> levels_;
  const std::shared_ptr<LoadSource> source_;
  bool started_ = false;
  int threads_;
  double run_began_ = 0;

  // The current window: seconds of runs, and the waits of the threads at its beginning.
  double busy_ = 0;
  std::vector<double> waited_;
  std::vector<double> waits_;  // The waits at its end.

  // Windows without waiting, the number of them after which more threads are tried, and whether the
  // last change was such a try.
  int64_t calm_windows_ = 0;
  int64_t patience_ = 1;
  bool trying_ = false;
};

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_THREADS_THREAD_GOVERNOR_H_
