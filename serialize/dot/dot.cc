#include "serialize/dot/dot.h"

#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace weft {
namespace {

// Text inside a DOT string.
std::string Escape(absl::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) >= 0x20) {
      out += c;
    }
  }
  return out;
}

std::string Elements(const HostTensor& tensor) {
  if (IsFloat(tensor.dtype())) {
    return absl::StrJoin(tensor.ReadDoubles(), ", ");
  }
  return absl::StrJoin(tensor.ReadInts(), ", ");
}

// Writes one module; clusters and nodes are numbered across it.
class Writer {
 public:
  Writer(const Module& module, const DotOptions& options)
      : module_(module), options_(options) {}

  std::string Write() {
    out_ = "digraph weft {\n  node [shape=box, fontname=\"monospace\"];\n";
    const std::vector<Graph*> graphs = module_.AllGraphs();
    for (size_t i = 0; i < graphs.size(); ++i) {
      WriteGraph(*graphs[i], static_cast<int>(i));
    }
    return out_ + "}\n";
  }

 private:
  static std::string NodeName(int graph, const Node& node) {
    return absl::StrCat("g", graph, "n", node.id());
  }

  static std::string ValueSource(int graph, const Value& value) {
    if (value.is_input()) return absl::StrCat("g", graph, "i", value.index());
    return NodeName(graph, *value.node());
  }

  std::string Label(const Node& node) const {
    std::string label(node.op().name());
    if (const HostTensor* literal =
            node.num_results() == 1 ? LiteralOf(node.result()) : nullptr) {
      if (literal->numel() <= options_.max_constant_elements &&
          !IsComplex(literal->dtype())) {
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

  void WriteEdges(const Node& node, int graph) {
    for (int i = 0; i < node.num_operands(); ++i) {
      if (!node.has_operand(i)) continue;
      const Value& value = *node.operand(i);
      absl::StrAppend(&out_, "    ", ValueSource(graph, value), " -> ",
                      NodeName(graph, node), " [label=\"",
                      Escape(value.type().ToString()), "\"];\n");
    }
    for (int i = 0; i < node.num_symbol_operands(); ++i) {
      absl::StrAppend(&out_, "    ",
                      ValueSource(graph, *node.symbol_operand(i)), " -> ",
                      NodeName(graph, node), " [style=dotted];\n");
    }
  }

  void WriteGraph(const Graph& graph, int index) {
    absl::StrAppend(&out_, "  subgraph cluster_", index, " {\n    label=\"",
                    Escape(graph.name()), "\";\n");
    for (int i = 0; i < graph.num_inputs(); ++i) {
      absl::StrAppend(&out_, "    g", index, "i", i, " [shape=oval, label=\"",
                      Escape(absl::StrCat(graph.input_info(i).name, "\n",
                                          graph.input(i)->type().ToString())),
                      "\"];\n");
    }
    for (const Node* node : graph.nodes()) {
      absl::StrAppend(&out_, "    ", NodeName(index, *node), " [label=\"",
                      Escape(Label(*node)), "\"];\n");
      WriteEdges(*node, index);
    }
    absl::StrAppend(&out_, "    ", NodeName(index, *graph.return_node()),
                    " [shape=oval, label=\"return\"];\n");
    WriteEdges(*graph.return_node(), index);
    out_ += "  }\n";
  }

  const Module& module_;
  const DotOptions& options_;
  std::string out_;
};

// A file that is removed at the end of the scope.
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
  FILE* file = input.ok() && output.ok() ? fopen(input.path().c_str(), "wb")
                                         : nullptr;
  if (file == nullptr) return absl::UnavailableError("no temporary file");
  const bool written = fwrite(dot.data(), 1, dot.size(), file) == dot.size();
  if (fclose(file) != 0 || !written) {
    return absl::UnavailableError("cannot write a temporary file");
  }
  const std::string to = absl::StrCat("-o", output.path());
  const char* argv[] = {"dot", "-Tsvg", to.c_str(), input.path().c_str(),
                        nullptr};
  pid_t child;
  int exit_status = 0;
  if (posix_spawnp(&child, "dot", nullptr, nullptr,
                   const_cast<char* const*>(argv), environ) != 0) {
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
