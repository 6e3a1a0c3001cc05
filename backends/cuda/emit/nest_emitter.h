// The emitter of one nest.
#ifndef WEFT_BACKENDS_CUDA_EMIT_NEST_EMITTER_H_
#define WEFT_BACKENDS_CUDA_EMIT_NEST_EMITTER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "backends/cuda/emit/internal.h"

namespace weft::cuda {

class NestEmitter {
 public:
  // `group`: threads may compute groups of points.
  NestEmitter(const Kernel& kernel, const Nest& nest, const NestSchedule& schedule, bool group,
              emit::SizeTable* sizes, CudaNest* result);

  absl::Status Emit(std::string* out);

  // A nest that only reduces can be split: a first function reduces parts of the inner points, a
  // second one combines the parts and runs what is left of the nest.
  bool CanSplit() const;
  absl::Status EmitParts(std::string* out);
  absl::Status EmitFinish(std::string* out);

 private:
  SymInt Extent(int loop) const {
    return loop < outer_ ? nest_.outer[loop] : nest_.inner[loop - outer_];
  }
  // The loops [from, to) with the lane loop last.
  std::vector<int> Order(int from, int to) const;
  // Decides whether threads compute groups of points.
  void Group();
  bool grouped() const { return groups_.size > 1; }
  // A loop over the points of a group; the statements alone if there are no groups.
  std::string Each(absl::string_view statements) const;
  void Decode(const char* number, const std::vector<int>& loops, std::string* out);
  std::string RowMajor() const;
  std::string RowPlaces();
  // The accumulator with that name: of a point, if points of a group are reduced apart.
  std::string Own(absl::string_view name, size_t i) const {
    return absl::StrCat(name, i, groups_.reduced ? "[j]" : "");
  }
  std::string Accumulators(const Stage& stage) const;
  std::string Accumulate(const Stage& stage) const;
  // Moves partial results to the second level of float sums, after a number of values.
  std::string EndBlocks(const Stage& stage) const;
  std::string Finish(const Stage& stage, int first) const;
  absl::Status EmitStage(const Stage& stage, std::string* out);
  // Reduces the inner points of a stage from `begin` up to `end`, which count groups.
  std::string InnerLoop(const Stage& stage, const StageCode& code, absl::string_view begin,
                        absl::string_view end);
  // The number of inner points, or of their groups.
  std::string InnerCount();
  // Declares results of reductions of a stage; returns the number of the first.
  int DeclareResults(const Stage& stage);
  std::string StoreParts(const Stage& stage) const;
  std::string CombineParts(const Stage& stage) const;

  const Kernel& kernel_;
  const Nest& nest_;
  emit::SizeTable& sizes_;
  CudaNest& result_;
  int outer_ = 0;
  int loops_ = 0;
  int lane_ = -1;
  bool rows_ = false;
  emit::LoopOrder order_;
  Groups groups_;
  std::vector<emit::Placement> reduced_;
  std::string declared_;
};

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_EMIT_NEST_EMITTER_H_
