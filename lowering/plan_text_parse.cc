#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graph/core/text_reader.h"
#include "lowering/index_map.h"
#include "lowering/plan_text.h"

namespace weft {
namespace {

using text::kArrow;
using text::kIdentifier;
using text::kMaxNesting;
using text::kMaxRank;
using text::kValue;

class PlanParser {
 public:
  PlanParser(absl::string_view text, const Module& module,
             absl::string_view filename)
      : reader_(text, filename), module_(module) {}

  absl::StatusOr<Plan> Run() {
    Plan plan;
    if (ParsePlan(&plan, 0) && !reader_.At(text::kEnd)) {
      reader_.Expected("the end of the text");
    }
    if (!reader_.status().ok()) return reader_.status();
    return plan;
  }

 private:
  using BufferIds = absl::flat_hash_map<std::string, int>;
  struct PendingView {
    View view;
    std::string buffer;  // Empty: none.
    size_t position = 0;
  };

  bool ParseIndex(int* out) {
    const size_t position = reader_.position();
    int64_t value = 0;
    if (!reader_.ParseInt(&value)) return false;
    if (value < 0 || value > (int64_t{1} << 30)) {
      return reader_.Fail(position, "the number is out of range");
    }
    *out = static_cast<int>(value);
    return true;
  }

  // "%12" or "%a3".
  bool ParseNumbered(absl::string_view prefix, int limit, int* out) {
    const size_t position = reader_.position();
    std::string name;
    if (!reader_.ParseSigilName(true, &name)) return false;
    absl::string_view digits = name;
    const auto value = absl::ConsumePrefix(&digits, prefix)
                           ? text::DigitsToUint64(digits)
                           : std::nullopt;
    if (!value || *value >= static_cast<uint64_t>(limit)) {
      return reader_.Fail(position,
                          absl::StrCat("there is no %", name, " here"));
    }
    *out = static_cast<int>(*value);
    return true;
  }

  bool ParseDType(DType* out) {
    const auto dtype = reader_.At(kIdentifier)
                           ? weft::ParseDType(reader_.token().text)
                           : std::nullopt;
    if (!dtype) return reader_.Expected("a dtype");
    *out = *dtype;
    reader_.Advance();
    return true;
  }

  // --- Plans ---

  bool ParsePlan(Plan* plan, int depth) {
    if (depth > kMaxNesting) {
      return reader_.Fail(reader_.position(), "plans are nested too deep");
    }
    plan->module = &module_;
    std::vector<PendingView> inputs, outputs;
    if (!reader_.ExpectWord("plan") ||
        !reader_.ParseSigilName(false, &plan->name) || !ParseViews(&inputs) ||
        !reader_.Expect(kArrow) || !ParseViews(&outputs) ||
        !reader_.Expect('{')) {
      return false;
    }
    BufferIds ids;
    absl::flat_hash_map<std::string, int> kernels;
    while (reader_.AtWord("buffer")) {
      if (!ParseBuffer(plan, &ids)) return false;
    }
    while (reader_.AtWord("kernel")) {
      Kernel kernel;
      const size_t position = reader_.position();
      if (!ParseKernel(&kernel)) return false;
      if (!kernels.emplace(kernel.name, plan->kernels.size()).second) {
        return reader_.Fail(position, "the kernel is there already");
      }
      plan->kernels.push_back(std::move(kernel));
    }
    while (!reader_.Accept('}')) {
      if (!ParseStep(plan, ids, kernels, depth)) return false;
    }
    if (!Resolve(inputs, ids, &plan->input_views) ||
        !Resolve(outputs, ids, &plan->output_views)) {
      return false;
    }
    for (const View& v : plan->input_views) plan->inputs.push_back(v.type);
    for (const View& v : plan->output_views) plan->outputs.push_back(v.type);
    return true;
  }

