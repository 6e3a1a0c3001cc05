#include "api/quantize/bias_correction.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "api/quantize/node_values.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/nn.h"

namespace weft {
namespace {

constexpr int kBias = 2;

// The operand that is added to a product by channel.
struct BiasPlace {
  Node* node = nullptr;
  int operand = 0;
  // Zeros where there is none; empty where it cannot be corrected.
  HostTensor bias;
};

bool IsVector(const HostTensor* literal, const SymInt& size) {
  return literal != nullptr && literal->rank() == 1 && size.Is(literal->numel());
}

// The constant that the only reader of a matmul adds to it.
BiasPlace AddedTo(const Node& matmul) {
  const Value* result = matmul.result();
  if (!result->has_one_use() || !result->first_use()->user()->Is(ops::add)) return {};
  Node* sum = result->first_use()->user();
  const int operand = 1 - result->first_use()->operand_index();
  const HostTensor* literal = LiteralOf(sum->operand(operand));
  if (!IsVector(literal, result->type().dim(result->type().rank() - 1))) return {};
  return {sum, operand, *literal};
}

BiasPlace PlaceOfBias(Node* product) {
  const Type result = product->result()->type();
  if (result.rank() == 0 || !IsFloat(result.dtype())) return {};
  if (product->Is(ops::matmul)) return AddedTo(*product);
  if (product->num_operands() <= kBias) return {};
  const SymInt channels = result.dim(product->Is(ops::convolution) ? 1 : result.rank() - 1);
  if (!product->has_operand(kBias)) {
    if (!channels.is_constant()) return {};
    return {product, kBias, HostTensor(result.dtype(), {channels.value()})};
  }
  const HostTensor* literal = LiteralOf(product->operand(kBias));
  if (!IsVector(literal, channels)) return {};
  return {product, kBias, *literal};
}

class Corrector {
 public:
  Corrector(absl::Span<const QuantizedProduct> products, absl::Span<const CalibrationBatch> batches)
      : batches_(batches) {
    for (const QuantizedProduct& product : products) {
      BiasPlace place = PlaceOfBias(product.after);
      if (!place.bias.valid()) continue;
      before_.push_back(product.before);
      after_.push_back(product.after);
      biases_.push_back(place.bias);
      places_.push_back(std::move(place));
    }
  }

  absl::Status Run(const Module& before, const Module& after, const Backend& backend) {
    if (after_.empty() || batches_.empty()) return absl::OkStatus();
    NodeValues::Options options;
    options.kind = NodeValues::Kind::kChannelMeans;
    WEFT_ASSIGN_OR_RETURN(const Means wanted, Exact(before, backend, options));
    for (const BiasPlace& place : places_) {
      options.given.push_back({place.node, place.operand, place.bias});
    }
    WEFT_ASSIGN_OR_RETURN(NodeValues quantized,
                          NodeValues::Create(after, after_, backend, options));
    for (size_t i = 0; i < after_.size(); ++i) {
      WEFT_RETURN_IF_ERROR(Correct(i, wanted, quantized));
    }
    return absl::OkStatus();
  }

  void Apply() const {
    for (size_t i = 0; i < places_.size(); ++i) {
      Node* node = places_[i].node;
      Builder b(node->graph(), node);
      node->set_operand(places_[i].operand, b.Constant(biases_[i]));
    }
  }

 private:
  // By batch and product.
  using Means = std::vector<std::vector<HostTensor>>;

  // The session's weights are gone before those of the quantized module are packed.
  absl::StatusOr<Means> Exact(const Module& before, const Backend& backend,
                              const NodeValues::Options& options) const {
    WEFT_ASSIGN_OR_RETURN(NodeValues exact, NodeValues::Create(before, before_, backend, options));
    Means means;
    for (const CalibrationBatch& batch : batches_) {
      WEFT_ASSIGN_OR_RETURN(means.emplace_back(), exact.Run(batch));
    }
    return means;
  }

  absl::Status Correct(size_t i, const Means& wanted, NodeValues& quantized) {
    std::vector<double> shift(biases_[i].numel(), 0);
    for (size_t k = 0; k < batches_.size(); ++k) {
      WEFT_ASSIGN_OR_RETURN(const std::vector<HostTensor> got, quantized.Run(batches_[k], biases_));
      const std::vector<double> want = wanted[k][i].ReadDoubles(), have = got[i].ReadDoubles();
      for (size_t c = 0; c < std::min(shift.size(), want.size()); ++c) {
        shift[c] += (want[c] - have[c]) / static_cast<double>(batches_.size());
      }
    }
    std::vector<double> bias = biases_[i].ReadDoubles();
    for (size_t c = 0; c < bias.size(); ++c) {
      if (std::isfinite(shift[c])) bias[c] += shift[c];
    }
    HostTensor corrected(biases_[i].dtype(), biases_[i].dims());
    corrected.WriteDoubles(bias);
    biases_[i] = std::move(corrected);
    return absl::OkStatus();
  }

  absl::Span<const CalibrationBatch> batches_;
  std::vector<Node*> before_;
  std::vector<Node*> after_;
  std::vector<BiasPlace> places_;
  std::vector<HostTensor> biases_;
};

}  // namespace

absl::Status CorrectBiases(const Module& before, Module& after,
                           absl::Span<const QuantizedProduct> products,
                           absl::Span<const CalibrationBatch> batches, const Backend& backend) {
  Corrector corrector(products, batches);
  WEFT_RETURN_IF_ERROR(corrector.Run(before, after, backend));
  if (!batches.empty()) corrector.Apply();
  return absl::OkStatus();
}

}  // namespace weft
