#include "serialize/dot/dot.h"

#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_schema.h"
#include "graph/ir/provenance.h"
#include "graph/tensor/tensor.h"
#include "serialize/html/json_text.h"
#include "serialize/html/scopes.h"
#include "serialize/html/string_table.h"

namespace weft {
namespace {

// Escapes text for a DOT string. Graphviz accepts only UTF-8; other bytes become '?'.
std::string Escape(absl::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const size_t bytes = CodePointBytes(text, i);
    const char c = bytes == 0 ? '?' : text[i];
    if (bytes > 1) {
      out.append(text.data() + i, bytes);
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) >= 0x20) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    i += bytes == 0 ? 1 : bytes;
  }
  return out;
}

std::string Elements(const HostTensor& tensor) {
  if (IsFloat(tensor.dtype())) {
    return absl::StrJoin(tensor.ReadDoubles(), ", ");
  }
  return absl::StrJoin(tensor.ReadInts(), ", ");
}

// Writes one module; graphs, clusters and nodes are numbered across it. Nodes are first, in nested
// clusters; edges follow outside of all clusters, because an edge inside a cluster would move its
// nodes there.
class Writer {
 public:
  Writer(const Module& module, const DotOptions& options) : module_(module), options_(options) {}

  std::string Write() {
    for (const auto& function : module_.functions()) {
      graphs_.push_back({function.get(), AddCluster(function->name()), nullptr, 0});
      roots_.push_back(graphs_.back().cluster);
    }
    for (size_t i = 0; i < graphs_.size(); ++i) FillClusters(static_cast<int>(i));
    out_ = "digraph weft {\n  node [shape=box, fontname=\"monospace\"];\n";
    for (int root : roots_) WriteCluster(root);
    for (size_t i = 0; i < graphs_.size(); ++i) WriteEdgesOf(static_cast<int>(i));
    return out_ + "}\n";
  }

 private:
  struct Placed {
    const Graph* graph;
    int cluster;
    const Node* owner;  // Null for functions.
    int owner_graph;
  };
  struct Entry {
    std::string line;  // Text of a node; empty for a cluster.
    int cluster;
  };
  struct Cluster {
    std::string label;
    std::vector<Entry> entries;
  };

  int AddCluster(absl::string_view label) {
    clusters_.push_back({std::string(label), {}});
    return static_cast<int>(clusters_.size()) - 1;
  }
  int AddCluster(absl::string_view label, int parent) {
    const int cluster = AddCluster(label);
    clusters_[parent].entries.push_back({"", cluster});
    return cluster;
  }

  void FillClusters(int g) {
    const Placed placed = graphs_[g];
    const Graph& graph = *placed.graph;
    absl::flat_hash_map<int, int> by_scope = {{0, placed.cluster}};
    for (int i = 0; i < graph.num_inputs(); ++i) {
      AddLine(placed.cluster, absl::StrCat("g", g, "i", i), "shape=oval, ",
              absl::StrCat(graph.input_info(i).name, "\n", graph.input(i)->type().ToString()));
    }
    for (const Node* node : graph.nodes()) {
      const int cluster = ClusterOf(*node, &by_scope);
      AddLine(cluster, NodeName(g, *node), "", Label(*node));
      for (int i = 0; i < node->num_regions(); ++i) {
        const auto& names = node->op().schema().regions;
        const std::string& region = names[std::min<size_t>(i, names.size() - 1)];
        const std::string label = absl::StrCat(node->op().name(), " ", node->id(), ": ", region);
        graphs_.push_back({node->region(i), AddCluster(label, cluster), node, g});
      }
    }
    AddLine(placed.cluster, NodeName(g, *graph.return_node()), "shape=oval, ", "return");
  }
  void AddLine(int cluster, absl::string_view name, absl::string_view shape,
               absl::string_view label) {
    clusters_[cluster].entries.push_back(
        {absl::StrCat(name, " [", shape, "label=\"", Escape(label), "\"];\n"), -1});
  }

  // The cluster of the node's scope; `by_scope` has the clusters of its graph.
  int ClusterOf(const Node& node, absl::flat_hash_map<int, int>* by_scope) {
    if (!options_.scopes) return (*by_scope)[0];
    int scope = -1;
    for (const std::string& name : module_.provenance().Names(node.provenance())) {
      const int of_name = scopes_.Of(name);
      scope = scope < 0 ? of_name : scopes_.Common(scope, of_name);
    }
    std::vector<int> missing;
    for (scope = std::max(scope, 0); !by_scope->contains(scope);) {
      missing.push_back(scope);
      scope = scopes_.scopes()[scope].parent;
    }
    int cluster = (*by_scope)[scope];
    for (auto it = missing.rbegin(); it != missing.rend(); ++it) {
      cluster = AddCluster(strings_[scopes_.scopes()[*it].name], cluster);
      by_scope->emplace(*it, cluster);
    }
    return cluster;
  }

  void WriteCluster(int root) {
    // Open clusters, and the index of the next entry of each.
    std::vector<std::pair<int, size_t>> open;
    const auto indent = [&] { out_.append(2 * open.size() + 2, ' '); };
    const auto begin = [&](int cluster) {
      indent();
      absl::StrAppend(&out_, "subgraph cluster_", cluster, " {\n");
      open.push_back({cluster, 0});
      indent();
      absl::StrAppend(&out_, "label=\"", Escape(clusters_[cluster].label), "\";\n");
    };
    begin(root);
    while (!open.empty()) {
      const Cluster& cluster = clusters_[open.back().first];
      if (open.back().second == cluster.entries.size()) {
        open.pop_back();
        indent();
        out_ += "}\n";
        continue;
      }
      const Entry& entry = cluster.entries[open.back().second++];
      if (entry.cluster >= 0) {
        begin(entry.cluster);
      } else {
        indent();
        out_ += entry.line;
      }
    }
  }

