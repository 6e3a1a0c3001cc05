#include "api/inspect/blame.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/printable.h"
#include "base/quote.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/origin.h"
#include "graph/ir/provenance.h"

namespace weft {
namespace {

// Appends a name of the model, quoted as in the text form.
void AppendQuoted(std::string* text, const std::string& name) { *text += Quote(name); }

// Appends a name without quotes.
void AppendPrintable(std::string* text, const std::string& name) { *text += PrintableName(name); }

using Step = OriginTable::Step;

// A node, with the number of its first result in the text form.
struct Place {
  const Graph* graph;
  const Node* node;
  int64_t number;
};

void ForEachNode(const Module& module, const std::function<void(const Place&)>& visit) {
  for (const Graph* graph : module.AllGraphs()) {
    int64_t number = 0;
    for (const Node* node : graph->nodes()) {
      visit({graph, node, number});
      number += node->num_results();
    }
  }
}

std::vector<std::string> Sources(const Node& node) {
  return node.graph()->module().provenance().Names(node.provenance());
}

std::string StepText(const Step& step) {
  std::string text;
  if (!step.rule.empty()) {
    text = absl::StrCat("rewrite ", step.rewrite, ": ", step.pass, ", rule ", step.rule);
  } else {
    text = absl::StrCat("pass ", step.pass);
  }
  if (step.op != nullptr) {
    absl::StrAppend(&text, ", from ", step.op->name(), " (node ", step.node, ")");
  }
  return text;
}

std::string Title(const Place& place) {
  std::string text = absl::StrCat("@", place.graph->name(), " ");
  for (int i = 0; i < place.node->num_results(); ++i) {
    absl::StrAppend(&text, i == 0 ? "%" : ", %", place.number + i);
  }
  absl::StrAppend(&text, " = ", place.node->op().name());
  for (int i = 0; i < place.node->num_results(); ++i) {
    absl::StrAppend(&text, i == 0 ? " : " : ", ", place.node->result(i)->type().ToString());
  }
  return text;
}

std::string Story(const Place& place) {
  constexpr size_t kMaxSteps = 64;
  std::string text = Title(place) + "\n";
  const std::vector<std::string> sources = Sources(*place.node);
  if (!sources.empty()) {
    absl::StrAppend(&text, "  stands for ", absl::StrJoin(sources, ", ", AppendQuoted), "\n");
  }
  const auto steps = place.graph->module().origins().History(place.node->origin(), kMaxSteps);
  for (const Step& step : steps) absl::StrAppend(&text, "  ", StepText(step), "\n");
  if (steps.empty()) text += "  as it came with the program\n";
  if (steps.size() == kMaxSteps) text += "  and earlier steps\n";
  return text;
}

std::string Line(const Place& place) {
  constexpr size_t kMaxNames = 4;
  const auto& module = place.graph->module();
  const auto steps = module.origins().History(place.node->origin(), 1);
  const auto names = module.provenance().Names(place.node->provenance(), kMaxNames);
  return absl::StrCat(Title(place), "  [", absl::StrJoin(names, ", ", AppendPrintable), "]  ",
                      steps.empty() ? "as it came" : StepText(steps[0]), "\n");
}

absl::StatusOr<std::string> BlameValue(const Module& module, absl::string_view what) {
  const absl::string_view whole = what;
  std::string function = "main";
  if (absl::ConsumePrefix(&what, "@")) {
    const size_t colon = what.find(':');
    function = std::string(what.substr(0, colon));
    what = colon == absl::string_view::npos ? "" : what.substr(colon + 1);
  }
  int64_t wanted = 0;
  if (!absl::ConsumePrefix(&what, "%") || !absl::SimpleAtoi(what, &wanted)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", whole, "\" is not a value like %12 or @main:%12"));
  }
  const Graph* graph = module.FindFunction(function);
  std::string text;
  if (graph != nullptr) {
    ForEachNode(module, [&](const Place& place) {
      if (place.graph == graph && wanted >= place.number &&
          wanted < place.number + place.node->num_results()) {
        text = Story(place);
      }
    });
  }
  if (!text.empty()) return text;
  return absl::NotFoundError(absl::StrCat("no node has the value %", wanted, " in @", function));
}

}  // namespace

absl::StatusOr<std::string> Blame(const Module& module, absl::string_view what) {
  if (absl::StartsWith(what, "%") || absl::StartsWith(what, "@")) {
    return BlameValue(module, what);
  }
  std::string text;
  ForEachNode(module, [&](const Place& place) {
    if (what == "all") {
      text += Line(place);
      return;
    }
    const std::vector<std::string> sources = Sources(*place.node);
    if (std::find(sources.begin(), sources.end(), what) != sources.end()) {
      text += Story(place);
    }
  });
  if (text.empty() && what != "all") {
    return absl::NotFoundError(absl::StrCat("no node stands for \"", what, "\""));
  }
  return text;
}

}  // namespace weft
