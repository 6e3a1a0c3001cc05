// Replaces chosen symbols by numbers or other sizes.
#ifndef WEFT_PASSES_SPECIALIZE_SYMBOLS_H_
#define WEFT_PASSES_SPECIALIZE_SYMBOLS_H_

#include <memory>
#include <string>
#include <vector>

#include "passes/engine/pass.h"
#include "passes/sizes/specialize.h"

namespace weft {

struct SpecializeSymbolsOptions {
  // "s0=8", "s1=2*s0", "s2=batch".
  std::vector<std::string> values;
};

// The pass specialize_symbols{values="s0=8;s1=s0"}. Symbols that the module does not have are
// ignored, so that a second run changes nothing. Counter: specialized.
std::unique_ptr<Pass> CreateSpecializeSymbolsPass(const SpecializeSymbolsOptions& options);
std::unique_ptr<Pass> CreateSpecializeSymbolsPass();

}  // namespace weft

#endif  // WEFT_PASSES_SPECIALIZE_SYMBOLS_H_
