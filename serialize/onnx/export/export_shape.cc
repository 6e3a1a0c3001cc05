// Ops that move elements by shape alone.

#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"
#include "graph/tensor/tensor.h"
#include "serialize/onnx/export/export_tables.h"

namespace weft::onnx_export {
namespace {

absl::Status ExportReshape(NodeExport& e) {
  e.SetOutput(0, e.Reshape(e.in(0), e.type().dims(), e.attrs().Syms("size")));
  return absl::OkStatus();
}

absl::Status ExportPermute(NodeExport& e) {
  if (e.rank() == 0) {
    e.SetOutput(0, e.in(0));
    return absl::OkStatus();
  }
  e.SetOutput(0, e.Op("Transpose", {e.in(0)}, {{"perm", e.Dims("dims", e.rank())}}));
  return absl::OkStatus();
}

absl::Status ExportExpand(NodeExport& e) {
  e.SetOutput(0, e.Op("Expand", {e.in(0), e.Sizes(e.attrs().Syms("size"))}));
  return absl::OkStatus();
}

// Both clamp positions to the dim, and count negative ones from the end.
absl::Status ExportSlice(NodeExport& e) {
  const SymInt start = e.attrs().Sym("start");
  const SymInt end = e.attrs().Sym("end");
  const SymInt step = e.attrs().Sym("step");
  e.SetOutput(0, e.Op("Slice", {e.in(0), e.Size(start), e.Size(end),
                                e.Ints({e.Dim("dim", e.rank())}), e.Size(step)}));
  return absl::OkStatus();
}

absl::Status ExportCat(NodeExport& e) {
  e.SetOutput(0, e.w().Op("Concat", e.ins(), {{"axis", e.Dim("dim", e.rank())}}));
  return absl::OkStatus();
}

// --- Padding ----------------------------------------------------------------------

// 0, 1, ... n - 1 shifted by `first`, as i64[n].
Val Range(NodeExport& e, SymInt first, SymInt n) {
  return e.Op("Range", {e.ScalarSize(first), e.ScalarSize(first + n), e.IntScalar(1)});
}

// The positions that a dim of `n` elements is read at, padded in mode wrap or
// reflect: modulo n, or back and forth with period 2(n - 1).
Val PaddedIndices(NodeExport& e, bool reflect, SymInt n, SymInt before, SymInt after) {
  Val at = Range(e, -before, n + before + after);
  if (!reflect) return e.Op("Mod", {at, e.Size(Max(n, 1))});
  Val last = e.Size(n - 1);
  Val phase = e.Op("Mod", {at, e.Size(Max(2 * (n - 1), 1))});
  Val back = e.Op("Abs", {e.Op("Sub", {last, phase})});
  return e.Op("Sub", {last, back});
}

absl::Status ExportPad(NodeExport& e) {
  const std::string& mode = e.attrs().Str("mode");
  const auto pad = e.attrs().Syms("pad");
  const int rank = e.rank();
  if (rank == 0) {
    e.SetOutput(0, e.in(0));
    return absl::OkStatus();
  }
  bool gather = mode == "wrap" && e.opset() < 19;
  for (int i = 0; mode == "reflect" && i < rank; ++i) {
    // Reflected once, a dim of n gives n - 1 elements.
    const SymInt most = e.type().dim(i) - 1;
    gather = gather || e.facts().ProveLe(pad[i], most) == Proof::kNo ||
             e.facts().ProveLe(pad[rank + i], most) == Proof::kNo;
  }
  if (!gather) {
    e.SetOutput(0, e.Op("Pad", {e.in(0), e.Sizes(pad), e.in(1)}, {{"mode", mode}}));
    return absl::OkStatus();
  }
  Val x = e.in(0);
  for (int i = 0; i < rank; ++i) {
    if (pad[i].Is(0) && pad[rank + i].Is(0)) continue;
    Val index = PaddedIndices(e, mode == "reflect", e.type().dim(i), pad[i], pad[rank + i]);
    x = e.Op("Gather", {x, index}, {{"axis", i}});
  }
  e.SetOutput(0, x);
  return absl::OkStatus();
}

// --- Copies, parts, blocks --------------------------------------------------------

absl::Status ExportFlip(NodeExport& e) {
  // Dims of size 1 and 0 stay as they are.
  std::vector<int64_t> dims;
  for (int64_t dim : e.Dims("dims", e.rank())) {
    const auto size = e.type().dim(static_cast<int>(dim)).constant();
    if (!size || *size > 1) dims.push_back(dim);
  }
  if (dims.empty()) {
    e.SetOutput(0, e.in(0));
    return absl::OkStatus();
  }
  const std::vector<int64_t> back(dims.size(), -1);
  const std::vector<int64_t> front(dims.size(), SymRange::kMin);
  e.SetOutput(0, e.Op("Slice", {e.in(0), e.Ints(back), e.Ints(front), e.Ints(dims), e.Ints(back)}));
  return absl::OkStatus();
}

// The end that goes to the front, then the rest.
absl::Status ExportRoll(NodeExport& e) {
  const auto shifts = e.attrs().Syms("shifts");
  const std::vector<int64_t> dims = e.Dims("dims", e.rank());
  Val x = e.in(0);
  for (size_t i = 0; i < dims.size(); ++i) {
    const SymInt n = e.type().dim(static_cast<int>(dims[i]));
    Val at = e.Size(n - Mod(shifts[i], Max(n, 1)));
    Val dim = e.Ints({dims[i]});
    Val end = e.Op("Slice", {x, at, e.Ints({SymRange::kMax}), dim});
    Val rest = e.Op("Slice", {x, e.Ints({0}), at, dim});
    x = e.Op("Concat", {end, rest}, {{"axis", dims[i]}});
  }
  e.SetOutput(0, x);
  return absl::OkStatus();
}

absl::Status ExportRepeat(NodeExport& e) {
  Val x = e.in(0);
  if (e.rank() > 0) {
    x = e.Op("Tile", {x, e.Sizes(e.attrs().Syms("repeats"))});
  }
  e.SetOutput(0, x);
  return absl::OkStatus();
}

absl::Status ExportSplit(NodeExport& e) {
  const int parts = e.node().num_results();
  const std::vector<Val> values =
      e.Ops("Split", {e.in(0), e.Sizes(e.attrs().Syms("split_sizes"))},
            {{"axis", e.Dim("dim", e.rank())}}, std::vector<bool>(parts, true));
  for (int i = 0; i < parts; ++i) e.SetOutput(i, values[i]);
  return absl::OkStatus();
}

absl::Status ExportDepthToSpace(NodeExport& e) {
  e.SetOutput(0, e.Op("DepthToSpace", {e.in(0)},
                      {{"blocksize", e.Int("block_size")}, {"mode", e.attrs().Str("mode")}}));
  return absl::OkStatus();
}

absl::Status ExportSpaceToDepth(NodeExport& e) {
  e.SetOutput(0, e.Op("SpaceToDepth", {e.in(0)}, {{"blocksize", e.Int("block_size")}}));
  return absl::OkStatus();
}

absl::Status ExportTriangle(NodeExport& e, int64_t upper) {
  e.SetOutput(
      0, e.Op("Trilu", {e.in(0), e.ScalarSize(e.attrs().Sym("diagonal"))}, {{"upper", upper}}));
  return absl::OkStatus();
}
absl::Status ExportTril(NodeExport& e) { return ExportTriangle(e, 0); }
absl::Status ExportTriu(NodeExport& e) { return ExportTriangle(e, 1); }

// --- Made from sizes ----------------------------------------------------------------

// Constants of at most this many elements are written out.
constexpr int64_t kSmallConstant = 256;

absl::Status ExportArange(NodeExport& e) {
  const SymInt start = e.attrs().Sym("start");
  const SymInt step = e.attrs().Sym("step");
  const Type type = e.out_type();
  const auto n = type.dim(0).constant();
  if (n && *n <= kSmallConstant && start.is_constant() && step.is_constant()) {
    std::vector<int64_t> values;
    for (int64_t i = 0; i < *n; ++i) {
      values.push_back(start.value() + i * step.value());
    }
    e.SetOutput(0, e.w().Tensor(HostTensor::FromInts(type.dtype(), {*n}, values)));
    return absl::OkStatus();
  }
  Val range =
      e.Op("Range", {e.ScalarSize(start), e.ScalarSize(e.attrs().Sym("end")), e.ScalarSize(step)});
  e.SetOutput(0, e.Cast(range, type.dtype()));
  return absl::OkStatus();
}

// EyeLike gives f16, f32, f64, and integers from 8 bits on.
absl::Status ExportEye(NodeExport& e) {
  const DType dtype = e.out_type().dtype();
  DType made = dtype;
  if (IsFloat(dtype) && DTypeBits(dtype) < 32) made = DType::kF32;
  if (DTypeBits(dtype) < 8) made = DType::kI32;
  Val zeros = e.Full(e.out_type().dims(), HostTensor::Scalar(DType::kF32, 0));
  Val eye = e.Op("EyeLike", {zeros},
                 {{"dtype", int64_t{e.w().model().DataType(made)}}, {"k", e.Int("k")}}, made);
  e.SetOutput(0, e.Cast(eye, dtype));
  return absl::OkStatus();
}

// --- Sizes ------------------------------------------------------------------------

absl::Status ExportSymConstant(NodeExport& e) {
  const auto values = e.attrs().Syms("values");
  const std::vector<int64_t> size = e.attrs().Ints("size");
  const DType dtype = e.out_type().dtype();
  if (const auto constants = AllConstant(values)) {
    e.SetOutput(0, e.w().Tensor(HostTensor::FromInts(dtype, size, *constants)));
    return absl::OkStatus();
  }
  Val all = e.Sizes(values);
  if (size.size() != 1) all = e.Op("Reshape", {all, e.Ints(size)});
  e.SetOutput(0, e.Cast(all, dtype));
  return absl::OkStatus();
}

absl::Status ExportItem(NodeExport& e) {
  Val one = e.Op("Reshape", {e.in(0), e.Ints({1})});
  e.SetOutput(0, e.Cast(one, DType::kI64));
  return absl::OkStatus();
}

}  // namespace

absl::Span<const ExportEntry> ShapeExports() {
  static const ExportEntry kEntries[] = {
      {&ops::arange, ExportArange},
      {&ops::cat, ExportCat},
      {&ops::depth_to_space, ExportDepthToSpace},
      {&ops::expand, ExportExpand},
      {&ops::eye, ExportEye},
      {&ops::flip, ExportFlip},
      {&ops::item, ExportItem},
      {&ops::pad, ExportPad},
      {&ops::permute, ExportPermute},
      {&ops::range, ExportDirect, "Range", "u64"},
      {&ops::repeat, ExportRepeat},
      {&ops::reshape, ExportReshape},
      {&ops::roll, ExportRoll},
      {&ops::slice, ExportSlice},
      {&ops::space_to_depth, ExportSpaceToDepth},
      {&ops::split_with_sizes, ExportSplit},
      {&ops::sym_constant, ExportSymConstant},
      {&ops::tril, ExportTril},
      {&ops::triu, ExportTriu},
  };
  return kEntries;
}

}  // namespace weft::onnx_export
