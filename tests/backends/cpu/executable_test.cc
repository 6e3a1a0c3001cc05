#include "backends/cpu/executable.h"

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "backends/cpu/target.h"
#include "backends/cpu/threads/available_cpus.h"
#include "backends/cpu/threads/thread_governor.h"
#include "backends/reference/executor.h"
#include "base/host_buffer.h"
#include "gmock/gmock.h"
#include "graph/ir/attr.h"
#include "graph/ir/builtin_ops.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/target/target.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "lowering/schedule_kernel.h"
#include "tests/support/counting_new.h"
#include "tests/support/parse.h"
#include "tests/support/tensor_compare.h"

namespace weft::cpu {
namespace {

using testing::HasSubstr;

// Numbers from -1 to 1 that differ along every dim.
HostTensor Ramp(std::vector<int64_t> dims, DType dtype = DType::kF32) {
  HostTensor t(dtype, dims);
  std::vector<double> values(t.numel());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>(static_cast<int64_t>(i * 48271 % 997) - 498) / 500;
  }
  t.WriteDoubles(values);
  return t;
}

std::unique_ptr<Executable> Make(const Module& module, CpuOptions options = {}) {
  if (options.threads == 0) options.threads = 2;
  auto plan = Lower(*module.main(), CpuTarget());
  EXPECT_TRUE(plan.ok()) << plan.status();
  auto executable = Executable::Create(*std::move(plan), options);
  EXPECT_TRUE(executable.ok()) << executable.status();
  return *std::move(executable);
}

void ExpectAsReference(const Module& module, Executable& executable,
                       const std::vector<HostTensor>& inputs) {
  const auto want = reference::Run(*module.main(), inputs);
  const auto got = executable.Run(inputs);
  ASSERT_TRUE(want.ok()) << want.status();
  ASSERT_TRUE(got.ok()) << got.status();
  ASSERT_EQ(got->size(), want->size());
  for (size_t i = 0; i < got->size(); ++i) {
    EXPECT_EQ(Difference((*got)[i], (*want)[i], {1e-4, 1e-4}), "") << "output " << i;
  }
}

constexpr char kBlock[] = R"(
  func @main(%x: f32[s0, 96], %w: f32[96, 96], %b: f32[96]) -> (f32[s0, 96]) where 1 <= s0 {
    %0 = linear(%x, %w, %b)
    %1 = gelu(%0)
    %2 = add(%1, %x)
    %3 = softmax(%2, dim=-1)
    return %3
  })";

TEST(Executable, RunsEverySizeWithOneProgram) {
  const auto module = Parse(kBlock);
  const auto executable = Make(*module);
  for (int64_t n : {1, 7, 64, 7}) {
    ExpectAsReference(*module, *executable, {Ramp({n, 96}), Ramp({96, 96}), Ramp({96})});
  }
  EXPECT_EQ(executable->stats().assignments, 3);
  EXPECT_EQ(executable->stats().fallbacks, 0);
}

TEST(Executable, ASteadyCallAllocatesAndCompilesNothing) {
  const auto module = Parse(R"(
    func @main(%x: f32[s0, 96], %y: f32[96]) -> (f32[s0, 96], f32[s0]) {
      %0 = mul(%x, %y)
      %1 = softmax(%0, dim=-1)
      %2 = permute(%1, dims=[1, 0])
      %3 = exp(%2)
      %4 = permute(%3, dims=[1, 0])
      %5 = sum(%4, dim=[1])
      return %4, %5
    })");
  const auto executable = Make(*module);
  std::vector<std::vector<HostTensor>> inputs = {{Ramp({33, 96}), Ramp({96})},
                                                 {Ramp({8, 96}), Ramp({96})}};
  std::vector<std::vector<HostTensor>> outputs(2);
  for (int i : {0, 1, 0, 1}) ASSERT_TRUE(executable->Run(inputs[i], &outputs[i]).ok());
  const CpuStats before = executable->stats();
  const uint8_t* memory = outputs[0][0].raw();
  CountingNew counting;
  for (int i : {0, 0, 1, 0}) ASSERT_TRUE(executable->Run(inputs[i], &outputs[i]).ok());
  EXPECT_EQ(counting.Stop(), 0);
  EXPECT_EQ(outputs[0][0].raw(), memory);
  EXPECT_EQ(executable->stats().assignments, before.assignments);
  EXPECT_EQ(executable->stats().compiled_steps, before.compiled_steps);
  EXPECT_EQ(executable->stats().allocations, before.allocations);
}

