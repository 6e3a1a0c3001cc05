// Blocks of a plane to channels and back.
#include "graph/ops/support/build.h"
#include "graph/ops/support/op.h"
#include "graph/ops/support/sizes.h"
#include "graph/sym/sym_ops.h"

namespace weft::ops {
namespace {

absl::Status Verify(const OpArgs& args) {
  WEFT_RETURN_IF_ERROR(CheckRank(args, 0, 4));
  const int64_t block = args.attrs().Int("block_size");
  constexpr int64_t kMost = 1 << 20;
  if (block >= 1 && block <= kMost) return absl::OkStatus();
  return Invalid("block_size must be from 1 to ", kMost, ", got ", block);
}

// n / divisor; an error when that provably leaves a rest.
absl::StatusOr<SymInt> Quotient(const OpArgs& args, int dim, int64_t divisor) {
  const SymInt n = args.type(0).dim(dim);
  if (!MayBeEqual(args, Mod(n, divisor), 0)) {
    return Invalid("dim ", dim, " of ", args.type(0).ToString(), " is not a multiple of ", divisor);
  }
  return FloorDiv(n, divisor);
}

absl::StatusOr<Types> InferDepthToSpace(const OpArgs& args) {
  const Type self = args.type(0);
  const int64_t block = args.attrs().Int("block_size");
  const std::string& mode = args.attrs().Str("mode");
  if (mode != "DCR" && mode != "CRD") {
    return Invalid("unknown mode \"", mode, "\"");
  }
  WEFT_ASSIGN_OR_RETURN(const SymInt depth, Quotient(args, 1, block * block));
  return Types{self.WithDims({self.dim(0), depth, self.dim(2) * block, self.dim(3) * block})};
}

// [N, (b, b, C) or (C, b, b), H, W] to [N, C, (H, b), (W, b)].
std::vector<Value*> DecomposeDepthToSpace(Builder& b, const OpArgs& args) {
  const Type self = args.type(0);
  const Type result = InferDepthToSpace(args)->front();
  const SymInt block = args.attrs().Sym("block_size");
  const SymInt depth = result.dim(1);
  const bool dcr = args.attrs().Str("mode") == "DCR";
  Value* v = Reshape(
      b, args.operand(0),
      dcr ? std::vector<SymInt>{self.dim(0), block, block, depth, self.dim(2), self.dim(3)}
          : std::vector<SymInt>{self.dim(0), depth, block, block, self.dim(2), self.dim(3)});
  v = dcr ? Permute(b, v, {0, 3, 4, 1, 5, 2}) : Permute(b, v, {0, 1, 4, 2, 5, 3});
  return {Reshape(b, v, DimsOf(result))};
}

absl::StatusOr<Types> InferSpaceToDepth(const OpArgs& args) {
  const Type self = args.type(0);
  const int64_t block = args.attrs().Int("block_size");
  WEFT_ASSIGN_OR_RETURN(const SymInt height, Quotient(args, 2, block));
  WEFT_ASSIGN_OR_RETURN(const SymInt width, Quotient(args, 3, block));
  return Types{self.WithDims({self.dim(0), self.dim(1) * (block * block), height, width})};
}

// [N, C, (H, b), (W, b)] to [N, (b, b, C), H, W].
std::vector<Value*> DecomposeSpaceToDepth(Builder& b, const OpArgs& args) {
  const Type self = args.type(0);
  const Type result = InferSpaceToDepth(args)->front();
  const SymInt block = args.attrs().Sym("block_size");
  Value* v = Reshape(b, args.operand(0),
                     {self.dim(0), self.dim(1), result.dim(2), block, result.dim(3), block});
  v = Permute(b, v, {0, 3, 5, 1, 2, 4});
  return {Reshape(b, v, DimsOf(result))};
}

}  // namespace

WEFT_DEFINE_OP(depth_to_space, OpSpec("depth_to_space(Tensor self, int block_size, "
                                      "str mode=\"DCR\") -> Tensor",
                                      "Channels of [N, C, H, W] moved into blocks of the "
                                      "plane; the block's place is the slow (DCR) or the fast "
                                      "(CRD) part of the channel. ONNX: DepthToSpace; CRD is "
                                      "ATen: aten::pixel_shuffle.")
                                   .Traits(kDataMovement)
                                   .Verify(Verify)
                                   .Infer(InferDepthToSpace)
                                   .Decompose(DecomposeDepthToSpace)
                                   .Samples(R"(
depth_to_space(f32[1, 8, 2, 3], block_size=2)
depth_to_space(i64[2, 4, 1, 2], block_size=2, mode="CRD")
depth_to_space(f16[1, 9, 2, 1], block_size=3)
depth_to_space(u4[1, 3, 2, 2], block_size=1)
depth_to_space(bool[0, 4, 2, 2], block_size=2)
depth_to_space(f32[1, 6, 2, 2], block_size=2) ! "dim 1 of f32[1, 6, 2, 2] is not"
depth_to_space(f32[4, 2, 2], block_size=2) ! "self must have rank 4"
depth_to_space(f32[1, 4, 2, 2], block_size=0) ! "block_size must be from 1"
depth_to_space(f32[1, 4, 2, 2], block_size=2, mode="X") ! "unknown mode"
)"));

WEFT_DEFINE_OP(space_to_depth, OpSpec("space_to_depth(Tensor self, int block_size) -> Tensor",
                                      "Blocks of the plane of [N, C, H, W] moved into "
                                      "channels: the inverse of depth_to_space in mode DCR. "
                                      "ONNX: SpaceToDepth.")
                                   .Traits(kDataMovement)
                                   .Verify(Verify)
                                   .Infer(InferSpaceToDepth)
                                   .Decompose(DecomposeSpaceToDepth)
                                   .Samples(R"(
space_to_depth(f32[1, 2, 4, 6], block_size=2)
space_to_depth(i64[2, 1, 3, 3], block_size=3)
space_to_depth(u4[1, 3, 2, 2], block_size=1)
space_to_depth(bool[0, 1, 2, 2], block_size=2)
space_to_depth(f32[1, 1, 3, 2], block_size=2) ! "dim 2 of f32[1, 1, 3, 2] is not"
space_to_depth(f32[2, 2], block_size=2) ! "self must have rank 4"
space_to_depth(f32[1, 1, 2, 2], block_size=-1) ! "block_size must be from 1"
)"));

}  // namespace weft::ops
