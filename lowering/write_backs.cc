#include "lowering/write_backs.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "lowering/failing_steps.h"
#include "lowering/index_map.h"

namespace weft {
namespace {

constexpr int kSeveral = -2;

// The use of one argument by a kernel.
struct ArgUse {
  int nest = -1;  // kSeveral: in several nests.
  // Access of all loads or stores, if they have the same one.
  const Access* access = nullptr;
  bool one_place = true;
  int last_stage = -1;
  int count = 0;

  void Add(int in_nest, int in_stage, const Access& at) {
    nest = count == 0 || nest == in_nest ? in_nest : kSeveral;
    one_place =
        one_place && at.terms.empty() &&
        (access == nullptr || (access->offset == at.offset && access->strides == at.strides));
    access = &at;
    last_stage = std::max(last_stage, in_stage);
    ++count;
  }
};

std::vector<ArgUse> UsesOf(const Kernel& kernel) {
  std::vector<ArgUse> uses(kernel.args.size());
  for (size_t n = 0; n < kernel.nests.size(); ++n) {
    const Nest& nest = kernel.nests[n];
    for (size_t s = 0; s < nest.stages.size(); ++s) {
      const auto add = [&](const Access& access) {
        uses[access.arg].Add(static_cast<int>(n), static_cast<int>(s), access);
      };
      for (const Instr& i : nest.stages[s].body) {
        if (i.op == ScalarOp::kLoad) add(i.access);
      }
      for (const Store& store : nest.stages[s].stores) add(store.access);
    }
  }
  return uses;
}

class Placer {
 public:
  Placer(const Graph& graph, Plan* plan)
      : plan_(*plan), sizes_(&graph.module().symbols()), replaced_(plan->buffers.size(), -1) {
    const int own = graph.num_own_outputs();
    for (size_t k = 0; k < graph.write_backs().size(); ++k) {
      const View& from = plan_.input_views[graph.write_backs()[k]];
      const View& to = plan_.output_views[own + k];
      if (!from.present() || !to.present()) continue;
      write_backs_.push_back(to.buffer);
      replaced_[to.buffer] = from.buffer;
    }
  }

  void Run() {
    Collect();
    if (Sink()) Collect();
    for (int buffer : write_backs_) {
      Buffer& b = plan_.buffers[buffer];
      b.remark = WhyNot(buffer);
      if (b.remark.empty()) b.donor = replaced_[buffer];
    }
  }

 private:
  struct Touch {
    int first_write = -1;
    int last_write = -1;
    int last_read = -1;
  };

  void Collect() {
    touches_.assign(plan_.buffers.size(), {});
    last_failure_ = -1;
    may_fail_.clear();
    FailingSteps failing(plan_);
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const Step& step = plan_.steps[i];
      const int s = static_cast<int>(i);
      for (const View& v : step.args) {
        if (v.present()) touches_[v.buffer].last_read = s;
      }
      for (const View& v : step.results) {
        if (!v.present()) continue;
        Touch& touch = touches_[v.buffer];
        if (touch.first_write < 0) touch.first_write = s;
        touch.last_write = s;
      }
      may_fail_.push_back(failing.MayFail(step));
      if (may_fail_.back()) last_failure_ = s;
    }
  }

  bool Sink();
  bool MaySink(int s);
  std::string WhyNot(int buffer);
  bool ReadsWhereItStores(int s, int input, int output);
  const std::vector<ArgUse>& KernelUses(int kernel);
  void LookAt(int s);
  std::string NodeOf(int s) const { return absl::StrCat("node ", plan_.steps[s].node); }

