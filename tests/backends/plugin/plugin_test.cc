// Devices that lie, fail and lack entries.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/c/device.h"
#include "backends/backend.h"
#include "backends/cpu/launcher.h"
#include "backends/plugin/backend.h"
#include "backends/reference/executor.h"
#include "base/log.h"
#include "gmock/gmock.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "tests/backends/plugin/toy_device.h"
#include "tests/support/parse.h"
#include "tests/support/tensor_compare.h"

namespace weft::plugin {
namespace {

using testing::AllOf;
using testing::HasSubstr;

HostTensor Ramp(std::vector<int64_t> dims) {
  HostTensor t(DType::kF32, std::move(dims));
  std::vector<double> values(t.numel());
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i) / 8 - 1;
  t.WriteDoubles(values);
  return t;
}

// Kernels, a constant, an op that only the reference has, and results with gaps in memory.
constexpr char kProgram[] = R"(
  func @main(%x: f32[s0, 4]) -> (f32[s0, 4], f32[4, s0], f32[s0, 8], f32[s0, 4]) where 1 <= s0 {
    %c = constant(dense<[1.0, 2.0, 3.0, 4.0]>) : f32[4]
    %0 = exp(%x)
    %1 = cumsum(%0, dim=0)
    %2 = permute(%x, dims=[1, 0])
    %3 = cumsum(%x, dim=1)
    %4 = cat(%1, %3, dim=1)
    %5 = add(%x, %c)
    return %1, %2, %4, %5
  })";

std::string ErrorOf(const ToyDevice& toy) {
  const auto backend = MakeBackend(&toy.api, cpu::MakeInterpreter);
  return backend.ok() ? "" : std::string(backend.status().message());
}

class PluginTest : public testing::Test {
 protected:
  PluginTest() {
    EXPECT_TRUE(SetLogs("perf_hints").ok());
    SetLogSink([this](absl::string_view line) { absl::StrAppend(&log_, line, "\n"); });
  }
  ~PluginTest() override {
    executable_ = nullptr;
    SetLogSink(nullptr);
    EXPECT_TRUE(SetLogs("").ok());
    EXPECT_EQ(toy_.opened, 0);
    EXPECT_EQ(toy_.live, 0);
  }

  // Makes an executable of kProgram on the device as it is now.
  absl::Status Compile() {
    auto backend = MakeBackend(&toy_.api, cpu::MakeInterpreter);
    if (!backend.ok()) return backend.status();
    backend_ = *std::move(backend);
    auto plan = Lower(*module_->main(), backend_->target());
    if (!plan.ok()) return plan.status();
    auto made = backend_->Compile(*module_->main(), *std::move(plan), {});
    if (made.ok()) executable_ = *std::move(made);
    return made.status();
  }
  absl::Status Run(int64_t n = 3) {
    std::vector<HostTensor> written;
    return executable_->Run({Ramp({n, 4})}, {}, &outputs_, &written);
  }
  std::string RunError() { return std::string(Run().message()); }

  void ExpectAsReference() {
    const absl::Status status = Run();
    ASSERT_TRUE(status.ok()) << status;
    const auto want = reference::Run(*module_->main(), {Ramp({3, 4})});
    ASSERT_TRUE(want.ok());
    ASSERT_EQ(outputs_.size(), want->size());
    for (size_t i = 0; i < want->size(); ++i) {
      EXPECT_EQ(Difference(outputs_[i], (*want)[i], {1e-5, 1e-5}), "") << "output " << i;
    }
  }
  int64_t Counter(const char* name) { return CounterOf(executable_->counters(), name); }

  const std::unique_ptr<Module> module_ = Parse(kProgram);
  ToyDevice toy_;
  std::string log_;
  std::unique_ptr<const Backend> backend_;
  std::unique_ptr<Executable> executable_;
  std::vector<HostTensor> outputs_;
};

// --- Name, target and entries -------------------------------------------------------------

