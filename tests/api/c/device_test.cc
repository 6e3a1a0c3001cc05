// Tensors in the memory of a GPU, through the C interface, on the emulated driver.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/c/weft.h"
#include "backends/cuda/driver/libraries.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/api/c/weft_api.h"
#include "tests/backends/cuda/host_stream.h"

namespace weft_api_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using weft::HostTensor;
using weft::cuda::CuAddress;
using weft::cuda::HostBlock;
using weft::cuda::HostStream;

constexpr weft_dl_device kHost = {1, 0};
constexpr weft_dl_device kGpu = {2, 0};
constexpr unsigned kSeeds = 12;

const weft::cuda::Libraries& Emulated() {
  static const weft::cuda::Libraries& libraries = *[] {
    auto opened = weft::cuda::OpenLibraries("emulated", "");
    EXPECT_TRUE(opened.ok()) << opened.status();
    return *opened;
  }();
  return libraries;
}

Program OnGpu(const std::string& text) {
  const weft_option options[] = {{"cuda-driver", "emulated"}, {"cuda-cublaslt", "none"}};
  weft_program_options program = {sizeof program};
  program.target = "cuda";
  program.dynamic = "symbolic";
  program.options = options;
  program.num_options = 2;
  return Create(Parse(text), &program);
}

// The tensor as one at an address of the GPU.
weft_tensor At(const weft_tensor& like, CuAddress address) {
  weft_tensor tensor = like;
  tensor.data = reinterpret_cast<void*>(address);
  tensor.device = kGpu;
  return tensor;
}

weft_run_options On(const HostStream& stream) {
  weft_run_options options = {sizeof options};
  options.ordered = 1;
  options.stream = stream.get();
  return options;
}

Output Copy(const Program& program, const weft_tensor& tensor, weft_dl_device device) {
  weft_managed_tensor* copy = nullptr;
  EXPECT_FINE(Weft().program_copy_tensor(program.get(), &tensor, device, &copy));
  return Output(copy);
}

Error DeviceError(const Program& program, const weft_run_options* options,
                  std::vector<const weft_tensor*> inputs) {
  weft_managed_tensor* output = reinterpret_cast<weft_managed_tensor*>(&output);
  Error error = Take(Weft().program_run_on_device(program.get(), options, inputs.data(),
                                                  inputs.size(), &output, 1));
  EXPECT_EQ(output, nullptr);
  return error;
}

HostTensor Row(const std::vector<double>& values) {
  return HostTensor::FromDoubles(weft::DType::kF32, {static_cast<int64_t>(values.size())}, values);
}

TEST(WeftDeviceTest, ProgramsHaveADevice) {
  weft_dl_device device = {7, 7};
  ASSERT_FINE(Weft().program_device(OnGpu(kDouble).get(), &device));
  EXPECT_EQ(device.type, 2);
  EXPECT_EQ(device.id, 0);
  ASSERT_FINE(Weft().program_device(Create(Parse(kDouble)).get(), &device));
  EXPECT_EQ(device.type, 1);
  EXPECT_EQ(Take(Weft().program_device(nullptr, &device)).code, WEFT_INVALID_ARGUMENT);
}

// Inputs and outputs lie on the GPU; the run is ordered behind the copy of the input, and the copy
// of the output behind the run, although the output is deleted at once.
TEST(WeftDeviceTest, RunsAreOrderedWithTheStream) {
  const Program program = OnGpu(kDouble);
  HostStream stream(Emulated());
  const HostBlock block(Emulated(), 24);
  const auto x = F32({2, 3}, {1, 2, 3, 4, 5, 6});
  const weft_tensor on_gpu = At(x->tensor, block.address());
  const weft_run_options options = On(stream);
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    Emulated().emulation.seed(seed);
    for (int run = 1; run <= 3; ++run) {
      std::vector<double> values;
      for (const float value : x->data) values.push_back(run * value);
      stream.CopyIn(block.address(), Row(values));
      const weft_tensor* input = &on_gpu;
      weft_managed_tensor* made = nullptr;
      ASSERT_FINE(Weft().program_run_on_device(program.get(), &options, &input, 1, &made, 1));
      EXPECT_EQ(made->version_major, 1U);
      EXPECT_EQ(made->tensor.device.type, 2);
      EXPECT_EQ(made->tensor.byte_offset, 0U);
      EXPECT_EQ(Shape(Output(made)), (std::vector<int64_t>{2, 3}));
      // That has deleted it; the GPU may not have run the program yet.
      HostTensor got = Row({0, 0, 0, 0, 0, 0});
      weft_managed_tensor* again = nullptr;
      ASSERT_FINE(Weft().program_run_on_device(program.get(), &options, &input, 1, &again, 1));
      stream.CopyOut(&got, again->tensor.data);
      again->deleter(again);
      stream.Synchronize();
      for (double& value : values) value *= 2;
      EXPECT_EQ(got.ReadDoubles(), values) << seed;
    }
  }
  EXPECT_FINE(Weft().program_synchronize(program.get()));
}