  bool ParseBuffer(Plan* plan, BufferIds* ids) {
    Buffer b;
    reader_.Advance();
    const size_t position = reader_.position();
    Type type;
    if (!reader_.ParseSigilName(true, &b.name) || !reader_.Expect(':') ||
        !reader_.ParseType(&type)) {
      return false;
    }
    if (!type.is_tensor() || type.rank() != 1) {
      return reader_.Fail(position, "a buffer has a tensor type of rank 1");
    }
    b.dtype = type.dtype();
    b.numel = type.dim(0);
    if (!ids->emplace(b.name, plan->buffers.size()).second) {
      return reader_.Fail(position, "the buffer is there already");
    }
    if (!reader_.AcceptWord("temporary")) {
      if (reader_.AcceptWord("input")) {
        b.kind = BufferKind::kInput;
      } else if (reader_.AcceptWord("output")) {
        b.kind = BufferKind::kOutput;
      } else if (reader_.AcceptWord("constant")) {
        b.kind = BufferKind::kConstant;
      } else {
        return reader_.Expected("temporary, input, output or constant");
      }
      if (!ParseIndex(&b.index)) return false;
      if (b.kind == BufferKind::kConstant &&
          b.index >= module_.constants().size()) {
        return reader_.Fail(position, "the module has no such constant");
      }
    }
    b.dynamic = reader_.AcceptWord("dynamic");
    plan->buffers.push_back(std::move(b));
    return true;
  }

  bool ParseView(PendingView* out) {
    out->position = reader_.position();
    if (reader_.AcceptWord("none")) return true;
    View& v = out->view;
    if (!reader_.At(kValue) && !reader_.At(text::kQuotedValue)) {
      if (!reader_.ParseType(&v.type)) return false;
      if (v.type.is_symint()) return true;
      return reader_.Fail(out->position, "expected a symint or a buffer");
    }
    if (!reader_.ParseSigilName(true, &out->buffer)) return false;
    const bool strided = reader_.Accept('[');
    if (strided) {
      if (!reader_.ParseSymInt(&v.offset)) return false;
      bool more = reader_.Accept(',');
      while (more) {
        if (!reader_.ParseSymInt(&v.strides.emplace_back())) return false;
        more = v.strides.size() < kMaxRank && reader_.Accept(',');
      }
      if (!reader_.Expect(']')) return false;
    }
    if (!reader_.Expect(':') || !reader_.ParseType(&v.type)) return false;
    if (!v.type.is_tensor()) {
      return reader_.Fail(out->position, "a buffer holds a tensor");
    }
    if (!strided) v.strides = DenseStrides(v.type.dims());
    if (static_cast<int>(v.strides.size()) == v.type.rank()) return true;
    return reader_.Fail(out->position, "strides and dims differ in number");
  }

  bool ParseViews(std::vector<PendingView>* out) {
    if (!reader_.Expect('(')) return false;
    if (reader_.Accept(')')) return true;
    do {
      if (!ParseView(&out->emplace_back())) return false;
    } while (reader_.Accept(','));
    return reader_.Expect(')');
  }

  bool Resolve(std::vector<PendingView>& pending, const BufferIds& ids,
               std::vector<View>* out) {
    for (PendingView& p : pending) {
      if (!p.buffer.empty()) {
        const auto it = ids.find(p.buffer);
        if (it == ids.end()) {
          return reader_.Fail(p.position,
                              absl::StrCat("there is no buffer %", p.buffer));
        }
        p.view.buffer = it->second;
      }
      out->push_back(std::move(p.view));
    }
    return true;
  }

  // --- Steps ---

  // name, or name(attributes).
  bool ParseOp(const OpDef** op, const AttrList** attrs) {
    if (!reader_.At(kIdentifier)) return reader_.Expected("an op");
    const size_t position = reader_.position();
    *op = module_.registry().Find(reader_.token().text);
    if (*op == nullptr) {
      return reader_.Fail(
          position, absl::StrCat("unknown op \"", reader_.token().text, "\""));
    }
    reader_.Advance();
    const OpSchema& schema = (*op)->schema();
    std::vector<AttrValue> values(schema.attrs.size());
    std::vector<bool> given(schema.attrs.size(), false);
    // Operands stand in parentheses as well, and begin differently.
    if (reader_.At('(') && AttributesFollow(schema)) {
      reader_.Advance();
      do {
        if (!reader_.ParseAttribute(schema, &values, &given)) return false;
      } while (reader_.Accept(','));
      if (!reader_.Expect(')')) return false;
    }
    if (!reader_.FinishAttributes(schema, position, &values, given)) {
      return false;
    }
    *attrs = AttrList::Get(std::move(values));
    return true;
  }

  bool AttributesFollow(const OpSchema& schema) {
    const size_t position = reader_.position();
    reader_.Advance();
    const bool attribute =
        reader_.At(kIdentifier) && schema.FindAttr(reader_.token().text) >= 0;
    reader_.Seek(position);
    return attribute;
  }

