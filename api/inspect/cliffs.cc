#include "api/inspect/cliffs.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/printable.h"
#include "base/status_macros.h"
#include "graph/cost/cost.h"
#include "graph/ir/attrs.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ops/control.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "lowering/kernel_cost.h"
#include "lowering/lower.h"
#include "lowering/plan.h"
#include "lowering/plan_facts.h"
#include "lowering/schedule_kernel.h"
#include "lowering/step_cost.h"

namespace weft {
namespace {

// Nanoseconds of the reference for each operation, and each element that it reads or writes.
constexpr double kReferenceNs = 10;

constexpr double kUsualGbytes = 10;
constexpr double kUsualGhz = 3;

// Memory moves in lines of this size. Lines that a run of the lanes touches stay in a cache of
// kCacheBytes until the next run reads their other elements.
constexpr int64_t kLineBytes = 64;
constexpr int64_t kCacheBytes = int64_t{1} << 20;

// Vectors below which the ends of a run count.
constexpr int64_t kShortRun = 8;

constexpr int64_t kMaxTurns = int64_t{1} << 30;

// Values of a plan's symbols.
class Sizes {
 public:
  static absl::StatusOr<Sizes> Make(const SymbolTable& facts,
                                    const std::map<std::string, int64_t>& given) {
    Sizes sizes;
    for (const SymbolInfo& info : facts.symbols()) {
      const std::string name(info.symbol.name());
      const auto it = given.find(name);
      const auto usual = UsualSize(info.symbol, facts);
      sizes.values_[info.symbol] = it != given.end() ? it->second : usual.value_or(kUsualSize);
      sizes.by_name_[name] = sizes.values_[info.symbol];
    }
    for (const auto& [name, size] : given) {
      if (sizes.by_name_.count(name) > 0) continue;
      return absl::InvalidArgumentError(absl::StrCat("the plan has no size \"", name, "\""));
    }
    return sizes;
  }

  int64_t Of(SymInt size) const {
    if (!size.is_valid()) return 0;
    const auto value = Evaluate(size, [&](SymInt symbol) -> std::optional<int64_t> {
      const auto it = values_.find(symbol);
      return it == values_.end() ? kUsualSize : it->second;
    });
    return std::max<int64_t>(value.value_or(0), 0);
  }
  // Signed, for strides.
  int64_t Stride(SymInt stride) const { return std::max(Of(stride), Of(SymInt(0) - stride)); }

  const std::map<std::string, int64_t>& by_name() const { return by_name_; }

 private:
  absl::flat_hash_map<SymInt, int64_t> values_;
  std::map<std::string, int64_t> by_name_;
};

// What a kernel takes, in nanoseconds, apart from the bytes of its arguments.
struct KernelTime {
  double instructions = 0;
  double lines = 0;  // Of bytes that lie in lines of memory between those that are used.
  int spread = -1;   // The argument with most of these; -1: none.
  // Of the nest that takes longest:
  int64_t functions = 0;  // Functions and divisions for each point.
  int64_t divisions = 0;
  bool functions_dominate = false;
  int64_t run = 0;         // Elements along the lanes.
  bool moves_only = true;  // It computes nothing, ...
  bool converts = false;   // ... but converts elements.
};

class Predictor {
 public:
  Predictor(const Target& target, const CliffOptions& options, Sizes sizes, CliffReport* report)
      : target_(target), options_(options), sizes_(std::move(sizes)), report_(*report) {
    report_.target = target.name;
    report_.sizes = sizes_.by_name();
    report_.gbytes = options.gbytes > 0 ? options.gbytes : kUsualGbytes;
    report_.gflops = options.gflops > 0 ? options.gflops : kUsualGhz * 2.0 * LanesOf(target);
  }

  void Run(const Plan& main) {
    std::vector<std::pair<const Plan*, int64_t>> work = {{&main, 1}};
    while (!work.empty()) {
      const auto [plan, turns] = work.back();
      work.pop_back();
      for (size_t s = 0; s < plan->steps.size(); ++s) {
        const Step& step = plan->steps[s];
        Judge(*plan, static_cast<int>(s), turns);
        const int64_t inner = std::min(turns * TurnsOf(step), kMaxTurns);
        for (const auto& region : step.regions) work.emplace_back(region.get(), inner);
      }
    }
    std::stable_sort(report_.cliffs.begin(), report_.cliffs.end(),
                     [](const Cliff& a, const Cliff& b) { return a.us > b.us; });
  }