// Tensors of Weft are freed in the order of the stream of the run that used them last.
TEST(WeftDeviceTest, InputsMayBeDeletedAtOnce) {
  const Program program = OnGpu(kDouble);
  HostStream stream(Emulated());
  const auto x = F32({2, 3}, {1, 2, 3, 4, 5, 6});
  const weft_run_options options = On(stream);
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    Emulated().emulation.seed(seed);
    Output on_gpu = Copy(program, x->tensor, kGpu);
    for (int run = 0; run < 3; ++run) {
      const weft_tensor* input = &on_gpu->tensor;
      weft_managed_tensor* made = nullptr;
      ASSERT_FINE(Weft().program_run_on_device(program.get(), &options, &input, 1, &made, 1));
      on_gpu.reset(made);
    }
    HostTensor got = Row({0, 0, 0, 0, 0, 0});
    stream.CopyOut(&got, on_gpu->tensor.data);
    on_gpu.reset();
    stream.Synchronize();
    EXPECT_THAT(got.ReadDoubles(), ElementsAre(8, 16, 24, 32, 40, 48)) << seed;
  }
}

TEST(WeftDeviceTest, ResultsGoWhereTheCallerSays) {
  const Program program = OnGpu(kDouble);
  HostStream stream(Emulated());
  const HostBlock in(Emulated(), 24);
  const HostBlock out(Emulated(), 24);
  const auto x = F32({2, 3}, {1, 2, 3, 4, 5, 6});
  const weft_tensor from = At(x->tensor, in.address());
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    Emulated().emulation.seed(seed);
    // The second run writes over its input.
    for (const CuAddress address : {out.address(), in.address()}) {
      const weft_tensor to = At(x->tensor, address);
      const weft_tensor* input = &from;
      const weft_tensor* result = &to;
      weft_run_options options = On(stream);
      options.results = &result;
      options.num_results = 1;
      stream.CopyIn(in.address(), Row({1, 2, 3, 4, 5, 6}));
      weft_managed_tensor* none = nullptr;
      ASSERT_FINE(Weft().program_run_on_device(program.get(), &options, &input, 1, &none, 1));
      EXPECT_EQ(none, nullptr);
      HostTensor got = Row({0, 0, 0, 0, 0, 0});
      stream.CopyOut(&got, to.data);
      stream.Synchronize();
      EXPECT_THAT(got.ReadDoubles(), ElementsAre(2, 4, 6, 8, 10, 12)) << seed;
    }
  }
}

TEST(WeftDeviceTest, TensorsOfTheHostAreCopied) {
  const Program program = OnGpu(R"(
func @main(%x: f32[s0], %y: f32[s0]) -> (%z: f32[s0]) {
  %z = sub(%x, %y)
  return %z
})");
  const auto x = F32({2}, {5, 7});
  auto y = F32({2}, {1, 2});
  const Output on_gpu = Copy(program, x->tensor, kGpu);
  ASSERT_NE(on_gpu, nullptr);
  // Page-locked memory is memory of the host, too.
  for (const int32_t type : {1, 3}) {
    y->tensor.device.type = type;
    const weft_tensor* inputs[] = {&on_gpu->tensor, &y->tensor};
    weft_managed_tensor* made = nullptr;
    ASSERT_FINE(Weft().program_run_on_device(program.get(), nullptr, inputs, 2, &made, 1));
    const Output output(made);
    EXPECT_THAT(Read(Copy(program, output->tensor, kHost)), ElementsAre(4, 5));
  }
}

