// conformance: runs a folder of cases and reports which of them pass.
#include <fnmatch.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "api/extensions.h"
#include "api/test_data.h"
#include "base/printable.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "tools/common/cli.h"
#include "tools/common/flags.h"
#include "tools/common/pipeline_flags.h"
#include "tools/common/progress.h"
#include "tools/conformance/case.h"
#include "tools/conformance/pt2_case.h"

namespace weft::tools {
namespace {

struct Suite {
  const char* name;
  const char* ending;  // Extension of its models.
  std::vector<Case> (*find)(const std::string& folder);
  const char* folder;  // Default folder; null if there is none.
};

constexpr Suite kSuites[] = {
    {"onnx", ".onnx", FindCases, "/usr/share/libonnx-testdata/data"},
    {"weft", ".weft", FindCases, nullptr},
    {"pt2", ".pt2", FindPt2Cases, nullptr},
};

const Suite* FindSuite(const std::string& name) {
  for (const Suite& suite : kSuites) {
    if (name == suite.name) return &suite;
  }
  return nullptr;
}

struct Options {
  std::string suite = "onnx";
  std::string filter;
  std::string cases_file;
  std::string report;
  bool verbose = false;
  bool isolate = true;
  CaseOptions cases;
};

FlagSet MakeFlags(Options* o) {
  FlagSet flags("conformance", "[flags] [FOLDER]",
                "Runs every case below FOLDER (a model with test_data_set_* folders) and\n"
                "compares the outputs. The last line is `N passed, N failed, N\n"
                "unsupported`; the exit status is 1 if any case failed.\n\n"
                "  conformance --suite=onnx /usr/share/libonnx-testdata/data/node\n"
                "  conformance --passes=default --filter='test_conv*'");
  flags.String("suite", &o->suite, "onnx|weft|pt2",
               "onnx: cases with model.onnx, default folder\n"
               "/usr/share/libonnx-testdata/data (Debian's libonnx-testdata);\n"
               "weft: cases with model.weft; pt2: programs with model.pt2 and\n"
               "core.pt2, compared by the rule of that suite. Default: onnx");
  AddTargetFlag(flags, &o->cases.target.target, "Executor. Default: cpu");
  AddBackendFlags(flags, &o->cases.target.options);
  AddPipelineFlags(flags, &o->cases.pipeline);
  flags.String("filter", &o->filter, "GLOB", "Only cases whose name, or its last part, matches");
  flags.String("cases", &o->cases_file, "FILE",
               "Only cases whose name's last part begins a line of FILE");
  flags.Alias("list", "cases");
  flags.String("report", &o->report, "FILE", "Write all results as JSON");
  flags.Double("rtol", &o->cases.rtol, "X", "Relative tolerance; data.json wins. Default: 1e-3");
  flags.Double("atol", &o->cases.atol, "X", "Absolute tolerance; data.json wins. Default: 1e-5");
  flags.Bool("strict", &o->cases.strict,
             "The ONNX runner's own tolerances: atol 1e-7, never widened;\n"
             "for pt2, those of torch.testing.assert_close");
  flags.String("through", &o->cases.through, "weftb|so|kernels",
               "Also write each program into a file of this kind and run that\n"
               "(docs/deploy.md): outputs must equal the session's in every bit;\n"
               "kernels: a .weftb file with machine code");
  flags.Double("timeout", &o->cases.timeout, "S",
               "Seconds for one case, 0 for no limit. Default: 60");
  flags.Bool("isolate", &o->isolate,
             "Run each case in a separate process (default), so that a\n"
             "crash is one failed case; --noisolate for debuggers");
  flags.Bool("verbose", &o->verbose, "Print every case, not only those that do not pass");
  return flags;
}

bool Matches(const Options& o, const Case& c) {
  if (!absl::EndsWith(c.model, FindSuite(o.suite)->ending)) return false;
  if (o.filter.empty()) return true;
  const std::string last = c.name.substr(c.name.rfind('/') + 1);
  return fnmatch(o.filter.c_str(), c.name.c_str(), 0) == 0 ||
         fnmatch(o.filter.c_str(), last.c_str(), 0) == 0;
}

absl::StatusOr<absl::flat_hash_set<std::string>> ReadList(const std::string& path) {
  std::ifstream file(ResolvePath(path));
  if (!file) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  absl::flat_hash_set<std::string> names;
  std::string line;
  while (std::getline(file, line)) {
    names.insert(line.substr(0, line.find_first_of(" \t\r")));
  }
  return names;
}

absl::StatusOr<std::vector<Case>> SelectCases(const Options& o, const std::string& folder) {
  if (!FileExists(folder)) {
    return absl::NotFoundError(absl::StrCat("there is no folder ", folder));
  }
  std::vector<Case> cases = FindSuite(o.suite)->find(folder);
  absl::flat_hash_set<std::string> names;
  if (!o.cases_file.empty()) {
    WEFT_ASSIGN_OR_RETURN(names, ReadList(o.cases_file));
  }
  cases.erase(std::remove_if(cases.begin(), cases.end(),
                             [&](const Case& c) {
                               const std::string last = c.name.substr(c.name.rfind('/') + 1);
                               return !Matches(o, c) ||
                                      (!o.cases_file.empty() && !names.contains(last));
                             }),
              cases.end());
  if (cases.empty()) {
    return absl::NotFoundError(absl::StrCat("no case below ", folder, " matches"));
  }
  return cases;
}

absl::StatusOr<int> Run(Options o, const std::vector<std::string>& positional) {
  const Suite* suite = FindSuite(o.suite);
  if (suite == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown suite \"", o.suite, "\"; the suites are onnx, weft and pt2"));
  }
  if (positional.size() > 1 || (positional.empty() && suite->folder == nullptr)) {
    return absl::InvalidArgumentError("expected one folder of cases");
  }
  const std::string& through = o.cases.through;
  if (!through.empty() && through != "weftb" && through != "so" && through != "kernels") {
    return absl::InvalidArgumentError(
        absl::StrCat("--through takes weftb, so or kernels, not \"", through, "\""));
  }
  if (o.cases.strict) o.cases.atol = 1e-7;
  Extensions extensions;
  WEFT_RETURN_IF_ERROR(o.cases.pipeline.LoadExtensions(extensions));
  WarnOfAssumedRules("conformance", extensions);
  o.cases.extensions = &extensions;
  o.cases.target.backends = &extensions.backends();
  WEFT_ASSIGN_OR_RETURN(const Backend* const backend, o.cases.target.Find());
  std::string& passes = o.cases.pipeline.passes;
  if (passes.empty()) passes = backend->default_pipeline();
  WEFT_ASSIGN_OR_RETURN(
      auto cases, SelectCases(o, positional.empty() ? suite->folder : ResolvePath(positional[0])));

