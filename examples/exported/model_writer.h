// Writes an ONNX model node by node, the way exporters lay one out: nodes named
// after the module they come from ("/layer1/conv/Conv"), values after their
// node ("/layer1/conv/Conv_output_0"), weights as initializers with the names
// of parameters, sizes computed by Shape, Gather and Concat.
//
// Everything is written in the order of the calls and weights come from a seed,
// so a program gives the same bytes every time and on every machine.
#ifndef WEFT_EXAMPLES_EXPORTED_MODEL_WRITER_H_
#define WEFT_EXAMPLES_EXPORTED_MODEL_WRITER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "onnx/onnx_pb.h"

namespace weft::examples {

// Steele, Lea and Flood's generator: 64 bits of state, any seed will do.
class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}
  uint64_t Next();
  // Uniform in [low, high]. Exact in double until one rounding to float, so
  // that no compiler or machine gives other bits.
  float Uniform(float low, float high);

 private:
  uint64_t state_;
};

onnx::AttributeProto IntAttr(absl::string_view name, int64_t value);
onnx::AttributeProto IntsAttr(absl::string_view name, absl::Span<const int64_t> values);
onnx::AttributeProto FloatAttr(absl::string_view name, float value);

class ModelWriter {
 public:
  ModelWriter(absl::string_view graph_name, uint64_t seed);

  // Value and parameter names are prefixed with the scopes that are open:
  // "/a/b/" for values, "a.b." for parameters.
  class Scope {
   public:
    Scope(ModelWriter* writer, absl::string_view name);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    ModelWriter* writer_;
  };

  // Dims are decimal numbers, or names of sizes that vary.
  std::string Input(absl::string_view name, onnx::TensorProto::DataType type,
                    absl::Span<const std::string> dims);
  // Names `value` as an output of the model, by an Identity node as exporters
  // leave one.
  void Output(absl::string_view name, absl::string_view value, absl::Span<const std::string> dims);

  // A node with one output; returns the name of the output.
  std::string Op(absl::string_view op_type, absl::Span<const std::string> inputs,
                 absl::Span<const onnx::AttributeProto> attrs = {});
  // An f32 parameter, uniform in [low, high].
  std::string Parameter(absl::string_view name, absl::Span<const int64_t> dims, float low,
                        float high);
  // Constant nodes. No dims: a scalar.
  std::string Ints(absl::Span<const int64_t> values);
  std::string Int(int64_t value);
  std::string Float(float value);

  // One size of a value, as a scalar: Shape, Gather.
  std::string Size(const std::string& value, int64_t axis);
  // Reshape to sizes that are names of scalars or decimal numbers: an
  // Unsqueeze or a Constant for each, Concat, Reshape.
  std::string Reshape(const std::string& value, absl::Span<const std::string> sizes);

  const onnx::ModelProto& model() const { return model_; }
  // The file's bytes.
  std::string Serialize() const;

 private:
  std::string Constant(const onnx::TensorProto& tensor);

  onnx::ModelProto model_;
  onnx::GraphProto* graph_;
  SplitMix64 random_;
  std::vector<std::string> scopes_;
  std::map<std::string, int> node_names_;  // How often each was wanted.
};

}  // namespace weft::examples

#endif  // WEFT_EXAMPLES_EXPORTED_MODEL_WRITER_H_
