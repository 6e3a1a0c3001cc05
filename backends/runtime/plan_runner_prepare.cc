// Code of steps and places of buffers for one assignment of the symbols.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/runtime/plan_runner.h"
#include "backends/runtime/step_names.h"
#include "base/align.h"
#include "base/annotate.h"
#include "base/status_macros.h"
#include "lowering/finish_kernel.h"
#include "profiler/record.h"

namespace weft {
namespace {

// More elements than any machine can hold; the bytes of many such buffers still add up within 64
// bits.
constexpr int64_t kMaxElements = int64_t{1} << 44;

}  // namespace

absl::Status PlanRunner::Prepare(Assignment* a) {
  const profiler::Scope scope(profiler::Activity::kCompilerPass, "prepare sizes");
  for (size_t b = 0; b < plan_.buffers.size(); ++b) {
    WEFT_ASSIGN_OR_RETURN(const int64_t bytes, BytesOf(static_cast<int>(b), a->env));
    a->bytes.push_back(bytes);
  }
  WEFT_RETURN_IF_ERROR(PlaceBuffers(a));
  std::vector<StepRequest> requests;
  std::vector<PreparedStep*> compiled;
  for (const Step& step : plan_.steps) {
    a->dynamic |= MayFindSizes(step);
    const absl::Status sizes = CheckSizes(step, a->env);
    if (!sizes.ok()) return Annotate(sizes, DescribeStep(plan_, step));
    if (!IsKnown(plan_, step, a->env)) {
      a->dynamic = true;
      a->steps.push_back(nullptr);
      continue;
    }
    a->steps.push_back(DescribeOperands(step, a->env));
    if (HasNoCode(step)) continue;
    requests.push_back(RequestOf(step, a->env, *a->steps.back()));
    compiled.push_back(a->steps.back().get());
  }
  WEFT_ASSIGN_OR_RETURN(auto codes, runtime_.launcher.CompileAll(requests));
  for (size_t i = 0; i < codes.size(); ++i) {
    const absl::Status status = SetCode(requests[i], std::move(codes[i]), compiled[i]);
    if (!status.ok()) return Annotate(status, DescribeStep(plan_, requests[i].step));
  }
  for (size_t i = 0; i < plan_.outputs.size(); ++i) {
    WEFT_RETURN_IF_ERROR(PrepareOutput(static_cast<int>(i), a));
  }
  if (runtime_.device.records()) FindSegments(a);
  return absl::OkStatus();
}

absl::Status PlanRunner::PrepareOutput(int i, Assignment* a) {
  const View& view = plan_.output_views[i];
  a->output_copies.emplace_back();
  a->output_dims.emplace_back();
  a->output_places.push_back(-1);
  if (!view.present() || !IsKnown(view, a->env)) return absl::OkStatus();
  const RunView from = MakeRunView(view, a->env);
  a->output_dims.back() = from.dims;
  // Dense outputs in the device's memory are copied to the host as they are.
  const bool plain = !host_visible_ && !a->keeps_outputs && from.dense();
  if (IsDirect(i) || plain || (!host_visible_ && from.numel() == 0)) return absl::OkStatus();
  WEFT_ASSIGN_OR_RETURN(a->output_copies.back(),
                        PrepareCopy(from, DenseView(from.dtype, from.dims)));
  if (!host_visible_ && !a->keeps_outputs && a->output_copies.back() != nullptr) {
    a->output_places.back() = a->arena_bytes;
    a->arena_bytes += AlignUp(DTypeBytes(from.dtype, from.numel()), kArenaAlignment);
  }
  return absl::OkStatus();
}

std::unique_ptr<PreparedStep> PlanRunner::DescribeOperands(const Step& step, const SymbolEnv& env) {
  ++runtime_.stats.compiled_steps;
  auto prepared = std::make_unique<PreparedStep>();
  for (const View& view : step.args) prepared->args.push_back(MakeRunView(view, env));
  prepared->attrs = AttrsOf(step, env);
  prepared->memory.resize(step.args.size() + step.results.size());
  prepared->bounds.resize(step.args.size());
  if (MayFindSizes(step)) return prepared;
  for (const View& view : step.results) prepared->results.push_back(MakeRunView(view, env));
  return prepared;
}

StepRequest PlanRunner::RequestOf(const Step& step, const SymbolEnv& env,
                                  const PreparedStep& prepared) const {
  return {plan_,     step, env, prepared.attrs, prepared.args, prepared.results, planner_.memory(),
          constants_};
}

absl::Status PlanRunner::SetCode(const StepRequest& request, std::unique_ptr<StepCode> code,
                                 PreparedStep* prepared) {
  const Step& step = request.step;
  prepared->code = std::move(code);
  if (prepared->code == nullptr) {
    if (IsFinished(step)) {
      return absl::UnimplementedError("no routine runs a kernel on its result");
    }
    if (step.kind == StepKind::kLibrary) ++runtime_.stats.fallbacks;
    return absl::OkStatus();
  }
  WEFT_RETURN_IF_ERROR(runtime_.ReserveScratch(prepared->code->scratch_bytes()));
  if (step.kind == StepKind::kLibrary && !step.finds_sizes) {
    const RunView& result = prepared->results[0];
    const std::optional<int64_t> elements = request.env.Eval(plan_.buffers[result.buffer].numel);
    prepared->fills_buffer = elements && *elements == result.numel();
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<PreparedStep>> PlanRunner::PrepareStep(const Step& step,
                                                                      const SymbolEnv& env) {
  std::unique_ptr<PreparedStep> prepared = DescribeOperands(step, env);
  if (HasNoCode(step)) return prepared;
  const StepRequest request = RequestOf(step, env, *prepared);
  WEFT_ASSIGN_OR_RETURN(std::unique_ptr<StepCode> code, runtime_.launcher.Compile(request));
  WEFT_RETURN_IF_ERROR(SetCode(request, std::move(code), prepared.get()));
  return prepared;
}

absl::StatusOr<std::unique_ptr<PreparedStep>> PlanRunner::PrepareCopy(const RunView& from,
                                                                      const RunView& to) {
  WEFT_ASSIGN_OR_RETURN(std::unique_ptr<StepCode> code, runtime_.launcher.CompileCopy(from, to));
  if (code == nullptr) return nullptr;
  WEFT_RETURN_IF_ERROR(runtime_.ReserveScratch(code->scratch_bytes()));
  auto prepared = std::make_unique<PreparedStep>();
  prepared->args = {from};
  prepared->results = {to};
  prepared->memory.resize(2);
  prepared->code = std::move(code);
  return prepared;
}

absl::StatusOr<int64_t> PlanRunner::BytesOf(int b, const SymbolEnv& env) const {
  const Buffer& buffer = plan_.buffers[b];
  const std::optional<int64_t> numel = env.Eval(buffer.numel);
  if (!numel && !env.IsBound(buffer.numel)) return -1;
  if (numel && *numel >= 0 && *numel <= kMaxElements) return DTypeBytes(buffer.dtype, *numel);
  const std::string size = absl::StrCat(DTypeName(buffer.dtype), "[", buffer.numel.ToString(), "]");
  const std::string known = env.Describe(buffer.numel);
  std::string text = absl::StrCat("%", buffer.name, ": ", size);
  absl::StrAppend(&text,
                  numel && *numel < 0 ? " has a negative size"
                  : numel             ? " is larger than any memory"
                                      : " has no size: sizes do not fit together or pass 64 bits",
                  known.empty() ? "" : ", for ", known);
  for (const Step& step : plan_.steps) {
    for (const View& view : step.results) {
      if (view.buffer != b) continue;
      return absl::InvalidArgumentError(absl::StrCat(DescribeStep(plan_, step), ": ", text));
    }
  }
  return absl::InvalidArgumentError(text);
}

absl::Status PlanRunner::CheckSizes(const Step& step, const SymbolEnv& env) const {
  const auto check = [&](const View& view) {
    if (!view.type.is_tensor()) return absl::OkStatus();
    for (SymInt size : view.type.dims()) {
      const std::optional<int64_t> value = env.Eval(size);
      if (value ? *value >= 0 : !env.IsBound(size)) continue;
      return absl::InvalidArgumentError(absl::StrCat("the size ", size.ToString(),
                                                     value ? " is negative" : " has no value",
                                                     " for ", env.Describe(size)));
    }
    return absl::OkStatus();
  };
  for (const View& view : step.args) WEFT_RETURN_IF_ERROR(check(view));
  for (const View& view : step.results) {
    if (!MayFindSizes(step)) WEFT_RETURN_IF_ERROR(check(view));
  }
  return absl::OkStatus();
}

bool PlanRunner::LiesElsewhere(const Buffer& buffer, const Assignment& a) const {
  switch (buffer.kind) {
    case BufferKind::kConstant:
      return true;
    case BufferKind::kInput:
      // The device's copy of an input is allocated only if something reads it.
      return host_visible_ || a.on_device[buffer.index] || !plan_.inputs[buffer.index].read;
    case BufferKind::kOutput:
      return (host_visible_ || a.keeps_outputs) && direct_[buffer.index];
    case BufferKind::kTemporary:
      return false;
  }
  return false;
}

absl::Status PlanRunner::PlaceBuffers(Assignment* a) {
  WEFT_ASSIGN_OR_RETURN(const std::shared_ptr<const MemoryLayout> layout,
                        planner_.Find([&](SymInt s) { return a->env.Eval(s); }));
  a->places = layout->offsets;
  a->arena_bytes = layout->arena_bytes;
  const int64_t zone = runtime_.guard == nullptr ? 0 : MemoryGuard::kZone;
  if (zone > 0) AddZones(a);
  for (size_t b = 0; b < plan_.buffers.size(); ++b) {
    const bool placed = a->places[b] >= 0;
    if (placed || LiesElsewhere(plan_.buffers[b], *a) || a->bytes[b] < 0) continue;
    a->places[b] = a->arena_bytes + zone;
    a->arena_bytes += AlignUp(a->bytes[b], kArenaAlignment) + 2 * zone;
  }
  return absl::OkStatus();
}

}  // namespace weft
