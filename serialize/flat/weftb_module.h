// Modules in .weftb files.
#ifndef WEFT_SERIALIZE_FLAT_WEFTB_MODULE_H_
#define WEFT_SERIALIZE_FLAT_WEFTB_MODULE_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weft {

class Module;
class OpRegistry;
class WeftbBuilder;
class WeftbFile;

struct WeftbModuleOptions {
  bool locations = true;  // Write the source nodes of nodes.
};

// Adds the module, as text, and its large constants.
absl::Status AddModuleToWeftb(const Module& module, const WeftbModuleOptions& options,
                              WeftbBuilder* builder);

// The module, verified: equal to the one that was written as far as its text tells (text.h). Large
// constants are views of the file, checked against their ids. FailedPrecondition if the file has no
// module. Errors name the file.
absl::StatusOr<std::unique_ptr<Module>> ReadModuleFromWeftb(const WeftbFile& file,
                                                            const OpRegistry& registry);

// FNV-1a of the module's text with constants by content id.
uint64_t HashModuleText(const Module& module);

}  // namespace weft

#endif  // WEFT_SERIALIZE_FLAT_WEFTB_MODULE_H_
