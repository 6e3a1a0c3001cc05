#include "api/check/target/step_text.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/provenance.h"

namespace weft {
namespace {

constexpr size_t kMaxSources = 8;

std::string KindOf(const Plan& plan, const Step& step) {
  switch (step.kind) {
    case StepKind::kKernel:
      return absl::StrCat("kernel @", plan.kernels[step.kernel].name);
    case StepKind::kLibrary:
      return absl::StrCat(
          "library ", step.op->name(),
          step.kernel < 0 ? "" : absl::StrCat(", kernel @", plan.kernels[step.kernel].name));
    case StepKind::kReference:
      return absl::StrCat("reference ", step.op->name());
    case StepKind::kControl:
      return absl::StrCat("control ", step.op->name());
    case StepKind::kCopy:
      return "copy";
  }
  return "";
}

std::string SizeText(SymInt size, const SymbolEnv* env) {
  const auto value = env == nullptr ? std::nullopt : env->Eval(size);
  return value ? absl::StrCat(*value) : size.ToString();
}

std::string SizesText(absl::Span<const SymInt> sizes, const SymbolEnv* env) {
  std::vector<std::string> texts;
  for (SymInt size : sizes) texts.push_back(SizeText(size, env));
  return absl::StrCat("[", absl::StrJoin(texts, ", "), "]");
}

// "f32[2, 3, 8, 8] strides [192, 1, 24, 3] of %v3"; strides are in elements.
std::string ViewText(const Plan& plan, const View& view, const SymbolEnv* env) {
  if (!view.present()) return view.type.is_symint() ? "a size" : "nothing";
  std::string text = absl::StrCat(DTypeName(view.type.dtype()), SizesText(view.type.dims(), env));
  if (view.type.rank() > 0) absl::StrAppend(&text, " strides ", SizesText(view.strides, env));
  absl::StrAppend(&text, " of %", plan.buffers[view.buffer].name);
  if (!view.offset.Is(0)) absl::StrAppend(&text, " from ", SizeText(view.offset, env));
  return text;
}

std::string LayoutText(const Plan& plan, const Step& step, const SymbolEnv* env) {
  const auto text = [&](std::string* to, const View& view) {
    to->append(ViewText(plan, view, env));
  };
  return absl::StrCat("reads ", absl::StrJoin(step.args, ", ", text), "; writes ",
                      absl::StrJoin(step.results, ", ", text));
}

std::string EpilogueText(const Plan& plan, const Step& step, const SymbolEnv* env) {
  std::vector<std::string> ops;
  for (const Epilogue& e : step.epilogue) {
    ops.push_back(e.kind == Epilogue::Kind::kBias ? "bias" : std::string(e.op->name()));
    if (e.arg < 0) continue;
    absl::StrAppend(&ops.back(), "(", ViewText(plan, step.args[e.arg], env), ")");
  }
  return absl::StrJoin(ops, ", then ");
}

}  // namespace

void DescribeStep(const Plan& plan, int index, const SymbolEnv* env, const Node* node,
                  StepDifference* to) {
  to->step = index;
  to->plan = plan.name;
  if (index >= 0) {
    const Step& step = plan.steps[index];
    to->what = KindOf(plan, step);
    to->layout = LayoutText(plan, step, env);
    to->epilogue = EpilogueText(plan, step, env);
  } else {
    to->what = node == nullptr ? "an input" : absl::StrCat("the place of ", node->op().name());
  }
  if (node == nullptr) return;
  to->node_text = absl::StrCat("node ", node->id(), " (", node->op().name(), ")");
  const Module& module = node->graph()->module();
  to->sources = module.provenance().Names(node->provenance(), kMaxSources);
}

std::string StepDifference::ToString() const {
  std::string text = step < 0 ? absl::StrCat("@", plan, ": ", what)
                              : absl::StrCat("@", plan, ", step ", step, ": ", what);
  if (!node_text.empty()) absl::StrAppend(&text, ", ", node_text);
  absl::StrAppend(&text, " differs from the reference\n  ", difference, "\n");
  if (!routine.empty()) absl::StrAppend(&text, "  routine: ", routine, "\n");
  if (!epilogue.empty()) absl::StrAppend(&text, "  epilogue: ", epilogue, "\n");
  if (!layout.empty()) absl::StrAppend(&text, "  layout: ", layout, "\n");
  if (!sources.empty()) {
    absl::StrAppend(&text, "  source nodes: ", absl::StrJoin(sources, ", "), "\n");
  }
  return text;
}

}  // namespace weft
