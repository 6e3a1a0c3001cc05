// The C++ of kernels, as the tools print it; compiled where there is a compiler.
#include "api/inspect/kernel_source.h"

#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "api/backends.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "gtest/gtest.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr char kTwo[] = R"(
func @main(%x: f32[n, 8], %y: f32[8]) -> (f32[n, 8], f32[n]) where 1 <= n {
  %0 = add(%x, %y) loc("plus */ \\")
  %1 = exp(%0) loc("e")
  %2 = sum(%x, dim=[1]) loc("total")
  return %1, %2
}
)";

Target Machine(int64_t vector_bytes) {
  Target target = (*BuiltinBackends().Find("cpu"))->target();
  target.vector_bytes = vector_bytes;
  return target;
}

void ExpectCompiles(const std::string& text) {
  if (std::system("g++ --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "there is no g++";
  const std::string file = testing::TempDir() + "/kernels.cc";
  std::ofstream(file) << text;
  const size_t begin = text.find("g++ "), end = text.find(" -c kernels.cc");
  ASSERT_NE(end, std::string::npos);
  const std::string command = text.substr(begin, end - begin);
  EXPECT_EQ(std::system(absl::StrCat(command, " -fsyntax-only '", file, "'").c_str()), 0) << text;
}

TEST(KernelSource, OfAllKernels) {
  for (const int64_t bytes : {16, 32, 64}) {
    const auto text = KernelSource(*Parse(kTwo), Machine(bytes));
    ASSERT_TRUE(text.ok()) << text.status();
    EXPECT_THAT(*text,
                AllOf(StartsWith("// Kernels for cpu. To compile them:\n//   g++ -O3"),
                      HasSubstr("weft_k0: @"), HasSubstr("weft_k2: @"), HasSubstr("from \"e\""),
                      HasSubstr("; sizes n\n"), HasSubstr("extern \"C\"")));
    ExpectCompiles(*text);
  }
}

TEST(KernelSource, OfOneKernel) {
  const auto module = Parse(kTwo);
  const auto all = KernelSource(*module, Machine(32));
  ASSERT_TRUE(all.ok());
  const auto one = KernelSource(*module, Machine(32), "@exp");
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_THAT(*one, AllOf(HasSubstr("weft_k0: @exp"), Not(HasSubstr("weft_k1"))));
  ExpectCompiles(*one);
  EXPECT_THAT(std::string(KernelSource(*module, Machine(32), "exq.1").status().message()),
              StartsWith("no kernel is called \"exq.1\""));
}

TEST(KernelSource, WithoutKernels) {
  const auto text =
      KernelSource(*Parse("func @main(%x: f32[2]) -> f32[2] {\n  return %x\n}\n"), Machine(32));
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, StartsWith("// No kernels"));
}

}  // namespace
}  // namespace weft
