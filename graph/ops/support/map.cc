#include "graph/ops/support/map.h"

#include <algorithm>
#include <utility>

#include "graph/ops/support/infer.h"

namespace weft::ops {

MapIndex MapVar(int var, SymInt factor, SymInt offset) {
  MapIndex index;
  index.offset = offset;
  index.terms.push_back({var, factor});
  return index;
}

MapIndex MapNumber(SymInt offset) {
  MapIndex index;
  index.offset = offset;
  return index;
}

std::vector<MapIndex> MapVars(int begin, int end) {
  std::vector<MapIndex> at;
  for (int d = begin; d < end; ++d) at.push_back(MapVar(d));
  return at;
}

ElementMap MapMove(int rank, std::vector<MapIndex> at) {
  ElementMap map;
  map.rank = rank;
  map.accesses.emplace_back();
  map.accesses[0].at = std::move(at);
  return map;
}

ElementMap MapSameNumber(int rank) {
  ElementMap map = MapMove(rank, {});
  map.accesses[0].form = OperandAccess::Form::kSameNumber;
  return map;
}

ElementMap MapReduced(const MapArgs& args, absl::Span<const int> axes, bool keepdim) {
  const Type self = args.operands[0];
  ElementMap map = MapMove(args.out().rank(), {});
  map.kind = ElementMap::Kind::kCombine;
  int kept = 0;
  for (int d = 0; d < self.rank(); ++d) {
    if (std::find(axes.begin(), axes.end(), d) == axes.end()) {
      map.accesses[0].at.push_back(MapVar(kept++));
      continue;
    }
    map.accesses[0].at.push_back(
        MapVar(map.first_reduced() + static_cast<int>(map.reduced.size())));
    map.reduced.push_back(self.dim(d));
    if (keepdim) ++kept;
  }
  return map;
}

std::optional<ElementMap> MapReduction(const MapArgs& args) {
  const auto axes = ReducedAxes(args.attrs().Ints("dim"), args.operands[0].rank());
  if (!axes.ok()) return std::nullopt;
  return MapReduced(args, *axes, args.attrs().Bool("keepdim"));
}

}  // namespace weft::ops
