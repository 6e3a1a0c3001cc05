// Places that are to be quantized, and which of them share their parameters: a union-find.
//
// The merge rule: places of one value (the value itself, and the operands that it is) share where
// their specs are equal, whatever the order in which they were added; further places share where
// Share says so. Specs that are not equal in one group are a conflict.
#ifndef WEFT_PASSES_QUANTIZE_GROUPS_H_
#define WEFT_PASSES_QUANTIZE_GROUPS_H_

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "passes/quantize/note.h"
#include "passes/quantize/spec.h"

namespace weft {

class Module;

// A place with its spec and the group, which is a number of 0 or more.
struct QuantMark {
  QuantPlace place;
  QuantNote note;
};

class QuantGroups {
 public:
  // A place that has a spec already keeps it. Returns its number.
  int Add(const QuantPlace& place, const QuantSpec& spec);
  // -1: the place was not added.
  int Find(const QuantPlace& place) const;
  void Share(int a, int b);

  // Adds the notes of a module; places of equal groups share.
  absl::Status AddNotes(const Module& module);

  // All places in the order of note.h, with their groups. A conflict is an InvalidArgument that
  // names both places.
  absl::StatusOr<std::vector<QuantMark>> Finish(const Module& module);

 private:
  using Key = std::pair<const void*, int>;
  static Key KeyOf(const QuantPlace& place);
  int Root(int i);
  void ShareEqualSpecs();
  absl::Status CheckSpecs();

  std::vector<QuantMark> places_;
  std::vector<int> parents_;
  absl::flat_hash_map<Key, int> numbers_;
};

}  // namespace weft

#endif  // WEFT_PASSES_QUANTIZE_GROUPS_H_
