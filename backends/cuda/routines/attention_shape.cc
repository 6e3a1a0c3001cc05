#include "backends/cuda/routines/attention_shape.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace weft::cuda {
namespace {

// Multiprocessors of a large GPU.
constexpr int64_t kProcessors = 132;
// Fewest keys of a split.
constexpr int64_t kSplitKeys = 256;
// Most queries of a block that divides its keys among its warps.
constexpr int kFewQueries = 16;

struct Tile {
  int query_warps, key_warps, rows, down, keys;
  bool keeps_queries = false;
};

// From the most queries of a block to the fewest. Blocks of the first tiles fit twice in the shared
// memory of a multiprocessor. Of some ten, these were among the fastest on an H200, and have no
// more accumulators than registers.
std::vector<Tile> TilesOf(AttentionForm form, int64_t features) {
  if (form == AttentionForm::kTensor) {
    if (features <= 64) return {{4, 1, 1, 16, 64, true}, {1, 4, 1, 16, 32}, {1, 4, 1, 16, 16}};
    return {{4, 1, 1, 16, 32}, {1, 4, 1, 16, 16}, {1, 2, 1, 16, 16}};
  }
  if (features <= 64) return {{4, 1, 4, 4, 64}, {2, 2, 4, 2, 32}, {1, 4, 1, 2, 16}};
  if (features <= 128) {
    return {{4, 1, 4, 4, 32}, {2, 2, 4, 2, 16}, {1, 4, 1, 2, 16}, {1, 2, 1, 2, 16}};
  }
  return {{4, 1, 4, 2, 16}, {1, 2, 1, 2, 16}, {1, 1, 1, 2, 16}};
}

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Divides the keys among blocks if there are too few of them.
void SetSplits(const AttentionShape& shape, AttentionSizes* sizes) {
  const int64_t blocks = sizes->heads * sizes->tiles;
  int64_t splits = 1;
  if (shape.queries() <= kFewQueries && blocks > 0 && blocks < kProcessors) {
    splits = std::clamp<int64_t>(sizes->keys / kSplitKeys, 1, CeilDiv(2 * kProcessors, blocks));
  }
  const int64_t each = CeilDiv(std::max<int64_t>(sizes->keys, 1), splits);
  sizes->split_keys = CeilDiv(each, shape.step()) * shape.step();
  sizes->splits = std::max<int64_t>(1, CeilDiv(sizes->keys, sizes->split_keys));
}

// The kernel reads rows of 64 or 128 features in aligned parts.
bool FitsWgmma(const AttentionShape& shape, const AttentionSizes& sizes) {
  return shape.form == AttentionForm::kTensor && sizes.features == sizes.value_features &&
         (sizes.features == 64 || sizes.features == 128) && sizes.keys > 0 && sizes.q_groups == 1 &&
         sizes.k_groups == 1 && sizes.v_groups == 1;
}

}  // namespace

AttentionShape WgmmaAttention(int64_t features, int64_t value_features) {
  AttentionShape shape;
  shape.form = AttentionForm::kWgmma;
  shape.query_warps = 8;
  shape.key_warps = 1;
  shape.rows = 1;
  shape.keys = 128;
  SetFeatures(features, value_features, &shape);
  return shape;
}

void ChooseAttention(const AttentionDevice& device, AttentionShape* shape, AttentionSizes* sizes) {
  const int64_t features = std::max(sizes->features, sizes->value_features);
  shape->form = shape->dtype == DType::kF32 ? AttentionForm::kFloat : AttentionForm::kTensor;
  const bool tiled = features <= kMaxAttentionFeatures &&
                     std::min(sizes->features, sizes->value_features) > 0 &&
                     (shape->form == AttentionForm::kFloat || device.tensor_cores);
  if (tiled && device.wgmma && FitsWgmma(*shape, *sizes)) {
    const AttentionShape wgmma = WgmmaAttention(sizes->features, sizes->value_features);
    const int64_t tiles = CeilDiv(sizes->queries, wgmma.queries());
    if (wgmma.queries() < 2 * sizes->queries && 2 * tiles * sizes->heads >= kProcessors &&
        wgmma.shared_bytes() <= device.shared_bytes) {
      const AttentionShape own = *shape;
      *shape = wgmma;
      shape->dtype = own.dtype;
      shape->mask = own.mask;
      shape->cap = own.cap;
      sizes->tiles = tiles;
      SetSplits(*shape, sizes);
      return;
    }
  }
  bool found = false;
  for (const Tile& tile : tiled ? TilesOf(shape->form, features) : std::vector<Tile>()) {
    AttentionShape next = *shape;
    next.query_warps = tile.query_warps;
    next.key_warps = tile.key_warps;
    next.rows = tile.rows;
    next.keys = tile.keys;
    next.down = tile.down;
    next.keeps_queries = tile.keeps_queries;
    SetFeatures(sizes->features, sizes->value_features, &next);
    if (next.shared_bytes() > device.shared_bytes) continue;
    *shape = next;
    found = true;
    sizes->tiles = CeilDiv(sizes->queries, next.queries());
    // Queries of padding cost as much as others, and blocks of many queries as long as others.
    if (next.queries() < 2 * sizes->queries && 2 * sizes->tiles * sizes->heads >= kProcessors)
      break;
  }
  if (!found) {
    shape->form = AttentionForm::kPlain;
    return;
  }
  SetSplits(*shape, sizes);
}

}  // namespace weft::cuda