TEST(WeftDeviceTest, ErrorsNameTheTensor) {
  const Program program = OnGpu(kDouble);
  const auto x = F32({2, 3}, {1, 2, 3, 4, 5, 6});
  const HostBlock block(Emulated(), 64);
  weft_tensor bad = At(x->tensor, block.address());
  bad.device.id = 1;
  EXPECT_EQ(DeviceError(program, nullptr, {&bad}).message,
            "tensor for \"x\": it is on device (2, 1); the program's is (2, 0)");
  bad = x->tensor;
  bad.device = kGpu;
  EXPECT_EQ(DeviceError(program, nullptr, {&bad}).message,
            "tensor for \"x\": its address is not in the memory of a GPU");
  bad = At(x->tensor, block.address());
  int64_t strides[] = {1, 2};
  bad.strides = strides;
  EXPECT_EQ(DeviceError(program, nullptr, {&bad}).message,
            "tensor for \"x\": it is not dense, as tensors on a device have to be");
  EXPECT_EQ(DeviceError(program, nullptr, {nullptr}).message, "no tensor for \"x\"");
  EXPECT_THAT(DeviceError(program, nullptr, {}).message, HasSubstr("takes 1 inputs, got 0"));
  const weft_tensor* result = &x->tensor;
  weft_run_options options = {sizeof options};
  options.results = &result;
  options.num_results = 1;
  const weft_tensor good = At(x->tensor, block.address());
  EXPECT_THAT(DeviceError(program, &options, {&good}).message,
              HasSubstr("the memory for output 0 is not that of the device"));
  // Programs that work in the host's memory.
  const Program cpu = Create(Parse(kDouble));
  EXPECT_EQ(DeviceError(cpu, nullptr, {&good}).message,
            "tensor for \"x\": it is on device (2, 0); the program's is (1, 0)");
  weft_run_options ordered = {sizeof ordered};
  ordered.ordered = 1;
  EXPECT_EQ(DeviceError(cpu, &ordered, {&x->tensor}).code, WEFT_INVALID_ARGUMENT);
  weft_managed_tensor* made = nullptr;
  const weft_tensor* input = &x->tensor;
  ASSERT_FINE(Weft().program_run_on_device(cpu.get(), nullptr, &input, 1, &made, 1));
  EXPECT_THAT(Read(Output(made)), ElementsAre(2, 4, 6, 8, 10, 12));
  EXPECT_THAT(RunError(program, &good).message,
              HasSubstr("tensor for \"x\": it is on a device of type 2"));
}

TEST(WeftDeviceTest, StateStaysOnTheDevice) {
  const Program program = OnGpu(R"(
func @main(%x: f32[2], %sum: f32[2] {param="sum", initial=dense<0.0>})
    -> (f32[2], f32[2] {writes=%sum}) {
  %y = add(%x, %sum)
  return %y, %y
})");
  const auto x = F32({2}, {5, 7});
  const Output on_gpu = Copy(program, x->tensor, kGpu);
  weft_run_options options = {sizeof options};
  options.ordered = 1;  // In the default stream.
  const int64_t copies = Emulated().emulation.counter("calls cuMemcpyDtoHAsync_v2");
  for (int run = 0; run < 4; ++run) {
    const weft_tensor* inputs[] = {&on_gpu->tensor, nullptr};
    weft_managed_tensor* made = nullptr;
    ASSERT_FINE(Weft().program_run_on_device(program.get(), &options, inputs, 2, &made, 1));
    made->deleter(made);
  }
  EXPECT_EQ(Emulated().emulation.counter("calls cuMemcpyDtoHAsync_v2"), copies);
  weft_managed_tensor* state = nullptr;
  ASSERT_FINE(Weft().program_state(program.get(), "sum", &state));
  EXPECT_THAT(Read(Output(state)), ElementsAre(20, 28));
}

TEST(WeftDeviceTest, ErrorsComeLater) {
  const Program program = OnGpu(R"(
func @main(%table: f32[3], %i: i64[2]) -> (%y: f32[2]) {
  %y = index_select(%table, %i, dim=0)
  return %y
})");
  const auto table = F32({3}, {1, 2, 3});
  const auto i =
      std::make_unique<Given<int64_t>>(kI64, std::vector<int64_t>{2}, std::vector<int64_t>{0, 3});
  HostStream stream(Emulated());
  const weft_run_options options = On(stream);
  const weft_tensor* inputs[] = {&table->tensor, &i->tensor};
  weft_managed_tensor* made = nullptr;
  ASSERT_FINE(Weft().program_run_on_device(program.get(), &options, inputs, 2, &made, 1));
  made->deleter(made);
  const Error late = Take(Weft().program_synchronize(program.get()));
  EXPECT_EQ(late.code, WEFT_OUT_OF_RANGE);
  EXPECT_EQ(late.function, "program_synchronize");
  EXPECT_THAT(late.message,
              AllOf(HasSubstr("in an earlier run: "), HasSubstr("an index is out of bounds")));
  EXPECT_FINE(Weft().program_synchronize(program.get()));
}

}  // namespace
}  // namespace weft_api_test
