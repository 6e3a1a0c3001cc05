#include "tests/support/parse.h"

#include <utility>

#include "graph/ir/module.h"
#include "graph/ops/registry.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"

namespace weft {

std::unique_ptr<Module> Parse(absl::string_view text) {
  auto module = ParseModule(text, ops::Registry());
  EXPECT_TRUE(module.ok()) << module.status() << "\n" << text;
  return *std::move(module);
}

}  // namespace weft