 private:
  int64_t TurnsOf(const Step& step) const {
    if (step.op != &ops::scan) return 1;
    const auto first =
        static_cast<size_t>(ops::ScanAttrView(Attrs(step.schema, step.attrs)).num_carried());
    if (first >= step.args.size() || step.args[first].type.rank() == 0) return 1;
    return std::clamp<int64_t>(sizes_.Of(step.args[first].type.dim(0)), 1, kMaxTurns);
  }

  void Judge(const Plan& plan, int index, int64_t turns) {
    const Step& step = plan.steps[index];
    ++report_.steps;
    if (step.kind == StepKind::kControl) return;
    const StepCost cost = CostOf(plan, step);
    Cliff cliff;
    cliff.plan = plan.name;
    cliff.step = index;
    cliff.turns = turns;
    cliff.bytes = sizes_.Of(cost.bytes);
    cliff.flops = sizes_.Of(cost.flops);
    const double memory = static_cast<double>(cliff.bytes) / report_.gbytes;
    const double operations = static_cast<double>(cliff.flops) / report_.gflops;
    double ns = std::max(memory, operations);
    cliff.roofline_us = ns;
    bool is_cliff = false;
    switch (step.kind) {
      case StepKind::kReference:
        is_cliff = true;
        ns = std::max(ns, kReferenceNs * ReferenceWork(step, cliff.flops));
        DescribeReference(step, &cliff);
        break;
      case StepKind::kCopy:
        is_cliff = cliff.bytes >= options_.least_bytes;
        DescribeCopy(plan, step, &cliff);
        break;
      case StepKind::kKernel:
        is_cliff = JudgeKernel(plan, step, memory, &ns, &cliff);
        break;
      case StepKind::kLibrary:
      case StepKind::kControl:
        break;
    }
    const double scale = static_cast<double>(turns) / 1000;
    report_.us += ns * scale;
    if (!is_cliff || (cliff.kind == CliffKind::kSlow && ns * scale < options_.least_us)) return;
    cliff.us = ns * scale;
    cliff.roofline_us *= scale;
    cliff.bytes = Times(cliff.bytes, turns);
    cliff.flops = Times(cliff.flops, turns);
    if (step.source != nullptr) cliff.sources = step.source->nodes;
    report_.cliffs.push_back(std::move(cliff));
  }

  static int64_t Times(int64_t number, int64_t turns) {
    constexpr int64_t kMost = int64_t{1} << 62;
    return number > kMost / turns ? kMost : number * turns;
  }

  double ReferenceWork(const Step& step, int64_t flops) const {
    double elements = 0;
    for (const std::vector<View>* views : {&step.args, &step.results}) {
      for (const View& view : *views) {
        if (view.present()) elements += static_cast<double>(sizes_.Of(view.type.numel()));
      }
    }
    return elements + static_cast<double>(flops);
  }

  void DescribeReference(const Step& step, Cliff* cliff) const {
    cliff->kind = CliffKind::kReference;
    cliff->what = absl::StrCat("reference ", step.op_name);
    std::string routine;
    for (const Routine& candidate : target_.routines) {
      const bool has = std::find(candidate.ops.begin(), candidate.ops.end(), step.op_name) !=
                       candidate.ops.end();
      if (has && routine.empty()) routine = candidate.name;
    }
    cliff->reason = routine.empty()
                        ? absl::StrCat(target_.name, " has no routine for ", step.op_name)
                        : absl::StrCat("the routine ", routine, " of ", target_.name,
                                       " does not take these types, sizes or attributes");
    if (!step.remark.empty()) absl::StrAppend(&cliff->reason, "; ", step.remark);
  }

  static std::string Megabytes(int64_t bytes) {
    return absl::StrFormat("%.3g MB", static_cast<double>(bytes) / 1e6);
  }

  static void DescribeCopy(const Plan& plan, const Step& step, Cliff* cliff) {
    cliff->kind = CliffKind::kCopy;
    cliff->what = "copy";
    std::string why = step.remark;
    if (why.empty() && !step.results.empty() && step.results[0].present()) {
      const bool output = plan.buffers[step.results[0].buffer].kind == BufferKind::kOutput;
      why = output ? "an output has memory of its own" : "it becomes a part of a larger tensor";
    }
    cliff->reason = absl::StrCat(Megabytes(cliff->bytes), " read and written: ", why);
  }