  Plan& plan_;
  const Sizes sizes_;
  std::vector<int> write_backs_;  // Buffers.
  std::vector<int> replaced_;     // By buffer: buffer of the input whose new value it is.
  std::vector<Touch> touches_;
  std::vector<bool> may_fail_;  // By step.
  int last_failure_ = -1;
  absl::flat_hash_map<int, std::vector<ArgUse>> kernel_uses_;
  // For one step: the argument that views a buffer; kSeveral.
  const Step* looked_at_ = nullptr;
  absl::flat_hash_map<int, int> argument_of_;
};

const std::vector<ArgUse>& Placer::KernelUses(int kernel) {
  const auto [it, fresh] = kernel_uses_.try_emplace(kernel);
  if (fresh) it->second = UsesOf(plan_.kernels[kernel]);
  return it->second;
}

void Placer::LookAt(int s) {
  const Step& step = plan_.steps[s];
  if (looked_at_ == &step) return;
  looked_at_ = &step;
  argument_of_.clear();
  int number = 0;
  for (const auto* views : {&step.args, &step.results}) {
    for (const View& v : *views) {
      if (!v.present()) continue;
      const auto [it, fresh] = argument_of_.try_emplace(v.buffer, number);
      if (!fresh) it->second = kSeveral;
      ++number;
    }
  }
}

// A kernel's views are all present: its arguments.
bool Placer::ReadsWhereItStores(int s, int input, int output) {
  const Step& step = plan_.steps[s];
  LookAt(s);
  const int from = argument_of_.at(input);
  const int to = argument_of_.at(output);
  if (from < 0 || to < 0) return false;
  if (step.updates >= 0) {
    return from == step.updates && step.results[0].buffer == output &&
           step.args[from].offset == step.results[0].offset;
  }
  if (step.kind != StepKind::kKernel) return false;
  const ArgUse& load = KernelUses(step.kernel)[from];
  const ArgUse& store = KernelUses(step.kernel)[to];
  if (load.count == 0) return true;
  const SymInt from_offset = step.args[from].offset;
  const SymInt to_offset = step.results[to - step.args.size()].offset;
  return load.nest >= 0 && load.nest == store.nest && store.count == 1 && load.one_place &&
         store.one_place && store.access->guards.empty() && load.last_stage <= store.last_stage &&
         from_offset + load.access->offset == to_offset + store.access->offset &&
         load.access->strides == store.access->strides;
}

std::string Placer::WhyNot(int buffer) {
  const int input = replaced_[buffer];
  const Buffer& to = plan_.buffers[buffer];
  const Buffer& from = plan_.buffers[input];
  const Touch& touch = touches_[buffer];
  const int read = touches_[input].last_read;
  if (to.kind != BufferKind::kOutput || touch.first_write < 0) return "nothing writes it";
  if (to.dtype != from.dtype || !sizes_.Equal(to.numel, from.numel)) {
    return "its size may be another one";
  }
  if (read > touch.first_write) return absl::StrCat(NodeOf(read), " reads the input later");
  const bool checks_first = plan_.steps[touch.first_write].updates >= 0;
  if (last_failure_ > touch.first_write || (last_failure_ == touch.first_write && !checks_first)) {
    return absl::StrCat(NodeOf(last_failure_), " may fail later");
  }
  if (read == touch.first_write && !ReadsWhereItStores(read, input, buffer)) {
    return absl::StrCat(NodeOf(read), " reads the input elsewhere than it writes");
  }
  return "";
}

// True if its results are write-backs that are not read, and it would be legal as the last step but
// is not at its present place.
bool Placer::MaySink(int s) {
  const Step& step = plan_.steps[s];
  const bool plain = step.kind == StepKind::kKernel || step.kind == StepKind::kCopy;
  if (!plain || step.results.empty() || may_fail_[s]) return false;
  bool helps = last_failure_ > s;
  for (const View& v : step.results) {
    if (!v.present() || replaced_[v.buffer] < 0) return false;
    const Touch& touch = touches_[v.buffer];
    if (touch.last_read >= 0 || touch.first_write != touch.last_write) return false;
    const int input = replaced_[v.buffer];
    const bool reads = std::any_of(step.args.begin(), step.args.end(),
                                   [&](const View& arg) { return arg.buffer == input; });
    if (reads && !ReadsWhereItStores(s, input, v.buffer)) return false;
    helps = helps || touches_[input].last_read > s;
  }
  return helps;
}

bool Placer::Sink() {
  std::vector<Step> stay;
  std::vector<Step> sink;
  std::vector<bool> sinks;
  for (size_t s = 0; s < plan_.steps.size(); ++s) sinks.push_back(MaySink(static_cast<int>(s)));
  for (size_t s = 0; s < plan_.steps.size(); ++s) {
    (sinks[s] ? sink : stay).push_back(std::move(plan_.steps[s]));
  }
  const bool any = !sink.empty();
  std::move(sink.begin(), sink.end(), std::back_inserter(stay));
  plan_.steps = std::move(stay);
  looked_at_ = nullptr;
  return any;
}

}  // namespace

void PlaceWriteBacks(const Graph& graph, Plan* plan) {
  if (!graph.write_backs().empty()) Placer(graph, plan).Run();
}

}  // namespace weft
