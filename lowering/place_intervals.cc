#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "lowering/memory_plan.h"

namespace weft {
namespace {

constexpr size_t kMaxExact = 500;        // Intervals that are searched.
constexpr size_t kMaxGreedy = 5000;      // Placed by size, which is quadratic.
constexpr int64_t kSearchWork = 600000;  // Steps times intervals.

using Intervals = absl::Span<const MemoryInterval>;

bool Overlap(const MemoryInterval& a, const MemoryInterval& b) {
  return a.first <= b.last && b.first <= a.last;
}

int64_t TotalOf(Intervals in, const std::vector<int64_t>& offsets) {
  int64_t total = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    total = std::max(total, offsets[i] + in[i].bytes);
  }
  return total;
}

// Places intervals in this order, each in the lowest gap that is large enough.
std::vector<int64_t> PlaceInOrder(Intervals in, absl::Span<const int> order) {
  std::vector<int64_t> offsets(in.size(), 0);
  std::vector<int> placed;  // By offset.
  for (int i : order) {
    int64_t at = 0;
    int64_t best = -1;
    int64_t best_gap = std::numeric_limits<int64_t>::max();
    for (int p : placed) {
      if (!Overlap(in[i], in[p])) continue;
      const int64_t gap = offsets[p] - at;
      if (gap >= in[i].bytes && gap < best_gap) {
        best = at;
        best_gap = gap;
      }
      at = std::max(at, offsets[p] + in[p].bytes);
    }
    offsets[i] = best >= 0 ? best : at;
    const auto behind = [&](int64_t offset, int p) { return offset < offsets[p]; };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), offsets[i], behind), i);
  }
  return offsets;
}

// A walk through time with a list of free blocks, best fit first.
std::vector<int64_t> PlaceInTime(Intervals in) {
  std::vector<int> starts(in.size());
  std::iota(starts.begin(), starts.end(), 0);
  std::vector<int> ends = starts;
  std::stable_sort(starts.begin(), starts.end(), [&](int a, int b) {
    return std::make_pair(in[a].first, -in[a].bytes) < std::make_pair(in[b].first, -in[b].bytes);
  });
  std::stable_sort(ends.begin(), ends.end(), [&](int a, int b) { return in[a].last < in[b].last; });
  std::vector<int64_t> offsets(in.size(), 0);
  std::map<int64_t, int64_t> free;                // Offset to size.
  std::set<std::pair<int64_t, int64_t>> by_size;  // Size, offset.
  int64_t top = 0;
  const auto give = [&](int64_t at, int64_t size) {
    auto next = free.lower_bound(at);
    if (next != free.end() && next->first == at + size) {
      size += next->second;
      by_size.erase({next->second, next->first});
      next = free.erase(next);
    }
    if (next != free.begin()) {
      auto before = std::prev(next);
      if (before->first + before->second == at) {
        at = before->first;
        size += before->second;
        by_size.erase({before->second, before->first});
        free.erase(before);
      }
    }
    free[at] = size;
    by_size.insert({size, at});
  };
  size_t ended = 0;
  for (int i : starts) {
    while (ended < ends.size() && in[ends[ended]].last < in[i].first) {
      const int e = ends[ended++];
      if (in[e].bytes > 0) give(offsets[e], in[e].bytes);
    }
    if (in[i].bytes == 0) continue;
    auto fit = by_size.lower_bound({in[i].bytes, -1});
    if (fit == by_size.end()) {
      // The last block may reach the top.
      offsets[i] = top;
      if (!free.empty() && free.rbegin()->first + free.rbegin()->second == top) {
        const auto [at, size] = *free.rbegin();
        offsets[i] = at;
        by_size.erase({size, at});
        free.erase(at);
      }
      top = offsets[i] + in[i].bytes;
      continue;
    }
    const auto [size, at] = *fit;
    by_size.erase(fit);
    free.erase(at);
    offsets[i] = at;
    if (size > in[i].bytes) give(at + in[i].bytes, size - in[i].bytes);
  }
  return offsets;
}

// Places intervals from the bottom up: the next one is always as low as the intervals placed so far
// allow, and no other one would fit below it. Every layout can be compacted to that form, so the
// search is complete.
class Search {
 public:
  explicit Search(Intervals in) : in_(in), neighbours_(in.size()) {
    for (size_t i = 0; i < in.size(); ++i) {
      for (size_t j = 0; j < in.size(); ++j) {
        if (i != j && Overlap(in[i], in[j])) {
          neighbours_[i].push_back(static_cast<int>(j));
        }
      }
    }
  }