TEST(Executable, OutputsOfACallAreNotThoseOfTheNext) {
  const auto module = Parse(R"(
    func @main(%x: f32[4]) -> (f32[4]) {
      %0 = add(%x, %x)
      return %0
    })");
  const auto executable = Make(*module);
  const auto one = executable->Run({HostTensor::FromDoubles(DType::kF32, {4}, {1, 2, 3, 4})});
  const auto two = executable->Run({HostTensor::FromDoubles(DType::kF32, {4}, {5, 6, 7, 8})});
  EXPECT_THAT((*one)[0].ReadDoubles(), testing::ElementsAre(2, 4, 6, 8));
  EXPECT_THAT((*two)[0].ReadDoubles(), testing::ElementsAre(10, 12, 14, 16));
}

TEST(Executable, OutputsMayBeInputsViewsAndTheSameValue) {
  const auto module = Parse(R"(
    func @main(%x: f32[3, 4]) -> (f32[3, 4], f32[4, 3], f32[4, 3], f32[3, 4], f32[3, 4]) {
      %0 = permute(%x, dims=[1, 0])
      %1 = neg(%x)
      %2 = permute(%1, dims=[1, 0])
      return %x, %0, %2, %1, %1
    })");
  ExpectAsReference(*module, *Make(*module), {Ramp({3, 4})});
}

TEST(Executable, CopiesElementsOfEveryWidth) {
  for (const char* dtype : {"u8", "bf16", "f32", "f64", "c64", "c128"}) {
    const auto module = Parse(absl::StrCat("func @main(%x: ", dtype, "[3, 5]) -> (", dtype,
                                           "[5, 3]) { %0 = permute(%x, dims=[1, 0]) return %0 }"));
    HostTensor x(*ParseDType(dtype), {3, 5});
    for (int64_t i = 0; i < x.bytes(); ++i) x.raw()[i] = static_cast<uint8_t>(i);
    const auto want = reference::Run(*module->main(), {x});
    const auto got = Make(*module)->Run({x});
    ASSERT_TRUE(want.ok()) << want.status();
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_TRUE((*got)[0].BitEqual((*want)[0])) << dtype;
  }
}

constexpr char kMomentum[] = R"(
  func @main(%p: f32[s0], %m: f32[s0], %g: f32[s0])
      -> (f32[s0] {writes=%p}, f32[s0] {writes=%m}) where 1 <= s0 {
    %0 = add(%m, %g)
    %1 = sub(%p, %0)
    return %1, %0
  })";

TEST(Executable, WritesBackWhereTheInputsLie) {
  const auto module = Parse(kMomentum);
  const auto executable = Make(*module);
  for (int64_t n : {1, 100, 100}) {
    const std::vector<HostTensor> kept = {Ramp({n}), Ramp({n}), Ramp({n})};
    const auto want = reference::Run(*module->main(), kept);
    ASSERT_TRUE(want.ok());
    std::vector<HostTensor> inputs = {Ramp({n}), Ramp({n}), Ramp({n})};
    std::vector<HostTensor> outputs;
    // Not given away; given away with another tensor on it; given away.
    ASSERT_TRUE(executable->Run(inputs, {false, false, false}, &outputs).ok());
    EXPECT_EQ(executable->stats().in_place_writes, 0);
    EXPECT_TRUE(outputs[0].BitEqual((*want)[0]) && inputs[0].BitEqual(kept[0]));
    const HostTensor other = inputs[1];
    ASSERT_TRUE(executable->Run(inputs, {true, true, true}, &outputs).ok());
    EXPECT_EQ(executable->stats().in_place_writes, 1);
    EXPECT_FALSE(outputs[0].valid());
    EXPECT_TRUE(inputs[0].BitEqual((*want)[0]));
    EXPECT_TRUE(outputs[1].BitEqual((*want)[1]) && other.BitEqual(kept[1]));
  }
}

