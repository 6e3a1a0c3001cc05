#include "api/session.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "backends/reference/executor.h"
#include "graph/core/status_macros.h"
#include "graph/core/verifier.h"

namespace weft {
namespace {

// The bytes between a tensor's first and last element.
struct Extent {
  const uint8_t* begin = nullptr;
  const uint8_t* end = nullptr;
  int input = 0;
};

Extent ExtentOf(const HostTensor& tensor, int input) {
  Extent extent{tensor.raw(), tensor.raw(), input};
  int64_t last = 0;
  for (int i = 0; i < tensor.rank(); ++i) last += (tensor.dim(i) - 1) * tensor.strides()[i];
  extent.end += DTypeBytes(tensor.dtype(), last + 1);
  return extent;
}

// An error when a tensor that is written shares memory with another one: what the
// program would do to that is not what it was made for. Of those that the caller
// gave; values of ours are replaced, not written over.
absl::Status CheckApart(const Graph& graph, absl::Span<const HostTensor> inputs,
                        const std::vector<HostTensor>& written) {
  std::vector<Extent> extents;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].valid() || inputs[i].numel() == 0) continue;
    extents.push_back(ExtentOf(inputs[i], static_cast<int>(i)));
  }
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.input < b.input;
  });
  // The farthest end so far, of all and of the written ones.
  const Extent* any = nullptr;
  const Extent* of_written = nullptr;
  for (const Extent& extent : extents) {
    const bool is_written = written[extent.input].valid();
    const Extent* other = is_written ? any : of_written;
    if (other != nullptr && extent.begin < other->end) {
      return absl::InvalidArgumentError(
          absl::StrCat("inputs \"", graph.input_info(other->input).name, "\" and \"",
                       graph.input_info(extent.input).name,
                       "\" share memory, and the program writes one of them"));
    }
    if (any == nullptr || extent.end > any->end) any = &extent;
    if (is_written && (of_written == nullptr || extent.end > of_written->end)) {
      of_written = &extent;
    }
  }
  return absl::OkStatus();
}

}  // namespace

Session::Session(std::unique_ptr<Module> module) : module_(std::move(module)) {
  for (int i = 0; i < main().num_inputs(); ++i) {
    const int initial = main().input_info(i).initial;
    state_.push_back(initial < 0 ? HostTensor() : module_->constants().tensor(initial));
  }
}

absl::StatusOr<Session> Session::Create(std::unique_ptr<Module> module, absl::string_view target) {
  if (target != "reference") {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown target \"", target, "\"; the targets are: reference"));
  }
  if (module->main() == nullptr) {
    return absl::InvalidArgumentError("the module has no function @main");
  }
  return Session(std::move(module));
}

absl::StatusOr<std::vector<HostTensor>> Session::RunOrdered(absl::Span<const HostTensor> given,
                                                            std::vector<HostTensor>* written) {
  std::vector<HostTensor> inputs(given.begin(), given.end());
  const size_t n = std::min<size_t>(inputs.size(), main().num_inputs());
  for (size_t i = 0; i < n; ++i) {
    if (inputs[i].valid()) continue;
    const int value = main().input_info(static_cast<int>(i)).value;
    inputs[i] = value >= 0 ? module_->constants().tensor(value) : state_[i];
  }
  reference::RunOptions options;
  options.written = written;
  WEFT_ASSIGN_OR_RETURN(std::vector<HostTensor> outputs, reference::Run(main(), inputs, options));
  WEFT_RETURN_IF_ERROR(CheckApart(main(), given, *written));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (given[i].valid() || !(*written)[i].valid()) continue;
    state_[i] = std::move((*written)[i]);
    (*written)[i] = HostTensor();
  }
  outputs.resize(main().num_own_outputs());
  return outputs;
}

absl::StatusOr<std::vector<HostTensor>> Session::Run(absl::Span<const HostTensor> inputs) {
  std::vector<HostTensor> written;
  return RunOrdered(inputs, &written);
}

absl::StatusOr<std::vector<HostTensor>> Session::Run(std::vector<HostTensor>* inputs) {
  std::vector<HostTensor> written;
  WEFT_ASSIGN_OR_RETURN(std::vector<HostTensor> outputs, RunOrdered(*inputs, &written));
  for (size_t i = 0; i < written.size(); ++i) {
    if (written[i].valid()) (*inputs)[i] = std::move(written[i]);
  }
  return outputs;
}

absl::StatusOr<std::vector<HostTensor>> Session::OrderInputs(
    const std::map<std::string, HostTensor>& inputs) const {
  std::vector<HostTensor> ordered(main().num_inputs());
  absl::flat_hash_map<absl::string_view, int> index;
  for (int i = 0; i < main().num_inputs(); ++i) index[main().input_info(i).name] = i;
  for (const auto& [name, tensor] : inputs) {
    const auto it = index.find(name);
    if (it == index.end()) {
      return absl::InvalidArgumentError(absl::StrCat("the program has no input \"", name, "\""));
    }
    ordered[it->second] = tensor;
  }
  for (int i = 0; i < main().num_inputs(); ++i) {
    const InputInfo& info = main().input_info(i);
    if (ordered[i].valid() || info.value >= 0 || state_[i].valid()) continue;
    return absl::InvalidArgumentError(absl::StrCat("input \"", info.name, "\" is missing"));
  }
  return ordered;
}

absl::StatusOr<std::vector<HostTensor>> Session::Run(
    const std::map<std::string, HostTensor>& inputs) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<HostTensor> ordered, OrderInputs(inputs));
  return Run(absl::MakeConstSpan(ordered));
}

absl::StatusOr<std::vector<HostTensor>> Session::Run(std::map<std::string, HostTensor>* inputs) {
  WEFT_ASSIGN_OR_RETURN(std::vector<HostTensor> ordered, OrderInputs(*inputs));
  WEFT_ASSIGN_OR_RETURN(std::vector<HostTensor> outputs, Run(&ordered));
  for (int i = 0; i < main().num_inputs(); ++i) {
    const auto it = inputs->find(main().input_info(i).name);
    if (it != inputs->end()) it->second = std::move(ordered[i]);
  }
  return outputs;
}

int Session::FindState(absl::string_view name) const {
  for (int i = 0; i < main().num_inputs(); ++i) {
    const InputInfo& info = main().input_info(i);
    if (state_[i].valid() && (info.param == name || info.name == name)) return i;
  }
  return -1;
}

const HostTensor* Session::state(absl::string_view name) const {
  const int i = FindState(name);
  return i < 0 ? nullptr : &state_[i];
}

absl::Status Session::SetState(absl::string_view name, HostTensor tensor) {
  const int i = FindState(name);
  if (i < 0) return absl::NotFoundError(absl::StrCat("the program has no state \"", name, "\""));
  const Type type = main().input(i)->type();
  if (tensor.valid() && IsLegalRefinement(tensor.type(), type, module_->symbols())) {
    state_[i] = std::move(tensor);
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("state \"", name, "\" has type ", type.ToString(), ", not ",
                   tensor.valid() ? tensor.type().ToString() : "that of an empty tensor"));
}

}  // namespace weft
