// Registers the built-in backends; no other file depends on all of them.
#include "api/backends.h"

#include "backends/cpu/backend.h"
#include "backends/cuda/backend.h"
#include "backends/reference/backend.h"
#include "base/check.h"

namespace weft {

const BackendRegistry& BuiltinBackends() {
  static const BackendRegistry& registry = *[] {
    auto* built = new BackendRegistry;
    WEFT_CHECK(built->Add(reference::MakeBackend()).ok());
    WEFT_CHECK(built->Add(cpu::MakeBackend()).ok());
    WEFT_CHECK(built->Add(cuda::MakeBackend()).ok());
    return built;
  }();
  return registry;
}

}  // namespace weft
