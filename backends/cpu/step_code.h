// A step of a plan for one assignment of its symbols, ready to run.
#ifndef WEFT_BACKENDS_CPU_STEP_CODE_H_
#define WEFT_BACKENDS_CPU_STEP_CODE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/cpu/executable.h"
#include "backends/cpu/generated.h"
#include "backends/cpu/interpreter/tile_program.h"
#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/library/library.h"
#include "backends/cpu/runtime/guarded_memory.h"
#include "backends/cpu/runtime/memory.h"
#include "backends/cpu/runtime/run_view.h"
#include "backends/step_observer.h"
#include "backends/symbol_env.h"
#include "lowering/memory_plan.h"
#include "lowering/plan.h"
#include "profiler/description.h"
#include "profiler/names.h"

namespace weft::cpu {

struct StepCode;

// What the runners of a plan and of the plans nested in it share.
struct Runtime {
  Isa isa = Isa::kAvx2;
  const TileTable* table = nullptr;
  int threads = 1;
  int dnn_threads = 1;  // Of oneDNN's primitives.
  DnnReading reading;   // Of products of f32.
  HeldMemory constants;
  DnnWeights weights;
  PanelWeights panels;
  GrowingMemory scratch;
  BufferPool pool;
  CpuStats stats;
  std::unique_ptr<GeneratedKernels> generated;  // Null: the interpreter alone.

  std::unique_ptr<MemoryGuard> guard;  // Null: memory is not guarded.
  StepObserver* observer = nullptr;    // Null: nothing watches the steps.

  // Threads of oneDNN's primitives in the step's call.
  int DnnThreads(const StepCode& code) const;
  // Counts what it allocates.
  absl::Status ReserveScratch(int64_t bytes);
  // Where the reserved bytes begin.
  char* ScratchData() const;
  // Memory of an output; null without memory.
  std::shared_ptr<HostBuffer> NewBuffer(int64_t bytes);
};

struct StepCode {
  StepKind kind = StepKind::kKernel;
  std::vector<RunView> args;
  std::vector<RunView> results;
  // Of reference and control steps and of library steps that no routine takes:
  // attributes without symbols.
  const AttrList* attrs = nullptr;
  std::unique_ptr<TileProgram> program;  // Of a kernel or copy.
  std::unique_ptr<LibraryCall> call;
  int threads = 1;  // The call is made for.
  // Of a kernel, once there is code; `program` otherwise.
  std::unique_ptr<GeneratedCall> generated;
  bool asked = false;  // For code.
  // What `program` or `call` gets: filled before each run. Bounds by operand of a call.
  std::vector<void*> memory;
  std::vector<float> bounds;
  // The results fill their buffers.
  bool fills_buffer = false;
  int64_t scratch_bytes = 0;
  // Of step_profile.h: who ran it when it was described; null before.
  const char* profiled_as = nullptr;
  profiler::NameId profile_name = 0;
  profiler::DescriptionHandle profile_description;
};

// True when all symbols of the step have values, those of a reference or control
// step's results aside.
bool IsKnown(const Plan& plan, const Step& step, const SymbolEnv& env);

// Requires IsKnown. `constants` is the memory of constant buffers, by buffer; null for
// others.
absl::StatusOr<std::unique_ptr<StepCode>> CompileStep(const Plan& plan, const Step& step,
                                                      const SymbolEnv& env,
                                                      const MemoryPlan& memory,
                                                      const std::vector<char*>& constants,
                                                      Runtime& runtime);

// Takes the code of a kernel when it is there.
absl::Status UseGenerated(const Kernel& kernel, const SymbolEnv& env, Runtime& runtime,
                          StepCode* code);

// "node 3 (linear from "fc1")", for messages.
std::string Describe(const Plan& plan, const Step& step);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_STEP_CODE_H_
