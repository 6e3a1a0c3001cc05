// What the nests of a kernel have in common.
#ifndef WEFT_LOWERING_KERNEL_SCOPE_H_
#define WEFT_LOWERING_KERNEL_SCOPE_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "lowering/kernel_builder.h"

namespace weft {

class Node;
class Value;

// What the nests of a kernel share: its arguments, and values that are there.
class KernelScope {
 public:
  KernelScope(const KernelRequest& request);

  const Sizes& sizes() const { return *request_.sizes; }
  const KernelRequest& request() const { return request_; }
  // The node that makes the value in the kernel; null when it comes from
  // outside, as it is or as a view.
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
