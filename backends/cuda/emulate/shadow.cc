#include "backends/cuda/emulate/shadow.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace weft::cuda::emulate {
namespace {

constexpr size_t kWord = 4;

uint64_t StampOf(const Moment& now) { return now.interval * kMaxThreads + now.thread; }

// True if the access with this stamp is not ordered with one by the thread now.
bool Conflicts(uint64_t stamp, const Moment& now) {
  const uint64_t interval = stamp / kMaxThreads;
  if (stamp == 0 || interval < now.since) return false;
  if (interval < now.block_begin) return true;  // By another block.
  return interval == now.interval && stamp % kMaxThreads != now.thread;
}

}  // namespace

Shadow::Shadow(const char* begin, size_t bytes)
    : begin_(begin), bytes_(bytes), written_(bytes, false) {}

Shadow::~Shadow() {
  for (const Table& table : {words_, singles_}) {
    if (table.cells != nullptr) munmap(table.cells, table.count * sizeof(Cell));
  }
}

void Shadow::SetWritten(const char* at, size_t bytes, bool written) {
  const auto first = written_.begin() + (at - begin_);
  std::fill(first, first + static_cast<ptrdiff_t>(bytes), written);
}

void Shadow::CopyWritten(const char* to, const Shadow& from, const char* source, size_t bytes) {
  const auto first = from.written_.begin() + (source - from.begin_);
  std::copy_n(first, bytes, written_.begin() + (to - begin_));
}

Shadow::Cell* Shadow::CellsOf(Table* table, size_t unit) {
  if (table->cells == nullptr) {
    table->count = bytes_ / unit + 1;
    void* memory = mmap(nullptr, table->count * sizeof(Cell), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    table->cells = static_cast<Cell*>(memory);
  }
  return table->cells;
}

const char* Shadow::Touch(Cell* cell, bool write, const Moment& now) {
  const uint64_t stamp = StampOf(now);
  if (Conflicts(cell->writer, now)) {
    return write ? "no order between two writes of" : "no order between a write and a read of";
  }
  if (write) {
    if (Conflicts(cell->reader, now) || Conflicts(cell->other, now)) {
      return "no order between a read and a write of";
    }
    cell->writer = stamp;
    return nullptr;
  }
  // A read by an earlier block conflicts with every later write: it is kept.
  const uint64_t other = cell->other / kMaxThreads;
  const bool kept = other >= now.since && other < now.block_begin;
  if (!kept && cell->reader != stamp) cell->other = cell->reader;
  cell->reader = stamp;
  return nullptr;
}

const char* Shadow::Access(const char* at, size_t bytes, bool write, bool tracked,
                           const Moment& now) {
  const auto offset = static_cast<size_t>(at - begin_);
  const auto first = written_.begin() + static_cast<ptrdiff_t>(offset);
  if (write) {
    std::fill_n(first, bytes, true);
  } else if (std::find(first, first + static_cast<ptrdiff_t>(bytes), false) !=
             first + static_cast<ptrdiff_t>(bytes)) {
    return "a read of what was not written in";
  }
  if (!tracked) return nullptr;
  const bool words = bytes >= kWord;
  const size_t unit = words ? kWord : 1;
  Cell* const cells = CellsOf(words ? &words_ : &singles_, unit);
  for (size_t u = offset / unit; u * unit < offset + bytes; ++u) {
    const char* const wrong = Touch(&cells[u], write, now);
    if (wrong != nullptr) return wrong;
  }
  return nullptr;
}

}  // namespace weft::cuda::emulate
