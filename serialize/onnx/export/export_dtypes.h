// Element types in ONNX, and which of them an operator takes.
#ifndef WEFT_SERIALIZE_ONNX_EXPORT_EXPORT_DTYPES_H_
#define WEFT_SERIALIZE_ONNX_EXPORT_EXPORT_DTYPES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/tensor/dtype.h"

namespace weft::onnx_export {

// TensorProto.DataType. Unimplemented for dtypes that ONNX lacks, or has from a
// later opset on; the message says which.
absl::StatusOr<int> OnnxDataType(DType dtype, int opset);

// The first opset that has the dtype; 0 for dtypes that ONNX lacks.
int OpsetOfDtype(DType dtype);

// The dtypes of one call of an operator.
struct OperatorTypes {
  // What each input must be cast to; equal to what was given where nothing is
  // to be done. Absent inputs keep what was given.
  std::vector<DType> inputs;
  // What each output is then, and what it is cast to afterwards.
  std::vector<DType> raw_outputs;
  std::vector<DType> outputs;
};

// Operators by name and opset, from libonnx's schemas. An opset newer than
// libonnx gets the newest schema that it has: lists of types only grow.
class OperatorSchemas {
 public:
  explicit OperatorSchemas(int opset) : opset_(opset) {}

  // `inputs`: nullopt for absent ones. Inputs of one type variable that the
  // operator does not take are widened to a dtype that holds all their values
  // (f16 to f32, u8 to i32, ...), and outputs of that variable are narrowed
  // again. `output` is the dtype of outputs that inputs do not determine.
  // Unimplemented when no such dtype exists.
  absl::StatusOr<OperatorTypes> Types(absl::string_view op_type,
                                      absl::Span<const std::optional<DType>> inputs,
                                      int num_outputs, std::optional<DType> output);

 private:
  struct Parameter {
    // Inputs and outputs of one variable have one dtype; -1: a fixed type.
    int variable = -1;
    uint32_t allowed = 0;  // Set of dtypes, by enumerator.
  };
  struct Operator {
    bool known = false;
    bool variadic = false;  // The last input repeats.
    int num_variables = 0;
    std::vector<Parameter> inputs;
    std::vector<Parameter> outputs;
  };
  const Operator& Find(absl::string_view op_type);

  int opset_;
  absl::flat_hash_map<std::string, Operator> operators_;
};

}  // namespace weft::onnx_export

#endif  // WEFT_SERIALIZE_ONNX_EXPORT_EXPORT_DTYPES_H_
