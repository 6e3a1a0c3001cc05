// Runs as CUDA graphs: results, edges, counters, errors.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cuda/device/cuda_device.h"
#include "backends/cuda/device/memory_order.h"
#include "backends/cuda/device/modules.h"
#include "backends/cuda/emit/prelude.h"
#include "backends/runtime/step_observer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/backends/cuda/emulated_program.h"

namespace weft::cuda {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Branches that may run at the same time, whose values share memory one after another.
constexpr char kBranches[] = R"(
  func @main(%x: f32[s0, 40], %w: f32[40, 40], %b: f32[40]) -> (f32[s0, 40], f32[s0]) where 1 <= s0 {
    %0 = matmul(%x, %w)
    %1 = exp(%x)
    %2 = matmul(%1, %w)
    %3 = add(%0, %b)
    %4 = softmax(%3, dim=-1)
    %5 = matmul(%4, %w)
    %6 = tanh(%2)
    %7 = matmul(%6, %w)
    %8 = mul(%5, %7)
    %9 = sum(%8, dim=[1])
    return %8, %9
  })";

// Values that differ from run to run.
std::vector<HostTensor> Inputs(int64_t n, int run) {
  const auto scaled = [&](std::vector<int64_t> dims) {
    HostTensor tensor = Ramp(std::move(dims));
    float* const values = tensor.data<float>();
    for (int64_t i = 0; i < tensor.numel(); ++i) {
      values[i] *= 1 + 0.25f * static_cast<float>((i + run) % 5);
    }
    return tensor;
  };
  return {scaled({n, 40}), scaled({40, 40}), scaled({40})};
}

BackendOptions Options(const std::string& graphs = "on") {
  return {{"cuda-driver", "emulated"}, {"cuda-graphs", graphs}};
}

int64_t Count(const EmulatedProgram& program, const std::string& name) {
  return CounterOf(program.counters(), name);
}

TEST(CudaGraphs, RunFromTheSecondRunOfASizeOn) {
  EmulatedProgram program(kBranches, Options());
  program.ExpectAsReference(Inputs(9, 0), 1e-4);
  const int64_t launches = Count(program, "launches");
  EXPECT_GE(launches, 4);
  EXPECT_EQ(Count(program, "graph_launches"), 0);
  for (int run = 1; run < 6; ++run) {
    Emulated().emulation.seed(run);
    program.ExpectAsReference(Inputs(9, run), 1e-4);
    EXPECT_EQ(Count(program, "graph_launches"), run);
  }
  EXPECT_EQ(Count(program, "launches"), launches);
  EXPECT_EQ(Count(program, "graph_instantiations"), 1);
  EXPECT_EQ(Count(program, "graph_updates"), 0);
}

TEST(CudaGraphs, GiveTheSameBitsAsSingleLaunches) {
  EmulatedProgram with(kBranches, Options());
  EmulatedProgram without(kBranches, Options("off"));
  for (int run = 0; run < 8; ++run) {
    Emulated().emulation.seed(run);
    const auto got = with.Run(Inputs(17, run));
    const auto want = without.Run(Inputs(17, run));
    ASSERT_TRUE(got.ok()) << got.status();
    ASSERT_TRUE(want.ok()) << want.status();
    for (size_t i = 0; i < want->size(); ++i) {
      EXPECT_EQ(Difference((*got)[i], (*want)[i], {0, 0}), "") << run;
    }
  }
  EXPECT_EQ(Count(with, "graph_launches"), 7);
  EXPECT_EQ(Count(without, "graph_launches"), 0);
}

// Recordings are kept for eight assignments of sizes; further ones take over the graphs of those
// that were used least recently. Nothing is compiled for a size.
TEST(CudaGraphs, AreLimitedInNumber) {
  EmulatedProgram program(kBranches, Options());
  program.ExpectAsReference(Inputs(16, 0), 1e-4);
  const int64_t units = Count(program, "compiled_units");
  for (int64_t n = 1; n <= 15; ++n) {
    for (int run = 0; run < 3; ++run) {
      program.ExpectAsReference(Inputs(n, static_cast<int>(n) + run), 1e-4);
    }
  }
  EXPECT_EQ(Count(program, "compiled_units"), units);
  EXPECT_EQ(Count(program, "graph_launches"), 30);
  EXPECT_EQ(Count(program, "graph_instantiations") + Count(program, "graph_updates"), 15);
  EXPECT_GE(Count(program, "graph_updates"), 7);
  EXPECT_LE(Emulated().emulation.counter("graphs"), 8);
  // The last eight still have graphs; the first ones begin anew.
  program.ExpectAsReference(Inputs(15, 3), 1e-4);
  EXPECT_EQ(Count(program, "graph_launches"), 31);
  program.ExpectAsReference(Inputs(1, 4), 1e-4);
  EXPECT_EQ(Count(program, "graph_launches"), 31);
  program.ExpectAsReference(Inputs(1, 5), 1e-4);
  EXPECT_EQ(Count(program, "graph_launches"), 32);
}

