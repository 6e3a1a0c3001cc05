#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/quote.h"
#include "graph/sym/sym_expr.h"
#include "lowering/finish_kernel.h"
#include "lowering/index_map.h"
#include "lowering/plan_text.h"
#include "lowering/plan_text_facts.h"
#include "lowering/plan_text_ops.h"

namespace weft {
namespace {

// Names of loops in the text: i0, i1, ... and j0, j1, ..., with leading underscores if a size has
// such a name.
std::vector<std::string> LoopNames(const Nest& nest, absl::string_view prefix) {
  std::vector<std::string> names;
  for (size_t i = 0; i < nest.outer.size(); ++i) {
    names.push_back(absl::StrCat(prefix, "i", i));
  }
  for (size_t j = 0; j < nest.inner.size(); ++j) {
    names.push_back(absl::StrCat(prefix, "j", j));
  }
  return names;
}

class KernelPrinter {
 public:
  explicit KernelPrinter(std::string indent) : indent_(std::move(indent)) {}

  void Print(const Kernel& kernel, std::string* out) {
    absl::StrAppend(out, indent_, "kernel @", NameToString(kernel.name), "(");
    for (size_t i = 0; i < kernel.args.size(); ++i) {
      absl::StrAppend(out, i > 0 ? ", " : "", "%a", i, ": ", DTypeName(kernel.args[i].dtype),
                      kernel.args[i].written ? " out" : "");
    }
    absl::StrAppend(out, ") {\n");
    for (const Nest& nest : kernel.nests) PrintNest(nest, out);
    if (kernel.schedule.decided()) PrintSchedule(kernel.schedule, out);
    absl::StrAppend(out, indent_, "}\n");
  }

 private:
  static bool Clashes(const std::vector<SymInt>& sizes, const std::vector<std::string>& names) {
    bool clash = false;
    for (SymInt size : sizes) {
      ForEachSymbol(size, [&](SymInt s) {
        for (const std::string& name : names) clash = clash || s.name() == name;
      });
    }
    return clash;
  }

  static void Collect(const Access& a, std::vector<SymInt>* sizes) {
    sizes->push_back(a.offset);
    sizes->insert(sizes->end(), a.strides.begin(), a.strides.end());
    for (const Access::Guard& g : a.guards) {
      sizes->push_back(g.offset);
      sizes->insert(sizes->end(), g.strides.begin(), g.strides.end());
    }
  }

  void NameLoops(const Nest& nest) {
    std::vector<SymInt> sizes = nest.outer;
    sizes.insert(sizes.end(), nest.inner.begin(), nest.inner.end());
    for (const Stage& stage : nest.stages) {
      for (const Instr& i : stage.body) Collect(i.access, &sizes);
      for (const Store& s : stage.stores) Collect(s.access, &sizes);
    }
    std::string prefix;
    do {
      loops_ = LoopNames(nest, prefix);
      prefix += "_";
    } while (Clashes(sizes, loops_));
  }

  void PrintNest(const Nest& nest, std::string* out) {
    NameLoops(nest);
    absl::StrAppend(out, indent_, "  nest");
    for (size_t l = 0; l < loops_.size(); ++l) {
      const size_t outer = nest.outer.size();
      if (l == outer) absl::StrAppend(out, " inner");
      absl::StrAppend(out, " (", loops_[l], " < ",
                      (l < outer ? nest.outer[l] : nest.inner[l - outer]).ToString(), ")");
    }
    if (!nest.rows.empty()) {
      absl::StrAppend(out, " rows(");
      for (size_t r = 0; r < nest.rows.size(); ++r) {
        absl::StrAppend(out, r > 0 ? ", " : "", DTypeName(nest.rows[r]));
      }
      absl::StrAppend(out, ")");
    }
    absl::StrAppend(out, " {\n");
    int reduction = 0;
    for (const Stage& stage : nest.stages) PrintStage(stage, &reduction, out);
    absl::StrAppend(out, indent_, "  }\n");
  }

  void PrintSchedule(const KernelSchedule& schedule, std::string* out) {
    const std::string text = ToString(schedule);
    for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
      absl::StrAppend(out, indent_, "  ", line, "\n");
    }
  }

  void PrintStage(const Stage& stage, int* reduction, std::string* out) {
    absl::StrAppend(out, indent_, "    stage ", stage.per_row ? "per_row " : "", "{\n");
    const std::string indent = indent_ + "      ";
    for (size_t i = 0; i < stage.body.size(); ++i) {
      absl::StrAppend(out, indent, "%", i, " = ", InstrText(stage.body[i]), " : ",
                      DTypeName(stage.body[i].dtype), "\n");
    }
    for (const Keep& k : stage.keeps) {
      absl::StrAppend(out, indent, "keep %", k.value, " -> row ", k.row, "\n");
    }
    for (const Reduction& r : stage.reductions) {
      absl::StrAppend(out, indent, "reduce ", ReduceOpName(r.op), " %", r.value, " : ",
                      DTypeName(r.dtype), " -> ", (*reduction)++, "\n");
    }
    for (const Store& s : stage.stores) {
      absl::StrAppend(out, indent, "store %", s.value, " -> ", AccessText(s.access), "\n");
    }
    absl::StrAppend(out, indent_, "    }\n");
  }

