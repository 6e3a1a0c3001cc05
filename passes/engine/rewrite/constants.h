// What rules ask about constants.
#ifndef WEFT_PASSES_ENGINE_REWRITE_CONSTANTS_H_
#define WEFT_PASSES_ENGINE_REWRITE_CONSTANTS_H_

#include <optional>

namespace weft {

class Value;

// The number that all elements of a constant are; nothing for other values, for
// empty or complex constants, and for constants past a few thousand elements.
std::optional<double> SplatFloat(const Value* value);
// A constant of few elements: cheap to compute with.
bool IsSmallConstant(const Value* value);

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_REWRITE_CONSTANTS_H_