// A larger size moves the memory, which the graphs of smaller sizes use.
TEST(CudaGraphs, FollowTheMemory) {
  EmulatedProgram program(kBranches, Options());
  for (int run = 0; run < 3; ++run) program.ExpectAsReference(Inputs(4, run), 1e-4);
  program.ExpectAsReference(Inputs(70, 3), 1e-4);
  const int64_t made = Count(program, "graph_instantiations");
  for (int run = 4; run < 7; ++run) program.ExpectAsReference(Inputs(4, run), 1e-4);
  EXPECT_EQ(Count(program, "graph_instantiations") + Count(program, "graph_updates"), made + 1);
  EXPECT_EQ(Count(program, "graph_launches"), 5);
}

// Steps on the host divide a plan; their results may decide sizes of later steps.
TEST(CudaGraphs, RunBetweenStepsOnTheHost) {
  EmulatedProgram program(R"(
    func @main(%x: f32[s0, 40], %w: f32[40, 40]) -> (f32[s0, 40], i64[u0, 2], f32[s0, 40])
        where 1 <= s0 {
      %0 = matmul(%x, %w)
      %1 = relu(%0)
      %2 = cumsum(%1, dim=0)
      %3 = nonzero(%1) : i64[u0, 2]
      %4 = matmul(%2, %w)
      %5 = tanh(%4)
      return %5, %3, %1
    })",
                          Options());
  for (int run = 0; run < 4; ++run) {
    std::vector<HostTensor> inputs = Inputs(6, run);
    inputs.pop_back();
    program.ExpectAsReference(inputs, 1e-3);
  }
  EXPECT_EQ(Count(program, "graph_launches"), 6);
}

TEST(CudaGraphs, NameStepsWithIndicesOutOfBounds) {
  EmulatedProgram gathers(R"(
    func @main(%x: f32[4, 4], %i: i64[2]) -> (f32[2, 4]) {
      %0 = index_select(%x, %i, dim=0)
      %1 = matmul(%0, %x)
      return %1
    })",
                          Options());
  for (const double index : {1, 2, 4, 3, -5, 0}) {
    const bool inside = index >= -4 && index < 4;
    const std::vector<HostTensor> inputs = {Ramp({4, 4}), Ints({2}, {3, index})};
    if (inside) {
      gathers.ExpectAsReference(inputs);
      continue;
    }
    const auto got = gathers.Run(inputs);
    EXPECT_EQ(got.status().code(), absl::StatusCode::kOutOfRange) << got.status();
    EXPECT_THAT(got.status().message(), HasSubstr("index_select"));
  }
  EXPECT_EQ(Count(gathers, "graph_launches"), 5);
}

