#include "backends/cuda/routines/attention.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "backends/cuda/device/prepared_launch.h"
#include "backends/cuda/routines/attention_shape.h"
#include "backends/cuda/routines/attention_unit.h"
#include "backends/cuda/routines/routine_code.h"
#include "base/status_macros.h"
#include "graph/ir/attrs.h"
#include "graph/ir/op_def.h"

namespace weft::cuda {
namespace {

constexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max();

// A dim of the heads, with strides of q, k, v, mask and o.
struct HeadDim {
  int64_t size = 1;
  int64_t strides[5] = {};
};

// The stride of an operand along dim `d` of `rank` dims of heads, 0 where it broadcasts.
int64_t HeadStride(const RunView& view, int d, int rank) {
  const int own = view.rank() - 2 - rank + d;
  return own < 0 || view.dims[own] == 1 ? 0 : view.strides[own];
}

std::vector<HeadDim> HeadsOf(const RunView& q, const RunView& k, const RunView& v,
                             const RunView& mask, const RunView& o) {
  const int rank = q.rank() - 2;
  std::vector<HeadDim> heads;
  for (int d = 0; d < rank; ++d) {
    HeadDim dim{q.dims[d],
                {HeadStride(q, d, rank), HeadStride(k, d, rank), HeadStride(v, d, rank),
                 mask.present() ? HeadStride(mask, d, rank) : 0, HeadStride(o, d, rank)}};
    const int64_t shared = d + 1 == rank && k.dims[d] > 0 ? dim.size / k.dims[d] : 1;
    if (shared > 1) {
      // Neighbouring heads of queries share one of keys.
      HeadDim group = dim;
      group.size = k.dims[d];
      for (const int t : {0, 3, 4}) group.strides[t] *= shared;
      if (group.size > 1) heads.push_back(group);
      dim.size = shared;
      dim.strides[1] = dim.strides[2] = 0;
    }
    if (dim.size > 1) heads.push_back(dim);
  }
  return heads;
}

// A single query of heads that share keys: the heads become queries, so that keys are read once.
void JoinQueries(std::vector<HeadDim>* heads, AttentionSizes* sizes) {
  if (sizes->queries != 1 || sizes->causal || heads->empty()) return;
  const HeadDim& last = heads->back();
  if (last.strides[1] != 0 || last.strides[2] != 0) return;
  sizes->queries = last.size;
  sizes->q_row = last.strides[0];
  sizes->m_row = last.strides[3];
  sizes->o_row = last.strides[4];
  heads->pop_back();
}

absl::Status SetHeads(const std::vector<HeadDim>& heads, AttentionSizes* sizes) {
  if (heads.size() > kMaxAttentionDims) return absl::UnimplementedError("heads of too many dims");
  sizes->rank = static_cast<int64_t>(heads.size());
  for (size_t d = 0; d < heads.size(); ++d) {
    sizes->heads *= heads[d].size;
    sizes->dims[d] = heads[d].size;
    sizes->q[d] = heads[d].strides[0];
    sizes->k[d] = heads[d].strides[1];
    sizes->v[d] = heads[d].strides[2];
    sizes->m[d] = heads[d].strides[3];
    sizes->o[d] = heads[d].strides[4];
  }
  return absl::OkStatus();
}

// 1 if rows are contiguous and begin at multiples of `group` elements. The memory of views begins
// at multiples of 16 bytes.
int64_t GroupsOf(const RunView& view, int64_t columns, int64_t column, int64_t row,
                 const int64_t* strides, int64_t rank, int64_t group) {
  const auto even = [group](int64_t n) { return n % group == 0; };
  return column == 1 && even(columns) && even(view.offset) && even(row) &&
         std::all_of(strides, strides + rank, even);
}

absl::StatusOr<AttentionSizes> SizesOf(const StepRequest& request) {
  const RunView& q = request.args[0];
  const RunView& k = request.args[1];
  const RunView& v = request.args[2];
  const RunView& mask = request.args[3];
  const RunView& o = request.results[0];
  const Attrs attrs(request.step.schema, request.attrs);
  AttentionSizes s;
  const int rank = q.rank();
  s.queries = q.dims[rank - 2];
  s.keys = k.dims[rank - 2];
  s.features = q.dims[rank - 1];
  s.value_features = v.dims[rank - 1];
  s.q_row = q.strides[rank - 2];
  s.q_column = q.strides[rank - 1];
  s.k_row = k.strides[rank - 2];
  s.k_column = k.strides[rank - 1];
  s.v_row = v.strides[rank - 2];
  s.v_column = v.strides[rank - 1];
  s.o_row = o.strides[rank - 2];
  s.o_column = o.strides[rank - 1];
  if (mask.present()) {
    const int own = mask.rank();
    s.m_column = own < 1 || mask.dims[own - 1] == 1 ? 0 : mask.strides[own - 1];
    s.m_row = own < 2 || mask.dims[own - 2] == 1 ? 0 : mask.strides[own - 2];
  }
  s.causal = attrs.Bool("is_causal");
  s.softcap = static_cast<float>(attrs.Float("softcap"));
  s.scale = static_cast<float>(attrs.Has("scale") ? attrs.Float("scale")
                                                  : 1 / std::sqrt(static_cast<double>(s.features)));
  std::vector<HeadDim> heads = HeadsOf(q, k, v, mask, o);
  JoinQueries(&heads, &s);
  WEFT_RETURN_IF_ERROR(SetHeads(heads, &s));
  const int64_t part = 16 / (DTypeBits(q.dtype) / 8);
  s.q_groups = GroupsOf(q, s.features, s.q_column, s.q_row, s.q, s.rank, part);
  s.k_groups = GroupsOf(k, s.features, s.k_column, s.k_row, s.k, s.rank, part);
  s.v_groups = GroupsOf(v, s.value_features, s.v_column, s.v_row, s.v, s.rank, part);
  s.o_groups = GroupsOf(o, s.value_features, s.o_column, s.o_row, s.o, s.rank, 4);
  if (s.queries >= kMaxSize || s.keys >= kMaxSize || s.heads >= kMaxSize) {
    return absl::UnimplementedError("sizes of attention beyond 2^31");
  }
  return s;
}

// The grid of the first launch.
absl::StatusOr<LaunchShape> MainGrid(const AttentionShape& shape, const AttentionSizes& sizes,
                                     const CudaDevice& device) {
  if (shape.form == AttentionForm::kPlain) {
    return cuda::GridOf(sizes.heads * sizes.queries, device.multiprocessors());
  }
  const int64_t blocks = sizes.heads * sizes.tiles * sizes.splits;
  if (blocks > kMaxSize) return absl::UnimplementedError("more than 2^31 blocks of attention");
  LaunchShape grid;
  grid.blocks = static_cast<unsigned>(blocks);
  grid.threads = static_cast<unsigned>(shape.threads());
  grid.shared_bytes = static_cast<unsigned>(shape.shared_bytes());
  return grid;
}

}  // namespace

absl::StatusOr<std::unique_ptr<StepCode>> MakeAttention(const RoutineContext& context,
                                                        const StepRequest& request) {
  CudaDevice& device = context.device;
  if (!request.step.epilogue.empty()) {
    return absl::UnimplementedError("the attention kernel has no epilogue");
  }
  WEFT_ASSIGN_OR_RETURN(AttentionSizes sizes, SizesOf(request));
  const RunView& mask = request.args[3];
  AttentionShape shape;
  shape.dtype = request.results[0].dtype;
  shape.cap = sizes.softcap > 0;
  if (mask.present()) {
    shape.mask = mask.dtype == DType::kBool  ? AttentionMask::kBool
                 : mask.dtype == shape.dtype ? AttentionMask::kAdded
                                             : AttentionMask::kAddedF32;
  }
  // The kernel of wgmma passes on the emulation, but has not run on a GPU yet.
  constexpr bool kWgmma = false;
  ChooseAttention({device.has_tensor_cores(), kWgmma, device.max_shared_bytes()}, &shape, &sizes);
  WEFT_ASSIGN_OR_RETURN(const auto module, context.units.Find(AttentionUnit(shape)));
  const int64_t rows = sizes.heads * sizes.queries;
  const int64_t scratch =
      sizes.splits > 1 ? 4 * rows * sizes.splits * (sizes.value_features + 2) : 0;
  auto code = std::make_unique<RoutineCode>(device, request, "attention");
  if (request.results[0].numel() == 0) return code;
  code->ReserveScratch(scratch);
  WEFT_ASSIGN_OR_RETURN(const LaunchShape grid, MainGrid(shape, sizes, device));
  const auto last = static_cast<int>(request.args.size());
  WEFT_RETURN_IF_ERROR(code->AddKernel(
      module, "weft_attention", grid,
      [&](PreparedLaunch* launch) {
        for (int a = 0; a <= last; ++a) AddOperand(request, a, launch);
        if (scratch > 0) {
          launch->AddScratch(scratch);
        } else {
          launch->AddOperand(-1, 0, {});
        }
      },
      BytesOf(sizes)));
  if (scratch == 0) return code;
  WEFT_RETURN_IF_ERROR(code->AddKernel(
      module, "weft_attention_combine",
      GridOfElements(rows * sizes.value_features, device.multiprocessors()),
      [&](PreparedLaunch* launch) {
        launch->AddScratch(scratch);
        AddOperand(request, last, launch);
      },
      BytesOf(sizes)));
  return code;
}

}  // namespace weft::cuda
