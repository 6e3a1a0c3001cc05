// Runs whose tensors stay in the memory of the device.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/session.h"
#include "backends/runtime/device_tensor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/backends/cuda/emulated_program.h"

namespace weft::cuda {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const BackendOptions kOptions = {{"cuda-driver", "emulated"}, {"cuda-cublaslt", "none"}};

Session Make(const std::string& text, absl::string_view target = "cuda") {
  const BackendOptions none;
  auto session = Session::Create(Parse(text), target, target == "cuda" ? kOptions : none);
  EXPECT_TRUE(session.ok()) << session.status();
  return *std::move(session);
}

int64_t Count(const Session& session, const std::string& name) {
  return CounterOf(session.counters(), name);
}

// Calls of the driver so far.
int64_t Calls(const std::string& name) {
  return Emulated().emulation.counter(("calls " + name).c_str());
}

DeviceTensor OnDevice(const Session& session, const HostTensor& tensor) {
  auto made = session.ToDevice(tensor);
  EXPECT_TRUE(made.ok()) << made.status();
  return *std::move(made);
}

HostTensor OnHost(const Session& session, const DeviceTensor& tensor) {
  auto made = session.ToHost(tensor);
  EXPECT_TRUE(made.ok()) << made.status();
  return *std::move(made);
}

HostTensor Row(const std::vector<double>& values) {
  return HostTensor::FromDoubles(DType::kF32, {static_cast<int64_t>(values.size())}, values);
}

constexpr char kLayer[] = R"(
  func @main(%x: f32[n, 40], %w: f32[40, 40]) -> (f32[n, 40], f32[n]) where 1 <= n {
    %0 = matmul(%x, %w)
    %1 = tanh(%0)
    %4 = exp(%1)
    %2 = softmax(%4, dim=-1)
    %3 = sum(%2, dim=[1])
    return %2, %3
  })";

TEST(DeviceTensors, ChainWithoutCopies) {
  Session session = Make(kLayer);
  const HostTensor x = Ramp({7, 40});
  const HostTensor w = Ramp({40, 40});
  const auto first = session.Run({x, w});
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = session.Run({(*first)[0], w});
  ASSERT_TRUE(second.ok()) << second.status();

  const DeviceTensor weights = OnDevice(session, w);
  std::vector<DeviceTensor> values = {OnDevice(session, x)};
  const int64_t in = Calls("cuMemcpyHtoDAsync_v2");
  const int64_t out = Calls("cuMemcpyDtoHAsync_v2");
  for (int i = 0; i < 2; ++i) {
    auto got = session.RunOnDevice({values[0], weights});
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_FALSE((*got)[0].on_host());
    EXPECT_THAT((*got)[0].dims(), ElementsAre(7, 40));
    values = *std::move(got);
  }
  EXPECT_EQ(Calls("cuMemcpyHtoDAsync_v2"), in);
  EXPECT_EQ(Calls("cuMemcpyDtoHAsync_v2"), out);
  EXPECT_TRUE(OnHost(session, values[0]).BitEqual((*second)[0]));
  EXPECT_TRUE(OnHost(session, values[1]).BitEqual((*second)[1]));
}

// Steps are submitted as a graph as soon as the same tensors are met again; those that use an input
// leave it when that is another tensor.
TEST(DeviceTensors, AreRecordedWhereTheyLie) {
  Session session = Make(kLayer);
  const HostTensor w = Ramp({40, 40});
  const DeviceTensor weights = OnDevice(session, w);
  const HostTensor x[] = {Ramp({7, 40}), HostTensor(DType::kF32, {7, 40})};
  const DeviceTensor inputs[] = {OnDevice(session, x[0]), OnDevice(session, x[1])};
  // The graphs that a run on the input launches.
  const auto run = [&](int i) {
    const int64_t before = Count(session, "graph_launches");
    const auto got = session.RunOnDevice({inputs[i], weights});
    EXPECT_TRUE(got.ok()) << got.status();
    const int64_t launched = Count(session, "graph_launches") - before;
    const auto want = session.Run({x[i], w});
    for (size_t k = 0; k < got->size(); ++k) {
      EXPECT_TRUE(OnHost(session, (*got)[k]).BitEqual((*want)[k])) << k;
    }
    return launched;
  };
  EXPECT_EQ(run(0), 0);
  EXPECT_EQ(run(0), 1);
  EXPECT_EQ(run(0), 1);
  EXPECT_EQ(run(1), 0);
  EXPECT_EQ(run(1), 1);
  EXPECT_EQ(run(0), 1);
  EXPECT_EQ(run(1), 1);
}

