// The values of inner nodes of a module, on a backend.
#ifndef WEFT_API_QUANTIZE_NODE_VALUES_H_
#define WEFT_API_QUANTIZE_NODE_VALUES_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "api/session.h"
#include "backends/backend.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"

namespace weft {

// An operand as an input of the module, so that it may be another tensor in each run.
struct OperandInput {
  const Node* node = nullptr;
  int operand = 0;
  HostTensor tensor;
};

// Runs a pipeline, given as text.
absl::Status RunPasses(Module& module, absl::string_view passes);
// The session of a module that is compiled for the backend.
absl::StatusOr<Session> SessionOf(std::unique_ptr<Module> module, const Backend& backend);

class NodeValues {
 public:
  enum class Kind {
    kResults,
    // The means over all but the channels of the results of convolutions, linears and matmuls, [C]
    // each.
    kChannelMeans,
    // X^T X of the first operands as rows of their last dims, [K, K] each.
    kInputMoments,
  };
  struct Options {
    Kind kind = Kind::kResults;
    // Become inputs behind the module's own.
    std::vector<OperandInput> given;
  };
  // The first results of `nodes`, or what the options say of them. The nodes are of `module`'s main
  // graph; `module` stays as it is.
  // Values that the program writes to its inputs are dropped.
  static absl::StatusOr<NodeValues> Create(const Module& module, absl::Span<Node* const> nodes,
                                           const Backend& backend, const Options& options);

  // By node. Inputs are by name, as they were in `module`; those with an initial value may be left
  // out. One tensor for each given operand.
  absl::StatusOr<std::vector<HostTensor>> Run(const std::map<std::string, HostTensor>& inputs,
                                              absl::Span<const HostTensor> given = {});

 private:
  NodeValues(Session session, std::vector<std::string> given);

  Session session_;
  // Names of the inputs that are given operands.
  std::vector<std::string> given_;
  // Names of the inputs that the session has: a pipeline may have made constants of some.
  std::set<std::string> names_;
};

}  // namespace weft

#endif  // WEFT_API_QUANTIZE_NODE_VALUES_H_