  static std::string NodeName(int graph, const Node& node) {
    return absl::StrCat("g", graph, "n", node.id());
  }

  static std::string ValueSource(int graph, const Value& value) {
    if (value.is_input()) return absl::StrCat("g", graph, "i", value.index());
    return NodeName(graph, *value.node());
  }

  std::string Label(const Node& node) const {
    std::string label(node.op().name());
    if (const HostTensor* literal = node.num_results() == 1 ? LiteralOf(node.result()) : nullptr) {
      if (literal->numel() <= options_.max_constant_elements && !IsComplex(literal->dtype())) {
        absl::StrAppend(&label, "\n", Elements(*literal));
      }
    } else {
      const auto& specs = node.op().schema().attrs;
      for (size_t i = 0; i < specs.size(); ++i) {
        const AttrValue& value = (*node.attr_list())[static_cast<int>(i)];
        if (specs[i].default_value && *specs[i].default_value == value) continue;
        absl::StrAppend(&label, "\n", specs[i].name, "=", value.ToString());
      }
    }
    const auto names = module_.provenance().Names(node.provenance(), 2);
    if (!names.empty()) absl::StrAppend(&label, "\n", absl::StrJoin(names, ", "));
    return label;
  }

  void WriteEdgesOf(int g) {
    const Placed& placed = graphs_[g];
    for (const Node* node : placed.graph->nodes()) WriteEdges(*node, g);
    WriteEdges(*placed.graph->return_node(), g);
    // The outputs of a nested graph are the results of the node that holds it.
    if (placed.owner == nullptr) return;
    absl::StrAppend(&out_, "  ", NodeName(g, *placed.graph->return_node()), " -> ",
                    NodeName(placed.owner_graph, *placed.owner), " [style=dashed];\n");
  }

  void WriteEdges(const Node& node, int graph) {
    for (int i = 0; i < node.num_operands(); ++i) {
      if (!node.has_operand(i)) continue;
      const Value& value = *node.operand(i);
      absl::StrAppend(&out_, "  ", ValueSource(graph, value), " -> ", NodeName(graph, node),
                      " [label=\"", Escape(value.type().ToString()), "\"];\n");
    }
    for (int i = 0; i < node.num_symbol_operands(); ++i) {
      absl::StrAppend(&out_, "  ", ValueSource(graph, *node.symbol_operand(i)), " -> ",
                      NodeName(graph, node), " [style=dotted];\n");
    }
  }

  const Module& module_;
  const DotOptions& options_;
  StringTable strings_;
  ScopeTree scopes_{&strings_};
  std::vector<Placed> graphs_;
  std::vector<Cluster> clusters_;
  std::vector<int> roots_;
  std::string out_;
};

// A temporary file; the destructor removes it.
class TempFile {
 public:
  TempFile() {
    const char* folder = std::getenv("TMPDIR");
    path_ = absl::StrCat(folder != nullptr ? folder : "/tmp", "/weft-XXXXXX");
    fd_ = mkstemp(path_.data());
  }
  ~TempFile() {
    if (fd_ >= 0) {
      close(fd_);
      unlink(path_.c_str());
    }
  }
  bool ok() const { return fd_ >= 0; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int fd_;
};

absl::StatusOr<std::string> ReadAll(const std::string& path) {
  std::unique_ptr<FILE, int (*)(FILE*)> file(fopen(path.c_str(), "rb"), fclose);
  if (file == nullptr) return absl::UnavailableError("cannot read back");
  std::string out;
  char buffer[1 << 16];
  size_t n;
  while ((n = fread(buffer, 1, sizeof(buffer), file.get())) > 0) {
    out.append(buffer, n);
  }
  return out;
}

}  // namespace

std::string ToDot(const Module& module, const DotOptions& options) {
  return Writer(module, options).Write();
}

absl::StatusOr<std::string> DotToSvg(const std::string& dot) {
  TempFile input, output;
  FILE* file = input.ok() && output.ok() ? fopen(input.path().c_str(), "wb") : nullptr;
  if (file == nullptr) return absl::UnavailableError("no temporary file");
  const bool written = fwrite(dot.data(), 1, dot.size(), file) == dot.size();
  if (fclose(file) != 0 || !written) {
    return absl::UnavailableError("cannot write a temporary file");
  }
  const std::string to = absl::StrCat("-o", output.path());
  const char* argv[] = {"dot", "-Tsvg", to.c_str(), input.path().c_str(), nullptr};
  pid_t child;
  int exit_status = 0;
  if (posix_spawnp(&child, "dot", nullptr, nullptr, const_cast<char* const*>(argv), environ) != 0) {
    return absl::FailedPreconditionError(
        "SVG needs Graphviz's `dot` program (Debian package graphviz); "
        "--emit=dot works without it");
  }
  if (waitpid(child, &exit_status, 0) != child || exit_status != 0) {
    return absl::InternalError("`dot -Tsvg` failed");
  }
  return ReadAll(output.path());
}

}  // namespace weft
