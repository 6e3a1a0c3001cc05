#include "backends/cpu/interpreter/interpreter.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "backends/cpu/threads/parallel.h"

namespace weft::cpu {
namespace {

// Below this many elements a nest runs on one thread.
constexpr int64_t kParallelCost = 1 << 15;

// One thread's run of a nest.
class Worker {
 public:
  Worker(const TileProgram& program, const TileNest& nest, void* const* args, char* workspace)
      : nest_(nest),
        args_(args),
        workspace_(workspace),
        values_(reinterpret_cast<char**>(workspace + program.values_at)),
        index_(reinterpret_cast<int64_t*>(workspace + program.loops_at)) {
    char* constants = reinterpret_cast<char*>(const_cast<int64_t*>(program.constants.data()));
    for (const TileStage& stage : nest.stages) {
      char** values = values_ + stage.values_at;
      for (size_t v = 0; v < stage.values.size(); ++v) {
        const TileValue& value = stage.values[v];
        values[v] = value.place == TileValue::Place::kConstant ? constants + value.offset
                                                               : workspace + value.offset;
      }
    }
  }

  void Run(int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) RunItem(item);
  }
  bool inside() const { return inside_; }

 private:
  void RunItem(int64_t item) {
    std::fill_n(index_, nest_.loops.size(), 0);
    lanes_ = 1;
    for (int i = static_cast<int>(nest_.loops.size()) - 1; i >= 0; --i) {
      const TileLoop& loop = nest_.loops[i];
      if (loop.inner) continue;
      const int64_t n = i == nest_.lane ? nest_.lane_tiles : loop.extent;
      index_[i] = item % n;
      item /= n;
    }
    if (nest_.columns) {
      index_[nest_.lane] *= nest_.tile;
      lanes_ = std::min(nest_.tile, nest_.loops[nest_.lane].extent - index_[nest_.lane]);
    }
    for (const TileStage& stage : nest_.stages) RunStage(stage);
  }

  void RunStage(const TileStage& stage) {
    values_here_ = values_ + stage.values_at;
    point_ = 0;
    if (stage.per_row) return RunBody(stage, lanes_);
    StartReductions(stage);
    if (nest_.columns) {
      RunColumns(stage);
    } else {
      RunRow(stage);
    }
    FinishReductions(stage);
  }

  // Runs all inner points for the lanes of the tile.
  void RunColumns(const TileStage& stage) {
    for (int64_t point = 0; point < nest_.inner_points; ++point) {
      point_ = point * nest_.tile;
      RunBody(stage, lanes_);
      if ((point + 1) % nest_.block == 0) AddBlocks(stage);
      NextInner(-1);
    }
  }

