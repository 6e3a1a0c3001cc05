// The target of the CPU backend.
#ifndef WEFT_BACKENDS_CPU_TARGET_H_
#define WEFT_BACKENDS_CPU_TARGET_H_

#include "graph/target/target.h"

namespace weft::cpu {

const Target& CpuTarget();

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_TARGET_H_
