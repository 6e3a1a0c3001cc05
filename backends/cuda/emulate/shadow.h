// What the emulation knows about each byte of a piece of memory: whether it was written, and which
// threads of the running kernel have accessed it.
#ifndef WEFT_BACKENDS_CUDA_EMULATE_SHADOW_H_
#define WEFT_BACKENDS_CUDA_EMULATE_SHADOW_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::cuda::emulate {

// When an access happens. Intervals between barriers are numbered through all blocks and launches.
struct Moment {
  uint64_t interval = 0;
  uint64_t block_begin = 0;  // First interval of the block.
  uint64_t since = 0;        // Accesses in earlier intervals cannot conflict.
  unsigned thread = 0;       // In its block; below kMaxThreads.
};

inline constexpr unsigned kMaxThreads = 1024;

class Shadow {
 public:
  // The memory from `begin` on. Nothing is written yet.
  Shadow(const char* begin, size_t bytes);
  ~Shadow();
  Shadow(const Shadow&) = delete;
  Shadow& operator=(const Shadow&) = delete;

  void SetWritten(const char* at, size_t bytes, bool written = true);
  void CopyWritten(const char* to, const Shadow& from, const char* source, size_t bytes);
  // Records an access. Returns null, or what is wrong with it: a read of unwritten bytes; with
  // `tracked`, an access that is not ordered with another thread's, one of which is a write.
  // Threads of a block are ordered by barriers, those of different blocks are not. Accesses to the
  // same bytes with less than four bytes and with more are not compared.
  const char* Access(const char* at, size_t bytes, bool write, bool tracked, const Moment& now);

 private:
  // The last accesses to a unit. A stamp is an interval and a thread; 0: none.
  struct Cell {
    uint64_t writer;
    uint64_t reader;
    uint64_t other;  // A reader in another thread than `reader`.
  };
  // A table of cells, one for each unit of the memory. Its pages exist once they are touched.
  struct Table {
    Cell* cells = nullptr;
    size_t count = 0;
  };

  Cell* CellsOf(Table* table, size_t unit);
  static const char* Touch(Cell* cell, bool write, const Moment& now);

  const char* const begin_;
  const size_t bytes_;
  std::vector<bool> written_;  // By byte.
  Table words_;                // Units of four bytes.
  Table singles_;              // Units of one byte, for smaller accesses.
};

}  // namespace weft::cuda::emulate

#endif  // WEFT_BACKENDS_CUDA_EMULATE_SHADOW_H_
