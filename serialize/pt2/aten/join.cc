// Concatenates, repeats and rotates tensors.
#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ops/ops.h"
#include "graph/ops/shape.h"
#include "graph/sym/sym_int.h"
#include "graph/sym/sym_ops.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

// The values in one dtype, without the empty vectors that PyTorch accepts.
std::vector<Value*> Joined(AtenCall& c, std::vector<Value*> values, bool drop_empty) {
  std::vector<Value*> kept;
  for (Value* v : values) {
    if (v == nullptr) return {};
    const bool empty = RankOf(v) == 1 && DimOf(v, 0).Is(0);
    if (!drop_empty || !empty) kept.push_back(v);
  }
  if (kept.empty()) kept = values;
  if (kept.empty()) {
    c.Fail("the list of tensors is empty");
    return {};
  }
  DType dtype = DTypeOf(kept[0]);
  for (Value* v : kept) dtype = PromoteTypes(dtype, DTypeOf(v));
  for (Value*& v : kept) v = Convert(c, v, dtype);
  return kept;
}

void Concat(AtenCall& c) {
  std::vector<Value*> values = Joined(c, c.Ts("tensors"), true);
  if (values.empty()) return c.Return(nullptr);
  c.Return(Cat(c, values, c.Dim("dim", RankOf(values[0]))));
}

Value* StackAt(AtenCall& c, std::vector<Value*> values, int dim) {
  for (Value*& v : values) v = Unsqueeze(c, v, dim);
  return Cat(c, values, dim);
}

void Stack(AtenCall& c) {
  std::vector<Value*> values = Joined(c, c.Ts("tensors"), false);
  if (values.empty()) return c.Return(nullptr);
  c.Return(StackAt(c, values, c.Dim("dim", RankOf(values[0]) + 1)));
}

// Concatenates along dim 0 for vectors, else dim 1.
void HStack(AtenCall& c) {
  std::vector<Value*> values = Joined(c, c.Ts("tensors"), false);
  for (Value*& v : values) {
    if (RankOf(v) == 0) v = Reshape(c, v, {SymInt(1)});
  }
  if (values.empty()) return c.Return(nullptr);
  c.Return(Cat(c, values, RankOf(values[0]) > 1 ? 1 : 0));
}

void VStack(AtenCall& c) {
  std::vector<Value*> values = Joined(c, c.Ts("tensors"), false);
  for (Value*& v : values) {
    if (RankOf(v) == 0) v = Reshape(c, v, {SymInt(1)});
    if (RankOf(v) == 1) v = Unsqueeze(c, v, 0);
  }
  if (values.empty()) return c.Return(nullptr);
  c.Return(Cat(c, values, 0));
}

// Adds leading dims if there are more factors than dims.
void Repeat(AtenCall& c) {
  Value* self = c.T("self");
  SymInts repeats = c.Syms(c.schema().Find("repeats") >= 0 ? "repeats" : "dims");
  SymInts size = DimsOf(self);
  while (size.size() < repeats.size()) size.insert(size.begin(), 1);
  while (repeats.size() < size.size()) repeats.insert(repeats.begin(), 1);
  c.Return(ops::BuildRepeat(c, Reshape(c, self, size), repeats));
}

// Repeats each element `repeats` times: a new dim after it, expanded.
void RepeatInterleave(AtenCall& c) {
  Value* self = c.T("self");
  if (!c.Has("dim")) self = Flatten(c, self, 0, RankOf(self) - 1);
  const int dim = c.Has("dim") ? c.Dim("dim", RankOf(self)) : 0;
  if (RankOf(self) == 0) return c.Return(c.Fail("self has no dims"));
  Value* x = Unsqueeze(c, self, dim + 1);
  SymInts size = DimsOf(x);
  size[dim + 1] = c.Sym("repeats");
  c.Return(Flatten(c, Expand(c, x, size), dim, dim + 1));
}

