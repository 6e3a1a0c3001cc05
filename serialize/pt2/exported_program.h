// The program of a torch.export archive as plain structs: the contents of its JSON, checked only
// for form.
//
// Unknown keys are ignored, as the format requires for minor versions; unknown members of unions
// and unknown enumerators are errors. Every error names the place in the file: `models/model.json:
// $.graph_module.graph.nodes[3].target: expected a string`.
#ifndef WEFT_SERIALIZE_PT2_EXPORTED_PROGRAM_H_
#define WEFT_SERIALIZE_PT2_EXPORTED_PROGRAM_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/tensor/dtype.h"

namespace weft::pt2 {

// An integer, or a SymPy expression (srepr or infix) with an example value.
struct SizeExpr {
  std::optional<int64_t> value;
  std::string expr;
  std::optional<int64_t> hint;
};

enum class MemoryFormat { kContiguous, kChannelsLast, kChannelsLast3d, kPreserve };

struct TensorMeta {
  // Nullopt for a dtype that Weft lacks; `dtype_number` identifies it.
  std::optional<DType> dtype;
  int64_t dtype_number = 0;
  std::vector<SizeExpr> sizes;
  std::vector<SizeExpr> strides;
  SizeExpr storage_offset;
  std::string device;
  bool strided = true;  // Neither sparse nor in a library's layout.
};

struct GraphDef;

// One argument of a node, or one input or output of a graph.
struct Argument {
  enum class Kind {
    kNone,
    kTensor,   // name
    kInt,      // integer
    kFloat,    // number
    kComplex,  // number, imaginary
    kBool,     // integer
    kString,   // name
    kSymInt,   // name: a named symbolic scalar
    kSymFloat,
    kSymBool,
    kDType,         // integer: the serialised number
    kMemoryFormat,  // integer
    kLayout,        // integer
    kDevice,        // name
    kGraph,         // name, graph
    kList,          // items
    kOther,         // name: a member that the importer recognises and refuses
  };
  Kind kind = Kind::kNone;
  std::string name;
  int64_t integer = 0;
  double number = 0;
  double imaginary = 0;
  std::vector<Argument> items;
  std::shared_ptr<GraphDef> graph;

  bool is(Kind k) const { return kind == k; }
};

struct NodeDef {
  struct Input {
    std::string name;  // Empty for higher-order operators.
    Argument value;
  };
  std::string target;
  std::string name;
  std::vector<Input> inputs;
  std::vector<Argument> outputs;
  std::string stack_trace;
  std::string module_stack;
};

struct GraphDef {
  std::vector<Argument> inputs;
  std::vector<Argument> outputs;
  std::vector<NodeDef> nodes;
  std::map<std::string, TensorMeta> tensors;
  std::map<std::string, SizeExpr> sym_ints;
};

struct InputSpec {
  enum class Kind { kUser, kParameter, kBuffer, kConstant, kConstantInput };
  Kind kind = Kind::kUser;
  Argument value;      // The input's value; for kConstantInput, the literal.
  std::string name;    // Name of the graph input.
  std::string target;  // Parameter, buffer or constant.
  bool persistent = true;
};

struct OutputSpec {
  enum class Kind { kUser, kBufferMutation, kInputMutation };
  Kind kind = Kind::kUser;
  Argument value;
  std::string target;  // Buffer, or user input.
};

struct RangeConstraint {
  std::string expr;
  std::optional<int64_t> min;
  std::optional<int64_t> max;
};

struct ExportedProgram {
  GraphDef graph;
  std::vector<InputSpec> inputs;
  std::vector<OutputSpec> outputs;
  std::vector<RangeConstraint> ranges;
  std::vector<std::string> guards;  // Python, over sizes of the inputs.
  // Tree specs of the call's arguments and of its result, as JSON text.
  std::string in_spec;
  std::string out_spec;
  std::vector<std::string> argument_names;
  std::string dialect;  // "TRAINING", "ATEN", ...
  std::string torch_version;
  int64_t schema_major = 0;
  int64_t schema_minor = 0;
};

// A row of a weights or constants table.
struct Payload {
  std::string path;  // File name beside the table.
  bool is_parameter = false;
  bool pickled = false;
  std::optional<TensorMeta> meta;
};

struct JsonLimits {
  int max_depth = 128;
  int64_t max_bytes = int64_t{1} << 31;
};

// `file` is the file's name in errors.
absl::StatusOr<ExportedProgram> ParseExportedProgram(absl::string_view json,
                                                     const std::string& file,
                                                     const JsonLimits& limits = {});
absl::StatusOr<std::map<std::string, Payload>> ParsePayloads(absl::string_view json,
                                                             const std::string& file,
                                                             const JsonLimits& limits = {});

// The dtype of a serialised ScalarType.
std::optional<DType> DTypeFromNumber(int64_t number);
// "FLOAT8E8M0FNU", or "dtype 99".
std::string DTypeNumberName(int64_t number);

}  // namespace weft::pt2

#endif  // WEFT_SERIALIZE_PT2_EXPORTED_PROGRAM_H_
