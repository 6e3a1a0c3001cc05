// Conditions on values that are common in patterns.
#ifndef WEFT_PASSES_ENGINE_REWRITE_PREDICATES_H_
#define WEFT_PASSES_ENGINE_REWRITE_PREDICATES_H_

#include "graph/ir/builtin_ops.h"
#include "graph/ir/value.h"
#include "passes/engine/rewrite/constants.h"
#include "passes/engine/rewrite/pattern.h"

namespace weft::pattern {

inline constexpr Predicate kFloat = {"a float",
                                     [](const Value& v) { return IsFloat(v.type().dtype()); }};
inline constexpr Predicate kInt = {"an integer",
                                   [](const Value& v) { return IsInt(v.type().dtype()); }};
inline constexpr Predicate kBool = {
    "a bool", [](const Value& v) { return v.type().dtype() == DType::kBool; }};
// A constant of few elements.
inline constexpr Predicate kSmall = {"small", [](const Value& v) { return IsSmallConstant(&v); }};
inline constexpr Predicate kNotConstant = {
    "not a constant", [](const Value& v) { return !v.IsResultOf(ops::constant); }};

}  // namespace weft::pattern

#endif  // WEFT_PASSES_ENGINE_REWRITE_PREDICATES_H_
