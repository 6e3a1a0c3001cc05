// The operators that are imported, and their implementation.
#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graph/ir/op_registry.h"
#include "graph/ops/registry.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/pt2.h"

namespace weft {
namespace {

// The operators that PyTorch 2.14 tags as core.
constexpr const char* kCore[] = {
    "_adaptive_avg_pool2d",
    "_adaptive_avg_pool2d_backward",
    "_adaptive_avg_pool3d",
    "_cdist_forward",
    "_embedding_bag",
    "_fft_c2r",
    "_fft_r2c",
    "_local_scalar_dense",
    "_log_softmax",
    "_native_batch_norm_legit",
    "_native_batch_norm_legit.no_stats",
    "_native_batch_norm_legit_no_training",
    "_pdist_forward",
    "_softmax",
    "_to_copy",
    "abs",
    "acos",
    "acosh",
    "adaptive_avg_pool1d",
    "add.Scalar",
    "add.Tensor",
    "addmm",
    "alias",
    "amax",
    "amin",
    "any",
    "any.dim",
    "any.dims",
    "arange.start_step",
    "argmax",
    "argmin",
    "as_strided",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool2d_backward",
    "avg_pool3d",
    "bitwise_and.Scalar",
    "bitwise_and.Tensor",
    "bitwise_not",
    "bitwise_or.Scalar",
    "bitwise_or.Tensor",
    "bitwise_xor.Scalar",
    "bitwise_xor.Tensor",
    "bmm",
    "cat",
    "ceil",
    "clamp.Tensor",
    "clamp",
    "clone",
    "col2im",
    "constant_pad_nd",
    "convolution",
    "convolution_backward",
    "copy",
    "cos",
    "cosh",
    "cumsum",
    "diagonal",
    "div.Scalar",
    "div.Scalar_mode",
    "div.Tensor",
    "div.Tensor_mode",
    "elu",
    "embedding",
    "embedding_dense_backward",
    "empty.memory_format",
    "empty_strided",
    "eq.Scalar",
    "eq.Tensor",
    "erf",
    "exp",
    "expand",
    "expm1",
    "fill.Scalar",
    "flip",
    "floor",
    "fmod.Scalar",
    "fmod.Tensor",
    "full",
    "full_like",
    "gather",
    "ge.Scalar",
    "ge.Tensor",
    "gelu",
    "grid_sampler_2d",
    "gt.Scalar",
    "gt.Tensor",
    "hardtanh",
    "index.Tensor",
    "index_put",
    "index_select",
    "isinf",
    "isnan",
    "le.Scalar",
    "le.Tensor",
    "leaky_relu",
    "log",
    "log10",
    "log1p",
    "log2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "lt.Scalar",
    "lt.Tensor",
    "masked_scatter",
    "max.dim",
    "max_pool2d_with_indices",
    "max_pool2d_with_indices_backward",
    "max_pool3d_with_indices",
    "maximum",
    "mean",
    "mean.dim",
    "min.dim",
    "minimum",
    "mm",
    "mul.Scalar",
    "mul.Tensor",
    "native_dropout",
    "native_group_norm",
    "native_group_norm_backward",
    "native_layer_norm",
    "native_layer_norm_backward",
    "ne.Scalar",
    "ne.Tensor",
    "neg",
    "nonzero",
    "permute",
    "pow.Scalar",
    "pow.Tensor_Scalar",
    "pow.Tensor_Tensor",
    "prod",
    "prod.dim_int",
    "rand",
    "randn",
    "randperm",
    "reciprocal",
    "reflection_pad1d",
    "reflection_pad2d",
    "reflection_pad3d",
    "relu",
    "remainder.Scalar",
    "remainder.Tensor",
    "repeat",
    "replication_pad2d",
    "replication_pad3d",
    "resize_",
    "round",
    "rsqrt",
    "scalar_tensor",
    "scatter.src",
    "scatter.value",
    "scatter_add",
    "scatter_reduce.two",
    "select.int",
    "select_scatter",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "slice.Tensor",
    "slice_scatter",
    "sort",
    "split_with_sizes",
    "sqrt",
    "squeeze.dim",
    "squeeze.dims",
    "sub.Scalar",
    "sub.Tensor",
    "sum.dim_IntList",
    "sym_is_contiguous",
    "sym_numel",
    "sym_size.int",
    "sym_storage_offset",
    "sym_stride.int",
    "tan",
    "tanh",
    "topk",
    "trunc",
    "unsqueeze",
    "upsample_bilinear2d.vec",
    "upsample_nearest2d.vec",
    "var.correction",
    "var.dim",
    "view",
    "where.self",
};

// ATen operators that one op with another name implements.
constexpr struct {
  const char* aten;
  const char* op;
} kNative[] = {
    {"_adaptive_avg_pool2d", "avg_pool"},
    {"_adaptive_avg_pool3d", "avg_pool"},
    {"_local_scalar_dense", "item"},
    {"_log_softmax", "log_softmax"},
    {"_native_batch_norm_legit_no_training", "batch_norm"},
    {"_softmax", "softmax"},
    {"_to_copy", "convert"},
    {"adaptive_avg_pool1d", "avg_pool"},
    {"alias", "self"},
    {"avg_pool1d", "avg_pool"},
    {"avg_pool2d", "avg_pool"},
    {"avg_pool3d", "avg_pool"},
    {"bmm", "matmul"},
    {"constant_pad_nd", "pad"},
    {"copy", "expand"},
    {"embedding", "index_select"},
    {"empty", "expand"},
    {"empty_strided", "expand"},
    {"fill", "expand"},
    {"full", "expand"},
    {"full_like", "expand"},
    {"grid_sampler_2d", "grid_sampler"},
    {"hardtanh", "clamp"},
    {"index", "gather_nd"},
    {"index_put", "scatter_nd"},
    {"max_pool2d_with_indices", "max_pool"},
    {"max_pool3d_with_indices", "max_pool"},
    {"mm", "matmul"},
    {"reflection_pad1d", "pad"},
    {"reflection_pad2d", "pad"},
    {"reflection_pad3d", "pad"},
    {"replication_pad2d", "pad"},
    {"replication_pad3d", "pad"},
    {"scalar_tensor", "constant"},
    {"scatter_add", "scatter"},
    {"squeeze", "reshape"},
    {"sym_numel", "symbolic size"},
    {"sym_size", "symbolic size"},
    {"sym_storage_offset", "symbolic size"},
    {"sym_stride", "symbolic size"},
    {"unsqueeze", "reshape"},
    {"upsample_bilinear2d", "interpolate"},
    {"upsample_nearest2d", "interpolate"},
    {"view", "reshape"},
};

constexpr char kAten[] = "torch.ops.aten.";

std::string BaseOf(absl::string_view target) {
  absl::ConsumePrefix(&target, kAten);
  return std::string(target.substr(0, target.find('.')));
}

AtenSupport SupportOf(const std::string& target, bool core) {
  AtenSupport support;
  support.target = target;
  support.core = core;
  if (pt2::FindAten(target) == nullptr) {
    support.how = std::string(pt2::ReasonForAbsence(target));
    if (support.how.empty()) support.how = "no import function is written";
    return support;
  }
  const std::string base = BaseOf(target);
  support.kind = AtenSupport::Kind::kNative;
  if (ops::Registry().Find(base) != nullptr) {
    support.how = base;
    return support;
  }
  for (const auto& native : kNative) {
    if (base != native.aten) continue;
    support.how = native.op;
    return support;
  }
  support.kind = AtenSupport::Kind::kDecomposed;
  support.how = "several ops";
  return support;
}

}  // namespace

std::vector<AtenSupport> AtenCoverage() {
  std::set<std::string> core;
  for (const char* name : kCore) {
    const bool overloaded = absl::StrContains(name, ".");
    core.insert(absl::StrCat(kAten, name, overloaded ? "" : ".default"));
  }
  std::set<std::string> targets = core;
  for (const auto& [target, op] : pt2::AllAten()) targets.insert(target);
  std::vector<AtenSupport> all;
  for (const std::string& target : targets) {
    all.push_back(SupportOf(target, core.count(target) > 0));
  }
  return all;
}

}  // namespace weft
