#include "passes/engine/rewrite/constants.h"

#include <cstring>

#include "graph/ir/value.h"
#include "graph/tensor/tensor.h"

namespace weft {
namespace {

constexpr int64_t kMaxSplat = 4096;
constexpr int64_t kMaxSmall = 64;

}  // namespace

std::optional<double> SplatFloat(const Value* value) {
  const HostTensor* t = LiteralOf(value);
  if (t == nullptr || t->numel() == 0 || t->numel() > kMaxSplat || IsComplex(t->dtype())) {
    return std::nullopt;
  }
  const double first = t->DoubleAt(0);
  if (t->numel() == 1) return first;
  // Compares bits, so that zeros of different signs differ.
  for (double v : t->ReadDoubles()) {
    if (std::memcmp(&v, &first, sizeof v) != 0) return std::nullopt;
  }
  return first;
}

bool IsSmallConstant(const Value* value) {
  const HostTensor* t = LiteralOf(value);
  return t != nullptr && t->numel() <= kMaxSmall;
}

}  // namespace weft