TEST_F(PluginTest, RunsOnTheDevice) {
  ASSERT_TRUE(Compile().ok());
  ExpectAsReference();
  EXPECT_GT(toy_.launches, 0);
  EXPECT_EQ(Counter("launches"), toy_.launches);
}

TEST_F(PluginTest, RefusesAnotherVersion) {
  toy_.api.abi = 7;
  EXPECT_EQ(Compile().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ErrorOf(toy_), "made for device ABI 7; this program has 1");
}

TEST_F(PluginTest, RefusesWhatIsNoStruct) {
  EXPECT_EQ(MakeBackend(nullptr, cpu::MakeInterpreter).status().message(),
            "the device has no entries");
  for (const uint64_t size : {uint64_t{0}, uint64_t{8}, uint64_t{1} << 40}) {
    toy_.api.struct_size = size;
    EXPECT_THAT(ErrorOf(toy_), HasSubstr("are said to have")) << size;
  }
}

TEST_F(PluginTest, RefusesBadNamesTargetsAndOptions) {
  const auto error_with = [](const std::function<void(weft_device_api&)>& edit) {
    ToyDevice toy;
    edit(toy.api);
    return ErrorOf(toy);
  };
  const std::string long_name(100, 'x');
  EXPECT_THAT(error_with([](auto& api) { api.name = nullptr; }), HasSubstr("no name"));
  EXPECT_THAT(error_with([](auto& api) { api.name = "a b"; }), HasSubstr("cannot be \"a b\""));
  EXPECT_THAT(error_with([&](auto& api) { api.name = long_name.c_str(); }), HasSubstr("longer"));
  EXPECT_THAT(error_with([](auto& api) { api.target = nullptr; }),
              HasSubstr("device toy: it has no target"));
  EXPECT_THAT(error_with([](auto& api) { api.target = "target toy { nonsense = 4 }"; }),
              HasSubstr("target of toy:1:"));
  EXPECT_THAT(error_with([](auto& api) { api.target = "target other {}"; }),
              HasSubstr("its target is called \"other\""));
  EXPECT_THAT(error_with([](auto& api) { api.num_options = -1; }), HasSubstr("-1 options"));
  EXPECT_THAT(error_with([](auto& api) { api.num_options = 1; }), HasSubstr("1 options"));
  static const weft_device_option twice[] = {{"a", "", ""}, {"a", "", ""}};
  EXPECT_THAT(error_with([](auto& api) {
                api.num_options = 2;
                api.options = twice;
              }),
              HasSubstr("two options a"));
}

TEST_F(PluginTest, NamesTheEntryThatLacksItsFellows) {
  toy_.api.copy_out = nullptr;
  EXPECT_EQ(ErrorOf(toy_), "device toy: it has allocate, deallocate, copy_in without copy_out");
}

// --- Missing entries ------------------------------------------------------------------------

TEST_F(PluginTest, WithoutCodeStepsRunOverCopies) {
  toy_.api.find_code = nullptr;
  toy_.api.launch = nullptr;
  toy_.api.release_code = nullptr;
  ASSERT_TRUE(Compile().ok());
  ExpectAsReference();
  EXPECT_EQ(toy_.launches, 0);
  EXPECT_GT(Counter("host_steps"), 0);
  EXPECT_THAT(log_,
              AllOf(HasSubstr("device toy without find_code, launch: all steps run on the host"),
                    HasSubstr("has no code for it: it runs on the host, over copies")));
}

TEST_F(PluginTest, WithoutMemoryItWorksInTheHosts) {
  toy_.api.allocate = nullptr;
  toy_.api.deallocate = nullptr;
  toy_.api.copy_in = nullptr;
  toy_.api.copy_out = nullptr;
  ASSERT_TRUE(Compile().ok());
  ExpectAsReference();
  EXPECT_GT(toy_.launches, 0);
  EXPECT_THAT(log_, HasSubstr("it works in the host's memory"));
}

TEST_F(PluginTest, AnOlderStructLacksItsLastEntries) {
  toy_.api.struct_size = offsetof(weft_device_api, find_code);
  ASSERT_TRUE(Compile().ok());
  ExpectAsReference();
  EXPECT_EQ(toy_.launches, 0);
}

