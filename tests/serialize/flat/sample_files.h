// The models whose files are kept for each version of the format.
#ifndef WEFT_TESTS_SERIALIZE_FLAT_SAMPLE_FILES_H_
#define WEFT_TESTS_SERIALIZE_FLAT_SAMPLE_FILES_H_

#include <string>

#include "absl/status/statusor.h"

namespace weft {

struct SampleFile {
  std::string text;   // The module in the text form, with its constants.
  std::string bytes;  // The .weftb file.
};

// A module without plans: constants of several dtypes, two functions, facts about symbols, source
// nodes.
absl::StatusOr<SampleFile> ModuleSample();

// A module and its plan for a CPU with AVX2: a matmul with an epilogue, a reduction, a copy.
absl::StatusOr<SampleFile> PlanSample();

}  // namespace weft

#endif  // WEFT_TESTS_SERIALIZE_FLAT_SAMPLE_FILES_H_
