// sort and topk: elements become unsigned keys in their order, and the keys of a line are sorted
// with the positions that break ties.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>

#include "backends/cpu/kernels/order_keys.h"
#include "backends/cpu/kernels/order_tile.h"
#include "backends/cpu/library/library_internal.h"
#include "backends/cpu/library/lines.h"
#include "backends/cpu/library/routine_ops.h"
#include "backends/cpu/threads/parallel.h"

namespace weft::cpu {
namespace {

// A key of 32 bits or fewer, and the position below it.
struct Packed {
  static Packed Of(uint64_t key, int64_t at) { return {key << 32 | static_cast<uint64_t>(at)}; }
  int64_t at() const { return static_cast<int64_t>(word & 0xffffffff); }
  uint64_t Key() const { return word >> 32; }
  friend bool operator<(Packed a, Packed b) { return a.word < b.word; }

  uint64_t word;
};

struct Pair {
  static Pair Of(uint64_t key, int64_t at) { return {key, at}; }
  int64_t at() const { return position; }
  uint64_t Key() const { return key; }
  friend bool operator<(const Pair& a, const Pair& b) {
    return a.key != b.key ? a.key < b.key : a.position < b.position;
  }

  uint64_t key;
  int64_t position;
};

struct SortShape {
  Lines lines;
  int64_t k = 0;  // The first ones that are wanted.
  bool descending = false;
  DType dtype = DType::kF32;
  int64_t bytes = 0;  // Of an element.
  NextBlockFn next_block = nullptr;
};

constexpr int64_t kBlock = kOrderBlock;

template <typename Item>
class SortCall : public LibraryCall {
 public:
  SortCall(const SortShape& shape, int threads)
      : s_(shape), threads_(ThreadsOfLines(s_.lines, s_.lines.outer * s_.lines.inner, threads)) {}

  std::string name() const override { return "sort"; }
  int64_t scratch_bytes() const override {
    return threads_ * ItemsOfThread() * static_cast<int64_t>(sizeof(Item));
  }

  absl::Status Run(const CallMemory& memory) override {
    const auto* x = static_cast<const char*>(memory.args[0]);
    auto* values = static_cast<char*>(memory.results[0]);
    auto* positions = static_cast<int64_t*>(memory.results[1]);
    auto* scratch = static_cast<Item*>(memory.scratch);
    const int64_t lines = s_.lines.outer * s_.lines.inner;
    ForEach(threads_, lines, [&](int64_t line, const TeamMember& member) {
      Item* items = scratch + member.index * ItemsOfThread();
      const int64_t o = line / s_.lines.inner, i = line % s_.lines.inner;
      const char* from = x + (o * s_.lines.size * s_.lines.inner + i) * s_.bytes;
      Order(from, items);
      for (int64_t r = 0; r < s_.k; ++r) {
        const int64_t to = (o * s_.k + r) * s_.lines.inner + i;
        const int64_t at = items[r].at();
        if (values != nullptr) {
          std::memcpy(values + to * s_.bytes, from + at * s_.lines.inner * s_.bytes, s_.bytes);
        }
        if (positions != nullptr) positions[to] = at;
      }
    });
    return absl::OkStatus();
  }

 private:
  // Collect() stops below 4 * k + kBlock items, and adds a block to them.
  int64_t ItemsOfThread() const { return std::min(s_.lines.size, 4 * s_.k + 2 * kBlock); }

  // Puts the first k items of a line in order.
  void Order(const char* from, Item* items) const {
    WithKey(s_.dtype, [&](auto bits, auto key) {
      using Bits = decltype(bits);
      const auto* x = reinterpret_cast<const Bits*>(from);
      const auto flip = static_cast<Bits>(s_.descending ? ~Bits{0} : Bits{0});
      Collect([=](int64_t p) { return static_cast<Bits>(key(x[p]) ^ flip); }, from, items);
    });
    std::sort(items, items + s_.k);
  }

  // Stores the first k items of a line, in any order, before others. What comes behind k items that
  // are known is left out.
  template <typename KeyAt>
  void Collect(KeyAt key_at, const char* from, Item* items) const {
    using Key = decltype(key_at(0));
    const int64_t n = s_.lines.size, k = s_.k, room = 4 * k + kBlock, step = s_.lines.inner;
    if (k == 0) return;
    Item* end = items;
    Key bound = std::numeric_limits<Key>::max();
    for (int64_t begin = 0; begin < n; begin += kBlock) {
      // Keys within the bound have this rank. NaN has it too, even where it comes last.
      if (step == 1) begin = s_.next_block(from, begin, n, static_cast<Key>(~bound));
      const int64_t count = std::min(kBlock, n - begin);
      for (int64_t p = begin; p < begin + count; ++p) {
        const Key key = key_at(p * step);
        if (key <= bound) *end++ = Item::Of(key, p);
      }
      if (end - items < room) continue;
      std::nth_element(items, items + k - 1, end);
      bound = static_cast<Key>(items[k - 1].Key());
      end = items + k;
    }
    if (end - items > k) std::nth_element(items, items + k - 1, end);
  }

  const SortShape s_;
  const int threads_;
};

}  // namespace

LibraryCallOr MakeSortCall(const LibraryStep& step, const LibraryContext& context) {
  const bool sorts = step.op == RoutineOp::kSort;
  const RunView& x = step.args[0];
  SortShape shape;
  shape.dtype = x.dtype;
  shape.bytes = DTypeBits(x.dtype) / 8;
  const int64_t dim =
      sorts ? SortAttrs(step.schema, step.attrs).dim() : TopkAttrs(step.schema, step.attrs).dim();
  if (!step.epilogue.empty() || !x.dense() || step.more_results.size() != 1 ||
      !FindLines(x, dim, &shape.lines) || shape.lines.size > std::numeric_limits<int32_t>::max()) {
    return absl::UnimplementedError("such a sort");
  }
  shape.k = sorts ? shape.lines.size : TopkAttrs(step.schema, step.attrs).k().value();
  shape.descending = sorts ? SortAttrs(step.schema, step.attrs).descending()
                           : TopkAttrs(step.schema, step.attrs).largest();
  const int64_t numel = shape.lines.outer * shape.k * shape.lines.inner;
  for (const RunView* view : {&step.result, &step.more_results[0]}) {
    if (view->present() && (!view->dense() || view->numel() != numel)) {
      return absl::UnimplementedError("such results of a sort");
    }
  }
  // A plan from a file may have any dtypes.
  if (shape.k < 0 || shape.k > shape.lines.size || !HasKey(x.dtype) ||
      (step.result.present() && step.result.dtype != x.dtype) ||
      (step.more_results[0].present() && step.more_results[0].dtype != DType::kI64)) {
    return absl::UnimplementedError("a sort of such elements");
  }
  shape.next_block =
      ForIsa(context.isa, Avx512Order, Avx2Order).next_block(x.dtype, shape.descending);
  if (shape.bytes == 8) return std::make_unique<SortCall<Pair>>(shape, context.threads);
  return std::make_unique<SortCall<Packed>>(shape, context.threads);
}

}  // namespace weft::cpu
