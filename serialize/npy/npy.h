// NumPy's .npy files (format versions 1.0 to 3.0), both ways.
#ifndef WEFT_SERIALIZE_NPY_NPY_H_
#define WEFT_SERIALIZE_NPY_NPY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft {

class HostTensor;

// Accepts little-endian bool, integer, f16, f32 and f64 arrays, row-major or column-major. Errors
// name the problem, not the file.
absl::StatusOr<HostTensor> ParseNpy(absl::string_view bytes);
absl::StatusOr<HostTensor> ReadNpy(const std::string& path);

// The bytes of a version 1.0 file. Dtypes that NumPy lacks (bf16, f8, 4-bit) are errors.
absl::StatusOr<std::string> FormatNpy(const HostTensor& tensor);
absl::Status WriteNpy(const std::string& path, const HostTensor& tensor);

}  // namespace weft

#endif  // WEFT_SERIALIZE_NPY_NPY_H_