  // Offsets below `limit`, if some are found in time.
  bool Run(int64_t limit, int64_t* steps, std::vector<int64_t>* offsets) {
    limit_ = limit;
    floor_.assign(in_.size(), 0);
    offset_.assign(in_.size(), -1);
    frames_.clear();
    if (!Push(0)) return false;
    while (!frames_.empty()) {
      if (--*steps < 0) return false;
      Frame& frame = frames_.back();
      if (frame.placed >= 0) Undo(&frame);
      if (frame.next == frame.candidates.size()) {
        frames_.pop_back();
        continue;
      }
      const int i = frame.candidates[frame.next++];
      if (!Place(i, &frame)) continue;
      if (frames_.size() == in_.size()) {
        *offsets = offset_;
        return true;
      }
      Push(offset_[i]);
    }
    return false;
  }

 private:
  struct Frame {
    std::vector<int> candidates;
    size_t next = 0;
    int placed = -1;
    std::vector<std::pair<int, int64_t>> floors;  // Before.
  };

  // Candidates above `least`; false when some interval has no place any more.
  bool Push(int64_t least) {
    Frame frame;
    int64_t reach = std::numeric_limits<int64_t>::max();
    for (size_t i = 0; i < in_.size(); ++i) {
      if (offset_[i] >= 0) continue;
      reach = std::min(reach, floor_[i] + in_[i].bytes);
      // If it were lower than the last one placed, it would have been placed earlier.
      if (floor_[i] >= least) frame.candidates.push_back(static_cast<int>(i));
    }
    // An interval that fits entirely below a candidate is placed before it.
    auto& c = frame.candidates;
    c.erase(std::remove_if(c.begin(), c.end(), [&](int i) { return floor_[i] >= reach; }), c.end());
    std::stable_sort(c.begin(), c.end(), [&](int a, int b) {
      if (floor_[a] != floor_[b]) return floor_[a] < floor_[b];
      if (in_[a].bytes != in_[b].bytes) return in_[a].bytes > in_[b].bytes;
      return in_[a].last - in_[a].first > in_[b].last - in_[b].first;
    });
    frames_.push_back(std::move(frame));
    return true;
  }

  bool Place(int i, Frame* frame) {
    offset_[i] = floor_[i];
    frame->placed = i;
    const int64_t top = floor_[i] + in_[i].bytes;
    bool fits = top < limit_;
    for (int j : neighbours_[i]) {
      if (offset_[j] >= 0 || floor_[j] >= top) continue;
      frame->floors.push_back({j, floor_[j]});
      floor_[j] = top;
      fits = fits && top + in_[j].bytes < limit_;
    }
    return fits;
  }

  void Undo(Frame* frame) {
    offset_[frame->placed] = -1;
    for (const auto& [j, floor] : frame->floors) floor_[j] = floor;
    frame->floors.clear();
    frame->placed = -1;
  }

  Intervals in_;
  std::vector<std::vector<int>> neighbours_;
  int64_t limit_ = 0;
  std::vector<int64_t> floor_;
  std::vector<int64_t> offset_;
  std::vector<Frame> frames_;
};

}  // namespace

int64_t LiveBytes(Intervals in) {
  std::map<int, int64_t> change;
  for (const MemoryInterval& i : in) {
    change[i.first] += i.bytes;
    change[i.last + 1] -= i.bytes;
  }
  int64_t live = 0;
  int64_t most = 0;
  for (const auto& [time, bytes] : change) {
    live += bytes;
    most = std::max(most, live);
  }
  return most;
}

std::vector<int64_t> PlaceIntervals(Intervals in, int64_t* total) {
  const int64_t bound = LiveBytes(in);
  std::vector<int64_t> best = PlaceInTime(in);
  *total = TotalOf(in, best);
  const auto consider = [&](std::vector<int64_t> offsets) {
    const int64_t size = TotalOf(in, offsets);
    if (size >= *total) return;
    *total = size;
    best = std::move(offsets);
  };
  if (*total == bound || in.size() > kMaxGreedy) return best;
  std::vector<int> order(in.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return in[a].bytes > in[b].bytes; });
  consider(PlaceInOrder(in, order));
  const auto area = [&](int i) {
    return static_cast<double>(in[i].bytes) * (in[i].last - in[i].first + 1);
  };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return area(a) > area(b); });
  consider(PlaceInOrder(in, order));
  if (in.size() > kMaxExact) return best;
  Search search(in);
  int64_t steps = kSearchWork / static_cast<int64_t>(in.size());
  std::vector<int64_t> offsets;
  while (*total > bound && steps > 0 && search.Run(*total, &steps, &offsets)) {
    consider(offsets);
  }
  return best;
}

}  // namespace weft
