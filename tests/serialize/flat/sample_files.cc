#include "tests/serialize/flat/sample_files.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/target.h"
#include "base/status_macros.h"
#include "graph/ir/module.h"
#include "graph/target/target_text.h"
#include "graph/text/text.h"
#include "lowering/lower.h"
#include "lowering/plan_constants.h"
#include "lowering/plan_facts.h"
#include "serialize/flat/weftb_builder.h"
#include "serialize/flat/weftb_module.h"
#include "serialize/flat/weftb_plan.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

constexpr char kModule[] = R"(
func @main(%x: f32[s0, 3*s1], %mask: bool[17] {param="mask", initial=@mask})
    -> (%y: f32[s0, 3*s1], %n: i64[]) where 1 <= s0 <= 4096, s0 % 8 == 0, hint(s0) = 32 {
  %0 = exp(%x) : f32[s0, 3*s1]  loc("enc/exp", "caf\xc3\xa9 \"quoted\"")
  %1 = constant(@half) : f32[17]
  %2 = constant("one" dense<1.0>) : f32[]
  %3 = mul(%0, %2) : f32[s0, 3*s1]
  %4 = constant(@words) : i64[3, 6]
  %5 = sum(%4, dim=[0, 1]) : i64[]
  return %3, %5
}

func @other(%x: f32[17]) -> (f32[17]) {
  %0 = constant(@half) : f32[17]
  %1 = add(%x, %0) : f32[17]
  return %1
}

constants {
  @half "half" : f32[17] = dense<0.5>
  @mask : bool[17] = dense<true>
  @words "a.b" : i64[3, 6] = dense<-3>
}
)";

constexpr char kProgram[] = R"(
func @main(%x: f32[s0, 24]) -> (%y: f32[s0, 5], %t: f32[5, s0]) where 1 <= s0 <= 64 {
  %0 = constant(@weight) : f32[24, 5]
  %1 = matmul(%x, %0) : f32[s0, 5]  loc("fc")
  %2 = relu(%1) : f32[s0, 5]  loc("act")
  %3 = softmax(%2, dim=1) : f32[s0, 5]  loc("head")
  %4 = permute(%3, dims=[1, 0]) : f32[5, s0]
  return %3, %4
}

constants {
  @weight "fc.weight" : f32[24, 5] = dense<0.125>
}
)";

}  // namespace

absl::StatusOr<SampleFile> ModuleSample() {
  const std::unique_ptr<Module> module = Parse(kModule);
  WeftbBuilder builder;
  builder.producer = "weft test";
  WEFT_RETURN_IF_ERROR(AddModuleToWeftb(*module, {}, &builder));
  WEFT_ASSIGN_OR_RETURN(const std::string bytes, builder.Bytes());
  return SampleFile{PrintModule(*module), bytes};
}

absl::StatusOr<SampleFile> PlanSample() {
  const std::unique_ptr<Module> module = Parse(kProgram);
  WeftbBuilder builder;
  builder.producer = "weft test";
  builder.pipeline = "none";
  builder.source_hash = HashModuleText(*module);
  WEFT_RETURN_IF_ERROR(AddModuleToWeftb(*module, {}, &builder));
  for (const cpu::Isa isa : {cpu::Isa::kAvx2, cpu::Isa::kAvx512}) {
    const Target target = cpu::TargetOf(isa);
    WEFT_ASSIGN_OR_RETURN(Plan plan, Lower(*module->main(), target));
    // A layout that no routine knows.
    auto constants = std::make_shared<PlanConstants>(*plan.constants);
    for (auto& [number, constant] : constants->by_number) {
      constant.packed = {{absl::StrCat("test of ", cpu::IsaName(isa)),
                          HostTensor::FromInts(DType::kI32, {2}, {number, 7})}};
    }
    SetConstants(std::move(constants), &plan);
    const int index = builder.AddTarget("cpu", PrintTarget(target), cpu::IsaName(isa));
    WEFT_RETURN_IF_ERROR(AddPlanToWeftb(plan, index, &builder));
    WEFT_RETURN_IF_ERROR(builder.AddState(plan.name, index, 0, HostTensor(DType::kF32, {1, 24})));
    // A format that no program knows.
    WEFT_RETURN_IF_ERROR(builder.AddCode(plan.name, index, "test", "not code"));
  }
  builder.checks.push_back({"plan", "avx2", {"f32[1, 24]", "f32[2, 24]"}, 7, 1e-3, 1e-4, 0.25});
  WEFT_ASSIGN_OR_RETURN(const std::string bytes, builder.Bytes());
  return SampleFile{PrintModule(*module), bytes};
}

}  // namespace weft
