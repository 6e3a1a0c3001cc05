#include "backends/cuda/device/memory_order.h"

#include <algorithm>
#include <iterator>

#include "backends/cuda/device/cuda_device.h"

namespace weft::cuda {
namespace {

CuAddress EndOf(const OperandRange& range) {
  return range.begin + static_cast<CuAddress>(std::max<int64_t>(range.bytes, 0));
}

}  // namespace

MemoryOrder::Pieces::iterator MemoryOrder::Cut(CuAddress address) {
  auto it = pieces_.lower_bound(address);
  if (it == pieces_.begin()) return it;
  const auto before = std::prev(it);
  if (before->second.end <= address) return it;
  Piece behind = before->second;
  before->second.end = address;
  return pieces_.emplace_hint(it, address, std::move(behind));
}

void MemoryOrder::Read(const OperandRange& range, int work) {
  const CuAddress end = EndOf(range);
  Cut(end);
  CuAddress at = range.begin;
  for (auto it = Cut(at); at < end; ++it) {
    // Memory without a history lies before the next piece.
    if (it == pieces_.end() || it->first > at) {
      const CuAddress next = it == pieces_.end() ? end : std::min(end, it->first);
      it = pieces_.emplace_hint(it, at, Piece{next, -1, {}});
    }
    std::vector<int>& readers = it->second.readers;
    if (readers.empty() || readers.back() != work) readers.push_back(work);
    at = it->second.end;
  }
}

void MemoryOrder::Write(const OperandRange& range, int work) {
  const CuAddress end = EndOf(range);
  const auto last = Cut(end);
  const auto behind = pieces_.erase(Cut(range.begin), last);
  pieces_.emplace_hint(behind, range.begin, Piece{end, work, {}});
}

const std::vector<int>& MemoryOrder::Add(absl::Span<const OperandRange> ranges) {
  const int work = static_cast<int>(waits_.size());
  std::vector<int> waits;
  for (const OperandRange& range : ranges) {
    if (range.bytes <= 0) continue;
    const auto end = Cut(EndOf(range));
    for (auto it = Cut(range.begin); it != end; ++it) {
      const Piece& piece = it->second;
      if (piece.writer >= 0) waits.push_back(piece.writer);
      if (range.written) waits.insert(waits.end(), piece.readers.begin(), piece.readers.end());
    }
  }
  for (const OperandRange& range : ranges) {
    if (range.bytes > 0 && !range.written) Read(range, work);
  }
  for (const OperandRange& range : ranges) {
    if (range.bytes > 0 && range.written) Write(range, work);
  }
  std::sort(waits.begin(), waits.end());
  waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
  std::vector<int> direct;
  for (const int w : waits) {
    const bool through = std::any_of(waits.begin(), waits.end(), [&](int other) {
      return other > w && std::binary_search(waits_[other].begin(), waits_[other].end(), w);
    });
    if (!through) direct.push_back(w);
  }
  waits_.push_back(std::move(direct));
  return waits_.back();
}

}  // namespace weft::cuda