// Tensors that came from the executable go back into it, and stay in place.
TEST(Executable, WritesOverItsOwnOutputs) {
  const auto module = Parse(kMomentum);
  const auto executable = Make(*module);
  std::vector<HostTensor> inputs = {Ramp({64}), Ramp({64}), Ramp({64})};
  std::vector<HostTensor> outputs;
  ASSERT_TRUE(executable->Run(inputs, &outputs).ok());
  inputs[0] = std::move(outputs[0]);
  inputs[1] = std::move(outputs[1]);
  const int64_t allocations = executable->stats().allocations;
  for (int run = 0; run < 3; ++run) {
    outputs.clear();
    const auto want = reference::Run(*module->main(), inputs);
    ASSERT_TRUE(executable->Run(inputs, {true, true, false}, &outputs).ok());
    EXPECT_EQ(executable->stats().in_place_writes, 2);
    EXPECT_EQ(Difference(inputs[0], (*want)[0], {1e-6, 1e-6}), "");
  }
  EXPECT_EQ(executable->stats().allocations, allocations);
}

// Keys and values of two layers. Only the positions are written, also where an index is wrong.
TEST(Executable, UpdatesCachesInPlace) {
  const auto module = Parse(R"(
    func @main(%k: f32[b, 3, n, 4], %v: f32[b, 3, n, 4], %i: i64[t], %x: f32[b, 3, t, 4])
        -> (f32[b, 3, n, 4] {writes=%k}, f32[b, 3, n, 4] {writes=%v})
        where 1 <= b, 1 <= n, 1 <= t {
      %0 = reshape(%i, size=[1, 1, t, 1])
      %at = expand(%0, size=[b, 3, t, 4])
      %1 = scatter(%k, %at, %x, dim=2)
      %2 = neg(%x)
      %3 = scatter(%v, %at, %2, dim=2)
      return %1, %3
    })");
  const auto executable = Make(*module);
  for (const std::vector<double>& at : {std::vector<double>{6}, {0, -1}, {3, 1, 3, 7}}) {
    const auto t = static_cast<int64_t>(at.size());
    const HostTensor index = HostTensor::FromDoubles(DType::kI64, {t}, at);
    std::vector<HostTensor> inputs = {Ramp({2, 3, 7, 4}), Ramp({2, 3, 7, 4}), index,
                                      Ramp({2, 3, t, 4})};
    const auto want = reference::Run(*module->main(), inputs);
    std::vector<HostTensor> outputs;
    const absl::Status status = executable->Run(inputs, {true, true, false, false}, &outputs);
    ASSERT_EQ(status.ok(), want.ok()) << status;
    const HostTensor before = Ramp({2, 3, 7, 4});
    EXPECT_EQ(executable->stats().in_place_writes, 2);
    EXPECT_TRUE(inputs[0].BitEqual(want.ok() ? (*want)[0] : before));
    EXPECT_TRUE(inputs[1].BitEqual(want.ok() ? (*want)[1] : before));
  }
}

TEST(Executable, InputsMayHaveGaps) {
  const auto module = Parse(kBlock);
  const HostTensor wide = Ramp({5, 192});
  auto x = HostTensor::View(wide.buffer(), DType::kF32, {5, 96}, {192, 2}, 0);
  ASSERT_TRUE(x.ok());
  ExpectAsReference(*module, *Make(*module), {*x, Ramp({96, 96}), Ramp({96})});
}

TEST(Executable, SizesThatDependOnData) {
  const auto module = Parse(R"(
    func @main(%x: f32[s0]) -> (i64[u0, 1], f32[u0, 1]) where unbacked u0 {
      %0 = nonzero(%x) : i64[u0, 1]
      %1 = convert(%0, dtype=f32)
      %2 = exp(%1)
      return %0, %2
    })");
  const auto executable = Make(*module);
  for (int64_t n : {5, 1, 9, 5}) {
    ExpectAsReference(*module, *executable, {Ramp({n})});
  }
}

