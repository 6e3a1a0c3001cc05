// Instruction sets that the CPU backend has code for, picked at run time.
#ifndef WEFT_BACKENDS_CPU_KERNELS_ISA_H_
#define WEFT_BACKENDS_CPU_KERNELS_ISA_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft::cpu {

enum class Isa {
  kAvx2,    // x86-64-v3: AVX2, FMA, F16C.
  kAvx512,  // x86-64-v4: AVX-512 F, BW, CD, DQ, VL.
};

absl::string_view IsaName(Isa isa);

// The best set of this machine; Unimplemented below AVX2.
absl::StatusOr<Isa> DetectIsa();

// "" or "native" is the best set; else the set of that name, InvalidArgument for an
// unknown one, Unimplemented for one that the machine lacks.
absl::StatusOr<Isa> ChooseIsa(absl::string_view name);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_ISA_H_
