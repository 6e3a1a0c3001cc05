// Calls one program with inputs of several lengths, exchanges a parameter for one
// call, and prints why the program was compiled:
//
//   bazel run //examples:lengths

#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "api/program.h"
#include "base/status_macros.h"
#include "graph/ir/module.h"
#include "graph/ops/registry.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"

namespace {

constexpr char kModel[] = R"(
func @main(%weight: f32[2] {param="fc.weight", initial=dense<[1.0, 2.0]>},
      %x: f32[batch, length, 2]) -> (%y: f32[batch, length])
    where 1 <= batch <= 8, 1 <= length <= 512 {
  %0 = mul(%x, %weight)
  %1 = sum(%0, dim=[2])
  %2 = softmax(%1, dim=1)
  return %2
})";

weft::HostTensor Zeros(int64_t batch, int64_t length) {
  return weft::HostTensor(weft::DType::kF32, {batch, length, 2});
}

absl::Status Run() {
  WEFT_ASSIGN_OR_RETURN(std::unique_ptr<weft::Module> model,
                        weft::ParseModule(kModel, weft::ops::Registry()));

  weft::ProgramOptions options;
  options.compile.passes = "default";
  options.dynamic = weft::Dynamic::kAutomatic;
  options.marks = {weft::MarkStatic("x", 0)};
  WEFT_ASSIGN_OR_RETURN(weft::Program program, weft::Program::Create(std::move(model), options));
  for (int64_t length : {5, 7, 9, 100}) {
    WEFT_RETURN_IF_ERROR(program.Run({{"x", Zeros(2, length)}}).status());
  }

  const weft::HostTensor other = weft::HostTensor::FromDoubles(weft::DType::kF32, {2}, {3.0, 4.0});
  WEFT_RETURN_IF_ERROR(
      program.FunctionalCall({{"fc.weight", other}}, {{"x", Zeros(2, 3)}}).status());

  std::fputs(program.Explain().ToString().c_str(), stdout);
  const absl::Status outside = program.Run({{"x", Zeros(9, 5)}}).status();
  std::printf("%s\n", std::string(outside.message()).c_str());
  return absl::OkStatus();
}

}  // namespace

int main() {
  const absl::Status status = Run();
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
