// How a session runs a program.
#ifndef WEFT_API_SESSION_OPTIONS_H_
#define WEFT_API_SESSION_OPTIONS_H_

#include <string>

namespace weft {

// Of the target "cpu"; "reference" has none.
struct SessionOptions {
  // Threads of a run, 0 to 1024. 0: one for each processor that the process may use (affinity,
  // quotas of control groups, OMP_NUM_THREADS), and fewer while other processes use them: the
  // last bits of matmuls and convolutions may then change from run to run.
  int threads = 0;
  // The instruction set: "native", "avx2" or "avx512".
  std::string cpu = "native";
  // Results are equal in every bit for every number of threads.
  bool deterministic = false;
  // Of products and convolutions of f32: "highest", "high" or "medium", the words of
  // torch.set_float32_matmul_precision. highest computes in f32; high may take operands
  // as sums of two bf16, medium rounds them to bf16, where that is faster. Sums and
  // results are f32.
  std::string f32_precision = "highest";
  // Compiles kernels with `compiler`: before the first run, or beside the first runs,
  // which an interpreter does. Without a compiler the interpreter goes on.
  enum class Code { kNone, kInBackground, kBeforeFirstRun };
  Code code = Code::kNone;
  std::string compiler = "c++";
  // Where compiled kernels are kept for other processes; empty: nowhere.
  std::string cache_dir;
};

}  // namespace weft

#endif  // WEFT_API_SESSION_OPTIONS_H_
