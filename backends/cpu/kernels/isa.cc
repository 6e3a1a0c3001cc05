#include "backends/cpu/kernels/isa.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace weft::cpu {
namespace {

bool Has(Isa isa) {
  const bool built = isa == Isa::kAvx512 ? HasKernels("isa", "avx512") : HasKernels("isa", "avx2");
  if (!built) return false;
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c");
  if (isa == Isa::kAvx2) return v3;
  return v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

// For vectors of the set's length.
bool HasVnni(Isa isa) {
  __builtin_cpu_init();
  return isa == Isa::kAvx512 ? __builtin_cpu_supports("avx512vnni")
                             : __builtin_cpu_supports("avxvnni");
}

constexpr absl::string_view kVnniSuffix = "_vnni";

bool IsNative(absl::string_view name) { return name.empty() || name == "native"; }

}  // namespace

absl::string_view IsaName(Isa isa) { return isa == Isa::kAvx512 ? "avx512" : "avx2"; }

absl::StatusOr<Isa> DetectIsa() {
  for (Isa isa : {Isa::kAvx512, Isa::kAvx2}) {
    if (Has(isa)) return isa;
  }
  return absl::UnimplementedError("the cpu target needs a processor with AVX2, FMA and F16C");
}

absl::StatusOr<Isa> ChooseIsa(absl::string_view name) {
  if (IsNative(name)) return DetectIsa();
  const absl::string_view set = absl::StripSuffix(name, kVnniSuffix);
  for (Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    if (set != IsaName(isa)) continue;
    if (Has(isa) && (set == name || HasVnni(isa))) return isa;
    return absl::UnimplementedError(absl::StrCat("this processor has no ", name));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown instruction set \"", name,
                   "\"; they are native, avx2, avx2_vnni, avx512 and avx512_vnni"));
}

std::vector<std::string> IsasWithin(Isa isa) {
  std::vector<std::string> names;
  for (int i = static_cast<int>(isa); i >= 0; --i) {
    names.emplace_back(IsaName(static_cast<Isa>(i)));
  }
  return names;
}

bool ChooseVnni(absl::string_view name) {
  if (!IsNative(name)) return absl::EndsWith(name, kVnniSuffix);
  const absl::StatusOr<Isa> isa = DetectIsa();
  return isa.ok() && HasVnni(*isa);
}

}  // namespace weft::cpu
