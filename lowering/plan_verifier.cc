#include "lowering/plan_verifier.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/sym/sym_facts.h"
#include "lowering/finish_kernel.h"
#include "lowering/plan_constants.h"
#include "lowering/plan_facts.h"
#include "lowering/plan_ops.h"
#include "lowering/write_backs_check.h"

namespace weft {
namespace {

template <typename... Pieces>
absl::Status Invalid(const Pieces&... pieces) {
  return absl::InvalidArgumentError(absl::StrCat(pieces...));
}

// The range of offsets along some dims. A view that may have no elements leaves no buffer.
class Reach {
 public:
  Reach(const SymbolTable& symbols, SymInt offset)
      : symbols_(symbols), lowest_(offset), highest_(offset) {}

  void Add(SymInt stride, SymInt size) {
    const SymRange range = symbols_.RangeOf(size);
    // Sizes that may be 0 prove nothing.
    if (range.min < 1) may_be_empty_ = true;
    const SymInt step = stride * (size - 1);
    const SymRange sign = symbols_.RangeOf(stride);
    if (sign.min >= 0) {
      highest_ = highest_ + step;
    } else if (sign.max <= 0) {
      lowest_ = lowest_ + step;
    }
  }

  bool Leaves(SymInt numel) const {
    if (may_be_empty_) return false;
    return symbols_.ProveLt(highest_, numel) == Proof::kNo ||
           symbols_.ProveLe(0, lowest_) == Proof::kNo;
  }

 private:
  const SymbolTable& symbols_;
  SymInt lowest_;
  SymInt highest_;
  bool may_be_empty_ = false;
};

class Verifier {
 public:
  explicit Verifier(const Plan& plan)
      : plan_(plan), symbols_(FactsOf(plan)), written_(plan.buffers.size(), false) {}

  absl::Status Run() {
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const Buffer& buffer = plan_.buffers[b];
      if (!buffer.numel.is_valid()) {
        return Invalid("buffer %", buffer.name, " has no size");
      }
      WEFT_RETURN_IF_ERROR(CheckMemory(static_cast<int>(b)));
      written_[b] = buffer.kind == BufferKind::kInput || buffer.kind == BufferKind::kConstant;
    }
    for (const PlanCondition& c : plan_.conditions) {
      if (!c.condition.is_valid() || c.condition.Is(0)) {
        return Invalid("condition ", c.condition.ToString(), " never holds");
      }
    }
    for (const Kernel& k : plan_.kernels) WEFT_RETURN_IF_ERROR(VerifyKernel(k));
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      absl::Status status = CheckStep(plan_.steps[s]);
      if (!status.ok()) {
        return Invalid("step ", s, " (node ", plan_.steps[s].node, "): ", status.message());
      }
    }
    for (const View& v : plan_.output_views) {
      WEFT_RETURN_IF_ERROR(CheckView(v));
      if (v.present() && !written_[v.buffer] && !v.type.numel().Is(0)) {
        return Invalid("output %", plan_.buffers[v.buffer].name, " is not written");
      }
    }
    return CheckWriteBacks(plan_);
  }

 private:
  // Memory of the caller, or of a constant, must be as large as the buffer.
  absl::Status CheckMemory(int b) const {
    const Buffer& buffer = plan_.buffers[b];
    if (buffer.kind == BufferKind::kTemporary) return absl::OkStatus();
    if (buffer.kind == BufferKind::kConstant) {
      const PlanConstant* constant = FindConstant(plan_, buffer.index);
      if (constant == nullptr || constant->tensor.dtype() != buffer.dtype ||
          !buffer.numel.Is(constant->tensor.numel())) {
        return Invalid("%", buffer.name, " is not as constant ", buffer.index);
      }
      return absl::OkStatus();
    }
    const bool input = buffer.kind == BufferKind::kInput;
    const std::vector<View>& views = input ? plan_.input_views : plan_.output_views;
    const bool there = buffer.index >= 0 && buffer.index < static_cast<int>(views.size()) &&
                       views[buffer.index].buffer == b;
    const Type type = there ? views[buffer.index].type : Type();
    if (!there || !type.is_tensor() || (input && buffer.numel != type.numel())) {
      return Invalid("%", buffer.name, " is not as ", input ? "input " : "output ", buffer.index);
    }
    return absl::OkStatus();
  }

