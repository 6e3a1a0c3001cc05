// The CPU executor as a backend: target "cpu", its options and its counters.
#ifndef WEFT_BACKENDS_CPU_BACKEND_H_
#define WEFT_BACKENDS_CPU_BACKEND_H_

#include <memory>

#include "absl/status/statusor.h"
#include "backends/backend.h"
#include "backends/cpu/executable.h"

namespace weft::cpu {

std::unique_ptr<const Backend> MakeBackend();

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_BACKEND_H_
