#include "graph/ops/nn/pooling.h"

#include <algorithm>

#include "graph/ir/op_args.h"
#include "graph/ir/op_eval.h"
#include "graph/ops/support/eval.h"
#include "graph/ops/support/infer.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {
namespace {

// One spatial dim.
struct Axis {
  int64_t in, out, kernel, stride, before, after, dilation;
};

std::vector<Axis> AxesOf(EvalContext& c) {
  const Attrs attrs = c.attrs();
  const auto kernel = attrs.Ints("kernel_size");
  const auto stride = attrs.Ints("stride");
  const auto padding = attrs.Ints("padding");
  const auto dilation = attrs.Ints("dilation");
  const size_t n = kernel.size();
  std::vector<Axis> axes;
  for (size_t i = 0; i < n; ++i) {
    axes.push_back({c.in(0).dim(2 + i), c.out(0).dim(2 + i), kernel[i], stride[i], padding[i],
                    padding[n + i], dilation[i]});
  }
  return axes;
}

// The taps at output `at`: those of all axes combined.
Taps FindTaps(absl::Span<const Axis> axes, int64_t at) {
  Taps taps;
  taps.inside = {0};
  taps.padded = 1;
  int64_t scale = 1;
  for (size_t i = axes.size(); i-- > 0;) {
    const Axis& axis = axes[i];
    const int64_t start = at % axis.out * axis.stride - axis.before;
    at /= axis.out;
    // The elements k with p < limit, where p = start + k * dilation.
    const auto below = [&](int64_t limit) {
      if (start >= limit) return int64_t{0};
      return std::min(axis.kernel, (limit - start - 1) / axis.dilation + 1);
    };
    std::vector<int64_t> inside;
    for (int64_t k = below(0); k < below(axis.in); ++k) {
      const int64_t p = start + k * axis.dilation;
      for (int64_t inner : taps.inside) inside.push_back(p * scale + inner);
    }
    taps.inside = std::move(inside);
    taps.padded *= below(axis.in + axis.after);
    scale *= axis.in;
  }
  return taps;
}

}  // namespace

absl::Status VerifyWindow(const Attrs& attrs, size_t n) {
  for (absl::string_view name : {"kernel_size", "stride", "dilation"}) {
    const std::vector<int64_t> values = attrs.Ints(name);
    if (values.size() != n) {
      return Invalid(name, " must have ", n, " entries, got ", values.size());
    }
    for (int64_t v : values) {
      if (v < 1) return Invalid(name, " must be at least 1, got ", v);
    }
  }
  const std::vector<int64_t> padding = attrs.Ints("padding");
  if (padding.size() != 2 * n) {
    return Invalid("padding must have ", 2 * n, " entries, got ", padding.size());
  }
  return absl::OkStatus();
}

absl::Status VerifyPooling(const OpArgs& args) {
  const Attrs attrs = args.attrs();
  WEFT_RETURN_IF_ERROR(CheckRankAtLeast(args, 0, 3));
  const size_t n = args.type(0).rank() - 2;
  WEFT_RETURN_IF_ERROR(VerifyWindow(attrs, n));
  const std::vector<int64_t> padding = attrs.Ints("padding");
  for (size_t i = 0; i < 2 * n; ++i) {
    const SymInt last = attrs.Syms("dilation")[i % n] * (attrs.Syms("kernel_size")[i % n] - 1);
    if (!last.is_valid() || padding[i] < 0 || padding[i] > last.value()) {
      return Invalid("padding must be 0 to ", last.ToString(), " here, got ", padding[i]);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<SymInt>> PooledDims(const OpArgs& args) {
  const Attrs attrs = args.attrs();
  const Type self = args.type(0);
  const auto kernel = attrs.Syms("kernel_size");
  const auto stride = attrs.Syms("stride");
  const auto padding = attrs.Syms("padding");
  const auto dilation = attrs.Syms("dilation");
  const size_t n = kernel.size();
  std::vector<SymInt> dims = {self.dim(0), self.dim(1)};
  for (size_t i = 0; i < n; ++i) {
    const SymInt in = self.dim(2 + i);
    const SymInt padded = in + padding[i] + padding[n + i];
    const SymInt extent = dilation[i] * (kernel[i] - 1) + 1;
    const bool ceil_mode = attrs.Bool("ceil_mode");
    if (!ceil_mode && !args.MayHold(LessEqual(extent, padded))) {
      return Invalid("the window covers ", extent.ToString(), " of the ", padded.ToString(),
                     " elements of the padded dim ", 2 + i);
    }
    dims.push_back(
        WindowedSize(in, kernel[i], stride[i], dilation[i], padding[i], padding[n + i], ceil_mode));
  }
  return dims;
}

void ForEachWindow(EvalContext& c, absl::FunctionRef<void(int64_t, const Taps&)> fn) {
  const std::vector<Axis> axes = AxesOf(c);
  constexpr int64_t kGrain = 64;
  ParallelChunks(PlaneSize(c.out(0)), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at) fn(at, FindTaps(axes, at));
  });
}

int64_t PlaneSize(const HostTensor& t) { return Numel(t.dims().subspan(2)); }
int64_t NumPlanes(const HostTensor& t) { return t.dim(0) * t.dim(1); }

int64_t WindowSize(const Attrs& attrs) {
  int64_t size = 1;
  for (int64_t k : attrs.Ints("kernel_size")) size *= k;
  return size;
}

}  // namespace weft::ops
