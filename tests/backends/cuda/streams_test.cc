// Programs on tensors in the GPU's memory, ordered with streams of the program that runs them.
//
// Work of streams runs late, and the seed decides in which order: without an order between two
// streams some seed gives NaN, or old values.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/program.h"
#include "api/session.h"
#include "backends/runtime/device_run.h"
#include "backends/runtime/device_tensor.h"
#include "base/host_buffer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/backends/cuda/emulated_program.h"
#include "tests/backends/cuda/host_stream.h"

namespace weft::cuda {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr unsigned kSeeds = 12;

constexpr char kLayer[] = R"(
  func @main(%x: f32[n, 8], %w: f32[8, 8]) -> (f32[n, 8], f32[n]) where 1 <= n {
    %0 = matmul(%x, %w)
    %1 = tanh(%0)
    %2 = exp(%1)
    %3 = softmax(%2, dim=-1)
    %4 = sum(%3, dim=[1])
    return %3, %4
  })";

Program Make(const std::string& text, Dynamic dynamic = Dynamic::kSymbolic) {
  ProgramOptions options;
  options.target = "cuda";
  options.backend = {{"cuda-driver", "emulated"}, {"cuda-cublaslt", "none"}};
  options.dynamic = dynamic;
  auto program = Program::Create(Parse(text), std::move(options));
  EXPECT_TRUE(program.ok()) << program.status();
  return *std::move(program);
}

int64_t Calls(const std::string& name) {
  return Emulated().emulation.counter(("calls " + name).c_str());
}

DeviceTensor Borrow(Program& program, void* address, const HostTensor& like) {
  const auto space = program.device();
  EXPECT_TRUE(space.ok()) << space.status();
  auto tensor = (*space)->Borrow(address, like.dtype(), like.dims(), nullptr);
  EXPECT_TRUE(tensor.ok()) << tensor.status();
  return *std::move(tensor);
}

DeviceTensor OnDevice(Program& program, const HostTensor& tensor) {
  auto made = (*program.device())->ToDevice(tensor);
  EXPECT_TRUE(made.ok()) << made.status();
  return *std::move(made);
}

HostTensor OnHost(Program& program, const DeviceTensor& tensor) {
  auto made = program.ToHost(tensor);
  EXPECT_TRUE(made.ok()) << made.status();
  return *std::move(made);
}

HostTensor Scaled(double factor, std::vector<int64_t> dims) {
  HostTensor t = Ramp(std::move(dims));
  std::vector<double> values = t.ReadDoubles();
  for (double& value : values) value *= factor;
  t.WriteDoubles(values);
  return t;
}

HostTensor Row(const std::vector<double>& values) {
  return HostTensor::FromDoubles(DType::kF32, {static_cast<int64_t>(values.size())}, values);
}

DeviceRunOptions On(const HostStream& stream) {
  DeviceRunOptions options;
  options.stream = stream.get();
  return options;
}

// The input is written by the stream before the run, and again behind it; the output is read by the
// stream behind the run, and dropped at once. No call waits but the last.
TEST(Streams, RunsAreOrderedWithTheStream) {
  Program program = Make(kLayer);
  HostStream stream(Emulated());
  const HostTensor w = Ramp({8, 8});
  const DeviceTensor weights = OnDevice(program, w);
  const HostBlock block(Emulated(), 3 * 8 * 4);
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    Emulated().emulation.seed(seed);
    std::vector<HostTensor> got;
    int64_t waits = 0;
    for (int run = 0; run < 4; ++run) {
      const HostTensor x = Scaled(1 + run, {3, 8});
      stream.CopyIn(block.address(), x);
      waits = Calls("cuStreamSynchronize");
      const auto outputs =
          program.RunOnDevice({Borrow(program, block.data(), x), weights}, On(stream));
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      // Graphs are made in the first runs.
      EXPECT_TRUE(seed == 0 || Calls("cuStreamSynchronize") == waits);
      for (const DeviceTensor& output : *outputs) {
        ASSERT_FALSE(output.on_host());
        got.emplace_back(output.dtype(), output.dims());
        stream.CopyOut(&got.back(), output.device_address());
      }
    }
    stream.Synchronize();
    for (int run = 0; run < 4; ++run) {
      const auto want = program.Run({Scaled(1 + run, {3, 8}), w});
      ASSERT_TRUE(want.ok()) << want.status();
      EXPECT_TRUE(got[2 * run].BitEqual((*want)[0])) << "seed " << seed << ", run " << run;
      EXPECT_TRUE(got[2 * run + 1].BitEqual((*want)[1])) << "seed " << seed << ", run " << run;
    }
  }
}

