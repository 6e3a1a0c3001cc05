// bench: measures one program on one target.
#include <omp.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "api/compiler.h"
#include "api/extensions.h"
#include "api/inspect/cost.h"
#include "api/inspect/profile.h"
#include "api/version.h"
#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "nlohmann/json.hpp"
#include "tools/bench/machine.h"
#include "tools/bench/measure.h"
#include "tools/bench/peaks.h"
#include "tools/bench/prepare.h"
#include "tools/bench/program.h"
#include "tools/bench/sweep.h"
#include "tools/common/cli.h"
#include "tools/common/flags.h"
#include "tools/common/logs.h"
#include "tools/common/pipeline_flags.h"
#include "tools/common/sizes.h"
#include "tools/common/target_flags.h"
#include "tools/common/target_verify.h"

namespace weft::tools {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string log;
  bench::PrepareOptions prepare;
  std::vector<std::string> sizes;
  std::vector<std::string> inputs;
  std::string data;
  std::string sweep;
  int64_t repeat = 0;
  double seconds = 2;
  double warmup = 0.5;
  int64_t seed = 0;
  bool small = false;
  bool on_device = false;
  bool peaks = true;
  std::string profile;
  bool profile_table = false;
  std::string format = "text";
  std::string output;
  TargetVerifyFlags verify;
};

FlagSet MakeFlags(Options* o) {
  FlagSet flags("bench", "[flags] MODEL",
                "Measures a model on a target. MODEL is a file (.onnx, .pt2, .weft or .weftb) or\n"
                "a name that make_model --list shows.\n\n"
                "  bench --size=batch=1 --threads=2 resnet50\n"
                "  bench --passes=none --repeat=3 --format=json model.onnx\n\n"
                "Options of the target that are left out have this value instead of its\n"
                "default: --code=before.");
  flags.Section("Program");
  AddTargetFlag(flags, &o->prepare.target.target, "Executor. Default: cpu");
  AddBackendFlags(flags, &o->prepare.target.options);
  AddPipelineFlags(flags, &o->prepare.pipeline);
  flags.Repeated("size", &o->sizes, "NAME=SIZE,...", "Sizes of symbols");
  flags.Repeated("input", &o->inputs, "NAME=FILE",
                 "Value of an input (.npy or .pb); others are made from a\n"
                 "seed");
  flags.String("data", &o->data, "DIR",
               "Values of inputs: input_0.pb, input_0.npy or in_0.npy, ...");
  flags.Int("seed", &o->seed, "N", "Seed of weights and inputs. Default: 0");
  flags.Bool("small", &o->small, "Use the small variant of a named model");
  AddLogFlag(flags, &o->log);
  flags.Section("Measurement");
  flags.Double("seconds", &o->seconds, "X",
               "Repeat for X seconds, at least five times. Default: 2");
  flags.Double("warmup", &o->warmup, "X", "Seconds of runs that do not count. Default: 0.5");
  flags.Int("repeat", &o->repeat, "N", "Do exactly N runs instead, without a warm-up");
  flags.Alias("iterations", "repeat");
  flags.String("sweep", &o->sweep, "NAME=FROM:TO:STEP",
               "Instead: sizes of one symbol, each for the first time and again, beside\n"
               "a program for that size alone");
  flags.Bool("on-device", &o->on_device,
             "Leave inputs and outputs in the device's memory. Default: each run copies them from\n"
             "and to the host, where the target does not work in the host's memory");
  AddTargetVerifyFlags(flags, &o->verify);
  flags.Bool("peaks", &o->peaks, "Measure the machine's peaks, for shares of them. Default: true");
  flags.String("profile", &o->profile, "FILE",
               "After the measurement, record ten more runs: .json, .pftrace, .folded\n"
               "or .csv, also with .gz");
  flags.Bool("profile-table", &o->profile_table,
             "Likewise; print a table of the steps to standard error");
  flags.Section("Output");
  flags.String("format", &o->format, "text|json",
               "A few lines for people, or one object with all that was measured.\n"
               "Default: text; --sweep prints json");
  flags.String("o", &o->output, "FILE", "Where it goes; default: standard output");
  return flags;
}

