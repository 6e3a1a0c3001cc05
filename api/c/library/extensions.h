// Extensions as the C interface holds them: shared by the modules and programs that use them.
#ifndef WEFT_API_C_LIBRARY_EXTENSIONS_H_
#define WEFT_API_C_LIBRARY_EXTENSIONS_H_

#include <memory>
#include <vector>

#include "api/c/weft.h"
#include "api/compiler.h"
#include "api/extensions.h"

namespace weft::c {

class CallbackOp;

// The ops outlive the registry that has them.
struct SharedExtensions {
  SharedExtensions();
  ~SharedExtensions();

  std::vector<std::unique_ptr<const CallbackOp>> ops;
  Extensions value;
};

using ExtensionsRef = std::shared_ptr<const SharedExtensions>;

// Compiles with the rules of `extensions`, which may be null.
void UseExtensions(const ExtensionsRef& extensions, CompileOptions* options);

}  // namespace weft::c

struct weft_extensions {
  std::shared_ptr<weft::c::SharedExtensions> shared = std::make_shared<weft::c::SharedExtensions>();
};

#endif  // WEFT_API_C_LIBRARY_EXTENSIONS_H_
