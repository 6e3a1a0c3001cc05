// Values and weights that opt reads beside a model: --input, --weights and --weight-names.
#ifndef WEFT_TOOLS_OPT_INPUTS_H_
#define WEFT_TOOLS_OPT_INPUTS_H_

#include <ostream>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/model_io.h"
#include "graph/ir/module.h"
#include "tools/opt_options.h"

namespace weft::tools {

// How a model is loaded; reads the values of its inputs.
absl::StatusOr<LoadOptions> ReadInputs(const OptOptions& o);

// Checks that the values are for inputs of the model: a misspelt name would have no effect.
absl::Status CheckInputs(const LoadOptions& load, const Module& module);

// Makes parameters constants, with the values in the file of --weights; `info` gets a line of
// counts.
absl::Status ReadWeights(const OptOptions& o, Module& module, std::ostream& info);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_OPT_INPUTS_H_
