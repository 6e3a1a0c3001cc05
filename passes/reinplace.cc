// Collect finds which values share memory and when each is read last; Decide gives the reason that
// an update cannot be done in place, if there is one; Apply does it. They run together in one sweep
// in the order of the graph, because an update in place enables the next one: its result has the
// memory of its base.
#include "passes/reinplace.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_args.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_schema.h"
#include "graph/ops/ops.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"

namespace weft {
namespace {

// An op that gives its first operand with some elements replaced.
struct Update {
  const OpDef* op;
  const OpDef* view;     // View of the replaced elements, or null ...
  const OpDef* inplace;  // ... and then the op that writes in place.
};
constexpr Update kUpdates[] = {
    {&ops::slice_scatter, &ops::slice, nullptr},
    {&ops::select_scatter, &ops::select, nullptr},
    {&ops::diagonal_scatter, &ops::diagonal, nullptr},
    {&ops::as_strided_scatter, &ops::as_strided, nullptr},
    {&ops::scatter, nullptr, &ops::scatter_},
    {&ops::scatter_nd, nullptr, &ops::scatter_nd_},
};
// Views that show no element twice, whatever their attributes.
constexpr const OpDef* kInjectiveViews[] = {
    &ops::reshape,  &ops::permute,          &ops::slice,   &ops::select,
    &ops::diagonal, &ops::split_with_sizes, &ops::bitcast,
};

const Update* FindUpdate(const Node& node) {
  for (const Update& update : kUpdates) {
    if (node.Is(*update.op)) return &update;
  }
  return nullptr;
}

bool IsInjective(const OpDef& view) {
  return std::find(std::begin(kInjectiveViews), std::end(kInjectiveViews), &view) !=
         std::end(kInjectiveViews);
}

// With hints for symbols; 0 when a size is not known.
int64_t BytesOf(Type type, const SymbolTable& symbols) {
  const auto numel = Evaluate(type.numel(), [&](SymInt s) {
    const SymbolInfo* info = symbols.Find(s);
    return info != nullptr ? info->hint : std::nullopt;
  });
  return numel ? DTypeBytes(type.dtype(), *numel) : 0;
}

struct Counts {
  int64_t possible = 0;
  int64_t done = 0;
  int64_t missed = 0;
  int64_t missed_bytes = 0;
  int64_t write_backs = 0;
};

class GraphReinplacer {
 public:
  GraphReinplacer(Graph* graph, const ReinplaceOptions& options, PassContext* context,
                  Counts* counts)
      : graph_(*graph),
        options_(options),
        context_(*context),
        counts_(*counts),
        places_(graph->value_id_limit()),
        is_written_(graph->num_inputs()) {
    for (int input : graph->write_backs()) is_written_[input] = true;
  }

  absl::Status Run() {
    Collect();
    for (Value* input : graph_.inputs()) {
      Memory memory;
      memory.input = input->index();
      Own(input, memory);
    }
    int64_t position = 0;
    for (Node* node : graph_.nodes()) {
      WEFT_RETURN_IF_ERROR(Visit(node, position++));
    }
    return ApplyWriteBacks();
  }

 private:
  // The state of one owner's memory.
  struct Memory {
    int input = -1;
    bool is_constant = false;
    int64_t last_read = -1;  // Last read of its present contents.
  };
  struct Place {
    int memory = -1;
    bool injective = true;   // No element is shown twice.
    bool dense = true;       // All of the memory, in order.
    int64_t last_read = -1;  // Last read of the value or a view of it.
    bool escapes = false;    // It, a view or an update of it is an output.
  };

  void Collect();
  void CollectOperand(const Node& node, int operand, int64_t position);
  void Own(const Value* value, Memory memory);
  absl::Status Visit(Node* node, int64_t position);
  std::string Objection(const Value& base, const Value& result, int64_t position) const;
  std::string ViewObjection(const Update& update, Node* node) const;
  absl::Status ApplyUpdate(const Update& update, Node* node);
  absl::Status ApplyPointwise(Node* node, int64_t position);
  absl::Status ApplyWriteBacks();
  void Miss(const Node& node, const std::string& reason, int64_t bytes);
  // `result` takes the memory of `base`.
  void TakeOver(const Value& base, const Value& result);

  Place& PlaceOf(const Value& value) { return places_[value.id()]; }
  const Place& PlaceOf(const Value& value) const { return places_[value.id()]; }

