// The backend of the reference executor. It runs graphs, without a plan, and has no options.
#ifndef WEFT_BACKENDS_REFERENCE_BACKEND_H_
#define WEFT_BACKENDS_REFERENCE_BACKEND_H_

#include <memory>

#include "backends/backend.h"

namespace weft::reference {

std::unique_ptr<const Backend> MakeBackend();

}  // namespace weft::reference

#endif  // WEFT_BACKENDS_REFERENCE_BACKEND_H_
