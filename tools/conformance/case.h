// One conformance case: a model with data sets of inputs and expected outputs.
#ifndef WEFT_TOOLS_CONFORMANCE_CASE_H_
#define WEFT_TOOLS_CONFORMANCE_CASE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "api/session.h"
#include "graph/ir/module.h"
#include "tools/common/target_flags.h"

namespace weft::tools {

struct CaseOptions {
  TargetFlags target;
  std::string passes;  // Empty: the target's default pipeline.
  // Given tolerances win over the defaults, and a case's data.json over both.
  double rtol = 1e-3;
  double atol = 1e-5;
  // How the default atol was chosen by the user: with `strict`, nothing is
  // widened for operators known to be ill-conditioned.
  bool strict = false;
  // Seconds until a case is given up; 0: never.
  double timeout = 60;
};

enum class Outcome { kPassed, kFailed, kUnsupported };
const char* OutcomeName(Outcome outcome);

struct CaseResult {
  Outcome outcome = Outcome::kFailed;
  std::string message;  // Why not passed.
  double seconds = 0;
};

// A folder that holds model.onnx or model.weft (or, in the light suite, a
// single file <name>.onnx with <name>_output_0.pb beside it); of .pt2 programs,
// one archive with one set of inputs (pt2_case.h).
struct Case {
  std::string name;  // Path below the suite's folder.
  std::string folder;
  std::string model;  // Path of the model.
  std::string data;   // Of .pt2 programs: the folder with inputs and outputs.
};

// Cases below `folder`, sorted by name; the folder itself may be one.
std::vector<Case> FindCases(const std::string& folder);

// Compiles the module and makes it ready to run, generated code included.
absl::StatusOr<Session> MakeSession(std::unique_ptr<Module> module, const CaseOptions& options);

// Runs a case in this process. Models whose folder's name begins with REJECT_
// pass when they are refused.
CaseResult RunCase(const Case& c, const CaseOptions& options);
// The same in a child process, so that a crash or a hang is one failed case.
CaseResult RunCaseIsolated(const Case& c, const CaseOptions& options);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CONFORMANCE_CASE_H_