TEST(DeviceTensors, MixWithTensorsOfTheHost) {
  Session session = Make(kLayer);
  const HostTensor x = Ramp({3, 40});
  const HostTensor w = Ramp({40, 40});
  const auto want = session.Run({x, w});
  const auto got = session.RunOnDevice({x, OnDevice(session, w)});
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_TRUE(OnHost(session, (*got)[0]).BitEqual((*want)[0]));
  const auto other = session.RunOnDevice({OnDevice(session, x), w});
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_TRUE(OnHost(session, (*other)[0]).BitEqual((*want)[0]));
}

// Outputs that are views, constants, inputs, and the same value twice have memory of their own.
TEST(DeviceTensors, OutputsHaveMemoryOfTheirOwn) {
  constexpr char kText[] = R"(
    func @main(%x: f32[4, 6]) -> (f32[6, 4], f32[4, 6], f32[3], f32[4, 6], f32[4, 6], f32[0]) {
      %0 = permute(%x, dims=[1, 0])
      %1 = constant(dense<[1.0, 2.0, 3.0]>) : f32[3]
      %2 = exp(%x)
      %3 = slice(%1, dim=0, start=3, end=3, step=1)
      return %0, %x, %1, %2, %2, %3
    })";
  Session session = Make(kText);
  const HostTensor x = Ramp({4, 6});
  const auto want = session.Run({x});
  ASSERT_TRUE(want.ok()) << want.status();
  const DeviceTensor input = OnDevice(session, x);
  const auto got = session.RunOnDevice({input});
  ASSERT_TRUE(got.ok()) << got.status();
  for (size_t i = 0; i < got->size(); ++i) {
    EXPECT_TRUE(OnHost(session, (*got)[i]).BitEqual((*want)[i])) << i;
    EXPECT_NE((*got)[i].memory(), input.memory()) << i;
    for (size_t j = 0; j < i; ++j) EXPECT_NE((*got)[i].memory(), (*got)[j].memory());
  }
}

TEST(DeviceTensors, SizesThatDependOnData) {
  constexpr char kText[] = R"(
    func @main(%x: f32[6], %n: symint[n]) -> (i64[u0, 1], symint[n], f32[6])
        where 0 <= u0, u0 <= 6, 0 <= n {
      %0 = nonzero(%x) : i64[u0, 1]
      %1 = exp(%x)
      return %0, %n, %1
    })";
  Session session = Make(kText);
  const HostTensor x = Row({0, 1, 0, 2, 3, 0});
  const HostTensor n = HostTensor::ScalarInt(DType::kI64, 4);
  const auto want = session.Run({x, n});
  ASSERT_TRUE(want.ok()) << want.status();
  const auto got = session.RunOnDevice({OnDevice(session, x), n});
  ASSERT_TRUE(got.ok()) << got.status();
  for (size_t i = 0; i < got->size(); ++i) {
    EXPECT_TRUE(OnHost(session, (*got)[i]).BitEqual((*want)[i])) << i;
  }
  EXPECT_TRUE((*got)[1].on_host());
  const auto refused = session.RunOnDevice({OnDevice(session, x), OnDevice(session, n)});
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("input 1 (n) is a size and has to be in the host's memory"));
}

// A cache that each run adds a row to, and a count of the runs that is the caller's.
constexpr char kCache[] = R"(
  func @main(%cache: f32[8, 4] {param="cache", initial=dense<0.0>}, %row: f32[1, 4],
             %at: i64[1, 4], %n: f32[1]) -> (f32[4], f32[8, 4] {writes=%cache}, f32[1] {writes=%n}) {
    %0 = scatter(%cache, %at, %row, dim=0)
    %1 = sum(%0, dim=[0])
    %2 = constant(dense<[1.0]>) : f32[1]
    %3 = add(%n, %2)
    return %1, %0, %3
  })";

HostTensor At(int row) { return Ints({1, 4}, std::vector<double>(4, row)); }

