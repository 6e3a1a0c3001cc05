// run: executes a model on given or seeded inputs and compares the outputs.
//
// Several values of a --dim, or several --data folders, make several runs of one Program; --explain
// prints its variants.
#include <algorithm>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/check/compare.h"
#include "api/check/seeded_inputs.h"
#include "api/extensions.h"
#include "api/inspect/profile.h"
#include "api/model_io.h"
#include "api/program.h"
#include "api/test_data.h"
#include "base/printable.h"
#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "tools/common/cli.h"
#include "tools/common/file_names.h"
#include "tools/common/flags.h"
#include "tools/common/logs.h"
#include "tools/common/models.h"
#include "tools/common/pipeline_flags.h"
#include "tools/common/sizes.h"
#include "tools/common/target_flags.h"
#include "tools/common/target_verify.h"

namespace weft::tools {
namespace {

struct Options {
  PipelineFlags pipeline;
  TargetFlags target;
  std::string log;
  std::vector<std::string> inputs;
  std::vector<std::string> expected;
  std::vector<std::string> sizes;
  std::vector<std::string> data;
  std::string output_dir;
  int64_t seed = 0;
  double rtol = 1e-3;
  double atol = 1e-5;
  bool print = false;
  std::string dynamic = "symbolic";
  std::vector<std::string> mark_dynamic;
  std::vector<std::string> mark_static;
  int64_t cache_limit = ProgramOptions().cache_limit;
  bool explain = false;
  ProfileOptions profile;
  bool profile_table = false;
  int64_t repeat = 1;
  TargetVerifyFlags verify;
};

FlagSet MakeFlags(Options* o) {
  FlagSet flags("run", "[flags] MODEL",
                "Runs a model (.onnx, .pt2, .weft or .weftb). Inputs that are not given are\n"
                "made from a seed.\n\n"
                "  run --size=batch=2 model.onnx\n"
                "  run --input x=x.npy --expect y=y.npy model.weft\n"
                "  run --data=test_data_set_0 model.onnx\n"
                "  run --dynamic=automatic --explain --size=length=5,7,9 model.pt2\n\n"
                "The first line printed says what was chosen. Options of the target that are\n"
                "left out have this value instead of its default: --code=before.");
  flags.Section("Program");
  AddTargetFlag(flags, &o->target.target, "Executor. Default: cpu");
  AddBackendFlags(flags, &o->target.options);
  AddPipelineFlags(flags, &o->pipeline);
  AddLogFlag(flags, &o->log);
  flags.String("dynamic", &o->dynamic, "automatic|static|symbolic",
               "Sizes that the model leaves open: symbolic ones in one program,\n"
               "each new size in a separate program (static), or static until a\n"
               "size changes (automatic). Default: symbolic");
  flags.Repeated("mark-dynamic", &o->mark_dynamic, "INPUT:DIM",
                 "Make that dim symbolic in any case");
  flags.Repeated("mark-static", &o->mark_static, "INPUT:DIM", "Compile for each size of that dim");
  flags.IntBetween("cache-limit", &o->cache_limit, 0, 1 << 20, "N",
                   "Most programs to compile; then the model runs as imported. Default: 8");
  flags.Bool("explain", &o->explain, "Print why each program was compiled, and its guards");
  flags.Section("Inputs");
  flags.Repeated("input", &o->inputs, "NAME=FILE", "Value of an input, from a .npy or .pb file");
  flags.Repeated("data", &o->data, "DIR",
                 "Folder with input_0.pb ... and output_0.pb ..., in the order\n"
                 "of the model's inputs and outputs (also .npy, and in_0.npy ...\n"
                 "and out_0.npy ...); a run for each");
  flags.Repeated("size", &o->sizes, "NAME=SIZE,...",
                 "Sizes of symbols for seeded inputs (default: as in those given),\n"
                 "as in batch=2,length=8. Several sizes of one symbol, as in\n"
                 "length=5,7,9, make several runs, in which a symbol with one size\n"
                 "keeps it");
  flags.Alias("dim", "size");
  flags.Int("seed", &o->seed, "N", "Seed of inputs not given. Default: 0");
  flags.Section("Profile");
  flags.String("profile", &o->profile.path, "FILE",
               "Record compilation and runs: .json (Chrome, torch's tools),\n"
               ".pftrace (Perfetto), .folded or .csv, also with .gz");
  flags.Bool("profile-table", &o->profile_table, "Print a table of times by op and kernel");
  flags.String("profile-sort", &o->profile.sort_by, "COLUMN",
               "Order of the table. Default: self_device_time_total\n"
               "for a program that works on a device, else self_cpu_time_total");
  flags.Bool("profile-shapes", &o->profile.group_by_input_shape,
             "Group the table by op and input shapes");
  flags.Double("peak-gflops", &o->profile.peak_gflops, "X",
               "Limits of the machine, for the table's roofline: operations, in\n"
               "billions a second (bench measures them),");
  flags.Double("peak-gbytes", &o->profile.peak_gbytes, "X", "and bytes, likewise");
  flags.Int("profile-max-bytes", &o->profile.max_file_bytes, "N",
            "Split a .json that would be larger; viewers fail at about 1 GB");
  flags.Int("repeat", &o->repeat, "N", "Run each input N times; the trace has a step for each");
  flags.Section("Outputs");
  flags.Repeated("expect", &o->expected, "NAME=FILE",
                 "Expected value of an output; exit status 1 if it differs");
  AddTargetVerifyFlags(flags, &o->verify);
  flags.Double("rtol", &o->rtol, "X", "Relative tolerance. Default: 1e-3");
  flags.Double("atol", &o->atol, "X", "Absolute tolerance. Default: 1e-5");
  flags.String("o", &o->output_dir, "DIR",
               "Write each output to DIR/<name>.npy; '/' in a name becomes '_'");
  flags.Alias("output-dir", "o");
  flags.Bool("print", &o->print, "Print the outputs' elements");
  return flags;
}

using NamedTensors = std::map<std::string, HostTensor>;

absl::StatusOr<NamedTensors> ReadNamed(absl::string_view flag,
                                       const std::vector<std::string>& values) {
  NamedTensors tensors;
  for (const std::string& value : values) {
    WEFT_ASSIGN_OR_RETURN(auto named, ParseNamedFile(flag, value));
    WEFT_ASSIGN_OR_RETURN(tensors[named.first], LoadTensor(ResolvePath(named.second)));
  }
  return tensors;
}

// The seeds and sizes of each run; at least one run.
absl::StatusOr<std::vector<SeedOptions>> ReadSeeds(const Options& o) {
  WEFT_ASSIGN_OR_RETURN(const auto lists, ParseSizeLists("size", o.sizes));
  std::vector<SeedOptions> runs(std::max<size_t>(o.data.size(), 1));
  for (const auto& [name, sizes] : lists) {
    if (runs.size() == 1 && sizes.size() > 1) runs.resize(sizes.size(), runs[0]);
    if (sizes.size() > 1 && sizes.size() != runs.size()) {
      return absl::InvalidArgumentError(absl::StrCat("--size=", name, " has ", sizes.size(),
                                                     " sizes for ", runs.size(), " runs"));
    }
    for (size_t i = 0; i < runs.size(); ++i) {
      runs[i].dims[name] = sizes[sizes.size() > 1 ? i : 0];
    }
  }
  for (SeedOptions& run : runs) run.seed = static_cast<uint64_t>(o.seed);
  return runs;
}

absl::Status ReadMarks(const std::vector<std::string>& texts, Dynamic dynamic,
                       std::vector<MarkedDim>* marks) {
  for (const std::string& text : texts) {
    const size_t colon = text.rfind(':');
    MarkedDim mark;
    mark.dynamic = dynamic;
    if (colon == std::string::npos || !absl::SimpleAtoi(text.substr(colon + 1), &mark.dim)) {
      return absl::InvalidArgumentError(absl::StrCat("marks are INPUT:DIM, not \"", text, "\""));
    }
    mark.input = text.substr(0, colon);
    marks->push_back(std::move(mark));
  }
  return absl::OkStatus();
}

absl::StatusOr<ProgramOptions> ReadProgramOptions(const Options& o, const Extensions& extensions) {
  ProgramOptions options;
  const auto dynamic = ParseDynamic(o.dynamic);
  if (!dynamic) {
    return absl::InvalidArgumentError(
        absl::StrCat("--dynamic takes automatic, static or symbolic, not \"", o.dynamic, "\""));
  }
  options.dynamic = *dynamic;
  absl::Status status = ReadMarks(o.mark_dynamic, Dynamic::kSymbolic, &options.marks);
  status.Update(ReadMarks(o.mark_static, Dynamic::kStatic, &options.marks));
  WEFT_RETURN_IF_ERROR(status);
  TargetFlags target = o.target;
  target.backends = &extensions.backends();
  WEFT_ASSIGN_OR_RETURN(const Backend* backend, target.Find());
  options.target = backend->name();
  options.backends = target.backends;
  options.backend = target.OptionsWithDefaults(*backend);
  options.cache_limit = static_cast<int>(o.cache_limit);
  WEFT_RETURN_IF_ERROR(o.pipeline.Apply(&extensions, &options.compile));
  SetTarget(*backend, &options.compile);
  return options;
}

std::string OutputName(const Graph& graph, int i) {
  return graph.output_names().empty() ? absl::StrCat("output_", i) : graph.output_names()[i];
}

// Takes values of symbols from given inputs.
void TakeSizes(const Graph& graph, const NamedTensors& given, SeedOptions* seed) {
  for (int i = 0; i < graph.num_inputs(); ++i) {
    const auto it = given.find(graph.input_info(i).name);
    const Type type = graph.input(i)->type();
    if (it == given.end() || !type.is_tensor() || type.rank() != it->second.rank()) continue;
    for (int d = 0; d < type.rank(); ++d) {
      if (type.dim(d).is_symbol()) {
        seed->dims.emplace(std::string(type.dim(d).name()), it->second.dim(d));
      }
    }
  }
}

// "batch=2, length=5": the sizes that the inputs of a run have.
std::string SizesOf(const Graph& graph, absl::Span<const HostTensor> inputs) {
  std::map<std::string, int64_t> sizes;
  for (int i = 0; i < graph.num_inputs(); ++i) {
    const Type type = graph.input(i)->type();
    if (!inputs[i].valid() || !type.is_tensor() || type.rank() != inputs[i].rank()) continue;
    for (int d = 0; d < type.rank(); ++d) {
      if (type.dim(d).is_symbol()) sizes.emplace(type.dim(d).name(), inputs[i].dim(d));
    }
  }
  return absl::StrJoin(sizes, ", ", absl::PairFormatter("="));
}

// The inputs of a run; empty for state that is not given, which the program keeps.
absl::StatusOr<std::vector<HostTensor>> GatherInputs(SeedOptions seed, const Graph& graph,
                                                     NamedTensors given) {
  TakeSizes(graph, given, &seed);
  std::vector<HostTensor> ordered(graph.num_inputs());
  if (static_cast<int>(given.size()) < graph.num_inputs()) {
    WEFT_ASSIGN_OR_RETURN(ordered, MakeSeededInputs(graph, seed));
  }
  for (int i = 0; i < graph.num_inputs(); ++i) {
    auto node = given.extract(graph.input_info(i).name);
    if (!node.empty()) {
      ordered[i] = std::move(node.mapped());
    } else if (graph.input_info(i).initial >= 0) {
      ordered[i] = HostTensor();
    }
  }
  if (!given.empty()) return UnknownInput(given.begin()->first, graph);
  return ordered;
}

std::string ElementsOf(const HostTensor& tensor) {
  if (IsFloat(tensor.dtype())) return absl::StrJoin(tensor.ReadDoubles(), " ");
  const std::vector<int64_t> values = tensor.ReadInts();
  if (tensor.dtype() != DType::kU64) return absl::StrJoin(values, " ");
  return absl::StrJoin(std::vector<uint64_t>(values.begin(), values.end()), " ");
}

absl::Status WriteOutputs(const Options& o, const Graph& graph,
                          const std::vector<HostTensor>& outputs) {
  std::vector<std::string> names;
  for (size_t i = 0; i < outputs.size(); ++i) {
    names.push_back(OutputName(graph, static_cast<int>(i)));
    std::cout << PrintableName(names[i]) << ": " << DTypeName(outputs[i].dtype()) << "["
              << absl::StrJoin(outputs[i].dims(), ", ") << "]";
    if (o.print) std::cout << " = " << ElementsOf(AsRealPairs(outputs[i]));
    std::cout << "\n";
  }
  if (o.output_dir.empty()) return absl::OkStatus();
  absl::Status status = MakeFolder(ResolvePath(o.output_dir));
  const std::vector<std::string> files = FileNames(names);
  for (size_t i = 0; i < outputs.size() && status.ok(); ++i) {
    status = SaveTensor(absl::StrCat(ResolvePath(o.output_dir), "/", files[i], ".npy"), outputs[i]);
  }
  return status;
}

// Returns the number of outputs that differ; prints each of them, and then the number compared.
absl::StatusOr<int> CompareExpected(const Options& o, const Graph& graph,
                                    const std::vector<HostTensor>& outputs, NamedTensors expected) {
  int compared = 0;
  int differing = 0;
  double largest_error = 0;
  CompareOptions compare;
  compare.rtol = o.rtol;
  compare.atol = o.atol;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string name = OutputName(graph, static_cast<int>(i));
    auto node = expected.extract(name);
    if (node.empty()) continue;
    double error;
    absl::Status status = Compare(outputs[i], node.mapped(), compare, &error);
    std::cout << PrintableName(name) << ": " << (status.ok() ? "as expected" : status.message())
              << "\n";
    ++compared;
    differing += !status.ok();
    largest_error = std::max(largest_error, error);
  }
  if (!expected.empty()) return UnknownOutput(expected.begin()->first, graph);
  if (compared > 0) {
    std::cout << compared << (compared == 1 ? " output" : " outputs") << " compared, largest error "
              << largest_error << "\n";
  }
  return differing;
}

std::vector<HostTensor> StateOf(const Program& program) {
  std::vector<HostTensor> state;
  for (const std::string& name : program.state_names()) state.push_back(*program.state(name));
  return state;
}

// Prints which run begins, and with which sizes.
void PrintHead(const std::string& run, const std::string& sizes) {
  if (run.empty() && sizes.empty()) return;
  std::cout << run << (run.empty() || sizes.empty() ? "" : ": ") << PrintableName(sizes) << "\n";
}

// Does one run; returns the number of outputs that differ.
absl::StatusOr<int> RunOnce(const Options& o, const std::string& head, const SeedOptions& seed,
                            NamedTensors inputs, NamedTensors expected, Program& program,
                            TargetVerifier* verifier, Profile* profile) {
  const Graph& graph = program.main();
  WEFT_ASSIGN_OR_RETURN(auto ordered, GatherInputs(seed, graph, std::move(inputs)));
  PrintHead(head, SizesOf(graph, ordered));
  const std::vector<HostTensor> given = ordered;
  if (verifier != nullptr) {
    WEFT_RETURN_IF_ERROR(verifier->Check(given));
    // A faulty step may have corrupted memory, so the run stops here.
    if (verifier->result().differs()) return 0;
  }
  const std::vector<HostTensor> state = StateOf(program);
  auto outputs = program.Run(&ordered);
  for (int64_t i = 1; i < o.repeat && outputs.ok(); ++i) {
    if (profile != nullptr) profile->Step();
    outputs = program.Run(&ordered);
  }
  WEFT_RETURN_IF_ERROR(outputs.status());
  if (profile != nullptr) profile->Step();
  const std::vector<HostTensor> state_after = StateOf(program);
  for (size_t i = 0; i < state.size(); ++i) {
    if (state[i].BitEqual(state_after[i])) continue;
    std::cout << "writes " << PrintableName(program.state_names()[i]) << "\n";
  }
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i].valid() || given[i].BitEqual(ordered[i])) continue;
    std::cout << "writes " << PrintableName(graph.input_info(static_cast<int>(i)).name) << "\n";
  }
  WEFT_RETURN_IF_ERROR(WriteOutputs(o, graph, *outputs));
  return CompareExpected(o, graph, *outputs, std::move(expected));
}