  // True if the kernel is a cliff.
  bool JudgeKernel(const Plan& plan, const Step& step, double memory, double* ns, Cliff* cliff) {
    const Kernel& kernel = plan.kernels[step.kernel];
    cliff->what = absl::StrCat("kernel @", kernel.name);
    const KernelTime time = TimeOf(plan, step);
    if (time.moves_only && cliff->bytes >= options_.least_bytes) {
      cliff->kind = CliffKind::kCopy;
      cliff->reason =
          absl::StrCat(Megabytes(cliff->bytes), " read and written by a kernel that only ",
                       time.converts ? "converts" : "moves", " elements");
      *ns = std::max(*ns, memory + time.lines);
      return true;
    }
    *ns = std::max({*ns, memory + time.lines, time.instructions});
    if (cliff->roofline_us >= options_.least_share * *ns) return false;
    cliff->kind = CliffKind::kSlow;
    if (memory + time.lines >= time.instructions) {
      cliff->reason = absl::StrCat("elements of ", NameOf(plan, step, time.spread),
                                   " lie apart in memory along the lanes");
    } else if (time.functions_dominate) {
      cliff->reason = absl::StrCat(time.functions, " functions and ", time.divisions,
                                   " divisions for each point");
    } else if (time.run < kShortRun * LanesOf(target_)) {
      cliff->reason = absl::StrCat("the loop along the lanes has ", time.run, " elements");
    } else {
      cliff->reason = "elements are loaded or stored one by one";
    }
    return true;
  }

  // The buffer of an argument of the kernel.
  static std::string NameOf(const Plan& plan, const Step& step, int arg) {
    const int loaded = static_cast<int>(step.args.size());
    const View& view = arg < loaded ? step.args[arg] : step.results[arg - loaded];
    return absl::StrCat("%", PrintableName(plan.buffers[view.buffer].name));
  }

  KernelTime TimeOf(const Plan& plan, const Step& step) const {
    const Kernel& kernel = plan.kernels[step.kernel];
    // A vector instruction takes as long as the multiply-add of a vector.
    const double vector_ns = 2.0 * LanesOf(target_) / report_.gflops;
    KernelTime time;
    double longest = 0, most_spread = 0;
    for (size_t n = 0; n < kernel.nests.size(); ++n) {
      const Nest& nest = kernel.nests[n];
      NestFacts facts = CollectNest(nest, &FactsOf(plan));
      double points = 1;
      for (int l = 0; l < facts.loops(); ++l) {
        const int64_t extent = sizes_.Of(ExtentOf(nest, l));
        facts.extents[l] = std::max<int64_t>(extent, 1);
        points *= static_cast<double>(extent);
      }
      const int lane_loop =
          n < kernel.schedule.nests.size() ? kernel.schedule.nests[n].lane_loop : -1;
      const double ns = points * CostOfPoint(facts, lane_loop, target_) / 100 * vector_ns;
      time.instructions += ns;
      if (ns >= longest) {
        longest = ns;
        DescribeNest(facts, lane_loop, &time);
      }
      for (const Stage& stage : nest.stages) AddMoves(kernel, stage, &time);
      AddLines(kernel, nest, facts, lane_loop, &most_spread, &time);
    }
    return time;
  }

  void DescribeNest(const NestFacts& facts, int lane_loop, KernelTime* time) const {
    NestFacts plain = facts;
    time->functions = time->divisions = 0;
    for (StageFacts& stage : plain.stages) {
      if (stage.per_row) continue;
      time->functions += stage.functions;
      time->divisions += stage.divisions;
      stage.functions = stage.divisions = 0;
    }
    time->functions_dominate =
        CostOfPoint(plain, lane_loop, target_) < CostOfPoint(facts, lane_loop, target_) / 2;
    time->run = lane_loop < 0 ? 1 : facts.extents[lane_loop];
  }

