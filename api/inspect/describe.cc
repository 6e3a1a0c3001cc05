#include "api/inspect/describe.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "passes/pipelines.h"
#include "serialize/pt2/pt2.h"

namespace weft {

std::string DescribeAddedPasses(const PassRegistry& passes) {
  std::string out;
  for (const std::string& name : passes.PassNames()) {
    if (BuiltinPasses().Create(name) != nullptr) continue;
    absl::StrAppend(&out, "  ", name, "\n      ", passes.Create(name)->doc(), "\n");
  }
  for (const NamedPipeline& pipeline : passes.pipelines()) {
    if (BuiltinPasses().FindPipeline(pipeline.name) != nullptr) continue;
    absl::StrAppend(&out, "  ", pipeline.name, "\n      ", pipeline.doc, "\n");
  }
  return out;
}

absl::StatusOr<std::string> DescribeCoverage(const std::string& set) {
  if (set != "core-aten" && set != "aten") {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown set of operators \"", set, "\"; known are core-aten and aten"));
  }
  constexpr const char* kKinds[] = {"native", "decomposed", "missing"};
  int counts[3] = {0, 0, 0};
  int all = 0;
  std::string out;
  for (const AtenSupport& op : AtenCoverage()) {
    if (set == "core-aten" && !op.core) continue;
    const int kind = static_cast<int>(op.kind);
    ++counts[kind];
    ++all;
    absl::StrAppend(&out, op.target, "  ", kKinds[kind], ": ", op.how, "\n");
  }
  absl::StrAppend(&out, all, " operators: ", counts[0], " native, ", counts[1], " decomposed, ",
                  counts[2], " missing\n");
  return out;
}

}  // namespace weft
