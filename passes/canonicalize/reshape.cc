// Views of the same elements.
#include "graph/ops/ops.h"
#include "passes/canonicalize/match.h"
#include "passes/canonicalize/rules.h"

namespace weft::canonicalize {
namespace {

using namespace pattern;  // NOLINT

constexpr Rule kRules[] = {
    {"reshape-reshape",
     "reshape(reshape(x, a), b) = reshape(x, b)",
     kBitExact,
     Op(ops::reshape, Op(ops::reshape, x)),
     {},
     BuildOnX},
};

}  // namespace

absl::Span<const Rule> ReshapeRules() { return kRules; }

}  // namespace weft::canonicalize
