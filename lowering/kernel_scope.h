// State shared by the nests of a kernel.
#ifndef WEFT_LOWERING_KERNEL_SCOPE_H_
#define WEFT_LOWERING_KERNEL_SCOPE_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "lowering/kernel_builder.h"

namespace weft {

class Node;
class Value;

// The arguments of a kernel, and its values from outside, for all its nests.
class KernelScope {
 public:
  KernelScope(const KernelRequest& request);

  const Sizes& sizes() const { return *request_.sizes; }
  const KernelRequest& request() const { return request_; }
  // The node that computes the value in the kernel; null for a value from outside, or a view of
  // one.
  const Node* NodeOf(const Value* value) const;
  View ViewOf(const Value* value) const;
  int ReadArg(const View& view);
  const std::vector<View>& reads() const { return reads_; }

 private:
  const KernelRequest& request_;
  absl::flat_hash_map<const Node*, int> inside_;
  absl::flat_hash_map<const Value*, View> views_;
  std::vector<View> reads_;
  absl::flat_hash_map<uint64_t, std::vector<int>> by_hash_;
};

}  // namespace weft

#endif  // WEFT_LOWERING_KERNEL_SCOPE_H_