  bool ParseStepHead(Step* step,
                     const absl::flat_hash_map<std::string, int>& kernels) {
    const size_t position = reader_.position();
    if (reader_.AcceptWord("launch")) {
      std::string name;
      if (!reader_.ParseSigilName(false, &name)) return false;
      const auto it = kernels.find(name);
      if (it == kernels.end()) {
        return reader_.Fail(position,
                            absl::StrCat("there is no kernel @", name));
      }
      step->kernel = it->second;
      return true;
    }
    if (reader_.AcceptWord("copy")) {
      step->kind = StepKind::kCopy;
      return true;
    }
    if (reader_.AcceptWord("library")) {
      step->kind = StepKind::kLibrary;
    } else if (reader_.AcceptWord("reference")) {
      step->kind = StepKind::kReference;
    } else if (reader_.AcceptWord("control")) {
      step->kind = StepKind::kControl;
    } else {
      return reader_.Expected("a step");
    }
    return ParseOp(&step->op, &step->attrs);
  }

  bool ParseEpilogue(size_t args, Step* step) {
    Epilogue e;
    if (reader_.AcceptWord("bias")) {
      e.kind = Epilogue::Kind::kBias;
    } else if (reader_.AcceptWord("binary")) {
      e.kind = Epilogue::Kind::kBinary;
    } else if (!reader_.AcceptWord("unary")) {
      return reader_.Expected("bias, binary or unary");
    }
    if (!ParseOp(&e.op, &e.attrs)) return false;
    const size_t position = reader_.position();
    if (e.kind != Epilogue::Kind::kUnary) {
      if (!ParseIndex(&e.arg)) return false;
      if (static_cast<size_t>(e.arg) >= args) {
        return reader_.Fail(position, "the step has no such argument");
      }
    }
    step->epilogue.push_back(e);
    return true;
  }

  bool ParseStep(Plan* plan, const BufferIds& ids,
                 const absl::flat_hash_map<std::string, int>& kernels,
                 int depth) {
    Step step;
    std::vector<PendingView> args, results;
    if (!ParseStepHead(&step, kernels) || !ParseViews(&args) ||
        !reader_.Expect(kArrow) || !ParseViews(&results) ||
        !Resolve(args, ids, &step.args) ||
        !Resolve(results, ids, &step.results)) {
      return false;
    }
    while (reader_.AcceptWord("then")) {
      if (!ParseEpilogue(step.args.size(), &step)) return false;
    }
    if (reader_.AcceptWord("node")) {
      int node = 0;
      int source = 0;
      if (!ParseIndex(&node) || !reader_.ExpectWord("source") ||
          !ParseIndex(&source)) {
        return false;
      }
      step.node = static_cast<uint32_t>(node);
      step.provenance = static_cast<ProvenanceId>(source);
    }
    if (reader_.AcceptWord("remark") && !reader_.ParseString(&step.remark)) {
      return false;
    }
    if (reader_.Accept('{')) {
      while (!reader_.Accept('}')) {
        step.regions.push_back(std::make_unique<Plan>());
        if (!ParsePlan(step.regions.back().get(), depth + 1)) return false;
      }
    }
    plan->steps.push_back(std::move(step));
    return true;
  }

  // --- Kernels ---

  bool ParseKernel(Kernel* kernel) {
    reader_.Advance();
    if (!reader_.ParseSigilName(false, &kernel->name) || !reader_.Expect('(')) {
      return false;
    }
    while (!reader_.Accept(')')) {
      if (!kernel->args.empty() && !reader_.Expect(',')) return false;
      const size_t position = reader_.position();
      KernelArg arg;
      std::string name;
      if (!reader_.ParseSigilName(true, &name) || !reader_.Expect(':') ||
          !ParseDType(&arg.dtype)) {
        return false;
      }
      if (name != absl::StrCat("a", kernel->args.size())) {
        return reader_.Fail(position, "arguments are %a0, %a1, ...");
      }
      arg.written = reader_.AcceptWord("out");
      kernel->args.push_back(arg);
    }
    num_args_ = static_cast<int>(kernel->args.size());
    if (!reader_.Expect('{')) return false;
    while (!reader_.Accept('}')) {
      if (!ParseNest(&kernel->nests.emplace_back())) return false;
    }
    return true;
  }

