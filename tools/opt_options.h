// The options of opt's command line.
#ifndef WEFT_TOOLS_OPT_OPTIONS_H_
#define WEFT_TOOLS_OPT_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "api/inspect/dump.h"
#include "tools/common/flags.h"

namespace weft::tools {

struct OptOptions {
  std::string passes;
  std::string emit = "stats";
  std::string output;
  std::string verify = "structure";
  std::string target;
  std::string target_file;
  std::string admit;
  std::string case_file = "case.weft";
  std::string stats = "text";
  std::string stats_output;
  std::string trace;
  DumpOptions dump;
  std::vector<std::string> inputs;
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
  bool list_passes = false;
  bool list_ops = false;
  std::string coverage;
  bool list_rules = false;
  std::string rules;
  std::vector<std::string> load;
  std::string log;
};

FlagSet MakeOptFlags(OptOptions* o);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_OPT_OPTIONS_H_
