#include "tools/bench/program.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "api/check/seeded_inputs.h"
#include "api/test_data.h"
#include "base/status_macros.h"
#include "examples/models/models.h"
#include "graph/ir/graph.h"
#include "graph/ir/value.h"
#include "tools/bench/measure.h"
#include "tools/common/cli.h"
#include "tools/common/models.h"

namespace weft::bench {
namespace {

absl::StatusOr<std::vector<HostTensor>> SeededInputs(const Graph& graph,
                                                     const ProgramOptions& options) {
  SeedOptions seed;
  seed.seed = options.seed;
  seed.dims.insert(options.sizes.begin(), options.sizes.end());
  return MakeSeededInputs(graph, seed);
}

// Loads the module and makes its inputs.
absl::StatusOr<std::vector<HostTensor>> LoadFile(const ProgramOptions& options, Program* program) {
  LoadOptions load;
  load.input_values = options.inputs;
  load.ops = options.ops;
  absl::StatusOr<std::unique_ptr<Module>> module;
  program->import_ms = TimeMs([&] { module = tools::LoadShown(options.model, load); });
  WEFT_RETURN_IF_ERROR(module.status());
  program->module = *std::move(module);
  WEFT_RETURN_IF_ERROR(CheckHasMain(*program->module));
  return SeededInputs(*program->module->main(), options);
}

absl::StatusOr<std::vector<HostTensor>> BuildNamed(const ProgramOptions& options,
                                                   Program* program) {
  models::ModelOptions build;
  build.small = options.small;
  build.write_back = true;
  absl::StatusOr<models::Model> model;
  program->import_ms = TimeMs([&] { model = models::BuildModel(options.model, build); });
  WEFT_RETURN_IF_ERROR(model.status());
  auto inputs = models::MakeInputs(*model, options.sizes, options.seed);
  program->module = std::move(model->module);
  return inputs;
}

// Values of the symbols that are dims of inputs, from the tensors.
std::map<std::string, int64_t> SizesOf(const Program& program) {
  std::map<std::string, int64_t> sizes;
  const Graph& graph = *program.module->main();
  for (int i = 0; i < graph.num_inputs(); ++i) {
    const auto it = program.inputs.find(graph.input_info(i).name);
    const Type type = graph.input(i)->type();
    if (it == program.inputs.end() || !it->second.valid()) continue;
    if (!type.is_tensor() || type.rank() != it->second.rank()) continue;
    for (int d = 0; d < type.rank(); ++d) {
      if (!type.dim(d).is_symbol()) continue;
      sizes[std::string(type.dim(d).name())] = it->second.dim(d);
    }
  }
  return sizes;
}

}  // namespace

absl::StatusOr<Program> LoadProgram(const ProgramOptions& options) {
  Program program;
  const bool named = models::FindModel(options.model) != nullptr;
  WEFT_ASSIGN_OR_RETURN(auto made,
                        named ? BuildNamed(options, &program) : LoadFile(options, &program));
  const Graph& graph = *program.module->main();
  for (int i = 0; i < graph.num_inputs(); ++i) {
    const InputInfo& info = graph.input_info(i);
    program.inputs[info.name] = info.initial >= 0 ? HostTensor() : std::move(made[i]);
  }
  if (!options.data.empty()) {
    WEFT_ASSIGN_OR_RETURN(const TestData data, LoadTestData(options.data, graph));
    for (auto& [name, tensor] : data.NamedInputs()) program.inputs[name] = tensor;
  }
  for (const auto& [name, tensor] : options.inputs) {
    const auto it = program.inputs.find(name);
    if (it == program.inputs.end()) return tools::UnknownInput(name, graph);
    it->second = tensor;
  }
  program.sizes = SizesOf(program);
  return program;
}

std::vector<HostTensor> InOrder(const Graph& graph,
                                const std::map<std::string, HostTensor>& inputs) {
  std::vector<HostTensor> ordered(graph.num_inputs());
  for (int i = 0; i < graph.num_inputs(); ++i) {
    const auto it = inputs.find(graph.input_info(i).name);
    if (it != inputs.end()) ordered[i] = it->second;
  }
  return ordered;
}

}  // namespace weft::bench