TEST(Executable, RefusesWhatTheReferenceRefuses) {
  const auto module = Parse(R"(
    func @main(%x: f32[s0, 2], %y: f32[s0]) -> (f32[s0, 2], f32[s0])
        where 2 <= s0 <= 8 {
      return %x, %y
    })");
  const auto executable = Make(*module);
  struct Case {
    std::vector<HostTensor> inputs;
    std::string place;
  };
  const std::vector<Case> bad = {
      {{Ramp({3, 2})}, "takes 2 inputs, got 1"},
      {{Ramp({2, 3}), Ramp({1})}, "input 0 (x): "},
      {{Ramp({1, 2}), Ramp({1})}, "outside of 2 <= s0 <= 8; "},
      {{Ramp({2, 2}), Ramp({3})}, "input 1 (y): "},
      {{Ramp({2, 2}, DType::kF64), Ramp({2})}, "input 0 (x): "},
      {{Ramp({2, 2}), HostTensor()}, "input 1 (y)"},
  };
  for (const Case& c : bad) {
    const absl::Status want = reference::Run(*module->main(), c.inputs).status();
    const absl::Status got = executable->Run(c.inputs).status();
    EXPECT_EQ(got.code(), want.code());
    EXPECT_THAT(std::string(want.message()), HasSubstr(c.place));
    EXPECT_THAT(std::string(got.message()), HasSubstr(c.place));
  }
}

TEST(Executable, AnIndexOutOfBoundsNamesTheNode) {
  const auto module = Parse(R"(
    func @main(%x: f32[4, 3], %i: i64[s0]) -> (f32[s0, 3]) {
      %0 = index_select(%x, %i, dim=0)
      return %0
    })");
  const auto executable = Make(*module);
  const HostTensor index = HostTensor::FromInts(DType::kI64, {2}, {1, 9});
  const auto got = executable->Run({Ramp({4, 3}), index});
  EXPECT_FALSE(got.ok());
  EXPECT_THAT(std::string(got.status().message()), HasSubstr("node "));
}

// A network of one product whose weights are a constant.
std::unique_ptr<Module> WithConstantWeights() {
  auto module = Parse(kBlock);
  Graph* main = module->main();
  const int w = module->constants().Add(Ramp({96, 96}));
  Node* constant = main->CreateNode(ops::constant, {}, AttrList::Get({AttrValue(int64_t{w})}),
                                    {main->input(1)->type()}, main->first_node());
  main->input(1)->ReplaceAllUsesWith(constant->result());
  return module;
}

TEST(Executable, PacksConstantWeightsOnce) {
  const auto module = WithConstantWeights();
  const auto executable = Make(*module);
  for (int64_t n : {64, 80, 96, 128}) {
    ExpectAsReference(*module, *executable, {Ramp({n, 96}), Ramp({96, 96}), Ramp({96})});
  }
  EXPECT_LE(executable->stats().packed_bytes, 2 * 96 * 96 * 4);
}

TEST(Executable, DeterministicResultsDoNotDependOnThreads) {
  const auto module = Parse(kBlock);
  std::vector<HostTensor> first;
  for (int threads : {1, 2, 3}) {
    CpuOptions options;
    options.threads = threads;
    options.deterministic = true;
    const auto executable = Make(*module, options);
    auto got = executable->Run({Ramp({200, 96}), Ramp({96, 96}), Ramp({96})});
    ASSERT_TRUE(got.ok());
    if (first.empty()) first = *got;
    EXPECT_TRUE((*got)[0].BitEqual(first[0]));
  }
}

// Neighbours that come and go: while they are there, no thread gets a processor without waiting.
class ChangingLoad : public LoadSource {
 public:
  double Now() override { return now_ += 0.05; }
  bool Waits(int threads, std::vector<double>* waits) override {
    waited_ += busy ? 0.05 : 0;
    waits->assign(threads, waited_);
    return true;
  }
  int Runnable() override { return 1; }

  bool busy = false;

 private:
  double now_ = 0;
  double waited_ = 0;
};

