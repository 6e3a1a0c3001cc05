// Loads and saves models by the extension of the file's name.
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
  // Values of inputs by name, for models whose shapes depend on them (such as ONNX `axes` inputs):
  // the program is then valid only for those values.
  std::map<std::string, HostTensor> input_values;
  // The same by position among the model's inputs, for inputs that `input_values` does not name.
  std::vector<HostTensor> positional_values;
  // Makes parameters and buffers of `.pt2` programs inputs with initial values instead of
  // constants, so that they can be exchanged by name (Program::FunctionalCall). Initializers of
  // `.onnx` models stay constants: the format does not distinguish parameters from values that
  // shapes depend on.
  bool parameters_as_inputs = false;
  // The ops that the module may use; null: the built-in ones. Outlives the module.
  const OpRegistry* ops = nullptr;
  // Called from time to time with the finished part of the import and the `total`, in units of the
  // importer. Not called for `.weft` and `.weftb` files.
  std::function<void(int64_t done, int64_t total)> progress;
};

// Reads `.onnx`, `.pt2`, `.weft` and `.weftb` files; the error for other names lists these. The
// module is verified. Errors name the file.
absl::StatusOr<std::unique_ptr<Module>> LoadModel(const std::string& path,
                                                  const LoadOptions& options = {});

// Reads the text form; errors name `name`. The text is not kept.
absl::StatusOr<std::unique_ptr<Module>> LoadModelText(absl::string_view text,
                                                      const std::string& name,
                                                      const LoadOptions& options = {});

// The versions of ONNX's operator set that SaveModel writes, from the first to the last.
int FirstOnnxOpset();
int LastOnnxOpset();

struct SaveOptions {
  // The opset of ONNX; -1: the lowest that serves (serialize/onnx/export/export.h).
  int opset = -1;
  // Products with weights in blocks become com.microsoft MatMulNBits in ONNX.
  bool matmul_nbits = false;
};

enum class EmitFormat {
  kText,
  kDot,
  kSvg,
  kHtml,
  kModelExplorer,
  kOnnx,
  kPlan,
  kCc,
  kTarget,
  kGuards
};
// The format by name: "text", "dot", "svg", "html", "model-explorer", "onnx", "plan", "cc",
// "target", "guards"; nullopt for other names. api/inspect/graph_view.h makes pictures of more than
// the module, such as those of the passes. Plans are those of all functions (lowering/plan.h) for
// `target`, by default that of the backend "cpu", with their memory for example sizes
// (lowering/plan_memory_text.h); "cc" is the C++ of their
// kernels (api/inspect/kernel_source.h); "target" is the target itself
// (graph/target/target_text.h). Guards are a minimal set of the assumptions on the sizes of inputs
// and of the runtime asserts, with their origins and the sources of the sizes. `save` is for
// "onnx".
std::optional<EmitFormat> ParseEmitFormat(absl::string_view name);
absl::StatusOr<std::string> Emit(const Module& module, EmitFormat format,
                                 const Target* target = nullptr, const SaveOptions& save = {});

// Writes a `.onnx`, `.weft` or `.weftb` file; other names are an error that lists these.
absl::Status SaveModel(const Module& module, const std::string& path, const SaveOptions& save = {});

// A tensor from a `.npy` file or an ONNX TensorProto (`.pb`). `expected` is the dtype in the model:
// some writers store bf16 as u16, and `.npy` files have 8-bit floats as u8.
absl::StatusOr<HostTensor> LoadTensor(const std::string& path,
                                      std::optional<DType> expected = std::nullopt);

// Writes a `.npy` file.
absl::Status SaveTensor(const std::string& path, const HostTensor& tensor);

}  // namespace weft

#endif  // WEFT_API_MODEL_IO_H_