  bool ParseNest(Nest* nest) {
    loops_.clear();
    num_reductions_ = 0;
    if (!reader_.ExpectWord("nest")) return false;
    bool inner = false;
    while (reader_.At('(') || reader_.AtWord("inner")) {
      if (reader_.AcceptWord("inner")) inner = true;
      if (!reader_.Expect('(')) return false;
      if (loops_.size() == kMaxRank) {
        return reader_.Fail(reader_.position(), "too many loops");
      }
      SymInt loop, extent;
      if (!reader_.ParseSymbol(&loop) || !reader_.Expect('<') ||
          !reader_.ParseSymInt(&extent) || !reader_.Expect(')')) {
        return false;
      }
      loops_.push_back(loop);
      (inner ? nest->inner : nest->outer).push_back(extent);
    }
    if (reader_.AcceptWord("rows")) {
      if (!reader_.Expect('(')) return false;
      do {
        if (!ParseDType(&nest->rows.emplace_back())) return false;
      } while (reader_.Accept(','));
      if (!reader_.Expect(')')) return false;
    }
    if (!reader_.Expect('{')) return false;
    while (!reader_.Accept('}')) {
      if (!ParseStage(*nest, &nest->stages.emplace_back())) return false;
    }
    return true;
  }

  bool ParseStage(const Nest& nest, Stage* stage) {
    if (!reader_.ExpectWord("stage")) return false;
    stage->per_row = reader_.AcceptWord("per_row");
    if (!reader_.Expect('{')) return false;
    while (!reader_.Accept('}')) {
      const int values = static_cast<int>(stage->body.size());
      bool parsed;
      if (reader_.AcceptWord("keep")) {
        parsed = ParseKeep(nest, values, stage);
      } else if (reader_.AcceptWord("reduce")) {
        parsed = ParseReduction(values, stage);
      } else if (reader_.AcceptWord("store")) {
        Store store;
        parsed = ParseNumbered("", values, &store.value) &&
                 reader_.Expect(kArrow) && ParseAccess(values, &store.access);
        stage->stores.push_back(std::move(store));
      } else {
        parsed = ParseInstr(nest, stage);
      }
      if (!parsed) return false;
    }
    return true;
  }

  bool ParseKeep(const Nest& nest, int values, Stage* stage) {
    Keep keep;
    if (!ParseNumbered("", values, &keep.value) || !reader_.Expect(kArrow) ||
        !reader_.ExpectWord("row") || !ParseRow(nest, &keep.row)) {
      return false;
    }
    stage->keeps.push_back(keep);
    return true;
  }

  bool ParseRow(const Nest& nest, int* row) {
    const size_t position = reader_.position();
    if (!ParseIndex(row)) return false;
    if (static_cast<size_t>(*row) < nest.rows.size()) return true;
    return reader_.Fail(position, "the nest has no such row");
  }

  bool ParseReduction(int values, Stage* stage) {
    Reduction r;
    if (!reader_.At(kIdentifier) ||
        !ParseReduceOp(reader_.token().text, &r.op)) {
      return reader_.Expected("a reduction");
    }
    reader_.Advance();
    const size_t position = reader_.position();
    int number = 0;
    if (!ParseNumbered("", values, &r.value) || !reader_.Expect(':') ||
        !ParseDType(&r.dtype) || !reader_.Expect(kArrow) ||
        !ParseIndex(&number)) {
      return false;
    }
    if (number != num_reductions_) {
      return reader_.Fail(position,
                          absl::StrCat("this is reduction ", num_reductions_));
    }
    ++num_reductions_;
    stage->reductions.push_back(r);
    return true;
  }

  bool ParseInstr(const Nest& nest, Stage* stage) {
    const int number = static_cast<int>(stage->body.size());
    Instr i;
    int named = 0;
    const size_t position = reader_.position();
    if (!ParseNumbered("", number + 1, &named)) return false;
    if (named != number) {
      return reader_.Fail(position, absl::StrCat("this is %", number));
    }
    if (!reader_.Expect('=')) return false;
    if (!reader_.At(kIdentifier) ||
        !ParseScalarOp(reader_.token().text, &i.op)) {
      return reader_.Expected("an instruction");
    }
    reader_.Advance();
    const size_t operands = reader_.position();
    if (!ParseOperands(nest, number, &i) || !reader_.Expect(':') ||
        !ParseDType(&i.dtype)) {
      return false;
    }
    if (i.op == ScalarOp::kConst && !ReparseConst(operands, &i)) return false;
    stage->body.push_back(std::move(i));
    return true;
  }

