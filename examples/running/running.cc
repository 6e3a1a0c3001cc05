// Loads, compiles and runs a model with a parameter and a counter of its calls, and writes it into
// a file that examples/runtime opens; docs/running.md shows the parts.
//
//   running FILE.weftb
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "weft/api/weft.h"

namespace {

constexpr char kModel[] = R"(
func @main(%x: f32[batch, 3], %calls: i64[] {param="calls", initial=dense<0>},
           %w: f32[3, 2] {param="fc.weight", initial=dense<0.5>})
    -> (%y: f32[batch, 2], %next: i64[] {writes=%calls}) {
  %y = matmul(%x, %w)
  %one = constant(dense<1>) : i64[]
  %next = add(%calls, %one)
  return %y, %next
}
)";

weft::HostTensor Ones(int64_t rows) {
  const std::vector<double> values(static_cast<size_t>(rows * 3), 1);
  return weft::HostTensor::FromDoubles(weft::DType::kF32, {rows, 3}, values);
}

absl::StatusOr<weft::Program> Load() {
  WEFT_ASSIGN_OR_RETURN(std::unique_ptr<weft::Module> model,
                        weft::LoadModelText(kModel, "model.weft"));
  weft::ProgramOptions options;
  options.target = "cpu";
  options.backend["threads"] = "1";
  return weft::Program::Create(std::move(model), options);
}

// Calls with different sizes, at once.
absl::Status RunInThreads(weft::Program* program) {
  std::vector<absl::Status> statuses(4);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < statuses.size(); ++i) {
    threads.emplace_back([program, &status = statuses[i], rows = static_cast<int64_t>(i) + 1] {
      status = program->Run({{"x", Ones(rows)}}).status();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& status : statuses) WEFT_RETURN_IF_ERROR(status);
  return absl::OkStatus();
}

absl::Status ShowState(weft::Program* program) {
  std::printf("calls: %lld\n", static_cast<long long>(program->state("calls")->ReadInts()[0]));
  const auto twos =
      weft::HostTensor::FromDoubles(weft::DType::kF32, {3, 2}, std::vector<double>(6, 2));
  WEFT_ASSIGN_OR_RETURN(const std::vector<weft::HostTensor> once,
                        program->FunctionalCall({{"fc.weight", twos}}, {{"x", Ones(1)}}));
  WEFT_RETURN_IF_ERROR(program->SetState("fc.weight", twos));
  WEFT_ASSIGN_OR_RETURN(const std::vector<weft::HostTensor> then, program->Run({{"x", Ones(1)}}));
  std::printf("with other weights: %g, then %g\n", once[0].ReadDoubles()[0],
              then[0].ReadDoubles()[0]);
  return absl::OkStatus();
}

void ShowErrors(weft::Program* program) {
  const absl::Status status = program->Run({{"y", Ones(1)}}).status();
  std::printf("%s\n", std::string(status.message()).c_str());
}

absl::Status WriteFile(const weft::Module& model, const std::string& path) {
  WEFT_ASSIGN_OR_RETURN(const weft::Backend* cpu, weft::BuiltinBackends().Find("cpu"));
  const std::unique_ptr<weft::Module> module = model.Clone();
  weft::CompileOptions options;
  weft::SetTarget(*cpu, &options);
  WEFT_RETURN_IF_ERROR(weft::Compile(*module, options).status());
  weft::CompiledFileOptions file;
  file.instruction_sets = {"avx2", "avx512"};
  return weft::WriteCompiledFile(*module, *cpu, path, file);
}

absl::Status Run(const std::string& path) {
  WEFT_ASSIGN_OR_RETURN(weft::Program program, Load());
  WEFT_ASSIGN_OR_RETURN(const std::vector<weft::HostTensor> outputs, program.Run({{"x", Ones(2)}}));
  std::printf("%s: %g\n", outputs[0].type().ToString().c_str(), outputs[0].ReadDoubles()[0]);
  WEFT_RETURN_IF_ERROR(RunInThreads(&program));
  WEFT_RETURN_IF_ERROR(ShowState(&program));
  ShowErrors(&program);
  return WriteFile(program.module(), path);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: running FILE.weftb\n");
    return 2;
  }
  const absl::Status status = Run(argv[1]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "running: %s\n", std::string(status.message()).c_str());
  return 1;
}
