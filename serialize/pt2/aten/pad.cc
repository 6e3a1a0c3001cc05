// Padding. PyTorch lists (before, after) pairs from the last dim backwards.
#include <map>

#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ops/ops.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

Value* PadWith(AtenCall& c, Value* x, const SymInts& pairs, const std::string& mode, Value* value) {
  const int rank = RankOf(x);
  if (pairs.size() % 2 != 0 || static_cast<int>(pairs.size()) > 2 * rank) {
    return c.Fail(absl::StrCat(pairs.size(), " pads for ", rank, " dims"));
  }
  SymInts pad(2 * rank, SymInt(0));
  for (size_t i = 0; i < pairs.size() / 2; ++i) {
    pad[rank - 1 - i] = pairs[2 * i];
    pad[2 * rank - 1 - i] = pairs[2 * i + 1];
  }
  if (mode == "constant" && value == nullptr) value = NumberLike(c, x, 0);
  // Negative padding is cropped first.
  for (int i = 0; i < rank && mode != "constant"; ++i) {
    const auto cut = [](SymInt* side) {
      if (!side->is_constant() || side->value() >= 0) return SymInt(0);
      const SymInt by = -side->value();
      *side = 0;
      return by;
    };
    const SymInt before = cut(&pad[i]);
    const SymInt after = cut(&pad[rank + i]);
    if (before.Is(0) && after.Is(0)) continue;
    x = Slice(c, x, i, before, DimOf(x, i) - after);
  }
  return c.Op(ops::pad, {x, mode == "constant" ? value : nullptr}, {{"pad", pad}, {"mode", mode}});
}

void ConstantPad(AtenCall& c) {
  Value* x = c.T("self");
  c.Return(PadWith(c, x, c.Syms("pad"), "constant", c.As("value", DTypeOf(x))));
}

void Pad(AtenCall& c) {
  Value* x = c.T("self");
  const std::string mode = c.Str("mode");
  static const auto& modes = *new std::map<std::string, std::string>{{"constant", "constant"},
                                                                     {"reflect", "reflect"},
                                                                     {"replicate", "edge"},
                                                                     {"circular", "wrap"}};
  const auto found = modes.find(mode);
  if (found == modes.end()) {
    return c.Return(c.Fail(absl::StrCat("unknown mode \"", mode, "\"")));
  }
  Value* value = c.Has("value") ? c.As("value", DTypeOf(x)) : nullptr;
  c.Return(PadWith(c, x, c.Syms("pad"), found->second, value));
}

void Reflection(AtenCall& c) {
  c.Return(PadWith(c, c.T("self"), c.Syms("padding"), "reflect", nullptr));
}

void Replication(AtenCall& c) {
  c.Return(PadWith(c, c.T("self"), c.Syms("padding"), "edge", nullptr));
}

void Circular(AtenCall& c) { c.Return(PadWith(c, c.T("self"), c.Syms("pad"), "wrap", nullptr)); }

constexpr AtenOp kTable[] = {
    {"_pad_circular(Tensor self, SymInt[] pad) -> Tensor", Circular},
    {"constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor", ConstantPad},
    {"pad(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None) "
     "-> Tensor",
     Pad},
    {"reflection_pad1d(Tensor self, SymInt[2] padding) -> Tensor", Reflection},
    {"reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor", Reflection},
    {"reflection_pad3d(Tensor self, SymInt[6] padding) -> Tensor", Reflection},
    {"replication_pad1d(Tensor self, SymInt[2] padding) -> Tensor", Replication},
    {"replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor", Replication},
    {"replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor", Replication},
};

}  // namespace

absl::Span<const AtenOp> PadTable() { return kTable; }

}  // namespace weft::pt2
