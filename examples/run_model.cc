// Loads a model, compiles it for the CPU and calls it from two threads:
//
//   bazel run //examples:run_model -- "$PWD/examples/transformer.onnx"

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "api/model_io.h"
#include "api/program.h"
#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"
#include "graph/tensor/tensor.h"

namespace {

// Zeros for each input, with this size for each that is not constant.
std::map<std::string, weft::HostTensor> ZerosFor(const weft::Graph& graph, int64_t size) {
  std::map<std::string, weft::HostTensor> inputs;
  for (int i = 0; i < graph.num_inputs(); ++i) {
    const weft::Type type = graph.input(i)->type();
    std::vector<int64_t> dims;
    for (weft::SymInt dim : type.dims()) dims.push_back(dim.is_constant() ? dim.value() : size);
    inputs.emplace(graph.input_info(i).name, weft::HostTensor(type.dtype(), dims));
  }
  return inputs;
}

absl::Status Run(const std::string& path) {
  WEFT_ASSIGN_OR_RETURN(std::unique_ptr<weft::Module> model, weft::LoadModel(path));
  weft::ProgramOptions options;
  options.target = "cpu";
  options.backend["code"] = "before";  // Compile kernels; by default they are interpreted.
  WEFT_ASSIGN_OR_RETURN(weft::Program program, weft::Program::Create(std::move(model), options));

  std::vector<absl::Status> statuses(2);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < statuses.size(); ++i) {
    threads.emplace_back([&program, &status = statuses[i], i] {
      status = program.Run(ZerosFor(program.main(), 2 + static_cast<int64_t>(i))).status();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& status : statuses) WEFT_RETURN_IF_ERROR(status);
  WEFT_ASSIGN_OR_RETURN(const std::vector<weft::HostTensor> outputs,
                        program.Run(ZerosFor(program.main(), 2)));
  std::printf("%zu outputs, the first of %lld elements\n", outputs.size(),
              static_cast<long long>(outputs.empty() ? 0 : outputs[0].numel()));
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: run_model MODEL\n");
    return 2;
  }
  const absl::Status status = Run(argv[1]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
