// The reference executor as a backend: it runs graphs, and knows neither plans nor options.
#ifndef WEFT_BACKENDS_REFERENCE_BACKEND_H_
#define WEFT_BACKENDS_REFERENCE_BACKEND_H_

#include <memory>

#include "backends/backend.h"

namespace weft::reference {

std::unique_ptr<const Backend> MakeBackend();

}  // namespace weft::reference

#endif  // WEFT_BACKENDS_REFERENCE_BACKEND_H_
