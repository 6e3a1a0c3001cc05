// trace: prints the contents of traces, compares two, converts and validates. It reads event by
// event, because a trace may be larger than memory.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "profiler/analysis/diff.h"
#include "profiler/analysis/summary.h"
#include "profiler/analysis/validate.h"
#include "profiler/read/read.h"
#include "profiler/sinks/file_sink.h"
#include "profiler/sinks/key_averages.h"
#include "tools/common/cli.h"
#include "tools/common/flags.h"
#include "tools/common/progress.h"

namespace weft::tools {
namespace {

using Group = profiler::KeyAveragesOptions::Group;

struct Options {
  std::string by = "name";
  std::string sort = "self_cpu_time_total";
  int64_t limit = 20;
  double peak_gflops = 0;
  double peak_gbytes = 0;
  double threshold = 0.05;
  bool total = false;
  int64_t max_bytes = 0;
  std::string output;
};

FlagSet MakeFlags(Options* o) {
  FlagSet flags("trace", "[flags] COMMAND TRACE...",
                "Traces of Weft and of torch.profiler: Chrome's JSON, Weft's Perfetto form, and\n"
                "either compressed.\n\n"
                "  trace summary TRACE        a summary, and a table\n"
                "  trace top TRACE            the table alone\n"
                "  trace diff BEFORE AFTER    what became slower or faster, was added, removed\n"
                "  trace convert TRACE FILE   into .json, .pftrace, .folded (flame graphs) or\n"
                "                             .csv (memory over time), each also .gz\n"
                "  trace validate TRACE       exit status 1 if it has faults");
  flags.Section("Tables");
  flags.String("by", &o->by, "name|shapes|provenance|step",
               "Key of a row: the name of the span, the name with the shapes of its\n"
               "inputs, the nodes of the source model, or the step of a plan, with what\n"
               "ran it. Default: name");
  flags.String("sort", &o->sort, "KEY",
               "self_cpu_time_total, cpu_time_total, cpu_time, self_device_time_total,\n"
               "device_time_total, device_time, median, count,\n"
               "self_cpu_memory_usage, cpu_memory_usage, flops, bytes or name.\n"
               "Default: self_cpu_time_total");
  flags.Int("limit", &o->limit, "N", "Most rows; -1: all. Default: 20");
  flags.Double("peak-gflops", &o->peak_gflops, "X",
               "Limits of the machine, for the roofline's column: operations, in\n"
               "billions a second,");
  flags.Double("peak-gbytes", &o->peak_gbytes, "X", "and bytes, likewise");
  flags.Section("Differences");
  flags.Double("threshold", &o->threshold, "X",
               "Ignore changes of self times below this share. Default: 0.05");
  flags.Bool("total", &o->total, "Compare totals instead of averages of calls");
  flags.Section("Files");
  flags.Int("max-bytes", &o->max_bytes, "N",
            "Split .json into files of about N bytes, before compression");
  flags.String("o", &o->output, "FILE", "File for text; default: standard output");
  return flags;
}

absl::Status ReadInto(const std::string& path, profiler::TraceSink& sink) {
  ProgressLine progress(path);
  profiler::ReadOptions options;
  options.progress = progress.Callback();
  return profiler::ReadTrace(ResolvePath(path), sink, options);
}

absl::StatusOr<Group> GroupOf(const Options& o) {
  if (o.by == "name") return Group::kName;
  if (o.by == "shapes") return Group::kNameAndShapes;
  if (o.by == "provenance") return Group::kProvenance;
  if (o.by == "step") return Group::kStep;
  return absl::InvalidArgumentError(
      absl::StrCat("--by takes name, shapes, provenance or step, not \"", o.by, "\""));
}

profiler::TableOptions TableOf(const Options& o) {
  profiler::TableOptions table;
  table.sort_by = o.sort;
  table.row_limit = o.limit;
  table.roofline = {o.peak_gbytes, o.peak_gflops};
  return table;
}

using Paths = std::vector<std::string>;

absl::StatusOr<int> PrintText(const Options& o, const absl::StatusOr<std::string>& text) {
  WEFT_RETURN_IF_ERROR(text.status());
  WEFT_RETURN_IF_ERROR(WriteText(o.output, *text));
  return kExitOk;
}

absl::StatusOr<int> Summarize(const Options& o, const Paths& paths) {
  WEFT_ASSIGN_OR_RETURN(auto group, GroupOf(o));
  profiler::Summary summary({TableOf(o), group});
  absl::Status status = ReadInto(paths[0], summary);
  return status.ok() ? PrintText(o, summary.Text()) : status;
}

absl::StatusOr<int> Top(const Options& o, const Paths& paths) {
  WEFT_ASSIGN_OR_RETURN(auto group, GroupOf(o));
  profiler::KeyAverages averages({group});
  absl::Status status = ReadInto(paths[0], averages);
  const bool some = group == Group::kProvenance || group == Group::kStep;
  if (status.ok() && some && averages.rows().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(paths[0], group == Group::kStep ? " has no steps of plans"
                                                     : " has no spans with a provenance"));
  }
  return status.ok() ? PrintText(o, averages.Table(TableOf(o))) : status;
}

absl::StatusOr<int> Compare(const Options& o, const Paths& paths) {
  WEFT_ASSIGN_OR_RETURN(auto group, GroupOf(o));
  profiler::KeyAverages before({group}), after({group});
  WEFT_RETURN_IF_ERROR(ReadInto(paths[0], before));
  WEFT_RETURN_IF_ERROR(ReadInto(paths[1], after));
  return PrintText(o,
                   profiler::DiffTraces(before, after, {o.threshold, o.total}).ToString(o.limit));
}

absl::StatusOr<int> Convert(const Options& o, const Paths& paths) {
  WEFT_ASSIGN_OR_RETURN(auto sink, profiler::MakeFileSink(ResolvePath(paths[1]), o.max_bytes));
  WEFT_RETURN_IF_ERROR(ReadInto(paths[0], *sink));
  return kExitOk;
}

absl::StatusOr<int> Validate(const Options& o, const Paths& paths) {
  profiler::Validator validator;
  WEFT_RETURN_IF_ERROR(ReadInto(paths[0], validator));
  WEFT_RETURN_IF_ERROR(WriteText(o.output, validator.Text()));
  return validator.num_problems() == 0 ? kExitOk : kExitBad;
}

struct Command {
  const char* name;
  size_t num_paths;
  const char* paths;
  absl::StatusOr<int> (*run)(const Options&, const Paths&);
};
constexpr Command kCommands[] = {
    {"summary", 1, "one trace", Summarize},
    {"top", 1, "one trace", Top},
    {"diff", 2, "two traces", Compare},
    {"convert", 2, "a trace and the file to write", Convert},
    {"validate", 1, "one trace", Validate},
};

absl::StatusOr<int> Run(const Options& o, const std::vector<std::string>& positional) {
  if (positional.empty()) {
    return absl::InvalidArgumentError("expected a command and a trace; --help shows how");
  }
  std::vector<std::string> known;
  for (const Command& command : kCommands) {
    known.push_back(command.name);
    if (positional[0] != command.name) continue;
    if (positional.size() != 1 + command.num_paths) {
      return absl::InvalidArgumentError(
          absl::StrCat(command.name, " takes ", command.paths, "; --help shows how"));
    }
    return command.run(o, Paths(positional.begin() + 1, positional.end()));
  }
  const std::string closest = ClosestName(positional[0], known);
  return absl::InvalidArgumentError(
      absl::StrCat("unknown command \"", positional[0], "\"",
                   closest.empty() ? "" : absl::StrCat("; did you mean ", closest, "?")));
}

}  // namespace
}  // namespace weft::tools

int main(int argc, char** argv) {
  return weft::tools::ToolMain(argc, argv, weft::tools::MakeFlags, weft::tools::Run);
}
