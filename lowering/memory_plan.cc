#include "lowering/memory_plan.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/align.h"
#include "base/status_macros.h"
#include "graph/sym/sym_expr.h"

namespace weft {
namespace {

struct Touch {
  int first = -1;
  int last = -1;
};

std::vector<Touch> TouchesOf(const Plan& plan) {
  std::vector<Touch> touches(plan.buffers.size());
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const auto touch = [&](const View& v) {
      if (!v.present()) return;
      Touch& t = touches[v.buffer];
      if (t.first < 0) t.first = static_cast<int>(s);
      t.last = static_cast<int>(s);
    };
    for (const View& v : plan.steps[s].args) touch(v);
    for (const View& v : plan.steps[s].results) touch(v);
  }
  return touches;
}

bool InArena(const Buffer& b) { return b.kind == BufferKind::kTemporary && !b.dynamic; }

int CountViews(absl::Span<const View> views, int buffer) {
  return static_cast<int>(
      std::count_if(views.begin(), views.end(), [&](const View& v) { return v.buffer == buffer; }));
}

bool SamePlaces(const Access& a, const Access& b) {
  return a.offset == b.offset && a.strides == b.strides && a.terms.empty() && b.terms.empty() &&
         a.guards.empty();
}

// True if loads of argument `arg` in this nest read only the elements that the stores to `result`
// at the same point replace, and not after that. `stores` counts these.
bool MayReplaceIn(const Nest& nest, int arg, int result, int* loads, int* stores) {
  const Store* store = nullptr;
  size_t stored = 0;
  for (size_t s = 0; s < nest.stages.size(); ++s) {
    for (const Store& st : nest.stages[s].stores) {
      if (st.access.arg != result) continue;
      if (store != nullptr) return false;
      store = &st;
      stored = s;
      ++*stores;
    }
  }
  for (size_t s = 0; s < nest.stages.size(); ++s) {
    for (const Instr& i : nest.stages[s].body) {
      if (i.op != ScalarOp::kLoad || i.access.arg != arg) continue;
      ++*loads;
      if (store == nullptr || s > stored || !SamePlaces(i.access, store->access)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

bool MayReplace(const Plan& plan, const Step& step, int arg, int result) {
  if (step.kind != StepKind::kKernel && step.kind != StepKind::kLibrary) return false;
  const View& from = step.args[arg];
  const View& to = step.results[result];
  const Buffer& a = plan.buffers[from.buffer];
  const Buffer& r = plan.buffers[to.buffer];
  if (!InArena(a) || !InArena(r) || a.numel != r.numel ||
      DTypeBits(a.dtype) != DTypeBits(r.dtype) || from.offset != to.offset) {
    return false;
  }
  if (CountViews(step.args, from.buffer) != 1 || CountViews(step.results, from.buffer) != 0 ||
      CountViews(step.args, to.buffer) != 0 || CountViews(step.results, to.buffer) != 1) {
    return false;
  }
  if (step.kind == StepKind::kLibrary) {
    return result == 0 && (arg == step.accumulates || arg == step.updates);
  }
  const Kernel& kernel = plan.kernels[step.kernel];
  const int target = static_cast<int>(step.args.size()) + result;
  int loads = 0;
  int stores = 0;
  for (const Nest& nest : kernel.nests) {
    if (!MayReplaceIn(nest, arg, target, &loads, &stores)) return false;
  }
  return loads > 0 && stores == 1;
}

MemoryPlan::MemoryPlan(const Plan& plan)
    : num_buffers_(static_cast<int>(plan.buffers.size())), replaced_(plan.buffers.size(), -1) {
  const std::vector<Touch> touches = TouchesOf(plan);
  std::vector<int> slot_of(plan.buffers.size(), -1);
  const auto make = [&](int b) {
    slot_of[b] = static_cast<int>(slots_.size());
    slots_.push_back(
        {{b}, touches[b].first, touches[b].last, plan.buffers[b].dtype, plan.buffers[b].numel});
  };
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    const int now = static_cast<int>(s);
    for (const View& v : step.args) {
      if (v.present() && slot_of[v.buffer] < 0 && InArena(plan.buffers[v.buffer])) {
        make(v.buffer);  // Read before it is written, so it must be empty.
      }
    }
    for (size_t r = 0; r < step.results.size(); ++r) {
      const int b = step.results[r].buffer;
      if (b < 0 || slot_of[b] >= 0 || !InArena(plan.buffers[b])) continue;
      for (size_t a = 0; a < step.args.size() && slot_of[b] < 0; ++a) {
        const int from = step.args[a].buffer;
        if (from < 0 || touches[from].last != now || slot_of[from] < 0 ||
            slots_[slot_of[from]].last != now ||
            !MayReplace(plan, step, static_cast<int>(a), static_cast<int>(r))) {
          continue;
        }
        slot_of[b] = slot_of[from];
        Slot& slot = slots_[slot_of[b]];
        slot.buffers.push_back(b);
        slot.last = touches[b].last;
        in_place_.push_back({from, b});
        replaced_[b] = from;
        // An unused result must keep its place during its step.
        if (slot.last == now) slot.last = now + 1;
      }
      if (slot_of[b] < 0) make(b);
    }
  }
}

bool MemoryPlan::Replaces(int from, int to) const {
  return from >= 0 && to >= 0 && replaced_[to] == from;
}

MemoryLayout MemoryPlan::Place(absl::Span<const int64_t> bytes) const {
  std::vector<MemoryInterval> intervals;
  for (size_t i = 0; i < slots_.size(); ++i) {
    intervals.push_back({slots_[i].first, slots_[i].last, AlignUp(bytes[i], kArenaAlignment)});
  }
  MemoryLayout layout;
  layout.lower_bound = LiveBytes(intervals);
  const std::vector<int64_t> offsets = PlaceIntervals(intervals, &layout.arena_bytes);
  layout.offsets.assign(num_buffers_, -1);
  for (size_t i = 0; i < slots_.size(); ++i) {
    for (int b : slots_[i].buffers) layout.offsets[b] = offsets[i];
  }
  return layout;
}

absl::Status CheckLayout(const Plan& plan, const MemoryLayout& layout,
                         absl::Span<const std::pair<int, int>> in_place,
                         absl::Span<const int64_t> bytes) {
  std::vector<Touch> touches = TouchesOf(plan);
  const auto name = [&](int b) { return plan.buffers[b].name; };
  // The life of a replaced operand ends before the step that replaces it.
  std::vector<bool> replaced(plan.buffers.size(), false);
  for (const auto& [from, to] : in_place) {
    const Touch f = touches[from];
    const Touch t = touches[to];
    bool legal = f.last == t.first && f.last >= 0 && !replaced[from] &&
                 layout.offsets[from] == layout.offsets[to] && bytes[from] == bytes[to];
    if (legal) {
      const Step& step = plan.steps[f.last];
      legal = false;
      for (size_t a = 0; a < step.args.size() && !legal; ++a) {
        for (size_t r = 0; r < step.results.size() && !legal; ++r) {
          legal = step.args[a].buffer == from && step.results[r].buffer == to &&
                  MayReplace(plan, step, static_cast<int>(a), static_cast<int>(r));
        }
      }
    }
    if (!legal) {
      return absl::InternalError(
          absl::StrCat("buffer %", name(to), " may not take the place of %", name(from)));
    }
    replaced[from] = true;
  }
  std::vector<std::vector<int>> begin(plan.steps.size());
  std::vector<std::vector<int>> end(plan.steps.size() + 1);
  for (size_t b = 0; b < touches.size(); ++b) {
    if (!InArena(plan.buffers[b]) || touches[b].first < 0) continue;
    const int64_t at = layout.offsets[b];
    if (at < 0 || at + bytes[b] > layout.arena_bytes || at % kArenaAlignment != 0) {
      return absl::InternalError(absl::StrCat("buffer %", name(b), " lies at ", at,
                                              " of an arena of ", layout.arena_bytes, " bytes"));
    }
    if (bytes[b] == 0) continue;
    begin[touches[b].first].push_back(static_cast<int>(b));
    end[touches[b].last + (replaced[b] ? 0 : 1)].push_back(static_cast<int>(b));
  }
  std::map<int64_t, int> live;  // By offset.
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    for (int b : end[s]) {
      const auto it = live.find(layout.offsets[b]);
      if (it != live.end() && it->second == b) live.erase(it);
    }
    for (int b : begin[s]) {
      // A buffer that lives within one step.
      if (replaced[b] && touches[b].last == static_cast<int>(s)) continue;
      const int64_t at = layout.offsets[b];
      const auto next = live.lower_bound(at);
      int other = -1;
      if (next != live.end() && next->first < at + bytes[b]) {
        other = next->second;
      } else if (next != live.begin()) {
        const auto before = std::prev(next);
        if (before->first + bytes[before->second] > at) other = before->second;
      }
      if (other >= 0) {
        return absl::InternalError(
            absl::StrCat("buffers %", name(other), " and %", name(b), " overlap in step ", s));
      }
      live[at] = b;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const MemoryLayout>> ArenaPlanner::Find(ValueOf value_of) {
  std::vector<int64_t> bytes;
  for (const MemoryPlan::Slot& slot : memory_.slots()) {
    const auto numel = Evaluate(slot.numel, value_of);
    if (!numel || *numel < 0) {
      return absl::InvalidArgumentError(absl::StrCat("buffer %",
                                                     plan_.buffers[slot.buffers[0]].name,
                                                     " has no size: ", slot.numel.ToString()));
    }
    bytes.push_back(DTypeBytes(slot.dtype, *numel));
  }
  {
    absl::MutexLock lock(&mu_);
    const auto it = layouts_.find(bytes);
    if (it != layouts_.end()) return it->second;
  }
  auto layout = std::make_shared<MemoryLayout>(memory_.Place(bytes));
  std::vector<int64_t> by_buffer(plan_.buffers.size(), 0);
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int b : memory_.slots()[i].buffers) by_buffer[b] = bytes[i];
  }
  WEFT_RETURN_IF_ERROR(CheckLayout(plan_, *layout, memory_.in_place(), by_buffer));
  absl::MutexLock lock(&mu_);
  if (layouts_.size() >= kMaxLayouts) layouts_.clear();
  layouts_.emplace(std::move(bytes), layout);
  return std::shared_ptr<const MemoryLayout>(std::move(layout));
}

int64_t ArenaPlanner::num_layouts() const {
  absl::MutexLock lock(&mu_);
  return static_cast<int64_t>(layouts_.size());
}

}  // namespace weft
