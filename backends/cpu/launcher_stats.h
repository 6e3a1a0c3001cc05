// Counters of the CPU launcher.
#ifndef WEFT_BACKENDS_CPU_LAUNCHER_STATS_H_
#define WEFT_BACKENDS_CPU_LAUNCHER_STATS_H_

#include <cstdint>

namespace weft::cpu {

// Counters since the launcher was made, in steps, or in routines made for an assignment.
struct LauncherStats {
  // Kernel steps that switched from the interpreter to generated code.
  int64_t generated_steps = 0;
  // Kernel steps that are a table of bytes (interpreter/byte_function.h).
  int64_t byte_tables = 0;
  // Matmuls and convolutions of f32 that read bf16 (f32_precision).
  int64_t rounded_products = 0;
  // Matmuls and convolutions by kernels of ours for bf16, with all that follows them.
  int64_t bf16_products = 0;
  // Attentions by kernels of ours for bf16, and maxima of windows.
  int64_t bf16_attentions = 0;
  int64_t bf16_maxima = 0;
  // Matmuls and convolutions of 8-bit integers, and those of i32 whose operands are read as such.
  int64_t integer_products = 0;
  // Those that compute what follows them as they store (library/found_finish.h).
  int64_t finished_products = 0;
  // Library steps for which oneDNN has only its slow reference implementation.
  int64_t slow_primitives = 0;
};

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LAUNCHER_STATS_H_
