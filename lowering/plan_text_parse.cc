#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/op_schema.h"
#include "graph/tensor/tensor.h"
#include "graph/text/parts/text_reader.h"
#include "lowering/index_map.h"
#include "lowering/plan_text.h"
#include "lowering/plan_text_facts.h"
#include "lowering/plan_text_ops.h"
#include "lowering/plan_text_reader.h"

namespace weft {
namespace {

using text::kArrow;
using text::kIdentifier;
using text::kMaxNesting;
using text::kValue;

class PlanParser {
 public:
  PlanParser(absl::string_view text, const OpSource* ops, ConstantSource constants,
             absl::string_view filename)
      : reader_(text, filename), ops_(reader_, ops), shared_(reader_, constants) {}

  absl::StatusOr<Plan> Run() {
    Plan plan;
    if (ParsePlan(&plan, 0) && !reader_.At(text::kEnd)) {
      reader_.Expected("the end of the text");
    }
    WEFT_RETURN_IF_ERROR(reader_.status());
    shared_.Finish(&plan);
    ops_.Finish(&plan);
    return plan;
  }

 private:
  using BufferIds = absl::flat_hash_map<std::string, int>;
  struct PendingView {
    View view;
    std::string buffer;  // Empty: no buffer.
    size_t position = 0;
  };

  struct PendingDonor {
    size_t buffer = 0;
    std::string name;
    size_t position = 0;
  };

  // --- Plans ---

  bool ParsePlan(Plan* plan, int depth) {
    if (depth > kMaxNesting) {
      return reader_.Fail(reader_.position(), "plans are nested too deep");
    }
    std::vector<PendingView> inputs, outputs;
    if (!reader_.ExpectWord("plan") || !reader_.ParseSigilName(false, &plan->name) ||
        !ParseViews(&inputs) || !reader_.Expect(kArrow) || !ParseViews(&outputs) ||
        (depth == 0 && !shared_.ParseWhere()) || !reader_.Expect('{') ||
        (depth == 0 && !(ops_.ParseLines() && shared_.ParseLines()))) {
      return false;
    }
    plan->inputs.resize(inputs.size());
    while (reader_.AtWord("input")) {
      if (!ParseInput(plan)) return false;
    }
    if (reader_.AcceptWord("writes") && !ParseWriteBacks(plan, outputs.size())) return false;
    BufferIds ids;
    absl::flat_hash_map<std::string, int> kernels;
    std::vector<PendingDonor> donors;
    while (reader_.AtWord("buffer")) {
      if (!ParseBuffer(plan, &ids, &donors)) return false;
    }
    for (const PendingDonor& donor : donors) {
      const auto it = ids.find(donor.name);
      if (it == ids.end()) {
        return reader_.Fail(donor.position, absl::StrCat("there is no buffer %", donor.name));
      }
      plan->buffers[donor.buffer].donor = it->second;
    }
    while (reader_.AcceptWord("condition")) {
      PlanCondition& c = plan->conditions.emplace_back();
      if (!reader_.ParseSymInt(&c.condition)) return false;
      if (reader_.AcceptWord("from") && !reader_.ParseString(&c.origin)) return false;
    }
    while (reader_.AtWord("kernel")) {
      Kernel kernel;
      const size_t position = reader_.position();
      if (!ParseKernelText(reader_, &kernel)) return false;
      if (!kernels.emplace(kernel.name, plan->kernels.size()).second) {
        return reader_.Fail(position, "the kernel is there already");
      }
      plan->kernels.push_back(std::move(kernel));
    }
    while (!reader_.Accept('}')) {
      if (!ParseStep(plan, ids, kernels, depth)) return false;
    }
    if (!Resolve(inputs, ids, &plan->input_views) || !Resolve(outputs, ids, &plan->output_views)) {
      return false;
    }
    FinishInputs(plan);
    for (const View& v : plan->output_views) plan->outputs.push_back(v.type);
    return true;
  }

  bool ParseInput(Plan* plan) {
    reader_.Advance();
    const size_t position = reader_.position();
    int index = 0;
    if (!ParseIndex(reader_, &index)) return false;
    if (index >= static_cast<int>(plan->inputs.size())) {
      return reader_.Fail(position, "the plan has no such input");
    }
    PlanInput& input = plan->inputs[index];
    if (!reader_.ParseString(&input.name)) return false;
    input.read = !reader_.AcceptWord("unread");
    if (!reader_.AcceptWord("is")) return true;
    if (!reader_.ExpectWord("constant")) return false;
    const size_t at = reader_.position();
    if (!ParseIndex(reader_, &input.value)) return false;
    return shared_.HasConstant(input.value) || reader_.Fail(at, "the plan has no such constant");
  }

  bool ParseWriteBacks(Plan* plan, size_t num_outputs) {
    if (!reader_.ExpectWord("back")) return false;
    do {
      const size_t position = reader_.position();
      int index = 0;
      if (!ParseIndex(reader_, &index)) return false;
      const bool ascends = plan->write_backs.empty() || plan->write_backs.back() < index;
      if (!ascends || index >= static_cast<int>(plan->inputs.size()) ||
          plan->write_backs.size() == num_outputs) {
        return reader_.Fail(position, "write-backs are inputs in ascending order, each an output");
      }
      plan->write_backs.push_back(index);
    } while (reader_.Accept(','));
    return true;
  }

