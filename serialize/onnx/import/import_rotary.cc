// RotaryEmbedding.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/value.h"
#include "graph/ops/index.h"
#include "graph/ops/nn.h"
#include "graph/ops/shape.h"
#include "graph/sym/sym_ops.h"
#include "serialize/onnx/import/import_context.h"
#include "serialize/onnx/import/import_tables.h"
#include "serialize/onnx/import/import_util.h"

namespace weft::onnx_import {
namespace {

// The cosines or sines of input `i` for each token, in the layout of the heads
// of x: [batch, 1, sequence, half] or [batch, sequence, 1, half].
Value* Angles(NodeContext& c, int i, bool packed) {
  Value* v = c.in(i);
  if (c.has_input(3)) {
    v = ops::BuildIndexSelect(c, v, c.in(3), 0);
  }
  if (v == nullptr) return nullptr;
  const Type t = v->type();
  if (t.rank() != 3) {
    c.Record(absl::StrCat(c.InputText(i), " gives ", t.ToString(),
                          " instead of [batch, sequence, half]"));
    return nullptr;
  }
  if (packed) {
    return Reshape(c, v, {t.dim(0), t.dim(1), SymInt(1), t.dim(2)});
  }
  return Reshape(c, v, {t.dim(0), SymInt(1), t.dim(1), t.dim(2)});
}

absl::Status RotaryEmbedding(NodeContext& c) {
  const Type type = c.type(0);
  WEFT_RETURN_IF_ERROR(c.status());
  const bool packed = type.rank() == 3;
  if (!packed && type.rank() != 4) {
    return c.Fail(absl::StrCat("X must be of rank 3 or 4, not ", type.ToString()));
  }
  Value* x = c.in(0);
  const int64_t heads = c.Int("num_heads", 0);
  if (packed) {
    if (heads < 1) return c.Fail("num_heads must be given for rank 3");
    x = Reshape(c, x, {type.dim(0), type.dim(1), SymInt(heads), FloorDiv(type.dim(2), heads)});
  }
  const int64_t rotated = c.Int("rotary_embedding_dim", 0);
  const bool interleaved = c.Bool("interleaved", false);
  Value* cos = Angles(c, 1, packed);
  Value* sin = Angles(c, 2, packed);
  WEFT_RETURN_IF_ERROR(c.status());
  const SymInt size = x->type().dim(3);
  const bool whole = rotated == 0 || size.Is(rotated);
  Value* y =
      ops::BuildRotaryEmbedding(c, whole ? x : Slice(c, x, 3, 0, rotated), cos, sin, interleaved);
  if (!whole) {
    y = ops::BuildCat(c, {y, Slice(c, x, 3, rotated, size)}, 3);
  }
  c.SetOutput(0, Reshape(c, y, Dims(c.in(0))));
  return c.status();
}

constexpr OnnxOp kTable[] = {
    {"RotaryEmbedding", {23}, RotaryEmbedding},
};

}  // namespace

absl::Span<const OnnxOp> RotaryTable() { return kTable; }

}  // namespace weft::onnx_import
