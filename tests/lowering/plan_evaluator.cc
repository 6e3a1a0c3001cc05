#include "tests/lowering/plan_evaluator.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/host_buffer.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/module.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_eval.h"
#include "graph/ir/op_schema.h"
#include "graph/ops/evaluate.h"
#include "graph/ops/ops.h"
#include "graph/ops/support/eval.h"
#include "graph/sym/sym_expr.h"
#include "lowering/finish_kernel.h"
#include "lowering/kernel_body.h"
#include "lowering/memory_plan.h"
#include "lowering/plan_constants.h"
#include "lowering/plan_facts.h"

namespace weft {
namespace {

using Env = std::map<std::string, int64_t>;

absl::StatusOr<int64_t> Value(SymInt s, const Env& env) {
  const auto v = Evaluate(s, [&](SymInt symbol) -> std::optional<int64_t> {
    const auto it = env.find(std::string(symbol.name()));
    if (it == env.end()) return std::nullopt;
    return it->second;
  });
  if (!v) return absl::InternalError(absl::StrCat("no value of ", s.ToString()));
  return *v;
}

void Bind(Type type, const HostTensor& t, Env* env) {
  if (type.is_symint()) {
    if (type.symint().is_symbol()) {
      (*env)[std::string(type.symint().name())] = t.IntAt(0);
    }
    return;
  }
  if (!type.is_tensor()) return;
  for (int d = 0; d < type.rank(); ++d) {
    const SymInt dim = type.dim(d);
    if (dim.is_symbol()) (*env)[std::string(dim.name())] = t.dim(d);
    if (dim.kind() == SymInt::Kind::kProduct && dim.args().size() == 1 &&
        dim.args()[0].is_symbol()) {
      (*env)[std::string(dim.args()[0].name())] = t.dim(d) / dim.coefficient();
    }
  }
}

struct Element {
  double d = 0;
  int64_t i = 0;
};

bool IsReal(DType t) { return IsFloat(t); }

Element Fit(Element e, DType t) {
  if (t == DType::kF32) e.d = static_cast<float>(e.d);
  if (t == DType::kBool) e.i = e.i != 0;
  const int bits = DTypeBits(t);
  if (!IsReal(t) && t != DType::kBool && bits < 64) {
    const uint64_t low = static_cast<uint64_t>(e.i) << (64 - bits);
    e.i = IsSignedInt(t) ? static_cast<int64_t>(low) >> (64 - bits)
                         : static_cast<int64_t>(low >> (64 - bits));
  }
  return e;
}

// One element through an op of the graph: what an instruction means.
absl::StatusOr<Element> ThroughOp(const OpDef& op, std::vector<NamedAttr> attrs,
                                  const std::vector<Element>& operands,
                                  const std::vector<DType>& dtypes, DType result) {
  std::vector<HostTensor> inputs;
  for (size_t k = 0; k < operands.size(); ++k) {
    inputs.push_back(IsReal(dtypes[k]) ? HostTensor::Scalar(dtypes[k], operands[k].d)
                                       : HostTensor::ScalarInt(dtypes[k], operands[k].i));
  }
  WEFT_ASSIGN_OR_RETURN(const AttrList* list, MakeAttrs(op, attrs));
  WEFT_ASSIGN_OR_RETURN(const auto out, Evaluate(op, list, inputs));
  if (out[0].dtype() != result) {
    return absl::InternalError(absl::StrCat(op.name(), " gives ", DTypeName(out[0].dtype())));
  }
  Element e;
  if (IsReal(result)) {
    e.d = out[0].DoubleAt(0);
  } else {
    e.i = out[0].IntAt(0);
  }
  return e;
}

const OpDef* OpOf(ScalarOp op) {
  static const auto* const table =
      new std::map<ScalarOp, const OpDef*>{{ScalarOp::kAdd, &ops::add},
                                           {ScalarOp::kSub, &ops::sub},
                                           {ScalarOp::kMul, &ops::mul},
                                           {ScalarOp::kRemainder, &ops::remainder},
                                           {ScalarOp::kFmod, &ops::fmod},
                                           {ScalarOp::kPow, &ops::pow},
                                           {ScalarOp::kAtan2, &ops::atan2},
                                           {ScalarOp::kMinimum, &ops::minimum},
                                           {ScalarOp::kMaximum, &ops::maximum},
                                           {ScalarOp::kNeg, &ops::neg},
                                           {ScalarOp::kAbs, &ops::abs},
                                           {ScalarOp::kSign, &ops::sign},
                                           {ScalarOp::kBitAnd, &ops::bitwise_and},
                                           {ScalarOp::kBitOr, &ops::bitwise_or},
                                           {ScalarOp::kBitXor, &ops::bitwise_xor},
                                           {ScalarOp::kBitNot, &ops::bitwise_not},
                                           {ScalarOp::kShiftLeft, &ops::bitwise_left_shift},
                                           {ScalarOp::kShiftRight, &ops::bitwise_right_shift},
                                           {ScalarOp::kExp, &ops::exp},
                                           {ScalarOp::kExpm1, &ops::expm1},
                                           {ScalarOp::kLog, &ops::log},
                                           {ScalarOp::kLog2, &ops::log2},
                                           {ScalarOp::kLog1p, &ops::log1p},
                                           {ScalarOp::kSqrt, &ops::sqrt},
                                           {ScalarOp::kRsqrt, &ops::rsqrt},
                                           {ScalarOp::kReciprocal, &ops::reciprocal},
                                           {ScalarOp::kSin, &ops::sin},
                                           {ScalarOp::kCos, &ops::cos},
                                           {ScalarOp::kTan, &ops::tan},
                                           {ScalarOp::kAsin, &ops::asin},
                                           {ScalarOp::kAcos, &ops::acos},
                                           {ScalarOp::kAtan, &ops::atan},
                                           {ScalarOp::kSinh, &ops::sinh},
                                           {ScalarOp::kCosh, &ops::cosh},
                                           {ScalarOp::kTanh, &ops::tanh},
                                           {ScalarOp::kAsinh, &ops::asinh},
                                           {ScalarOp::kAcosh, &ops::acosh},
                                           {ScalarOp::kAtanh, &ops::atanh},
                                           {ScalarOp::kErf, &ops::erf},
                                           {ScalarOp::kLgamma, &ops::lgamma},
                                           {ScalarOp::kSigmoid, &ops::sigmoid},
                                           {ScalarOp::kFloor, &ops::floor},
                                           {ScalarOp::kCeil, &ops::ceil},
                                           {ScalarOp::kRoundEven, &ops::round},
                                           {ScalarOp::kTrunc, &ops::trunc},
                                           {ScalarOp::kEq, &ops::eq},
                                           {ScalarOp::kNe, &ops::ne},
                                           {ScalarOp::kLt, &ops::lt},
                                           {ScalarOp::kLe, &ops::le},
                                           {ScalarOp::kGt, &ops::gt},
                                           {ScalarOp::kGe, &ops::ge},
                                           {ScalarOp::kNot, &ops::logical_not},
                                           {ScalarOp::kAnd, &ops::logical_and},
                                           {ScalarOp::kOr, &ops::logical_or},
                                           {ScalarOp::kXor, &ops::logical_xor},
                                           {ScalarOp::kIsNan, &ops::isnan},
                                           {ScalarOp::kIsInf, &ops::isinf}};
  const auto it = table->find(op);
  return it == table->end() ? nullptr : it->second;
}

HostTensor Copy(const HostTensor& t) {
  HostTensor copy(t.dtype(), t.dims());
  const HostTensor dense = t.Contiguous();
  if (t.numel() > 0) std::memcpy(copy.raw(), dense.raw(), dense.bytes());
  return copy;
}

class PlanRun {
 public:
  explicit PlanRun(const Plan& plan) : plan_(plan) {}

  absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor> inputs) {
    memory_.resize(plan_.buffers.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      Bind(plan_.inputs[i].type, inputs[i], &env_);
      const int b = plan_.input_views[i].buffer;
      if (b >= 0) memory_[b] = Copy(inputs[i]);
    }
    // All inputs are given away.
    for (size_t b = 0; b < memory_.size(); ++b) {
      const int donor = plan_.buffers[b].donor;
      if (donor >= 0) memory_[b] = memory_[donor];
    }
    for (size_t b = 0; b < memory_.size(); ++b) {
      if (plan_.buffers[b].kind == BufferKind::kConstant) {
        memory_[b] = FindConstant(plan_, plan_.buffers[b].index)->tensor.Contiguous();
      }
    }
    WEFT_RETURN_IF_ERROR(PlaceTemporaries());
    for (const Step& step : plan_.steps) {
      absl::Status status = RunStep(step);
      if (!status.ok()) {
        return absl::Status(status.code(),
                            absl::StrCat("node ", step.node, ": ", status.message()));
      }
    }
    std::vector<HostTensor> outputs;
    for (const View& v : plan_.output_views) {
      WEFT_ASSIGN_OR_RETURN(outputs.emplace_back(), Read(v));
    }
    return outputs;
  }

 private:
  // In one arena full of other bytes, so that a layout or an in-place decision
  // that is wrong shows in the results.
  absl::Status PlaceTemporaries() {
    ArenaPlanner planner(plan_);
    const auto value_of = [&](SymInt s) -> std::optional<int64_t> {
      const auto v = Value(s, env_);
      return v.ok() ? std::optional<int64_t>(*v) : std::nullopt;
    };
    WEFT_ASSIGN_OR_RETURN(const auto layout, planner.Find(value_of));
    const auto arena = HostBuffer::Allocate(layout->arena_bytes + 1);
    std::memset(arena->data(), 0xA5, arena->size());
    for (size_t b = 0; b < memory_.size(); ++b) {
      if (layout->offsets[b] < 0) continue;
      const DType dtype = plan_.buffers[b].dtype;
      WEFT_ASSIGN_OR_RETURN(const int64_t n, Value(plan_.buffers[b].numel, env_));
      const int64_t first = layout->offsets[b] * 8 / DTypeBits(dtype);
      WEFT_ASSIGN_OR_RETURN(memory_[b], HostTensor::View(arena, dtype, {n}, {1}, first));
    }
    return absl::OkStatus();
  }

