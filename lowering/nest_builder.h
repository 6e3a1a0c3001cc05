// Makes the stages of one nest; kernel_builder.h says how.
#ifndef WEFT_LOWERING_NEST_BUILDER_H_
#define WEFT_LOWERING_NEST_BUILDER_H_

#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lowering/index_map.h"
#include "lowering/kernel_body.h"
#include "lowering/kernel_builder.h"
#include "lowering/kernel_scope.h"
#include "lowering/loop_space.h"

namespace weft {

class Node;
class Value;

using Guards = std::vector<Access::Guard>;

class NestBuilder {
 public:
  NestBuilder(KernelScope* scope, const LoopSpace* space) : scope_(*scope), space_(*space) {}

  // Stores name their output (of the group) as argument.
  absl::StatusOr<Nest> Run();

  // --- For the ops (kernel_ops.h) -----------------------------------------
  const Sizes& sizes() const { return scope_.sizes(); }
  const Target& target() const { return *scope_.request().target; }
  const LoopSpace& space() const { return space_; }
  KernelBody& body() { return stages_[stage_].body; }
  // The value read at `at`, where the guards hold; -1: it is on its way, and
  // the op will be asked again.
  int Get(const Value* value, Indices at, const Guards& guards);
  bool IsOutside(const Value* value) const { return scope_.NodeOf(value) == nullptr; }
  // The load of a value from outside, which is `otherwise` where a guard fails.
  int Load(const Value* value, const Indices& at, const Guards& guards, int otherwise);
  // The index as an i64.
  int IndexValue(const Index& index);
  // Instruction `index` is an index of a gather, whose bound is checked where an
  // argument is loaded at it. A nest in which no load uses it fails.
  void ExpectLoadAt(int index) { stages_[stage_].gathered.push_back(index); }
  int Fail(absl::string_view why);

 private:
  using Key = std::tuple<const Value*, int, int>;
  struct Request {
    Key key;
    const Value* value;
    int at;
    int guards;
  };
  struct StageState {
    KernelBody body;
    absl::flat_hash_map<Key, int> made;
    // Of instructions: moves with an inner loop; what it takes to make it
    // again.
    std::vector<bool> inner;
    std::vector<int64_t> cost;
    std::vector<int> gathered;  // Instructions; see ExpectLoadAt.
    Stage stage;
  };
  struct Reduced {
    int number = 0;
    int stage = 0;
    DType dtype = DType::kF32;
  };

  void FindNeeded();
  void CheckReductions();
  bool IsAligned(const Node& node) const;
  void EmitStage(int stage);
  void EmitRowResults();
  void EmitReduction(const Node& node);
  void EmitStore(int output);
  int Emit(const Value* value, const Indices& at);
  int TryEmit(const Request& request);
  int ReducedValue(const Node& node, const Indices& at);
  int PointwiseValue(const Node& node, const Indices& at, const Guards& guards);
  // Reads the value from a row when an earlier stage has it and that pays.
  int KeptRow(const Request& request);
  void Measure();
  int InternAt(Indices at);
  int InternGuards(const Guards& guards);
  absl::StatusOr<Nest> Finish();

  KernelScope& scope_;
  const LoopSpace& space_;
  absl::Status status_;
  std::vector<const Node*> needed_;
  absl::flat_hash_map<const Value*, int> level_;
  int num_levels_ = 0;
  std::vector<StageState> stages_;
  int stage_ = 0;
  std::vector<Request> pending_;
  absl::flat_hash_map<const Node*, Reduced> reduced_;
  int num_reductions_ = 0;
  absl::flat_hash_map<Key, int> row_of_;
  std::vector<DType> rows_;
  std::vector<Indices> ats_;
  absl::flat_hash_map<uint64_t, std::vector<int>> at_ids_;
  std::vector<Guards> guards_;
};

}  // namespace weft

#endif  // WEFT_LOWERING_NEST_BUILDER_H_
