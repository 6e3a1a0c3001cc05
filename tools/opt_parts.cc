#include "tools/opt_parts.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "api/backends.h"
#include "api/compiler.h"
#include "api/inspect/cliffs.h"
#include "api/inspect/extract.h"
#include "api/inspect/kernel_source.h"
#include "base/annotate.h"
#include "base/printable.h"
#include "base/status_macros.h"
#include "tools/common/cli.h"
#include "tools/common/sizes.h"

namespace weft::tools {

absl::Status ExtractPart(const OptOptions& o, std::unique_ptr<Module>* module, std::ostream& info) {
  if (o.extract.empty()) return absl::OkStatus();
  WEFT_RETURN_IF_ERROR(MakeFunctional(**module));
  auto part = Extract(**module, o.extract);
  if (!part.ok()) return Annotate(part.status(), "--extract");
  info << absl::StrFormat("extract: %d of %d nodes\n", (*part)->num_nodes(),
                          (*module)->num_nodes());
  *module = *std::move(part);
  return absl::OkStatus();
}

absl::Status WriteCliffs(const OptOptions& o, const Module& module, const Target& target,
                         std::ostream& info) {
  if (!o.cliffs) return absl::OkStatus();
  CliffOptions options;
  WEFT_ASSIGN_OR_RETURN(options.sizes, ParseSizes("size", o.sizes));
  options.gbytes = o.peak_gbytes;
  options.gflops = o.peak_gflops;
  auto report = PredictCliffs(module, target, options);
  if (!report.ok()) return Annotate(report.status(), "--cliffs");
  const std::string text = o.format == "json" ? report->ToJson() : Printable(report->ToString());
  if (!o.emit.has_value()) return WriteOutput(o.output, text);
  info << text;
  return absl::OkStatus();
}

absl::StatusOr<std::string> KernelSourceOf(const OptOptions& o, const Module& module,
                                           const Target& target) {
  const bool named = !target.name.empty();
  auto text =
      KernelSource(module, named ? target : (*BuiltinBackends().Find("cpu"))->target(), o.kernel);
  if (!text.ok()) return Annotate(text.status(), o.kernel.empty() ? "--emit=cc" : "--kernel");
  return text;
}

}  // namespace weft::tools
