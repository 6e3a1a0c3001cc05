#include "tools/common/models.h"

#include <iostream>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/printable.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "tools/common/cli.h"
#include "tools/common/flags.h"
#include "tools/common/progress.h"

namespace weft::tools {
namespace {

void Quoted(std::string* text, const std::string& name) {
  absl::StrAppend(text, "\"", PrintableName(name), "\"");
}

absl::Status Unknown(absl::string_view what, absl::string_view name,
                     std::vector<std::string> known) {
  constexpr size_t kMaxShown = 5;
  const std::string closest = ClosestName(name, known);
  std::string hint;
  if (!closest.empty()) {
    hint = absl::StrCat("; did you mean \"", PrintableName(closest), "\"?");
  } else if (!known.empty()) {
    const bool more = known.size() > kMaxShown;
    if (more) known.resize(kMaxShown);
    hint = absl::StrCat("; it has ", absl::StrJoin(known, ", ", Quoted), more ? ", ..." : "");
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the program has no ", what, " \"", PrintableName(name), "\"", hint));
}

absl::StatusOr<std::unique_ptr<Module>> LoadStandardInput(const LoadOptions& options) {
  constexpr size_t kMaxBytes = size_t{1} << 31;
  constexpr size_t kBlock = size_t{1} << 16;
  std::string text;
  while (std::cin && text.size() < kMaxBytes) {
    const size_t size = text.size();
    text.resize(size + kBlock);
    std::cin.read(text.data() + size, kBlock);
    text.resize(size + static_cast<size_t>(std::cin.gcount()));
  }
  if (text.size() >= kMaxBytes) {
    return absl::ResourceExhaustedError("<stdin>: more than 2 GB of text; give a file");
  }
  return LoadModelText(text, "<stdin>", options);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Module>> LoadShown(const std::string& path, LoadOptions options) {
  if (path == "-") return LoadStandardInput(options);
  ProgressLine progress(path);
  options.progress = progress.Callback();
  return LoadModel(ResolvePath(path), options);
}

absl::Status UnknownInput(absl::string_view name, const Graph& graph) {
  std::vector<std::string> known;
  for (int i = 0; i < graph.num_inputs(); ++i) known.push_back(graph.input_info(i).name);
  return Unknown("input", name, known);
}

absl::Status UnknownOutput(absl::string_view name, const Graph& graph) {
  std::vector<std::string> known;
  for (int i = 0; i < graph.num_outputs(); ++i) {
    known.push_back(graph.output_names().empty() ? absl::StrCat("output_", i)
                                                 : graph.output_names()[i]);
  }
  return Unknown("output", name, known);
}

}  // namespace weft::tools
