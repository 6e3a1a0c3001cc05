// Writes a model as a torch.nn.Module reads: scopes, parameters, inputs.
//
// Errors stick (Builder): Finish() returns the first one.
#ifndef WEFT_EXAMPLES_MODELS_NET_H_
#define WEFT_EXAMPLES_MODELS_NET_H_

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "examples/models/models.h"
#include "graph/ir/builder.h"

namespace weft {
class Graph;
class OpDef;
class Value;
}  // namespace weft

namespace weft::models {

using Dims = std::vector<SymInt>;
using Range = Model::Range;

class Net {
 public:
  explicit Net(const ModelOptions& options);

  const ModelOptions& options() const { return options_; }
  // Picks by the size of the model that is asked for.
  int64_t Pick(int64_t full, int64_t small) const { return options_.small ? small : full; }

  // Names of parameters ("layer1.0.conv1.weight") and provenance
  // ("layer1.0.conv1") within it begin with the scopes that are open.
  class Scope {
   public:
    Scope(Net& net, absl::string_view name);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Net& net_;
    size_t length_;
  };

  // A size that varies, from 1 to `max`; `usual` is its hint. A constant where
  // the options say so.
  SymInt Size(const std::string& name, int64_t usual, int64_t max);

  Value* Input(absl::string_view name, DType dtype, const Dims& dims, Range range);
  // f32, uniform in the range.
  Value* Parameter(absl::string_view name, const std::vector<int64_t>& dims, Range range);
  Value* Scalar(double value) { return b_.Scalar(DType::kF32, value); }

  // A node's first result. Null when something failed before.
  Value* Op(const OpDef& op, absl::Span<Value* const> operands,
            std::initializer_list<NamedAttr> attrs = {});
  Value* Op(const OpDef& op, std::initializer_list<Value*> operands,
            std::initializer_list<NamedAttr> attrs = {}) {
    return Op(op, absl::MakeConstSpan(operands.begin(), operands.size()), attrs);
  }

  void Output(absl::string_view name, Value* value);
  // `value` is what the input of that place becomes: an output, and a
  // write-back where the options say so. After all other outputs, in the order
  // of the inputs.
  void Update(absl::string_view name, int input, Value* value);

  bool ok() const { return b_.status().ok(); }
  // The verified module.
  absl::StatusOr<Model> Finish();

 private:
  absl::Status CheckSizes() const;

  ModelOptions options_;
  Model model_;
  Graph* graph_;
  Builder b_;
  std::string scope_;  // "layer1.0."
  std::set<std::string> symbols_;
  std::vector<Value*> outputs_;
  std::vector<std::string> output_names_;
  std::vector<int> written_;
};

}  // namespace weft::models

#endif  // WEFT_EXAMPLES_MODELS_NET_H_
