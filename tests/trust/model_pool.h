// Models that programs are cut from: files of a folder, and the models that are built in memory.
#ifndef WEFT_TESTS_TRUST_MODEL_POOL_H_
#define WEFT_TESTS_TRUST_MODEL_POOL_H_

#include <memory>
#include <string>
#include <vector>

#include "graph/ir/module.h"
#include "tests/trust/random.h"

namespace weft::trust {

class ModelPool {
 public:
  // The pool of the folder, or of built models alone if it is empty. Lives as long as the process.
  static ModelPool& Of(const std::string& folder);

  // A functional model; null for a file that does not import. Loaded models are kept, a few at a
  // time.
  const Module* Any(Random& random);

 private:
  explicit ModelPool(const std::string& folder);
  std::unique_ptr<Module> Load(size_t index) const;

  std::vector<std::string> names_;  // Paths, then names of built models.
  size_t num_files_ = 0;
  std::vector<std::unique_ptr<Module>> loaded_;
  std::vector<bool> tried_;
  std::vector<size_t> order_;  // Of those that are held.
};

}  // namespace weft::trust

#endif  // WEFT_TESTS_TRUST_MODEL_POOL_H_
