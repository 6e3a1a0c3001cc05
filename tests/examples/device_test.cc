// examples/device: programs on a device whose memory the host cannot touch and whose work is late.
#include "api/c/device.h"

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/backends.h"
#include "api/check/seeded_inputs.h"
#include "api/compiler.h"
#include "api/extensions.h"
#include "api/plugin.h"
#include "api/program.h"
#include "api/session.h"
#include "backends/cpu/launcher.h"
#include "backends/plugin/backend.h"
#include "backends/plugin/device_events.h"
#include "base/log.h"
#include "gmock/gmock.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "profiler/session.h"
#include "profiler/trace.h"
#include "tests/examples/sim.h"
#include "tests/lowering/random_graphs.h"
#include "tests/support/parse.h"
#include "tests/support/programs.h"
#include "tests/support/tensor_compare.h"

namespace weft {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr Tolerance kTolerance = {1e-4, 1e-4};

// The device is in the process once.
const Extensions& Loaded() {
  static const Extensions& extensions = *[] {
    auto* made = new Extensions;
    const auto name = LoadPlugin(SimPath(), *made);
    EXPECT_TRUE(name.ok()) << name.status();
    return made;
  }();
  return extensions;
}

const Backend& Sim() { return **Loaded().backends().Find("sim"); }

// Collects the log, in which the device complains when it is closed too early, and of memory
// that was written out of bounds.
class LogScope {
 public:
  LogScope() {
    EXPECT_TRUE(SetLogs("perf_hints").ok());
    SetLogSink([this](absl::string_view line) { absl::StrAppend(&text_, line, "\n"); });
  }
  ~LogScope() {
    SetLogSink(nullptr);
    EXPECT_TRUE(SetLogs("").ok());
    EXPECT_THAT(text_, Not(HasSubstr("sim: closed")));
    EXPECT_THAT(text_, Not(HasSubstr(" was written")));
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::vector<HostTensor> Inputs(const Module& module, uint64_t seed,
                               std::map<std::string, int64_t> dims = {}) {
  SeedOptions options;
  options.seed = seed;
  for (const auto& [name, size] : dims) options.dims[name] = size;
  auto inputs = MakeSeededInputs(*module.main(), options);
  EXPECT_TRUE(inputs.ok()) << inputs.status();
  return *std::move(inputs);
}

absl::StatusOr<Session> MakeSession(std::unique_ptr<Module> module, const Backend& backend,
                                    const BackendOptions& options = {}) {
  CompileOptions compile;
  compile.passes = "";
  SetTarget(backend, &compile);
  const absl::Status status = Compile(*module, compile).status();
  if (!status.ok()) return status;
  return Session::Create(std::move(module), backend, options);
}

void ExpectEqual(const std::vector<HostTensor>& got, const std::vector<HostTensor>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(Difference(got[i], want[i], kTolerance), "") << "output " << i;
  }
}

std::vector<HostTensor> Reference(const std::string& text, const std::vector<HostTensor>& inputs) {
  auto session = Session::Create(Parse(text), "reference");
  EXPECT_TRUE(session.ok()) << session.status();
  auto outputs = session->Run(inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? *std::move(outputs) : std::vector<HostTensor>();
}

// As it is, and after the passes of the target; each once more.
void ExpectAsReference(const std::string& text, const BackendOptions& options = {},
                       const std::map<std::string, int64_t>& dims = {}) {
  SCOPED_TRACE(text);
  for (const bool passes : {false, true}) {
    auto session = passes ? MakeSession(Parse(text), Sim(), options)
                          : Session::Create(Parse(text), Sim(), options);
    ASSERT_TRUE(session.ok()) << session.status();
    for (const uint64_t seed : {1, 2}) {
      const auto module = Parse(text);
      const std::vector<HostTensor> inputs = Inputs(*module, seed, dims);
      const auto got = session->Run(inputs);
      ASSERT_TRUE(got.ok()) << got.status();
      ExpectEqual(*got, Reference(text, inputs));
    }
  }
}

// --- Programs -----------------------------------------------------------------------------------

TEST(Sim, SaysWhatItCanDo) {
  EXPECT_EQ(Sim().target().routines.size(), 2u);
  EXPECT_EQ(Sim().target().routines[0].name, "matmul");
}

TEST(Sim, Matmul) {
  ExpectAsReference(R"(func @main(%x: f32[5, 7], %y: f32[7, 3]) -> f32[5, 3] {
    %0 = matmul(%x, %y)
    return %0
  })");
  ExpectAsReference(R"(func @main(%x: f32[2, 1, 5, 7], %y: f32[3, 4, 7]) -> f32[2, 3, 5, 4] {
    %0 = permute(%y, dims=[0, 2, 1])
    %1 = matmul(%x, %0)
    return %1
  })");
  // The device has no routine for other types and ranks.
  ExpectAsReference(R"(func @main(%x: i32[5, 7], %y: i32[7, 3], %z: f32[7]) -> (i32[5, 3], f32[5]) {
    %0 = matmul(%x, %y)
    %1 = convert(%x, dtype=f32)
    %2 = matmul(%1, %z)
    return %0, %2
  })");
}