void Flip(AtenCall& c) {
  Value* self = c.T("self");
  Ints dims;
  for (int64_t d : c.Ints("dims")) dims.push_back(c.WrapDim(d, RankOf(self)));
  if (RankOf(self) == 0 || dims.empty()) return c.Return(self);
  c.Return(ops::BuildFlip(c, self, dims));
}

template <int dim>
void FlipDim(AtenCall& c) {
  c.Return(ops::BuildFlip(c, c.T("self"), {dim}));
}

void Roll(AtenCall& c) {
  Value* self = c.T("self");
  const int rank = RankOf(self);
  const SymInts dims_given = c.Syms("dims");
  const SymInts shifts = c.Syms("shifts");
  if (dims_given.empty()) {
    Value* flat = Flatten(c, self, 0, rank - 1);
    flat = ops::BuildRoll(c, flat, shifts, {0});
    return c.Return(Reshape(c, flat, DimsOf(self)));
  }
  Ints dims;
  for (int64_t d : c.Ints("dims")) dims.push_back(c.WrapDim(d, rank));
  c.Return(ops::BuildRoll(c, self, shifts, dims));
}

// Rotates by a quarter turn from dim a to dim b, k times.
void Rot90(AtenCall& c) {
  Value* self = c.T("self");
  const int rank = RankOf(self);
  const Ints dims = c.Ints("dims");
  if (dims.size() != 2 || rank < 2) {
    return c.Return(c.Fail("two dims are needed"));
  }
  const int a = c.WrapDim(dims[0], rank);
  const int b = c.WrapDim(dims[1], rank);
  const int64_t k = ((c.Int("k") % 4) + 4) % 4;
  Ints swap = AllDims(rank);
  std::swap(swap[a], swap[b]);
  const auto flip = [&](Value* v, int64_t d) { return ops::BuildFlip(c, v, {d}); };
  if (k == 0) return c.Return(self);
  if (k == 2) return c.Return(flip(flip(self, a), b));
  c.Return(k == 1 ? Permute(c, flip(self, b), swap) : flip(Permute(c, self, swap), b));
}

template <const OpDef& op>
void Triangle(AtenCall& c) {
  c.Return(c.Op(op, {c.T("self")}, {{"diagonal", c.Sym("diagonal")}}));
}

// A vector on a diagonal of a square matrix, for each element of the other dims.
Value* DiagonalMatrix(AtenCall& c, Value* x, int64_t offset) {
  const int rank = RankOf(x);
  const SymInt n = DimOf(x, rank - 1) + std::abs(offset);
  const Ints pads = {offset > 0 ? offset : 0, offset < 0 ? -offset : 0};
  // Puts the vector along rows, at the rows of the diagonal.
  Ints pad(2 * rank, 0);
  pad[rank - 1] = pads[1];
  pad[2 * rank - 1] = pads[0];
  Value* rows = x;
  if (offset != 0) {
    rows = ops::BuildPad(c, x, NumberLike(c, x, 0), ToSymInts(pad));
  }
  rows = Unsqueeze(c, rows, rank);
  Value* on = c.Op(ops::eq, {Sub(c, AlongDim(c, Iota(c, n), 1, 2), AlongDim(c, Iota(c, n), 0, 2)),
                             Number(c, DType::kI64, offset)});
  return Where(c, on, rows, NumberLike(c, x, 0));
}

void DiagEmbed(AtenCall& c) {
  Value* x = c.T("self");
  const int rank = RankOf(x);
  if (rank == 0) return c.Return(c.Fail("self has no dims"));
  Value* y = DiagonalMatrix(c, x, c.Int("offset"));
  const int dim1 = c.Dim("dim1", rank + 1);
  const int dim2 = c.Dim("dim2", rank + 1);
  Ints perm(rank + 1, -1);
  if (dim1 == dim2) return c.Return(c.Fail("dim1 and dim2 are equal"));
  perm[dim1] = rank - 1;
  perm[dim2] = rank;
  int64_t next = 0;
  for (int64_t& p : perm) {
    if (p < 0) p = next++;
  }
  c.Return(Permute(c, y, perm));
}

