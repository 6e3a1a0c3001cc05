#include "graph/target/target.h"

#include <algorithm>

#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_schema.h"
#include "graph/target/target_text.h"

namespace weft {
namespace {

template <typename T, typename U>
bool Contains(const std::vector<T>& list, const U& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// True if the list has the type's dtype; an empty list admits every type.
bool Takes(const std::vector<DType>& list, Type type) {
  return list.empty() || (type.is_tensor() && Contains(list, type.dtype()));
}

// The numbers of an integer attribute; empty for other kinds.
std::vector<SymInt> NumbersOf(const Attrs& attrs, absl::string_view name) {
  const AttrValue& value = attrs.Get(name);
  if (!value.present()) return {};
  switch (attrs.schema().attrs[attrs.schema().FindAttr(name)].kind) {
    case AttrKind::kInt:
      return {SymInt(attrs.Int(name))};
    case AttrKind::kSymInt:
      return {attrs.Sym(name)};
    case AttrKind::kInts: {
      const std::vector<int64_t> ints = attrs.Ints(name);
      return {ints.begin(), ints.end()};
    }
    case AttrKind::kSymInts: {
      const absl::Span<const SymInt> syms = attrs.Syms(name);
      return {syms.begin(), syms.end()};
    }
    default:
      return {};
  }
}

// True if the predicate holds for all numbers of those attributes that the op has.
template <typename Predicate>
bool AllNumbers(const Attrs& attrs, const std::vector<std::string>& names, Predicate holds) {
  for (const std::string& name : names) {
    if (attrs.schema().FindAttr(name) < 0) continue;
    const std::vector<SymInt> numbers = NumbersOf(attrs, name);
    if (!std::all_of(numbers.begin(), numbers.end(), holds)) return false;
  }
  return true;
}

bool Takes(const Routine& routine, const Node& node) {
  if (!Contains(routine.ops, node.op().name())) return false;
  // A routine computes results from operands and has no other effect.
  if (!node.op().is_pure() || node.num_regions() != 0 || node.num_results() == 0) return false;
  if (node.num_operands() == 0 || !node.has_operand(0)) return false;
  const Type type = node.operand(0)->type();
  if (!type.is_tensor() || !Takes(routine.dtypes, type)) return false;
  if (type.rank() < routine.min_rank || type.rank() > routine.max_rank) return false;
  if (!Takes(routine.result_dtypes, node.result(0)->type())) return false;
  for (int r = 0; r < node.num_results(); ++r) {
    if (node.op().has(kDataDependent) && !node.result(r)->type().is_tensor()) return false;
  }
  for (int i : routine.absent_operands) {
    if (i < node.num_operands() && node.has_operand(i)) return false;
  }
  for (int r : routine.unused_results) {
    if (r < node.num_results() && node.result(r)->has_uses()) return false;
  }
  const Attrs attrs = node.attrs();
  return AllNumbers(attrs, routine.constant_attrs,
                    [](SymInt s) { return s.is_constant() && s.value() >= 0; }) &&
         AllNumbers(attrs, routine.unit_attrs, [](SymInt s) { return s.Is(1); });
}

}  // namespace

bool operator==(const Target& a, const Target& b) { return PrintTarget(a) == PrintTarget(b); }

const Routine* FindRoutine(const Target& target, const Node& node) {
  for (const Routine& routine : target.routines) {
    if (Takes(routine, node)) return &routine;
  }
  return nullptr;
}

bool TakesStrides(const Routine& routine, int operand) {
  return Contains(routine.strided, operand);
}

bool TakesEpilogue(const Target& target, const Routine& routine, const Node& op, int operand) {
  const Value* other = nullptr;
  for (int i = 0; i < op.num_operands(); ++i) {
    if (i == operand || !op.has_operand(i)) continue;
    if (other != nullptr) return false;
    other = op.operand(i);
  }
  const Type type = op.has_operand(operand) ? op.operand(operand)->type() : Type();
  return op.num_results() == 1 && op.result()->type() == type &&
         TakesEpilogue(target, routine, op.op(), op.attr_list(), operand, type,
                       other == nullptr ? Type() : other->type());
}

bool TakesEpilogue(const Target& target, const Routine& routine, const OpDef& op,
                   const AttrList* attr_list, int operand, Type result, Type other) {
  const Attrs attrs(&op.schema(), attr_list);
  const bool binary = other.kind() != Type::Kind::kNone;
  for (const EpilogueClaim& claim : target.epilogues) {
    if (!Contains(claim.ops, op.name()) || !Contains(claim.routines, routine.name)) continue;
    if (!Takes(claim.dtypes, result) || binary == claim.operand_sizes.empty()) continue;
    if (operand != 0 && !claim.either_operand) continue;
    const auto is_given = [&](const std::string& name) {
      return op.schema().FindAttr(name) >= 0 && attrs.Has(name);
    };
    if (std::any_of(claim.absent_attrs.begin(), claim.absent_attrs.end(), is_given)) continue;
    if (!binary) return true;
    if (!other.is_tensor() || other.dtype() != result.dtype()) continue;
    const int channel =
        routine.channel_dim < 0 ? routine.channel_dim + result.rank() : routine.channel_dim;
    if (Contains(claim.operand_sizes, OperandSizesOf(other.dims(), result.dims(), channel))) {
      return true;
    }
  }
  return false;
}

}  // namespace weft
