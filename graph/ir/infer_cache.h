// Remembers the results of InferTypes, for code that infers the types of many nodes: models repeat
// few signatures many times.
#ifndef WEFT_GRAPH_IR_INFER_CACHE_H_
#define WEFT_GRAPH_IR_INFER_CACHE_H_

#include <array>
#include <cstdint>
#include <memory>

#include "absl/types/span.h"
#include "graph/ir/op_args.h"
#include "graph/ir/op_def.h"
#include "graph/tensor/type.h"

namespace weft {

// A cache of fixed size: a new entry may replace an old one. A signature is an op, its attributes
// and the types of its operands. An entry is valid while no fact about the symbols changes, which
// their version shows. One cache serves one module.
class InferCache {
 public:
  InferCache() : entries_(std::make_unique<Entries>()) {}

  // True if equal arguments have equal result types: no nested graphs, no fresh symbols, few
  // operands and results.
  static bool Admits(const OpArgs& args) {
    return args.regions.empty() && args.size() <= kMaxOperands && !args.op->has(kDataDependent);
  }

  // The remembered types for these arguments, which must be admitted; null if there are none. Valid
  // up to the next call.
  const Types* Find(const OpArgs& args);
  // Remembers the types for these arguments, which must be admitted.
  void Insert(const OpArgs& args, absl::Span<const Type> results);

 private:
  static constexpr int kMaxOperands = 6;
  static constexpr int kSize = 256;  // A power of two.
  struct Entry {
    const OpDef* op = nullptr;  // Null: the entry is free.
    const AttrList* attrs = nullptr;
    uint64_t facts = 0;
    int num_operands = 0;
    std::array<Type, kMaxOperands> operands;
    Types results;
  };
  using Entries = std::array<Entry, kSize>;

  Entry& PlaceOf(const OpArgs& args);

  std::unique_ptr<Entries> entries_;
};

}  // namespace weft

#endif  // WEFT_GRAPH_IR_INFER_CACHE_H_