  // Numbers are read once the dtype is known, which stands behind them.
  bool ReparseConst(size_t position, Instr* i) {
    const size_t end = reader_.position();
    reader_.Seek(position);
    const bool parsed = IsFloat(i->dtype) ? reader_.ParseDouble(&i->imm)
                                          : reader_.ParseInt(&i->int_imm);
    if (parsed) reader_.Seek(end);
    return parsed;
  }

  bool ParseOperands(const Nest& nest, int values, Instr* i) {
    switch (i->op) {
      case ScalarOp::kConst: {
        double ignored;
        return reader_.ParseDouble(&ignored);
      }
      case ScalarOp::kSize:
        return reader_.Expect('(') && reader_.ParseSymInt(&i->size) &&
               reader_.Expect(')');
      case ScalarOp::kIndex:
        return ParseLoop(&i->loop);
      case ScalarOp::kRow:
        return ParseRow(nest, &i->loop);
      case ScalarOp::kReduced: {
        const size_t position = reader_.position();
        if (!ParseIndex(&i->loop)) return false;
        if (i->loop < num_reductions_) return true;
        return reader_.Fail(position, "there is no such reduction yet");
      }
      case ScalarOp::kLoad:
        return ParseAccess(values, &i->access);
      default:
        break;
    }
    for (int k = 0; k < NumOperands(i->op); ++k) {
      if (k > 0 && !reader_.Expect(',')) return false;
      if (!ParseNumbered("", values, &i->operands[k])) return false;
    }
    if (i->op != ScalarOp::kRound) return true;
    return reader_.ExpectWord("via") && ParseDType(&i->via);
  }

  bool ParseLoop(int* out) {
    const size_t position = reader_.position();
    SymInt loop;
    if (!reader_.ParseSymbol(&loop)) return false;
    for (size_t l = 0; l < loops_.size(); ++l) {
      if (loops_[l] != loop) continue;
      *out = static_cast<int>(l);
      return true;
    }
    return reader_.Fail(position, "the nest has no such loop");
  }

  // A sum of loops with factors.
  bool ParseLinear(SymInt* offset, std::vector<SymInt>* strides) {
    const size_t position = reader_.position();
    SymInt whole;
    if (!reader_.ParseSymInt(&whole)) return false;
    const auto at = [&](size_t one) {
      return Substitute(whole, [&](SymInt s) -> std::optional<SymInt> {
        for (size_t l = 0; l < loops_.size(); ++l) {
          if (loops_[l] == s) return SymInt(l == one ? 1 : 0);
        }
        return std::nullopt;
      });
    };
    *offset = at(loops_.size());
    SymInt again = *offset;
    for (size_t l = 0; l < loops_.size(); ++l) {
      strides->push_back(at(l) - *offset);
      again = again + strides->back() * loops_[l];
    }
    if (again == whole) return true;
    return reader_.Fail(position, "the index is not linear in the loops");
  }

  bool ParseAccess(int values, Access* access) {
    if (!ParseNumbered("a", num_args_, &access->arg) || !reader_.Expect('[') ||
        !ParseLinear(&access->offset, &access->strides)) {
      return false;
    }
    while (reader_.Accept(',')) {
      IndexTerm term;
      if (!ParseNumbered("", values, &term.value) || !reader_.Expect('*') ||
          !reader_.ParseSymInt(&term.stride) || !reader_.ExpectWord("in") ||
          !reader_.ParseSymInt(&term.bound)) {
        return false;
      }
      access->terms.push_back(term);
    }
    if (!reader_.Expect(']')) return false;
    if (!reader_.AcceptWord("if")) return true;
    while (reader_.Accept('(')) {
      Access::Guard guard;
      if (!ParseLinear(&guard.offset, &guard.strides) ||
          !reader_.ExpectWord("in") || !reader_.ParseSymInt(&guard.bound) ||
          !reader_.Expect(')')) {
        return false;
      }
      access->guards.push_back(std::move(guard));
    }
    return reader_.ExpectWord("else") &&
           ParseNumbered("", values, &access->otherwise);
  }

  text::TextReader reader_;
  const Module& module_;
  std::vector<SymInt> loops_;
  int num_args_ = 0;
  int num_reductions_ = 0;
};

}  // namespace

absl::StatusOr<Plan> ParsePlan(absl::string_view text, const Module& module,
                               absl::string_view filename) {
  return PlanParser(text, module, filename).Run();
}

}  // namespace weft
