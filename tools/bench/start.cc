// start: times a compiled file from opening it to its first output, and shows the memory of
// processes that have it open.
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "api/compiled_program.h"
#include "api/model_io.h"
#include "base/status_macros.h"
#include "graph/tensor/tensor.h"
#include "profiler/session.h"
#include "tools/bench/measure.h"
#include "tools/common/cli.h"
#include "tools/common/flags.h"
#include "tools/common/sizes.h"

namespace weft::tools {
namespace {

constexpr int kFurtherRuns = 5;

struct Options {
  CompiledProgramOptions program;
  int64_t threads = 1;
  int64_t repeat = 5;
  int64_t processes = 1;
  std::vector<std::string> sizes;
  std::vector<std::string> inputs;
};

FlagSet MakeFlags(Options* o) {
  FlagSet flags("start", "[flags] FILE",
                "Times a file that compile wrote (.weftb or .so) from opening it to its first\n"
                "output, several times in one process. Inputs are zeros unless they are given.\n\n"
                "  start --size=batch=1 --threads=2 --nocheck-weights bert.weftb\n"
                "  start --processes=2 bert.weftb");
  flags.String("target", &o->program.target, "NAME", "The plan to run. Default: cpu");
  flags.IntBetween("threads", &o->threads, 1, 1024, "N", "Threads of the program. Default: 1");
  flags.String("cpu", &o->program.cpu, "native|avx2|avx512", "Instruction set. Default: native");
  flags.Bool("check-weights", &o->program.check_weights,
             "Compare the weights with the file's hashes. Default: true");
  flags.Bool("allow-code", &o->program.allow_code,
             "Run machine code that a .weftb file has of its kernels. Default: false");
  flags.Repeated("size", &o->sizes, "NAME=SIZE,...", "Sizes of symbols. Default: 1");
  flags.Repeated("input", &o->inputs, "NAME=FILE", "Value of an input (.npy or .pb)");
  flags.IntBetween("repeat", &o->repeat, 1, 1000, "N", "Open the file N times. Default: 5");
  flags.IntBetween("processes", &o->processes, 1, 64, "N",
                   "Open it in N processes at a time, and show the memory of each. Default: 1");
  return flags;
}

absl::StatusOr<std::vector<HostTensor>> MakeInputs(const Options& o,
                                                   const CompiledProgram& program) {
  WEFT_ASSIGN_OR_RETURN(const auto sizes, ParseSizes("size", o.sizes));
  std::map<std::string, std::string> files;
  for (const std::string& value : o.inputs) {
    WEFT_ASSIGN_OR_RETURN(const auto named, ParseNamedFile("input", value));
    files.insert(named);
  }
  std::vector<HostTensor> inputs;
  for (const CompiledProgram::Input& input : program.inputs()) {
    const auto file = files.find(input.name);
    if (file != files.end()) {
      WEFT_ASSIGN_OR_RETURN(inputs.emplace_back(), LoadTensor(ResolvePath(file->second)));
      continue;
    }
    if (!input.type.is_tensor()) {
      inputs.push_back(HostTensor::ScalarInt(DType::kI64, 1));
      continue;
    }
    std::vector<int64_t> dims;
    for (int d = 0; d < input.type.rank(); ++d) {
      const SymInt dim = input.type.dim(d);
      if (!dim.is_constant() && !dim.is_symbol()) {
        return absl::InvalidArgumentError(
            absl::StrCat("the size of an input is ", dim.ToString(), ", not a symbol"));
      }
      const auto size = dim.is_symbol() ? sizes.find(std::string(dim.name())) : sizes.end();
      dims.push_back(dim.is_constant() ? dim.value() : size == sizes.end() ? 1 : size->second);
    }
    WEFT_ASSIGN_OR_RETURN(inputs.emplace_back(), HostTensor::Allocate(input.type.dtype(), dims));
  }
  return inputs;
}

// Milliseconds from before the file is opened.
struct Times {
  double opened = 0;
  double first_step = 0;  // The first instruction of the plan is about to run.
  double first_output = 0;
  double run = 0;  // The shortest of further runs.
};

// The end of the first span of that name, in nanoseconds of the wall clock.
std::optional<int64_t> EndOf(const profiler::Trace& trace, absl::string_view name) {
  for (const profiler::Event& event : trace.events) {
    if (event.activity == profiler::Activity::kCompilerPass && trace.NameOf(event) == name) {
      return trace.base_time_ns + event.time + event.value;
    }
  }
  return std::nullopt;
}

// Opens the file and runs it.
absl::StatusOr<Times> Measure(const Options& o, const std::string& path,
                              std::optional<CompiledProgram>* program) {
  CompiledProgramOptions options = o.program;
  options.threads = static_cast<int>(o.threads);
  // The runtime records when it is ready for sizes that it meets for the first time.
  profiler::SessionOptions recording;
  recording.activities = profiler::MaskOf(profiler::Activity::kCompilerPass);
  WEFT_ASSIGN_OR_RETURN(const auto session, profiler::Session::Start(recording));
  Times times;
  const int64_t start = profiler::WallNanos();
  const auto ms = [&](int64_t time) { return 1e-6 * static_cast<double>(time - start); };
  WEFT_ASSIGN_OR_RETURN(CompiledProgram open, CompiledProgram::Open(path, options));
  const int64_t opened = profiler::WallNanos();
  program->emplace(std::move(open));
  WEFT_ASSIGN_OR_RETURN(const auto inputs, MakeInputs(o, **program));
  const int64_t before = profiler::WallNanos();
  WEFT_RETURN_IF_ERROR((*program)->Run(inputs).status());
  const int64_t after = profiler::WallNanos();
  WEFT_ASSIGN_OR_RETURN(const profiler::Trace trace, session->Stop());
  const std::optional<int64_t> ready = EndOf(trace, "prepare sizes");
  if (!ready) return absl::InternalError("the trace has no span of the runtime");
  const int64_t inputs_ns = before - opened;
  times.opened = ms(opened);
  times.first_step = ms(*ready - inputs_ns);
  times.first_output = ms(after - inputs_ns);
  for (int i = 0; i < kFurtherRuns; ++i) {
    absl::Status status;
    const double ms = bench::TimeMs([&] { status = (*program)->Run(inputs).status(); });
    WEFT_RETURN_IF_ERROR(status);
    times.run = i == 0 ? ms : std::min(times.run, ms);
  }
  return times;
}

void Print(absl::string_view what, const Times& times) {
  std::cout << absl::StrFormat(
      "%s: open %.3g ms, first instruction %.3g ms, first output %.3g ms; then a run %.3g ms\n",
      what, times.opened, times.first_step, times.first_output, times.run);
}

// The quantile of each time by itself.
Times QuantileOf(const std::vector<Times>& all, double share) {
  const auto quantile = [&](double Times::*field) {
    std::vector<double> values;
    for (const Times& times : all) values.push_back(times.*field);
    return bench::Quantile(values, share);
  };
  return {quantile(&Times::opened), quantile(&Times::first_step), quantile(&Times::first_output),
          quantile(&Times::run)};
}

// The memory of this process in MB, by the names of the system.
std::map<std::string, double> ReadMemory() {
  std::map<std::string, double> mb;
  std::ifstream file("/proc/self/smaps_rollup");
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> parts = absl::StrSplit(line, ' ', absl::SkipEmpty());
    double kb = 0;
    if (parts.size() == 3 && absl::SimpleAtod(parts[1], &kb)) mb[parts[0]] = kb / 1024;
  }
  return mb;
}

// Prints the memory of this process: all that is resident; its share, in which each page counts for
// one part in as many as the processes that have it; and what is not of files.
void PrintMemory(absl::string_view what) {
  std::map<std::string, double> mb = ReadMemory();
  std::cout << absl::StrFormat("%s: %.0f MB resident, share %.0f MB, anonymous %.0f MB\n", what,
                               mb["Rss:"], mb["Pss:"], mb["Anonymous:"])
            << std::flush;
}

absl::Status RunAlone(const Options& o, const std::string& path) {
  std::vector<Times> all;
  std::optional<CompiledProgram> program;
  std::map<std::string, double> before = ReadMemory(), after;
  for (int64_t i = 0; i < o.repeat; ++i) {
    program.reset();
    WEFT_ASSIGN_OR_RETURN(all.emplace_back(), Measure(o, path, &program));
    if (i == 0) after = ReadMemory();
  }
  Print("first in the process", all[0]);
  if (all.size() > 1) {
    Print("shortest of all", QuantileOf(all, 0));
    Print("median of all", QuantileOf(all, 0.5));
  }
  PrintMemory("memory");
  std::cout << absl::StrFormat("memory of the first: %.1f MB, of its own %.1f MB\n",
                               after["Rss:"] - before["Rss:"],
                               after["Anonymous:"] - before["Anonymous:"]);
  return absl::OkStatus();
}

// Tokens between the first process and its children.
enum Token : char { kDone, kFailed, kShow, kEnd };

bool Send(int to, Token token) { return write(to, &token, 1) == 1; }

Token Receive(int from) {
  char token = kEnd;
  return read(from, &token, 1) == 1 ? static_cast<Token>(token) : kEnd;
}

// Opens and runs the file, and shows its memory when all have done so.
absl::Status RunChild(const Options& o, const std::string& path, int number, int to, int from) {
  std::optional<CompiledProgram> program;
  const absl::Status status = Measure(o, path, &program).status();
  if (!Send(to, status.ok() ? kDone : kFailed) || !status.ok()) return status;
  while (Receive(from) == kShow) {
    PrintMemory(absl::StrCat("process ", number));
    if (!Send(to, kDone)) break;
  }
  return absl::OkStatus();
}

struct Child {
  pid_t id = 0;
  int to = -1;
};

absl::StatusOr<int> RunChildren(const Options& o, const std::string& path) {
  int from[2];
  if (pipe(from) != 0) return absl::InternalError("no pipe");
  std::vector<Child> children;
  for (int64_t i = 0; i < o.processes; ++i) {
    int to[2];
    if (pipe(to) != 0) return absl::InternalError("no pipe");
    const pid_t id = fork();
    if (id < 0) return absl::InternalError("no process");
    if (id == 0) {
      const absl::Status status = RunChild(o, path, static_cast<int>(i), from[1], to[0]);
      if (!status.ok()) std::cerr << status.message() << "\n";
      _exit(status.ok() ? kExitOk : kExitBad);
    }
    children.push_back({id, to[1]});
  }
  bool good = true;
  for (size_t i = 0; i < children.size(); ++i) good = Receive(from[0]) == kDone && good;
  // One after the other, so that lines are whole; all stay until the last one has shown its share.
  for (const Child& child : children) {
    if (good) good = Send(child.to, kShow) && Receive(from[0]) == kDone;
  }
  for (const Child& child : children) {
    int status = 0;
    Send(child.to, kEnd);
    good = waitpid(child.id, &status, 0) == child.id && status == 0 && good;
  }
  return good ? kExitOk : kExitBad;
}

absl::StatusOr<int> Run(const Options& o, const std::vector<std::string>& positional) {
  if (positional.size() != 1) {
    return absl::InvalidArgumentError("expected one compiled file; --help shows how");
  }
  const std::string path = ResolvePath(positional[0]);
  if (o.processes > 1) return RunChildren(o, path);
  WEFT_RETURN_IF_ERROR(RunAlone(o, path));
  return kExitOk;
}

}  // namespace
}  // namespace weft::tools

int main(int argc, char** argv) {
  return weft::tools::ToolMain(argc, argv, weft::tools::MakeFlags, weft::tools::Run);
}