  Graph& graph_;
  const ReinplaceOptions& options_;
  PassContext& context_;
  Counts& counts_;
  std::vector<Place> places_;  // By value id.
  std::vector<Memory> memories_;
  std::vector<bool> is_written_;  // By input.
};

// --- Collect -----------------------------------------------------------------

// In reverse order: a read of a view counts as a read of the viewed value.
void GraphReinplacer::Collect() {
  int64_t position = graph_.num_nodes();
  for (const Node* node = graph_.return_node(); node != nullptr; node = node->prev(), --position) {
    for (int i = 0; i < node->num_operands(); ++i) {
      if (node->has_operand(i)) CollectOperand(*node, i, position);
    }
  }
}

void GraphReinplacer::CollectOperand(const Node& node, int operand, int64_t position) {
  Place& place = PlaceOf(*node.operand(operand));
  place.last_read = std::max(place.last_read, position);
  if (&node == graph_.return_node()) {
    place.escapes |= operand < graph_.num_own_outputs();
  }
  if (operand == 0 && FindUpdate(node) != nullptr) {
    place.escapes |= PlaceOf(*node.result()).escapes;
  }
  for (int r = 0; r < node.num_results(); ++r) {
    if (node.op().schema().ViewedOperand(r) != operand) continue;
    const Place& view = PlaceOf(*node.result(r));
    place.last_read = std::max(place.last_read, view.last_read);
    place.escapes |= view.escapes;
  }
}

void GraphReinplacer::Own(const Value* value, Memory memory) {
  Place& place = PlaceOf(*value);
  place.memory = static_cast<int>(memories_.size());
  memory.last_read = place.last_read;
  memories_.push_back(memory);
}

// --- Decide ------------------------------------------------------------------

// The reason that the memory of `base` cannot be overwritten at `position` by `result`; "" if it
// can.
std::string GraphReinplacer::Objection(const Value& base, const Value& result,
                                       int64_t position) const {
  const Place& place = PlaceOf(base);
  const Memory& memory = memories_[place.memory];
  if (memory.is_constant) return "the base is a constant";
  if (memory.input >= 0 && !is_written_[memory.input]) {
    return absl::StrCat("the base lies in input \"", graph_.input_info(memory.input).name,
                        "\", which the program does not write");
  }
  if (!place.injective) return "the base may show an element twice";
  if (memory.last_read > position) return "the base is read later";
  if (memory.input >= 0 && PlaceOf(result).escapes) {
    return absl::StrCat("an output would lie in input \"", graph_.input_info(memory.input).name,
                        "\"");
  }
  return "";
}

// Why the view of an update cannot be made of its base.
std::string GraphReinplacer::ViewObjection(const Update& update, Node* node) const {
  if (update.view == nullptr || IsInjective(*update.view)) return "";
  // An op that addresses elements in memory requires dense order.
  if (!PlaceOf(*node->operand(0)).dense) return "the base may not be dense";
  Builder builder(&graph_, node);
  Node::ArgStorage storage;
  OpArgs args = node->Args(&storage);
  args.op = update.view;
  args.types = args.types.first(1);
  args.operands = args.operands.first(1);
  Value* scatter = update.view->invert_view()(builder, args, 0, node->operand(0), node->operand(1));
  if (scatter == nullptr) return "the view may show an element twice";
  graph_.EraseNode(scatter->node());
  return "";
}

void GraphReinplacer::Miss(const Node& node, const std::string& reason, int64_t bytes) {
  ++counts_.missed;
  counts_.missed_bytes += bytes;
  if (!context_.wants_remarks()) return;
  Remark remark = RemarkOn(node, RemarkKind::kMissed, reason);
  remark.args = {{"bytes", absl::StrCat(bytes)}};
  context_.AddRemark(std::move(remark));
}

// --- Apply -------------------------------------------------------------------

void GraphReinplacer::TakeOver(const Value& base, const Value& result) {
  Place& place = PlaceOf(base);
  place.last_read = PlaceOf(result).last_read;
  place.escapes = PlaceOf(result).escapes;
  memories_[place.memory].last_read = std::max(memories_[place.memory].last_read, place.last_read);
}

absl::Status GraphReinplacer::Visit(Node* node, int64_t position) {
  if (const Update* update = FindUpdate(*node)) {
    ++counts_.possible;
    std::string objection = Objection(*node->operand(0), *node->result(), position);
    if (objection.empty()) objection = ViewObjection(*update, node);
    if (objection.empty() && context_.StartRewrite({NumericContract::kBitExact})) {
      ++counts_.done;
      return ApplyUpdate(*update, node);
    }
    if (!objection.empty()) {
      Miss(*node, objection, BytesOf(node->result()->type(), graph_.module().symbols()));
    }
  }
  for (int i = 0; i < node->num_results(); ++i) {
    const Value* result = node->result(i);
    const Value* viewed = ViewedBy(result);
    if (viewed == nullptr) {
      Memory memory;
      memory.is_constant = node->Is(ops::constant);
      Own(result, memory);
      continue;
    }
    Place& place = PlaceOf(*result);
    place.memory = PlaceOf(*viewed).memory;
    place.injective = PlaceOf(*viewed).injective && IsInjective(node->op());
    place.dense = PlaceOf(*viewed).dense && (node->Is(ops::reshape) || node->Is(ops::bitcast));
    Memory& memory = memories_[place.memory];
    memory.last_read = std::max(memory.last_read, place.last_read);
  }
  return options_.pointwise ? ApplyPointwise(node, position) : absl::OkStatus();
}

absl::Status GraphReinplacer::ApplyUpdate(const Update& update, Node* node) {
  Builder::Options options;
  options.fold = false;
  Builder builder(&graph_, node, options);
  builder.set_provenance(node->provenance());
  Value* base = node->operand(0);
  if (update.view == nullptr) {
    std::vector<Value*> operands;
    for (int i = 0; i < node->num_operands(); ++i) {
      operands.push_back(node->operand(i));
    }
    builder.Create(*update.inplace, operands, node->attr_list());
  } else {
    const std::vector<Value*> view = builder.Create(*update.view, {base}, node->attr_list());
    if (!view.empty()) builder.Op(ops::copy_, {view[0], node->operand(1)});
  }
  WEFT_RETURN_IF_ERROR(builder.status());
  TakeOver(*base, *node->result());
  node->result()->ReplaceAllUsesWith(base);
  graph_.EraseNode(node);
  return absl::OkStatus();
}

// Writes over the first operand that has the result's type and may be overwritten.
absl::Status GraphReinplacer::ApplyPointwise(Node* node, int64_t position) {
  if (!node->op().has(kPointwise) || node->num_results() != 1 ||
      ViewedBy(node->result()) != nullptr) {
    return absl::OkStatus();
  }
  Value* result = node->result();
  for (int i = 0; i < node->num_operands(); ++i) {
    Value* base = node->operand(i);
    if (base == nullptr || base->type() != result->type() ||
        !Objection(*base, *result, position).empty()) {
      continue;
    }
    if (!context_.StartRewrite({NumericContract::kBitExact})) break;
    ++counts_.possible;
    ++counts_.done;
    TakeOver(*base, *result);
    // Collects the uses of the result before copy_ adds one.
    std::vector<Use*> uses;
    for (Use* use = result->first_use(); use != nullptr; use = use->next()) {
      uses.push_back(use);
    }
    Builder builder(&graph_, node->next());
    builder.set_provenance(node->provenance());
    builder.Op(ops::copy_, {base, result});
    WEFT_RETURN_IF_ERROR(builder.status());
    for (Use* use : uses) {
      use->user()->set_operand(use->operand_index(), base);
    }
    break;
  }
  return absl::OkStatus();
}

// At the end, when all else is computed.
absl::Status GraphReinplacer::ApplyWriteBacks() {
  const int own = graph_.num_own_outputs();
  std::vector<Value*> outputs = graph_.outputs();
  std::vector<int> reads(memories_.size());  // By the return.
  for (Value* output : outputs) ++reads[PlaceOf(*output).memory];
  std::vector<int> kept;
  std::vector<Value*> kept_values(outputs.begin(), outputs.begin() + own);
  std::vector<std::string> names = graph_.output_names();
  if (!names.empty()) names.resize(own);
  for (size_t k = 0; k < graph_.write_backs().size(); ++k) {
    const int index = graph_.write_backs()[k];
    Value* input = graph_.input(index);
    Value* value = outputs[own + k];
    const int memory = PlaceOf(*input).memory;
    const bool read = reads[memory] > (PlaceOf(*value).memory == memory);
    if (read && context_.wants_remarks()) {
      context_.AddRemark(RemarkOn(
          *graph_.return_node(), RemarkKind::kMissed,
          absl::StrCat("an output reads the memory of input \"", graph_.input_info(index).name,
                       "\", which is written back after the run")));
    }
    if (read || !context_.StartRewrite({NumericContract::kBitExact})) {
      kept.push_back(index);
      kept_values.push_back(value);
      if (!names.empty()) names.push_back(graph_.output_names()[own + k]);
      continue;
    }
    ++counts_.write_backs;
    if (value == input) continue;
    Builder builder(&graph_);
    builder.Op(ops::copy_, {input, value});
    WEFT_RETURN_IF_ERROR(builder.status());
  }
  if (kept.size() == graph_.write_backs().size()) return absl::OkStatus();
  graph_.SetOutputs(kept_values);
  graph_.output_names() = std::move(names);
  graph_.SetWriteBacks(std::move(kept));
  return absl::OkStatus();
}

class ReinplacePass : public Pass {
 public:
  explicit ReinplacePass(const ReinplaceOptions& options) : options_(options) {}
  absl::string_view name() const override { return "reinplace"; }
  absl::string_view doc() const override {
    return "Writes updates into memory that is not read any more; comes last.";
  }
  void VisitOptions(OptionVisitor& visitor) override {
    visitor.Visit("pointwise", &options_.pointwise,
                  "also write results of pointwise ops over an operand");
  }
  absl::Status Run(Module& module, PassContext& context) override {
    Counts counts;
    for (Graph* graph : module.AllGraphs()) {
      GraphReinplacer reinplacer(graph, options_, &context, &counts);
      WEFT_RETURN_IF_ERROR(reinplacer.Run());
    }
    context.Count("possible", counts.possible);
    context.Count("done", counts.done);
    context.Count("missed", counts.missed);
    context.Count("missed_bytes", counts.missed_bytes);
    context.Count("write_backs", counts.write_backs);
    return absl::OkStatus();
  }

 private:
  ReinplaceOptions options_;
};

}  // namespace

std::unique_ptr<Pass> CreateReinplacePass(const ReinplaceOptions& options) {
  return std::make_unique<ReinplacePass>(options);
}

std::unique_ptr<Pass> CreateReinplacePass() { return CreateReinplacePass({}); }

}  // namespace weft