  absl::Status RunStep(const Step& step) {
    if (step.kind == StepKind::kKernel) return RunKernel(step);
    std::vector<HostTensor> args;
    for (const View& v : step.args) {
      HostTensor t;
      if (v.present() || v.type.is_symint()) {
        WEFT_ASSIGN_OR_RETURN(t, Read(v));
      }
      args.push_back(std::move(t));
    }
    if (step.kind == StepKind::kCopy) return Write(step.results[0], args[0]);
    const AttrList* attrs = step.attrs->Substitute([&](SymInt s) {
      const auto v = Value(s, env_);
      return v.ok() ? std::optional<SymInt>(*v) : std::nullopt;
    });
    const auto run = [&](int region, absl::Span<const HostTensor> inputs,
                         std::vector<HostTensor>* outputs) -> absl::Status {
      WEFT_ASSIGN_OR_RETURN(*outputs, RunPlan(*step.regions[region], inputs));
      return absl::OkStatus();
    };
    const size_t n = step.op->schema().has_variadic_operand() || step.epilogue.empty()
                         ? static_cast<size_t>(NumOwnArgs(plan_, step))
                         : step.op->schema().operands.size();
    std::vector<HostTensor> out;
    if (step.kind == StepKind::kControl) {
      Types types;
      for (const View& v : step.results) {
        types.push_back(v.type.Substitute([&](SymInt s) {
          const auto value = Value(s, env_);
          return value.ok() ? std::optional<SymInt>(*value) : std::nullopt;
        }));
      }
      EvalContext c(*step.op, attrs, args, types, run);
      WEFT_RETURN_IF_ERROR(step.op->eval()(c));
      out = c.TakeOutputs();
    } else {
      WEFT_ASSIGN_OR_RETURN(out,
                            Evaluate(*step.op, attrs, absl::MakeConstSpan(args).first(n), run));
    }
    for (const Epilogue& e : step.epilogue) {
      std::vector<HostTensor> operands = {out[0]};
      if (e.arg >= 0) operands.push_back(args[e.arg]);
      WEFT_ASSIGN_OR_RETURN(out, Evaluate(*e.op, e.attrs, operands));
    }
    if (IsFinished(step)) return RunFinish(step, n, out[0]);
    for (size_t r = 0; r < step.results.size(); ++r) {
      Bind(step.results[r].type, out[r], &env_);
    }
    for (size_t r = 0; r < step.results.size(); ++r) {
      if (!step.results[r].present()) continue;
      WEFT_RETURN_IF_ERROR(Write(step.results[r], out[r]));
    }
    return absl::OkStatus();
  }

