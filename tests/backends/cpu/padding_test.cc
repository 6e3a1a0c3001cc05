// Weights that are not finite. A convolution multiplies the zeros around an image, which gives NaN;
// a transposed one adds nothing where no pixel reaches. The routines do so, or leave such runs to
// the reference.
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/compiler.h"
#include "backends/cpu/executable.h"
#include "backends/cpu/target.h"
#include "backends/reference/executor.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "tests/backends/cpu/routine_program.h"
#include "tests/support/parse.h"

namespace weft::cpu {
namespace {

using Dims = std::vector<int64_t>;

struct Case {
  const char* name;
  Dims x, w, y;
  const char* attrs;
};

const Case kCases[] = {
    {"few channels", {1, 3, 6, 5}, {4, 3, 3, 3}, {1, 4, 6, 5}, "stride=[1, 1], padding=[1, 1]"},
    // Rows of these are few enough for panels of packed weights.
    {"many channels",
     {1, 32, 7, 6},
     {32, 32, 3, 3},
     {1, 32, 7, 6},
     "stride=[1, 1], padding=[1, 1]"},
    {"a line", {2, 16, 9}, {16, 16, 3}, {2, 16, 5}, "stride=[2], padding=[1]"},
    {"a volume",
     {1, 4, 4, 5, 3},
     {5, 4, 3, 3, 3},
     {1, 5, 4, 5, 3},
     "stride=[1, 1, 1], padding=[1, 1, 1]"},
    {"one side", {1, 4, 6}, {4, 4, 3}, {1, 4, 5}, "stride=[1], padding=[0, 1]"},
    {"groups",
     {1, 32, 6, 6},
     {32, 16, 3, 3},
     {1, 32, 6, 6},
     "stride=[1, 1], padding=[1, 1], groups=2"},
    {"depthwise",
     {1, 32, 6, 6},
     {32, 1, 3, 3},
     {1, 32, 6, 6},
     "stride=[1, 1], padding=[1, 1], groups=32"},
    {"no padding", {1, 16, 6, 6}, {16, 16, 3, 3}, {1, 16, 4, 4}, "stride=[1, 1], padding=[0, 0]"},
    {"transposed",
     {1, 16, 5, 4},
     {16, 16, 3, 3},
     {1, 16, 7, 6},
     "stride=[1, 1], padding=[0, 0], transposed=true"},
    {"transposed, phases",
     {2, 16, 5, 4},
     {16, 32, 3, 3},
     {2, 32, 10, 8},
     "stride=[2, 2], padding=[1, 1], output_padding=[1, 1], transposed=true"},
    {"transposed, holes",
     {1, 4, 5, 4},
     {4, 6, 1, 3},
     {1, 6, 9, 6},
     "stride=[2, 1], padding=[0, 0], transposed=true"},
    {"transposed, groups",
     {1, 8, 7},
     {8, 3, 3},
     {1, 6, 15},
     "stride=[2], padding=[0], groups=2, transposed=true"},
};

std::string ProgramOf(const Case& c, const std::string& dtype) {
  const auto type = [&](const Dims& dims) {
    return absl::StrCat(dtype, "[", absl::StrJoin(dims, ", "), "]");
  };
  const std::string ones = absl::StrJoin(Dims(c.x.size() - 2, 1), ", ");
  return absl::StrCat("func @main(%x: ", type(c.x), ", %w: ", type(c.w), ") -> ", type(c.y),
                      " { %p = neg(%x) %y = convolution(%p, %w, none, ", c.attrs, ", dilation=[",
                      ones, "]) %z = relu(%y) return %z }");
}

HostTensor Weights(DType dtype, const Dims& dims, double other) {
  HostTensor w = Noise(dtype, dims, 1, 5);
  std::vector<double> values = w.ReadDoubles();
  values.front() = values[values.size() / 2] = other;
  w.WriteDoubles(values);
  return w;
}

// The number of steps that fell back in a run.
int64_t ExpectAsReference(const std::string& text, const std::vector<HostTensor>& inputs,
                          bool constant, const CpuOptions& options) {
  const auto module = Parse(text);
  Graph& main = *module->main();
  const auto want = reference::Run(main, inputs);
  EXPECT_TRUE(want.ok()) << want.status();
  if (constant) {
    Builder builder(&main, main.first_node());
    main.input(1)->ReplaceAllUsesWith(builder.Constant(inputs[1]));
  }
  CompileOptions compile;
  compile.passes = "fuse_epilogue,dce";
  EXPECT_TRUE(Compile(*module, compile).ok());
  auto plan = Lower(main, CpuTarget());
  EXPECT_TRUE(plan.ok()) << plan.status();
  const auto executable = Executable::Create(*std::move(plan), options);
  EXPECT_TRUE(executable.ok()) << executable.status();
  const auto got = (*executable)->Run(inputs);
  EXPECT_TRUE(got.ok()) << got.status();
  const bool wide = inputs[0].dtype() == DType::kF32;
  EXPECT_EQ(Difference((*got)[0], (*want)[0], {wide ? 1e-4 : 3e-2, wide ? 1e-4 : 3e-2}), "");
  return (*executable)->stats().fallbacks;
}

TEST(Padding, WeightsThatAreNotFinite) {
  for (const Case& c : kCases) {
    for (const std::string dtype : {"f32", "bf16", "f16"}) {
      const std::string text = ProgramOf(c, dtype);
      const DType type = *ParseDType(dtype);
      const HostTensor x = Noise(type, c.x, 1, 3);
      for (const bool constant : {false, true}) {
        for (const char* isa : {"native", "avx2"}) {
          SCOPED_TRACE(absl::StrCat(c.name, " ", dtype, " constant=", constant, " ", isa));
          CpuOptions options;
          options.threads = 1;
          options.isa = isa;
          EXPECT_EQ(ExpectAsReference(text, {x, Weights(type, c.w, 0.5)}, constant, options), 0);
          for (const double other : {HUGE_VAL, -HUGE_VAL, std::nan("")}) {
            ExpectAsReference(text, {x, Weights(type, c.w, other)}, constant, options);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft::cpu