  std::cout << DescribeChoice(*backend, passes, o.cases.target.options) << std::endl;
  int counts[3] = {0, 0, 0};
  nlohmann::json report = nlohmann::json::array();
  ProgressLine progress;
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    progress.Show(absl::StrCat("[", i + 1, "/", cases.size(), "] ", c.name));
    const CaseResult result = o.isolate ? RunCaseIsolated(c, o.cases) : RunCase(c, o.cases);
    ++counts[static_cast<int>(result.outcome)];
    report.push_back({{"name", c.name},
                      {"outcome", OutcomeName(result.outcome)},
                      {"message", result.message},
                      {"seconds", result.seconds}});
    if (o.verbose || result.outcome != Outcome::kPassed) {
      progress.Clear();
      std::cout << OutcomeName(result.outcome) << " " << PrintableName(c.name);
      if (!result.message.empty()) {
        // Indents further lines, as PrintMessage does.
        std::cout << ": " << absl::StrReplaceAll(result.message, {{"\n", "\n  "}});
      }
      std::cout << std::endl;
    }
  }
  progress.Clear();
  if (!o.report.empty()) {
    WEFT_RETURN_IF_ERROR(WriteOutput(
        o.report, report.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"));
  }
  std::cout << counts[0] << " passed, " << counts[1] << " failed, " << counts[2] << " unsupported"
            << std::endl;
  return counts[1] == 0 ? kExitOk : kExitBad;
}

}  // namespace
}  // namespace weft::tools

int main(int argc, char** argv) {
  return weft::tools::ToolMain(argc, argv, weft::tools::MakeFlags, weft::tools::Run);
}