void Diag(AtenCall& c) {
  Value* x = c.T("self");
  const int64_t offset = c.Int("diagonal");
  if (RankOf(x) == 1) return c.Return(DiagonalMatrix(c, x, offset));
  if (RankOf(x) != 2) return c.Return(c.Fail("self has neither 1 nor 2 dims"));
  const SymInt n = DimOf(x, 0);
  const SymInt m = DimOf(x, 1);
  const SymInt first = offset >= 0 ? SymInt(offset) : SymInt(-offset) * m;
  const SymInt count = Max(offset >= 0 ? Min(n, m - offset) : Min(n + offset, m), 0);
  c.Return(Slice(c, Flatten(c, x, 0, 1), 0, first, first + count * (m + 1), m + 1));
}

void Meshgrid(AtenCall& c) {
  std::vector<Value*> values = c.Ts("tensors");
  const bool xy = c.schema().Find("indexing") >= 0 && c.Str("indexing") == "xy";
  const int n = static_cast<int>(values.size());
  SymInts size;
  for (Value* v : values) size.push_back(TypeOf(v).numel());
  if (xy && n >= 2) std::swap(size[0], size[1]);
  for (int i = 0; i < n; ++i) {
    const int dim = xy && i < 2 ? 1 - i : i;
    values[i] = Expand(c, AlongDim(c, values[i], n >= 2 ? dim : i, n), size);
  }
  c.ReturnList(values);
}

// Moves blocks of channels to pixels: [.., c*r*r, h, w] -> [.., c, h*r, w*r].
void PixelShuffle(AtenCall& c) {
  Value* x = c.T("self");
  const int rank = RankOf(x);
  const int64_t r = c.Int("upscale_factor");
  if (rank < 3 || r < 1) return c.Return(c.Fail("self has too few dims"));
  SymInts size = DimsOf(x);
  const SymInt h = size[rank - 2], w = size[rank - 1];
  const SymInt channels = FloorDiv(size[rank - 3], r * r);
  SymInts split(size.begin(), size.end() - 3);
  SymInts result = split;
  split.insert(split.end(), {channels, SymInt(r), SymInt(r), h, w});
  result.insert(result.end(), {channels, h * r, w * r});
  const int b = rank - 3;
  Ints perm = AllDims(b);
  for (int d : {0, 3, 1, 4, 2}) perm.push_back(b + d);
  c.Return(Reshape(c, Permute(c, Reshape(c, x, split), perm), result));
}

void PixelUnshuffle(AtenCall& c) {
  Value* x = c.T("self");
  const int rank = RankOf(x);
  const int64_t r = c.Int("downscale_factor");
  if (rank < 3 || r < 1) return c.Return(c.Fail("self has too few dims"));
  SymInts size = DimsOf(x);
  const SymInt h = FloorDiv(size[rank - 2], r);
  const SymInt w = FloorDiv(size[rank - 1], r);
  SymInts split(size.begin(), size.end() - 2);
  SymInts result(size.begin(), size.end() - 3);
  split.insert(split.end(), {h, SymInt(r), w, SymInt(r)});
  result.insert(result.end(), {size[rank - 3] * (r * r), h, w});
  const int b = rank - 3;
  Ints perm = AllDims(b);
  for (int d : {0, 2, 4, 1, 3}) perm.push_back(b + d);
  c.Return(Reshape(c, Permute(c, Reshape(c, x, split), perm), result));
}

void ChannelShuffle(AtenCall& c) {
  Value* x = c.T("self");
  const int64_t groups = c.Int("groups");
  if (RankOf(x) < 3 || groups < 1) {
    return c.Return(c.Fail("self has too few dims"));
  }
  const SymInts size = DimsOf(x);
  SymInts split = size;
  split[1] = FloorDiv(size[1], groups);
  split.insert(split.begin() + 1, SymInt(groups));
  Ints perm = AllDims(static_cast<int>(split.size()));
  std::swap(perm[1], perm[2]);
  c.Return(Reshape(c, Permute(c, Reshape(c, x, split), perm), size));
}

