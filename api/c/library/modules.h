// Modules as the C interface holds them.
#ifndef WEFT_API_C_LIBRARY_MODULES_H_
#define WEFT_API_C_LIBRARY_MODULES_H_

#include <memory>

#include "api/c/library/extensions.h"
#include "api/c/weft.h"
#include "graph/ir/module.h"

struct weft_module {
  weft::c::ExtensionsRef extensions;  // Null: none. Outlives the module.
  std::unique_ptr<weft::Module> value;
};

#endif  // WEFT_API_C_LIBRARY_MODULES_H_
