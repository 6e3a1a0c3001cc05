// diff: what two models have in common and what not.
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/extensions.h"
#include "api/inspect/graph_diff.h"
#include "api/model_io.h"
#include "base/status_macros.h"
#include "graph/ir/module.h"
#include "tools/common/cli.h"
#include "tools/common/flags.h"
#include "tools/common/models.h"
#include "tools/common/plugins.h"

namespace weft::tools {
namespace {

struct Options {
  std::string format = "text";
  std::string output;
  std::vector<std::string> load;
};

FlagSet MakeFlags(Options* o) {
  FlagSet flags("diff", "[flags] BEFORE AFTER",
                "Compares two models (.onnx, .pt2 or .weft) node by node: what went (-), what\n"
                "appeared (+), what changed (~). Exit status 1 when they differ.\n\n"
                "  opt --passes=none --emit=text -o before.weft model.onnx\n"
                "  opt --emit=text -o after.weft model.onnx\n"
                "  diff before.weft after.weft");
  flags.String("format", &o->format, "text|json", "Default: text");
  flags.String("o", &o->output, "FILE", "Where it goes; default: standard output");
  AddLoadFlag(flags, &o->load);
  return flags;
}

absl::StatusOr<int> Run(const Options& o, const std::vector<std::string>& positional) {
  if (positional.size() != 2) {
    return absl::InvalidArgumentError("expected two model files; --help shows how");
  }
  if (o.format != "text" && o.format != "json") {
    return absl::InvalidArgumentError(
        absl::StrCat("--format takes text or json, not \"", o.format, "\""));
  }
  Extensions extensions;
  WEFT_RETURN_IF_ERROR(LoadPlugins(o.load, extensions));
  LoadOptions load;
  load.ops = &extensions.ops();
  WEFT_ASSIGN_OR_RETURN(auto before, LoadShown(positional[0], load));
  WEFT_ASSIGN_OR_RETURN(auto after, LoadShown(positional[1], load));
  const GraphDiff diff = Diff(*before, *after);
  WEFT_RETURN_IF_ERROR(WriteText(o.output, o.format == "json" ? diff.ToJson() : diff.ToString()));
  return diff.equal() ? kExitOk : kExitBad;
}

}  // namespace
}  // namespace weft::tools

int main(int argc, char** argv) {
  return weft::tools::ToolMain(argc, argv, weft::tools::MakeFlags, weft::tools::Run);
}
