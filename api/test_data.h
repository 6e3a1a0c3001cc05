// Test cases in the folder layout of the ONNX suites:
//
//   <case>/model.onnx (or model.weft)
//   <case>/test_data_set_0/input_0.pb ... output_0.pb ...
//   <case>/data.json                      {"rtol": ..., "atol": ...}, optional
//
// input_<i> is the i-th input of the model, output_<i> the i-th output. Data sets may also be
// input_0.npy ... output_0.npy ..., or in_0.npy ... out_0.npy ...; in_<i> is the i-th input that is
// not state of the program.
#ifndef WEFT_API_TEST_DATA_H_
#define WEFT_API_TEST_DATA_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/tensor/tensor.h"

namespace weft {

class Graph;

struct TestData {
  std::vector<std::string> input_names;  // Names in the graph.
  std::vector<HostTensor> inputs;
  std::vector<HostTensor> outputs;

  std::map<std::string, HostTensor> NamedInputs() const;
};

// The tensors of one data set, with the dtypes of the signature. The number of inputs is that of
// the files. Errors: a missing folder, a folder without such files, a gap in the numbers, and more
// files than the program has inputs or outputs.
absl::StatusOr<TestData> LoadTestData(const std::string& folder, const Graph& signature);
// Inputs alone, with the dtypes of the files; for importing a model that depends on values.
absl::StatusOr<std::vector<HostTensor>> LoadTestInputs(const std::string& folder);

// Tolerances of data.json, or the given ones if the file has none.
struct Tolerance {
  double rtol;
  double atol;
};
absl::StatusOr<Tolerance> LoadTolerance(const std::string& case_folder, Tolerance defaults);

// Names in a folder, sorted; empty if the folder does not exist.
std::vector<std::string> ListFolder(const std::string& folder);
bool FileExists(const std::string& path);

}  // namespace weft

#endif  // WEFT_API_TEST_DATA_H_
