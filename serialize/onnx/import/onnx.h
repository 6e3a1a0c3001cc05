// Imports ONNX models: bytes to a Module.
//
// The module has one function, `main`. Its inputs are the graph's inputs without an initializer and
// its outputs are the graph's outputs, both in order and with their names. Initializers are
// constants (an input that has one cannot be overridden). `dim_param`s are symbols. Model-local
// functions are inlined; If, Loop and Scan become nested graphs, with the outer values that they
// use as operands. Nothing is fused, folded across nodes or dropped.
//
// Errors are InvalidArgument for malformed models, Unimplemented for unsupported operators, domains
// and types (all of them in one message, with the names of the nodes), NotFound for missing files.
// Bytes are untrusted: sizes are checked before allocation, recursion is bounded, and external data
// must be in the model's folder.
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
  // The ops that the module may use; null: the built-in ones.
  const OpRegistry* registry = nullptr;
  // Values of graph inputs by name. An operator that depends on the content of an input (such as
  // the axes of a reduction) uses this value; the module is then valid only for that value, and
  // InputInfo::value has it. Also gives the rank of an input that declares none.
  std::map<std::string, HostTensor> input_values;
  // The same by position, for inputs that `input_values` does not name. A value that does not fit
  // its input's type is ignored.
  std::vector<HostTensor> positional_values;
  // Limit of the nesting of graphs and functions.
  int max_nesting = 100;
  // Limit of the model file, without external data. Protobuf's own limit is 2 GiB.
  int64_t max_model_bytes = (int64_t{1} << 31) - 1;
  // Limit of one tensor.
  int64_t max_tensor_bytes = HostTensor::kDefaultMaxBytes;
  // Limit of nodes after functions are inlined.
  int64_t max_nodes = int64_t{1} << 26;
  // Called from time to time with the finished part of the import and the `total`, in units of the
  // importer: the first half is for the file, the second for its nodes with their initializers.
  std::function<void(int64_t done, int64_t total)> progress;
};

// The file is mapped, and large weights stay in it if their alignment suits their dtype: it must
// not change while the module is alive.
absl::StatusOr<std::unique_ptr<Module>> ImportOnnx(const std::string& path,
                                                   const OnnxImportOptions& options = {});
// External data is read from `base_dir`; if it is empty, external data is an error.
absl::StatusOr<std::unique_ptr<Module>> ImportOnnxBytes(absl::string_view bytes,
                                                        const std::string& base_dir,
                                                        const OnnxImportOptions& options = {});

// A serialised TensorProto, as in the .pb files of the ONNX test suites. `expected` is the dtype in
// the model: data files of bfloat16 tensors have uint16.
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
  std::string reason;  // Reason if it is not supported.
};

// Every operator version in libonnx's schemas since opset 6, and newer ones that the importer
// supports, by domain, name and version.
std::vector<OnnxOperatorSupport> OnnxCoverage();

}  // namespace weft

#endif  // WEFT_SERIALIZE_ONNX_IMPORT_ONNX_H_
