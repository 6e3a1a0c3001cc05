// A model and its compilation for the CPU, for tests of compiled files.
#ifndef WEFT_TESTS_API_COMPILED_MODELS_H_
#define WEFT_TESTS_API_COMPILED_MODELS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "api/backends.h"
#include "api/compiler.h"
#include "backends/backend.h"
#include "backends/cpu/kernels/isa.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"

namespace weft {

inline std::string Path(absl::string_view name) {
  return absl::StrCat(testing::TempDir(), "/", name);
}

inline const Backend& Cpu() { return **BuiltinBackends().Find("cpu"); }

// Steps that are generated kernels.
inline constexpr char kModel[] = R"(
func @main(%x: f32[s0, s1]) -> (%y: f32[s0, s1]) {
  %0 = exp(%x)
  %1 = add(%0, %x)
  %y = tanh(%1)
  return %y
}
)";

// The module without passes, for the CPU.
inline std::unique_ptr<Module> Compiled(std::unique_ptr<Module> module) {
  CompileOptions options;
  options.passes = "";
  SetTarget(Cpu(), &options);
  const auto status = Compile(*module, options).status();
  EXPECT_TRUE(status.ok()) << status;
  return module;
}

// Values that rise from -1 on.
inline HostTensor Ramp(int64_t rows, int64_t columns) {
  std::vector<double> values;
  for (int64_t i = 0; i < rows * columns; ++i) values.push_back(0.01 * static_cast<double>(i) - 1);
  return HostTensor::FromDoubles(DType::kF32, {rows, columns}, values);
}

// The instruction sets of this machine.
inline std::vector<std::string> Sets() {
  std::vector<std::string> sets;
  for (const char* set : {"avx2", "avx512"}) {
    if (cpu::ChooseIsa(set).ok()) sets.push_back(set);
  }
  return sets;
}

}  // namespace weft

#endif  // WEFT_TESTS_API_COMPILED_MODELS_H_