// Steps that read an input leave the graphs when it is another tensor; graphs stay right.
TEST(Streams, AddressesChangeBetweenRuns) {
  Program program = Make(kLayer);
  HostStream stream(Emulated());
  const HostTensor w = Ramp({8, 8});
  const DeviceTensor weights = OnDevice(program, w);
  const HostBlock blocks[] = {{Emulated(), 96}, {Emulated(), 96}};
  const HostBlock results[] = {{Emulated(), 96}, {Emulated(), 96}};
  constexpr int kPlaces[] = {0, 0, 0, 1, 1, 0, 1};
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    Emulated().emulation.seed(seed);
    for (const int place : kPlaces) {
      const HostTensor x = Scaled(1 + place, {3, 8});
      stream.CopyIn(blocks[place].address(), x);
      const DeviceTensor bound[] = {Borrow(program, results[place].data(), x)};
      DeviceRunOptions options = On(stream);
      options.outputs = bound;
      const auto outputs =
          program.RunOnDevice({Borrow(program, blocks[place].data(), x), weights}, options);
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      EXPECT_EQ((*outputs)[0].device_address(), results[place].data());
      HostTensor got(DType::kF32, {3, 8});
      stream.CopyOut(&got, results[place].data());
      stream.Synchronize();
      EXPECT_TRUE(got.BitEqual((*program.Run({x, w}))[0])) << seed;
    }
  }
}

// The whole run is one graph if its tensors are the same ones.
TEST(Streams, MemoryForOutputsIsPartOfGraphs) {
  auto made =
      Session::Create(Parse(kLayer), "cuda",
                      BackendOptions{{"cuda-driver", "emulated"}, {"cuda-cublaslt", "none"}});
  ASSERT_TRUE(made.ok()) << made.status();
  Session& session = *made;
  const HostTensor x = Ramp({3, 8});
  const std::vector<DeviceTensor> inputs = {*session.ToDevice(x), *session.ToDevice(Ramp({8, 8}))};
  const DeviceTensor bound[] = {*session.ToDevice(x), *session.ToDevice(Row({0, 0, 0}))};
  DeviceRunOptions options;
  options.outputs = bound;
  const auto count = [&](const char* name) { return CounterOf(session.counters(), name); };
  for (int run = 0; run < 4; ++run) {
    const int64_t graphs = count("graph_launches");
    const int64_t launches = count("launches");
    const auto outputs = session.RunOnDevice(inputs, options);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_EQ((*outputs)[1].memory(), bound[1].memory());
    if (run == 0) continue;
    EXPECT_EQ(count("graph_launches"), graphs + 1) << run;
    EXPECT_EQ(count("launches"), launches) << run;
  }
  const auto want = session.Run({x, Ramp({8, 8})});
  EXPECT_TRUE(session.ToHost(bound[0])->BitEqual((*want)[0]));
  EXPECT_TRUE(session.ToHost(bound[1])->BitEqual((*want)[1]));
}

// A tensor may lie where one was freed; a graph is not launched on memory that is gone.
TEST(Streams, TensorsAtOneAddressAfterAnother) {
  Program program = Make(kLayer);
  HostStream stream(Emulated());
  const HostTensor w = Ramp({8, 8});
  const DeviceTensor weights = OnDevice(program, w);
  for (int run = 0; run < 8; ++run) {
    const HostTensor x = Scaled(1 + run, {3, 8});
    HostTensor got(DType::kF32, {3, 8});
    {
      const auto outputs = program.RunOnDevice({OnDevice(program, x), weights}, On(stream));
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      stream.CopyOut(&got, (*outputs)[0].device_address());
    }
    stream.Synchronize();
    EXPECT_TRUE(got.BitEqual((*program.Run({x, w}))[0])) << run;
  }
}