void CartesianProd(AtenCall& c) {
  std::vector<Value*> values = c.Ts("tensors");
  const int n = static_cast<int>(values.size());
  SymInts size;
  for (Value* v : values) size.push_back(TypeOf(v).numel());
  if (n == 1) return c.Return(values[0]);
  for (int i = 0; i < n; ++i) {
    values[i] = Expand(c, AlongDim(c, values[i], i, n), size);
    values[i] = Flatten(c, values[i], 0, n - 1);
  }
  c.Return(StackAt(c, values, 1));
}

void BlockDiag(AtenCall& c) {
  std::vector<Value*> values = Joined(c, c.Ts("tensors"), false);
  SymInt cols = 0;
  for (Value*& v : values) {
    while (RankOf(v) < 2 && c.ok()) v = Unsqueeze(c, v, 0);
    cols = cols + DimOf(v, 1);
  }
  SymInt left = 0;
  std::vector<Value*> rows;
  for (Value* v : values) {
    const SymInt n = DimOf(v, 1);
    rows.push_back(ops::BuildPad(c, v, NumberLike(c, v, 0), {0, left, 0, cols - left - n}));
    left = left + n;
  }
  c.Return(values.empty() ? nullptr : Cat(c, rows, 0));
}

constexpr AtenOp kTable[] = {
    {"block_diag(Tensor[] tensors) -> Tensor", BlockDiag},
    {"cartesian_prod(Tensor[] tensors) -> Tensor", CartesianProd},
    {"cat(Tensor[] tensors, int dim=0) -> Tensor", Concat},
    {"channel_shuffle(Tensor self, SymInt groups) -> Tensor", ChannelShuffle},
    {"concat(Tensor[] tensors, int dim=0) -> Tensor", Concat},
    {"concatenate(Tensor[] tensors, int dim=0) -> Tensor", Concat},
    {"diag(Tensor self, int diagonal=0) -> Tensor", Diag},
    {"diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> "
     "Tensor",
     DiagEmbed},
    {"flip(Tensor self, int[] dims) -> Tensor", Flip},
    {"fliplr(Tensor self) -> Tensor", FlipDim<1>},
    {"flipud(Tensor self) -> Tensor", FlipDim<0>},
    {"hstack(Tensor[] tensors) -> Tensor", HStack},
    {"meshgrid(Tensor[] tensors) -> Tensor[]", Meshgrid},
    {"meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]", Meshgrid},
    {"native_channel_shuffle(Tensor self, SymInt groups) -> Tensor", ChannelShuffle},
    {"pixel_shuffle(Tensor self, int upscale_factor) -> Tensor", PixelShuffle},
    {"pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor", PixelUnshuffle},
    {"repeat(Tensor self, SymInt[] repeats) -> Tensor", Repeat},
    {"repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, "
     "*, SymInt? output_size=None) -> Tensor",
     RepeatInterleave},
    {"roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor", Roll},
    {"rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor", Rot90},
    {"row_stack(Tensor[] tensors) -> Tensor", VStack},
    {"stack(Tensor[] tensors, int dim=0) -> Tensor", Stack},
    {"tile(Tensor self, SymInt[] dims) -> Tensor", Repeat},
    {"tril(Tensor self, SymInt diagonal=0) -> Tensor", Triangle<ops::tril>},
    {"triu(Tensor self, SymInt diagonal=0) -> Tensor", Triangle<ops::triu>},
    {"vstack(Tensor[] tensors) -> Tensor", VStack},
};

}  // namespace

absl::Span<const AtenOp> JoinTable() { return kTable; }

}  // namespace weft::pt2
