// The program to measure: a model from a file or by name, and its inputs.
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
class OpRegistry;
}  // namespace weft

namespace weft::bench {

struct ProgramOptions {
  std::string model;  // A file, or the name of a model in examples/models.
  std::map<std::string, int64_t> sizes;
  uint64_t seed = 0;
  bool small = false;
  // Folder with values of inputs (api/test_data.h); empty: none.
  std::string data;
  // Values of inputs, by name; other inputs are those of `data`, or seeded.
  std::map<std::string, HostTensor> inputs;
  // The ops that a file may use; null: the built-in ones. Outlives the program.
  const OpRegistry* ops = nullptr;
};

struct Program {
  std::unique_ptr<Module> module;
  double import_ms = 0;
  // One per input; invalid if the program has the value itself.
  std::map<std::string, HostTensor> inputs;
  // Values of the symbols that are dims of inputs.
  std::map<std::string, int64_t> sizes;
};

// Errors name the file, the size or the input at fault.
absl::StatusOr<Program> LoadProgram(const ProgramOptions& options);

// The inputs in the order of `graph`, whose inputs passes may have reordered.
std::vector<HostTensor> InOrder(const Graph& graph,
                                const std::map<std::string, HostTensor>& inputs);

}  // namespace weft::bench

#endif  // WEFT_TOOLS_BENCH_PROGRAM_H_
