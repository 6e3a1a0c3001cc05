// Cases of torch.export archives, in folders laid out like this:
//
//   <program>/model.pt2 core.pt2     the program as exported, and decomposed
//   <program>/meta.json              what the cases hold
//   <program>/case_0/in_0.npy out_0.npy in_1_after.npy buf_<name>_after.npy
#ifndef WEFT_TOOLS_CONFORMANCE_PT2_CASE_H_
#define WEFT_TOOLS_CONFORMANCE_PT2_CASE_H_

#include <string>
#include <vector>

#include "tools/conformance/case.h"

namespace weft::tools {

// Cases "<program>/<archive>/case_<i>", sorted; one for each archive and data set.
std::vector<Case> FindPt2Cases(const std::string& folder);

// Imports, compiles and runs a case. For a program with state, first runs the cases before it on
// the same session.
CaseResult RunPt2Case(const Case& c, const CaseOptions& options);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CONFORMANCE_PT2_CASE_H_
