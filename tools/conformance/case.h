// One conformance case: a model with data sets of inputs and expected outputs.
#ifndef WEFT_TOOLS_CONFORMANCE_CASE_H_
#define WEFT_TOOLS_CONFORMANCE_CASE_H_

#include <string>
#include <vector>

#include "tools/common/pipeline_flags.h"
#include "tools/common/target_flags.h"

namespace weft::tools {

struct CaseOptions {
  TargetFlags target;
  PipelineFlags pipeline;
  const Extensions* extensions = nullptr;  // With what the pipeline's flags load; null: none.
  // Tolerances from the command line override the defaults; a case's data.json overrides both.
  double rtol = 1e-3;
  double atol = 1e-5;
  // Do not widen the default atol for operators that are known to be ill-conditioned.
  bool strict = false;
  // Also writes each program into a file, "weftb", "so" or "kernels", and runs that
  // (case_program.h); "": no.
  std::string through;
  // Time limit of a case in seconds; 0: none.
  double timeout = 60;
};

enum class Outcome { kPassed, kFailed, kUnsupported };
const char* OutcomeName(Outcome outcome);

struct CaseResult {
  Outcome outcome = Outcome::kFailed;
  std::string message;  // The reason that the case did not pass.
  double seconds = 0;
};

// A folder with model.onnx or model.weft; in the light suite, a single file <name>.onnx with
// <name>_output_0.pb beside it; for .pt2 programs, one archive with one set of inputs (pt2_case.h).
struct Case {
  std::string name;  // Path below the suite's folder.
  std::string folder;
  std::string model;  // Path of the model.
  std::string data;   // For .pt2 programs: the folder with inputs and outputs.
};

// The cases in `folder` and below, sorted by name.
std::vector<Case> FindCases(const std::string& folder);

// Runs a case in this process. A model whose folder's name begins with REJECT_ passes if it is
// refused.
CaseResult RunCase(const Case& c, const CaseOptions& options);
// The same in a child process, so that a crash or a hang fails only that case.
CaseResult RunCaseIsolated(const Case& c, const CaseOptions& options);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CONFORMANCE_CASE_H_
