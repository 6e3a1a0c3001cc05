// ONNX models: bytes to a Module.
//
// Import gives a module with one function, `main`, whose inputs are the graph's
// inputs without an initializer and whose outputs are the graph's outputs, both
// in order and with their names. Initializers are constants (an input that has
// one cannot be overridden). `dim_param`s are symbols. Model-local functions
// are inlined; If, Loop and Scan become nested graphs that take what they use
// from outside as operands. Nothing is fused, folded across nodes or dropped.
//
// Errors are InvalidArgument for malformed models, Unimplemented for operators,
// domains and types that the importer does not know (all of them in one
// message, with the names of the nodes), NotFound for missing files. Bytes are
// untrusted: sizes are checked before allocation, recursion is bounded, and
// external data must lie in the model's folder.
#ifndef WEFT_SERIALIZE_ONNX_IMPORT_ONNX_H_
#define WEFT_SERIALIZE_ONNX_IMPORT_ONNX_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/tensor/tensor.h"

namespace weft {

class Module;
class OpRegistry;

struct OnnxImportOptions {
  // The ops that the module may hold; null: the built-in ones.
  const OpRegistry* registry = nullptr;
  // Values of graph inputs by name. An operator that needs to know what is in
  // an input (the axes of a reduction, say) takes it from here; the module is
  // then good for that value alone, and InputInfo::value says so. Also gives
  // the rank of an input that declares none.
  std::map<std::string, HostTensor> input_values;
  // The same by position, for inputs that `input_values` does not name. One
  // that does not fit its input's type is left out of account.
  std::vector<HostTensor> positional_values;
  // Graphs and functions within each other.
  int max_nesting = 100;
  // Of the model file, without external data. Protobuf ends at 2 GiB.
  int64_t max_model_bytes = (int64_t{1} << 31) - 1;
  // Of one tensor.
  int64_t max_tensor_bytes = HostTensor::kDefaultMaxBytes;
  // Nodes after functions are inlined.
  int64_t max_nodes = int64_t{1} << 26;
  // Called now and then with how much of the import is done, of `total`, in units of its own:
  // the first half is the file, the second one its nodes with their initializers.
  std::function<void(int64_t done, int64_t total)> progress;
};

// The file is mapped, and large weights stay in it where their place suits their dtype:
// it must not change while the module is alive.
absl::StatusOr<std::unique_ptr<Module>> ImportOnnx(const std::string& path,
                                                   const OnnxImportOptions& options = {});
// External data is looked for in `base_dir`; empty: there must be none.
absl::StatusOr<std::unique_ptr<Module>> ImportOnnxBytes(absl::string_view bytes,
                                                        const std::string& base_dir,
                                                        const OnnxImportOptions& options = {});

// A serialised TensorProto, as in the .pb files of the ONNX test suites.
// `expected` is what the model says of the value: data files of bfloat16
// tensors say uint16.
absl::StatusOr<HostTensor> ParseTensorProto(absl::string_view bytes,
                                            std::optional<DType> expected = std::nullopt);
absl::StatusOr<HostTensor> LoadTensorProto(const std::string& path,
                                           std::optional<DType> expected = std::nullopt);

// One version of an operator of the ONNX specification.
struct OnnxOperatorSupport {
  std::string domain;  // "" is ai.onnx.
  std::string op_type;
  int since_version = 0;
  bool imported = false;
  std::string reason;  // Why not.
};

// Every operator version of libonnx's schemas since opset 6, and the newer ones
// that the importer knows, by domain, name and version.
std::vector<OnnxOperatorSupport> OnnxCoverage();

}  // namespace weft

#endif  // WEFT_SERIALIZE_ONNX_IMPORT_ONNX_H_
