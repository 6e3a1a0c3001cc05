// Weights from a file that has no graph, for a model that came from elsewhere.
#ifndef WEFT_API_WEIGHTS_H_
#define WEFT_API_WEIGHTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace weft {

class Module;

struct WeightsReport {
  // Parameters that the file has values for.
  int64_t parameters = 0;
  // Parameters among them that became numbers in blocks.
  int64_t quantized = 0;
  // Tensors of the file that are no parameters.
  std::vector<std::string> unused;
};

// Gives the inputs of @main the tensors of a `.gguf` file (serialize/gguf/gguf_weights.h): floats
// become initial values, blocks of Q4_0, Q8_0 and MXFP4 constants that are dequantized. `names` is
// a file of rows TENSOR = PARAMETER, or empty where the names are the same. `.pt2` programs are
// loaded with parameters_as_inputs. The module is verified. Errors name the file.
absl::StatusOr<WeightsReport> LoadWeights(const std::string& path, const std::string& names,
                                          Module& module);

}  // namespace weft

#endif  // WEFT_API_WEIGHTS_H_
