#include "backends/cuda/routine_calls.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"

namespace weft::cuda {
namespace {

// A dim of several tensors, with its strides in each.
struct Dim {
  int64_t size = 1;
  int64_t strides[3] = {};
};

// Joins neighbouring dims that all tensors walk with one stride, and drops those of size 1.
std::vector<Dim> Join(const std::vector<Dim>& dims) {
  std::vector<Dim> joined;
  for (const Dim& dim : dims) {
    if (dim.size == 1) continue;
    const auto continues = [&](int t) {
      return joined.back().strides[t] == dim.strides[t] * dim.size;
    };
    if (!joined.empty() && continues(0) && continues(1) && continues(2)) {
      joined.back() = {joined.back().size * dim.size,
                       {dim.strides[0], dim.strides[1], dim.strides[2]}};
    } else {
      joined.push_back(dim);
    }
  }
  return joined;
}

// The stride of an operand along dim `d` of the result's batch, which has `rank` dims; the operand
// has `own` batch dims, which stand last.
int64_t BatchStride(const RunView& view, int own, int d, int rank) {
  const int at = d - (rank - own);
  return at < 0 || view.dims[at] == 1 ? 0 : view.strides[at];
}

absl::Status SetBatch(std::vector<Dim> dims, MatmulSizes* sizes) {
  dims = Join(dims);
  // With one matrix on the right, rows of neighbouring matrices on the left are more rows.
  while (!dims.empty() && dims.back().strides[1] == 0 &&
         (sizes->m == 1 || (dims.back().strides[0] == sizes->a_row * sizes->m &&
                            dims.back().strides[2] == sizes->c_row * sizes->m))) {
    if (sizes->m == 1) {
      sizes->a_row = dims.back().strides[0];
      sizes->c_row = dims.back().strides[2];
    }
    sizes->m *= dims.back().size;
    dims.pop_back();
  }
  if (dims.size() > kMaxBatchDims) return absl::UnimplementedError("a batch of too many dims");
  sizes->rank = static_cast<int64_t>(dims.size());
  for (size_t d = 0; d < dims.size(); ++d) {
    sizes->batches *= dims[d].size;
    sizes->dims[d] = dims[d].size;
    sizes->a[d] = dims[d].strides[0];
    sizes->b[d] = dims[d].strides[1];
    sizes->c[d] = dims[d].strides[2];
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MatmulSizes> MatmulOf(const RunView& a, const RunView& b, const RunView& c) {
  MatmulSizes sizes;
  const int rows = a.rank() > 1 ? 1 : 0;
  const int columns = b.rank() > 1 ? 1 : 0;
  const int batch = c.rank() - rows - columns;
  sizes.k = a.dims.back();
  sizes.a_k = a.strides.back();
  sizes.b_k = b.strides[b.rank() - 1 - columns];
  if (rows > 0) {
    sizes.m = a.dims[a.rank() - 2];
    sizes.a_row = a.strides[a.rank() - 2];
    sizes.c_row = c.strides[batch];
  }
  if (columns > 0) {
    sizes.n = b.dims.back();
    sizes.b_column = b.strides.back();
    sizes.c_column = c.strides.back();
  }
  std::vector<Dim> dims;
  for (int d = 0; d < batch; ++d) {
    dims.push_back({c.dims[d],
                    {BatchStride(a, a.rank() - 1 - rows, d, batch),
                     BatchStride(b, b.rank() - 1 - columns, d, batch), c.strides[d]}});
  }
  const absl::Status status = SetBatch(std::move(dims), &sizes);
  if (!status.ok()) return status;
  return sizes;
}

absl::StatusOr<MatmulSizes> LinearOf(const RunView& a, const RunView& b, const RunView& bias,
                                     const RunView& c) {
  MatmulSizes sizes;
  sizes.k = a.dims.back();
  sizes.a_k = a.strides.back();
  sizes.n = b.dims[0];
  sizes.b_column = b.strides[0];
  sizes.b_k = b.strides[1];
  sizes.c_column = c.strides.back();
  if (bias.present()) {
    sizes.has_bias = 1;
    sizes.bias = bias.strides[0];
  }
  std::vector<Dim> dims;
  for (int d = 0; d + 1 < a.rank(); ++d) {
    dims.push_back({a.dims[d], {a.strides[d], 0, c.strides[d]}});
  }
  const absl::Status status = SetBatch(std::move(dims), &sizes);
  if (!status.ok()) return status;
  return sizes;
}

void SetGroups(const MatmulShape& shape, const RunView& a, const RunView& b, const RunView& c,
               MatmulSizes* sizes) {
  if (shape.load_group == 0) return;
  const auto even = [&](const RunView& view, const int64_t* batch, int64_t group) {
    return view.offset % group == 0 && std::all_of(batch, batch + sizes->rank, [&](int64_t stride) {
             return stride % group == 0;
           });
  };
  // Lines are the rows of a or the columns of b.
  const auto groups = [&](const RunView& view, const int64_t* batch, int64_t lines,
                          int64_t line_stride, int64_t k_stride) -> int64_t {
    const int64_t group = shape.load_group;
    if (!even(view, batch, group)) return 0;
    if (k_stride == 1 && sizes->k % group == 0 && (lines == 1 || line_stride % group == 0)) {
      return 1;
    }
    if (line_stride == 1 && lines % group == 0 && (sizes->k == 1 || k_stride % group == 0)) {
      return 2;
    }
    return 0;
  };
  sizes->a_groups = groups(a, sizes->a, sizes->m, sizes->a_row, sizes->a_k);
  sizes->b_groups = groups(b, sizes->b, sizes->n, sizes->b_column, sizes->b_k);
  const int64_t group = shape.store_group;
  sizes->c_groups = even(c, sizes->c, group) && sizes->c_column == 1 && sizes->n % group == 0 &&
                    (sizes->m == 1 || sizes->c_row % group == 0);
}

absl::StatusOr<CopySizes> CopyOf(const RunView& from, const RunView& to, int* bytes) {
  CopySizes sizes;
  const int bits = DTypeBits(from.dtype);
  *bytes = bits / 8;
  std::vector<Dim> dims;
  if (bits < 8) {
    if (!from.dense() || !to.dense()) return absl::UnimplementedError("elements in parts of bytes");
    *bytes = 1;
    dims.push_back({DTypeBytes(from.dtype, from.numel()), {1, 1, 0}});
  } else {
    for (int d = 0; d < from.rank(); ++d) {
      dims.push_back({from.dims[d], {from.strides[d], to.strides[d], 0}});
    }
  }
  dims = Join(dims);
  if (dims.size() > kMaxCopyDims) return absl::UnimplementedError("a copy of too many dims");
  sizes.rank = static_cast<int64_t>(dims.size());
  for (size_t d = 0; d < dims.size(); ++d) {
    sizes.points *= dims[d].size;
    sizes.dims[d] = dims[d].size;
    sizes.from[d] = dims[d].strides[0];
    sizes.to[d] = dims[d].strides[1];
  }
  return sizes;
}

}  // namespace weft::cuda