TEST(DeviceTensors, StateStaysOnTheDevice) {
  Session session = Make(kCache);
  Session reference = Make(kCache, "reference");
  std::vector<DeviceTensor> count = {OnDevice(session, Row({0}))};
  for (int step = 0; step < 4; ++step) {
    const HostTensor row = Ramp({1, 4});
    const HostTensor at = At(step);
    std::vector<DeviceTensor> inputs = {DeviceTensor(), row, at, std::move(count[0])};
    const auto got = session.RunOnDevice(&inputs);
    ASSERT_TRUE(got.ok()) << got.status();
    const auto want = reference.Run({HostTensor(), row, at, Row({0})});
    ASSERT_TRUE(want.ok()) << want.status();
    EXPECT_TRUE(OnHost(session, (*got)[0]).BitEqual((*want)[0])) << step;
    count = {std::move(inputs[3])};
    EXPECT_FALSE(inputs[0].valid());
  }
  EXPECT_THAT(OnHost(session, count[0]).ReadDoubles(), ElementsAre(4));
  // The host sees the value that the device has, and its runs go on from there.
  ASSERT_NE(session.state("cache"), nullptr);
  EXPECT_TRUE(session.state("cache")->BitEqual(*reference.state("cache")));
  const HostTensor at = At(6);
  const std::vector<HostTensor> more = {HostTensor(), Ramp({1, 4}), at, Row({0})};
  ASSERT_TRUE(session.Run(more).ok());
  ASSERT_TRUE(reference.Run(more).ok());
  EXPECT_TRUE(session.state("cache")->BitEqual(*reference.state("cache")));
  ASSERT_TRUE(session.SetState("cache", HostTensor(DType::kF32, {8, 4})).ok());
  const auto zero =
      session.RunOnDevice({DeviceTensor(), HostTensor(DType::kF32, {1, 4}), at, Row({0})});
  ASSERT_TRUE(zero.ok()) << zero.status();
  EXPECT_THAT(OnHost(session, (*zero)[0]).ReadDoubles(), ElementsAre(0, 0, 0, 0));
}

// A parameter that moves against a gradient, as kStep of session_in_place_test.
constexpr char kStep[] = R"(
  func @main(%p: f32[3] {param="p", initial=dense<[1.0, 2.0, 3.0]>}, %g: f32[3],
             %n: f32[3]) -> (f32[3], f32[3] {writes=%p}, f32[3] {writes=%n}) {
    %0 = sub(%p, %g)
    %1 = constant(dense<[1.0, 1.0, 1.0]>) : f32[3]
    %2 = add(%n, %1)
    %3 = neg(%0)
    return %3, %0, %2
  })";

TEST(DeviceTensors, NewValuesAreStoredInPlace) {
  Session session = Make(kStep);
  std::vector<DeviceTensor> inputs = {DeviceTensor(), Row({1, 0.5, -1}),
                                      OnDevice(session, Row({0, 0, 0}))};
  const DeviceMemory* const place = inputs[2].memory().get();
  const int64_t out = Calls("cuMemcpyDtoHAsync_v2");
  for (int step = 1; step <= 3; ++step) {
    const auto got = session.RunOnDevice(&inputs);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(Calls("cuMemcpyDtoHAsync_v2"), out);
    EXPECT_EQ(Count(session, "in_place_writes"), 2);
    EXPECT_EQ(inputs[2].memory().get(), place);
  }
  EXPECT_THAT(OnHost(session, inputs[2]).ReadDoubles(), ElementsAre(3, 3, 3));
  EXPECT_THAT(session.state("p")->ReadDoubles(), ElementsAre(-2, 0.5, 6));

  // Not where another tensor is on the memory, or the caller keeps its tensors.
  const DeviceTensor held = inputs[2];
  ASSERT_TRUE(session.RunOnDevice(&inputs).ok());
  EXPECT_EQ(Count(session, "in_place_writes"), 1);
  EXPECT_THAT(OnHost(session, held).ReadDoubles(), ElementsAre(3, 3, 3));
  EXPECT_THAT(OnHost(session, inputs[2]).ReadDoubles(), ElementsAre(4, 4, 4));
  const std::vector<DeviceTensor> fixed = {DeviceTensor(), Row({0, 0, 0}),
                                           OnDevice(session, Row({7, 7, 7}))};
  ASSERT_TRUE(session.RunOnDevice(fixed).ok());
  EXPECT_THAT(OnHost(session, fixed[2]).ReadDoubles(), ElementsAre(7, 7, 7));
  const DeviceTensor shared = fixed[2];
  EXPECT_THAT(std::string(session.RunOnDevice({DeviceTensor(), shared, shared}).status().message()),
              HasSubstr("inputs \"g\" and \"n\" share memory"));
}

