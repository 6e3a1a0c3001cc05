// A recommender after DLRM: dense features through an MLP, 26 categorical ones
// through embedding bags, all beside each other through a second MLP.
#include "absl/strings/str_cat.h"
#include "examples/models/families.h"
#include "examples/models/layers.h"
#include "graph/ir/builder.h"
#include "graph/ops/ops.h"

namespace weft::models {
namespace {

constexpr int64_t kDense = 13;
constexpr int kBags = 26;
constexpr int64_t kLookups = 4;

// relu between layers, and after the last one when `last`.
Value* Tower(Net& net, absl::string_view name, Value* x, const std::vector<int64_t>& widths,
             bool last) {
  Net::Scope scope(net, name);
  const size_t layers = widths.size() - 1;
  for (size_t i = 0; i < layers; ++i) {
    x = Linear(net, absl::StrCat(2 * i), x, widths[i], widths[i + 1]);
    if (i + 1 < layers || last) x = Relu(net, x);
  }
  return x;
}

}  // namespace

absl::StatusOr<Model> BuildDlrm(const ModelOptions& options) {
  Net net(options);
  const SymInt batch = net.Size("batch", net.Pick(128, 3), 65536);
  const int64_t rows = net.Pick(10000, 50);
  const int64_t size = net.Pick(64, 8);
  Value* dense = net.Input("dense", DType::kF32, {batch, kDense}, {0, 1});
  std::vector<Value*> features = {
      Tower(net, "bottom", dense, {kDense, net.Pick(512, 16), net.Pick(256, 16), size}, true)};
  for (int i = 0; i < kBags; ++i) {
    Value* indices = net.Input(absl::StrCat("indices_", i), DType::kI64, {batch, kLookups},
                               {0, static_cast<double>(rows)});
    Value* table = Table(net, absl::StrCat("bags.", i), rows, size);
    // A bag is the sum of the rows that its indices pick.
    features.push_back(net.Op(ops::sum, {Embedding(net, table, indices)}, {{"dim", Dims{1}}}));
  }
  Value* all = net.Op(ops::cat, features, {{"dim", 1}});
  Value* score =
      Tower(net, "top", all, {(kBags + 1) * size, net.Pick(512, 16), net.Pick(256, 16), 1}, false);
  net.Output("score", net.Op(ops::sigmoid, {score}));
  return net.Finish();
}

}  // namespace weft::models
