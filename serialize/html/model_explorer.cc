#include "serialize/html/model_explorer.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "serialize/html/json_text.h"

namespace weft {
namespace {

using Row = ModuleView::Row;

class Writer {
 public:
  explicit Writer(const ModuleView& view) : view_(view) {}

  std::string Write() {
    const auto rows = view_.RowsAt(static_cast<int>(view_.snapshots.size()) - 1);
    held_.resize(view_.keys.size());
    for (size_t g = 0; g < rows.size(); ++g) {
      const int owner = view_.graphs[g].owner;
      if (owner >= 0 && !rows[g].empty()) held_[owner].push_back(static_cast<int>(g));
    }
    absl::StrAppend(&out_, "{\"label\":", JsonQuote(view_.title), ",\"graphs\":[");
    for (size_t g = 0; g < rows.size(); ++g) {
      if (!rows[g].empty()) WriteGraph(static_cast<int>(g), rows[g]);
    }
    return std::move(out_) + "\n]}\n";
  }

 private:
  // "main", or "main/12:body" for a graph in its node 12.
  std::string GraphId(int graph) const {
    std::string id;
    while (view_.graphs[graph].owner >= 0) {
      const ModuleView::Key& owner = view_.keys[view_.graphs[graph].owner];
      id = absl::StrCat("/", owner.local, ":", view_.strings[view_.graphs[graph].region], id);
      graph = owner.graph;
    }
    return absl::StrCat(view_.strings[view_.graphs[graph].name], id);
  }
  // Inputs are named by their value, as "in3".
  std::string NodeId(int key) const {
    const int64_t local = view_.keys[key].local;
    return local < 0 ? absl::StrCat("in", -1 - local) : absl::StrCat(local);
  }
  std::string Label(const Row& row) const {
    const std::string& op = view_.strings[row.op];
    if (op == "return_") return "return";
    return op == "input" ? view_.strings[row.name] : op;
  }
  void Comma(absl::string_view open) {
    if (!absl::EndsWith(out_, open)) out_ += ',';
  }

  void WriteGraph(int graph, const std::vector<int>& rows) {
    Comma("[");
    absl::StrAppend(&out_, "\n{\"id\":", JsonQuote(GraphId(graph)), ",\"nodes\":[");
    for (size_t i = 0; i < rows.size(); ++i) {
      absl::StrAppend(&out_, i == 0 ? "\n" : ",\n");
      WriteNode(view_.rows[rows[i]]);
    }
    out_ += "]}";
  }

  void WriteNode(const Row& row) {
    absl::StrAppend(&out_, "{\"id\":\"", NodeId(row.key), "\",\"label\":", JsonQuote(Label(row)),
                    ",\"namespace\":", JsonQuote(view_.scopes.Path(row.scope)));
    if (!held_[row.key].empty()) {
      out_ += ",\"subgraphIds\":[";
      for (int graph : held_[row.key]) {
        Comma("[");
        AppendJsonString(GraphId(graph), &out_);
      }
      out_ += ']';
    }
    WriteAttributes(row);
    WriteEdges(row);
    if (row.types >= 0) {
      absl::StrAppend(&out_, ",\"outputsMetadata\":[");
      int i = 0;
      for (const std::string& type : SplitTypes(view_.strings[row.types])) {
        absl::StrAppend(&out_, i == 0 ? "" : ",", "{\"id\":\"", i,
                        "\",\"attrs\":[{\"key\":\"tensor_shape\",\"value\":", JsonQuote(type),
                        "}]}");
        ++i;
      }
      out_ += ']';
    }
    out_ += '}';
  }

  // Splits at commas between types; commas inside of brackets are part of a type.
  static std::vector<std::string> SplitTypes(absl::string_view text) {
    std::vector<std::string> types(1);
    int depth = 0;
    for (char c : text) {
      depth += (c == '[' || c == '(') - (c == ']' || c == ')');
      if (c == ',' && depth == 0) {
        types.emplace_back();
      } else if (c != ' ' || !types.back().empty()) {
        types.back() += c;
      }
    }
    return types;
  }

  void Attribute(absl::string_view key, absl::string_view value) {
    Comma("[");
    absl::StrAppend(&out_, "{\"key\":", JsonQuote(key), ",\"value\":", JsonQuote(value), "}");
  }
  void WriteAttributes(const Row& row) {
    out_ += ",\"attrs\":[";
    if (row.name >= 0) Attribute("name", view_.strings[row.name]);
    if (row.attrs >= 0) {
      for (absl::string_view line : absl::StrSplit(view_.strings[row.attrs], '\n')) {
        const size_t at = line.find('=');
        Attribute(line.substr(0, at), line.substr(at + 1));
      }
    }
    if (row.sources >= 0) {
      std::string names;
      for (int name : view_.source_lists[row.sources]) {
        absl::StrAppend(&names, names.empty() ? "" : "\n", name < 0 ? "..." : view_.strings[name]);
      }
      Attribute("source", names);
    }
    out_ += ']';
  }

  void WriteEdges(const Row& row) {
    out_ += ",\"incomingEdges\":[";
    int input = -1;
    for (const ModuleView::Edge& edge : row.edges) {
      ++input;
      if (edge.key < 0) continue;
      Comma("[");
      absl::StrAppend(&out_, "{\"sourceNodeId\":\"", NodeId(edge.key),
                      "\",\"sourceNodeOutputId\":\"", edge.result, "\",\"targetNodeInputId\":\"",
                      input, "\"}");
    }
    out_ += ']';
  }

  const ModuleView& view_;
  std::vector<std::vector<int>> held_;  // By key: its nested graphs.
  std::string out_;
};

}  // namespace

std::string ToModelExplorer(const ModuleView& view) { return Writer(view).Write(); }

}  // namespace weft
