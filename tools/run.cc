// run: executes a model on given or seeded inputs and compares the outputs.
#include <algorithm>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/compare.h"
#include "api/compiler.h"
#include "api/extensions.h"
#include "api/model_io.h"
#include "api/seeded_inputs.h"
#include "api/session.h"
#include "api/test_data.h"
#include "tools/common/cli.h"
#include "tools/common/flags.h"
#include "tools/common/plugins.h"

namespace weft::tools {
namespace {

struct Options {
  std::string passes = "none";
  std::string target = "reference";
  std::vector<std::string> load;
  std::vector<std::string> inputs;
  std::vector<std::string> expected;
  std::vector<std::string> dims;
  std::string data;
  std::string output_dir;
  int64_t seed = 0;
  double rtol = 1e-3;
  double atol = 1e-5;
  bool print = false;
};

FlagSet MakeFlags(Options* o) {
  FlagSet flags("run", "[flags] MODEL",
                "Runs a model (.onnx, .pt2 or .weft). Inputs that are not given are "
                "made from a seed.\n\n"
                "  run --dim batch=2 model.onnx\n"
                "  run --input x=x.npy --expect y=y.npy model.weft\n"
                "  run --data=test_data_set_0 model.onnx");
  flags.Section("Program");
  flags.String("passes", &o->passes, "PIPELINE",
               "Pipeline to run first, as in opt. Default: none");
  flags.String("target", &o->target, "TARGET",
               "Executor: reference. Default: reference");
  AddLoadFlag(flags, &o->load);
  flags.Section("Inputs");
  flags.Repeated("input", &o->inputs, "NAME=FILE",
                 "Value of an input, from a .npy or .pb file");
  flags.String("data", &o->data, "DIR",
               "Folder with input_0.pb ... and output_0.pb ..., in the order\n"
               "of the model's inputs and outputs");
  flags.Repeated("dim", &o->dims, "NAME=SIZE",
                 "Size of a symbol for seeded inputs");
  flags.Int("seed", &o->seed, "N", "Seed of inputs not given. Default: 0");
  flags.Section("Outputs");
  flags.Repeated("expect", &o->expected, "NAME=FILE",
                 "Expected value of an output; exit status 1 when it differs");
  flags.Double("rtol", &o->rtol, "X", "Relative tolerance. Default: 1e-3");
  flags.Double("atol", &o->atol, "X", "Absolute tolerance. Default: 1e-5");
  flags.String("output-dir", &o->output_dir, "DIR",
               "Write each output to DIR/<name>.npy");
  flags.Bool("print", &o->print, "Print the outputs' elements");
  return flags;
}

using NamedTensors = std::map<std::string, HostTensor>;

absl::StatusOr<NamedTensors> ReadNamed(absl::string_view flag,
                                       const std::vector<std::string>& values) {
  NamedTensors tensors;
  for (const std::string& value : values) {
    auto named = ParseNamedFile(flag, value);
    if (!named.ok()) return named.status();
    auto tensor = LoadTensor(ResolvePath(named->second));
    if (!tensor.ok()) return tensor.status();
    tensors[named->first] = *std::move(tensor);
  }
  return tensors;
}

absl::StatusOr<SeedOptions> ReadSeed(const Options& o) {
  SeedOptions seed;
  seed.seed = static_cast<uint64_t>(o.seed);
  for (const std::string& dim : o.dims) {
    const size_t equals = dim.find('=');
    int64_t size;
    if (equals == std::string::npos ||
        !absl::SimpleAtoi(dim.substr(equals + 1), &size) || size < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("--dim takes NAME=SIZE, not \"", dim, "\""));
    }
    seed.dims[dim.substr(0, equals)] = size;
  }
  return seed;
}

std::string OutputName(const Graph& graph, int i) {
  return graph.output_names().empty() ? absl::StrCat("output_", i)
                                      : graph.output_names()[i];
}

absl::StatusOr<std::vector<HostTensor>> GatherInputs(const Options& o,
                                                     const Graph& graph,
                                                     NamedTensors given) {
  auto seed = ReadSeed(o);
  if (!seed.ok()) return seed.status();
  std::vector<HostTensor> ordered;
  if (static_cast<int>(given.size()) < graph.num_inputs()) {
    auto seeded = MakeSeededInputs(graph, *seed);
    if (!seeded.ok()) return seeded.status();
    ordered = *std::move(seeded);
  }
  ordered.resize(graph.num_inputs());
  for (int i = 0; i < graph.num_inputs(); ++i) {
    auto node = given.extract(graph.input_info(i).name);
    if (!node.empty()) ordered[i] = std::move(node.mapped());
  }
  if (!given.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the program has no input \"", given.begin()->first, "\""));
  }
  return ordered;
}

