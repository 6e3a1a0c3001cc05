#include "backends/cpu/backend.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "backends/cpu/target.h"
#include "backends/runtime/plan_runner.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/tensor/tensor.h"

namespace weft::cpu {
namespace {

const std::vector<BackendOption>& Options() {
  using Kind = BackendOption::Kind;
  static const auto& options = *new std::vector<BackendOption>{
      {"threads", Kind::kInt, "N", "0",
       "Threads of a run. 0: one for each processor that the process may use, and\n"
       "fewer while other processes use them; the last bits of matmuls and\n"
       "convolutions may then change from run to run",
       0, CpuOptions::kMaxThreads},
      {"cpu", Kind::kChoice, "native|avx2|avx2_vnni|avx512|avx512_vnni", "native",
       "Instruction set"},
      {"f32-precision", Kind::kChoice, "highest|high|medium", "highest",
       "Precision in which f32 matmuls and convolutions read operands, if faster: f32, two\n"
       "bf16 each, or bf16. Accumulators and results are f32"},
      {"deterministic", Kind::kSwitch, "", "false",
       "Make results equal in every bit for every number of threads"},
      {"code", Kind::kChoice, "none|background|before", "none",
       "When kernels are compiled: never (interpreted), during the first runs\n"
       "(interpreted until then), or before the first run"},
      {"compiler", Kind::kText, "PROGRAM", "c++",
       "Compiler of kernels; if it is missing they are interpreted"},
      {"cache-dir", Kind::kText, "DIR", "",
       "Folder that keeps compiled kernels for other processes"},
  };
  return options;
}

// The options as a struct; their values must have passed CheckOptions.
CpuOptions ReadOptions(const Backend& backend, const BackendOptions& given) {
  const auto get = [&](absl::string_view name) -> const std::string& {
    return OptionOf(backend, given, name);
  };
  CpuOptions options;
  WEFT_CHECK(absl::SimpleAtoi(get("threads"), &options.threads));
  WEFT_CHECK(absl::SimpleAtob(get("deterministic"), &options.deterministic));
  options.isa = get("cpu");
  options.f32_precision = get("f32-precision");
  options.compiler = get("compiler");
  options.cache_dir = get("cache-dir");
  options.code = get("code") == "background" ? CpuOptions::Code::kInBackground
                 : get("code") == "before"   ? CpuOptions::Code::kBeforeCreation
                                             : CpuOptions::Code::kNone;
  return options;
}

Counters CountersOf(const CpuStats& stats) {
  return {
      {"kernels", stats.kernels},
      {"steps", stats.steps},
      {"threads", stats.threads},
      {"generated_kernels", stats.generated_kernels},
      {"code_us", static_cast<int64_t>(stats.code_seconds * 1e6)},
      {"code_from_cache", stats.code_from_cache ? 1 : 0},
      {"assignments", stats.assignments},
      {"compiled_steps", stats.compiled_steps},
      {"allocations", stats.allocations},
      {"generated_steps", stats.generated_steps},
      {"arena_bytes", stats.arena_bytes},
      {"scratch_bytes", stats.scratch_bytes},
      {"packed_bytes", stats.packed_bytes},
      {"panel_bytes", stats.panel_bytes},
      {"fallbacks", stats.fallbacks},
      {"rounded_products", stats.rounded_products},
      {"bf16_products", stats.bf16_products},
      {"bf16_attentions", stats.bf16_attentions},
      {"bf16_maxima", stats.bf16_maxima},
      {"integer_products", stats.integer_products},
      {"finished_products", stats.finished_products},
      {"byte_tables", stats.byte_tables},
      {"slow_primitives", stats.slow_primitives},
      {"in_place_writes", stats.in_place_writes},
  };
}

// Splits the outputs of a plan into results and write-backs.
class BackendExecutable : public weft::Executable {
 public:
  BackendExecutable(size_t num_inputs, std::vector<int> write_backs,
                    std::unique_ptr<cpu::Executable> executable)
      : num_inputs_(num_inputs),
        write_backs_(std::move(write_backs)),
        executable_(std::move(executable)) {}

  absl::Status Run(absl::Span<const HostTensor> inputs, const std::vector<bool>& donated,
                   std::vector<HostTensor>* outputs, std::vector<HostTensor>* written) override {
    outputs->clear();
    WEFT_RETURN_IF_ERROR(executable_->Run(inputs, donated, outputs));
    TakeWriteBacks(write_backs_, num_inputs_, outputs, written);
    return absl::OkStatus();
  }
  absl::Status WaitForCode() override { return executable_->WaitForCode(); }
  Counters counters() const override { return CountersOf(executable_->stats()); }

 private:
  const size_t num_inputs_;
  const std::vector<int> write_backs_;
  const std::unique_ptr<cpu::Executable> executable_;
};

class CpuBackend : public Backend {
 public:
  const Target& target() const override { return CpuTarget(); }
  std::string default_pipeline() const override { return "cpu"; }
  absl::Span<const BackendOption> options() const override { return Options(); }

  absl::StatusOr<std::unique_ptr<weft::Executable>> Compile(
      const Graph&, Plan plan, const BackendOptions& given,
      const ExecutableHooks& hooks) const override {
    CpuOptions options = ReadOptions(*this, given);
    options.observer = hooks.observer;
    options.guard_memory = hooks.guard_memory;
    const size_t num_inputs = plan.inputs.size();
    std::vector<int> write_backs = plan.write_backs;
    WEFT_ASSIGN_OR_RETURN(auto executable, cpu::Executable::Create(std::move(plan), options));
    return std::make_unique<BackendExecutable>(num_inputs, std::move(write_backs),
                                               std::move(executable));
  }
};

}  // namespace

std::unique_ptr<const Backend> MakeBackend() { return std::make_unique<CpuBackend>(); }

}  // namespace weft::cpu
