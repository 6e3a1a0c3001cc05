// The options of opt's command line.
#ifndef WEFT_TOOLS_OPT_OPTIONS_H_
#define WEFT_TOOLS_OPT_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/backends.h"
#include "api/inspect/dump.h"
#include "tools/common/flags.h"

namespace weft::tools {

struct OptOptions {
  std::string passes;
  std::optional<std::string> emit;
  std::string extract;
  std::string bisect;
  bool cliffs = false;
  std::string kernel;
  int64_t opset = -1;  // -1: not given.
  std::vector<std::string> sizes;
  double peak_gbytes = 0;  // 0: that of CliffOptions.
  double peak_gflops = 0;
  std::string output;
  std::string verify = "structure";
  std::string target;
  BackendOptions backend;  // For --verify=target.
  std::string target_file;
  std::string admit;
  std::string case_file = "case.weft";
  std::string stats = "text";
  std::string stats_output;
  std::string trace;
  DumpOptions dump;
  int64_t elide = -1;  // -1: not given.
  std::vector<std::string> inputs;
  std::string weights;
  std::string weight_names;
  int64_t seed = 0;
  int64_t rewrite_limit = -1;
  int64_t budget = -1;
  bool strict = false;
  std::string replay;
  std::string replay_folder;
  std::string remarks;
  std::string remarks_format = "text";
  std::string remarks_output;
  std::string near_misses;
  std::vector<std::string> blame;
  bool print_pipeline = false;
  // Regular expressions; empty: no list.
  std::string list_passes;
  std::string list_ops;
  std::string list_rules;
  std::string coverage;
  std::string format = "text";
  std::string rules;
  std::vector<std::string> load;
  std::string log;
};

FlagSet MakeOptFlags(OptOptions* o);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_OPT_OPTIONS_H_
