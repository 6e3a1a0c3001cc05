#include "lowering/kernel_moves.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_map.h"
#include "graph/ops/ops.h"
#include "graph/sym/sym_ops.h"

namespace weft {
namespace {

constexpr DType kI64 = DType::kI64;
// Each element asks all accesses of a map.
constexpr size_t kMaxAccesses = 8;

// `index` modulo a size, which is at least 1 where anything is read.
int Wrapped(NestBuilder& e, const Index& index, SymInt size) {
  KernelBody& b = e.body();
  const int bound = b.Size(size);
  return b.Op(ScalarOp::kRemainder, kI64, e.IndexValue(index), bound);
}

// The position in [0, n) of the element that stands at `index` beyond the boundary.
int PositionAt(NestBuilder& e, MapBoundary boundary, const Index& index, SymInt n) {
  if (boundary == MapBoundary::kWrap) return Wrapped(e, index, n);
  KernelBody& b = e.body();
  const int at = e.IndexValue(index);
  const int last = b.Size(n - 1);
  if (boundary == MapBoundary::kEdge) {
    const int zero = b.ConstInt(kI64, 0);
    return b.Op(ScalarOp::kMinimum, kI64, b.Op(ScalarOp::kMaximum, kI64, at, zero), last);
  }
  const SymInt period = Max((n - 1) * 2, 1);
  const int rest = b.Op(ScalarOp::kRemainder, kI64, at, b.Size(period));
  const int back = b.Op(ScalarOp::kSub, kI64, b.Size((n - 1) * 2), rest);
  return b.Op(ScalarOp::kSelect, kI64, b.Compare(ScalarOp::kLe, rest, last), rest, back);
}

// One use of an op at one point of the loops: emits what its map says.
class Mover {
 public:
  Mover(NestBuilder& e, const Node& node, int result, const Guards& guards)
      : e_(e), node_(node), type_(node.result(result)->type()), guards_(guards) {}

  int Emit(const ElementMap& map, const Indices& at) {
    if (map.kind != ElementMap::Kind::kMove || map.accesses.size() > kMaxAccesses) {
      return e_.Fail(absl::StrCat("no kernel has this ", node_.op().name()));
    }
    vars_ = at;
    if (!AddGathered(map)) return -1;
    const bool guarded = !map.accesses.back().guards.empty();
    int otherwise = -1;
    if (guarded) {
      otherwise = Otherwise(map);
      if (otherwise < 0) return -1;
    }
    const OperandAccess& only = map.accesses[0];
    if (map.accesses.size() == 1 && guarded && MayLoad(only)) return LoadGuarded(only, otherwise);
    return FirstThatHolds(map, otherwise);
  }

 private:
  struct Guarded {
    Guards guards;       // What a read must keep to.
    int condition = -1;  // -1: always.
  };

  size_t loops() const { return e_.space().extents.size(); }
  const Value* OperandOf(const OperandAccess& access) const {
    return node_.operand(access.operand);
  }

  // The affine part.
  Index IndexOf(const MapIndex& index) const {
    Index result = ZeroIndex(loops());
    for (const MapTerm& term : index.terms) result = result + vars_[term.var] * term.factor;
    return result + index.offset;
  }

  Indices IndicesOf(const std::vector<MapIndex>& at) {
    Indices indices;
    for (const MapIndex& index : at) {
      Index affine = IndexOf(index);
      if (index.boundary != MapBoundary::kNone) {
        const int position = PositionAt(e_, index.boundary, affine, index.size);
        affine = TermIndex(loops(), position, index.size);
      }
      indices.push_back(std::move(affine));
    }
    return indices;
  }

  // Elements of index operands become variables; false while they are on their way.
  bool AddGathered(const ElementMap& map) {
    std::vector<Index> gathered;
    bool ready = true;
    for (const MapGather& gather : map.gathers) {
      const int value = e_.Get(node_.operand(gather.operand), IndicesOf(gather.at), guards_);
      ready = ready && value >= 0;
      if (!ready) continue;
      const int position = e_.body().Convert(value, kI64);
      e_.ExpectLoadAt(position);
      gathered.push_back(TermIndex(loops(), position, gather.size));
    }
    vars_.insert(vars_.end(), gathered.begin(), gathered.end());
    return ready;
  }

  int Otherwise(const ElementMap& map) {
    if (map.otherwise >= 0) return e_.Get(node_.operand(map.otherwise), {}, guards_);
    return e_.body().Const(KernelDType(type_.dtype()), 0);
  }

