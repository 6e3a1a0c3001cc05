// scaled_dot_product_attention: blocks of queries run in parallel, each with memory for one block
// of keys. Of heads with a single query, as a decoder has them, those that share keys are queries
// of one block.

#include <algorithm>
#include <cmath>
#include <utility>

#include "backends/cpu/kernels/attention_tile.h"
#include "backends/cpu/library/library_internal.h"
#include "backends/cpu/threads/parallel.h"
#include "base/align.h"

namespace weft::cpu {

int64_t AttentionScratch(int64_t queries, int64_t features, int64_t value_features) {
  // Pads to the widest panel, and each part to a cache line.
  const int64_t width = AlignUp(value_features, 64);
  const int64_t floats = (queries + kAttentionKeys + 16) * (features + 16) +
                         (queries + kAttentionKeys) * width + 64 * kAttentionKeys + 2 * queries;
  return floats * 4 + 16 * 64;
}

namespace {

// Offsets of the heads of an operand: strides by batch dim of the result, 0 where it broadcasts;
// `shared` heads of queries share one head of keys.
struct Heads {
  std::vector<int64_t> strides;
  int64_t shared = 1;
};

class AttentionCall : public LibraryCall {
 public:
  AttentionCall(AttentionBlock block, AttentionFn fn, int threads)
      : block_(block), fn_(fn), threads_(threads) {}

  // Makes heads with one query each that share keys queries of one block, as many as let the
  // threads finish first.
  void JoinHeads() {
    if (queries != 1 || block_.causal || batch_dims.empty()) return;
    int64_t joined = 1;
    for (int64_t n = 2; n <= k.shared; ++n) {
      if (k.shared % n == 0 && TimeOf(n) <= TimeOf(joined)) joined = n;
    }
    block_.q.row = q.strides.back();
    block_.y_row = y.strides.back();
    if (masked) block_.mask.row = mask.strides.back();
    for (Heads* heads : {&q, &y, &mask}) {
      if (!heads->strides.empty()) heads->strides.back() *= joined;
    }
    k.shared /= joined;
    v.shared /= joined;
    batch_dims.back() /= joined;
    batches /= joined;
    queries = joined;
  }

  // Large blocks pack keys once for many queries; small blocks keep all threads busy.
  void ChooseBlocks() {
    constexpr int64_t kLeast = 48;
    per_block_ = kAttentionQueries;
    while (per_block_ > kLeast && NumItems() < kItemsOfThread * threads_) per_block_ -= kLeast;
    bytes_ = AttentionScratch(per_block_, block_.features, block_.value_features);
  }

  int64_t scratch_bytes() const override { return bytes_ * threads_; }
  std::string name() const override { return rounds ? "bf16_attention" : "attention"; }
  bool rounds_operands() const override { return rounds && block_.q.dtype == DType::kF32; }

  absl::Status Run(const CallMemory& memory) override {
    const int64_t items = NumItems();
    const int64_t blocks = NumBlocks();
    const int threads = static_cast<int>(std::min<int64_t>(threads_, items));
    ForEachNext(threads, items, [&](int64_t item, const TeamMember& member) {
      float* own =
          reinterpret_cast<float*>(static_cast<char*>(memory.scratch) + bytes_ * member.index);
      // With a causal mask later blocks have more keys, so they start first.
      RunBlock(memory.args, memory.result, item / blocks, blocks - 1 - item % blocks, own);
    });
    return absl::OkStatus();
  }

  std::vector<int64_t> batch_dims;
  int64_t batches = 1;
  int64_t queries = 0;
  Heads q, k, v, y, mask;
  bool masked = false;
  bool rounds = false;  // Operands, to bf16.

 private:
  static constexpr int64_t kItemsOfThread = 4;

  // With so many queries in a block: to read the keys takes as long as about five queries of them.
  int64_t TimeOf(int64_t joined) const {
    constexpr int64_t kReading = 5;
    const int64_t blocks = batches / joined;
    return (blocks + threads_ - 1) / threads_ * (kReading + joined);
  }

  int64_t NumBlocks() const { return (queries + per_block_ - 1) / per_block_; }
  int64_t NumItems() const { return batches * NumBlocks(); }

  int64_t OffsetOf(const Heads& heads, int64_t batch) const {
    int64_t offset = 0;
    for (size_t d = batch_dims.size(); d-- > 0;) {
      int64_t at = batch % batch_dims[d];
      batch /= batch_dims[d];
      if (d + 1 == batch_dims.size()) at /= heads.shared;
      offset += at * heads.strides[d];
    }
    return offset;
  }

  void RunBlock(absl::Span<void* const> args, void* result, int64_t batch, int64_t block,
                float* scratch) const {
    AttentionBlock b = block_;
    const auto at = [&](AttentionMatrix& m, void* data, const Heads& heads) {
      m.data = static_cast<const char*>(data) + OffsetOf(heads, batch) * m.bytes;
    };
    at(b.q, args[0], q);
    at(b.k, args[1], k);
    at(b.v, args[2], v);
    if (masked) at(b.mask, args[3], mask);
    b.y = static_cast<char*>(result) + OffsetOf(y, batch) * b.y_bytes;
    b.first = block * per_block_;
    b.queries = std::min(per_block_, queries - b.first);
    fn_(b, scratch);
  }

