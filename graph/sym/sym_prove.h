// Conditions over several symbols, and proofs from them. A SymbolTable owns one SymKnowledge; other
// code uses sym_facts.h.
#ifndef WEFT_GRAPH_SYM_SYM_PROVE_H_
#define WEFT_GRAPH_SYM_SYM_PROVE_H_

#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "graph/sym/sym_int.h"
#include "graph/sym/sym_range.h"

namespace weft {

class SymbolTable;

enum class Proof { kNo, kYes, kUnknown };

namespace internal {

// The conditions in the forms that proofs need.
class SymKnowledge {
 public:
  // Learns `condition`, which is simplified and holds, and its consequences together with the
  // ranges of the table.
  void Learn(SymInt condition, const SymbolTable& table);

  // `s` without the symbols that an equality replaces.
  SymInt Replace(SymInt s) const;
  // A range narrower than the declared one; null if no condition gives one.
  const SymRange* RangeOf(SymInt symbol) const;
  // Notes that `condition` holds as it is written, whatever its symbols are replaced by.
  void Note(SymInt condition) { known_.insert(condition); }
  // True for conditions that were noted, or learnt unchanged.
  bool Knows(SymInt condition) const { return known_.contains(condition); }
  // Expressions that are >= 0 and share a symbol with `s`, at most
  // kMaxCandidates, in the order in which they were learnt.
  std::vector<SymInt> AxiomsAbout(SymInt s) const;

 private:
  static constexpr size_t kMaxCandidates = 24;

  void LearnOne(SymInt condition, const SymbolTable& table);
  void LearnNonNegative(SymInt s);
  void LearnZero(SymInt s, const SymbolTable& table);
  void AddReplacement(SymInt symbol, SymInt value, const SymbolTable& table);
  void AddAxiom(SymInt s);

  absl::flat_hash_map<SymInt, SymInt> replacements_;
  absl::flat_hash_map<SymInt, SymRange> ranges_;
  absl::flat_hash_set<SymInt> known_;
  std::vector<SymInt> learnt_;                               // The same, in order.
  std::vector<SymInt> queue_;                                // Conditions still to be learnt.
  std::vector<SymInt> axioms_;                               // Each is >= 0.
  absl::flat_hash_map<SymInt, std::vector<int>> axioms_of_;  // By symbol.
};

// Remembers answers. Yes and no stay true as facts are added; unknown holds for the version at
// which it was found. Thread-safe; a copy begins empty.
class ProofMemo {
 public:
  ProofMemo() = default;
  ProofMemo(const ProofMemo&) {}
  ProofMemo& operator=(const ProofMemo&) {
    Clear();
    return *this;
  }

  std::optional<Proof> Find(SymInt condition, uint64_t version) const;
  void Insert(SymInt condition, uint64_t version, Proof proof) const;
  void Clear();

 private:
  static constexpr size_t kMaxEntries = 1 << 16;
  struct Entry {
    Proof proof;
    uint64_t version;
  };
  mutable absl::Mutex mu_;
  mutable absl::flat_hash_map<SymInt, Entry> entries_ ABSL_GUARDED_BY(mu_);
};

// Proves a simplified condition in a bounded number of steps.
Proof ProveCondition(SymInt condition, const SymbolTable& table, const SymKnowledge& knowledge);

// `s` in its simplest form under the table's facts.
SymInt SimplifySym(SymInt s, const SymbolTable& table, const SymKnowledge& knowledge);

}  // namespace internal
}  // namespace weft

#endif  // WEFT_GRAPH_SYM_SYM_PROVE_H_