// Does all runs; returns the number of outputs that differ.
absl::StatusOr<int> RunAll(const Options& o, const NamedTensors& inputs,
                           const NamedTensors& expected, Program& program, TargetVerifier* verifier,
                           Profile* profile) {
  WEFT_ASSIGN_OR_RETURN(auto seeds, ReadSeeds(o));
  int differing = 0;
  for (size_t run = 0; run < seeds.size(); ++run) {
    NamedTensors run_inputs = inputs;
    NamedTensors run_expected = expected;
    if (run < o.data.size()) {
      WEFT_ASSIGN_OR_RETURN(auto data, LoadTestData(ResolvePath(o.data[run]), program.main()));
      if (data.outputs.empty()) std::cout << o.data[run] << " has no outputs to compare with\n";
      for (auto& [name, tensor] : data.NamedInputs()) run_inputs[name] = tensor;
      for (size_t i = 0; i < data.outputs.size(); ++i) {
        run_expected[OutputName(program.main(), static_cast<int>(i))] = data.outputs[i];
      }
    }
    const std::string head =
        seeds.size() == 1 ? "" : absl::StrCat("run ", run + 1, " of ", seeds.size());
    WEFT_ASSIGN_OR_RETURN(
        auto differs, RunOnce(o, head, seeds[run], std::move(run_inputs), std::move(run_expected),
                              program, verifier, profile));
    differing += differs;
  }
  if (verifier == nullptr) return differing;
  WEFT_ASSIGN_OR_RETURN(auto verified, verifier->Finish(seeds.front(), std::cout));
  return differing + (verified != kExitOk ? 1 : 0);
}

