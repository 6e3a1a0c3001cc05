#include "graph/ir/infer_cache.h"

#include <algorithm>

#include "graph/ir/attr.h"
#include "graph/sym/sym_facts.h"

namespace weft {

// The hash is structural, so the cache has the same contents in every process.
InferCache::Entry& InferCache::PlaceOf(const OpArgs& args) {
  constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15;
  uint64_t hash = args.attr_list != nullptr ? args.attr_list->hash() : 0;
  for (char c : args.op->name()) hash = hash * 31 + static_cast<uint8_t>(c);
  for (Type type : args.types) hash = (hash ^ type.hash()) * kMultiplier;
  return (*entries_)[(hash * kMultiplier) >> 56];
}

const Types* InferCache::Find(const OpArgs& args) {
  static_assert(kSize == 256, "PlaceOf takes eight bits");
  const Entry& entry = PlaceOf(args);
  const bool equal = entry.op == args.op && entry.attrs == args.attr_list &&
                     entry.num_operands == args.size() &&
                     std::equal(args.types.begin(), args.types.end(), entry.operands.begin()) &&
                     entry.facts == args.symbols->version();
  return equal ? &entry.results : nullptr;
}

void InferCache::Insert(const OpArgs& args, absl::Span<const Type> results) {
  Entry& entry = PlaceOf(args);
  entry.op = args.op;
  entry.attrs = args.attr_list;
  entry.facts = args.symbols->version();
  entry.num_operands = args.size();
  std::copy(args.types.begin(), args.types.end(), entry.operands.begin());
  entry.results.assign(results.begin(), results.end());
}

}  // namespace weft
