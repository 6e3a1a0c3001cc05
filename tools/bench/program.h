// The program that is measured: a model from a file or by name, and its inputs.
#ifndef WEFT_TOOLS_BENCH_PROGRAM_H_
#define WEFT_TOOLS_BENCH_PROGRAM_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "api/model_io.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"

namespace weft {
class Graph;
}  // namespace weft

namespace weft::bench {

struct ProgramOptions {
  std::string model;  // A file, or a name of examples/models.
  std::map<std::string, int64_t> sizes;
  uint64_t seed = 0;
  bool small = false;
  // Values of inputs, by name; others come from the seed.
  std::map<std::string, HostTensor> inputs;
};

struct Program {
  std::unique_ptr<Module> module;
  double import_ms = 0;
  // One for each input; invalid where the program has the value itself.
  std::map<std::string, HostTensor> inputs;
  // Of the symbols that are dims of inputs.
  std::map<std::string, int64_t> sizes;
};

// Errors name the file, the size or the input that is wrong.
absl::StatusOr<Program> LoadProgram(const ProgramOptions& options);

// The inputs in the order of `graph`, which passes may have changed.
std::vector<HostTensor> InOrder(const Graph& graph,
                                const std::map<std::string, HostTensor>& inputs);

}  // namespace weft::bench

#endif  // WEFT_TOOLS_BENCH_PROGRAM_H_