TEST(Executable, LeavesProcessorsToOthers) {
  if (AvailableCpus() < 2) GTEST_SKIP() << "one processor";
  const auto module = Parse(kBlock);
  const auto load = std::make_shared<ChangingLoad>();
  CpuOptions options;
  options.load = load;
  auto plan = Lower(*module->main(), CpuTarget());
  ASSERT_TRUE(plan.ok()) << plan.status();
  auto executable = Executable::Create(*std::move(plan), options);
  ASSERT_TRUE(executable.ok()) << executable.status();
  const auto run = [&](int64_t n) {
    ExpectAsReference(*module, **executable, {Ramp({n, 96}), Ramp({96, 96}), Ramp({96})});
  };
  for (int64_t n : {70, 7}) run(n);
  const CpuStats quiet = (*executable)->stats();
  EXPECT_EQ(quiet.threads, AvailableCpus());
  load->busy = true;
  for (int i = 0; i < 20; ++i) run(i % 2 == 0 ? 70 : 7);
  const CpuStats busy = (*executable)->stats();
  EXPECT_LT(busy.threads, quiet.threads);
  EXPECT_GT(busy.compiled_steps, quiet.compiled_steps);
  load->busy = false;
  for (int i = 0; i < 200; ++i) run(i % 2 == 0 ? 70 : 7);
  EXPECT_EQ((*executable)->stats().threads, quiet.threads);
  // The sizes are the same two, whatever runs them.
  EXPECT_EQ((*executable)->stats().assignments, 2);
}

TEST(Executable, GeneratedCodeTakesOver) {
  const auto module = Parse(kBlock);
  CpuOptions options;
  options.code = CpuOptions::Code::kBeforeCreation;
  const auto executable = Make(*module, options);
  ASSERT_TRUE(executable->WaitForCode().ok()) << executable->WaitForCode();
  ExpectAsReference(*module, *executable, {Ramp({33, 96}), Ramp({96, 96}), Ramp({96})});
  EXPECT_GT(executable->stats().generated_steps, 0);
}

TEST(Executable, WithoutACompilerTheInterpreterGoesOn) {
  const auto module = Parse(kBlock);
  CpuOptions options;
  options.code = CpuOptions::Code::kBeforeCreation;
  options.compiler = "no-such-compiler";
  const auto executable = Make(*module, options);
  EXPECT_FALSE(executable->WaitForCode().ok());
  ExpectAsReference(*module, *executable, {Ramp({33, 96}), Ramp({96, 96}), Ramp({96})});
  EXPECT_EQ(executable->stats().generated_steps, 0);
}

// Plans that are made for narrower vectors keep their schedules; those for wider ones, or without
// schedules, as texts may be, are scheduled for this machine. All kernels are generated code then.
TEST(Executable, TakesPlansOfOtherMachines) {
  const auto module = Parse(kBlock);
  const auto run = [&](auto edit) {
    auto plan = Lower(*module->main(), CpuTarget());
    ASSERT_TRUE(plan.ok()) << plan.status();
    ASSERT_GE(plan->kernels.size(), 2u);
    for (size_t i = 0; i < plan->kernels.size(); ++i) edit(plan->kernels[i], i);
    CpuOptions options;
    options.threads = 2;
    options.code = CpuOptions::Code::kBeforeCreation;
    auto executable = Executable::Create(*std::move(plan), options);
    ASSERT_TRUE(executable.ok()) << executable.status();
    ASSERT_TRUE((*executable)->WaitForCode().ok()) << (*executable)->WaitForCode();
    ExpectAsReference(*module, **executable, {Ramp({33, 96}), Ramp({96, 96}), Ramp({96})});
    EXPECT_GT((*executable)->stats().generated_steps, 0);
  };
  const auto schedule_for = [](Kernel& kernel, int64_t vector_bytes) {
    Target target;
    target.vector_bytes = vector_bytes;
    kernel.schedule = DecideSchedule(kernel, target);
  };
  run([&](Kernel& kernel, size_t) { schedule_for(kernel, 16); });
  run([&](Kernel& kernel, size_t) { schedule_for(kernel, 256); });
  run([&](Kernel& kernel, size_t) { kernel.schedule = KernelSchedule(); });
  run([&](Kernel& kernel, size_t i) { schedule_for(kernel, i == 0 ? 16 : 32); });
}