absl::StatusOr<bench::ProgramOptions> ReadProgram(const Options& o, const std::string& model) {
  bench::ProgramOptions program;
  program.model = model;
  program.seed = static_cast<uint64_t>(o.seed);
  program.small = o.small;
  program.data = ResolvePath(o.data);
  WEFT_ASSIGN_OR_RETURN(program.sizes, ParseSizes("size", o.sizes));
  for (const std::string& value : o.inputs) {
    WEFT_ASSIGN_OR_RETURN(const auto named, ParseNamedFile("input", value));
    WEFT_ASSIGN_OR_RETURN(program.inputs[named.first], LoadTensor(ResolvePath(named.second)));
  }
  return program;
}

// The measurements, in the order in which they are made.
struct Result {
  ProgramCost cost;  // Cost of the program before passes.
  bench::Prepared prepared;
  double first_ms = 0;
  double processor_ms = 0;  // Processor time of the process up to the end of the first run.
  std::vector<double> times;
  double peak_rss_mb = 0;
  Counters counters;
  bool differs = false;  // The result differs from the reference; nothing was measured.
};

// Runs the session's program on these inputs and on seeded ones; true if it differs from the
// reference.
absl::StatusOr<bool> DiffersFromReference(const Options& o, const Session& session,
                                          absl::Span<const HostTensor> inputs,
                                          const std::map<std::string, int64_t>& sizes) {
  CompileOptions nothing;
  nothing.passes = "none";
  TargetCheckOptions options;
  options.target = o.prepare.target.target;
  options.backends = o.prepare.target.backends;
  options.backend = o.prepare.target.options;
  options.seed = static_cast<uint64_t>(o.seed);
  WEFT_ASSIGN_OR_RETURN(auto verifier,
                        TargetVerifier::Create(o.verify, session.module(), nothing, options));
  WEFT_RETURN_IF_ERROR(verifier->Check(inputs));
  SeedOptions first;
  first.seed = options.seed;
  first.dims.insert(sizes.begin(), sizes.end());
  WEFT_ASSIGN_OR_RETURN(const int exit_status, verifier->Finish(first, std::cerr));
  return exit_status != kExitOk;
}

// Records runs of a program that is warm, if they are asked for: ten, and one before them in which
// recording warms up, and which the table leaves out.
absl::Status RecordRuns(const Options& o, absl::FunctionRef<absl::Status()> run) {
  constexpr int kRuns = 1 + 10;
  if (o.profile.empty() && !o.profile_table) return absl::OkStatus();
  ProfileOptions options;
  options.path = ResolvePath(o.profile);
  WEFT_ASSIGN_OR_RETURN(const auto profile, Profile::Start(options));
  for (int i = 0; i < kRuns; ++i) {
    WEFT_RETURN_IF_ERROR(run());
    profile->Step();
  }
  WEFT_RETURN_IF_ERROR(profile->Finish());
  if (!o.profile_table) return absl::OkStatus();
  WEFT_ASSIGN_OR_RETURN(const std::string table, profile->Table());
  std::cerr << table;
  return absl::OkStatus();
}

