#include "api/call_inputs.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/runtime/device_tensor.h"
#include "backends/runtime/host_memory.h"
#include "base/host_buffer.h"
#include "base/status_macros.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"
#include "graph/tensor/tensor.h"
#include "graph/verify/verifier.h"
#include "passes/engine/registry.h"

namespace weft {
namespace {

// The range of bytes from a tensor's first to its last element.
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

Extent ExtentOf(const DeviceTensor& tensor, int input) {
  const auto* const begin = reinterpret_cast<const uint8_t*>(tensor.device_address());
  return {begin, begin + tensor.bytes(), input};
}

absl::Status CheckExtents(const Graph& graph, std::vector<Extent> extents,
                          const std::vector<bool>& written) {
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.input < b.input;
  });
  // The extents with the largest end so far: of all tensors, and of written ones.
  const Extent* any = nullptr;
  const Extent* of_written = nullptr;
  for (const Extent& extent : extents) {
    const bool is_written = written[extent.input];
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

absl::Status CheckApart(const Graph& graph, absl::Span<const HostTensor> inputs,
                        const std::vector<bool>& written) {
  std::vector<Extent> extents;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].valid() || inputs[i].numel() == 0) continue;
    const auto& buffer = inputs[i].buffer();
    if (buffer.use_count() == 1 && IsOwned(*buffer)) continue;
    extents.push_back(ExtentOf(inputs[i], static_cast<int>(i)));
  }
  return CheckExtents(graph, std::move(extents), written);
}

absl::Status CheckApart(const Graph& graph, absl::Span<const DeviceTensor> inputs,
                        const std::vector<bool>& written) {
  std::vector<HostTensor> hosts;
  std::vector<Extent> extents;
  for (size_t i = 0; i < inputs.size(); ++i) {
    hosts.push_back(inputs[i].host());
    if (inputs[i].on_host() || inputs[i].numel() == 0) continue;
    extents.push_back(ExtentOf(inputs[i], static_cast<int>(i)));
  }
  WEFT_RETURN_IF_ERROR(CheckExtents(graph, std::move(extents), written));
  return CheckApart(graph, hosts, written);
}

std::vector<bool> AreValid(absl::Span<const HostTensor> tensors) {
  std::vector<bool> valid;
  for (const HostTensor& tensor : tensors) valid.push_back(tensor.valid());
  return valid;
}

std::vector<bool> AreValid(absl::Span<const DeviceTensor> tensors) {
  std::vector<bool> valid;
  for (const DeviceTensor& tensor : tensors) valid.push_back(tensor.valid());
  return valid;
}

template <typename Tensor>
absl::StatusOr<std::vector<Tensor>> PlaceByName(const Graph& graph,
                                                const std::map<std::string, Tensor>& inputs) {
  std::vector<Tensor> ordered(graph.num_inputs());
  absl::flat_hash_map<absl::string_view, int> index;
  for (int i = 0; i < graph.num_inputs(); ++i) index[graph.input_info(i).name] = i;
  for (const auto& [name, tensor] : inputs) {
    const auto it = index.find(name);
    if (it == index.end()) {
      return absl::InvalidArgumentError(absl::StrCat("the program has no input \"", name, "\""));
    }
    ordered[it->second] = tensor;
  }
  return ordered;
}

template absl::StatusOr<std::vector<HostTensor>> PlaceByName(
    const Graph& graph, const std::map<std::string, HostTensor>& inputs);
template absl::StatusOr<std::vector<DeviceTensor>> PlaceByName(
    const Graph& graph, const std::map<std::string, DeviceTensor>& inputs);

absl::StatusOr<std::vector<HostTensor>> OrderInputs(
    const Graph& graph, absl::Span<const HostTensor> state,
    const std::map<std::string, HostTensor>& inputs) {
  WEFT_ASSIGN_OR_RETURN(std::vector<HostTensor> ordered, PlaceByName(graph, inputs));
  for (int i = 0; i < graph.num_inputs(); ++i) {
    const InputInfo& info = graph.input_info(i);
    if (ordered[i].valid() || info.value >= 0 || state[i].valid()) continue;
    return absl::InvalidArgumentError(absl::StrCat("input \"", info.name, "\" is missing"));
  }
  return ordered;
}

std::vector<HostTensor> InitialState(const Graph& graph) {
  std::vector<HostTensor> state;
  for (int i = 0; i < graph.num_inputs(); ++i) {
    const int initial = graph.input_info(i).initial;
    state.push_back(initial < 0 ? HostTensor() : graph.module().constants().tensor(initial));
  }
  return state;
}

std::vector<int> FindState(const Graph& graph, absl::Span<const HostTensor> state,
                           absl::string_view name) {
  std::vector<int> found;
  for (int i = 0; i < graph.num_inputs(); ++i) {
    const InputInfo& info = graph.input_info(i);
    if (state[i].valid() && (info.param == name || info.name == name)) found.push_back(i);
  }
  return found;
}

absl::Status CheckState(const Graph& graph, int input, absl::string_view name,
                        const HostTensor& tensor) {
  const Type type = graph.input(input)->type();
  if (tensor.valid() && IsLegalRefinement(tensor.type(), type, graph.module().symbols())) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("state \"", name, "\" has type ", type.ToString(), ", not ",
                   tensor.valid() ? tensor.type().ToString() : "that of an empty tensor"));
}

std::string NearNames(absl::string_view name, absl::Span<const std::string> names) {
  constexpr size_t kMaxListed = 8;
  if (names.empty()) return "; it has none";
  const size_t listed = std::min(names.size(), kMaxListed);
  const std::string near = DidYouMean(name, names);
  return absl::StrCat(
      near.empty() ? "; it has " : absl::StrCat(near, " It has "),
      absl::StrJoin(names.subspan(0, listed), ", "),
      listed < names.size() ? absl::StrCat(" and ", names.size() - listed, " more") : "");
}

}  // namespace weft
