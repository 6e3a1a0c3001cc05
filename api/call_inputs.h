// The inputs of a call, as a Session and a Program take them.
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

class Graph;
class HostTensor;

// By position; empty tensors for inputs that are left out: those with state (an entry
// of `state` is valid) and those that the program is specialised to. Errors name
// unknown and missing inputs.
absl::StatusOr<std::vector<HostTensor>> OrderInputs(
    const Graph& graph, absl::Span<const HostTensor> state,
    const std::map<std::string, HostTensor>& inputs);

// An error when a tensor that is written shares memory with another one: what the
// program would do to that is not what it was made for. Of those that the caller
// gave; values of ours are nobody else's, or replaced. `written` is by input.
absl::Status CheckApart(const Graph& graph, absl::Span<const HostTensor> inputs,
                        const std::vector<bool>& written);

// Which of these tensors are valid.
std::vector<bool> AreValid(absl::Span<const HostTensor> tensors);

// The first values of the inputs that have one, by input; others are empty.
std::vector<HostTensor> InitialState(const Graph& graph);

// The inputs that hold state for the parameter or buffer `name`, or are called so.
std::vector<int> FindState(const Graph& graph, absl::Span<const HostTensor> state,
                           absl::string_view name);

// Whether the tensor may stand for that input; the error says what it should be.
absl::Status CheckState(const Graph& graph, int input, absl::string_view name,
                        const HostTensor& tensor);

// For messages about a name that is none of `names`: the nearest one, and the first
// few of all.
std::string NearNames(absl::string_view name, absl::Span<const std::string> names);

}  // namespace weft

#endif  // WEFT_API_CALL_INPUTS_H_