// Null unless --verify or --compare is given.
absl::StatusOr<std::unique_ptr<TargetVerifier>> MakeVerifier(const Options& o, const Module& module,
                                                             const ProgramOptions& program) {
  if (!o.verify.asked()) return nullptr;
  TargetCheckOptions options;
  options.target = program.target;
  options.backends = program.backends;
  options.backend = program.backend;
  options.seed = static_cast<uint64_t>(o.seed);
  return TargetVerifier::Create(o.verify, module, program.compile, options);
}

// Null unless a recording is requested.
absl::StatusOr<std::unique_ptr<Profile>> StartProfile(const Options& o) {
  if (o.profile.path.empty() && !o.profile_table) return nullptr;
  ProfileOptions options = o.profile;
  if (!options.path.empty()) options.path = ResolvePath(options.path);
  return Profile::Start(options);
}

absl::Status FinishProfile(const Options& o, Profile* profile) {
  if (profile == nullptr) return absl::OkStatus();
  absl::Status status = profile->Finish();
  if (!status.ok() || !o.profile_table) return status;
  auto table = profile->Table();
  if (table.ok()) std::cout << *table;
  return table.status();
}

absl::StatusOr<int> Run(const Options& o, const std::vector<std::string>& positional) {
  WEFT_ASSIGN_OR_RETURN(const bool helped, StartLogs(o.log));
  if (helped) return kExitOk;
  if (positional.size() != 1) {
    return absl::InvalidArgumentError("expected one model file; --help shows how");
  }
  Extensions extensions;
  WEFT_RETURN_IF_ERROR(o.pipeline.LoadExtensions(extensions));
  WarnOfAssumedRules("run", extensions);
  WEFT_ASSIGN_OR_RETURN(auto inputs, ReadNamed("input", o.inputs));
  WEFT_ASSIGN_OR_RETURN(auto expected, ReadNamed("expect", o.expected));
  WEFT_ASSIGN_OR_RETURN(auto profile, StartProfile(o));
  LoadOptions load;
  load.input_values = inputs;
  load.ops = &extensions.ops();
  WEFT_ASSIGN_OR_RETURN(auto module, LoadShown(positional[0], load));
  WEFT_ASSIGN_OR_RETURN(auto options, ReadProgramOptions(o, extensions));
  WEFT_ASSIGN_OR_RETURN(auto verifier, MakeVerifier(o, *module, options));
  WEFT_ASSIGN_OR_RETURN(const Backend* const backend, FindBackend(options));
  const std::string chosen = DescribeChoice(*backend, options.compile.passes, options.backend);
  WEFT_ASSIGN_OR_RETURN(auto program, Program::Create(std::move(module), std::move(options)));
  std::cout << chosen << "\n";
  auto differing = RunAll(o, inputs, expected, program, verifier.get(), profile.get());
  // Also explains the runs before one that failed.
  if (o.explain) std::cout << program.Explain().ToString();
  WEFT_RETURN_IF_ERROR(differing.status());
  // Releases the program's memory while releases are still recorded.
  { const Program ended = std::move(program); }
  WEFT_RETURN_IF_ERROR(FinishProfile(o, profile.get()));
  return *differing == 0 ? kExitOk : kExitBad;
}

}  // namespace
}  // namespace weft::tools

int main(int argc, char** argv) {
  return weft::tools::ToolMain(argc, argv, weft::tools::MakeFlags, weft::tools::Run);
}
