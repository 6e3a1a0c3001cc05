#include "lowering/emit/placement.h"

#include <algorithm>

namespace weft::emit {
namespace {

class Placer {
 public:
  Placer(const LoopOrder& order, absl::Span<const Placement> reduced, int innermost)
      : order_(order), reduced_(reduced), innermost_(innermost) {}

  void Add(const Instr& instr) {
    Placement p;
    for (int operand : instr.operands) {
      if (operand >= 0) Cover(placed_[operand], &p);
    }
    switch (instr.op) {
      case ScalarOp::kLoad:
        CoverAccess(instr.access, &p);
        break;
      case ScalarOp::kIndex:
        Cover({order_.levels[instr.loop], instr.loop == order_.vector_loop}, &p);
        break;
      case ScalarOp::kRow:
        // Rows have an element for each inner point.
        p = {innermost_, order_.vector_loop >= 0};
        break;
      case ScalarOp::kReduced:
        Cover(reduced_[instr.loop], &p);
        break;
      default:
        break;
    }
    placed_.push_back(p);
  }

  std::vector<Placement> Take() { return std::move(placed_); }

 private:
  static void Cover(Placement other, Placement* p) {
    p->level = std::max(p->level, other.level);
    p->vector = p->vector || other.vector;
  }

  void CoverLoops(absl::Span<const SymInt> strides, Placement* p) const {
    for (size_t k = 0; k < strides.size(); ++k) {
      if (strides[k].Is(0)) continue;
      Cover({order_.levels[k], static_cast<int>(k) == order_.vector_loop}, p);
    }
  }

  void CoverAccess(const Access& access, Placement* p) const {
    CoverLoops(access.strides, p);
    for (const IndexTerm& term : access.terms) Cover(placed_[term.value], p);
    for (const Access::Guard& guard : access.guards) CoverLoops(guard.strides, p);
    if (access.otherwise >= 0) Cover(placed_[access.otherwise], p);
  }

  const LoopOrder& order_;
  absl::Span<const Placement> reduced_;
  const int innermost_;
  std::vector<Placement> placed_;
};

}  // namespace

std::vector<Placement> PlaceBody(const Stage& stage, const LoopOrder& order,
                                 absl::Span<const Placement> reduced, int innermost) {
  Placer placer(order, reduced, innermost);
  for (const Instr& instr : stage.body) placer.Add(instr);
  return placer.Take();
}

}  // namespace weft::emit
