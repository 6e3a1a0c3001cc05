#include "graph/ops/nn/activations.h"

#include <algorithm>
#include <iterator>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace weft {
namespace {

struct FunctionInfo {
  absl::string_view name;
  ActivationFunction function;
  int parameters;      // How many of alpha and beta it has.
  double alpha, beta;  // Defaults.
};

using Function = ActivationFunction;

constexpr FunctionInfo kFunctions[] = {
    {"relu", Function::kRelu, 0, 0, 0},
    {"tanh", Function::kTanh, 0, 0, 0},
    {"sigmoid", Function::kSigmoid, 0, 0, 0},
    {"affine", Function::kAffine, 2, 1, 0},
    {"leakyrelu", Function::kLeakyRelu, 1, 0.01, 0},
    {"thresholdedrelu", Function::kThresholdedRelu, 1, 1, 0},
    {"scaledtanh", Function::kScaledTanh, 2, 1, 1},
    {"hardsigmoid", Function::kHardSigmoid, 2, 0.2, 0.5},
    {"elu", Function::kElu, 1, 1, 0},
    {"softsign", Function::kSoftsign, 0, 0, 0},
    {"softplus", Function::kSoftplus, 0, 0, 0},
};

}  // namespace

absl::StatusOr<std::vector<ActivationParams>> FindActivationParams(
    const ActivationAttrs& attrs, absl::Span<const ActivationFunction> usual, int64_t directions) {
  std::vector<const FunctionInfo*> functions;
  for (const std::string& name : attrs.names) {
    const std::string lower = absl::AsciiStrToLower(name);
    const auto* info = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                    [&](const FunctionInfo& f) { return f.name == lower; });
    if (info == std::end(kFunctions)) {
      return absl::InvalidArgumentError(absl::StrCat("there is no activation \"", name, "\""));
    }
    functions.push_back(info);
  }
  const size_t want = usual.size() * directions;
  while (attrs.names.empty() && functions.size() < want) {
    for (Function f : usual) functions.push_back(&kFunctions[static_cast<int>(f)]);
  }
  if (functions.size() != want) {
    return absl::InvalidArgumentError(
        absl::StrCat("activations must have ", want, " entries, got ", functions.size()));
  }
  size_t alpha = 0;
  size_t beta = 0;
  std::vector<ActivationParams> found;
  for (const FunctionInfo* f : functions) {
    ActivationParams a{f->function, f->alpha, f->beta};
    if (f->parameters >= 1 && alpha < attrs.alphas.size()) a.alpha = attrs.alphas[alpha++];
    if (f->parameters >= 2 && beta < attrs.betas.size()) a.beta = attrs.betas[beta++];
    found.push_back(a);
  }
  return found;
}

}  // namespace weft