TEST(Sim, Convolution) {
  ExpectAsReference(R"(
    func @main(%x: f32[2, 4, 9, 8], %w: f32[6, 2, 3, 3], %b: f32[6]) -> f32[2, 6, 5, 4] {
      %0 = convolution(%x, %w, %b, stride=[2, 2], padding=[1, 1], dilation=[1, 1], groups=2)
      return %0
    })");
  ExpectAsReference(R"(
    func @main(%x: f32[1, 3, 11], %w: f32[2, 3, 3], %v: f32[2, 3, 2])
        -> (f32[1, 2, 7], f32[1, 3, 14]) {
      %0 = convolution(%x, %w, none, stride=[1], padding=[0], dilation=[2])
      %1 = convolution(%0, %v, none, stride=[2], padding=[0], dilation=[1], transposed=true)
      return %0, %1
    })");
}

TEST(Sim, KernelsAndReductions) {
  ExpectAsReference(R"(
    func @main(%x: f32[s0, 96], %w: f32[96, 96], %b: f32[96]) -> (f32[s0, 96], f32[s0], i64[s0])
        where 1 <= s0 {
      %0 = linear(%x, %w, %b)
      %1 = gelu(%0)
      %2 = add(%1, %x)
      %3 = softmax(%2, dim=-1)
      %4 = sum(%2, dim=[1])
      %5 = argmax(%2, dim=1)
      return %3, %4, %5
    })");
}

TEST(Sim, ViewsCopiesAndInputs) {
  ExpectAsReference(R"(
    func @main(%x: f32[s0, 6], %y: f32[4]) -> (f32[6, s0], f32[s0, 2], f32[4], f32[0], f32[s0, 12])
        where 1 <= s0 {
      %0 = permute(%x, dims=[1, 0])
      %1 = slice(%x, dim=1, start=2, end=4, step=1)
      %2 = slice(%y, dim=0, start=4, end=4, step=1)
      %3 = cumsum(%x, dim=1)
      %4 = cat(%x, %3, dim=1)
      return %0, %1, %y, %2, %4
    })");
}

TEST(Sim, Branches) { ExpectAsReference(kBranchProgram); }

TEST(Sim, Loops) {
  ExpectAsReference(R"(
    func @main(%x: f32[4]) {
      %n = constant(dense<3>) : i64[]
      %c = constant(dense<true>) : bool[]
      %y, %ys = loop(%n, %c, %x, num_carried=1) {
        body(%i: i64[], %b: bool[], %a: f32[4]) {
          %d = sin(%a)
          return %b, %d, %d
        }
      }
      return %y, %ys
    })");
}

TEST(Sim, SizesThatDependOnData) {
  ExpectAsReference(R"(
    func @main(%x: f32[s0, 4]) -> (i64[u0, 2], f32[s0, 4], i64[u0, 2]) where 1 <= s0 {
      %0 = relu(%x)
      %1 = nonzero(%0) : i64[u0, 2]
      %2 = cumsum(%0, dim=0)
      %3 = add(%1, %1)
      return %1, %2, %3
    })");
}

TEST(Sim, SizesThatChange) {
  const std::string text = R"(
    func @main(%x: f32[s0, 8], %w: f32[8, 8]) -> f32[s0, 8] where 1 <= s0 {
      %0 = matmul(%x, %w)
      %1 = tanh(%0)
      return %1
    })";
  auto session = MakeSession(Parse(text), Sim());
  ASSERT_TRUE(session.ok()) << session.status();
  const auto module = Parse(text);
  for (const int64_t n : {1, 65, 3, 65}) {
    const std::vector<HostTensor> inputs = Inputs(*module, 7, {{"s0", n}});
    const auto got = session->Run(inputs);
    ASSERT_TRUE(got.ok()) << got.status();
    ExpectEqual(*got, Reference(text, inputs));
  }
  EXPECT_EQ(CounterOf(session->counters(), "assignments"), 3);
  EXPECT_EQ(CounterOf(session->counters(), "host_steps"), 0);
}

