// Constant weights packed as panels of columns, one copy of each; the layout is that of
// gemm_tile.h.
#ifndef WEFT_BACKENDS_CPU_LIBRARY_PANEL_WEIGHTS_H_
#define WEFT_BACKENDS_CPU_LIBRARY_PANEL_WEIGHTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "backends/cpu/kernels/gemm_tile.h"
#include "base/host_buffer.h"

namespace weft {
class HostTensor;
struct PackedConstant;
struct PlanConstants;
}  // namespace weft

namespace weft::cpu {

// Weights in memory, f32 unless said otherwise: [columns, taps, depth] with strides in elements.
struct WeightView {
  const void* data = nullptr;
  // If set, gives `data`, which is null then, where the weights are packed.
  std::function<const void*()> load;
  int64_t columns = 0;
  int64_t taps = 1;
  int64_t depth = 0;
  int64_t column = 0;
  std::vector<int64_t> tap;  // Offset of each tap.
  int64_t step = 0;

  int64_t length() const { return taps * depth; }
};

// Columns [first, first + columns) as [length, vectors * lanes], zeros beyond them.
struct WeightPanel {
  int64_t first = 0;
  int64_t columns = 0;
  int vectors = 1;
  int64_t offset = 0;  // Offset in the packed weights, in floats.
};

struct PackedPanels {
  std::vector<WeightPanel> panels;
  const float* floats = nullptr;
  int64_t num_floats = 0;
  std::shared_ptr<HostBuffer> memory;  // Of the floats: packed here, or of a copy of the plan.

  const float* data() const { return floats; }
  const float* end() const { return floats + num_floats; }
};

// Divides the columns into panels, most of them of the full width.
std::vector<WeightPanel> PanelsFor(int64_t columns, int64_t length, const GemmTable& table);

class PanelWeights {
 public:
  // Copies of these constants replace those that Get would make. They have the names that Packed
  // gives; others are ignored. Null: there are none.
  void UseConstants(std::shared_ptr<const PlanConstants> constants) {
    constants_ = std::move(constants);
  }

  // Packs once per `key` and view; null if there is not enough memory. A key that is not negative
  // is the number of a constant in its low 32 bits, and the view's first element above them.
  std::shared_ptr<const PackedPanels> Get(int64_t key, const WeightView& view,
                                          const GemmTable& table, int threads);
  // Weights in another layout, of which equal keys mean equal contents: `pack` fills in `floats`
  // floats once. Null if there is not enough memory.
  std::shared_ptr<const HostBuffer> GetPacked(std::vector<int64_t> key, int64_t floats,
                                              absl::FunctionRef<void(float*)> pack);
  // True if weights with that key are packed.
  bool Has(int64_t key) const;
  // Copies that Get has made of constants, as UseConstants takes them, by the constant's number.
  std::vector<std::pair<int, PackedConstant>> Packed() const;
  // Bytes that are packed here.
  int64_t bytes() const { return bytes_; }

 private:
  // The key, the view without its data, and the lanes.
  using Key = std::vector<int64_t>;
  struct Own {
    int64_t key = 0;
    std::string layout;
    std::shared_ptr<const PackedPanels> packed;
  };
  const HostTensor* FindCopy(int64_t key, const std::string& layout, int64_t floats) const;

  std::shared_ptr<const PlanConstants> constants_;
  absl::flat_hash_map<Key, std::shared_ptr<const PackedPanels>> packed_;
  std::vector<Own> own_;  // Those that are packed here, of constants.
  absl::flat_hash_map<Key, std::shared_ptr<const HostBuffer>> others_;
  absl::flat_hash_set<int64_t> keys_;
  int64_t bytes_ = 0;
};

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LIBRARY_PANEL_WEIGHTS_H_
