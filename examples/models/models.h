// The models that benchmarks and tests compile, built from a seed: nothing need
// be downloaded.
//
// A model is a verified module. Its sizes are symbols where people vary them
// (batch, sequence) and constants where the architecture says so; its weights
// are constants under the names that the matching torch.nn.Module gives them
// (tools/bench/torch_models.py), drawn from a hash of seed and name, so the
// same bytes come out on every machine and in every order. A weight that two
// layers share is one constant.
//
//   WEFT_ASSIGN_OR_RETURN(Model model, BuildModel("resnet50"));
//   WEFT_ASSIGN_OR_RETURN(auto inputs, MakeInputs(model, {{"batch", 2}}));
#ifndef WEFT_EXAMPLES_MODELS_MODELS_H_
#define WEFT_EXAMPLES_MODELS_MODELS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/ir/module.h"

namespace weft {
class HostTensor;
}  // namespace weft

namespace weft::models {

// Sizes by the names of symbols.
using Sizes = std::map<std::string, int64_t>;

struct ModelOptions {
  // The same architecture with few, narrow layers: for tests.
  bool small = false;
  uint64_t seed = 0;
  // These symbols are constants of the program instead.
  Sizes sizes;
  // And all others are, with their usual values.
  bool static_sizes = false;
  enum class Weights {
    kConstants,
    // Inputs with a parameter's name and an initial value, as in a program of
    // torch.export.
    kInputs,
    // Such inputs without the value: for questions about shapes.
    kAbsent,
  };
  Weights weights = Weights::kConstants;
  // Attention as the small ops that exporters leave of it: scale, product, mask,
  // softmax, product.
  bool written_attention = false;
  // Return updated values as write-backs to the inputs instead of plain outputs. ONNX has no form
  // for that.
  bool write_back = false;
};

struct Model {
  std::unique_ptr<Module> module;
  // By input of the function main: elements of integer inputs lie in
  // [low, high), those of float inputs are uniform in [low, high].
  struct Range {
    double low = -1;
    double high = 1;
  };
  std::vector<Range> ranges;
};

struct ModelEntry {
  const char* name;
  const char* doc;
  absl::StatusOr<Model> (*build)(const ModelOptions& options);
};

// In the order in which tables list them.
absl::Span<const ModelEntry> AllModels();
// Null when there is none of that name.
const ModelEntry* FindModel(absl::string_view name);
// "resnet50  Image classification ...", one a line.
std::string DescribeModels();

// NotFound lists the names. InvalidArgument for a size that the model has no
// symbol for, or that its symbol may not have.
absl::StatusOr<Model> BuildModel(absl::string_view name, const ModelOptions& options = {});

// Inputs for a run, drawn from the ranges; symbols that are not in `sizes` get
// their usual values. Weights with an initial value get invalid tensors: a
// session has them. InvalidArgument for an unknown symbol.
absl::StatusOr<std::vector<HostTensor>> MakeInputs(const Model& model, const Sizes& sizes = {},
                                                   uint64_t seed = 0);

}  // namespace weft::models

#endif  // WEFT_EXAMPLES_MODELS_MODELS_H_