absl::Status WriteOutputs(const Options& o, const Graph& graph,
                          const std::vector<HostTensor>& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string name = OutputName(graph, static_cast<int>(i));
    std::cout << name << ": " << DTypeName(outputs[i].dtype()) << "["
              << absl::StrJoin(outputs[i].dims(), ", ") << "]";
    if (o.print) {
      std::cout << " = "
                << (IsFloat(outputs[i].dtype())
                        ? absl::StrJoin(outputs[i].ReadDoubles(), " ")
                        : absl::StrJoin(outputs[i].ReadInts(), " "));
    }
    std::cout << "\n";
    if (o.output_dir.empty()) continue;
    std::string file = name;
    std::replace(file.begin(), file.end(), '/', '_');
    absl::Status status = SaveTensor(
        absl::StrCat(ResolvePath(o.output_dir), "/", file, ".npy"), outputs[i]);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// The number of outputs that differ; each is reported.
absl::StatusOr<int> CompareExpected(const Options& o, const Graph& graph,
                                    const std::vector<HostTensor>& outputs,
                                    NamedTensors expected) {
  int differing = 0;
  CompareOptions compare;
  compare.rtol = o.rtol;
  compare.atol = o.atol;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string name = OutputName(graph, static_cast<int>(i));
    auto node = expected.extract(name);
    if (node.empty()) continue;
    absl::Status status = Compare(outputs[i], node.mapped(), compare);
    std::cout << name << ": "
              << (status.ok() ? "as expected" : status.message()) << "\n";
    differing += !status.ok();
  }
  if (!expected.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the program has no output \"", expected.begin()->first, "\""));
  }
  return differing;
}

absl::StatusOr<int> Run(const Options& o,
                        const std::vector<std::string>& positional) {
  if (positional.size() != 1) {
    return absl::InvalidArgumentError(
        "expected one model file; --help shows how");
  }
  Extensions extensions;
  absl::Status status = LoadPlugins(o.load, extensions);
  if (!status.ok()) return status;
  auto inputs = ReadNamed("input", o.inputs);
  if (!inputs.ok()) return inputs.status();
  auto expected = ReadNamed("expect", o.expected);
  if (!expected.ok()) return expected.status();
  LoadOptions load;
  load.input_values = *inputs;
  load.ops = &extensions.ops();
  auto module = LoadModel(ResolvePath(positional[0]), load);
  if (!module.ok()) return module.status();
  if (!o.data.empty()) {
    auto data = LoadTestData(ResolvePath(o.data), *(*module)->main());
    if (!data.ok()) return data.status();
    for (auto& [name, tensor] : data->NamedInputs()) (*inputs)[name] = tensor;
    for (size_t i = 0; i < data->outputs.size(); ++i) {
      (*expected)[OutputName(*(*module)->main(), static_cast<int>(i))] =
          data->outputs[i];
    }
  }
  CompileOptions compile;
  compile.passes = o.passes;
  compile.registry = &extensions.passes();
  compile.context.rules = extensions.rules();
  auto compiled = Compile(**module, compile);
  if (!compiled.ok()) return compiled.status();
  auto session = Session::Create(*std::move(module), o.target);
  if (!session.ok()) return session.status();
  const Graph& graph = session->main();
  auto ordered = GatherInputs(o, graph, *std::move(inputs));
  if (!ordered.ok()) return ordered.status();
  const std::vector<HostTensor> given = *ordered;
  auto outputs = session->Run(&*ordered);
  if (!outputs.ok()) return outputs.status();
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i].BitEqual((*ordered)[i])) continue;
    std::cout << "writes " << graph.input_info(static_cast<int>(i)).name
              << "\n";
  }
  status = WriteOutputs(o, graph, *outputs);
  if (!status.ok()) return status;
  auto differing = CompareExpected(o, graph, *outputs, *std::move(expected));
  if (!differing.ok()) return differing.status();
  return *differing == 0 ? kExitOk : kExitBad;
}

}  // namespace
}  // namespace weft::tools

int main(int argc, char** argv) {
  return weft::tools::ToolMain(argc, argv, weft::tools::MakeFlags, weft::tools::Run);
}
