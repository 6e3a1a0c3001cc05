#include <algorithm>
#include <functional>
#include <vector>

#include "lowering/kernel_builder.h"

namespace weft {
namespace {

// All lists of a nest that have one entry per loop.
class Collapser {
 public:
  explicit Collapser(Nest* nest) : nest_(*nest) {
    extents_ = nest->outer;
    extents_.insert(extents_.end(), nest->inner.begin(), nest->inner.end());
    indexed_.resize(extents_.size(), false);
    for (Stage& stage : nest_.stages) {
      for (Instr& i : stage.body) {
        if (i.op == ScalarOp::kLoad) AddAccess(&i.access);
        if (i.op == ScalarOp::kIndex) indexed_[i.loop] = true;
      }
      for (Store& s : stage.stores) AddAccess(&s.access);
    }
  }

  void Run() {
    for (size_t l = extents_.size(); l-- > 0;) {
      if (extents_[l].Is(1)) DropUnit(l);
    }
    for (size_t l = extents_.size(); l-- > 1;) {
      if (l != nest_.outer.size() && JoinsNext(l - 1)) Join(l - 1);
    }
  }

 private:
  void AddAccess(Access* access) {
    strides_.push_back(&access->strides);
    for (Access::Guard& g : access->guards) strides_.push_back(&g.strides);
  }

  void Erase(size_t loop) {
    for (std::vector<SymInt>* s : strides_) s->erase(s->begin() + loop);
    extents_.erase(extents_.begin() + loop);
    indexed_.erase(indexed_.begin() + loop);
    const size_t outer = nest_.outer.size();
    auto& half = loop < outer ? nest_.outer : nest_.inner;
    half.erase(half.begin() + (loop < outer ? loop : loop - outer));
  }

  void DropUnit(size_t loop) {
    for (Stage& stage : nest_.stages) {
      for (Instr& i : stage.body) {
        if (i.op != ScalarOp::kIndex || i.loop < static_cast<int>(loop)) {
          continue;
        }
        if (i.loop > static_cast<int>(loop)) {
          --i.loop;
        } else {
          i = Instr();
          i.dtype = DType::kI64;
        }
      }
    }
    Erase(loop);
  }

  bool JoinsNext(size_t loop) const {
    if (indexed_[loop] || indexed_[loop + 1]) return false;
    for (const std::vector<SymInt>* s : strides_) {
      if ((*s)[loop] != (*s)[loop + 1] * extents_[loop + 1]) return false;
    }
    return true;
  }

  // Joins loop `loop` and the next one into one loop with the next one's strides.
  void Join(size_t loop) {
    const SymInt extent = extents_[loop] * extents_[loop + 1];
    const size_t outer = nest_.outer.size();
    extents_[loop + 1] = extent;
    if (loop + 1 < outer) {
      nest_.outer[loop + 1] = extent;
    } else {
      nest_.inner[loop + 1 - outer] = extent;
    }
    for (Stage& stage : nest_.stages) {
      for (Instr& i : stage.body) {
        if (i.op == ScalarOp::kIndex && i.loop > static_cast<int>(loop)) {
          --i.loop;
        }
      }
    }
    Erase(loop);
  }

  Nest& nest_;
  std::vector<SymInt> extents_;
  std::vector<bool> indexed_;
  std::vector<std::vector<SymInt>*> strides_;
};

}  // namespace

void CollapseLoops(Nest* nest) { Collapser(nest).Run(); }

}  // namespace weft