  // Runs a row: the lanes are inner points.
  void RunRow(const TileStage& stage) {
    if (nest_.lane < 0) {
      if (nest_.inner_points > 0) RunBody(stage, 1);
      return;
    }
    const int64_t extent = nest_.loops[nest_.lane].extent;
    const int64_t rows = extent > 0 ? nest_.inner_points / extent : 0;
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t start = 0; start < extent; start += nest_.tile) {
        index_[nest_.lane] = start;
        point_ = row * extent + start;
        RunBody(stage, std::min(nest_.tile, extent - start));
        // A block ends where a tile does.
        const int64_t end = start + nest_.tile;
        if (end <= extent && end % nest_.block == 0) AddBlocks(stage);
      }
      index_[nest_.lane] = 0;
      NextInner(nest_.lane);
    }
  }

  // Advances the inner loops, except `skip`, to the next point.
  void NextInner(int skip) {
    for (int i = static_cast<int>(nest_.loops.size()) - 1; i >= 0 && nest_.loops[i].inner; --i) {
      if (i == skip) continue;
      if (++index_[i] < nest_.loops[i].extent) return;
      index_[i] = 0;
    }
  }

  // --- Reductions -----------------------------------------------------------------

  int64_t* At(const TileReduction& r) { return reinterpret_cast<int64_t*>(workspace_ + r.at); }

  // Number of accumulators of the reduction.
  int64_t Accumulators(const TileReduction& r) const {
    if (nest_.columns) return lanes_;
    return r.arg ? 1 : nest_.lanes * r.copies;
  }
  void Start(const TileReduction& r, int64_t at) {
    r.start(workspace_ + at, nullptr, nullptr, nullptr, Accumulators(r));
  }

  void StartReductions(const TileStage& stage) {
    for (int i = 0; i < stage.num_reductions; ++i) {
      const TileReduction& r = nest_.reductions[stage.first_reduction + i];
      Start(r, r.acc);
      if (r.blocked) Start(r, r.sum);
      if (r.arg) std::fill_n(At(r), Accumulators(r), -1);
    }
  }

  // Adds the accumulators to the block sums and starts a new block.
  void AddBlocks(const TileStage& stage) {
    for (int i = 0; i < stage.num_reductions; ++i) {
      const TileReduction& r = nest_.reductions[stage.first_reduction + i];
      if (!r.blocked) continue;
      r.add(workspace_ + r.sum, nullptr, workspace_ + r.acc, Accumulators(r), 0, 0);
      Start(r, r.acc);
    }
  }

  void FinishReductions(const TileStage& stage) {
    for (int i = 0; i < stage.num_reductions; ++i) {
      const TileReduction& r = nest_.reductions[stage.first_reduction + i];
      if (r.arg) {
        int64_t* at = At(r);
        for (int64_t k = 0; k < Accumulators(r); ++k) at[k] = std::max<int64_t>(at[k], 0);
        if (!nest_.columns) std::memcpy(workspace_ + r.result, at, sizeof *at);
        continue;
      }
      if (r.blocked) {
        r.add(workspace_ + r.acc, nullptr, workspace_ + r.sum, Accumulators(r), 0, 0);
      }
      if (!nest_.columns) {
        r.finish(workspace_ + r.result, workspace_ + r.acc, nest_.lanes, r.copies);
      }
    }
  }

  void Reduce(const TileOp& op, int64_t n) {
    const TileReduction& r = nest_.reductions[op.loop];
    if (op.reduce_row != nullptr) {
      op.reduce_row(workspace_ + r.acc, values_here_[op.a], n, nest_.lanes, r.copies);
      return;
    }
    int64_t position = 0;
    if (r.arg) {
      for (size_t i = 0; i < nest_.loops.size(); ++i) {
        position += index_[i] * nest_.loops[i].position;
      }
    }
    const int64_t step = nest_.lane < 0 ? 0 : nest_.loops[nest_.lane].position;
    op.reduce(workspace_ + r.acc, At(r), values_here_[op.a], n, position, step);
  }

  // --- Memory -----------------------------------------------------------------------

  char* Row(int row) {
    const TileRow& r = nest_.rows[row];
    return workspace_ + r.offset + point_ * r.bytes;
  }

  // The offset of the access, in elements, uniform terms included.
  int64_t OffsetOf(const TileAddress& address) {
    int64_t offset = address.offset;
    for (size_t i = 0; i < nest_.loops.size(); ++i) offset += index_[i] * address.strides[i];
    for (const TileTerm& term : address.terms) {
      if (term.uniform)
        inside_ &= term.fn(&offset, values_here_[term.value], term.stride, term.bound, 1);
    }
    return offset;
  }
  char* Pointer(const TileAddress& address, int64_t offset) {
    return static_cast<char*>(args_[address.arg]) + offset * address.element_bytes;
  }

  // The range of lanes [first, last) that pass all guards.
  void Guarded(const TileAddress& address, bool uniform, int64_t n, int64_t* first, int64_t* last) {
    *first = 0;
    *last = n;
    for (const TileGuard& guard : address.guards) {
      int64_t at = guard.offset;
      for (size_t i = 0; i < nest_.loops.size(); ++i) at += index_[i] * guard.strides[i];
      const int64_t stride = uniform || nest_.lane < 0 ? 0 : guard.strides[nest_.lane];
      // 0 <= at + stride * i < bound.
      if (stride == 0) {
        if (at < 0 || at >= guard.bound) *last = 0;
      } else if (stride > 0) {
        *first = std::max(*first, CeilDiv(-at, stride));
        *last = std::min(*last, CeilDiv(guard.bound - at, stride));
      } else {
        *first = std::max(*first, CeilDiv(at - guard.bound + 1, -stride));
        *last = std::min(*last, CeilDiv(at + 1, -stride));
      }
    }
    *last = std::max(*first, *last);
  }
  static int64_t CeilDiv(int64_t a, int64_t b) { return a > 0 ? (a + b - 1) / b : -(-a / b); }

  // Offsets of `n` lanes from lane `first` on.
  int64_t* Offsets(const TileAddress& address, int64_t offset, int64_t first, int64_t n) {
    int64_t* offsets = reinterpret_cast<int64_t*>(workspace_);
    for (int64_t i = 0; i < n; ++i) offsets[i] = offset + (first + i) * address.lane_stride;
    for (const TileTerm& term : address.terms) {
      if (term.uniform) continue;
      const char* index = values_here_[term.value] + first * term.bytes;
      inside_ &= term.fn(offsets, index, term.stride, term.bound, n);
    }
    return offsets;
  }

  void Load(const TileStage& stage, const TileOp& op, int64_t n) {
    const TileAddress& address = stage.addresses[op.address];
    int64_t first = 0;
    int64_t last = n;
    char*& dst = values_here_[op.dst];
    if (op.move == nullptr) {
      dst = Pointer(address, OffsetOf(address));
      return;
    }
    if (!address.guards.empty()) {
      Guarded(address, op.uniform, n, &first, &last);
      if (first > 0 || last < n) {
        // `otherwise` has one element if the load is uniform, else one per lane.
        op.broadcast(dst, values_here_[op.a], nullptr, nullptr, op.uniform ? 1 : 0);
        if (!op.uniform) std::memcpy(dst, values_here_[op.a], n * op.tile_bytes);
      }
      if (first == last) return;
    }
    const int64_t offset = OffsetOf(address);
    char* to = dst + first * op.tile_bytes;
    if (address.varying_terms) {
      op.gather(to, args_[address.arg], Offsets(address, offset, first, last - first),
                last - first);
    } else {
      op.move(to, Pointer(address, offset + first * address.lane_stride), address.lane_stride,
              last - first);
    }
  }

  void Store(const TileStage& stage, const TileOp& op, int64_t n) {
    const TileAddress& address = stage.addresses[op.address];
    int64_t first = 0;
    int64_t last = n;
    Guarded(address, op.uniform, n, &first, &last);
    if (first == last) return;
    const int64_t offset = OffsetOf(address);
    char* from = values_here_[op.a] + first * op.tile_bytes;
    if (address.varying_terms) {
      op.gather(from, args_[address.arg], Offsets(address, offset, first, last - first),
                last - first);
    } else {
      op.move(Pointer(address, offset + first * address.lane_stride), from, address.lane_stride,
              last - first);
    }
  }

  void RunBody(const TileStage& stage, int64_t lanes) {
    char** v = values_here_;
    for (const TileOp& op : stage.ops) {
      const int64_t n = op.uniform ? 1 : lanes;
      switch (op.kind) {
        case TileOp::Kind::kCompute:
          op.fn(v[op.dst], v[op.a], v[op.b], v[op.c], n);
          break;
        case TileOp::Kind::kLoad:
          Load(stage, op, n);
          break;
        case TileOp::Kind::kIndex:
          op.iota(v[op.dst], op.loop < 0 ? 0 : index_[op.loop], op.loop == nest_.lane ? 1 : 0, n);
          break;
        case TileOp::Kind::kRow:
        case TileOp::Kind::kKeepIn:
          v[op.dst] = Row(op.loop);
          break;
        case TileOp::Kind::kStoreIn: {
          const TileAddress& address = stage.addresses[op.address];
          v[op.dst] = Pointer(address, OffsetOf(address));
          break;
        }
        case TileOp::Kind::kKeep:
          op.move(Row(op.loop), v[op.a], 1, n);
          break;
        case TileOp::Kind::kStore:
          Store(stage, op, n);
          break;
        case TileOp::Kind::kReduce:
          Reduce(op, n);
          break;
      }
    }
  }

  const TileNest& nest_;
  void* const* args_;
  char* workspace_;
  char** values_;
  char** values_here_ = nullptr;  // Addresses of the stage's values.
  int64_t* index_;                // By loop.
  int64_t lanes_ = 1;             // Lanes of a column tile.
  int64_t point_ = 0;             // Position among the elements of a row.
  bool inside_ = true;
};

bool RunNest(const TileProgram& program, const TileNest& nest, void* const* args, char* workspace,
             int threads) {
  threads = static_cast<int>(std::min<int64_t>(threads, nest.items));
  if (threads <= 1 || nest.cost < kParallelCost) {
    Worker worker(program, nest, args, workspace);
    worker.Run(0, nest.items);
    return worker.inside();
  }
  std::atomic<bool> inside{true};
  RunTeam(threads, [&](const TeamMember& member) {
    Worker worker(program, nest, args, workspace + member.index * program.workspace_bytes);
    worker.Run(member.Begin(nest.items), member.End(nest.items));
    if (!worker.inside()) inside = false;
  });
  return inside;
}

}  // namespace

absl::Status RunTiles(const TileProgram& program, void* const* args, char* workspace, int threads) {
  bool inside = true;
  for (const TileNest& nest : program.nests) {
    inside &= RunNest(program, nest, args, workspace, threads);
  }
  if (inside) return absl::OkStatus();
  return absl::OutOfRangeError(
      absl::StrCat("kernel @", program.name, ": an index is out of bounds"));
}

}  // namespace weft::cpu
