#include "serialize/pt2/autocast.h"

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "graph/ir/value.h"

namespace weft::pt2 {
namespace {

// Operators that compute in the low precision.
constexpr absl::string_view kLow[] = {
    "addbmm",
    "addmm",
    "baddbmm",
    "bmm",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "linear",
    "matmul",
    "mm",
    "scaled_dot_product_attention",
};

// Operators that compute in f32.
constexpr absl::string_view kWide[] = {
    "avg_pool3d",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cdist",
    "cosine_embedding_loss",
    "cross_entropy_loss",
    "grid_sampler",
    "hinge_embedding_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "linalg_vector_norm",
    "margin_ranking_loss",
    "mse_loss",
    "multi_margin_loss",
    "nll_loss",
    "nll_loss2d",
    "nll_loss_nd",
    "poisson_nll_loss",
    "polar",
    "prod",
    "smooth_l1_loss",
    "soft_margin_loss",
    "trace",
    "triplet_margin_loss",
    "view_as_complex",
};

// Operators that compute in the widest dtype of the arguments.
constexpr absl::string_view kWidest[] = {"cat", "index_copy", "stack"};

template <size_t n>
bool Contains(const absl::string_view (&list)[n], absl::string_view name) {
  for (absl::string_view entry : list) {
    if (entry == name) return true;
  }
  return false;
}

void Widen(const Arg& arg, std::optional<DType>* widest) {
  if (arg.is(Arg::Kind::kTensor) && arg.value != nullptr && IsFloat(arg.value->type().dtype())) {
    const DType dtype = arg.value->type().dtype();
    *widest = *widest ? PromoteTypes(**widest, dtype) : dtype;
  }
}

}  // namespace

std::optional<DType> AutocastDType(absl::string_view target, DType low,
                                   const std::vector<Arg>& args) {
  absl::string_view name = target;
  if (!absl::ConsumePrefix(&name, "torch.ops.aten.")) return std::nullopt;
  name = name.substr(0, name.find('.'));
  if (Contains(kLow, name)) return low;
  if (Contains(kWide, name) || absl::StartsWith(name, "fft_")) {
    return DType::kF32;
  }
  std::optional<DType> widest;
  if (!Contains(kWidest, name)) return widest;
  for (const Arg& arg : args) {
    Widen(arg, &widest);
    for (const Arg& item : arg.items) Widen(item, &widest);
  }
  return widest;
}

}  // namespace weft::pt2
