// The interface of oneDNN in a program that is built without it: there is no primitive, so that own
// products and convolutions serve where they can.
#include <limits>
#include <utility>

#include "backends/cpu/kernels/integer_range.h"
#include "backends/cpu/onednn/onednn.h"

namespace weft::cpu {
namespace {

absl::Status None() { return absl::UnimplementedError("this program is built without oneDNN"); }

}  // namespace

bool HasDnn() { return false; }

struct DnnWeights::Store {
  absl::flat_hash_map<int64_t, std::pair<int32_t, int32_t>> ranges;
  // Keys of parts, distinct from all other keys.
  absl::flat_hash_map<std::pair<int64_t, int64_t>, int64_t> part_keys;
};

DnnWeights::DnnWeights() : store_(std::make_unique<Store>()) {}
DnnWeights::~DnnWeights() = default;
int64_t DnnWeights::bytes() const { return 0; }

int64_t DnnWeights::PartKey(int64_t key, int64_t at) {
  constexpr int64_t kFirst = std::numeric_limits<int64_t>::min();
  const auto next = kFirst + static_cast<int64_t>(store_->part_keys.size());
  return store_->part_keys.try_emplace({key, at}, next).first->second;
}

std::pair<int32_t, int32_t> DnnWeights::Range(int64_t key, const void* data, int64_t elements) {
  const auto [it, made] = store_->ranges.try_emplace(key);
  if (made) {
    it->second = {0, 0};
    RangeOfI32(static_cast<const int32_t*>(data), elements, &it->second.first, &it->second.second);
  }
  return it->second;
}

struct DnnOp::Impl {
  std::string implementation;
};

DnnOp::DnnOp(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DnnOp::~DnnOp() = default;
int64_t DnnOp::scratch_bytes() const { return 0; }
const std::string& DnnOp::implementation() const { return impl_->implementation; }
int DnnOp::num_reorders() const { return 0; }
absl::Status DnnOp::Run(absl::Span<void* const>, void*) { return None(); }

absl::StatusOr<std::unique_ptr<DnnOp>> MakeMatmul(const DnnMatmul&, const DnnConstant&) {
  return None();
}
absl::StatusOr<std::unique_ptr<DnnOp>> MakeConvolution(const DnnConvolution&, const DnnConstant&) {
  return None();
}
absl::StatusOr<std::unique_ptr<DnnOp>> MakePooling(const DnnPooling&) { return None(); }

DnnUnit FindBf16Unit() { return DnnUnit::kNone; }
DnnUnit FindInt8Unit() { return DnnUnit::kNone; }
void LimitDnn(Isa) {}

}  // namespace weft::cpu
