// Convolutions for tests on the emulated driver.
#ifndef WEFT_TESTS_BACKENDS_CUDA_CONVOLUTION_CASES_H_
#define WEFT_TESTS_BACKENDS_CUDA_CONVOLUTION_CASES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/compiler.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "tests/support/parse.h"

namespace weft::cuda {

using Dims = std::vector<int64_t>;

inline std::string Text(const Dims& dims) {
  return absl::StrCat("[", absl::StrJoin(dims, ", "), "]");
}

// Dims [n, c, spatial...] as [n, spatial..., c], and the permutations there and back.
inline Dims Last(const Dims& dims) {
  Dims last = {dims[0]};
  last.insert(last.end(), dims.begin() + 2, dims.end());
  last.push_back(dims[1]);
  return last;
}
inline Dims FromLast(size_t rank) {
  Dims order = {0, static_cast<int64_t>(rank) - 1};
  for (size_t d = 1; d + 1 < rank; ++d) order.push_back(static_cast<int64_t>(d));
  return order;
}
inline Dims ToLast(size_t rank) {
  Dims order = {0};
  for (size_t d = 2; d < rank; ++d) order.push_back(static_cast<int64_t>(d));
  order.push_back(1);
  return order;
}

// The program with ops in epilogues.
inline std::string WithEpilogues(const std::string& text) {
  const auto module = Parse(text);
  CompileOptions options;
  options.passes = "fuse_epilogue,dce";
  const auto done = weft::Compile(*module, options);
  EXPECT_TRUE(done.ok()) << done.status();
  return PrintModule(*module);
}

struct ConvolutionCase {
  Dims x, w, y;
  const char* attrs;
};

}  // namespace weft::cuda

#endif  // WEFT_TESTS_BACKENDS_CUDA_CONVOLUTION_CASES_H_
