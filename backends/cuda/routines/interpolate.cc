#include "backends/cuda/routines/interpolate.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "backends/cuda/routines/interpolate_unit.h"
#include "backends/cuda/routines/routine_code.h"
#include "base/status_macros.h"
#include "graph/ir/attrs.h"
#include "graph/ops/vision/resample.h"

namespace weft::cuda {
namespace {

class InterpolateAttrs {
 public:
  explicit InterpolateAttrs(const Attrs& attrs) : attrs_(attrs) {}
  const std::vector<double>& scales() const { return attrs_.Floats("scales"); }
  const std::string& mode() const { return attrs_.Str("mode"); }
  const std::string& coordinate_transformation_mode() const {
    return attrs_.Str("coordinate_transformation_mode");
  }
  const std::string& nearest_mode() const { return attrs_.Str("nearest_mode"); }
  double cubic_coeff_a() const { return attrs_.Float("cubic_coeff_a"); }
  bool exclude_outside() const { return attrs_.Bool("exclude_outside"); }
  bool antialias() const { return attrs_.Bool("antialias"); }

 private:
  const Attrs attrs_;
};

using Taps = std::vector<std::pair<int64_t, double>>;

// The table that the kernel reads.
struct Table {
  std::vector<int32_t> taps;
  std::vector<double> weights;  // By number in `taps`.

  // Adds a resized dim; returns where its first taps are.
  int64_t Add(const Resampling& r) {
    const size_t begin = taps.size();
    std::vector<Taps> all;
    for (int64_t i = 0; i < r.out; ++i) {
      const double source = r.Source(i);
      all.push_back(r.mode == "nearest" ? Taps{{r.Nearest(source), 1.0}} : r.Taps(source));
    }
    size_t next = begin + all.size() + 1;
    for (const Taps& some : all) {
      taps.push_back(static_cast<int32_t>(next));
      next += some.size();
    }
    taps.push_back(static_cast<int32_t>(next));
    weights.resize(taps.size());
    for (const Taps& some : all) {
      for (const auto& [at, weight] : some) {
        taps.push_back(static_cast<int32_t>(at));
        weights.push_back(weight);
      }
    }
    return static_cast<int64_t>(begin);
  }
};

// Sets the order in which threads walk over the dims: that of y in memory.
void SetOrder(InterpolateSizes* sizes) {
  int64_t* const end = sizes->order + sizes->rank;
  std::iota(sizes->order, end, 0);
  std::stable_sort(sizes->order, end,
                   [&](int64_t a, int64_t b) { return sizes->y[a] > sizes->y[b]; });
}

absl::StatusOr<InterpolateSizes> SizesOf(const InterpolateAttrs& attrs, const RunView& x,
                                         const RunView& y, Table* table) {
  InterpolateSizes sizes;
  std::vector<int> resized;
  const auto add = [&](int d) {
    sizes.dims[sizes.rank] = y.dims[d];
    sizes.x[sizes.rank] = x.strides[d];
    sizes.y[sizes.rank] = y.strides[d];
    ++sizes.rank;
  };
  for (int d = 0; d < y.rank(); ++d) {
    if (ResamplingOf(attrs, d, x.dims[d], y.dims[d]).IsIdentity()) {
      add(d);
    } else {
      resized.push_back(d);
    }
  }
  if (resized.size() > kMaxResizedDims) return absl::UnimplementedError("so many resized dims");
  sizes.kept = sizes.rank;
  for (size_t r = 0; r < resized.size(); ++r) {
    const int d = resized[r];
    add(d);
    sizes.first[r] = table->Add(ResamplingOf(attrs, d, x.dims[d], y.dims[d]));
  }
  if (table->taps.size() > std::numeric_limits<int32_t>::max()) {
    return absl::UnimplementedError("2^31 taps or more");
  }
  sizes.points = y.numel();
  SetOrder(&sizes);
  return sizes;
}

absl::StatusOr<std::shared_ptr<DeviceMemory>> UploadWeights(CudaDevice& device, DType dtype,
                                                            const std::vector<double>& weights) {
  if (dtype == DType::kF64) return Upload(device, weights);
  return Upload(device, std::vector<float>(weights.begin(), weights.end()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<StepCode>> MakeInterpolate(const RoutineContext& context,
                                                          const StepRequest& request) {
  CudaDevice& device = context.device;
  const RunView& x = request.args[0];
  const RunView& y = request.results[0];
  const InterpolateAttrs attrs(Attrs(request.step.schema, request.attrs));
  const bool moves = attrs.mode() == "nearest";
  if (attrs.coordinate_transformation_mode() == "tf_crop_and_resize") {
    return absl::UnimplementedError("a region of interest");
  }
  if (!moves && !IsFloat(x.dtype)) return absl::UnimplementedError("rounding to integers");
  if (y.numel() >= kMaxElements) return absl::UnimplementedError("2^31 elements or more");
  if (y.rank() > kMaxInterpolateDims) return absl::UnimplementedError("a tensor of so many dims");
  auto code = std::make_unique<RoutineCode>(device, request, "interpolate");
  if (y.numel() == 0) return code;
  Table table;
  WEFT_ASSIGN_OR_RETURN(const InterpolateSizes sizes, SizesOf(attrs, x, y, &table));
  WEFT_ASSIGN_OR_RETURN(const auto module, context.units.Find(InterpolateUnit(x.dtype, moves)));
  WEFT_ASSIGN_OR_RETURN(const auto taps, Upload(device, std::move(table.taps)));
  WEFT_ASSIGN_OR_RETURN(const auto weights, UploadWeights(device, x.dtype, table.weights));
  code->Keep(taps);
  code->Keep(weights);
  WEFT_RETURN_IF_ERROR(code->AddKernel(
      module, "weft_interpolate", GridOfElements(sizes.points, device.multiprocessors()),
      [&](PreparedLaunch* launch) {
        AddOperand(request, 0, launch);
        AddOperand(request, static_cast<int>(request.args.size()), launch);
        launch->AddFixed(taps->data(), taps->size());
        launch->AddFixed(weights->data(), weights->size());
      },
      BytesOf(sizes)));
  return code;
}

}  // namespace weft::cuda
