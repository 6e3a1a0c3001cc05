// Properties of constants that rules test.
#ifndef WEFT_PASSES_ENGINE_REWRITE_CONSTANTS_H_
#define WEFT_PASSES_ENGINE_REWRITE_CONSTANTS_H_

#include <optional>

namespace weft {

class Value;

// The common value of all elements of a constant; nullopt for other values, for empty or complex
// constants, and for constants of more than a few thousand elements.
std::optional<double> SplatFloat(const Value* value);
// True for a constant with few elements, which is cheap to compute with.
bool IsSmallConstant(const Value* value);

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_REWRITE_CONSTANTS_H_
