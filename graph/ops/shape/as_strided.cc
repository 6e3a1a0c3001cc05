// Elements picked by strides.
#include <algorithm>

#include "graph/ops/ops.h"
#include "graph/ops/support/map.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"
#include "graph/ops/support/view.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  const auto size = args.attrs().Syms("size");
  const auto stride = args.attrs().Syms("stride");
  const SymInt offset = args.attrs().Sym("storage_offset");
  if (size.size() != stride.size()) {
    return Invalid(size.size(), " sizes and ", stride.size(), " strides");
  }
  WEFT_RETURN_IF_ERROR(CheckSizesNotNegative(args, size, "size"));
  WEFT_RETURN_IF_ERROR(CheckSizesNotNegative(args, stride, "stride"));
  WEFT_RETURN_IF_ERROR(CheckSizesNotNegative(args, {&offset, 1}, "storage_offset"));
  SymInt last = offset;
  bool empty = false;
  for (size_t i = 0; i < size.size(); ++i) {
    last = last + (size[i] - 1) * stride[i];
    empty = empty || size[i].Is(0);
  }
  const SymInt n = args.type(0).numel();
  // A size of 0 allows any strides and offset: no element is read.
  SymInt fits = Less(last, n);
  for (SymInt s : size) fits = Or(fits, Equal(s, 0));
  if (empty || args.MayHold(fits)) return absl::OkStatus();
  return Invalid("element ", last.ToString(), " is out of range for the ", n.ToString(),
                 " elements of ", args.type(0).ToString());
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  return Types{args.type(0).WithDims(args.attrs().Syms("size"))};
}

absl::Status Eval(EvalContext& c) {
  const std::vector<int64_t> strides = c.attrs().Ints("stride");
  const int64_t offset = c.attrs().Int("storage_offset");
  int64_t last = offset;
  for (int i = 0; i < c.out(0).rank(); ++i) {
    last += (c.out(0).dim(i) - 1) * strides[i];
  }
  if (c.out(0).numel() > 0 && last >= c.in(0).numel()) {
    return absl::OutOfRangeError(
        absl::StrCat("element ", last, " is out of range for ", c.in(0).numel(), " elements"));
  }
  MoveElements(c.in(0), &c.out(0),
               [&](absl::Span<const int64_t> index) { return offset + Dot(index, strides); });
  return absl::OkStatus();
}

// ATen's condition for memory that is written: in ascending order, each stride exceeds the range of
// all smaller ones.
bool ShowsNoneTwice(const OpArgs& args) {
  std::vector<std::pair<SymInt, SymInt>> dims;  // Stride, size.
  for (size_t i = 0; i < args.attrs().Syms("size").size(); ++i) {
    const SymInt size = args.attrs().Syms("size")[i];
    if (size.Is(0)) return true;
    if (!size.Is(1)) dims.push_back({args.attrs().Syms("stride")[i], size});
  }
  std::sort(dims.begin(), dims.end(), [&](const auto& a, const auto& b) {
    return a.first != b.first && args.symbols->ProveLe(a.first, b.first) == Proof::kYes;
  });
  SymInt reach = 0;
  for (const auto& [stride, size] : dims) {
    if (args.symbols->ProveLt(reach, stride) != Proof::kYes) return false;
    reach = reach + (size - 1) * stride;
  }
  return true;
}

Value* Invert(Builder& b, const OpArgs& view, int result, Value* base, Value* update) {
  if (!ShowsNoneTwice(view)) {
    return b.Fail(
        Invalid("as_strided may show an element twice, which cannot "
                "be written"));
  }
  return ScatterBack(b, as_strided_scatter, view, base, update);
}

absl::Status VerifyScatter(const OpArgs& args) { return CheckViewed(args, as_strided); }

absl::Status EvalScatter(EvalContext& c) { return EvalScatterOf(c, as_strided); }

std::optional<ElementMap> Map(const MapArgs& args) {
  const auto strides = args.attrs().Syms("stride");
  MapIndex number = MapNumber(args.attrs().Sym("storage_offset"));
  for (size_t i = 0; i < strides.size(); ++i) {
    number.terms.push_back({static_cast<int>(i), strides[i]});
  }
  ElementMap map = MapMove(args.out().rank(), {std::move(number)});
  map.accesses[0].form = OperandAccess::Form::kNumber;
  return map;
}

}  // namespace

WEFT_DEFINE_OP(as_strided,
               OpSpec("as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, "
                      "SymInt storage_offset=0) -> Tensor(a)",
                      "The element at an index is that of number storage_offset + "
                      "index * stride of self, counted in row-major order: self is taken "
                      "for contiguous memory. ATen: aten::as_strided of a contiguous "
                      "tensor.")
                   .Traits(kDataMovement)
                   .Verify(Verify)
                   .Infer(Infer)
                   .Eval(Eval)
                   .Map(Map)
                   .InvertView(Invert)
                   .Samples(R"(
as_strided(f32[12], size=[3, 2], stride=[4, 1])
as_strided(i64[3, 4], size=[4, 2], stride=[1, 4], storage_offset=3)
as_strided(u4[6], size=[], stride=[], storage_offset=5)
as_strided(bool[5], size=[3, 3], stride=[1, 1])
as_strided(f16[4], size=[2, 3], stride=[0, 1])
as_strided(bf16[2], size=[0, 7], stride=[5, 5])
as_strided(f32[4], size=[3], stride=[2]) ! "element 4 is out of range for the 4 elements"
as_strided(f32[4], size=[3], stride=[1, 1]) ! "1 sizes and 2 strides"
as_strided(f32[4], size=[2], stride=[-1]) ! "stride[0] is negative"
)"));

WEFT_DEFINE_OP(as_strided_scatter,
               OpSpec("as_strided_scatter(Tensor self, Tensor src, SymInt[] size, "
                      "SymInt[] stride, SymInt storage_offset=0) -> Tensor",
                      "self with the elements that as_strided shows replaced by those of "
                      "src; of elements shown twice the last one wins. "
                      "ATen: aten::as_strided_scatter.")
                   .Traits(kDataMovement)
                   .Verify(VerifyScatter)
                   .Infer(InferSame)
                   .Eval(EvalScatter)
                   .Map(Absent{"where elements are shown twice, the last one wins"})
                   .Samples(R"(
as_strided_scatter(f32[12], f32[3, 2], size=[3, 2], stride=[4, 1])
as_strided_scatter(i64[3, 4], i64[4, 2], size=[4, 2], stride=[1, 4], storage_offset=3)
as_strided_scatter(u4[6], u4[], size=[], stride=[], storage_offset=5)
as_strided_scatter(f16[4], f16[0], size=[0], stride=[1])
as_strided_scatter(f32[4], f32[3], size=[2], stride=[1]) ! "src has type f32[3], the view of self f32[2]"
as_strided_scatter(f32[4], f32[3], size=[3], stride=[2]) ! "out of range"
as_strided_scatter(f32[4], i32[2], size=[2], stride=[1]) ! "different dtypes"
)"));

}  // namespace weft::ops