TEST(Sim, ProgramsOfManySizes) {
  const std::string text =
      "func @main(%x: f32[s0, 3]) -> f32[s0, 3] {\n %0 = exp(%x)\n return %0\n}";
  ProgramOptions options;
  options.target = "sim";
  options.backends = &Loaded().backends();
  auto program = Program::Create(Parse(text), std::move(options));
  ASSERT_TRUE(program.ok()) << program.status();
  const auto module = Parse(text);
  for (const int64_t n : {2, 5}) {
    const std::vector<HostTensor> inputs = Inputs(*module, 1, {{"s0", n}});
    const auto got = program->Run(inputs);
    ASSERT_TRUE(got.ok()) << got.status();
    ExpectEqual(*got, Reference(text, inputs));
  }
}

TEST(Sim, RandomPrograms) {
  const LogScope log;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    RandomProgram program = seed % 3 == 0 ? MakeRandomUpdate(seed) : MakeRandomProgram(seed);
    auto reference = Session::Create(program.module->Clone(), "reference");
    auto sim = Session::Create(std::move(program.module), Sim());
    ASSERT_TRUE(reference.ok() && sim.ok()) << sim.status();
    std::vector<HostTensor> wanted, written;
    const auto want = reference->RunStateless(program.inputs, &wanted);
    for (int run = 0; run < 2; ++run) {
      const auto got = sim->RunStateless(program.inputs, &written);
      ASSERT_EQ(got.ok(), want.ok()) << got.status();
      if (!want.ok()) continue;
      ExpectEqual(*got, *want);
      ASSERT_EQ(written.size(), wanted.size());
      for (size_t i = 0; i < written.size(); ++i) {
        ASSERT_EQ(written[i].valid(), wanted[i].valid());
        if (!written[i].valid()) continue;
        EXPECT_EQ(Difference(written[i], wanted[i], kTolerance), "") << "input " << i;
      }
    }
  }
}

// --- Late work, and failures --------------------------------------------------------------------

// A constant, an input, a routine, kernels, and a step on the host in their middle.
constexpr char kBlock[] = R"(
  func @main(%x: f32[s0, 8], %w: f32[8, 8]) -> (f32[s0, 8], f32[s0, 8]) where 1 <= s0 {
    %c = constant(dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]>) : f32[8]
    %0 = matmul(%x, %w)
    %1 = add(%0, %c)
    %2 = cumsum(%1, dim=0)
    %3 = tanh(%2)
    return %3, %0
  })";

TEST(Sim, LateWorkIsInOrder) { ExpectAsReference(kBlock, {{"delay", "300"}}); }

// Each call of each entry fails once: creation or the run says so, nothing is left behind, and the
// next run is right.
TEST(Sim, RunsAgainAfterEveryFailure) {
  const auto module = Parse(kBlock);
  const std::vector<HostTensor> inputs = Inputs(*module, 3, {{"s0", 5}});
  const std::vector<HostTensor> want = Reference(kBlock, inputs);
  for (const std::string entry :
       {"open", "allocate", "copy_in", "copy_out", "stream_create", "stream_synchronize",
        "event_create", "event_record", "stream_wait", "find_code", "launch", "late_copy_in",
        "late_copy_out", "late_launch"}) {
    int failures = 0;
    for (int n = 1;; ++n) {
      SCOPED_TRACE(absl::StrCat(entry, ":", n));
      const LogScope log;
      auto session = Session::Create(Parse(kBlock), Sim(), {{"fail", absl::StrCat(entry, ":", n)}});
      absl::Status status = session.status();
      if (status.ok()) {
        const auto got = session->Run(inputs);
        if (got.ok()) {
          ExpectEqual(*got, want);
          break;
        }
        status = got.status();
        const auto again = session->Run(inputs);
        ASSERT_TRUE(again.ok()) << again.status();
        ExpectEqual(*again, want);
      }
      ++failures;
      EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr("device sim: "));
      ASSERT_LT(n, 1000);
    }
    EXPECT_GT(failures, 0) << entry;
  }
}

std::string ErrorWith(const std::string& fail) {
  auto session = Session::Create(Parse(kBlock), Sim(), {{"fail", fail}});
  if (!session.ok()) return std::string(session.status().message());
  return std::string(session->Run(Inputs(*Parse(kBlock), 3)).status().message());
}

