// Programs as the C interface holds them: compiled from a module, or the plan of a file.
#ifndef WEFT_API_C_LIBRARY_PROGRAMS_H_
#define WEFT_API_C_LIBRARY_PROGRAMS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/c/library/extensions.h"
#include "api/c/weft.h"
#include "api/compiled_program.h"
#include "api/program.h"
#include "graph/tensor/tensor.h"
#include "graph/tensor/type.h"

namespace weft::c {

// A weft_value_info with the texts and the shape that it points to.
struct Value {
  std::string name;
  std::string type;
  std::vector<int64_t> shape;
  weft_value_info info = {};
};

}  // namespace weft::c

// One of `compiled` and `plan` is set.
struct weft_program {
  weft::c::ExtensionsRef extensions;  // Null: none. Outlives the program.
  std::optional<weft::Program> compiled;
  std::optional<weft::CompiledProgram> plan;
  std::vector<std::unique_ptr<weft::c::Value>> inputs;
  std::vector<std::unique_ptr<weft::c::Value>> outputs;
  std::vector<std::string> states;
  // False on a target that runs graphs: an output, or what becomes state, may then be an input, a
  // constant or a state as it is.
  bool runs_plans = true;
  // The program may keep an input as its state, so that it cannot borrow the caller's memory.
  bool copies_inputs = false;
};

#endif  // WEFT_API_C_LIBRARY_PROGRAMS_H_