  // An input without a name in the text has that of its buffer.
  static void FinishInputs(Plan* plan) {
    for (size_t i = 0; i < plan->inputs.size(); ++i) {
      const View& view = plan->input_views[i];
      PlanInput& input = plan->inputs[i];
      input.type = view.type;
      if (input.name.empty() && view.present()) input.name = plan->buffers[view.buffer].name;
    }
  }

  bool ParseBuffer(Plan* plan, BufferIds* ids, std::vector<PendingDonor>* donors) {
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
      if (!ParseIndex(reader_, &b.index)) return false;
      if (b.kind == BufferKind::kConstant && !shared_.HasConstant(b.index)) {
        return reader_.Fail(position, "the plan has no such constant");
      }
    }
    b.dynamic = reader_.AcceptWord("dynamic");
    if (reader_.AcceptWord("donor")) {
      PendingDonor& donor = donors->emplace_back();
      donor.buffer = plan->buffers.size();
      donor.position = reader_.position();
      if (!reader_.ParseSigilName(true, &donor.name)) return false;
    }
    if (reader_.AcceptWord("remark") && !reader_.ParseString(&b.remark)) {
      return false;
    }
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
        more = v.strides.size() < Type::kMaxRank && reader_.Accept(',');
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

  bool Resolve(std::vector<PendingView>& pending, const BufferIds& ids, std::vector<View>* out) {
    for (PendingView& p : pending) {
      if (!p.buffer.empty()) {
        const auto it = ids.find(p.buffer);
        if (it == ids.end()) {
          return reader_.Fail(p.position, absl::StrCat("there is no buffer %", p.buffer));
        }
        p.view.buffer = it->second;
      }
      out->push_back(std::move(p.view));
    }
    return true;
  }

  // --- Steps ---

  bool ParseKernelName(const absl::flat_hash_map<std::string, int>& kernels, int* kernel) {
    const size_t position = reader_.position();
    std::string name;
    if (!reader_.ParseSigilName(false, &name)) return false;
    const auto it = kernels.find(name);
    if (it == kernels.end()) {
      return reader_.Fail(position, absl::StrCat("there is no kernel @", name));
    }
    *kernel = it->second;
    return true;
  }

  bool ParseStepHead(Step* step, const absl::flat_hash_map<std::string, int>& kernels) {
    if (reader_.AcceptWord("launch")) return ParseKernelName(kernels, &step->kernel);
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
    NamedOp op;
    if (!ops_.ParseOp(&op, &step->attrs)) return false;
    step->op = op.op;
    step->schema = op.schema;
    step->op_name = op.schema->name;
    return true;
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
    NamedOp op;
    if (!ops_.ParseOp(&op, &e.attrs)) return false;
    e.op = op.op;
    e.schema = op.schema;
    if (e.kind != Epilogue::Kind::kUnary && !ParseArgument(args, &e.arg)) return false;
    step->epilogue.push_back(e);
    return true;
  }

  bool ParseArgument(size_t args, int* arg) {
    const size_t position = reader_.position();
    if (!ParseIndex(reader_, arg)) return false;
    return static_cast<size_t>(*arg) < args ||
           reader_.Fail(position, "the step has no such argument");
  }

  // 3 from "fc1", "fc2"
  bool ParseNode(Step* step) {
    int node = 0;
    if (!ParseIndex(reader_, &node)) return false;
    step->node = static_cast<uint32_t>(node);
    if (!reader_.AcceptWord("from")) return true;
    auto source = std::make_shared<StepSource>();
    do {
      if (!reader_.ParseString(&source->nodes.emplace_back())) return false;
    } while (reader_.Accept(','));
    step->source = std::move(source);
    return true;
  }

  bool ParseStep(Plan* plan, const BufferIds& ids,
                 const absl::flat_hash_map<std::string, int>& kernels, int depth) {
    Step step;
    std::vector<PendingView> args, results;
    if (!ParseStepHead(&step, kernels) || !ParseViews(&args) || !reader_.Expect(kArrow) ||
        !ParseViews(&results) || !Resolve(args, ids, &step.args) ||
        !Resolve(results, ids, &step.results)) {
      return false;
    }
    while (reader_.AcceptWord("then")) {
      if (!ParseEpilogue(step.args.size(), &step)) return false;
    }
    if (step.kind == StepKind::kLibrary && reader_.AcceptWord("finish") &&
        !ParseKernelName(kernels, &step.kernel)) {
      return false;
    }
    for (const auto& [word, argument] :
         {std::pair("accumulates", &step.accumulates), std::pair("indices", &step.indices),
          std::pair("updates", &step.updates)}) {
      if (reader_.AcceptWord(word) && !ParseArgument(step.args.size(), argument)) return false;
    }
    if (step.kind == StepKind::kLibrary && reader_.AcceptWord("finds")) {
      if (!reader_.AcceptWord("sizes")) return reader_.Expected("sizes");
      step.finds_sizes = true;
    }
    if (reader_.AcceptWord("flops") && !reader_.ParseSymInt(&step.flops)) return false;
    if (reader_.AcceptWord("node") && !ParseNode(&step)) return false;
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

  text::TextReader reader_;
  OpsParser ops_;
  SharedParser shared_;
};
}  // namespace

absl::StatusOr<Plan> ReadPlanText(absl::string_view text, const OpSource* ops,
                                  ConstantSource constants, absl::string_view filename) {
  return PlanParser(text, ops, constants, filename).Run();
}

absl::StatusOr<Plan> ParseSelfContainedPlan(absl::string_view text, ConstantSource constants,
                                            absl::string_view filename) {
  return ReadPlanText(text, nullptr, constants, filename);
}

}  // namespace weft
