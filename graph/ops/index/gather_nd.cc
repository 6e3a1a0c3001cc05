// Slices by index tuples.
#include "graph/ops/support/index.h"
#include "graph/ops/support/map.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"

namespace weft::ops {
namespace {

absl::StatusOr<Types> Infer(const OpArgs& args) {
  const Type self = args.type(0);
  const Type indices = args.type(1);
  WEFT_RETURN_IF_ERROR(CheckIndex(args, 1));
  WEFT_RETURN_IF_ERROR(CheckRankAtLeast(args, 1, 1));
  const int64_t batch = args.attrs().Int("batch_dims");
  if (batch < 0 || batch >= indices.rank() || batch > self.rank()) {
    return Invalid("batch_dims ", batch, " does not fit ", self.ToString(), " and ",
                   indices.ToString());
  }
  const SymInt last = indices.dim(indices.rank() - 1);
  if (!last.is_constant() || last.value() > self.rank() - batch) {
    return Invalid("indices of type ", indices.ToString(), " hold tuples that do not fit ",
                   self.ToString());
  }
  for (int i = 0; i < batch; ++i) {
    WEFT_RETURN_IF_ERROR(
        CheckEqualSizes(args, self.dim(i), indices.dim(i), absl::StrCat("batch dim ", i)));
  }
  const auto front = indices.dims().first(indices.rank() - 1);
  const auto slice = self.dims().subspan(batch + last.value());
  std::vector<SymInt> dims(front.begin(), front.end());
  dims.insert(dims.end(), slice.begin(), slice.end());
  return Types{self.WithDims(dims)};
}

absl::Status Eval(EvalContext& c) {
  const HostTensor& self = c.in(0);
  const HostTensor& indices = c.in(1);
  if (c.out(0).numel() == 0) return absl::OkStatus();
  const int batch = static_cast<int>(c.attrs().Int("batch_dims"));
  const int64_t tuple = indices.dim(indices.rank() - 1);
  const std::vector<int64_t> values = indices.ReadInts();
  const std::vector<int64_t> strides = ContiguousStrides(self.dims());
  const int64_t inner = Numel(self.dims().subspan(batch + tuple));
  const auto front = indices.dims().first(indices.rank() - 1);
  std::vector<int64_t> source;
  int64_t at = 0;
  absl::Status status;
  ForEachIndex(front, [&](absl::Span<const int64_t> index) {
    int64_t from = 0;
    for (int i = 0; i < batch; ++i) from += index[i] * strides[i];
    for (int64_t k = 0; k < tuple; ++k) {
      auto i = WrapIndex(values[at++], self.dim(batch + k));
      status.Update(i.status());
      if (i.ok()) from += *i * strides[batch + k];
    }
    for (int64_t n = 0; n < inner; ++n) source.push_back(from + n);
  });
  WEFT_RETURN_IF_ERROR(status);
  Gather(self, source, &c.out(0));
  return absl::OkStatus();
}

std::optional<ElementMap> Map(const MapArgs& args) {
  const Type self = args.operands[0];
  const Type indices = args.operands[1];
  const int rank = args.out().rank();
  const int batch = static_cast<int>(args.attrs().Int("batch_dims"));
  const int front = indices.rank() - 1;
  const int tuple = static_cast<int>(indices.dim(front).value());
  ElementMap map = MapMove(rank, MapVars(0, batch));
  std::vector<MapIndex>& at = map.accesses[0].at;
  for (int k = 0; k < tuple; ++k) {
    std::vector<MapIndex> where = MapVars(0, front);
    where.push_back(MapNumber(k));
    map.gathers.push_back({1, std::move(where), self.dim(batch + k)});
    at.push_back(MapVar(rank + k));
  }
  for (int d = front; d < rank; ++d) at.push_back(MapVar(d));
  return map;
}

}  // namespace

WEFT_DEFINE_OP(gather_nd,
               OpSpec("gather_nd(Tensor self, Tensor indices, int batch_dims=0) -> Tensor",
                      "The slices of self at the index tuples in the last dim of indices, "
                      "within the batch that the first `batch_dims` dims share. Negative "
                      "indices count from the end. ONNX: GatherND.")
                   .Traits(kDataMovement)
                   .Infer(Infer)
                   .Eval(Eval)
                   .Map(Map)
                   .Samples(R"(
gather_nd(f32[4, 3], i64[2, 2]{-3..2})
gather_nd(i64[4, 3], i32[5, 1]{-4..3})
gather_nd(f16[2, 3, 4], i64[2, 1]{0..2}, batch_dims=1)
gather_nd(u4[2, 3, 2, 2], i64[2, 3, 1, 2]{-2..1}, batch_dims=2)
gather_nd(bool[3], i64[1]{2})
gather_nd(u64[3, 2], i64[2, 0])
gather_nd(f32[3, 2], i64[0, 1])
gather_nd(f32[0, 2], i64[0, 2])
gather_nd(f32[3], i64[]) ! "indices must have at least rank 1"
gather_nd(f32[3], i64[2, 2]) ! "tuples that do not fit f32[3]"
gather_nd(f32[2, 3], i64[3, 1], batch_dims=1) ! "batch dim 0: 2 and 3 differ"
gather_nd(f32[3], i64[1], batch_dims=1) ! "batch_dims 1 does not fit"
gather_nd(f32[3], f32[1]) ! "i32 or i64"
)"));

}  // namespace weft::ops