// Memory for an output may be that of an input, and lie anywhere.
TEST(Streams, MemoryForOutputsMayBeThatOfInputs) {
  constexpr char kText[] = R"(
    func @main(%x: f32[8, 8]) -> (f32[8, 8], f32[8, 8], f32[8]) {
      %0 = exp(%x)
      %1 = permute(%x, dims=[1, 0])
      %2 = add(%0, %1)
      %3 = sum(%x, dim=[1])
      return %2, %1, %3
    })";
  Program program = Make(kText);
  HostStream stream(Emulated());
  const HostTensor x = Ramp({8, 8});
  const auto want = program.Run({x});
  ASSERT_TRUE(want.ok()) << want.status();
  const HostBlock block(Emulated(), 2048);
  // Where the input and the first output begin; they overlap.
  constexpr std::pair<int, int> kPlaces[] = {{0, 0}, {0, 64}, {64, 0}};
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    Emulated().emulation.seed(seed);
    const auto [from, to] = kPlaces[seed % 3];
    stream.CopyIn(block.address() + from, x);
    // The others lie at addresses that are no multiples of 64.
    const DeviceTensor bound[] = {Borrow(program, block.data(to), x),
                                  Borrow(program, block.data(1028), x),
                                  Borrow(program, block.data(1028 + 256 + 8), (*want)[2])};
    DeviceRunOptions options = On(stream);
    options.outputs = bound;
    const auto outputs = program.RunOnDevice({Borrow(program, block.data(from), x)}, options);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    for (size_t i = 0; i < outputs->size(); ++i) {
      HostTensor got((*want)[i].dtype(), (*want)[i].dims());
      stream.CopyOut(&got, (*outputs)[i].device_address());
      stream.Synchronize();
      EXPECT_TRUE(got.BitEqual((*want)[i])) << "seed " << seed << ", output " << i;
    }
  }
}

TEST(Streams, MemoryForOutputsIsChecked) {
  Program program = Make(kLayer);
  const HostTensor x = Ramp({3, 8});
  const DeviceTensor input = OnDevice(program, x);
  const DeviceTensor weights = OnDevice(program, Ramp({8, 8}));
  const auto error = [&](std::vector<DeviceTensor> bound) {
    DeviceRunOptions options;
    options.outputs = bound;
    return std::string(program.RunOnDevice({input, weights}, options).status().message());
  };
  EXPECT_THAT(error({OnDevice(program, Ramp({3, 7}))}),
              HasSubstr("output 0 is f32[3, 8], and the memory for it f32[3, 7]"));
  EXPECT_THAT(error({DeviceTensor(x)}),
              HasSubstr("the memory for output 0 is not that of the device"));
  const HostBlock block(Emulated(), 96);
  EXPECT_THAT(
      error({Borrow(program, block.data(), x), Borrow(program, block.data(84), Row({0, 0, 0}))}),
      HasSubstr("the memory for outputs 0 and 1 overlaps"));
  EXPECT_THAT(error({{}, {}, {}}), HasSubstr("memory for 3 outputs, and the program has 2"));
  EXPECT_EQ(error({{}, OnDevice(program, Row({0, 0, 0}))}), "");
}

// Inputs that steps cannot read where they lie, and empty ones without memory.
TEST(Streams, InputsLieAnywhere) {
  constexpr char kText[] = R"(
    func @main(%x: f32[n, 4], %y: f32[m]) -> (f32[n, 4], f32[m]) where 0 <= n, 0 <= m {
      %0 = exp(%x)
      %1 = neg(%y)
      return %0, %1
    })";
  Program program = Make(kText);
  HostStream stream(Emulated());
  const HostTensor x = Ramp({8, 4});
  const HostTensor none(DType::kF32, {0});
  const auto want = program.Run({x, none});
  ASSERT_TRUE(want.ok()) << want.status();
  const HostBlock block(Emulated(), 4 + 8 * 4 * 4);
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    Emulated().emulation.seed(seed);
    stream.CopyIn(block.address() + 4, x);
    const auto outputs = program.RunOnDevice(
        {Borrow(program, block.data(4), x), Borrow(program, nullptr, none)}, On(stream));
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    HostTensor got(DType::kF32, {8, 4});
    stream.CopyOut(&got, (*outputs)[0].device_address());
    stream.Synchronize();
    EXPECT_TRUE(got.BitEqual((*want)[0])) << seed;
    EXPECT_EQ((*outputs)[1].numel(), 0);
  }
}