TEST_F(PluginTest, ANameAndATargetAreEnough) {
  toy_.api.struct_size = offsetof(weft_device_api, passes);
  ASSERT_TRUE(Compile().ok());
  ExpectAsReference();
  EXPECT_EQ(toy_.opened, 0);
}

// --- Calls that lie ---------------------------------------------------------------------------

TEST_F(PluginTest, ChecksAddresses) {
  const auto error_with = [&](std::function<weft_status(void** memory)> allocate) {
    toy_.on_allocate = std::move(allocate);
    return std::string(Compile().message());
  };
  EXPECT_THAT(error_with([](void**) { return WEFT_OK; }),
              HasSubstr("device toy: allocate: it gave no memory"));
  EXPECT_THAT(error_with([](void**) { return WEFT_RESOURCE_EXHAUSTED; }),
              HasSubstr("device toy: allocate: failed with status 8"));
  EXPECT_THAT(error_with([](void**) { return 99; }), HasSubstr("failed with status 99"));
  EXPECT_THAT(error_with([&](void** memory) {
                toy_.Allocate(128, memory);
                *memory = static_cast<char*>(*memory) + 8;
                return WEFT_OK;
              }),
              HasSubstr("is not a multiple of 64"));
}

TEST_F(PluginTest, RefusesMemoryThatIsInUse) {
  void* first = nullptr;
  toy_.on_allocate = [&](void** memory) {
    if (first == nullptr) toy_.Allocate(1 << 16, &first);
    *memory = first;
    return WEFT_OK;
  };
  ASSERT_TRUE(Compile().ok());
  EXPECT_THAT(RunError(), HasSubstr("allocate: the memory is in use already"));
}

TEST_F(PluginTest, ChecksCode) {
  toy_.on_find = [](const weft_call&, weft_code**, int64_t*) { return WEFT_OK; };
  ASSERT_TRUE(Compile().ok());
  EXPECT_THAT(RunError(), HasSubstr("device toy: find_code: it gave no code"));
  toy_.on_find = [&](const weft_call& call, weft_code** code, int64_t* scratch) {
    *scratch = -1;
    return toy_.Find(call, code);
  };
  EXPECT_THAT(RunError(), HasSubstr("find_code: it asks for -1 scratch bytes"));
  toy_.on_find = nullptr;
  ExpectAsReference();
}

TEST_F(PluginTest, GivesScratchOfTheDevice) {
  std::vector<void*> scratch;
  toy_.on_find = [&](const weft_call& call, weft_code** code, int64_t* bytes) {
    *bytes = 1000;
    return toy_.Find(call, code);
  };
  toy_.on_launch = [&](const weft_launch& launch, weft_device_error* error) {
    scratch.push_back(launch.scratch);
    std::snprintf(error->text, sizeof error->text, "seen");
    return WEFT_UNAVAILABLE;
  };
  ASSERT_TRUE(Compile().ok());
  EXPECT_THAT(RunError(), HasSubstr("device toy: launch: seen"));
  ASSERT_EQ(scratch.size(), 1u);
  EXPECT_NE(scratch[0], nullptr);
}

TEST_F(PluginTest, NamesTheStepOfAFailedLaunch) {
  toy_.on_launch = [](const weft_launch&, weft_device_error* error) {
    // Neither an end nor anything that a terminal may show.
    std::memset(error->text, '\x1b', sizeof error->text);
    return WEFT_UNAVAILABLE;
  };
  ASSERT_TRUE(Compile().ok());
  const absl::Status status = Run();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("node "), HasSubstr("device toy: launch: \\u001b")));
  toy_.on_launch = nullptr;
  ExpectAsReference();
}

// The executor would look for the op of a step that is Unimplemented, and a kernel has none.
TEST_F(PluginTest, AKernelCannotBeUnimplementedWhenItIsLaunched) {
  toy_.on_launch = [](const weft_launch&, weft_device_error*) { return WEFT_UNIMPLEMENTED; };
  ASSERT_TRUE(Compile().ok());
  EXPECT_EQ(Run().code(), absl::StatusCode::kInternal);
}