  AttentionBlock block_;
  const AttentionFn fn_;
  const int threads_;
  int64_t per_block_ = kAttentionQueries;
  int64_t bytes_ = 0;
};

AttentionMatrix MatrixOf(const RunView& view, const TileTable& table) {
  AttentionMatrix m;
  m.bytes = DTypeBits(view.dtype) / 8;
  m.dtype = view.dtype;
  m.load = table.load(view.dtype);
  m.column = view.strides[view.rank() - 1];
  m.row = view.strides[view.rank() - 2];
  return m;
}

// The mask as a matrix with strides along the scores, 0 where it broadcasts.
AttentionMatrix MaskOf(const RunView& view, const TileTable& table) {
  AttentionMatrix m;
  m.bytes = DTypeBits(view.dtype) / 8;
  m.load = table.load(view.dtype);
  const int rank = view.rank();
  m.column = rank < 1 || view.dims[rank - 1] == 1 ? 0 : view.strides[rank - 1];
  m.row = rank < 2 || view.dims[rank - 2] == 1 ? 0 : view.strides[rank - 2];
  return m;
}

Heads HeadsOf(const RunView& view, int batch_rank) {
  Heads heads;
  for (int d = 0; d < batch_rank; ++d) {
    const int own = view.rank() - 2 - batch_rank + d;
    heads.strides.push_back(own < 0 || view.dims[own] == 1 ? 0 : view.strides[own]);
  }
  return heads;
}

// Few queries are limited by reading keys and values, not by products.
bool ReadsBf16(const LibraryStep& step, const LibraryContext& context) {
  constexpr int64_t kLeastQueries = 16;
  const RunView& q = step.args[0];
  const DnnReading& reading = context.reading;
  const bool rounds = reading.dtype == DType::kBF16 && reading.x_parts.empty();
  return HasBf16Kernels(context) && q.dims[q.rank() - 2] >= kLeastQueries &&
         (q.dtype == DType::kBF16 || (q.dtype == DType::kF32 && rounds));
}

bool Fits(const RunView& view) {
  return view.dtype == DType::kF32 || view.dtype == DType::kF16 || view.dtype == DType::kBF16;
}

}  // namespace

LibraryCallOr MakeAttentionCall(const LibraryStep& step, const LibraryContext& context) {
  const AttentionAttrs attention(step.schema, step.attrs);
  const RunView& q = step.args[0];
  const RunView& k = step.args[1];
  const RunView& v = step.args[2];
  const RunView& y = step.result;
  const bool masked = step.args[3].present();
  if (!Fits(q) || !step.epilogue.empty() || y.numel() == 0 || k.numel() == 0 || v.numel() == 0) {
    return absl::UnimplementedError("such an attention");
  }
  const TileTable& table = *context.table;
  AttentionBlock b;
  b.q = MatrixOf(q, table);
  b.k = MatrixOf(k, table);
  b.v = MatrixOf(v, table);
  if (masked) b.mask = MaskOf(step.args[3], table);
  b.mask_is_bool = masked && step.args[3].dtype == DType::kBool;
  b.y_bytes = DTypeBits(y.dtype) / 8;
  b.store = table.store(y.dtype);
  b.y_row = y.strides[y.rank() - 2];
  b.y_column = y.strides[y.rank() - 1];
  b.keys = k.dims[k.rank() - 2];
  b.features = q.dims.back();
  b.value_features = v.dims.back();
  b.scale = static_cast<float>(
      attention.scale().value_or(1 / std::sqrt(static_cast<double>(b.features))));
  b.softcap = static_cast<float>(attention.softcap());
  b.causal = attention.is_causal();
  const bool rounds = ReadsBf16(step, context);
  const AttentionFn fn =
      rounds ? Avx512Bf16Attention() : ForIsa(context.isa, Avx512Attention, Avx2Attention);
  auto call = std::make_unique<AttentionCall>(b, fn, context.threads);
  call->rounds = rounds;
  const int batch_rank = q.rank() - 2;
  call->batch_dims.assign(q.dims.begin(), q.dims.end() - 2);
  for (int64_t d : call->batch_dims) call->batches *= d;
  call->queries = q.dims[q.rank() - 2];
  call->q = HeadsOf(q, batch_rank);
  call->k = HeadsOf(k, batch_rank);
  call->v = HeadsOf(v, batch_rank);
  call->y = HeadsOf(y, batch_rank);
  call->masked = masked;
  if (masked) call->mask = HeadsOf(step.args[3], batch_rank);
  if (batch_rank > 0) {
    const int64_t heads = q.dims[batch_rank - 1];
    call->k.shared = call->v.shared = std::max<int64_t>(1, heads / k.dims[batch_rank - 1]);
  }
  call->JoinHeads();
  call->ChooseBlocks();
  return call;
}

}  // namespace weft::cpu
