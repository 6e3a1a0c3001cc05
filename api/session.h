// Runs a module on a target, with inputs by position or by name.
#ifndef WEFT_API_SESSION_H_
#define WEFT_API_SESSION_H_

#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/core/graph.h"
#include "graph/core/tensor.h"

namespace weft {

class Session {
 public:
  // `target`: "reference". InvalidArgument lists the targets for another name.
  static absl::StatusOr<Session> Create(std::unique_ptr<Module> module,
                                        absl::string_view target);

  const Module& module() const { return *module_; }
  const Graph& main() const { return *module_->main(); }

  // Every call checks the inputs against the signature: dtypes, shapes, facts
  // about symbols, values that the program was specialised to.
  absl::StatusOr<std::vector<HostTensor>> Run(
      absl::Span<const HostTensor> inputs) const;
  absl::StatusOr<std::vector<HostTensor>> Run(
      std::initializer_list<HostTensor> inputs) const {
    return Run(absl::MakeConstSpan(inputs.begin(), inputs.size()));
  }
  // Inputs that the program is specialised to may be left out. Errors name
  // unknown and missing inputs.
  absl::StatusOr<std::vector<HostTensor>> Run(
      const std::map<std::string, HostTensor>& inputs) const;

 private:
  explicit Session(std::unique_ptr<Module> module)
      : module_(std::move(module)) {}
  std::unique_ptr<Module> module_;
};

}  // namespace weft

#endif  // WEFT_API_SESSION_H_
