// Models from files and to files, by the file's name.
#ifndef WEFT_API_MODEL_IO_H_
#define WEFT_API_MODEL_IO_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/target/target.h"
#include "graph/tensor/tensor.h"

namespace weft {

class Module;
class OpRegistry;

struct LoadOptions {
  // Values of inputs by name, for models whose shapes depend on them (ONNX
  // `axes` inputs and the like): the program is then made for those values.
  std::map<std::string, HostTensor> input_values;
  // The same by position among the model's inputs; used for the inputs that
  // `input_values` does not name.
  std::vector<HostTensor> positional_values;
  // Parameters and buffers of `.pt2` programs become inputs with initial values, so
  // that they can be exchanged by name (Program::FunctionalCall), instead of constants.
  // Initializers of `.onnx` models stay constants: the format does not tell
  // parameters from what shapes depend on.
  bool parameters_as_inputs = false;
  // The ops that the module may hold; null: the built-in ones. Outlives it.
  const OpRegistry* ops = nullptr;
  // Called now and then with how much of the import is done, of `total`, in units of the
  // importer's own. Not for `.weft` files.
  std::function<void(int64_t done, int64_t total)> progress;
};

// Reads `.onnx`, `.pt2` and `.weft` files; other names are an error that lists these.
// The module is verified. Errors name the file.
absl::StatusOr<std::unique_ptr<Module>> LoadModel(const std::string& path,
                                                  const LoadOptions& options = {});

enum class EmitFormat { kText, kDot, kSvg, kHtml, kModelExplorer, kOnnx, kPlan, kTarget, kGuards };
// "text", "dot", "svg", "html", "model-explorer", "onnx", "plan", "target", "guards"; nullopt
// for other names. Pictures of more than the module as it is, such as what passes did
// to it, are made by api/inspect/graph_view.h. Plans are those of all functions
// (lowering/plan.h) for `target`, by default that of the backend "cpu"; "target" is the target
// itself (graph/target/target_text.h). Guards are what the program assumes of the sizes of its
// inputs, and run-time asserts: those that are enough, with who needs them and where sizes come
// from.
std::optional<EmitFormat> ParseEmitFormat(absl::string_view name);
absl::StatusOr<std::string> Emit(const Module& module, EmitFormat format,
                                 const Target* target = nullptr);

struct SaveOptions {
  // The opset of ONNX, 17 to 21; -1: the lowest that serves (serialize/onnx/export/export.h).
  int opset = -1;
  // Products with weights in blocks become com.microsoft MatMulNBits in ONNX.
  bool matmul_nbits = false;
};

// Writes a `.onnx` or `.weft` file; other names are an error that lists these.
absl::Status SaveModel(const Module& module, const std::string& path, const SaveOptions& save = {});

// A tensor from a `.npy` file or an ONNX TensorProto (`.pb`). `expected` is the
// dtype that the model says: bf16 is stored as u16 by some writers, and floats of
// 8 bits as u8 in `.npy` files.
absl::StatusOr<HostTensor> LoadTensor(const std::string& path,
                                      std::optional<DType> expected = std::nullopt);

// To a `.npy` file.
absl::Status SaveTensor(const std::string& path, const HostTensor& tensor);

}  // namespace weft

#endif  // WEFT_API_MODEL_IO_H_