TEST(Executable, RefusesSchedulesOfOtherKernels) {
  const auto module = Parse(kBlock);
  auto plan = Lower(*module->main(), CpuTarget());
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_FALSE(plan->kernels.empty());
  plan->kernels[0].schedule.nests[0].lane_loop = 7;
  const auto executable = Executable::Create(*std::move(plan), {});
  EXPECT_EQ(executable.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(executable.status().message()), HasSubstr("the schedule of kernel @"));
}

// --- Library steps --------------------------------------------------------------------

void CheckAttention(const std::string& dtype, const std::string& mask, const std::string& attrs,
                    int64_t queries, int64_t keys, int64_t heads, int64_t shared) {
  const auto module = Parse(
      absl::StrCat("func @main(%q: ", dtype, "[2, ", heads, ", s0, 40], %k: ", dtype, "[2, ",
                   heads / shared, ", s1, 40], %v: ", dtype, "[2, ", heads / shared, ", s1, 24]",
                   mask.empty() ? "" : absl::StrCat(", %m: ", mask), ") -> (", dtype, "[2, ", heads,
                   ", s0, 24]) { %0 = scaled_dot_product_attention(%q, %k, %v, ",
                   mask.empty() ? "none" : "%m", attrs, ") return %0 }"));
  const DType d = *ParseDType(dtype);
  std::vector<HostTensor> inputs = {Ramp({2, heads, queries, 40}, d),
                                    Ramp({2, heads / shared, keys, 40}, d),
                                    Ramp({2, heads / shared, keys, 24}, d)};
  if (!mask.empty()) {
    const bool shared_mask = absl::EndsWith(mask, ", 1]");
    HostTensor m = mask.substr(0, 4) == "bool" ? HostTensor(DType::kBool, {2, 1, queries, keys})
                                               : Ramp({queries, shared_mask ? 1 : keys}, d);
    if (mask.substr(0, 4) == "bool") {
      std::vector<int64_t> seen(m.numel());
      // Some queries see nothing.
      for (size_t i = 0; i < seen.size(); ++i) seen[i] = i / keys % 5 != 3 && i % 3 != 0;
      m.WriteInts(seen);
    }
    inputs.push_back(m);
  }
  for (const char* isa : {"native", "avx2"}) {
    CpuOptions options;
    options.isa = isa;
    const auto executable = Make(*module, options);
    const auto want = reference::Run(*module->main(), inputs);
    const auto got = executable->Run(inputs);
    ASSERT_TRUE(want.ok()) << want.status();
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(Difference((*got)[0], (*want)[0], ToleranceOf(d)), "") << isa;
    EXPECT_EQ(executable->stats().fallbacks, 0);
  }
}

TEST(Attention, OfAllLengths) {
  for (int64_t queries : {1, 5, 130}) {
    for (int64_t keys : {1, 64, 131, 300}) {
      SCOPED_TRACE(absl::StrCat(queries, " ", keys));
      CheckAttention("f32", "", "", queries, keys, 2, 1);
    }
  }
}

TEST(Attention, MasksSharedHeadsAndCaps) {
  CheckAttention("f32", "", ", is_causal=true", 130, 130, 2, 1);
  CheckAttention("f32", "", ", is_causal=true", 70, 200, 2, 1);
  CheckAttention("f32", "bool[2, 1, s0, s1]", "", 50, 140, 2, 1);
  CheckAttention("f32", "f32[s0, s1]", ", scale=0.5", 50, 140, 2, 1);
  CheckAttention("f32", "f32[s0, 1]", "", 50, 140, 2, 1);
  CheckAttention("f32", "", ", enable_gqa=true", 50, 140, 6, 3);
  CheckAttention("f32", "", ", softcap=3.0", 20, 140, 2, 1);
  CheckAttention("bf16", "bf16[s0, s1]", "", 20, 140, 2, 1);
  CheckAttention("f16", "", ", is_causal=true", 20, 20, 2, 1);
}

}  // namespace
}  // namespace weft::cpu
