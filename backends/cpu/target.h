// The target of the CPU backend.
#ifndef WEFT_BACKENDS_CPU_TARGET_H_
#define WEFT_BACKENDS_CPU_TARGET_H_

#include "backends/cpu/kernels/isa.h"
#include "graph/target/target.h"

namespace weft::cpu {

// The target with the vectors of this machine, or of AVX2 where the machine runs no kernels.
const Target& CpuTarget();

// The target with the vectors of an instruction set.
Target TargetOf(Isa isa);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_TARGET_H_