  // The condition that an index lies in [0, bound), or is not negative where there is no bound.
  int InRange(const Index& index, SymInt bound) {
    KernelBody& b = e_.body();
    const int value = e_.IndexValue(index);
    const int zero = b.ConstInt(kI64, 0);
    if (bound.Is(1)) return b.Compare(ScalarOp::kEq, value, zero);
    const int from = b.Compare(ScalarOp::kGe, value, zero);
    if (!bound.is_valid()) return from;
    return b.Op(ScalarOp::kAnd, DType::kBool, from, b.Compare(ScalarOp::kLt, value, b.Size(bound)));
  }

  // Each index is one of the result's, of a dim of the same size: the element exists even where the
  // guards do not hold.
  bool IsInside(const OperandAccess& access) const {
    const Type self = OperandOf(access)->type();
    for (size_t d = 0; d < access.at.size(); ++d) {
      const MapIndex& index = access.at[d];
      if (index.terms.size() != 1 || !index.offset.Is(0) || !index.terms[0].factor.Is(1)) {
        return false;
      }
      const int var = index.terms[0].var;
      if (var >= type_.rank()) return false;
      if (!e_.sizes().Equal(self.dim(static_cast<int>(d)), type_.dim(var))) return false;
    }
    return true;
  }

  std::optional<Guarded> GuardsOf(const OperandAccess& access) {
    Guarded guarded{guards_};
    const bool inside = access.guards.empty() || IsInside(access);
    KernelBody& b = e_.body();
    for (const MapGuard& guard : access.guards) {
      const Index index = IndexOf(guard.index);
      if (!inside && (!guard.size.is_valid() || !AddGuard(index, guard.size, &guarded.guards))) {
        e_.Fail(absl::StrCat("a ", node_.op().name(), " of gathered elements"));
        return std::nullopt;
      }
      const int here = InRange(index, guard.size);
      guarded.condition = guarded.condition < 0
                              ? here
                              : b.Op(ScalarOp::kAnd, DType::kBool, guarded.condition, here);
    }
    return guarded;
  }

  // A load knows what it gives where a guard fails.
  bool MayLoad(const OperandAccess& access) const {
    return guards_.empty() && e_.IsOutside(OperandOf(access)) && !IsInside(access);
  }

  int LoadGuarded(const OperandAccess& access, int otherwise) {
    const auto guarded = GuardsOf(access);
    if (!guarded) return -1;
    return e_.Load(OperandOf(access), IndicesOf(access.at), guarded->guards, otherwise);
  }

  int Read(const OperandAccess& access, const Guards& guards) {
    if (access.form == OperandAccess::Form::kIndices) {
      return e_.Get(OperandOf(access), IndicesOf(access.at), guards);
    }
    std::optional<Indices> from;
    if (access.form == OperandAccess::Form::kSameNumber) {
      from = ReshapeIndices(e_.sizes(), vars_, e_.space().extents, type_.dims(),
                            OperandOf(access)->type().dims());
    }
    if (!from) return e_.Fail(absl::StrCat("a ", node_.op().name(), " takes a division"));
    return e_.Get(OperandOf(access), *std::move(from), guards);
  }

  int FirstThatHolds(const ElementMap& map, int otherwise) {
    std::vector<int> conditions, values;
    bool ready = true;
    for (const OperandAccess& access : map.accesses) {
      const auto guarded = GuardsOf(access);
      if (!guarded) return -1;
      conditions.push_back(guarded->condition);
      values.push_back(Read(access, guarded->guards));
      ready = ready && values.back() >= 0;
    }
    if (!ready) return -1;
    KernelBody& b = e_.body();
    int value = otherwise;
    for (size_t k = values.size(); k-- > 0;) {
      value = conditions[k] < 0
                  ? values[k]
                  : b.Op(ScalarOp::kSelect, b.dtype(values[k]), conditions[k], values[k], value);
    }
    return value;
  }

  NestBuilder& e_;
  const Node& node_;
  const Type type_;
  const Guards& guards_;
  std::vector<Index> vars_;
};

}  // namespace

bool IsMove(const OpDef& op) {
  // Those that bring in other elements are not kDataMovement.
  if (&op == &ops::pad || &op == &ops::tril || &op == &ops::triu) return true;
  return op.has(kDataMovement) && !op.is_composite() && op.map() != nullptr &&
         &op != &ops::as_strided;
}

int MoveByMap(NestBuilder& e, const Node& node, int result, const Indices& at,
              const Guards& guards) {
  const auto map = MapOf(node, result, e.sizes().symbols());
  if (!map) return e.Fail(absl::StrCat("no kernel has this ", node.op().name()));
  return Mover(e, node, result, guards).Emit(*map, at);
}

bool AddGuard(const Index& index, SymInt bound, Guards* guards) {
  if (!index.terms.empty()) return false;
  guards->push_back({index.offset, index.strides, bound});
  return true;
}

}  // namespace weft
