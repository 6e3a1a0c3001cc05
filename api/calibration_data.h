// Batches of inputs for calibration, one after another, from files or from a seed.
//
//   x.npz           arrays by the names of inputs, or arr_0, arr_1, ... in the order of inputs
//   x.npy           the only input
//   folder          one such file after another, in the order of their names
//   seeded:N        N batches of seeded inputs (api/check/seeded_inputs.h): random
//
// Inputs with an initial value are state of the program: they are not read, and an empty tensor
// stands for them. A file is one batch; where the model's first dims are constant and those of all
// arrays the same multiple of them, it is as many batches. Memory: one file.
#ifndef WEFT_API_CALIBRATION_DATA_H_
#define WEFT_API_CALIBRATION_DATA_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/tensor/tensor.h"

namespace weft {

class Graph;

class CalibrationData {
 public:
  // `graph`, whose inputs are meant, outlives this. Errors: no such file or folder, a folder
  // without arrays, "seeded:" without a positive number.
  static absl::StatusOr<CalibrationData> Open(const std::string& source, const Graph& graph);

  // Whether the batches are random.
  bool is_seeded() const { return seeded_ > 0; }
  // Files, or seeded batches, and how many of them have been begun.
  int64_t num_parts() const;
  int64_t part() const { return part_; }

  // The inputs of the next batch in the order of the graph's; nullopt behind the last one. Errors
  // name the file, and the input where its name, dtype or shape is not the graph's.
  absl::StatusOr<std::optional<std::vector<HostTensor>>> Next();

 private:
  explicit CalibrationData(const Graph& graph) : graph_(&graph) {}
  absl::Status ReadFile(const std::string& path);
  absl::StatusOr<std::vector<HostTensor>> SeededBatch();

  const Graph* graph_;
  std::vector<std::string> files_;
  int64_t seeded_ = 0;
  int64_t part_ = 0;
  // The file at hand: its arrays by input, and what of it has been given.
  std::vector<HostTensor> arrays_;
  int64_t batches_ = 0;
  int64_t batch_ = 0;
};

}  // namespace weft

#endif  // WEFT_API_CALIBRATION_DATA_H_
