#include "serialize/html/order_diff.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"

namespace weft {
namespace {

// Marks a longest increasing subsequence of `places`; negative ones are skipped.
std::vector<char> LongestIncreasing(const std::vector<int>& places) {
  std::vector<int> ends;  // Smallest end of a subsequence of each length, as an index.
  std::vector<int> previous(places.size(), -1);
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] < 0) continue;
    const auto it = std::lower_bound(ends.begin(), ends.end(), places[i],
                                     [&](int end, int place) { return places[end] < place; });
    if (it != ends.begin()) previous[i] = *(it - 1);
    if (it == ends.end()) {
      ends.push_back(static_cast<int>(i));
    } else {
      *it = static_cast<int>(i);
    }
  }
  std::vector<char> in_run(places.size());
  for (int i = ends.empty() ? -1 : ends.back(); i >= 0; i = previous[i]) in_run[i] = true;
  return in_run;
}

}  // namespace

std::vector<OrderEdit> DiffOrder(const std::vector<int>& before, const std::vector<int>& after) {
  if (before == after) return {};
  absl::flat_hash_map<int, int> place;
  for (size_t i = 0; i < before.size(); ++i) place.emplace(before[i], static_cast<int>(i));
  std::vector<int> places;
  places.reserve(after.size());
  for (int item : after) {
    auto it = place.find(item);
    places.push_back(it == place.end() ? -1 : it->second);
  }
  const std::vector<char> stays = LongestIncreasing(places);
  std::vector<OrderEdit> edits;
  for (size_t i = 0; i < after.size(); ++i) {
    if (!stays[i]) edits.push_back({after[i], i == 0 ? -1 : after[i - 1]});
  }
  return edits;
}

std::vector<int> ApplyOrderEdits(const std::vector<int>& rest,
                                 const std::vector<OrderEdit>& edits) {
  std::vector<int> result;
  result.reserve(rest.size() + edits.size());
  size_t next = 0;
  // Edits are in the order of the result, so each is applied at its end.
  const auto take = [&](int end) {
    while (next < edits.size() && edits[next].after == end) {
      end = edits[next++].item;
      result.push_back(end);
    }
  };
  take(-1);
  for (int item : rest) {
    result.push_back(item);
    take(item);
  }
  return result;
}

}  // namespace weft