// The index is found to be wrong on the device, before the write that it must not happen with.
TEST(DeviceTensors, AnErrorOfDataLeavesThemAsTheyWere) {
  constexpr char kText[] = R"(
    func @main(%p: f32[3] {param="p", initial=dense<[1.0, 2.0, 3.0]>}, %table: f32[5],
               %i: i64[2]) -> (f32[2], f32[3] {writes=%p}) {
      %0 = neg(%p)
      %1 = index_select(%table, %i, dim=0)
      return %1, %0
    })";
  Session session = Make(kText);
  const DeviceTensor table = OnDevice(session, Row({1, 2, 3, 4, 5}));
  const DeviceTensor good = OnDevice(session, Ints({2}, {0, 4}));
  const DeviceTensor bad = OnDevice(session, Ints({2}, {0, 5}));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(session.RunOnDevice({DeviceTensor(), table, good}).ok());
    EXPECT_EQ(Count(session, "in_place_writes"), 1);
    const auto refused = session.RunOnDevice({DeviceTensor(), table, bad});
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kOutOfRange) << refused.status();
  }
  EXPECT_THAT(session.state("p")->ReadDoubles(), ElementsAre(-1, -2, -3));
}

// Keys and values of tokens are put at their positions, by each of the ways that there are for one,
// some and many. A wrong position is found by the first of the two updates, before anything is
// written, and also before kernels behind it write.
TEST(DeviceTensors, CachesAreUpdatedInPlace) {
  constexpr char kText[] = R"(
    func @main(%k: f32[2, 400, 3] {param="k", initial=dense<0.0>},
               %v: f32[2, 400, 3] {param="v", initial=dense<0.0>},
               %n: f32[3] {param="n", initial=dense<0.0>}, %i: i64[t], %x: f32[2, t, 3])
        -> (f32[2, 400, 3] {writes=%k}, f32[2, 400, 3] {writes=%v}, f32[3] {writes=%n})
        where 1 <= t {
      %0 = reshape(%i, size=[1, t, 1])
      %at = expand(%0, size=[2, t, 3])
      %1 = scatter(%k, %at, %x, dim=1)
      %7 = neg(%x)
      %2 = scatter(%v, %at, %7, dim=1)
      %3 = slice(%1, dim=0, start=0, end=1)
      %6 = slice(%3, dim=1, start=0, end=1)
      %4 = reshape(%6, size=[3])
      %5 = add(%n, %4)
      return %1, %2, %5
    })";
  Session session = Make(kText);
  const auto run = [&](const std::vector<double>& at, double value) {
    const auto t = static_cast<int64_t>(at.size());
    const HostTensor x =
        HostTensor::FromDoubles(DType::kF32, {2, t, 3}, std::vector<double>(6 * t, value));
    const absl::Status status =
        session
            .RunOnDevice({DeviceTensor(), DeviceTensor(), DeviceTensor(),
                          OnDevice(session, Ints({t}, at)), OnDevice(session, x)})
            .status();
    EXPECT_EQ(Count(session, "in_place_writes"), 3);
    return status;
  };
  const auto state = [&](const char* name) { return session.state(name)->ReadDoubles(); };
  double sum = 0;
  for (const int64_t tokens : {1, 20, 300}) {
    std::vector<double> at(tokens);
    for (int64_t i = 0; i < tokens; ++i) at[i] = static_cast<double>(i) - 1;
    at[0] = 0;
    sum += static_cast<double>(tokens);
    ASSERT_TRUE(run(at, static_cast<double>(tokens)).ok());
    std::vector<double> keys = state("k"), values = state("v");
    EXPECT_EQ(std::count(keys.begin(), keys.end(), tokens), 6 * std::max<int64_t>(1, tokens - 1));
    EXPECT_EQ(std::count(values.begin(), values.end(), -tokens),
              6 * std::max<int64_t>(1, tokens - 1));
    at.back() = 400;
    for (int i = 0; i < 2; ++i) EXPECT_EQ(run(at, 9).code(), absl::StatusCode::kOutOfRange);
    // Another run shows what is on the device.
    ASSERT_TRUE(run(std::vector<double>(tokens, 399), 5).ok());
    sum += static_cast<double>(tokens);
    for (const int64_t last : {399 * 3, 799 * 3}) {
      std::fill_n(keys.begin() + last, 3, 5);
      std::fill_n(values.begin() + last, 3, -5);
    }
    EXPECT_EQ(state("k"), keys);
    EXPECT_EQ(state("v"), values);
    EXPECT_THAT(state("n"), ElementsAre(sum, sum, sum));
  }
}

