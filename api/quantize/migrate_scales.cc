#include "api/quantize/migrate_scales.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "api/quantize/node_values.h"
#include "base/status_macros.h"
#include "graph/ir/node.h"
#include "passes/quantize/scale_migration.h"

namespace weft {
namespace {

// Rows of a sample, over all batches.
constexpr int64_t kRows = 256;
// Elements of the values that one run gives.
constexpr int64_t kMaxElements = int64_t{1} << 26;

// What is seen of one value, batch by batch.
class Sampler {
 public:
  Sampler(int64_t channels, int64_t rows_of_batch)
      : channels_(channels), rows_of_batch_(rows_of_batch), largest_(channels), sum_(channels) {}

  void Add(const HostTensor& tensor) {
    const std::vector<double> values = tensor.ReadDoubles();
    const int64_t rows = static_cast<int64_t>(values.size()) / channels_;
    const int64_t step = std::max<int64_t>(1, (rows + rows_of_batch_ - 1) / rows_of_batch_);
    for (int64_t i = 0; i < rows; ++i) {
      const double* row = &values[i * channels_];
      if (i % step == 0) sample_.insert(sample_.end(), row, row + channels_);
      for (int64_t k = 0; k < channels_; ++k) {
        largest_[k] = std::max(largest_[k], std::abs(row[k]));
        sum_[k] += std::abs(row[k]);
      }
    }
    rows_ += rows;
  }

  ActivationSample Take() {
    ActivationSample sample;
    const int64_t rows = static_cast<int64_t>(sample_.size()) / channels_;
    sample.rows = HostTensor::FromDoubles(DType::kF32, {rows, channels_}, sample_);
    sample.largest = std::move(largest_);
    for (const double sum : sum_) {
      sample.mean.push_back(rows_ == 0 ? 0 : sum / static_cast<double>(rows_));
    }
    return sample;
  }

 private:
  int64_t channels_;
  int64_t rows_of_batch_;
  int64_t rows_ = 0;
  std::vector<double> sample_;
  std::vector<double> largest_;
  std::vector<double> sum_;
};

class Migrator {
 public:
  Migrator(Module& module, absl::Span<const CalibrationBatch> batches, const Backend& backend)
      : module_(module), batches_(batches), backend_(backend) {}

  // All values are of the module as it was: factors of one do not change another.
  absl::StatusOr<std::vector<MigrationChoice>> Decide(absl::Span<const MigrationEdge> edges) {
    std::vector<MigrationChoice> choices;
    int64_t at_a_time = 1;
    for (size_t from = 0; from < edges.size();) {
      const size_t count = std::min<size_t>(at_a_time, edges.size() - from);
      WEFT_ASSIGN_OR_RETURN(const int64_t most, DecideSome(edges.subspan(from, count), &choices));
      at_a_time = std::max<int64_t>(1, kMaxElements / std::max<int64_t>(most, 1));
      from += count;
    }
    return choices;
  }

 private:
  // Returns the most elements that one of the values has.
  absl::StatusOr<int64_t> DecideSome(absl::Span<const MigrationEdge> edges,
                                     std::vector<MigrationChoice>* choices) {
    const int64_t batches = std::max<int64_t>(1, static_cast<int64_t>(batches_.size()));
    std::vector<Node*> nodes;
    std::vector<Sampler> samplers;
    for (const MigrationEdge& edge : edges) {
      nodes.push_back(edge.value->node());
      samplers.emplace_back(edge.channels, (kRows + batches - 1) / batches);
    }
    WEFT_ASSIGN_OR_RETURN(NodeValues values, NodeValues::Create(module_, nodes, backend_, {}));
    int64_t most = 0;
    for (const CalibrationBatch& batch : batches_) {
      WEFT_ASSIGN_OR_RETURN(const std::vector<HostTensor> tensors, values.Run(batch));
      for (size_t i = 0; i < samplers.size(); ++i) {
        samplers[i].Add(tensors[i]);
        most = std::max(most, tensors[i].numel());
      }
    }
    for (size_t i = 0; i < edges.size(); ++i) {
      WEFT_ASSIGN_OR_RETURN(MigrationChoice choice, DecideMigration(edges[i], samplers[i].Take()));
      choices->push_back(std::move(choice));
    }
    return most;
  }

  Module& module_;
  absl::Span<const CalibrationBatch> batches_;
  const Backend& backend_;
};

}  // namespace

absl::StatusOr<std::vector<std::string>> MigrateScales(Module& module,
                                                       const QuantDecision& decision,
                                                       absl::Span<const CalibrationBatch> batches,
                                                       const Backend& backend) {
  const std::vector<MigrationEdge> edges = CollectMigrations(*module.main(), decision);
  WEFT_ASSIGN_OR_RETURN(const std::vector<MigrationChoice> choices,
                        Migrator(module, batches, backend).Decide(edges));
  std::vector<std::string> lines;
  for (size_t i = 0; i < edges.size(); ++i) {
    lines.push_back(ToText(edges[i], choices[i]));
    WEFT_RETURN_IF_ERROR(ApplyMigration(edges[i], choices[i]));
  }
  return lines;
}

}  // namespace weft
