// Runs programs that write as plain eager execution does: tensors are strided
// views of shared buffers, and writes go to the bytes.
//
// It shares with the executor and the passes only the Eval of ops that are not views; views are
// pointers and strides here.
#ifndef WEFT_TESTS_PASSES_FUNCTIONALIZE_MUTABLE_INTERPRETER_H_
#define WEFT_TESTS_PASSES_FUNCTIONALIZE_MUTABLE_INTERPRETER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"

namespace weft {

class AttrList;
class Graph;
class HostTensor;
class OpDef;

// Layout of a tensor, in elements of the buffer.
struct Layout {
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;
  int64_t offset = 0;

  bool IsContiguous() const;
  // No two elements in one place; by enumeration.
  bool IsInjective() const;
};

// The layout of result `result` of the view op on a tensor of layout `in`;
// nothing where no strides show that (a reshape that would have to copy).
std::optional<Layout> ViewLayout(const OpDef& op, const AttrList* attrs, const Layout& in,
                                 int result);

// The outputs of the graph, copied. The inputs' bytes are written, by nodes and
// then by the write-backs.
absl::StatusOr<std::vector<HostTensor>> RunMutable(const Graph& graph,
                                                   const std::vector<HostTensor>& inputs);

// In memory of its own.
HostTensor Copied(const HostTensor& tensor);

}  // namespace weft

#endif  // WEFT_TESTS_PASSES_FUNCTIONALIZE_MUTABLE_INTERPRETER_H_
