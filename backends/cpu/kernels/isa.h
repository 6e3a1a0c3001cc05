// Instruction sets that the CPU backend has code for; one is chosen at run time.
#ifndef WEFT_BACKENDS_CPU_KERNELS_ISA_H_
#define WEFT_BACKENDS_CPU_KERNELS_ISA_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/cpu/kernels/kernel_list.h"

namespace weft::cpu {

enum class Isa {
  kAvx2,    // x86-64-v3: AVX2, FMA, F16C.
  kAvx512,  // x86-64-v4: AVX-512 F, BW, CD, DQ, VL.
};

absl::string_view IsaName(Isa isa);

// The best set of this machine that the program has code for; Unimplemented for a machine without
// one.
absl::StatusOr<Isa> DetectIsa();

// "" or "native" gives the best set; otherwise the named one, which may be followed by "_vnni".
// InvalidArgument for an unknown name, Unimplemented if the machine lacks the set.
absl::StatusOr<Isa> ChooseIsa(absl::string_view name);

// The result of the function for the set, among the sets that the program has.
template <typename T>
T ForIsa(Isa isa, T (*avx512)(), T (*avx2)()) {
  if constexpr (!HasKernels("isa", "avx2")) return avx512();
  if constexpr (!HasKernels("isa", "avx512")) return avx2();
  return isa == Isa::kAvx512 ? avx512() : avx2();
}

// Names of the sets that code for this one may use, the best first: a machine with a set has those
// before it in the enumeration.
std::vector<std::string> IsasWithin(Isa isa);

// Whether the set that ChooseIsa gives for this name comes with VNNI, which multiplies bytes: where
// the name says so, and natively on machines that have it.
bool ChooseVnni(absl::string_view name);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_ISA_H_
