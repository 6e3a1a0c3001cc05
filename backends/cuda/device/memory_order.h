// The order of work that shares memory.
#ifndef WEFT_BACKENDS_CUDA_DEVICE_MEMORY_ORDER_H_
#define WEFT_BACKENDS_CUDA_DEVICE_MEMORY_ORDER_H_

#include <map>
#include <vector>

#include "absl/types/span.h"
#include "backends/cuda/driver/driver_api.h"

namespace weft::cuda {

struct OperandRange;

// Works are added in an order in which they may run. Each then has to wait for the earlier ones
// that wrote what it accesses, or read what it writes.
class MemoryOrder {
 public:
  // Adds a work that accesses these ranges; a range may overlap others. Returns the numbers of
  // earlier works that it waits for, in ascending order. Some of those that it waits for through
  // another one are left out.
  const std::vector<int>& Add(absl::Span<const OperandRange> ranges);

 private:
  // Memory with the same history.
  struct Piece {
    CuAddress end = 0;
    int writer = -1;           // The last one; -1: none.
    std::vector<int> readers;  // Those since then.
  };
  using Pieces = std::map<CuAddress, Piece>;  // By begin; they do not overlap.

  // The first piece at or behind the address; a piece that the address is inside of is cut there.
  Pieces::iterator Cut(CuAddress address);
  void Read(const OperandRange& range, int work);
  void Write(const OperandRange& range, int work);

  Pieces pieces_;
  std::vector<std::vector<int>> waits_;  // By work.
};

}  // namespace weft::cuda

#endif  // WEFT_BACKENDS_CUDA_DEVICE_MEMORY_ORDER_H_
