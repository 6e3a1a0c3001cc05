// diff: what two models have in common and what not.
#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/calibration_data.h"
#include "api/extensions.h"
#include "api/inspect/graph_diff.h"
#include "api/inspect/graph_view.h"
#include "api/inspect/layer_report.h"
#include "api/inspect/numeric_diff.h"
#include "api/model_io.h"
#include "base/status_macros.h"
#include "graph/ir/module.h"
#include "tools/common/cli.h"
#include "tools/common/flags.h"
#include "tools/common/models.h"
#include "tools/common/plugins.h"
#include "tools/common/progress.h"

namespace weft::tools {
namespace {

struct Options {
  std::string format = "text";
  bool numerics = false;
  std::string data = "seeded:1";
  double min_sqnr = -1;
  std::string output;
  std::vector<std::string> load;
};

FlagSet MakeFlags(Options* o) {
  FlagSet flags("diff", "[flags] BEFORE AFTER",
                "Compares two models (.onnx, .pt2, .weft or .weftb) node by node: what went (-),\n"
                "what appeared (+), what changed (~). Exit status 1 when they differ.\n"
                "With --numerics, runs both and compares what their layers give.\n\n"
                "  opt --passes=none --emit=text -o before.weft model.onnx\n"
                "  opt --emit=text -o after.weft model.onnx\n"
                "  diff before.weft after.weft\n"
                "  diff --numerics --data=data.npz --min-sqnr=20 model.onnx model.int8.onnx");
  flags.String("format", &o->format, "text|json|html", "html: of --numerics. Default: text");
  flags.String("o", &o->output, "FILE", "Where it goes; default: standard output");
  AddLoadFlag(flags, &o->load);
  flags.Section("Numerics");
  flags.Bool("numerics", &o->numerics,
             "Compare the values of layers that stand for the same source nodes, and\n"
             "those of the outputs: SQNR, cosine, largest error");
  flags.String("data", &o->data, "DATA",
               "Inputs of the first model: a .npz or .npy file, a folder of them, or\n"
               "seeded:N for N random batches. Default: seeded:1");
  flags.Double("min-sqnr", &o->min_sqnr, "DB",
               "Exit status 1 when an output has a smaller ratio of signal to noise");
  return flags;
}

absl::StatusOr<std::string> NumericText(const Options& o, const LayerReport& report,
                                        const Module& after) {
  if (o.format == "json") return ToJson(report);
  if (o.format == "text") return ToTable(report);
  GraphRecorder recorder(report.title);
  const absl::Status status = recorder.Start(after);
  // Too large for a picture: the table stands alone.
  if (absl::IsResourceExhausted(status)) return ToHtml(report, "");
  WEFT_RETURN_IF_ERROR(status);
  for (const LayerRow& row : report.rows) {
    if (row.state != "output") recorder.AddError(row.name, row.sqnr_db);
  }
  return ToHtml(report, recorder.Html());
}

absl::StatusOr<int> RunNumerics(const Options& o, const std::vector<std::string>& names,
                                const Module& before, const Module& after) {
  if (before.main() == nullptr || after.main() == nullptr) {
    return absl::InvalidArgumentError("both models must have a @main");
  }
  const bool seeded = absl::StartsWith(o.data, "seeded:");
  WEFT_ASSIGN_OR_RETURN(
      auto data, CalibrationData::Open(seeded ? o.data : ResolvePath(o.data), *before.main()));
  NumericDiff diff(before, after);
  ProgressLine progress("comparison");
  while (true) {
    WEFT_ASSIGN_OR_RETURN(const auto inputs, data.Next());
    if (!inputs) break;
    progress.Show(data.part() - 1, data.num_parts());
    WEFT_RETURN_IF_ERROR(diff.AddBatch(*inputs));
  }
  progress.Clear();
  LayerReport report;
  report.title = absl::StrCat(names[0], " and ", names[1]);
  report.facts = {{"data", seeded ? absl::StrCat(o.data, " (random)") : o.data}};
  report.rows = diff.Rows();
  WEFT_ASSIGN_OR_RETURN(const std::string text, NumericText(o, report, after));
  WEFT_RETURN_IF_ERROR(o.format == "html" ? WriteOutput(o.output, text)
                                          : WriteText(o.output, text));
  const bool bad = std::any_of(report.rows.begin(), report.rows.end(), [&](const LayerRow& row) {
    // NaN is no ratio that is large enough.
    return row.state == "output" && o.min_sqnr >= 0 && !(row.sqnr_db >= o.min_sqnr);
  });
  return bad ? kExitBad : kExitOk;
}

absl::StatusOr<int> Run(const Options& o, const std::vector<std::string>& positional) {
  if (positional.size() != 2) {
    return absl::InvalidArgumentError("expected two model files; --help shows how");
  }
  const bool html = o.numerics && o.format == "html";
  if (o.format != "text" && o.format != "json" && !html) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--format takes text or json", o.numerics ? " or html" : "", ", not \"", o.format, "\""));
  }
  Extensions extensions;
  WEFT_RETURN_IF_ERROR(LoadPlugins(o.load, extensions));
  LoadOptions load;
  load.ops = &extensions.ops();
  WEFT_ASSIGN_OR_RETURN(auto before, LoadShown(positional[0], load));
  WEFT_ASSIGN_OR_RETURN(auto after, LoadShown(positional[1], load));
  if (o.numerics) return RunNumerics(o, positional, *before, *after);
  const GraphDiff diff = Diff(*before, *after);
  WEFT_RETURN_IF_ERROR(WriteText(o.output, o.format == "json" ? diff.ToJson() : diff.ToString()));
  return diff.equal() ? kExitOk : kExitBad;
}

}  // namespace
}  // namespace weft::tools

int main(int argc, char** argv) {
  return weft::tools::ToolMain(argc, argv, weft::tools::MakeFlags, weft::tools::Run);
}