// Each call of the driver fails once in one of four runs: the run has the error or does without a
// graph, the next one is right, and nothing is left when the program is gone.
TEST(CudaGraphs, RunAgainAfterEveryFailure) {
  const EmulationApi& emulation = Emulated().emulation;
  const BackendOptions options = {
      {"cuda-driver", "emulated"},
      {"cuda-cache-dir", absl::StrCat(testing::TempDir(), "/graph_failures")}};
  for (const char* call :
       {"cuGraphCreate", "cuGraphAddKernelNode_v2", "cuGraphInstantiateWithFlags", "cuGraphLaunch",
        "cuGraphExecUpdate_v2", "cuMemHostAlloc", "cuMemPoolCreate", "cuMemPoolSetAttribute",
        "cuMemAllocFromPoolAsync", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2"}) {
    const std::string calls = absl::StrCat("calls ", call);
    int failures = 0;
    for (unsigned n = 1; n < 100; ++n) {
      EmulatedProgram program(kBranches, options);
      const int64_t before = emulation.counter(calls.c_str());
      emulation.fail_at(call, n, kCuOutOfMemory);
      for (int run = 0; run < 4; ++run) {
        // The memory moves, and the graph of the smaller size with it.
        const std::vector<HostTensor> inputs = Inputs(run == 2 ? 23 : 3, run);
        const auto got = program.Run(inputs);
        if (got.ok()) {
          program.ExpectAsReference(inputs, got, 1e-4);
        } else {
          ASSERT_EQ(got.status().code(), absl::StatusCode::kResourceExhausted) << got.status();
        }
      }
      emulation.fail_at("", 0, kCuSuccess);
      if (emulation.counter(calls.c_str()) - before < n) break;
      ++failures;
      program.ExpectAsReference(Inputs(3, 7), 1e-4);
      program.ExpectAsReference(Inputs(3, 8), 1e-4);
    }
    EXPECT_GT(failures, 0) << call;
    for (const char* kind : {"live_bytes", "host_bytes", "pools", "graphs", "streams"}) {
      EXPECT_EQ(emulation.counter(kind), 0) << kind << " after " << call;
    }
  }
}

// Observes nothing.
class Observer : public StepObserver {
 public:
  absl::Status BeginRun(const Plan&, absl::Span<const HostTensor>, const SymbolEnv&) override {
    return absl::OkStatus();
  }
  absl::Status BeforeStep(const ObservedStep&) override { return absl::OkStatus(); }
  absl::Status AfterStep(const ObservedStep&) override {
    ++steps;
    return absl::OkStatus();
  }
  absl::Status EndRun(const Plan&, absl::Span<const HostTensor>) override {
    return absl::OkStatus();
  }
  int64_t steps = 0;
};

TEST(CudaGraphs, AreNotUsedByRunsThatAreObserved) {
  Observer observer;
  EmulatedProgram program(kBranches, Options());
  program.set_observer(&observer);
  for (int run = 0; run < 3; ++run) program.ExpectAsReference(Inputs(9, run), 1e-4);
  EXPECT_EQ(Count(program, "graph_launches"), 0);
  EXPECT_EQ(observer.steps, 3 * Count(program, "steps"));
}

TEST(CudaGraphs, LateErrorsNameTheirSteps) {
  EmulatedProgram program(kBranches, Options());
  for (int run = 0; run < 3; ++run) program.ExpectAsReference(Inputs(9, run), 1e-4);
  Emulated().emulation.fail_at("cuStreamSynchronize", 1, kCuIllegalAddress);
  const auto got = program.Run(Inputs(9, 3));
  EXPECT_THAT(got.status().message(),
              AllOf(HasSubstr(" launches from node "), HasSubstr("(matmul) to node ")));
  EXPECT_THAT(got.status().message(), HasSubstr("cannot use the GPU any more"));
  EXPECT_FALSE(program.Run(Inputs(9, 3)).ok());
  program.Close();
  Emulated().emulation.reset();
}

TEST(CudaGraphs, LackOfMemoryNamesTheNeed) {
  EmulatedProgram program(kBranches, Options());
  const int64_t n = int64_t{1} << 26;
  const std::vector<HostTensor> inputs = {
      *HostTensor::View(HostBuffer::Allocate(4), DType::kF32, {n, 40}, {0, 0}), Ramp({40, 40}),
      Ramp({40})};
  const auto got = program.Run(inputs);
  EXPECT_EQ(got.status().code(), absl::StatusCode::kResourceExhausted) << got.status();
  EXPECT_THAT(got.status().message(), HasSubstr("memory of @main for these sizes, "));
  EXPECT_THAT(got.status().message(), HasSubstr("of 17179869184 bytes are free"));
  program.ExpectAsReference(Inputs(9, 0), 1e-4);
}

// Outputs lie in memory of the device's driver.
TEST(CudaGraphs, OutputsOutliveTheirProgram) {
  std::vector<HostTensor> kept;
  HostTensor want;
  {
    EmulatedProgram program(kBranches, Options());
    for (int run = 0; run < 3; ++run) {
      auto got = program.Run(Inputs(9, run));
      ASSERT_TRUE(got.ok()) << got.status();
      kept.push_back(std::move((*got)[0]));
    }
    EXPECT_NE(kept[1].raw(), kept[2].raw());
    want = HostTensor(DType::kF32, {9, 40});
    std::copy_n(kept[0].data<float>(), want.numel(), want.data<float>());
  }
  EXPECT_GT(Emulated().emulation.counter("host_bytes"), 0);
  EXPECT_EQ(Difference(kept[0], want, {0, 0}), "");
  kept.clear();
  EXPECT_EQ(Emulated().emulation.counter("host_bytes"), 0);
}

// --- The device --------------------------------------------------------------------------

// A chain of kernels over 64 f32: each adds one to what the one before has written.
class CudaGraphDevice : public testing::Test {
 protected:
  static constexpr int64_t kBytes = 64 * 4;

  void SetUp() override {
    auto opened = CudaDevice::Open(Emulated(), 0);
    ASSERT_TRUE(opened.ok()) << opened.status();
    device_ = *std::move(opened);
    const std::string text =
        absl::StrCat(Prelude(), "\nW_KERNEL(64) probe(W_IN(f32) in, W_OUT(f32) out) {\n",
                     "w_store(out, threadIdx.x, w_load(in, threadIdx.x) + 1.f);\n}\n");
    ModuleLoader loader(*device_);
    auto modules = loader.Load({text});
    ASSERT_TRUE(modules.ok()) << modules.status();
    module_ = (*modules)[0];
    function_ = *module_->Find("probe");
    for (auto& memory : memory_) {
      memory = *device_->Allocate(kBytes, profiler::MemoryCategory::kTemporary);
    }
    const std::vector<float> zeros(64);
    ASSERT_TRUE(device_->CopyIn(memory_[0]->data(), zeros.data(), kBytes).ok());
  }

  absl::Status Launch(int from, int to, bool from_is_read = true, bool to_is_written = true) {
    uint64_t addresses[] = {reinterpret_cast<uint64_t>(memory_[from]->data()),
                            reinterpret_cast<uint64_t>(memory_[to]->data())};
    void* parameters[] = {&addresses[0], &addresses[1]};
    const OperandRange ranges[] = {{addresses[0], kBytes, !from_is_read},
                                   {addresses[1], kBytes, to_is_written}};
    return device_->Launch(function_, {1, 64, 0}, absl::MakeSpan(parameters), ranges,
                           absl::StrCat("step ", from));
  }

  float First(int memory) {
    std::vector<float> values(64);
    EXPECT_TRUE(device_->CopyOut(values.data(), memory_[memory]->data(), kBytes).ok());
    return values[0];
  }

  std::unique_ptr<CudaDevice> device_;
  std::shared_ptr<const CudaModule> module_;
  CuFunction function_ = nullptr;
  std::unique_ptr<DeviceMemory> memory_[4];
};

TEST_F(CudaGraphDevice, RecordsAndReplays) {
  ASSERT_TRUE(device_->BeginRecording().ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Launch(i, i + 1).ok());
  ASSERT_TRUE(device_->Copy(memory_[0]->data(), memory_[3]->data(), kBytes).ok());
  ASSERT_TRUE(device_->Fill(memory_[1]->data(), 0, kBytes).ok());
  EXPECT_FALSE(device_->Wait().ok());
  EXPECT_FALSE(device_->Allocate(8, profiler::MemoryCategory::kTemporary).ok());
  auto recording = device_->EndRecording(nullptr);
  ASSERT_TRUE(recording.ok()) << recording.status();
  for (int run = 1; run <= 3; ++run) {
    ASSERT_TRUE(device_->Replay(**recording).ok());
    EXPECT_EQ(First(3), 3.0f * static_cast<float>(run));
    EXPECT_EQ(First(1), 0.0f);
  }
  EXPECT_EQ(device_->launches(), 0);
}

// What a library submits becomes a graph of its own inside of the graph.
TEST_F(CudaGraphDevice, CapturesLibraries) {
  const DriverApi& driver = device_->libraries().driver;
  const auto address = [&](int i) { return reinterpret_cast<CuAddress>(memory_[i]->data()); };
  ASSERT_TRUE(device_->BeginRecording().ok());
  ASSERT_TRUE(Launch(0, 1).ok());
  const OperandRange ranges[] = {{address(1), kBytes, false}, {address(2), kBytes, true}};
  const absl::Status submitted = device_->Submit(ranges, "a library", [&](CuStream stream) {
    EXPECT_NE(driver.stream_synchronize(stream), kCuSuccess);
    EXPECT_EQ(driver.fill(address(2), 0, kBytes, stream), kCuSuccess);
    EXPECT_EQ(driver.copy(address(2), address(1), kBytes, stream), kCuSuccess);
    return absl::OkStatus();
  });
  ASSERT_TRUE(submitted.ok()) << submitted;
  ASSERT_TRUE(Launch(2, 3).ok());
  auto recording = device_->EndRecording(nullptr);
  ASSERT_TRUE(recording.ok()) << recording.status();
  for (unsigned seed = 0; seed < 5; ++seed) {
    Emulated().emulation.seed(seed);
    ASSERT_TRUE(device_->Replay(**recording).ok());
    EXPECT_EQ(First(3), 2.0f);
  }
  // An error of the library leaves the device usable.
  ASSERT_TRUE(device_->BeginRecording().ok());
  EXPECT_FALSE(
      device_->Submit(ranges, "a library", [](CuStream) { return absl::InternalError("no"); })
          .ok());
  device_->DropRecording();
  ASSERT_TRUE(Launch(0, 1).ok());
  EXPECT_EQ(First(1), 1.0f);
}

// Large inputs go through page-locked memory, once there is enough of it, in pieces by threads.
TEST_F(CudaGraphDevice, CopiesLargeInputsByThreads) {
  const EmulationApi& emulation = Emulated().emulation;
  device_->set_copy_threads(3);
  constexpr int64_t kLarge = (int64_t{5} << 20) + 12;
  const auto memory = *device_->Allocate(2 * kLarge, profiler::MemoryCategory::kTemporary);
  for (int run = 0; run < 3; ++run) {
    std::vector<char> sent[2];
    for (auto& bytes : sent) bytes.resize(kLarge);
    for (int64_t i = 0; i < kLarge; ++i) {
      sent[0][i] = static_cast<char>(i * 7 + run);
      sent[1][i] = static_cast<char>(i / 3 - run);
    }
    const std::vector<char> first = sent[0];
    const int64_t copies = emulation.counter("calls cuMemcpyHtoDAsync_v2");
    for (int i = 0; i < 2; ++i) {
      char* const to = memory->data() + i * kLarge;
      ASSERT_TRUE(device_->CopyInLater(to, sent[i].data(), kLarge).ok());
    }
    const int64_t pieces = emulation.counter("calls cuMemcpyHtoDAsync_v2") - copies;
    EXPECT_EQ(pieces, run == 0 ? 2 : 22);
    std::vector<char> got(2 * kLarge);
    ASSERT_TRUE(device_->CopyOut(got.data(), memory->data(), 2 * kLarge).ok());
    EXPECT_TRUE(std::equal(first.begin(), first.end(), got.begin()));
    EXPECT_TRUE(std::equal(sent[1].begin(), sent[1].end(), got.begin() + kLarge));
  }
  // An error in one piece.
  std::vector<char> bytes(kLarge);
  emulation.fail_at("cuMemcpyHtoDAsync_v2", 4, kCuOutOfMemory);
  EXPECT_EQ(device_->CopyInLater(memory->data(), bytes.data(), kLarge).code(),
            absl::StatusCode::kResourceExhausted);
  ASSERT_TRUE(device_->Wait().ok());
  ASSERT_TRUE(device_->CopyInLater(memory->data(), bytes.data(), kLarge).ok());
  ASSERT_TRUE(device_->Wait().ok());
}

// A copy from page-locked memory that may change at once.
TEST_F(CudaGraphDevice, CopiesFromLockedMemory) {
  const auto locked = device_->AllocateHost(kBytes, profiler::MemoryCategory::kOutput);
  auto* const values = reinterpret_cast<float*>(locked->data());
  std::fill_n(values, 64, 3.0f);
  ASSERT_TRUE(device_->CopyIn(memory_[1]->data(), values, kBytes).ok());
  std::fill_n(values, 64, 4.0f);
  EXPECT_EQ(First(1), 3.0f);
}

// A range that says too little is found, whatever the order of the nodes.
TEST_F(CudaGraphDevice, MissingEdgesAreFound) {
  for (const bool reads : {false, true}) {
    ASSERT_TRUE(device_->BeginRecording().ok());
    // A write that is not known before a read of it; a read, before a write of it.
    ASSERT_TRUE(Launch(0, 1, true, reads).ok());
    if (reads) {
      ASSERT_TRUE(Launch(2, 0, true, /*to_is_written=*/false).ok());
    } else {
      ASSERT_TRUE(Launch(1, 2).ok());
    }
    auto recording = device_->EndRecording(nullptr);
    ASSERT_TRUE(recording.ok()) << recording.status();
    ASSERT_TRUE(device_->Replay(**recording).ok());
    EXPECT_THAT(device_->Wait().message(), HasSubstr("the graph has no order between node 0"));
    Emulated().emulation.reset();
  }
}

TEST_F(CudaGraphDevice, GraphsOfFreedMemoryAreFound) {
  ASSERT_TRUE(device_->BeginRecording().ok());
  ASSERT_TRUE(Launch(0, 1).ok());
  ASSERT_TRUE(Launch(1, 2).ok());
  auto recording = device_->EndRecording(nullptr);
  ASSERT_TRUE(recording.ok()) << recording.status();
  memory_[1] = nullptr;
  memory_[1] = *device_->Allocate(kBytes, profiler::MemoryCategory::kTemporary);
  ASSERT_TRUE(device_->Replay(**recording).ok());
  EXPECT_THAT(device_->Wait().message(), HasSubstr("the graph accesses memory that was freed"));
  Emulated().emulation.reset();
}

// --- The order of memory ---------------------------------------------------------------------

OperandRange Read(CuAddress begin, int64_t bytes) { return {begin, bytes, false}; }
OperandRange Write(CuAddress begin, int64_t bytes) { return {begin, bytes, true}; }

TEST(MemoryOrder, OrdersWorkByWhatItAccesses) {
  MemoryOrder order;
  EXPECT_THAT(order.Add({Read(0, 10), Write(100, 10)}), IsEmpty());
  EXPECT_THAT(order.Add({Read(0, 10), Write(200, 10)}), IsEmpty());
  EXPECT_THAT(order.Add({Read(105, 1), Write(300, 10)}), ElementsAre(0));
  EXPECT_THAT(order.Add({Read(100, 200), Write(400, 10)}), ElementsAre(0, 1));
  EXPECT_THAT(order.Add({Write(0, 4)}), ElementsAre(0, 1));
  EXPECT_THAT(order.Add({Write(109, 10)}), ElementsAre(3));
  EXPECT_THAT(order.Add({Read(109, 0), Write(500, 0)}), IsEmpty());
  EXPECT_THAT(order.Add({Read(3, 1), Read(118, 1)}), ElementsAre(4, 5));
}

// Against a comparison of all pairs: works that conflict are ordered, and others only if they have
// to be.
TEST(MemoryOrder, IsThatOfAllPairs) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    MemoryOrder order;
    std::vector<std::vector<OperandRange>> works;
    std::vector<std::vector<bool>> before;  // Through edges.
    std::vector<std::vector<bool>> needed;  // Through conflicts.
    for (int n = 0; n < 24; ++n) {
      std::vector<OperandRange> ranges(1 + random() % 3);
      for (OperandRange& range : ranges) {
        range = {random() % 40, static_cast<int64_t>(random() % 9), random() % 3 == 0};
      }
      before.emplace_back(n, false);
      needed.emplace_back(n, false);
      const auto close = [n](int m, std::vector<std::vector<bool>>* sets) {
        (*sets)[n][m] = true;
        for (int k = 0; k < m; ++k) {
          if ((*sets)[m][k]) (*sets)[n][k] = true;
        }
      };
      for (const int m : order.Add(ranges)) close(m, &before);
      for (int m = 0; m < n; ++m) {
        for (const OperandRange& a : works[m]) {
          for (const OperandRange& b : ranges) {
            const bool overlap = a.begin < b.begin + b.bytes && b.begin < a.begin + a.bytes;
            if (a.bytes > 0 && b.bytes > 0 && overlap && (a.written || b.written)) {
              close(m, &needed);
            }
          }
        }
      }
      works.push_back(std::move(ranges));
      ASSERT_EQ(before[n], needed[n]) << "round " << round << ", work " << n;
    }
  }
}

}  // namespace
}  // namespace weft::cuda