TEST_F(PluginTest, NamesAFailedCopy) {
  ASSERT_TRUE(Compile().ok());
  toy_.on_copy = [](weft_device_error*) { return WEFT_UNAVAILABLE; };
  EXPECT_THAT(RunError(), AllOf(HasSubstr("input 0 (x)"), HasSubstr("device toy: copy_in")));
  toy_.on_copy = nullptr;
  ExpectAsReference();
}

// --- Calls of the host ------------------------------------------------------------------------

TEST_F(PluginTest, InterpretsNoKernelThatItDoesNotKnow) {
  weft_device_error error = {};
  weft_kernel number = 0;
  std::vector<int64_t> sizes;
  toy_.on_find = [&](const weft_call& call, weft_code** code, int64_t*) {
    if (call.kernel != 0 && number == 0 && call.num_args == 1 && call.num_results == 1) {
      number = call.kernel;
      sizes = {call.args[0].bytes_before + call.args[0].bytes_after,
               call.results[0].bytes_before + call.results[0].bytes_after};
    }
    return toy_.Find(call, code);
  };
  ASSERT_TRUE(Compile().ok());
  ExpectAsReference();
  ASSERT_NE(number, 0u);
  const weft_host& host = *toy_.host;
  std::vector<char> bytes(4096);
  void* memory[] = {bytes.data(), bytes.data()};
  void* missing[] = {bytes.data(), nullptr};
  const auto error_of = [&](weft_kernel kernel, void* const* at, const int64_t* n, int32_t count) {
    EXPECT_NE(host.interpret(kernel, at, n, count, &error), WEFT_OK);
    return std::string(error.text);
  };
  EXPECT_THAT(error_of(number + 1000, memory, sizes.data(), 2), HasSubstr("there is no kernel"));
  EXPECT_THAT(error_of(number, memory, sizes.data(), 1), HasSubstr("arguments and results, not 1"));
  EXPECT_THAT(error_of(number, nullptr, sizes.data(), 2), HasSubstr("arguments and results"));
  EXPECT_THAT(error_of(number, missing, sizes.data(), 2), HasSubstr("argument 1 has no memory"));
  --sizes[0];
  EXPECT_THAT(error_of(number, memory, sizes.data(), 2), HasSubstr("bytes of 48"));
  EXPECT_NE(host.interpret(number, memory, sizes.data(), 2, nullptr), WEFT_OK);
  executable_ = nullptr;
  EXPECT_THAT(error_of(number, memory, sizes.data(), 2), HasSubstr("there is no kernel"));
}

TEST_F(PluginTest, LogsItsRemarks) {
  ASSERT_TRUE(Compile().ok());
  toy_.host->remark("toy: warm");
  toy_.host->remark(nullptr);
  EXPECT_THAT(log_, HasSubstr("toy: warm"));
}

TEST_F(PluginTest, ShowsThePlanFirst) {
  ASSERT_TRUE(Compile().ok());
  EXPECT_THAT(toy_.plan_text, HasSubstr("plan @main("));
  ExpectAsReference();
  EXPECT_TRUE(toy_.saw_plan);
}

TEST_F(PluginTest, APlanMayBeTooMuchForIt) {
  toy_.api.compile_plan = [](weft_device*, const char*, weft_plan**,
                             weft_device_error*) -> weft_status { return WEFT_UNIMPLEMENTED; };
  ASSERT_TRUE(Compile().ok());
  ExpectAsReference();
  EXPECT_FALSE(toy_.saw_plan);
  toy_.api.compile_plan = [](weft_device*, const char*, weft_plan**,
                             weft_device_error*) -> weft_status { return WEFT_INTERNAL; };
  executable_ = nullptr;
  EXPECT_THAT(std::string(Compile().message()), HasSubstr("device toy: compile_plan"));
}

}  // namespace
}  // namespace weft::plugin
