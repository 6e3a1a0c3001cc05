// Checks and completes the inputs of a call, for Session and Program.
#ifndef WEFT_API_CALL_INPUTS_H_
#define WEFT_API_CALL_INPUTS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace weft {

class DeviceTensor;
class Graph;
class HostTensor;

// The tensors by position of the inputs with those names; others are not valid. An error names an
// unknown input. Tensor: HostTensor or DeviceTensor.
template <typename Tensor>
absl::StatusOr<std::vector<Tensor>> PlaceByName(const Graph& graph,
                                                const std::map<std::string, Tensor>& inputs);

// The inputs by position. Left-out inputs become empty tensors: those with state (an entry of
// `state` is valid) and those that the program is specialised to. Errors name unknown and missing
// inputs.
absl::StatusOr<std::vector<HostTensor>> OrderInputs(
    const Graph& graph, absl::Span<const HostTensor> state,
    const std::map<std::string, HostTensor>& inputs);

// An error if a tensor that is written shares memory with another one, because the result would
// depend on the order of writes. Checks the caller's tensors alone; others are not shared, or are
// replaced. `written` is by input.
absl::Status CheckApart(const Graph& graph, absl::Span<const HostTensor> inputs,
                        const std::vector<bool>& written);

// The same for tensors in the memory of the host and of a device.
absl::Status CheckApart(const Graph& graph, absl::Span<const DeviceTensor> inputs,
                        const std::vector<bool>& written);

// For each tensor, whether it is valid.
std::vector<bool> AreValid(absl::Span<const HostTensor> tensors);
std::vector<bool> AreValid(absl::Span<const DeviceTensor> tensors);

// Initial values by input; empty for inputs without one.
std::vector<HostTensor> InitialState(const Graph& graph);

// The inputs with state whose parameter or buffer, or whose own name, is `name`.
std::vector<int> FindState(const Graph& graph, absl::Span<const HostTensor> state,
                           absl::string_view name);

// An error, which says what the tensor must be, if it cannot be the state of that input.
absl::Status CheckState(const Graph& graph, int input, absl::string_view name,
                        const HostTensor& tensor);

// For messages about a name that is not among `names`: the most similar one, and the first few
// names.
std::string NearNames(absl::string_view name, absl::Span<const std::string> names);

}  // namespace weft

#endif  // WEFT_API_CALL_INPUTS_H_
