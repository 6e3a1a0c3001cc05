// Checks the rules of write_backs.h step by step: which inputs still have their values.
#include "lowering/write_backs_check.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "lowering/failing_steps.h"
#include "lowering/index_map.h"
#include "lowering/plan_facts.h"

namespace weft {
namespace {

template <typename... Pieces>
absl::Status Invalid(const Pieces&... pieces) {
  return absl::InvalidArgumentError(absl::StrCat(pieces...));
}

class Checker {
 public:
  explicit Checker(const Plan& plan)
      : plan_(plan),
        heir_(plan.buffers.size(), -1),
        gone_(plan.buffers.size(), false),
        failing_(plan) {}

  absl::Status Run() {
    bool any = false;
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      if (plan_.buffers[b].donor < 0) continue;
      any = true;
      WEFT_RETURN_IF_ERROR(CheckPair(static_cast<int>(b)));
    }
    if (!any) return absl::OkStatus();
    bool written_over = false;
    for (const Step& step : plan_.steps) {
      WEFT_RETURN_IF_ERROR(CheckStep(step, &written_over));
    }
    for (const View& v : plan_.output_views) {
      if (v.present() && gone_[v.buffer]) {
        return Invalid("%", plan_.buffers[v.buffer].name, " is an output and a donor");
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status CheckPair(int b) {
    const Buffer& to = plan_.buffers[b];
    if (to.donor >= static_cast<int>(plan_.buffers.size())) {
      return Invalid("%", to.name, " has a donor that is not there");
    }
    const Buffer& from = plan_.buffers[to.donor];
    const bool kinds = to.kind == BufferKind::kOutput && from.kind == BufferKind::kInput;
    const bool whole = to.index >= 0 && to.index < static_cast<int>(plan_.output_views.size()) &&
                       plan_.output_views[to.index].buffer == b;
    const bool sizes = to.dtype == from.dtype && Sizes(&FactsOf(plan_)).Equal(to.numel, from.numel);
    if (!kinds || !whole || !sizes) {
      return Invalid("%", to.name, " is no new value of %", from.name);
    }
    if (heir_[to.donor] >= 0) return Invalid("%", from.name, " is a donor twice");
    heir_[to.donor] = b;
    return absl::OkStatus();
  }

  absl::Status CheckStep(const Step& step, bool* written_over) {
    absl::flat_hash_set<int> results;
    for (const View& v : step.results) {
      if (v.present()) results.insert(v.buffer);
    }
    const bool written_before = *written_over;
    bool reads_taken = false;
    for (const View& v : step.args) {
      if (!v.present()) continue;
      if (gone_[v.buffer]) {
        return Invalid("node ", step.node, " reads %", plan_.buffers[v.buffer].name, ", which %",
                       plan_.buffers[heir_[v.buffer]].name, " has replaced");
      }
      reads_taken = reads_taken || results.contains(heir_[v.buffer]);
    }
    if (reads_taken) WEFT_RETURN_IF_ERROR(CheckReads(step, results));
    for (int b : results) {
      const int donor = plan_.buffers[b].donor;
      if (donor < 0) continue;
      gone_[donor] = true;
      *written_over = true;
    }
    // A routine in place looks at its indices before it writes.
    const bool fails = failing_.MayFail(step);
    if (fails && (written_before || (*written_over && step.updates < 0))) {
      return Invalid("node ", step.node, " may fail when an input is written over");
    }
    return absl::OkStatus();
  }

  struct Place {
    SymInt offset;
    const Access* access = nullptr;
    size_t stage = 0;
    bool once = true;
  };

  // Checks that loads of the replaced memory are at the place of its only store.
  absl::Status CheckReads(const Step& step, const absl::flat_hash_set<int>& results) const {
    if (IsUpdate(step)) return absl::OkStatus();
    if (step.kind != StepKind::kKernel) {
      return Invalid("node ", step.node, " is no kernel and reads what it replaces");
    }
    const auto view_of = [&](int arg) -> const View& {
      const int own = static_cast<int>(step.args.size());
      return arg < own ? step.args[arg] : step.results[arg - own];
    };
    for (const Nest& nest : plan_.kernels[step.kernel].nests) {
      absl::flat_hash_map<int, Place> stores;  // By donor.
      for (size_t s = 0; s < nest.stages.size(); ++s) {
        for (const Store& store : nest.stages[s].stores) {
          const View& v = view_of(store.access.arg);
          const int donor = plan_.buffers[v.buffer].donor;
          if (donor < 0) continue;
          const Place place = {v.offset + store.access.offset, &store.access, s, true};
          const auto [it, fresh] = stores.try_emplace(donor, place);
          if (!fresh) it->second.once = false;
        }
      }
      for (size_t s = 0; s < nest.stages.size(); ++s) {
        for (const Instr& i : nest.stages[s].body) {
          if (i.op != ScalarOp::kLoad) continue;
          const View& v = view_of(i.access.arg);
          if (!results.contains(heir_[v.buffer])) continue;
          const auto it = stores.find(v.buffer);
          if (it == stores.end() || !it->second.once || s > it->second.stage ||
              !IsSame(v.offset + i.access.offset, i.access, it->second)) {
            return Invalid("node ", step.node, " reads %", plan_.buffers[v.buffer].name,
                           " elsewhere than it replaces it");
          }
        }
      }
    }
    return absl::OkStatus();
  }

  // True if the step only updates the memory that it reads.
  bool IsUpdate(const Step& step) const {
    if (step.updates < 0) return false;
    const View& updated = step.args[step.updates];
    const auto reads = [&](const View& v) { return v.present() && v.buffer == updated.buffer; };
    return updated.present() && heir_[updated.buffer] == step.results[0].buffer &&
           updated.offset == step.results[0].offset &&
           std::count_if(step.args.begin(), step.args.end(), reads) == 1;
  }

  static bool IsSame(SymInt offset, const Access& load, const Place& store) {
    return offset == store.offset && load.strides == store.access->strides && load.terms.empty() &&
           store.access->terms.empty() && store.access->guards.empty();
  }

  const Plan& plan_;
  std::vector<int> heir_;   // By input buffer: output that may be stored in it.
  std::vector<bool> gone_;  // By input buffer.
  FailingSteps failing_;
};

}  // namespace

absl::Status CheckWriteBacks(const Plan& plan) { return Checker(plan).Run(); }

}  // namespace weft
