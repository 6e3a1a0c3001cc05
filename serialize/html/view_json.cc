#include "serialize/html/view_json.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "serialize/html/json_writer.h"
#include "serialize/html/run_json.h"

namespace weft {
namespace {

using Row = ModuleView::Row;

class Writer : public JsonWriter {
 public:
  explicit Writer(const ModuleView& view) : view_(view) {}

  std::string Write() {
    Number("version", 2);
    Text("title", view_.title);
    List("strings", view_.strings.size(),
         [&](int i) { AppendJsonString(view_.strings[i], &out_); });
    WriteTables();
    WriteRows();
    WriteSnapshots();
    WriteRemarks();
    WriteRun(view_, this);
    return std::move(out_) + "}\n";
  }

 private:
  void WriteTables() {
    const auto& scopes = view_.scopes.scopes();
    Object("scopes", [&] {
      Column("parent", scopes.size(), [&](int i) { return scopes[i].parent; });
      Column("name", scopes.size(), [&](int i) { return scopes[i].name; });
    });
    Name("viewOps");
    Numbers(view_.view_ops);
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
    const auto& changes = view_.changes;
    Object("changes", [&] {
      Column("pass", changes.size(), [&](int i) { return changes[i].pass; });
      Column("rule", changes.size(), [&](int i) { return changes[i].rule; });
      Column("rewrite", changes.size(), [&](int i) { return changes[i].rewrite; });
      Column("op", changes.size(), [&](int i) { return changes[i].op; });
      Column("node", changes.size(), [&](int i) { return changes[i].node; });
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
      out_ += '{';
      Text("path", snapshot.path);
      Text("text", snapshot.text);
      if (snapshot.microseconds > 0) {
        Name("us");
        absl::StrAppendFormat(&out_, "%.3f", snapshot.microseconds);
      }
      const auto& placed = snapshot.placed;
      if (s == 0) {
        Number("count", placed.size());
      } else {
        Differences("removed", snapshot.removed.size(), [&](int i) { return snapshot.removed[i]; });
        Differences("rows", placed.size(), [&](int i) { return placed[i].row; });
        Differences("after", placed.size(), [&](int i) { return placed[i].after; });
      }
      out_ += '}';
    });
  }

  void WriteRemarks() {
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
    Number("remarksLeftOut", view_.remarks_left_out);
  }

  const ModuleView& view_;
};

}  // namespace

std::string ViewJson(const ModuleView& view) { return Writer(view).Write(); }

}  // namespace weft
