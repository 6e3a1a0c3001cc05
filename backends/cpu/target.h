// The target of the CPU backend.
#ifndef WEFT_BACKENDS_CPU_TARGET_H_
#define WEFT_BACKENDS_CPU_TARGET_H_

#include "backends/cpu/emit/emit_cc.h"
#include "backends/cpu/kernels/isa.h"
#include "graph/target/target.h"

namespace weft::cpu {

// The target with the vector sizes of this machine, or of AVX2 if the machine is below that.
const Target& CpuTarget();

// The target with the vector sizes of an instruction set.
Target TargetOf(Isa isa);

// The instructions and functions that generated C++ for the target may use.
CcTarget CcTargetOf(const Target& target);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_TARGET_H_
