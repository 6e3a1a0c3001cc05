#include "serialize/html/view_json.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "serialize/html/json_text.h"

namespace weft {
namespace {

using Row = ModuleView::Row;

class Writer {
 public:
  explicit Writer(const ModuleView& view) : view_(view) {}

  std::string Write() {
    out_ = "{\"version\":1,\"title\":";
    AppendJsonString(view_.title, &out_);
    List("strings", view_.strings.size(),
         [&](int i) { AppendJsonString(view_.strings[i], &out_); });
    WriteTables();
    WriteRows();
    WriteSnapshots();
    WriteReports();
    return std::move(out_) + "}\n";
  }

 private:
  // ,"name":[...]
  template <typename Item>
  void List(absl::string_view name, size_t size, Item item) {
    Name(name);
    out_ += '[';
    for (size_t i = 0; i < size; ++i) {
      if (i > 0) out_ += ',';
      item(static_cast<int>(i));
    }
    out_ += ']';
  }
  // The same for numbers.
  template <typename Item>
  void Column(absl::string_view name, size_t size, Item item) {
    List(name, size, [&](int i) { absl::StrAppend(&out_, item(i)); });
  }
  // Numbers as differences from the number before.
  template <typename Item>
  void Differences(absl::string_view name, size_t size, Item item) {
    int64_t last = 0;
    Column(name, size, [&](int i) {
      const int64_t now = item(i), step = now - last;
      last = now;
      return step;
    });
  }
  void Name(absl::string_view name) {
    absl::StrAppend(&out_, out_.back() == '{' ? "" : ",", "\"", name, "\":");
  }
  template <typename Body>
  void Object(absl::string_view name, Body body) {
    Name(name);
    out_ += '{';
    body();
    out_ += '}';
  }
  void Numbers(const std::vector<int>& numbers) {
    out_ += '[';
    for (size_t i = 0; i < numbers.size(); ++i) {
      absl::StrAppend(&out_, i == 0 ? "" : ",", numbers[i]);
    }
    out_ += ']';
  }

  void WriteTables() {
    const auto& scopes = view_.scopes.scopes();
    Object("scopes", [&] {
      Column("parent", scopes.size(), [&](int i) { return scopes[i].parent; });
      Column("name", scopes.size(), [&](int i) { return scopes[i].name; });
    });
    const auto& graphs = view_.graphs;
    Object("graphs", [&] {
      Column("name", graphs.size(), [&](int i) { return graphs[i].name; });
      Column("owner", graphs.size(), [&](int i) { return graphs[i].owner; });
      Column("region", graphs.size(), [&](int i) { return graphs[i].region; });
    });
    const auto& keys = view_.keys;
    Object("keys", [&] {
      Column("graph", keys.size(), [&](int i) { return keys[i].graph; });
      Differences("local", keys.size(), [&](int i) { return keys[i].local; });
    });
    List("sources", view_.source_lists.size(), [&](int i) { Numbers(view_.source_lists[i]); });
    const auto& steps = view_.steps;
    Object("steps", [&] {
      Column("pass", steps.size(), [&](int i) { return steps[i].pass; });
      Column("rule", steps.size(), [&](int i) { return steps[i].rule; });
      Column("rewrite", steps.size(), [&](int i) { return steps[i].rewrite; });
      Column("op", steps.size(), [&](int i) { return steps[i].op; });
      Column("node", steps.size(), [&](int i) { return steps[i].node; });
    });
    List("stories", view_.stories.size(), [&](int i) { Numbers(view_.stories[i]); });
  }

  void WriteRows() {
    const auto& rows = view_.rows;
    Object("rows", [&] {
      Differences("key", rows.size(), [&](int i) { return rows[i].key; });
      Column("op", rows.size(), [&](int i) { return rows[i].op; });
      Column("name", rows.size(), [&](int i) { return rows[i].name; });
      Column("types", rows.size(), [&](int i) { return rows[i].types; });
      Column("attrs", rows.size(), [&](int i) { return rows[i].attrs; });
      Differences("sources", rows.size(), [&](int i) { return rows[i].sources; });
      Column("scope", rows.size(), [&](int i) { return rows[i].scope; });
      Column("story", rows.size(), [&](int i) { return rows[i].story; });
      Column("edges", rows.size(), [&](int i) { return rows[i].edges.size(); });
    });
    WriteEdges();
  }

  // All edges in sequence; then [edge, result] for results other than the first, and the edges to
  // symbols.
  void WriteEdges() {
    std::vector<int> from, results, symbols;
    for (const Row& row : view_.rows) {
      for (const ModuleView::Edge& edge : row.edges) {
        const int number = static_cast<int>(from.size());
        from.push_back(edge.key < 0 ? 0 : row.key - edge.key);
        if (edge.result != 0) {
          results.push_back(number);
          results.push_back(edge.result);
        }
        if (edge.is_symbol) symbols.push_back(number);
      }
    }
    Object("edges", [&] {
      Name("from");
      Numbers(from);
      Name("results");
      Numbers(results);
      Name("symbols");
      Numbers(symbols);
    });
  }

  void WriteSnapshots() {
    const auto& snapshots = view_.snapshots;
    List("snapshots", snapshots.size(), [&](int s) {
      const ModuleView::Snapshot& snapshot = snapshots[s];
      out_ += "{\"path\":";
      AppendJsonString(snapshot.path, &out_);
      Name("text");
      AppendJsonString(snapshot.text, &out_);
      const auto& placed = snapshot.placed;
      if (s == 0) {
        Name("count");
        absl::StrAppend(&out_, placed.size());
      } else {
        Differences("removed", snapshot.removed.size(), [&](int i) { return snapshot.removed[i]; });
        Differences("rows", placed.size(), [&](int i) { return placed[i].row; });
        Differences("after", placed.size(), [&](int i) { return placed[i].after; });
      }
      out_ += '}';
    });
  }

  void WriteReports() {
    const auto& remarks = view_.remarks;
    Object("remarks", [&] {
      Column("snapshot", remarks.size(), [&](int i) { return remarks[i].snapshot; });
      Column("path", remarks.size(), [&](int i) { return remarks[i].path; });
      Column("kind", remarks.size(), [&](int i) { return remarks[i].kind; });
      Column("rule", remarks.size(), [&](int i) { return remarks[i].rule; });
      Column("text", remarks.size(), [&](int i) { return remarks[i].text; });
      Column("sources", remarks.size(), [&](int i) { return remarks[i].sources; });
      List("keys", remarks.size(), [&](int i) { Numbers(remarks[i].keys); });
    });
    Name("remarksLeftOut");
    absl::StrAppend(&out_, view_.remarks_left_out);
    if (view_.shows_errors) {
      Name("errors");
      absl::StrAppend(&out_, "true");
    }
    const auto& kernels = view_.kernels;
    Object("kernels", [&] {
      Column("name", kernels.size(), [&](int i) { return kernels[i].name; });
      Column("us", kernels.size(), [&](int i) {
        const double us = kernels[i].microseconds;
        return view_.shows_errors ? absl::StrFormat("%.9g", us) : absl::StrFormat("%.3f", us);
      });
      Column("calls", kernels.size(), [&](int i) { return kernels[i].calls; });
      Column("bytes", kernels.size(), [&](int i) { return kernels[i].bytes; });
      Column("sources", kernels.size(), [&](int i) { return kernels[i].sources; });
    });
  }

  const ModuleView& view_;
  std::string out_;
};

}  // namespace

std::string ViewJson(const ModuleView& view) { return Writer(view).Write(); }

}  // namespace weft