// An input of the host has been read when the call returns, also if it is page-locked.
TEST(Streams, InputsOfTheHostMayChange) {
  Program program = Make(kLayer);
  HostStream stream(Emulated());
  const HostTensor w = Ramp({8, 8});
  const DeviceTensor weights = OnDevice(program, w);
  void* locked = nullptr;
  ASSERT_EQ(Emulated().driver.host_allocate(&locked, 96, kCuHostPortable), kCuSuccess);
  for (const bool is_locked : {false, true}) {
    for (unsigned seed = 0; seed < kSeeds; ++seed) {
      Emulated().emulation.seed(seed);
      HostTensor x(DType::kF32, {3, 8});
      if (is_locked) {
        x = *HostTensor::View(HostBuffer::Borrow(locked, 96), DType::kF32, {3, 8});
      }
      x.WriteDoubles(Ramp({3, 8}).ReadDoubles());
      const auto want = program.Run({x, w});
      const auto outputs = program.RunOnDevice({x, weights}, On(stream));
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      x.WriteDoubles(std::vector<double>(24, 7));
      HostTensor got(DType::kF32, {3, 8});
      stream.CopyOut(&got, (*outputs)[0].device_address());
      stream.Synchronize();
      EXPECT_TRUE(got.BitEqual((*want)[0])) << is_locked << seed;
    }
  }
  EXPECT_EQ(Emulated().driver.host_free(locked), kCuSuccess);
}

// A cache that each run adds a row to, whose sizes make variants.
constexpr char kCache[] = R"(
  func @main(%cache: f32[8, 4] {param="cache", initial=dense<0.0>}, %row: f32[n, 4],
             %scale: f32[4] {param="scale", initial=dense<[1.0, 2.0, 3.0, 4.0]>})
      -> (f32[4], f32[8, 4] {writes=%cache}) where 1 <= n, n <= 8 {
    %0 = sum(%row, dim=[0], keepdim=true)
    %1 = mul(%0, %scale)
    %2 = add(%cache, %1)
    %3 = sum(%2, dim=[0])
    return %3, %2
  })";

TEST(Streams, StateStaysOnTheDevice) {
  Program program = Make(kCache, Dynamic::kStatic);
  ProgramOptions options;
  auto reference = Program::Create(Parse(kCache), std::move(options));
  ASSERT_TRUE(reference.ok()) << reference.status();
  HostStream first(Emulated());
  HostStream second(Emulated());
  const HostBlock blocks[] = {{Emulated(), 3 * 4 * 4}, {Emulated(), 3 * 4 * 4}};
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    Emulated().emulation.seed(seed);
    std::vector<HostTensor> got;
    std::vector<HostTensor> want;
    for (int run = 0; run < 6; ++run) {
      // Variants alternate, and the stream changes once.
      HostStream& stream = run < 4 ? first : second;
      const HostBlock& block = blocks[run < 4 ? 0 : 1];
      const HostTensor row = Scaled(run + 1, {1 + run % 3, 4});
      stream.CopyIn(block.address(), row);
      const int64_t out = Calls("cuMemcpyDtoHAsync_v2");
      const auto outputs = program.RunOnDevice(
          {DeviceTensor(), Borrow(program, block.data(), row), DeviceTensor()}, On(stream));
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      EXPECT_EQ(Calls("cuMemcpyDtoHAsync_v2"), out);
      got.emplace_back(DType::kF32, std::vector<int64_t>{4});
      stream.CopyOut(&got.back(), (*outputs)[0].device_address());
      const auto expected = reference->Run({HostTensor(), row, HostTensor()});
      ASSERT_TRUE(expected.ok()) << expected.status();
      want.push_back((*expected)[0]);
    }
    second.Synchronize();
    for (size_t run = 0; run < want.size(); ++run) {
      EXPECT_EQ(Difference(got[run], want[run], {1e-5, 1e-5}), "") << seed << " " << run;
    }
    // The host sees what the device has, and goes on from there.
    ASSERT_TRUE(program.state("cache").has_value());
    EXPECT_EQ(Difference(*program.state("cache"), *reference->state("cache"), {1e-5, 1e-5}), "");
    const HostTensor row = Ramp({2, 4});
    const auto call = program.FunctionalCall(std::map<std::string, HostTensor>(), {{"row", row}});
    ASSERT_TRUE(call.ok()) << call.status();
    const auto both = program.Run({HostTensor(), row, HostTensor()});
    ASSERT_TRUE(both.ok()) << both.status();
    EXPECT_TRUE((*both)[0].BitEqual((*call)[0]));
    ASSERT_TRUE(reference->Run({HostTensor(), row, HostTensor()}).ok());
    EXPECT_EQ(Difference(*program.state("cache"), *reference->state("cache"), {1e-5, 1e-5}), "");
    if (seed % 3 != 2) continue;
    const HostTensor zero(DType::kF32, {8, 4});
    ASSERT_TRUE(program.SetState("cache", zero).ok());
    ASSERT_TRUE(reference->SetState("cache", zero).ok());
  }
}

