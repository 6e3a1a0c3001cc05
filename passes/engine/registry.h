// A table of passes and named pipelines.
//
// The built-in set is BuiltinPasses() (passes/pipelines.h). An embedding program may copy it and
// add its own.
#ifndef WEFT_PASSES_ENGINE_REGISTRY_H_
#define WEFT_PASSES_ENGINE_REGISTRY_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "passes/engine/pass.h"

namespace weft {

// Makes a pass; its name must always be the same.
using PassFactory = std::function<std::unique_ptr<Pass>()>;

struct NamedPipeline {
  std::string name;
  std::string doc;
  std::string text;  // Pipeline text; may name pipelines added before it.
};

class PassRegistry {
 public:
  // CHECKs that the name is free.
  void Add(PassFactory factory);
  void AddPipeline(NamedPipeline pipeline);

  // The pass with default options; null for an unknown name.
  std::unique_ptr<Pass> Create(absl::string_view name) const;
  const NamedPipeline* FindPipeline(absl::string_view name) const;

  // Sorted.
  std::vector<std::string> PassNames() const;
  // In the order of registration.
  const std::vector<NamedPipeline>& pipelines() const { return pipelines_; }

 private:
  std::map<std::string, PassFactory, std::less<>> passes_;
  std::vector<NamedPipeline> pipelines_;
};

// `, did you mean "cse"?` if some name is similar to `name`, else "".
std::string DidYouMean(absl::string_view name, absl::Span<const std::string> names);

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_REGISTRY_H_