  static std::string ConstText(const Instr& i) {
    if (!IsFloat(i.dtype)) return absl::StrCat("const ", i.int_imm);
    if (std::isnan(i.imm)) return "const nan";
    return absl::StrCat("const ", FloatToString(i.imm));
  }

  std::string InstrText(const Instr& i) const {
    const std::string name(ScalarOpName(i.op));
    switch (i.op) {
      case ScalarOp::kConst:
        return ConstText(i);
      case ScalarOp::kSize:
        return absl::StrCat(name, " (", i.size.ToString(), ")");
      case ScalarOp::kIndex:
        return absl::StrCat(name, " ", loops_[i.loop]);
      case ScalarOp::kRow:
      case ScalarOp::kReduced:
        return absl::StrCat(name, " ", i.loop);
      case ScalarOp::kLoad:
        return absl::StrCat(name, " ", AccessText(i.access));
      default:
        break;
    }
    std::string text = name;
    for (int k = 0; k < NumOperands(i.op); ++k) {
      absl::StrAppend(&text, k > 0 ? ", %" : " %", i.operands[k]);
    }
    if (i.op == ScalarOp::kRound) {
      absl::StrAppend(&text, " via ", DTypeName(i.via));
    }
    return text;
  }

  std::string Linear(SymInt sum, const std::vector<SymInt>& strides) const {
    for (size_t l = 0; l < strides.size(); ++l) {
      sum = sum + strides[l] * SymInt::Symbol(loops_[l]);
    }
    return sum.ToString();
  }

  std::string AccessText(const Access& a) const {
    std::string text = absl::StrCat("%a", a.arg, "[", Linear(a.offset, a.strides));
    for (const IndexTerm& t : a.terms) {
      absl::StrAppend(&text, ", %", t.value, " * ", t.stride.ToString(), " in ",
                      t.bound.ToString());
    }
    absl::StrAppend(&text, "]");
    if (a.guards.empty()) return text;
    absl::StrAppend(&text, " if");
    for (const Access::Guard& g : a.guards) {
      absl::StrAppend(&text, " (", Linear(g.offset, g.strides), " in ", g.bound.ToString(), ")");
    }
    absl::StrAppend(&text, " else %", a.otherwise);
    return text;
  }

  std::string indent_;
  std::vector<std::string> loops_;
};

class PlanPrinter {
 public:
  // `outermost`: prints the parts that nested plans share.
  PlanPrinter(const Plan& plan, std::string indent, bool outermost, PlanForm form)
      : plan_(plan), indent_(std::move(indent)), outermost_(outermost), form_(form) {}

  void Print(std::string* out) {
    absl::StrAppend(out, indent_, "plan @", NameToString(plan_.name), "(", Views(plan_.input_views),
                    ") -> (", Views(plan_.output_views), ")", outermost_ ? WhereText(plan_) : "",
                    " {\n");
    if (outermost_ && form_ == PlanForm::kSelfContained) absl::StrAppend(out, OpsText(plan_));
    if (outermost_) absl::StrAppend(out, SharedText(plan_));
    for (size_t i = 0; i < plan_.inputs.size(); ++i) PrintInput(static_cast<int>(i), out);
    if (!plan_.write_backs.empty()) {
      absl::StrAppend(out, indent_, "  writes back ", absl::StrJoin(plan_.write_backs, ", "), "\n");
    }
    for (const Buffer& b : plan_.buffers) PrintBuffer(b, out);
    for (const PlanCondition& c : plan_.conditions) {
      absl::StrAppend(out, indent_, "  condition (", c.condition.ToString(), ")",
                      c.origin.empty() ? "" : absl::StrCat(" from ", Quote(c.origin)), "\n");
    }
    for (const Kernel& k : plan_.kernels) {
      KernelPrinter(indent_ + "  ").Print(k, out);
    }
    for (const Step& s : plan_.steps) PrintStep(s, out);
    absl::StrAppend(out, indent_, "}\n");
  }

  // Without nested plans.
  std::string StepLine(const Step& s) const {
    std::string line;
    switch (s.kind) {
      case StepKind::kKernel:
        absl::StrAppend(&line, "launch @", NameToString(plan_.kernels[s.kernel].name));
        break;
      case StepKind::kLibrary:
        absl::StrAppend(&line, "library ", OpText(*s.schema, s.attrs));
        break;
      case StepKind::kReference:
        absl::StrAppend(&line, "reference ", OpText(*s.schema, s.attrs));
        break;
      case StepKind::kCopy:
        absl::StrAppend(&line, "copy");
        break;
      case StepKind::kControl:
        absl::StrAppend(&line, "control ", OpText(*s.schema, s.attrs));
        break;
    }
    absl::StrAppend(&line, " (", Views(s.args), ") -> (", Views(s.results), ")");
    for (const Epilogue& e : s.epilogue) PrintEpilogue(e, &line);
    if (IsFinished(s)) {
      absl::StrAppend(&line, " finish @", NameToString(plan_.kernels[s.kernel].name));
    }
    if (s.accumulates >= 0) absl::StrAppend(&line, " accumulates ", s.accumulates);
    if (s.indices >= 0) absl::StrAppend(&line, " indices ", s.indices);
    if (s.updates >= 0) absl::StrAppend(&line, " updates ", s.updates);
    if (s.finds_sizes) absl::StrAppend(&line, " finds sizes");
    if (form_ == PlanForm::kSelfContained && s.flops.is_valid()) {
      absl::StrAppend(&line, " flops (", s.flops.ToString(), ")");
    }
    PrintNode(s, &line);
    if (!s.remark.empty()) absl::StrAppend(&line, " remark ", Quote(s.remark));
    return line;
  }

