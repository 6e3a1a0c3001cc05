// Spellings of scalar instructions that are one operator or one call in a language.
#ifndef WEFT_LOWERING_EMIT_SCALAR_SPELLING_H_
#define WEFT_LOWERING_EMIT_SCALAR_SPELLING_H_

#include <cstdint>

#include "lowering/kernel.h"

namespace weft::emit {

// Languages of emitters, each with a column of the table in scalar_spelling.cc.
enum class Dialect : uint8_t {
  kVectorCc,  // C++ with GCC's vectors and the functions of backends/cpu/emit/prelude.cc.
};

enum class SpellingForm : uint8_t {
  kInfix,    // a + b
  kCompare,  // a < b
  kCall,     // f(a) or f(a, b)
};

struct Spelling {
  SpellingForm form;
  const char* text;
};

// False for instructions that are not one operator or call for every dtype.
bool FindSpelling(ScalarOp op, Dialect dialect, Spelling* out);

}  // namespace weft::emit

#endif  // WEFT_LOWERING_EMIT_SCALAR_SPELLING_H_
