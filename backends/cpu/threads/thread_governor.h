// How many threads a run gets, on a machine that others use as well.
//
// Threads of a parallel loop meet at its end, so a loop takes as long as its slowest thread.
// Beside busy processes each thread waits for a processor now and again, and every loop waits
// for the sum of it: fewer threads are faster then, often one. The governor looks at how long
// the threads of earlier runs were ready but had no processor, and gives the next runs as many
// threads as there were processors for. It tries more again once no thread waits, after a time
// that doubles whenever that was too early.
//
// A run that nobody disturbs always gets the most: counts of context switches or of processes
// elsewhere have no say.
//
// Not thread-safe.
#ifndef WEFT_BACKENDS_CPU_THREADS_THREAD_GOVERNOR_H_
#define WEFT_BACKENDS_CPU_THREADS_THREAD_GOVERNOR_H_

#include <cstdint>
#include <memory>
#include <vector>

namespace weft::cpu {

// What the governor sees of the machine.
class LoadSource {
 public:
  virtual ~LoadSource() = default;
  // Seconds since a fixed time.
  virtual double Now() = 0;
  // Seconds that each of the first `threads` threads of the caller's OpenMP team has been ready
  // to run without a processor, since it began; the caller is the first. Nothing where the system
  // does not say. False when they are not the threads of the call before.
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

  // Threads for the run that begins; calls alternate with EndRun. Runs shorter than a window
  // are looked at together, so that looking costs little.
  int BeginRun();
  void EndRun();

  // Numbers of threads that runs may get, ascending: code is made once for each that occurs.
  static std::vector<int> Levels(int most);

 private:
  void OpenWindow();
  void CloseWindow();
  // The most threads that `processors` are enough for.
  int LevelFor(double processors) const;

  const std::vector<int> levels_;
  const std::shared_ptr<LoadSource> source_;
  bool started_ = false;
  int threads_;
  double run_began_ = 0;

  // The window: runs since it was opened, and what the threads had waited before.
  double busy_ = 0;
  std::vector<double> waited_;
  std::vector<double> waits_;  // Those at its end.

  // Windows without waiting, how many it takes until more threads are tried, and whether the
  // last change tried that.
  int64_t calm_windows_ = 0;
  int64_t patience_ = 1;
  bool trying_ = false;
};

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_THREADS_THREAD_GOVERNOR_H_