  // Launches the step's kernel on the result of its op, in a buffer that the plan does not have.
  absl::Status RunFinish(const Step& step, size_t own, const HostTensor& unfinished) {
    const int64_t n = unfinished.numel();
    View view;
    view.buffer = static_cast<int>(memory_.size());
    view.type = step.results[0].type.WithDType(unfinished.dtype());
    view.strides = UnfinishedStrides(plan_.kernels[step.kernel]);
    memory_.push_back(HostTensor(unfinished.dtype(), {n}));
    Step launch;
    launch.kernel = step.kernel;
    launch.args = {view};
    launch.args.insert(launch.args.end(), step.args.begin() + own, step.args.end());
    launch.results = step.results;
    absl::Status status = Write(view, unfinished);
    if (status.ok()) status = RunKernel(launch);
    memory_.pop_back();
    return status;
  }

  absl::StatusOr<HostTensor*> Memory(int b) {
    if (!memory_[b].valid()) {
      WEFT_ASSIGN_OR_RETURN(const int64_t n, Value(plan_.buffers[b].numel, env_));
      memory_[b] = HostTensor(plan_.buffers[b].dtype, {n});
    }
    return &memory_[b];
  }

  // The row-major numbers of the view's elements in its buffer.
  absl::StatusOr<std::vector<int64_t>> Places(const View& v, std::vector<int64_t>* dims) {
    std::vector<int64_t> strides;
    for (int d = 0; d < v.type.rank(); ++d) {
      WEFT_ASSIGN_OR_RETURN(dims->emplace_back(), Value(v.type.dim(d), env_));
      WEFT_ASSIGN_OR_RETURN(strides.emplace_back(), Value(v.strides[d], env_));
    }
    WEFT_ASSIGN_OR_RETURN(const int64_t offset, Value(v.offset, env_));
    std::vector<int64_t> places = {offset};
    for (size_t d = 0; d < dims->size(); ++d) {
      std::vector<int64_t> next;
      for (int64_t p : places) {
        for (int64_t i = 0; i < (*dims)[d]; ++i) {
          next.push_back(p + i * strides[d]);
        }
      }
      places = std::move(next);
    }
    const int64_t n = memory_[v.buffer].numel();
    for (int64_t p : places) {
      if (p < 0 || p >= n) {
        return absl::InternalError(
            absl::StrCat("element ", p, " of buffer ", plan_.buffers[v.buffer].name));
      }
    }
    return places;
  }

  absl::StatusOr<HostTensor> Read(const View& v) {
    if (!v.present()) {
      WEFT_ASSIGN_OR_RETURN(const int64_t value, Value(v.type.symint(), env_));
      return HostTensor::ScalarInt(DType::kI64, value);
    }
    WEFT_ASSIGN_OR_RETURN(HostTensor * from, Memory(v.buffer));
    std::vector<int64_t> dims;
    WEFT_ASSIGN_OR_RETURN(const auto places, Places(v, &dims));
    HostTensor out(v.type.dtype(), dims);
    ops::Gather(from->Reshaped({from->numel()}), places, &out);
    return out;
  }

  absl::Status Write(const View& v, const HostTensor& t) {
    WEFT_ASSIGN_OR_RETURN(HostTensor * to, Memory(v.buffer));
    std::vector<int64_t> dims;
    WEFT_ASSIGN_OR_RETURN(const auto places, Places(v, &dims));
    if (static_cast<int64_t>(places.size()) != t.numel()) {
      return absl::InternalError("a result has another size");
    }
    ops::Scatter(t, places, to);
    return absl::OkStatus();
  }