// The inputs in the memory of the session's device; integers that are sizes stay on the host.
absl::StatusOr<std::vector<DeviceTensor>> ToDevice(const Session& session,
                                                   const std::vector<HostTensor>& inputs) {
  std::vector<DeviceTensor> tensors;
  for (const HostTensor& input : inputs) {
    const Type type = session.main().input(static_cast<int>(tensors.size()))->type();
    if (!input.valid() || type.is_symint()) {
      tensors.push_back(input);
      continue;
    }
    WEFT_ASSIGN_OR_RETURN(DeviceTensor tensor, session.ToDevice(input));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

absl::StatusOr<Result> Measure(const Options& o, bench::Program* program) {
  Result result;
  WEFT_ASSIGN_OR_RETURN(result.cost, CostOf(*program->module->main(), program->sizes));
  WEFT_ASSIGN_OR_RETURN(result.prepared, bench::Prepare(o.prepare, std::move(program->module)));
  Session& session = *result.prepared.session;
  std::vector<HostTensor> inputs = bench::InOrder(session.main(), program->inputs);
  program->inputs.clear();
  if (o.verify.asked()) {
    WEFT_ASSIGN_OR_RETURN(result.differs, DiffersFromReference(o, session, inputs, program->sizes));
    if (result.differs) return result;
  }
  // A program that writes its inputs gets them as donated: an optimizer step uses the result of the
  // step before, and may update it in place.
  const bool writes = !session.main().write_backs().empty();
  std::vector<DeviceTensor> tensors;
  if (o.on_device) {
    WEFT_ASSIGN_OR_RETURN(tensors, ToDevice(session, inputs));
  }
  const auto run = [&] {
    if (o.on_device) {
      return writes ? session.RunOnDevice(&tensors).status()
                    : session.RunOnDevice(absl::MakeConstSpan(tensors)).status();
    }
    return writes ? session.Run(&inputs).status()
                  : session.Run(absl::MakeConstSpan(inputs)).status();
  };
  absl::Status status;
  result.first_ms = bench::TimeMs([&] { status = run(); });
  WEFT_RETURN_IF_ERROR(status);
  result.processor_ms = bench::ProcessorMs();
  bench::MeasureOptions measure;
  measure.seconds = o.seconds;
  measure.warmup_seconds = o.warmup;
  measure.iterations = o.repeat;
  WEFT_ASSIGN_OR_RETURN(result.times, bench::MeasureMs(measure, run));
  result.peak_rss_mb = bench::PeakRssMb();
  WEFT_RETURN_IF_ERROR(RecordRuns(o, run));
  // Waits for compiled code, so that compiling does not disturb the timed runs.
  session.WaitForCode().IgnoreError();
  result.counters = session.counters();
  return result;
}

Json StagesOf(const bench::Program& program, const Result& result) {
  Json passes = Json::array();
  for (const PassReport& pass : result.prepared.compiled.report.passes) {
    if (pass.skipped) continue;
    passes.push_back({{"path", pass.path}, {"ms", 1e3 * pass.seconds}});
  }
  const auto count = [&](const char* name) { return CounterOf(result.counters, name); };
  const bool plan = count("steps") > 0;  // Other targets have none.
  return {{"import_ms", program.import_ms},
          {"passes_ms", result.prepared.passes_ms},
          {"passes", std::move(passes)},
          {"session_ms", result.prepared.session_ms},
          {"lowering_ms", plan ? Json(1e-3 * count("lowering_us")) : Json()},
          {"code_ms", plan ? Json(1e-3 * count("code_us")) : Json()},
          {"code_from_cache", plan ? Json(count("code_from_cache") != 0) : Json()}};
}

void AddTimes(const bench::Program& program, const Result& result, Json* json) {
  const double compile_ms =
      program.import_ms + result.prepared.passes_ms + result.prepared.session_ms;
  (*json)["iterations"] = result.times.size();
  (*json)["median_ms"] = bench::Quantile(result.times, 0.5);
  (*json)["p10_ms"] = bench::Quantile(result.times, 0.1);
  (*json)["p90_ms"] = bench::Quantile(result.times, 0.9);
  (*json)["first_ms"] = result.first_ms;
  (*json)["compile_ms"] = compile_ms;
  (*json)["stages"] = StagesOf(program, result);
  (*json)["processor_ms"] = result.processor_ms;
  (*json)["peak_rss_mb"] = result.peak_rss_mb;
  (*json)["nodes"] = result.prepared.nodes;
  const auto count = [&](const char* name) { return CounterOf(result.counters, name); };
  const bool plan = count("steps") > 0;
  (*json)["kernels"] = plan ? Json(count("kernels")) : Json();
  (*json)["compiled_kernels"] = plan ? Json(count("generated_kernels")) : Json();
  (*json)["steps"] = plan ? Json(count("steps")) : Json();
  (*json)["packed_mb"] =
      plan ? Json(static_cast<double>(count("packed_bytes")) / (1 << 20)) : Json();
  (*json)["arena_mb"] = plan ? Json(static_cast<double>(count("arena_bytes")) / (1 << 20)) : Json();
}

void AddCost(const ProgramCost& cost, Json* json) {
  (*json)["flops"] = cost.flops;
  (*json)["bytes"] = cost.bytes;
  (*json)["node_bytes"] = cost.node_bytes;
  (*json)["uncounted"] = cost.uncounted;
}

// The share of the peaks that a median run reaches, and the time it would take at the peaks.
void AddPeaks(const Options& o, const Result& result, Json* json) {
  (*json)["peaks"] = nullptr;
  (*json)["share"] = nullptr;
  (*json)["floor_ms"] = nullptr;
  if (!o.peaks) return;
  const bench::Peaks peaks = bench::MeasurePeaks(omp_get_max_threads());
  const double ms = bench::Quantile(result.times, 0.5);
  const double fma_ms = static_cast<double>(result.cost.flops) / peaks.fma_gflops / 1e6;
  const double stream_ms = static_cast<double>(result.cost.bytes) / peaks.stream_gbs / 1e6;
  (*json)["peaks"] = {
      {"fma_gflops", peaks.fma_gflops}, {"stream_gbs", peaks.stream_gbs}, {"isa", peaks.isa}};
  (*json)["share"] = {{"fma", fma_ms / ms}, {"stream", stream_ms / ms}};
  (*json)["floor_ms"] = std::max(fma_ms, stream_ms);
}

Json MachineJson() {
  const bench::Machine machine = bench::DescribeMachine();
  return {{"cpu", machine.cpu}, {"logical_cpus", machine.logical_cpus}, {"system", machine.system}};
}

absl::Status Print(const Options& o, Json json) {
  json["machine"] = MachineJson();
  json["versions"] = {{"weft", kVersion}, {"compiler", bench::DescribeMachine().compiler}};
  return WriteOutput(o.output,
                     json.dump(2, ' ', false, Json::error_handler_t::replace).append("\n"));
}

// A time with three digits that count.
std::string Ms(double ms) { return absl::StrFormat("%.3g ms", ms); }

// What people ask of a measurement: how long, how steady, what came before it, and how near to the
// limits of the machine.
absl::Status PrintText(const Options& o, const std::string& chosen, const bench::Program& program,
                       const Result& result, const Json& json) {
  std::string text = absl::StrCat(chosen, "\n");
  if (!program.sizes.empty()) {
    absl::StrAppend(&text, absl::StrJoin(program.sizes, ", ", absl::PairFormatter("=")), "\n");
  }
  absl::StrAppend(&text, "median ", Ms(bench::Quantile(result.times, 0.5)), " of ",
                  result.times.size(), " runs, 10 % below ", Ms(bench::Quantile(result.times, 0.1)),
                  ", 10 % above ", Ms(bench::Quantile(result.times, 0.9)), "\n");
  absl::StrAppend(&text, "import ", Ms(program.import_ms), ", passes ",
                  Ms(result.prepared.passes_ms), ", session ", Ms(result.prepared.session_ms),
                  ", first run ", Ms(result.first_ms), "; ",
                  absl::StrFormat("%.0f MB at most\n", result.peak_rss_mb));
  if (o.peaks) {
    absl::StrAppend(
        &text,
        absl::StrFormat("%.3g GFLOP and %.3g MB, %.0f %% and %.0f %% of the machine's peaks\n",
                        1e-9 * static_cast<double>(result.cost.flops),
                        1e-6 * static_cast<double>(result.cost.bytes),
                        100 * json["share"]["fma"].get<double>(),
                        100 * json["share"]["stream"].get<double>()));
  }
  return WriteText(o.output, text);
}

absl::Status AddSweep(const Options& o, const bench::ProgramOptions& program, Json* json) {
  constexpr int64_t kIterations = 15;
  WEFT_ASSIGN_OR_RETURN(const bench::SweepRange range, bench::ParseSweep(o.sweep));
  WEFT_ASSIGN_OR_RETURN(
      const bench::SweepResult result,
      bench::Sweep(range, program, o.prepare, o.repeat > 0 ? o.repeat : kIterations));
  Json points = Json::array();
  for (const bench::SweepPoint& point : result.points) {
    points.push_back({{range.symbol, point.size},
                      {"first_ms", point.first_ms},
                      {"median_ms", point.median_ms},
                      {"over_ms", point.first_ms - point.median_ms},
                      {"static_ms", point.static_ms},
                      {"ratio", point.median_ms / point.static_ms}});
  }
  (*json)["sweep"] = std::move(points);
  const auto grown = [&](const char* name) {
    return CounterOf(result.after, name) - CounterOf(result.before, name);
  };
  (*json)["assignments"] = grown("assignments");
  (*json)["compiled_kernels"] = CounterOf(result.after, "generated_kernels");
  (*json)["new_kernels"] = grown("generated_kernels");
  return absl::OkStatus();
}

// 0: the target's default.
int ThreadsOf(const BackendOptions& options) {
  int threads = 0;
  const auto it = options.find("threads");
  return it != options.end() && absl::SimpleAtoi(it->second, &threads) ? threads : 0;
}

absl::StatusOr<int> Run(Options o, const std::vector<std::string>& positional) {
  WEFT_ASSIGN_OR_RETURN(const bool helped, StartLogs(o.log));
  if (helped) return kExitOk;
  if (positional.size() != 1) {
    return absl::InvalidArgumentError("expected one model, a file or a name; --help shows how");
  }
  if (o.format != "text" && o.format != "json") {
    return absl::InvalidArgumentError(
        absl::StrCat("--format takes text or json, not \"", o.format, "\""));
  }
  Extensions extensions;
  WEFT_RETURN_IF_ERROR(o.prepare.pipeline.LoadExtensions(extensions));
  WarnOfAssumedRules("bench", extensions);
  o.prepare.extensions = &extensions;
  o.prepare.target.backends = &extensions.backends();
  WEFT_ASSIGN_OR_RETURN(const Backend* const backend, o.prepare.target.Find());
  o.prepare.target.options = o.prepare.target.OptionsWithDefaults(*backend);
  std::string& passes = o.prepare.pipeline.passes;
  if (passes.empty()) passes = backend->default_pipeline();
  const int threads = ThreadsOf(o.prepare.target.options);
  if (threads > 0) omp_set_num_threads(threads);
  WEFT_ASSIGN_OR_RETURN(bench::ProgramOptions options, ReadProgram(o, positional[0]));
  options.ops = &extensions.ops();
  Json json = {{"model", positional[0]},   {"small", o.small}, {"target", o.prepare.target.target},
               {"on_device", o.on_device}, {"passes", passes}, {"threads", threads}};
  if (!o.sweep.empty()) {
    WEFT_RETURN_IF_ERROR(AddSweep(o, options, &json));
    WEFT_RETURN_IF_ERROR(Print(o, std::move(json)));
    return kExitOk;
  }
  WEFT_ASSIGN_OR_RETURN(bench::Program program, bench::LoadProgram(options));
  options.inputs.clear();  // Use only the program's own.
  json["sizes"] = program.sizes;
  json["seed"] = o.seed;
  WEFT_ASSIGN_OR_RETURN(const Result result, Measure(o, &program));
  if (result.differs) return kExitBad;
  AddTimes(program, result, &json);
  AddCost(result.cost, &json);
  AddPeaks(o, result, &json);
  if (o.format == "json") {
    WEFT_RETURN_IF_ERROR(Print(o, std::move(json)));
  } else {
    const std::string chosen = absl::StrCat(
        positional[0], ": ", DescribeChoice(*backend, passes, o.prepare.target.options));
    WEFT_RETURN_IF_ERROR(PrintText(o, chosen, program, result, json));
  }
  return kExitOk;
}

}  // namespace
}  // namespace weft::tools

int main(int argc, char** argv) {
  return weft::tools::ToolMain(argc, argv, weft::tools::MakeFlags, weft::tools::Run);
}