// Tensors that outlive the program are freed in the order of the stream.
TEST(Streams, OutputsOutliveTheProgram) {
  const int64_t live = Emulated().emulation.counter("live_bytes");
  {
    HostStream stream(Emulated());
    const HostTensor x = Ramp({3, 8});
    for (unsigned seed = 0; seed < 3; ++seed) {
      Emulated().emulation.seed(seed);
      std::vector<DeviceTensor> outputs;
      HostTensor want;
      {
        Program program = Make(kLayer);
        want = (*program.Run({x, Ramp({8, 8})}))[0];
        auto made = program.RunOnDevice({x, Ramp({8, 8})}, On(stream));
        ASSERT_TRUE(made.ok()) << made.status();
        outputs = *std::move(made);
      }
      HostTensor got(DType::kF32, {3, 8});
      stream.CopyOut(&got, outputs[0].device_address());
      outputs.clear();
      stream.Synchronize();
      EXPECT_TRUE(got.BitEqual(want)) << seed;
    }
  }
  EXPECT_EQ(Emulated().emulation.counter("live_bytes"), live);
}

constexpr char kGather[] = R"(
  func @main(%table: f32[5], %i: i64[2]) -> f32[2] {
    %0 = index_select(%table, %i, dim=0)
    return %0
  })";

// An error of data comes with a later call, once, and names what it was about.
TEST(Streams, ErrorsComeLater) {
  Program program = Make(kGather);
  HostStream stream(Emulated());
  const DeviceTensor table = OnDevice(program, Row({1, 2, 3, 4, 5}));
  const DeviceTensor good = OnDevice(program, Ints({2}, {0, 4}));
  const DeviceTensor bad = OnDevice(program, Ints({2}, {0, 5}));
  const auto run = [&](const DeviceTensor& at) {
    return program.RunOnDevice({table, at}, On(stream)).status();
  };
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    Emulated().emulation.seed(seed);
    ASSERT_TRUE(run(good).ok());
    ASSERT_TRUE(run(bad).ok());
    ASSERT_TRUE(run(good).ok());
    const absl::Status late = program.Synchronize();
    EXPECT_EQ(late.code(), absl::StatusCode::kOutOfRange) << late;
    EXPECT_THAT(std::string(late.message()),
                AllOf(HasSubstr("in an earlier run: "), HasSubstr("an index is out of bounds")));
    EXPECT_TRUE(program.Synchronize().ok());
    // A call that finds the run done reports it, and so does one that waits.
    ASSERT_TRUE(run(bad).ok());
    stream.Synchronize();
    EXPECT_EQ(run(good).code(), absl::StatusCode::kOutOfRange);
    ASSERT_TRUE(run(bad).ok());
    EXPECT_EQ(program.RunOnDevice({table, good}).status().code(), absl::StatusCode::kOutOfRange);
    EXPECT_EQ(program.RunOnDevice({table, bad}).status().code(), absl::StatusCode::kOutOfRange);
    const auto right = program.RunOnDevice({table, good});
    ASSERT_TRUE(right.ok()) << right.status();
    EXPECT_THAT(OnHost(program, (*right)[0]).ReadDoubles(), ElementsAre(1, 5));
  }
}

