// A Module to an ONNX model.
//
// The function `main` becomes the model's graph: inputs and outputs keep their
// order and names, symbolic sizes are `dim_param`s, constants are initializers
// under their names, nested graphs are those of If, Loop and Scan. A node is
// named after the first source node that it stands for; when it stands for
// several, its doc_string lists them.
//
// Symbolic sizes in attributes are computed in the model from the shapes (or
// the data) that define their symbols. Composite ops without an operator of
// their own are decomposed. An operator that does not take a dtype gets a
// wider one, between casts. Nothing else is changed, and the module is not.
//
// An input with an initial value (a parameter, a buffer) has an initializer of its
// name, which ONNX takes where the caller gives nothing. A program that writes its
// inputs is refused: ONNX has no form for that.
//
// What does not survive: facts about symbols, and the value that an input was
// specialised to (the input's doc_string tells it).
#ifndef WEFT_SERIALIZE_ONNX_EXPORT_EXPORT_H_
#define WEFT_SERIALIZE_ONNX_EXPORT_EXPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weft {

class Module;

// The versions of the ai.onnx operator set that are written.
inline constexpr int kFirstOnnxOpset = 17;
inline constexpr int kLastOnnxOpset = 24;

// For OnnxExportOptions::opset: the lowest one that has the dtypes of the module, writes its
// quantize_linear and dequantize_linear nodes as operators where any opset does, and has a form
// for all other ops.
inline constexpr int kLowestOnnxOpset = 0;

struct OnnxExportOptions {
  // The version of the ai.onnx operator set to write, or kLowestOnnxOpset. Some ops need more than
  // the first one: OnnxExportCoverage tells.
  int opset = kFirstOnnxOpset;
  // Products with weights that are dequantized in blocks become MatMulNBits of ONNX Runtime's
  // domain com.microsoft, with the weights packed; other readers lack it.
  bool matmul_nbits = false;
  // ExportOnnxFile puts constants of at least this many bytes into
  // "<path>.data". -1: none, unless all together pass max_model_bytes.
  int64_t external_data_bytes = -1;
  // Of the model, without external data. Protobuf ends at 2 GiB.
  int64_t max_model_bytes = (int64_t{1} << 31) - 1;
};

// The bytes of a ModelProto; the same module gives the same bytes. Errors:
// Unimplemented with every op that has no form in that opset, and why;
// InvalidArgument for a module without `main` and for bad options;
// ResourceExhausted when the model passes max_model_bytes.
absl::StatusOr<std::string> ExportOnnx(const Module& module, const OnnxExportOptions& options = {});

// Writes the model, and "<path>.data" when there is external data.
absl::Status ExportOnnxFile(const Module& module, const std::string& path,
                            const OnnxExportOptions& options = {});

struct OnnxExportSupport {
  enum class Form {
    kOperators,   // Has operators in ONNX; some attributes may have none.
    kDecomposed,  // Exported through its decomposition alone.
    kNone,
  };
  std::string op;
  Form form = Form::kNone;
  // What cannot be exported, and why. Empty when everything can.
  std::string limits;
};

// Every op of the registry, by name.
std::vector<OnnxExportSupport> OnnxExportCoverage();

}  // namespace weft

#endif  // WEFT_SERIALIZE_ONNX_EXPORT_EXPORT_H_
