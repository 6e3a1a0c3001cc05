#include "backends/cuda/routines/scatter.h"

#include <algorithm>
#include <string>
#include <utility>

#include "backends/cuda/routines/routine_code.h"
#include "backends/cuda/routines/scatter_unit.h"
#include "backends/cuda/routines/sort.h"
#include "backends/runtime/step_names.h"
#include "base/status_macros.h"
#include "graph/ir/attrs.h"

namespace weft::cuda {
namespace {

constexpr int64_t kSlotBytes = sizeof(uint32_t);
constexpr int64_t kNumberBytes = sizeof(int32_t);

ScatterReduce ReduceOf(const std::string& reduce) {
  if (reduce == "add") return ScatterReduce::kAdd;
  if (reduce == "mul") return ScatterReduce::kMul;
  if (reduce == "max") return ScatterReduce::kMax;
  return reduce == "min" ? ScatterReduce::kMin : ScatterReduce::kNone;
}

// Strides of a dense tensor.
void SetStrides(const RunView& view, int64_t* strides) {
  int64_t stride = 1;
  for (int d = view.rank() - 1; d >= 0; --d) {
    strides[d] = stride;
    stride *= view.dims[d];
  }
}

ScatterSizes SizesOfElements(const StepRequest& request, int64_t dim) {
  const RunView& self = request.args[0];
  const RunView& index = request.args[1];
  ScatterSizes sizes;
  sizes.rank = self.rank();
  sizes.along = dim < 0 ? dim + self.rank() : dim;
  sizes.updates = index.numel();
  sizes.slots = self.numel();
  SetStrides(self, sizes.strides);
  const RunView& updates = request.args[2];
  std::copy(index.strides.begin(), index.strides.end(), sizes.index_strides);
  std::copy(updates.strides.begin(), updates.strides.end(), sizes.update_strides);
  std::copy(self.dims.begin(), self.dims.end(), sizes.dims);
  std::copy(index.dims.begin(), index.dims.end(), sizes.index_dims);
  sizes.peers = index.dims[sizes.along];
  for (int d = sizes.rank - 1; d > sizes.along; --d) sizes.peer_stride *= index.dims[d];
  return sizes;
}

ScatterSizes SizesOfSlices(const StepRequest& request) {
  const RunView& self = request.args[0];
  const RunView& indices = request.args[1];
  ScatterSizes sizes;
  sizes.rank = self.rank();
  sizes.width = indices.dims.back();
  sizes.updates = 1;
  for (int d = 0; d + 1 < indices.rank(); ++d) sizes.updates *= indices.dims[d];
  sizes.peers = sizes.updates;
  sizes.slots = 1;
  for (int d = 0; d < self.rank(); ++d) {
    (d < sizes.width ? sizes.slots : sizes.inner) *= self.dims[d];
  }
  int64_t stride = sizes.slots;
  for (int d = 0; d < sizes.width; ++d) {
    sizes.dims[d] = self.dims[d];
    stride = self.dims[d] == 0 ? 0 : stride / self.dims[d];
    sizes.strides[d] = stride;
  }
  return sizes;
}

class Maker {
 public:
  Maker(const RoutineContext& context, const StepRequest& request, const ScatterSizes& sizes)
      : context_(context),
        request_(request),
        sizes_(sizes),
        code_(std::make_unique<RoutineCode>(context.device, request, "scatter")) {}

  absl::StatusOr<std::unique_ptr<StepCode>> Make(ScatterReduce reduce) {
    WEFT_ASSIGN_OR_RETURN(module_, context_.units.Find(ScatterUnit(
                                       reduce, request_.results[0].dtype, request_.args[1].dtype)));
    constexpr int64_t kFewElements = 4096, kFewPeers = 16;
    const int64_t elements = sizes_.updates * sizes_.inner;
    const bool nothing = elements == 0;
    const bool few = elements <= kFewElements && sizes_.peers <= kFewPeers;
    // Few updates are sorted, so that nothing is done for each slot.
    constexpr int64_t kSlotsOfAnUpdate = 16;
    const bool joins =
        reduce != ScatterReduce::kNone || sizes_.updates * kSlotsOfAnUpdate < sizes_.slots;
    sizes_.marks = !joins && !few && !nothing;
    last_bytes_ = sizes_.marks ? sizes_.slots * kNumberBytes : 0;
    last_ = code_->ReserveScratch(last_bytes_);
    slot_bytes_ = few ? 0 : sizes_.updates * kSlotBytes;
    slots_ = code_->ReserveScratch(slot_bytes_);
    WEFT_RETURN_IF_ERROR(
        Add("weft_scatter_begin", sizes_.slots * sizes_.inner, [&](PreparedLaunch* launch) {
          AddOperand(request_, 0, launch);
          AddOperand(request_, kResult, launch);
          launch->AddScratch(last_bytes_, last_);
        }));
    if (nothing) return std::move(code_);
    WEFT_ASSIGN_OR_RETURN(flag_, context_.flags.Find(DescribeStep(request_.plan, request_.step)));
    if (few) {
      WEFT_RETURN_IF_ERROR(AddFew());
      return std::move(code_);
    }
    WEFT_RETURN_IF_ERROR(Add("weft_scatter_slots", sizes_.updates, [&](PreparedLaunch* launch) {
      AddOperand(request_, 1, launch);
      launch->AddScratch(slot_bytes_, slots_);
      launch->AddFixed(flag_, sizeof(int32_t));
    }));
    WEFT_RETURN_IF_ERROR(joins ? AddJoin() : AddPut());
    return std::move(code_);
  }

