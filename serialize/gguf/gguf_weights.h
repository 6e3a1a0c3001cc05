// Tensors of a GGUF file as the parameters of a module that came from elsewhere.
#ifndef WEFT_SERIALIZE_GGUF_GGUF_WEIGHTS_H_
#define WEFT_SERIALIZE_GGUF_GGUF_WEIGHTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "serialize/gguf/gguf.h"

namespace weft {

class Module;

// Names of GGUF tensors and of parameters that are the same: `*` on both sides stands for the same
// text.
struct WeightName {
  std::string tensor;
  std::string parameter;
};

// A pair a line, with '=' between; '#' begins a comment. The error names the line.
//
//   blk.*.attn_q.weight = model.layers.*.self_attn.q_proj.weight
absl::StatusOr<std::vector<WeightName>> ParseWeightNames(absl::string_view text);

struct LoadedWeights {
  int64_t parameters = 0;
  // Parameters among them that became numbers in blocks.
  int64_t quantized = 0;
  // Tensors that stand for no parameter.
  std::vector<std::string> unused;
};

// Gives the inputs of @main that have the names of tensors, or those that the first row which fits
// gives, their values. Floats become initial values in the input's dtype. Blocks become a
// dequantize_linear of constants, and an add of their offsets, that take the input's place, so that
// products with them run on the numbers. Errors: another shape, dtypes that are not floats, types
// of tensors that are not read, a row that fits no tensor or that names a parameter the module
// lacks, and two tensors for one parameter. A file without any parameter is one, too.
absl::StatusOr<LoadedWeights> SetWeights(const GgufFile& file, const std::vector<WeightName>& names,
                                         Module& module);

}  // namespace weft

#endif  // WEFT_SERIALIZE_GGUF_GGUF_WEIGHTS_H_
