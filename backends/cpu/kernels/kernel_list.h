// The kernels and routines that a program has: all, or those of a list (docs/deploy.md) that the
// build was given. What is not listed is not linked.
//
// Lines of a list are a kind and a name: "isa avx2", "dtype f32", "routine matmul"; "all kernels"
// stands for all.
#ifndef WEFT_BACKENDS_CPU_KERNELS_KERNEL_LIST_H_
#define WEFT_BACKENDS_CPU_KERNELS_KERNEL_LIST_H_

#include "backends/cpu/kernels/chosen_kernels.h"

namespace weft::cpu {
namespace {  // NOLINT: a copy for each file keeps instruction sets apart.

// The end of the word where `line` begins with it and `after`; null if it does not.
constexpr const char* BehindWord(const char* line, const char* word, char after) {
  for (; *word != '\0'; ++line, ++word) {
    if (*line != *word) return nullptr;
  }
  return *line == after ? line + 1 : nullptr;
}

constexpr bool HasLine(const char* list, const char* kind, const char* name) {
  while (*list != '\0') {
    const char* const rest = BehindWord(list, kind, ' ');
    if (rest != nullptr && BehindWord(rest, name, '\n') != nullptr) return true;
    while (*list != '\n') ++list;
    ++list;
  }
  return false;
}

// kChosenKernels is the text of the list.
constexpr bool HasKernels(const char* kind, const char* name) {
  return HasLine(kChosenKernels, "all", "kernels") || HasLine(kChosenKernels, kind, name);
}

}  // namespace
}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_KERNEL_LIST_H_