 private:
  std::string BufferName(int b) const {
    return absl::StrCat("%", NameToString(plan_.buffers[b].name));
  }

  // Prints nothing for an input that is read and has the name of its buffer.
  void PrintInput(int i, std::string* out) const {
    const PlanInput& input = plan_.inputs[i];
    const View& view = plan_.input_views[i];
    const bool named =
        input.name.empty() || (view.present() && plan_.buffers[view.buffer].name == input.name);
    if (named && input.read && input.value < 0) return;
    absl::StrAppend(out, indent_, "  input ", i, " ", Quote(input.name),
                    input.read ? "" : " unread");
    if (input.value >= 0) absl::StrAppend(out, " is constant ", input.value);
    absl::StrAppend(out, "\n");
  }

  void PrintBuffer(const Buffer& b, std::string* out) const {
    absl::StrAppend(out, indent_, "  buffer %", NameToString(b.name), " : ", DTypeName(b.dtype),
                    "[", b.numel.ToString(), "]");
    switch (b.kind) {
      case BufferKind::kInput:
        absl::StrAppend(out, " input ", b.index);
        break;
      case BufferKind::kOutput:
        absl::StrAppend(out, " output ", b.index);
        break;
      case BufferKind::kConstant:
        absl::StrAppend(out, " constant ", b.index);
        break;
      case BufferKind::kTemporary:
        absl::StrAppend(out, " temporary");
        break;
    }
    if (b.dynamic) absl::StrAppend(out, " dynamic");
    if (b.donor >= 0) absl::StrAppend(out, " donor ", BufferName(b.donor));
    if (!b.remark.empty()) absl::StrAppend(out, " remark ", Quote(b.remark));
    absl::StrAppend(out, "\n");
  }

  std::string ViewText(const View& v) const {
    if (!v.present()) return v.type.ToString();
    std::string text = BufferName(v.buffer);
    if (!v.offset.Is(0) || v.strides != DenseStrides(v.type.dims())) {
      absl::StrAppend(&text, "[", v.offset.ToString());
      for (size_t d = 0; d < v.strides.size(); ++d) {
        absl::StrAppend(&text, ", ", v.strides[d].ToString());
      }
      absl::StrAppend(&text, "]");
    }
    return absl::StrCat(text, ": ", v.type.ToString());
  }

  std::string Views(absl::Span<const View> views) const {
    std::string text;
    for (const View& v : views) {
      absl::StrAppend(&text, text.empty() ? "" : ", ", ViewText(v));
    }
    return text;
  }

  void PrintStep(const Step& s, std::string* out) const {
    absl::StrAppend(out, indent_, "  ", StepLine(s));
    if (s.regions.empty()) {
      absl::StrAppend(out, "\n");
      return;
    }
    absl::StrAppend(out, " {\n");
    for (const auto& region : s.regions) {
      PlanPrinter(*region, indent_ + "    ", /*outermost=*/false, form_).Print(out);
    }
    absl::StrAppend(out, indent_, "  }\n");
  }

  static void PrintNode(const Step& s, std::string* out) {
    const bool named = s.source != nullptr && !s.source->nodes.empty();
    if (s.node == 0 && !named) return;
    absl::StrAppend(out, " node ", s.node);
    for (size_t i = 0; named && i < s.source->nodes.size(); ++i) {
      absl::StrAppend(out, i == 0 ? " from " : ", ", Quote(s.source->nodes[i]));
    }
  }

  static void PrintEpilogue(const Epilogue& e, std::string* out) {
    static constexpr const char* kKinds[] = {"bias", "binary", "unary"};
    absl::StrAppend(out, " then ", kKinds[static_cast<int>(e.kind)], " ",
                    OpText(*e.schema, e.attrs));
    if (e.arg >= 0) absl::StrAppend(out, " ", e.arg);
  }

  const Plan& plan_;
  std::string indent_;
  const bool outermost_;
  const PlanForm form_;
};

}  // namespace

std::string PrintPlan(const Plan& plan, PlanForm form) {
  std::string out;
  PlanPrinter(plan, "", /*outermost=*/true, form).Print(&out);
  return out;
}

std::string PrintStep(const Plan& plan, const Step& step) {
  return PlanPrinter(plan, "", /*outermost=*/true, PlanForm::kNamesOps).StepLine(step);
}

std::string PrintKernel(const Kernel& kernel) {
  std::string out;
  KernelPrinter("").Print(kernel, &out);
  return out;
}

}  // namespace weft
