// Elements around a tensor.
#include "graph/ops/support/map.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  const Type self = args.type(0);
  const auto pad = args.attrs().Syms("pad");
  const std::string& mode = args.attrs().Str("mode");
  const bool constant = mode == "constant";
  if (!constant && mode != "reflect" && mode != "edge" && mode != "wrap") {
    return Invalid("unknown mode \"", mode, "\"");
  }
  if (static_cast<int>(pad.size()) != 2 * self.rank()) {
    return Invalid("pad ", ToString(pad),
                   " does not have two entries for each "
                   "dim of ",
                   self.ToString());
  }
  if (!constant) {
    WEFT_RETURN_IF_ERROR(CheckSizesNotNegative(args, pad, "pad"));
    if (args.has(1)) return Invalid("mode ", mode, " takes no value");
  }
  WEFT_RETURN_IF_ERROR(CheckSameDType(args));
  return CheckRank(args, 1, 0);
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  const Type self = args.type(0);
  const auto pad = args.attrs().Syms("pad");
  const bool constant = args.attrs().Str("mode") == "constant";
  std::vector<SymInt> dims;
  for (int i = 0; i < self.rank(); ++i) {
    const SymInt added = pad[i] + pad[self.rank() + i];
    dims.push_back(self.dim(i) + added);
    if (constant) continue;
    // There is an element to repeat, or none is added.
    if (!args.MayHold(Or(GreaterEqual(self.dim(i), 1), Equal(added, 0)))) {
      return Invalid("dim ", i, " of ", self.ToString(), " has no elements to repeat");
    }
  }
  WEFT_RETURN_IF_ERROR(CheckSizesNotNegative(args, dims, "size"));
  return Types{self.WithDims(dims)};
}

// By nothing.
Folded Fold(const OpArgs& args) {
  for (SymInt p : args.attrs().Syms("pad")) {
    if (!p.Is(0)) return {};
  }
  return args.operand(0);
}

int64_t FloorMod(int64_t a, int64_t b) { return (a % b + b) % b; }

// The position in [0, n) of the element at `i`; -1 if there is none. `n` may be 0 only in constant
// mode.
int64_t Source(absl::string_view mode, int64_t i, int64_t n) {
  if (i >= 0 && i < n) return i;
  if (mode == "edge") return i < 0 ? 0 : n - 1;
  if (mode == "wrap") return FloorMod(i, n);
  if (mode == "reflect") {
    if (n == 1) return 0;
    const int64_t j = FloorMod(i, 2 * (n - 1));
    return j < n ? j : 2 * (n - 1) - j;
  }
  return -1;
}

absl::Status Eval(EvalContext& c) {
  const HostTensor& self = c.in(0);
  const std::string& mode = c.attrs().Str("mode");
  const std::vector<int64_t> pad = c.attrs().Ints("pad");
  const std::vector<int64_t> strides = ContiguousStrides(self.dims());
  if (c.has(1)) {
    Gather(c.in(1), std::vector<int64_t>(c.out(0).numel(), 0), &c.out(0));
  }
  MoveElements(self, &c.out(0), [&](absl::Span<const int64_t> index) {
    int64_t from = 0;
    for (int i = 0; i < self.rank(); ++i) {
      const int64_t at = Source(mode, index[i] - pad[i], self.dim(i));
      if (at < 0) return int64_t{-1};
      from += at * strides[i];
    }
    return from;
  });
  return absl::OkStatus();
}

MapBoundary BoundaryOf(absl::string_view mode) {
  if (mode == "edge") return MapBoundary::kEdge;
  if (mode == "wrap") return MapBoundary::kWrap;
  return mode == "reflect" ? MapBoundary::kReflect : MapBoundary::kNone;
}

std::optional<ElementMap> Map(const MapArgs& args) {
  const Type self = args.operands[0];
  const auto pad = args.attrs().Syms("pad");
  const MapBoundary boundary = BoundaryOf(args.attrs().Str("mode"));
  ElementMap map = MapMove(self.rank(), MapVars(0, self.rank()));
  if (args.has(1)) map.otherwise = 1;
  OperandAccess& access = map.accesses[0];
  for (int d = 0; d < self.rank(); ++d) {
    if (pad[d].Is(0) && pad[self.rank() + d].Is(0)) continue;
    access.at[d].offset = SymInt(0) - pad[d];
    if (boundary == MapBoundary::kNone) {
      access.guards.push_back({access.at[d], self.dim(d)});
    } else {
      access.at[d].boundary = boundary;
      access.at[d].size = self.dim(d);
    }
  }
  return map;
}

}  // namespace

// Not kDataMovement: an absent value brings in zeros.
WEFT_DEFINE_OP(pad, OpSpec("pad(Tensor self, Tensor? value, SymInt[] pad, "
                           "str mode=\"constant\") -> Tensor",
                           "Elements around self: `pad` says how many come before each dim, "
                           "then how many after. Mode constant: `value` (zero when absent); "
                           "negative entries cut off. Modes reflect, edge and wrap repeat "
                           "elements of self, as often as needed. ONNX: Pad; "
                           "ATen: aten::constant_pad_nd, aten::pad.")
                        .Verify(Verify)
                        .Infer(Infer)
                        .Fold(Fold)
                        .Eval(Eval)
                        .Map(Map)
                        .Flops(PerResult{0})
                        .Samples(R"(
pad(f32[2, 3], none, pad=[1, 0, 0, 2])
pad(f32[2, 3], f32[]{7}, pad=[0, 1, 2, 0])
pad(i64[2, 3], i64[], pad=[-1, 1, 1, -1])
pad(u4[3], u4[], pad=[1, 2])
pad(f16[1, 3, 2, 2], none, pad=[0, 1, 0, 0, 0, 1, 0, 0], mode="edge")
pad(f32[4], none, pad=[3, 2], mode="reflect")
pad(f32[2], none, pad=[4, 3], mode="reflect")
pad(i32[3, 2], none, pad=[1, 4, 2, 3], mode="wrap")
pad(f32[1], none, pad=[1, 2], mode="reflect")
pad(bool[], bool[], pad=[])
pad(bf16[0, 2], bf16[], pad=[1, 0, 1, 0])
pad(f32[2], none, pad=[-3, 3])
pad(u64[0, 2], none, pad=[0, 1, 0, 1], mode="edge")
pad(f32[2], none, pad=[1]) ! "two entries for each dim"
pad(f32[2], none, pad=[1, 1], mode="mirror") ! "unknown mode \"mirror\""
pad(f32[2], i32[], pad=[1, 1]) ! "different dtypes"
pad(f32[2], f32[1], pad=[1, 1]) ! "value must have rank 0"
pad(f32[2], f32[], pad=[1, 1], mode="edge") ! "takes no value"
pad(f32[2], none, pad=[-1, 0], mode="edge") ! "pad[0] is negative"
pad(f32[2], none, pad=[-2, -1]) ! "size[0] is negative: -1"
pad(f32[0], none, pad=[1, 1], mode="wrap") ! "no elements to repeat"
)"));

}  // namespace weft::ops