  absl::Status RunKernel(const Step& step);

  friend class KernelRun;
  const Plan& plan_;
  Env env_;
  std::vector<HostTensor> memory_;
};

class KernelRun {
 public:
  KernelRun(PlanRun& run, const Step& step) : run_(run), kernel_(run.plan_.kernels[step.kernel]) {
    views_ = step.args;
    views_.insert(views_.end(), step.results.begin(), step.results.end());
  }

  absl::Status Run() {
    if (views_.size() != kernel_.args.size()) {
      return absl::InternalError("arguments and views differ in number");
    }
    for (const Nest& nest : kernel_.nests) {
      WEFT_RETURN_IF_ERROR(RunNest(nest));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status ForEach(const std::vector<SymInt>& extents, size_t loop, size_t base,
                       const std::function<absl::Status()>& body) {
    if (loop == extents.size()) return body();
    WEFT_ASSIGN_OR_RETURN(const int64_t n, Value(extents[loop], run_.env_));
    for (int64_t i = 0; i < n; ++i) {
      point_[base + loop] = i;
      WEFT_RETURN_IF_ERROR(ForEach(extents, loop + 1, base, body));
    }
    return absl::OkStatus();
  }

  absl::Status RunNest(const Nest& nest) {
    point_.assign(nest.outer.size() + nest.inner.size(), 0);
    return ForEach(nest.outer, 0, 0, [&]() -> absl::Status {
      reduced_.clear();
      rows_.assign(nest.rows.size(), {});
      for (const Stage& stage : nest.stages) {
        WEFT_RETURN_IF_ERROR(RunStage(nest, stage));
      }
      return absl::OkStatus();
    });
  }

  static Element Start(const Reduction& r) {
    const double inf = std::numeric_limits<double>::infinity();
    Element e;
    switch (r.op) {
      case ReduceOp::kProduct:
        return {1, 1};
      case ReduceOp::kMaximum:
        return {-inf, r.dtype == DType::kU64 ? 0 : IntMin(r.dtype)};
      case ReduceOp::kMinimum:
        return {inf, r.dtype == DType::kU64 ? -1 : IntMax(r.dtype)};
      case ReduceOp::kAnd:
        return {0, 1};
      default:
        return e;
    }
  }

  absl::Status RunStage(const Nest& nest, const Stage& stage) {
    std::vector<Element> acc;
    std::vector<Element> best(stage.reductions.size());
    for (const Reduction& r : stage.reductions) acc.push_back(Start(r));
    position_ = 0;
    const auto body = [&]() -> absl::Status {
      WEFT_RETURN_IF_ERROR(RunBody(nest, stage));
      for (const Keep& k : stage.keeps) {
        rows_[k.row].resize(position_ + 1);
        rows_[k.row][position_] = values_[k.value];
      }
      for (size_t r = 0; r < acc.size(); ++r) {
        WEFT_RETURN_IF_ERROR(
            Combine(stage.reductions[r], values_[stage.reductions[r].value], &acc[r], &best[r]));
      }
      for (const Store& s : stage.stores) {
        WEFT_RETURN_IF_ERROR(StoreTo(stage, s));
      }
      ++position_;
      return absl::OkStatus();
    };
    if (stage.per_row) {
      WEFT_RETURN_IF_ERROR(body());
    } else {
      WEFT_RETURN_IF_ERROR(ForEach(nest.inner, 0, nest.outer.size(), body));
    }
    for (size_t r = 0; r < acc.size(); ++r) {
      const Reduction& red = stage.reductions[r];
      reduced_.push_back(acc[r]);
      if (red.dtype == DType::kF32) {
        reduced_.back().d = static_cast<float>(acc[r].d);
      }
    }
    return absl::OkStatus();
  }

  absl::Status Combine(const Reduction& r, Element v, Element* acc, Element* best) {
    const bool real = IsReal(r.dtype);
    const bool arg = r.op == ReduceOp::kArgMax || r.op == ReduceOp::kArgMin;
    if (arg) {
      const bool max = r.op == ReduceOp::kArgMax;
      const bool first = position_ == 0;
      const bool nan = real && std::isnan(best->d);
      bool better = false;
      if (r.dtype == DType::kU64) {
        const auto a = static_cast<uint64_t>(v.i);
        const auto b = static_cast<uint64_t>(best->i);
        better = max ? a > b : a < b;
      } else if (real) {
        better = !nan && (std::isnan(v.d) || (max ? v.d > best->d : v.d < best->d));
      } else {
        better = max ? v.i > best->i : v.i < best->i;
      }
      if (first || better) {
        *best = v;
        acc->i = position_;
      }
      return absl::OkStatus();
    }
    if (r.op == ReduceOp::kSum && real) {
      acc->d += v.d;
      return absl::OkStatus();
    }
    if (r.op == ReduceOp::kProduct && real) {
      acc->d *= v.d;
      return absl::OkStatus();
    }
    const OpDef* op = nullptr;
    switch (r.op) {
      case ReduceOp::kSum:
        op = &ops::add;
        break;
      case ReduceOp::kProduct:
        op = &ops::mul;
        break;
      case ReduceOp::kMaximum:
        op = &ops::maximum;
        break;
      case ReduceOp::kMinimum:
        op = &ops::minimum;
        break;
      case ReduceOp::kAnd:
        op = &ops::logical_and;
        break;
      default:
        op = &ops::logical_or;
    }
    WEFT_ASSIGN_OR_RETURN(*acc, ThroughOp(*op, {}, {*acc, v}, {r.dtype, r.dtype}, r.dtype));
    return absl::OkStatus();
  }

  absl::StatusOr<int64_t> Linear(SymInt offset, const std::vector<SymInt>& strides) {
    if (strides.size() != point_.size()) {
      return absl::InternalError("strides and loops differ in number");
    }
    WEFT_ASSIGN_OR_RETURN(int64_t at, Value(offset, run_.env_));
    for (size_t l = 0; l < strides.size(); ++l) {
      WEFT_ASSIGN_OR_RETURN(const int64_t s, Value(strides[l], run_.env_));
      at += s * point_[l];
    }
    return at;
  }

  // The element's place in its buffer.
  absl::StatusOr<int64_t> Place(const Access& access) {
    WEFT_ASSIGN_OR_RETURN(int64_t at, Linear(access.offset, access.strides));
    WEFT_ASSIGN_OR_RETURN(const int64_t first, Value(views_[access.arg].offset, run_.env_));
    for (const IndexTerm& t : access.terms) {
      WEFT_ASSIGN_OR_RETURN(const int64_t stride, Value(t.stride, run_.env_));
      WEFT_ASSIGN_OR_RETURN(const int64_t bound, Value(t.bound, run_.env_));
      int64_t v = values_[t.value].i;
      if (v < 0) v += bound;
      if (v < 0 || v >= bound) return absl::OutOfRangeError("index");
      at += v * stride;
    }
    return at + first;
  }

  absl::StatusOr<Element> LoadFrom(const Instr& instr) {
    const Access& access = instr.access;
    for (const Access::Guard& g : access.guards) {
      WEFT_ASSIGN_OR_RETURN(const int64_t at, Linear(g.offset, g.strides));
      WEFT_ASSIGN_OR_RETURN(const int64_t bound, Value(g.bound, run_.env_));
      if (at < 0 || at >= bound) return values_[access.otherwise];
    }
    WEFT_ASSIGN_OR_RETURN(const int64_t at, Place(access));
    WEFT_ASSIGN_OR_RETURN(const HostTensor* t, run_.Memory(views_[access.arg].buffer));
    if (at < 0 || at >= t->numel()) {
      return absl::InternalError(absl::StrCat("a load of element ", at));
    }
    Element e;
    if (IsReal(instr.dtype)) {
      e.d = t->DoubleAt(at);
    } else {
      e.i = t->IntAt(at);
    }
    return e;
  }

  absl::Status StoreTo(const Stage& stage, const Store& s) {
    WEFT_ASSIGN_OR_RETURN(const int64_t at, Place(s.access));
    WEFT_ASSIGN_OR_RETURN(HostTensor * t, run_.Memory(views_[s.access.arg].buffer));
    if (at < 0 || at >= t->numel() || !kernel_.args[s.access.arg].written) {
      return absl::InternalError(absl::StrCat("a store to element ", at));
    }
    if (KernelDType(t->dtype()) != stage.body[s.value].dtype) {
      return absl::InternalError("a store of another dtype");
    }
    const Element& v = values_[s.value];
    const HostTensor one = IsReal(t->dtype()) ? HostTensor::Scalar(t->dtype(), v.d)
                                              : HostTensor::ScalarInt(t->dtype(), v.i);
    ops::Scatter(one, {at}, t);
    return absl::OkStatus();
  }

  absl::Status RunBody(const Nest& nest, const Stage& stage) {
    values_.assign(stage.body.size(), {});
    for (size_t k = 0; k < stage.body.size(); ++k) {
      WEFT_ASSIGN_OR_RETURN(values_[k], RunInstr(stage, stage.body[k]));
      values_[k] = Fit(values_[k], stage.body[k].dtype);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Element> RunInstr(const Stage& stage, const Instr& i) {
    std::vector<Element> x;
    std::vector<DType> t;
    for (int o : i.operands) {
      if (o < 0) break;
      x.push_back(values_[o]);
      t.push_back(stage.body[o].dtype);
    }
    switch (i.op) {
      case ScalarOp::kConst:
        return Element{i.imm, i.int_imm};
      case ScalarOp::kSize: {
        WEFT_ASSIGN_OR_RETURN(const int64_t v, Value(i.size, run_.env_));
        return Element{0, v};
      }
      case ScalarOp::kIndex:
        return Element{0, point_[i.loop]};
      case ScalarOp::kLoad:
        return LoadFrom(i);
      case ScalarOp::kRow:
        return rows_[i.loop].at(position_);
      case ScalarOp::kReduced:
        return reduced_.at(i.loop);
      case ScalarOp::kSelect:
        return x[0].i != 0 ? x[1] : x[2];
      case ScalarOp::kConvert:
        return ThroughOp(ops::convert, {{"dtype", i.dtype}}, x, t, i.dtype);
      case ScalarOp::kBitcast:
        return ThroughOp(ops::bitcast, {{"dtype", i.dtype}}, x, t, i.dtype);
      case ScalarOp::kRound: {
        Element e;
        e.d = HostTensor::Scalar(i.via, x[0].d).DoubleAt(0);
        return e;
      }
      case ScalarOp::kDiv:
        return ThroughOp(ops::div, {}, x, t, i.dtype);
      case ScalarOp::kFloorDiv:
        return ThroughOp(ops::div, {{"rounding_mode", "floor"}}, x, t, i.dtype);
      case ScalarOp::kTruncDiv:
        return ThroughOp(ops::div, {{"rounding_mode", "trunc"}}, x, t, i.dtype);
      default:
        break;
    }
    const OpDef* op = OpOf(i.op);
    if (op == nullptr) return absl::InternalError("an unknown instruction");
    return ThroughOp(*op, {}, x, t, i.dtype);
  }

  PlanRun& run_;
  const Kernel& kernel_;
  std::vector<View> views_;
  std::vector<int64_t> point_;
  size_t position_ = 0;
  std::vector<Element> values_;
  std::vector<std::vector<Element>> rows_;
  std::vector<Element> reduced_;
};

absl::Status PlanRun::RunKernel(const Step& step) {
  for (const View& v : step.args) {
    WEFT_RETURN_IF_ERROR(Memory(v.buffer).status());
  }
  return KernelRun(*this, step).Run();
}

}  // namespace

absl::StatusOr<std::vector<HostTensor>> RunPlan(const Plan& plan,
                                                absl::Span<const HostTensor> inputs) {
  return PlanRun(plan).Run(inputs);
}

}  // namespace weft