  absl::Status CheckView(const View& v) const {
    if (!v.present()) return absl::OkStatus();
    if (v.buffer >= static_cast<int>(plan_.buffers.size())) {
      return Invalid("there is no buffer ", v.buffer);
    }
    const Buffer& buffer = plan_.buffers[v.buffer];
    if (!v.type.is_tensor() || v.type.dtype() != buffer.dtype) {
      return Invalid("a view of %", buffer.name, " has type ", v.type.ToString());
    }
    if (static_cast<int>(v.strides.size()) != v.type.rank()) {
      return Invalid("a view of %", buffer.name, " lacks strides");
    }
    Reach reach(symbols_, v.offset);
    for (int d = 0; d < v.type.rank(); ++d) {
      reach.Add(v.strides[d], v.type.dim(d));
    }
    if (reach.Leaves(buffer.numel)) {
      return Invalid("a view leaves %", buffer.name);
    }
    return absl::OkStatus();
  }

  absl::Status CheckStep(const Step& step) {
    for (const View& v : step.args) {
      WEFT_RETURN_IF_ERROR(CheckView(v));
      if (v.present() && !written_[v.buffer] && !v.type.numel().Is(0)) {
        return Invalid("%", plan_.buffers[v.buffer].name, " is read before it is written");
      }
    }
    for (const View& v : step.results) {
      WEFT_RETURN_IF_ERROR(CheckView(v));
      if (v.present()) WEFT_RETURN_IF_ERROR(CheckWrite(v));
    }
    if (step.kind == StepKind::kCopy) {
      if (step.args.size() != 1 || step.results.size() != 1 ||
          step.args[0].type != step.results[0].type) {
        return Invalid("a copy is between views of one type");
      }
      return absl::OkStatus();
    }
    if (step.kind == StepKind::kKernel) return CheckLaunch(step);
    if (step.schema == nullptr || step.attrs == nullptr) {
      return Invalid("the step has no op");
    }
    if (step.kind == StepKind::kLibrary && (step.results.empty() || !step.results[0].present())) {
      return Invalid("a routine has no result");
    }
    if (IsFinished(step)) WEFT_RETURN_IF_ERROR(CheckFinished(step));
    if (step.finds_sizes && (step.kind != StepKind::kLibrary || IsFinished(step) ||
                             !step.epilogue.empty() || step.updates >= 0)) {
      return Invalid("only a routine without an epilogue finds sizes");
    }
    for (const auto& region : step.regions) {
      WEFT_RETURN_IF_ERROR(VerifyPlan(*region));
    }
    for (const Epilogue& e : step.epilogue) {
      if (e.schema == nullptr || e.arg >= static_cast<int>(step.args.size())) {
        return Invalid("an epilogue has no op or no argument");
      }
      if (e.kind != Epilogue::Kind::kUnary && e.arg < 0) {
        return Invalid("an epilogue has no argument");
      }
    }
    if (step.accumulates >= 0 && AccumulatedArg(step) != step.accumulates) {
      return Invalid("the routine does not accumulate on argument ", step.accumulates);
    }
    if (step.updates >= 0 && UpdatedArg(step) != step.updates) {
      return Invalid("the routine does not update argument ", step.updates);
    }
    return absl::OkStatus();
  }

  absl::Status CheckWrite(const View& v) {
    const Buffer& buffer = plan_.buffers[v.buffer];
    if (buffer.kind == BufferKind::kInput || buffer.kind == BufferKind::kConstant) {
      return Invalid("%", buffer.name, " is not to be written");
    }
    written_[v.buffer] = true;
    if (v.type.numel().Is(0)) return absl::OkStatus();
    auto& places = places_[v.buffer];
    for (const SymInt offset : places) {
      if (offset == v.offset) {
        return Invalid("%", buffer.name, " is written twice at ", offset.ToString());
      }
    }
    // Concatenations have many operands, each of which is checked once.
    constexpr size_t kMaxPlaces = 64;
    if (places.size() < kMaxPlaces) places.push_back(v.offset);
    return absl::OkStatus();
  }

  absl::Status CheckLaunch(const Step& step) const {
    if (step.kernel < 0 || step.kernel >= static_cast<int>(plan_.kernels.size())) {
      return Invalid("there is no kernel ", step.kernel);
    }
    const Kernel& kernel = plan_.kernels[step.kernel];
    std::vector<const View*> views;
    for (const View& v : step.args) views.push_back(&v);
    for (const View& v : step.results) views.push_back(&v);
    if (views.size() != kernel.args.size()) {
      return Invalid("kernel @", kernel.name, " has ", kernel.args.size(), " arguments, not ",
                     views.size());
    }
    return CheckArguments(kernel, views, step.args.size());
  }

