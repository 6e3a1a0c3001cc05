// Programs as the C interface holds them: what they run, and their inputs, outputs and state.
#ifndef WEFT_API_C_ENTRIES_PROGRAMS_H_
#define WEFT_API_C_ENTRIES_PROGRAMS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/c/weft.h"
#include "graph/tensor/tensor.h"
#include "graph/tensor/type.h"

namespace weft {

class Program;

namespace c {

using Tensors = std::vector<HostTensor>;
using NamedTensors = std::map<std::string, HostTensor>;

// What a program runs: a compiled module, or the plan of a file. Thread-safe.
class Runnable {
 public:
  virtual ~Runnable() = default;
  // One tensor per input; one that is not valid is left out.
  virtual absl::StatusOr<Tensors> Run(const Tensors& inputs) = 0;
  virtual absl::StatusOr<Tensors> RunNamed(const NamedTensors& inputs) = 0;
  virtual absl::StatusOr<Tensors> FunctionalCall(const NamedTensors& state,
                                                 const NamedTensors& inputs) = 0;
  virtual absl::StatusOr<HostTensor> State(const std::string& name) const = 0;
  virtual absl::Status SetStates(const NamedTensors& states) = 0;
  virtual std::string Explain() const = 0;
};

// A weft_value_info with the texts and the shape that it points to.
struct Value {
  std::string name;
  std::string type;
  std::vector<int64_t> shape;
  weft_value_info info = {};
};

std::unique_ptr<Value> MakeValue(std::string name, const Type& type, bool optional);

// The input in messages: its name in quotes, or its number.
std::string InputText(const std::string& name, size_t index);

// InvalidArgument unless a call has that many inputs, or room for that many outputs.
absl::Status CheckInputs(const weft_program& program, const weft_tensor* const* inputs,
                         size_t num_inputs);
absl::Status CheckOutputs(const weft_program& program, weft_managed_tensor** outputs,
                          size_t num_outputs);

}  // namespace c
}  // namespace weft

struct weft_program {
  std::unique_ptr<weft::c::Runnable> runnable;
  std::vector<std::unique_ptr<weft::c::Value>> inputs;
  std::vector<std::unique_ptr<weft::c::Value>> outputs;
  std::vector<std::string> states;
  // False on a target that runs graphs: an output, or what becomes state, may then be an input, a
  // constant or a state as it is.
  bool runs_plans = true;
  // The program may keep an input as its state, so that it cannot borrow the caller's memory.
  bool copies_inputs = false;
  // Inputs that are not optional may become state, so that `runnable` finds out what is missing.
  bool takes_states = false;
  weft::Program* compiled = nullptr;  // Of `runnable`; null: it runs a plan of a file.
};

#endif  // WEFT_API_C_ENTRIES_PROGRAMS_H_
