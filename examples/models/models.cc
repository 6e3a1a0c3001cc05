#include "examples/models/models.h"

#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "base/annotate.h"
#include "base/status_macros.h"
#include "examples/models/families.h"
#include "examples/models/weights.h"
#include "graph/ir/graph.h"
#include "graph/ir/value.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"

namespace weft::models {
namespace {

constexpr ModelEntry kModels[] = {
    {"resnet50", "ResNet-50, images f32[batch, 3, 224, 224]", BuildResNet50},
    {"mobilenet_v2", "MobileNetV2, images f32[batch, 3, 224, 224]", BuildMobileNetV2},
    {"bert", "BERT-base: 12 layers of 768, i64[batch, sequence]", BuildBert},
    {"minilm", "MiniLM: 6 layers of 384, i64[batch, sequence]", BuildMiniLm},
    {"gpt2", "GPT-2 small with its head, i64[batch, sequence]", BuildGpt2},
    {"llama", "SmolLM-135M, a token a step, i64[batch, 1] and its cache", BuildLlama},
    {"mlp", "1024-4096-1024 with GELU, f32[batch, 1024]", BuildMlp},
    {"dlrm", "13 dense features and 26 embedding bags, batch", BuildDlrm},
    {"norm_chain", "x + gelu(layer_norm(x)), f32[rows, 1024]", BuildNormChain},
    {"softmax", "softmax(x), f32[rows, 1024]", BuildSoftmax},
    {"adamw", "a step of AdamW over 300 parameters", BuildAdamW},
    {"stack299", "299 relus stacked, f32[batch, 64] each", BuildStack299},
    {"four_linears", "four linears of one input, f32[batch, 1024]", BuildFourLinears},
};

// The value of every symbol; the error names one that the module lacks.
absl::StatusOr<Sizes> Complete(const Module& module, const Sizes& sizes) {
  Sizes all;
  for (const SymbolInfo& info : module.symbols().symbols()) {
    all[std::string(info.symbol.name())] = info.hint.value_or(1);
  }
  for (const auto& [name, size] : sizes) {
    const auto it = all.find(name);
    if (it == all.end()) {
      return absl::InvalidArgumentError(absl::StrCat("the model has no symbol \"", name, "\""));
    }
    it->second = size;
  }
  return all;
}

absl::StatusOr<std::vector<int64_t>> DimsOf(Type type, const Sizes& sizes) {
  std::vector<int64_t> dims;
  for (const SymInt dim : type.dims()) {
    const auto size = Evaluate(dim, [&](SymInt s) -> std::optional<int64_t> {
      const auto it = sizes.find(std::string(s.name()));
      if (it == sizes.end()) return std::nullopt;
      return it->second;
    });
    if (!size || *size < 0) {
      return absl::InvalidArgumentError(absl::StrCat("the size ", dim.ToString(), " has no value"));
    }
    dims.push_back(*size);
  }
  return dims;
}

HostTensor Draw(DType dtype, absl::Span<const int64_t> dims, const Model::Range& range,
                uint64_t seed) {
  if (dtype == DType::kF32) {
    return UniformTensor(dims, range.low, range.high, seed);
  }
  return IntegerTensor(dtype, dims, static_cast<int64_t>(range.low),
                       static_cast<int64_t>(range.high), seed);
}

}  // namespace

absl::Span<const ModelEntry> AllModels() { return kModels; }

const ModelEntry* FindModel(absl::string_view name) {
  for (const ModelEntry& entry : kModels) {
    if (name == entry.name) return &entry;
  }
  return nullptr;
}

std::string DescribeModels() {
  std::string text;
  for (const ModelEntry& entry : kModels) {
    std::string name = entry.name;
    name.resize(14, ' ');
    absl::StrAppend(&text, name, entry.doc, "\n");
  }
  return text;
}

absl::StatusOr<Model> BuildModel(absl::string_view name, const ModelOptions& options) {
  const ModelEntry* entry = FindModel(name);
  if (entry != nullptr) return entry->build(options);
  const auto append_name = [](std::string* out, const ModelEntry& e) { out->append(e.name); };
  return absl::NotFoundError(absl::StrCat("no model \"", name, "\"; there are ",
                                          absl::StrJoin(AllModels(), ", ", append_name)));
}

absl::StatusOr<std::vector<HostTensor>> MakeInputs(const Model& model, const Sizes& sizes,
                                                   uint64_t seed) {
  const Graph& graph = *model.module->main();
  WEFT_ASSIGN_OR_RETURN(const Sizes all, Complete(*model.module, sizes));
  std::vector<HostTensor> inputs(graph.num_inputs());
  for (int i = 0; i < graph.num_inputs(); ++i) {
    if (graph.input_info(i).initial >= 0) continue;
    const Type type = graph.input(i)->type();
    WEFT_ASSIGN_OR_RETURN(const auto dims, DimsOf(type, all));
    // Sizes come from users.
    const absl::Status fits = HostTensor::Allocate(type.dtype(), dims).status();
    if (!fits.ok()) return Annotate(fits, absl::StrCat("input ", graph.input_info(i).name));
    inputs[i] = Draw(type.dtype(), dims, model.ranges[i], SeedOf(seed, graph.input_info(i).name));
  }
  return inputs;
}

}  // namespace weft::models
