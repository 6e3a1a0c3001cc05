// Counts that the launcher of the CPU keeps.
#ifndef WEFT_BACKENDS_CPU_LAUNCHER_STATS_H_
#define WEFT_BACKENDS_CPU_LAUNCHER_STATS_H_

#include <cstdint>

namespace weft::cpu {

// Counts since the launcher was made; units are steps, or routines of one assignment.
struct LauncherStats {
  // Kernel steps that went from the interpreter to generated code.
  int64_t generated_steps = 0;
  // Matmuls and convolutions of f32 that read bf16 (f32_precision).
  int64_t rounded_products = 0;
  // Matmuls and convolutions of i32 that read 8 bits of their operands.
  int64_t integer_products = 0;
  // Library steps for which oneDNN has nothing but its own reference.
  int64_t slow_primitives = 0;
};

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LAUNCHER_STATS_H_
