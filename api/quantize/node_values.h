// The values of inner nodes of a module, on a backend.
#ifndef WEFT_API_QUANTIZE_NODE_VALUES_H_
#define WEFT_API_QUANTIZE_NODE_VALUES_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/session.h"
#include "backends/backend.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"

namespace weft {

// The bias of a convolution or linear as an input of the module, so that it may be another one in
// each run.
struct BiasInput {
  const Node* product = nullptr;
  HostTensor bias;
};

// The session of a module that is compiled for the backend.
absl::StatusOr<Session> SessionOf(std::unique_ptr<Module> module, const Backend& backend);

class NodeValues {
 public:
  struct Options {
    // The means over all but the channels of the results of convolutions and linears, [C] each, in
    // place of the results.
    bool channel_means = false;
    // Become inputs behind the module's own.
    std::vector<BiasInput> biases;
  };
  // The first results of `nodes`, which are of `module`'s main graph; `module` stays as it is.
  // Values that the program writes to its inputs are dropped.
  static absl::StatusOr<NodeValues> Create(const Module& module, absl::Span<Node* const> nodes,
                                           const Backend& backend, const Options& options);

  // By node. Inputs are by name, as they were in `module`; those with an initial value may be left
  // out. One tensor for each bias.
  absl::StatusOr<std::vector<HostTensor>> Run(const std::map<std::string, HostTensor>& inputs,
                                              absl::Span<const HostTensor> biases = {});

 private:
  NodeValues(Session session, std::vector<std::string> biases);

  Session session_;
  std::vector<std::string> biases_;
  // Names of the inputs that the session has: a pipeline may have made constants of some.
  std::set<std::string> names_;
};

}  // namespace weft

#endif  // WEFT_API_QUANTIZE_NODE_VALUES_H_