  // Does the stage store anything but elements that it loaded, and constants?
  static void AddMoves(const Kernel& kernel, const Stage& stage, KernelTime* time) {
    constexpr int kComputed = -1, kConstant = -2;
    std::vector<int> from;  // By instruction: the argument that its value was loaded from.
    for (const Instr& instr : stage.body) {
      int source = kComputed;
      if (instr.op == ScalarOp::kLoad) source = instr.access.arg;
      if (instr.op == ScalarOp::kConst) source = kConstant;
      if (instr.op == ScalarOp::kConvert || instr.op == ScalarOp::kRound) {
        source = from[instr.operands[0]];
      }
      if (instr.op == ScalarOp::kSelect) {
        const int a = from[instr.operands[1]], b = from[instr.operands[2]];
        source = std::min(a, b) == kConstant ? std::max(a, b) : std::min(a, b);
      }
      from.push_back(source);
    }
    time->moves_only = time->moves_only && stage.reductions.empty() && stage.keeps.empty();
    for (const Store& store : stage.stores) {
      const int source = from[store.value];
      if (source == kComputed) time->moves_only = false;
      if (source < 0) continue;
      time->converts =
          time->converts || kernel.args[source].dtype != kernel.args[store.access.arg].dtype;
    }
  }

  static SymInt ExtentOf(const Nest& nest, int loop) {
    const int outer = static_cast<int>(nest.outer.size());
    return loop < outer ? nest.outer[loop] : nest.inner[loop - outer];
  }

  // Adds what accesses take that use a part of each line.
  void AddLines(const Kernel& kernel, const Nest& nest, const NestFacts& facts, int lane_loop,
                double* most, KernelTime* time) const {
    for (const Stage& stage : nest.stages) {
      if (stage.per_row) continue;
      for (const Instr& instr : stage.body) {
        if (instr.op != ScalarOp::kLoad || !instr.access.terms.empty()) continue;
        AddLines(kernel, instr.access, facts, lane_loop, most, time);
      }
      for (const Store& store : stage.stores) {
        AddLines(kernel, store.access, facts, lane_loop, most, time);
      }
    }
  }

  void AddLines(const Kernel& kernel, const Access& access, const NestFacts& facts, int lane_loop,
                double* most, KernelTime* time) const {
    if (lane_loop < 0 || access.arg < 0) return;
    const int64_t element = std::max(DTypeBits(kernel.args[access.arg].dtype) / 8, 1);
    int64_t least = kLineBytes;  // The smallest step, in elements.
    double elements = 1;
    for (int l = 0; l < facts.loops(); ++l) {
      const int64_t stride = sizes_.Stride(access.strides[l]);
      if (stride == 0 || facts.extents[l] <= 1) continue;
      elements *= static_cast<double>(facts.extents[l]);
      // A run along the lanes that leaves the cache brings each line once for each element.
      const int64_t lane_stride = sizes_.Stride(access.strides[lane_loop]);
      const bool leaves = l != lane_loop && lane_stride * element >= kLineBytes &&
                          facts.extents[lane_loop] > kCacheBytes / kLineBytes;
      if (!leaves) least = std::min(least, stride);
    }
    const double used = static_cast<double>(element);
    const double moved = static_cast<double>(std::min(kLineBytes, least * element));
    const double ns = elements * (moved - used) / report_.gbytes;
    if (ns <= 0) return;
    time->lines += ns;
    if (ns <= *most) return;
    *most = ns;
    time->spread = access.arg;
  }

  const Target& target_;
  const CliffOptions& options_;
  const Sizes sizes_;
  CliffReport& report_;
};

}  // namespace

absl::string_view CliffKindName(CliffKind kind) {
  switch (kind) {
    case CliffKind::kReference:
      return "reference";
    case CliffKind::kCopy:
      return "copy";
    case CliffKind::kSlow:
      return "slow";
  }
  return "";
}

absl::StatusOr<CliffReport> PredictCliffs(const Plan& plan, const Target& target,
                                          const CliffOptions& options) {
  WEFT_ASSIGN_OR_RETURN(Sizes sizes, Sizes::Make(FactsOf(plan), options.sizes));
  CliffReport report;
  Predictor(target, options, std::move(sizes), &report).Run(plan);
  return report;
}

absl::StatusOr<CliffReport> PredictCliffs(const Module& module, const Target& target,
                                          const CliffOptions& options) {
  WEFT_RETURN_IF_ERROR(CheckHasMain(module));
  WEFT_ASSIGN_OR_RETURN(const Plan plan, Lower(*module.main(), target));
  return PredictCliffs(plan, target, options);
}

}  // namespace weft
