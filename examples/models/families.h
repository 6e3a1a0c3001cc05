// The builders behind the table of models.cc, one file a family.
#ifndef WEFT_EXAMPLES_MODELS_FAMILIES_H_
#define WEFT_EXAMPLES_MODELS_FAMILIES_H_

#include "absl/status/statusor.h"
#include "examples/models/models.h"

namespace weft::models {

// vision.cc
absl::StatusOr<Model> BuildResNet50(const ModelOptions& options);
absl::StatusOr<Model> BuildMobileNetV2(const ModelOptions& options);

// transformer.cc
absl::StatusOr<Model> BuildBert(const ModelOptions& options);
absl::StatusOr<Model> BuildMiniLm(const ModelOptions& options);
absl::StatusOr<Model> BuildGpt2(const ModelOptions& options);

// llama.cc
absl::StatusOr<Model> BuildLlama(const ModelOptions& options);

// recommender.cc
absl::StatusOr<Model> BuildDlrm(const ModelOptions& options);

// mlp.cc
absl::StatusOr<Model> BuildMlp(const ModelOptions& options);
absl::StatusOr<Model> BuildFourLinears(const ModelOptions& options);

// pointwise.cc
absl::StatusOr<Model> BuildNormChain(const ModelOptions& options);
absl::StatusOr<Model> BuildSoftmax(const ModelOptions& options);
absl::StatusOr<Model> BuildStack299(const ModelOptions& options);

// optimizer.cc
absl::StatusOr<Model> BuildAdamW(const ModelOptions& options);

}  // namespace weft::models

#endif  // WEFT_EXAMPLES_MODELS_FAMILIES_H_
