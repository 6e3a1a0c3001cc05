#include "lowering/schedule.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "graph/cost/cost.h"
#include "graph/ir/op_def.h"
#include "graph/sym/sym_facts.h"
#include "lowering/plan_facts.h"

namespace weft {
namespace {

std::vector<int64_t> EstimateBytes(const SymbolTable& symbols, const Plan& plan) {
  std::vector<int64_t> bytes;
  for (const Buffer& b : plan.buffers) {
    const auto numel = UsualSize(b.numel, symbols);
    const bool lives = b.kind == BufferKind::kTemporary || b.kind == BufferKind::kOutput;
    bytes.push_back(lives && numel && *numel > 0 ? DTypeBytes(b.dtype, *numel) : 0);
  }
  return bytes;
}

std::vector<int> BuffersOf(absl::Span<const View> views) {
  std::vector<int> buffers;
  for (const View& v : views) {
    if (v.present()) buffers.push_back(v.buffer);
  }
  std::sort(buffers.begin(), buffers.end());
  buffers.erase(std::unique(buffers.begin(), buffers.end()), buffers.end());
  return buffers;
}

bool IsBarrier(const Step& step) {
  if (step.kind == StepKind::kControl) return true;
  for (const View& v : step.results) {
    if (v.type.is_symint()) return true;
  }
  return step.op != nullptr && (step.op->has(kDataDependent) || step.op->has(kSideEffect));
}

class Scheduler {
 public:
  Scheduler(const SymbolTable& symbols, const Plan& plan)
      : plan_(plan), bytes_(EstimateBytes(symbols, plan)) {
    for (const Step& step : plan.steps) {
      reads_.push_back(BuffersOf(step.args));
      writes_.push_back(BuffersOf(step.results));
    }
    FindEdges();
  }

  std::vector<int> Run() {
    CountTouches();
    order_.clear();
    size_t begin = 0;
    for (size_t s = 0; s <= plan_.steps.size(); ++s) {
      const bool end = s == plan_.steps.size();
      if (!end && !IsBarrier(plan_.steps[s])) continue;
      RunSegment(begin, s);
      if (!end) Take(static_cast<int>(s));
      begin = s + 1;
    }
    return order_;
  }

  int64_t Peak(absl::Span<const int> order) {
    CountTouches();
    int64_t live = 0;
    int64_t peak = 0;
    std::vector<bool> there(bytes_.size(), false);
    for (int s : order) {
      for (int b : writes_[s]) {
        if (!there[b]) live += bytes_[b];
        there[b] = true;
      }
      peak = std::max(peak, live);
      for (const auto* buffers : {&reads_[s], &writes_[s]}) {
        for (int b : *buffers) {
          if (--touches_[b] == 0 && Dies(b)) live -= bytes_[b];
        }
      }
    }
    return peak;
  }

 private:
  bool Dies(int b) const { return plan_.buffers[b].kind == BufferKind::kTemporary; }

  void CountTouches() {
    touches_.assign(bytes_.size(), 0);
    there_.assign(bytes_.size(), false);
    for (size_t s = 0; s < reads_.size(); ++s) {
      for (int b : reads_[s]) ++touches_[b];
      for (int b : writes_[s]) ++touches_[b];
    }
  }

  // A reader comes after the writers before it, a writer after the readers
  // before it. Writers of one buffer write apart from each other.
  void FindEdges() {
    const size_t n = plan_.steps.size();
    next_.resize(n);
    waits_.assign(n, 0);
    struct State {
      std::vector<int> writers;
      std::vector<int> readers;
    };
    std::vector<State> state(bytes_.size());
    const auto edge = [&](int from, int to) {
      if (from == to) return;
      next_[from].push_back(to);
      ++waits_[to];
    };
    touching_.resize(bytes_.size());
    for (size_t i = 0; i < n; ++i) {
      const int s = static_cast<int>(i);
      for (int b : reads_[i]) {
        for (int w : state[b].writers) edge(w, s);
        state[b].readers.push_back(s);
        touching_[b].push_back(s);
      }
      for (int b : writes_[i]) {
        for (int r : state[b].readers) edge(r, s);
        state[b].writers.push_back(s);
        touching_[b].push_back(s);
      }
    }
  }

  // What running the step now adds to the bytes that live after it.
  int64_t DeltaOf(int s) const {
    int64_t delta = 0;
    for (int b : writes_[s]) {
      if (!there_[b]) delta += bytes_[b];
      if (touches_[b] == 1 && Dies(b)) delta -= bytes_[b];
    }
    for (int b : reads_[s]) {
      if (touches_[b] == 1 && Dies(b)) delta -= bytes_[b];
    }
    return delta;
  }

  void RunSegment(size_t begin, size_t end) {
    begin_ = begin;
    end_ = end;
    for (size_t s = begin; s < end; ++s) {
      if (waits_[s] == 0) Offer(static_cast<int>(s));
    }
    while (!ready_.empty()) {
      const int s = std::get<1>(*ready_.begin());
      ready_.erase(ready_.begin());
      in_ready_.erase(s);
      Take(s);
    }
  }

  void Offer(int s) {
    if (s < static_cast<int>(begin_) || s >= static_cast<int>(end_)) return;
    const auto key = std::make_tuple(DeltaOf(s), s);
    const auto it = in_ready_.find(s);
    if (it != in_ready_.end()) {
      if (it->second == std::get<0>(key)) return;
      ready_.erase({it->second, s});
      in_ready_.erase(it);
    }
    ready_.insert(key);
    in_ready_[s] = std::get<0>(key);
  }

  void Take(int s) {
    order_.push_back(s);
    std::vector<int> changed;
    for (int b : writes_[s]) {
      if (!there_[b]) changed.push_back(b);
      there_[b] = true;
    }
    for (const auto* buffers : {&reads_[s], &writes_[s]}) {
      for (int b : *buffers) {
        if (--touches_[b] == 1) changed.push_back(b);
      }
    }
    for (int t : next_[s]) {
      if (--waits_[t] == 0) Offer(t);
    }
    // Steps that wait for nothing and may now be the last to touch a buffer.
    for (int b : changed) {
      if (touching_[b].size() > kMaxTouching) continue;
      for (int t : touching_[b]) {
        if (in_ready_.contains(t)) Offer(t);
      }
    }
  }

  static constexpr size_t kMaxTouching = 64;

  const Plan& plan_;
  const std::vector<int64_t> bytes_;
  std::vector<std::vector<int>> reads_, writes_, next_, touching_;
  std::vector<int> waits_;
  std::vector<int> touches_;
  std::vector<bool> there_;
  std::set<std::tuple<int64_t, int>> ready_;
  absl::flat_hash_map<int, int64_t> in_ready_;
  size_t begin_ = 0;
  size_t end_ = 0;
  std::vector<int> order_;
};

}  // namespace

int64_t EstimatePeak(const Plan& plan) {
  std::vector<int> order(plan.steps.size());
  std::iota(order.begin(), order.end(), 0);
  return Scheduler(FactsOf(plan), plan).Peak(order);
}

void ScheduleSteps(const SymbolTable& symbols, Plan* plan) {
  std::vector<int> own(plan->steps.size());
  std::iota(own.begin(), own.end(), 0);
  Scheduler scheduler(symbols, *plan);
  const int64_t before = scheduler.Peak(own);
  const std::vector<int> order = scheduler.Run();
  if (scheduler.Peak(order) >= before) return;
  std::vector<Step> steps;
  for (int s : order) steps.push_back(std::move(plan->steps[s]));
  plan->steps = std::move(steps);
}

}  // namespace weft