TEST(Sim, NamesDeviceCallAndStep) {
  EXPECT_THAT(ErrorWith("launch:1"), AllOf(HasSubstr("matmul"), HasSubstr("device sim: launch: ")));
  EXPECT_THAT(ErrorWith("late_launch:1"), HasSubstr("device sim: launch of node"));
  EXPECT_THAT(ErrorWith("late_launch:1"), HasSubstr("matmul"));
  EXPECT_THAT(ErrorWith("allocate:2"), HasSubstr("device sim: allocate: "));
  EXPECT_THAT(ErrorWith("copy_in:2"),
              AllOf(HasSubstr("input 0"), HasSubstr("device sim: copy_in")));
  EXPECT_THAT(ErrorWith("whatever"), HasSubstr("device sim: open: the option fail takes ENTRY:N"));
}

TEST(Sim, NamesTheKernelWhoseIndexIsOutOfBounds) {
  auto session = Session::Create(Parse(R"(
    func @main(%x: f32[4, 3], %i: i64[2]) -> (f32[2, 3]) {
      %0 = index_select(%x, %i, dim=0)
      return %0
    })"),
                                 Sim());
  ASSERT_TRUE(session.ok()) << session.status();
  HostTensor x(DType::kF32, {4, 3});
  HostTensor i(DType::kI64, {2});
  i.WriteDoubles({3, 4});
  const absl::Status status = session->Run({x, i}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("device sim: launch of node"), HasSubstr("out of bounds")));
  i.WriteDoubles({3, 0});
  EXPECT_TRUE(session->Run({x, i}).ok());
}

TEST(Sim, SessionsRunAtOnce) {
  const LogScope log;
  const std::vector<HostTensor> inputs = Inputs(*Parse(kBlock), 3);
  const std::vector<HostTensor> want = Reference(kBlock, inputs);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      auto session = Session::Create(Parse(kBlock), Sim(), {{"delay", absl::StrCat(t * 50)}});
      ASSERT_TRUE(session.ok()) << session.status();
      for (int run = 0; run < 10; ++run) {
        const auto got = session->Run(inputs);
        ASSERT_TRUE(got.ok()) << got.status();
        ExpectEqual(*got, want);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Sim, RecordsWhatItDid) {
  profiler::SessionOptions options;
  options.sources.push_back(plugin::DeviceEvents::Get());
  auto profile = profiler::Session::Start(std::move(options));
  ASSERT_TRUE(profile.ok()) << profile.status();
  auto session = MakeSession(Parse(kBlock), Sim());
  ASSERT_TRUE(session.ok()) << session.status();
  ASSERT_TRUE(session->Run(Inputs(*Parse(kBlock), 3)).ok());
  const auto trace = (*profile)->Stop();
  ASSERT_TRUE(trace.ok()) << trace.status();
  std::vector<std::string> tracks, spans;
  for (const profiler::Track& track : trace->tracks) {
    if (track.is_device) tracks.push_back(track.name);
  }
  for (const profiler::Event& event : trace->events) {
    if (trace->tracks[event.track].is_device) spans.push_back(trace->names[event.name]);
  }
  EXPECT_THAT(tracks, testing::UnorderedElementsAre("sim stream 0", "sim stream 1"));
  EXPECT_THAT(spans, AllOf(testing::Contains("copy"), testing::Contains(HasSubstr("matmul"))));
}

// --- Missing entries -----------------------------------------------------------------------------

void ExpectAsReference(const weft_device_api& api, const std::string& remark) {
  const LogScope log;
  auto backend = plugin::MakeBackend(&api, cpu::MakeInterpreter);
  ASSERT_TRUE(backend.ok()) << backend.status();
  EXPECT_THAT(log.text(), HasSubstr(remark));
  auto session = MakeSession(Parse(kBlock), **backend, {{"delay", "100"}});
  ASSERT_TRUE(session.ok()) << session.status();
  const std::vector<HostTensor> inputs = Inputs(*Parse(kBlock), 3);
  const auto got = session->Run(inputs);
  ASSERT_TRUE(got.ok()) << got.status();
  ExpectEqual(*got, Reference(kBlock, inputs));
}

TEST(SimWithout, Events) {
  weft_device_api api = SimEntries();
  api.event_create = nullptr;
  api.event_destroy = nullptr;
  api.event_record = nullptr;
  api.stream_wait = nullptr;
  ExpectAsReference(api, "copies do not run beside kernels");
}

TEST(SimWithout, Code) {
  weft_device_api api = SimEntries();
  api.find_code = nullptr;
  api.launch = nullptr;
  api.release_code = nullptr;
  ExpectAsReference(api, "all steps run on the host, over copies");
}

TEST(SimWithout, RoutinesThatItClaims) {
  weft_device_api api = SimEntries();
  api.find_code = [](weft_device*, const weft_call*, weft_code**, int64_t*,
                     weft_device_error*) -> weft_status { return WEFT_UNIMPLEMENTED; };
  ExpectAsReference(api, "");
}

}  // namespace
}  // namespace weft
