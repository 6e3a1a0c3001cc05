// Compiles one stage of a nest to ops on tiles.
#ifndef WEFT_BACKENDS_CPU_INTERPRETER_TILE_STAGE_H_
#define WEFT_BACKENDS_CPU_INTERPRETER_TILE_STAGE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "backends/cpu/interpreter/tile_loops.h"
#include "backends/cpu/interpreter/tile_program.h"
#include "base/align.h"
#include "lowering/kernel.h"

namespace weft::cpu {

inline constexpr int64_t kTileAlign = 64;

inline int64_t AlignTile(int64_t bytes) { return AlignUp(bytes, kTileAlign); }
// Bytes of an element in a tile.
inline int64_t TileBytes(DType dtype) { return DTypeBits(ComputeDType(dtype)) / 8; }

// Memory of constants: one element, or a tile of copies.
class ConstantPool {
 public:
  ConstantPool(const TileTable& table, std::vector<int64_t>* memory)
      : table_(table), memory_(memory) {}

  int64_t Add(DType dtype, const void* element, int64_t n) {
    const int64_t at = static_cast<int64_t>(memory_->size()) * 8;
    memory_->resize(memory_->size() + AlignTile(n * TileBytes(dtype)) / 8);
    table_.broadcast(dtype)(Data(at), element, nullptr, nullptr, n);
    return at;
  }
  void* Data(int64_t at) { return reinterpret_cast<char*>(memory_->data()) + at; }

 private:
  const TileTable& table_;
  std::vector<int64_t>* memory_;
};

// Slots of a thread's workspace, which values share if their lifetimes do not overlap.
class SlotPool {
 public:
  explicit SlotPool(int64_t start) : end_(start) {}

  int64_t Take(int64_t bytes) {
    for (size_t i = 0; i < free_.size(); ++i) {
      if (free_[i].second != bytes) continue;
      const int64_t at = free_[i].first;
      free_.erase(free_.begin() + i);
      return at;
    }
    const int64_t at = end_;
    end_ += bytes;
    return at;
  }
  void Give(int64_t at, int64_t bytes) { free_.push_back({at, bytes}); }
  int64_t end() const { return end_; }

 private:
  std::vector<std::pair<int64_t, int64_t>> free_;
  int64_t end_;
};

// Properties of a stage's values: the instructions of the body, then temporaries.
struct StageValues {
  std::vector<DType> dtypes;
  std::vector<bool> uniform;  // Equal in all lanes.
};

// The nest has its loops, rows and reductions; the stage refers to these by number.
struct StageContext {
  const Kernel& kernel;
  const Nest& from;
  const NestLoops& loops;
  const TileTable& table;
  SizeFn value_of;
  ConstantPool& constants;
  const TileNest& nest;
};

// Compiles the ops and values of a stage whose addresses are complete. Unimplemented for a dtype
// that kernels do not support.
absl::Status CompileStage(const StageContext& context, const Stage& stage, TileStage* out,
                          StageValues* values);

// Gives slots to values without memory. A value lives from its first to its last op; a value that
// is computed into memory takes no slot.
void PlaceValues(const StageValues& values, int64_t tile, TileStage& stage, SlotPool& pool);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_INTERPRETER_TILE_STAGE_H_
