#include "tools/opt_inputs.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/weights.h"
#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "tools/common/cli.h"
#include "tools/common/models.h"

namespace weft::tools {

absl::StatusOr<LoadOptions> ReadInputs(const OptOptions& o) {
  if (o.weights.empty() && !o.weight_names.empty()) {
    return absl::InvalidArgumentError("--weight-names goes with --weights");
  }
  LoadOptions load;
  load.parameters_as_inputs = !o.weights.empty();
  for (const std::string& input : o.inputs) {
    WEFT_ASSIGN_OR_RETURN(auto named, ParseNamedFile("input", input));
    WEFT_ASSIGN_OR_RETURN(load.input_values[named.first], LoadTensor(ResolvePath(named.second)));
  }
  return load;
}

absl::Status CheckInputs(const LoadOptions& load, const Module& module) {
  const Graph* main = module.main();
  for (const auto& [name, value] : load.input_values) {
    bool found = false;
    for (int i = 0; main != nullptr && i < main->num_inputs(); ++i) {
      found |= main->input_info(i).name == name;
    }
    if (found) continue;
    const absl::Status error = main != nullptr ? UnknownInput(name, *main) : CheckHasMain(module);
    return absl::InvalidArgumentError(absl::StrCat("--input: ", error.message()));
  }
  return absl::OkStatus();
}

absl::Status ReadWeights(const OptOptions& o, Module& module, std::ostream& info) {
  if (o.weights.empty()) return absl::OkStatus();
  const std::string names = o.weight_names.empty() ? "" : ResolvePath(o.weight_names);
  WEFT_ASSIGN_OR_RETURN(const WeightsReport report,
                        LoadWeights(ResolvePath(o.weights), names, module));
  info << o.weights << ": " << report.parameters << " parameters, " << report.quantized
       << " of them in blocks\n";
  if (!report.unused.empty()) {
    info << "no parameters: " << absl::StrJoin(report.unused, ", ") << "\n";
  }
  return absl::OkStatus();
}

}  // namespace weft::tools