  absl::Status CheckFinished(const Step& step) const {
    if (step.kernel >= static_cast<int>(plan_.kernels.size())) {
      return Invalid("there is no kernel ", step.kernel);
    }
    const Kernel& kernel = plan_.kernels[step.kernel];
    const int own = NumOwnArgs(plan_, step);
    if (step.results.size() != 1 || !step.epilogue.empty() || own < 0 ||
        own < step.schema->num_fixed_operands()) {
      return Invalid("kernel @", kernel.name, " does not finish this routine's result");
    }
    const absl::Status status = CheckFinish(kernel, step.results[0].type.dims());
    if (!status.ok()) return Invalid("kernel @", kernel.name, ": ", status.message());
    std::vector<const View*> views = {nullptr};
    for (size_t i = own; i < step.args.size(); ++i) views.push_back(&step.args[i]);
    views.push_back(&step.results[0]);
    return CheckArguments(kernel, views, views.size() - 1);
  }

  // Null stands for an argument without a view. Those before `reads` are read.
  absl::Status CheckArguments(const Kernel& kernel, const std::vector<const View*>& views,
                              size_t reads) const {
    for (size_t i = 0; i < views.size(); ++i) {
      if (views[i] == nullptr) continue;
      if (!views[i]->present() || views[i]->type.dtype() != kernel.args[i].dtype ||
          kernel.args[i].written != (i >= reads)) {
        return Invalid("argument ", i, " of kernel @", kernel.name, " is ",
                       views[i]->type.ToString());
      }
    }
    for (const Nest& nest : kernel.nests) {
      for (const Stage& stage : nest.stages) {
        for (const Instr& i : stage.body) {
          if (i.op != ScalarOp::kLoad || !i.access.guards.empty()) continue;
          if (views[i.access.arg] == nullptr) continue;
          WEFT_RETURN_IF_ERROR(CheckAccess(nest, *views[i.access.arg], i.access));
        }
        for (const Store& s : stage.stores) {
          WEFT_RETURN_IF_ERROR(CheckAccess(nest, *views[s.access.arg], s.access));
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckAccess(const Nest& nest, const View& view, const Access& access) const {
    Reach reach(symbols_, view.offset + access.offset);
    for (size_t l = 0; l < access.strides.size(); ++l) {
      const size_t outer = nest.outer.size();
      reach.Add(access.strides[l], l < outer ? nest.outer[l] : nest.inner[l - outer]);
    }
    for (const IndexTerm& t : access.terms) reach.Add(t.stride, t.bound);
    const Buffer& buffer = plan_.buffers[view.buffer];
    // Terms may not reach the ends of their bounds.
    if (access.terms.empty() && reach.Leaves(buffer.numel)) {
      return Invalid("a kernel leaves %", buffer.name);
    }
    return absl::OkStatus();
  }

  const Plan& plan_;
  const SymbolTable& symbols_;
  std::vector<bool> written_;
  absl::flat_hash_map<int, std::vector<SymInt>> places_;
};

}  // namespace

namespace {

// Runtimes place the instructions of bodies into kernels of their own.
absl::Status CheckScalarBodies(const Plan& plan) {
  if (plan.ops == nullptr) return absl::OkStatus();
  for (const ScalarBody& body : plan.ops->bodies) {
    const Kernel& kernel = body.kernel;
    WEFT_RETURN_IF_ERROR(VerifyKernel(kernel));
    const bool one = kernel.nests.size() == 1 && kernel.nests[0].outer.empty() &&
                     kernel.nests[0].inner.empty() && kernel.nests[0].stages.size() == 1;
    if (!one || kernel.args.size() < 2 || kernel.args.size() > 3) {
      return Invalid("the body of ", body.op, " is not for single elements");
    }
    for (size_t i = 0; i < kernel.args.size(); ++i) {
      const bool last = i + 1 == kernel.args.size();
      if (kernel.args[i].dtype == body.dtype && kernel.args[i].written == last) continue;
      return Invalid("argument ", i, " of the body of ", body.op, " is another one");
    }
    const Stage& stage = kernel.nests[0].stages[0];
    bool plain = stage.stores.size() == 1 && stage.reductions.empty() && stage.keeps.empty();
    for (const Instr& i : stage.body) {
      plain = plain && i.op != ScalarOp::kSize && i.access.guards.empty() && i.access.terms.empty();
    }
    if (!plain) return Invalid("the body of ", body.op, " has more than instructions on elements");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status VerifyPlan(const Plan& plan) {
  absl::Status status = CheckScalarBodies(plan);
  if (status.ok()) status = Verifier(plan).Run();
  if (status.ok()) return status;
  return Invalid("plan @", plan.name, ", ", status.message());
}

}  // namespace weft