 private:
  static constexpr int kResult = 3;

  template <typename AddParameters>
  absl::Status Add(const char* name, int64_t elements, AddParameters add) {
    return code_->AddKernel(module_, name,
                            GridOfElements(elements, context_.device.multiprocessors()), add,
                            BytesOf(sizes_));
  }

  absl::Status AddFew() {
    return Add("weft_scatter_few", /*elements=*/1, [&](PreparedLaunch* launch) {
      AddOperand(request_, 1, launch);
      AddOperand(request_, 2, launch);
      launch->AddFixed(flag_, sizeof(int32_t));
      AddOperand(request_, kResult, launch);
    });
  }

  // The last update of a slot wins.
  absl::Status AddPut() {
    WEFT_RETURN_IF_ERROR(Add("weft_scatter_last", sizes_.updates, [&](PreparedLaunch* launch) {
      launch->AddScratch(slot_bytes_, slots_);
      launch->AddScratch(last_bytes_, last_);
    }));
    return Add("weft_scatter_put", sizes_.updates * sizes_.inner, [&](PreparedLaunch* launch) {
      AddOperand(request_, 2, launch);
      launch->AddScratch(slot_bytes_, slots_);
      launch->AddScratch(last_bytes_, last_);
      launch->AddFixed(flag_, sizeof(int32_t));
      AddOperand(request_, kResult, launch);
    });
  }

  absl::Status AddJoin() {
    SortSizes sort;
    sort.lines = 1;
    sort.size = sizes_.updates;
    sort.k = sizes_.updates;
    const auto add_slots = [&](PreparedLaunch* launch) { launch->AddScratch(slot_bytes_, slots_); };
    WEFT_ASSIGN_OR_RETURN(const SortedKeys sorted,
                          AddSort(context_, DType::kU32, sort, add_slots, code_.get()));
    return Add("weft_scatter_join", sizes_.updates * sizes_.inner, [&](PreparedLaunch* launch) {
      AddOperand(request_, 0, launch);
      AddOperand(request_, 2, launch);
      launch->AddScratch(sorted.keys_bytes, sorted.keys);
      launch->AddScratch(sorted.numbers_bytes, sorted.numbers);
      launch->AddFixed(flag_, sizeof(int32_t));
      AddOperand(request_, kResult, launch);
    });
  }

  const RoutineContext& context_;
  const StepRequest& request_;
  ScatterSizes sizes_;
  std::shared_ptr<const CudaModule> module_;
  std::unique_ptr<RoutineCode> code_;
  const char* flag_ = nullptr;  // Raised by a bad index.
  // Of the scratch memory.
  int64_t last_ = 0, last_bytes_ = 0;
  int64_t slots_ = 0, slot_bytes_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<StepCode>> MakeScatter(const RoutineContext& context,
                                                      const StepRequest& request) {
  const Attrs attrs(request.step.schema, request.attrs);
  const RunView& self = request.args[0];
  if (self.rank() > kMaxScatterDims) return absl::UnimplementedError("a tensor of so many dims");
  for (const RunView& view : request.args) {
    if (view.numel() >= kMaxElements) return absl::UnimplementedError("2^31 elements or more");
  }
  const bool elements = request.step.op_name == "scatter";
  const ScatterSizes sizes =
      elements ? SizesOfElements(request, attrs.Int("dim")) : SizesOfSlices(request);
  return Maker(context, request, sizes).Make(ReduceOf(attrs.Str("reduce")));
}

}  // namespace weft::cuda