TEST(DeviceTensors, OutliveTheSessionAndAreSharedByOthers) {
  const int64_t live = Emulated().emulation.counter("live_bytes");
  {
    DeviceTensor weights;
    DeviceTensor made;
    HostTensor want;
    {
      Session session = Make(kLayer);
      weights = OnDevice(session, Ramp({40, 40}));
      const auto got = session.RunOnDevice({OnDevice(session, Ramp({2, 40})), weights});
      ASSERT_TRUE(got.ok()) << got.status();
      made = (*got)[0];
      want = OnHost(session, made);
    }
    Session other = Make(kLayer);
    EXPECT_TRUE(OnHost(other, made).BitEqual(want));
    const auto got = other.RunOnDevice({made, weights});
    ASSERT_TRUE(got.ok()) << got.status();
    const auto again = other.Run({want, Ramp({40, 40})});
    EXPECT_TRUE(OnHost(other, (*got)[0]).BitEqual((*again)[0]));
  }
  EXPECT_EQ(Emulated().emulation.counter("live_bytes"), live);
}

TEST(DeviceTensors, OnATargetWithoutADevice) {
  Session session = Make(kStep, "cpu");
  std::vector<DeviceTensor> inputs = {DeviceTensor(), Row({1, 0.5, -1}),
                                      OnDevice(session, Row({0, 0, 0}))};
  const uint8_t* const place = inputs[2].host().raw();
  for (int step = 1; step <= 3; ++step) {
    const auto got = session.RunOnDevice(&inputs);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_TRUE((*got)[0].on_host());
    EXPECT_EQ(inputs[2].host().raw(), place);
  }
  EXPECT_THAT(OnHost(session, inputs[2]).ReadDoubles(), ElementsAre(3, 3, 3));
  EXPECT_THAT(session.state("p")->ReadDoubles(), ElementsAre(-2, 0.5, 6));
  Session device = Make(kStep);
  inputs[1] = OnDevice(device, Row({1, 1, 1}));
  EXPECT_THAT(std::string(session.RunOnDevice(&inputs).status().message()),
              HasSubstr("input 1 (g) is in the memory of a device"));
}

// Each call of the driver fails once; the next run is right, and no memory is lost.
TEST(DeviceTensors, FailuresOfTheDriver) {
  Session session = Make(kStep);
  const HostTensor g = Row({1, 1, 1});
  const DeviceTensor n = OnDevice(session, Row({5, 5, 5}));
  // The state does not get to the device.
  std::vector<DeviceTensor> inputs = {DeviceTensor(), g, n};
  Emulated().emulation.fail_at("cuMemAllocFromPoolAsync", 1, kCuOutOfMemory);
  EXPECT_EQ(session.RunOnDevice(&inputs).status().code(), absl::StatusCode::kResourceExhausted);
  Emulated().emulation.fail_at("", 0, kCuSuccess);
  EXPECT_FALSE(inputs[0].valid());
  ASSERT_TRUE(session.RunOnDevice(&inputs).ok());
  EXPECT_FALSE(inputs[0].valid());
  EXPECT_THAT(session.state("p")->ReadDoubles(), ElementsAre(0, 1, 2));
  ASSERT_TRUE(session.RunOnDevice({DeviceTensor(), g, n}).ok());
  const int64_t live = Emulated().emulation.counter("live_bytes");
  for (const char* call : {"cuMemAllocFromPoolAsync", "cuLaunchKernel", "cuMemcpyHtoDAsync_v2"}) {
    Emulated().emulation.fail_at(call, 1, kCuOutOfMemory);
    EXPECT_FALSE(session.RunOnDevice({DeviceTensor(), g, n}).ok()) << call;
    Emulated().emulation.fail_at("", 0, kCuSuccess);
    EXPECT_EQ(Emulated().emulation.counter("live_bytes"), live) << call;
    const auto got = session.RunOnDevice({DeviceTensor(), g, n});
    ASSERT_TRUE(got.ok()) << call << got.status();
  }
  EXPECT_THAT(OnHost(session, n).ReadDoubles(), ElementsAre(5, 5, 5));
}

}  // namespace
}  // namespace weft::cuda
