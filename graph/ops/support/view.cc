#include "graph/ops/support/view.h"

#include <numeric>
#include <vector>

#include "graph/ir/builder.h"
#include "graph/ir/node.h"
#include "graph/ir/op_args.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_eval.h"
#include "graph/ir/op_fold.h"
#include "graph/ops/ops.h"
#include "graph/ops/support/build.h"
#include "graph/ops/support/infer.h"
#include "graph/ops/support/sizes.h"
#include "graph/ops/support/update.h"

namespace weft::ops {

absl::Status CheckViewed(const OpArgs& args, const OpDef& view) {
  WEFT_RETURN_IF_ERROR(CheckSameDType(args));
  OpArgs viewed = args;
  viewed.op = &view;
  viewed.types = args.types.first(1);
  viewed.operands = {};
  if (view.verify() != nullptr) WEFT_RETURN_IF_ERROR(view.verify()(viewed));
  WEFT_ASSIGN_OR_RETURN(const Types types, view.infer()(viewed));
  const Type src = args.type(1);
  bool fits = src.rank() == types[0].rank();
  for (int i = 0; fits && i < src.rank(); ++i) {
    fits = MayBeEqual(args, src.dim(i), types[0].dim(i));
  }
  if (fits) return absl::OkStatus();
  return Invalid("src has type ", src.ToString(), ", the view of self ", types[0].ToString());
}

absl::Status EvalScatterOf(EvalContext& c, const OpDef& view) {
  const HostTensor& self = c.in(0);
  std::vector<int64_t> numbers(self.numel());
  std::iota(numbers.begin(), numbers.end(), 0);
  const HostTensor places = HostTensor::FromInts(DType::kI64, self.dims(), numbers);
  const auto no_regions = [](int, absl::Span<const HostTensor>, std::vector<HostTensor>*) {
    return absl::InternalError("a view has no nested graphs");
  };
  EvalContext viewed(view, c.attrs().list(), {&places, 1},
                     {Type::Tensor(DType::kI64, c.in(1).type().dims())}, no_regions);
  WEFT_RETURN_IF_ERROR(view.eval()(viewed));
  return Update(self, c.in(1), viewed.out(0).ReadInts(), "none", &c.out(0));
}

namespace {

bool SameView(const OpArgs& args, const OpDef& view, const AttrList* a, const AttrList* b) {
  return a == b || (&view == &slice && SameSlice(args, a, b));
}

}  // namespace

Folded FoldViewOfScatter(const OpArgs& args, const OpDef& scatter) {
  const Value* self = args.operand(0);
  if (!self->IsResultOf(scatter) ||
      !SameView(args, *args.op, self->node()->attr_list(), args.attr_list)) {
    return {};
  }
  Value* src = self->node()->operand(1);
  const absl::StatusOr<Types> types = args.op->infer()(args);
  if (!types.ok() || src->type() != types->front()) return {};
  return src;
}

Folded FoldScatterOfView(const OpArgs& args, const OpDef& view) {
  const Value* src = args.operand(1);
  if (!src->IsResultOf(view) || src->node()->operand(0) != args.operand(0) ||
      !SameView(args, view, src->node()->attr_list(), args.attr_list)) {
    return {};
  }
  return args.operand(0);
}

Value* ScatterBack(Builder& b, const OpDef& scatter, const OpArgs& view, Value* base,
                   Value* update) {
  const std::vector<Value*> values = b.Create(scatter, {base, update}, view.attr_list);
  return values.empty() ? nullptr : values[0];
}

Value* ScatterByIndex(Builder& b, const OpArgs& view, Value* base, Value* update) {
  if (base == nullptr || update == nullptr) return nullptr;
  const Type type = base->type();
  Value* places = b.Op(arange, {}, {{"start", 0}, {"end", type.numel()}});
  places = Reshape(b, places, DimsOf(type));
  const std::vector<Value*> viewed = b.Create(*view.op, {places}, view.attr_list);
  if (viewed.empty()) return nullptr;
  const SymInt count = update->type().numel();
  Value* flat = b.Op(scatter,
                     {Reshape(b, base, {type.numel()}), Reshape(b, viewed[0], {count}),
                      Reshape(b, update, {count})},
                     {{"dim", 0}});
  return Reshape(b, flat, DimsOf(type));
}

}  // namespace weft::ops