// A run that writes state and may fail waits, so that an error leaves the state as it was.
TEST(Streams, AnErrorOfDataLeavesStateAsItWas) {
  constexpr char kText[] = R"(
    func @main(%p: f32[3] {param="p", initial=dense<[1.0, 2.0, 3.0]>}, %table: f32[5],
               %i: i64[2]) -> (f32[2], f32[3] {writes=%p}) {
      %0 = neg(%p)
      %1 = index_select(%table, %i, dim=0)
      return %1, %0
    })";
  Program program = Make(kText);
  HostStream stream(Emulated());
  const DeviceTensor table = OnDevice(program, Row({1, 2, 3, 4, 5}));
  for (int run = 0; run < 3; ++run) {
    const DeviceTensor good = OnDevice(program, Ints({2}, {0, 4}));
    const DeviceTensor bad = OnDevice(program, Ints({2}, {0, 5}));
    ASSERT_TRUE(program.RunOnDevice({DeviceTensor(), table, good}, On(stream)).ok());
    const auto refused = program.RunOnDevice({DeviceTensor(), table, bad}, On(stream));
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kOutOfRange) << refused.status();
    // A new value that is not stored in place.
    std::vector<DeviceTensor> inputs = {OnDevice(program, Row({7, 8, 9})), table, bad};
    EXPECT_EQ(program.RunOnDevice(&inputs, On(stream)).status().code(),
              absl::StatusCode::kOutOfRange);
    EXPECT_THAT(OnHost(program, inputs[0]).ReadDoubles(), ElementsAre(7, 8, 9));
  }
  EXPECT_THAT(program.state("p")->ReadDoubles(), ElementsAre(-1, -2, -3));
}

TEST(Streams, RefusedTensorsAndStreams) {
  Program program = Make(kLayer);
  const HostTensor x = Ramp({3, 8});
  const auto space = *program.device();
  HostTensor host = x;
  EXPECT_THAT(
      std::string(space->Borrow(host.raw(), DType::kF32, {3, 8}, nullptr).status().message()),
      HasSubstr("its address is not in the memory of a GPU"));
  EXPECT_EQ(space->dlpack_type(), 2);
  EXPECT_EQ(space->dlpack_id(), 0);
  HostStream stream(Emulated());
  const DriverApi& driver = Emulated().driver;
  ASSERT_EQ(driver.capture_begin(stream.get(), kCuCaptureThreadLocal), kCuSuccess);
  EXPECT_EQ(program.RunOnDevice({x, Ramp({8, 8})}, On(stream)).status().code(),
            absl::StatusCode::kFailedPrecondition);
  CuGraph graph = nullptr;
  ASSERT_EQ(driver.capture_end(stream.get(), &graph), kCuSuccess);
  driver.graph_destroy(graph);
  EXPECT_TRUE(program.RunOnDevice({x, Ramp({8, 8})}, On(stream)).ok());

  // A target that works in the host's memory.
  auto cpu = Program::Create(Parse(kLayer), [] {
    ProgramOptions options;
    options.target = "cpu";
    return options;
  }());
  ASSERT_TRUE(cpu.ok()) << cpu.status();
  EXPECT_EQ(*cpu->device(), nullptr);
  const auto want = cpu->Run({x, Ramp({8, 8})});
  const auto got = cpu->RunOnDevice({x, Ramp({8, 8})});
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_TRUE((*got)[0].host().BitEqual((*want)[0]));
  EXPECT_FALSE(cpu->RunOnDevice({x, Ramp({8, 8})}, On(stream)).ok());
  EXPECT_THAT(
      std::string(cpu->RunOnDevice({OnDevice(program, x), Ramp({8, 8})}).status().message()),
      HasSubstr("input 0 (x) is in the memory of a device"));
}

// Each call of the driver fails once; the next run is right.
TEST(Streams, FailuresOfTheDriver) {
  Program program = Make(kLayer);
  HostStream stream(Emulated());
  const HostTensor x = Ramp({3, 8});
  const DeviceTensor input = OnDevice(program, x);
  const DeviceTensor weights = OnDevice(program, Ramp({8, 8}));
  const auto want = program.Run({x, Ramp({8, 8})});
  ASSERT_TRUE(program.RunOnDevice({input, weights}, On(stream)).ok());
  stream.Synchronize();
  for (const char* call :
       {"cuStreamIsCapturing", "cuEventRecord", "cuStreamWaitEvent", "cuMemAllocFromPoolAsync"}) {
    for (unsigned count = 1; count <= 2; ++count) {
      Emulated().emulation.fail_at(call, count, kCuOutOfMemory);
      const bool failed = !program.RunOnDevice({input, weights}, On(stream)).ok();
      EXPECT_TRUE(failed || count > 1) << call;
      Emulated().emulation.fail_at("", 0, kCuSuccess);
      const auto got = program.RunOnDevice({input, weights}, On(stream));
      ASSERT_TRUE(got.ok()) << call << got.status();
      EXPECT_TRUE(OnHost(program, (*got)[0]).BitEqual((*want)[0])) << call;
    }
  }
}

}  // namespace
}  // namespace weft::cuda
