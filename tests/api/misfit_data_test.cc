// Data that does not fit: sizes and indices that are known only when it is there.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "tests/api/misfit_runs.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr char kCount[] = R"(
  func @main(%n: i64[], %x: f32[a], %one: f32[1]) {
    %0 = item(%n) : symint[u0]
    %1 = expand(%one, size=[u0])
    %2 = exp(%1)
    %3 = add(%2, %x) loc("here")
    %4 = exp(%3)
    return %4
  })";

TEST(MisfitOfData, IsRefusedWhenTheDataIsThere) {
  const auto model = Parse(kCount);
  for (const Way& way : kWays) {
    auto session = MakeSession(*model, way);
    ASSERT_TRUE(session.ok()) << way.name << ": " << session.status();
    std::vector<HostTensor> inputs = InputsOf(*model, "a=4");
    for (int64_t n : {4, 1}) {
      inputs[0] = HostTensor::ScalarInt(DType::kI64, n);
      EXPECT_TRUE(session->Run(inputs).ok()) << way.name << ": " << session->Run(inputs).status();
    }
    for (int64_t n : {6, 3, -2}) {
      inputs[0] = HostTensor::ScalarInt(DType::kI64, n);
      const Outputs outputs = session->Run(inputs);
      ASSERT_FALSE(outputs.ok()) << way.name << " takes " << n;
      EXPECT_EQ(outputs.status().code(), absl::StatusCode::kInvalidArgument) << outputs.status();
      EXPECT_THAT(std::string(outputs.status().message()), HasSubstr(absl::StrCat(n)));
    }
  }
  std::vector<HostTensor> inputs = InputsOf(*model, "a=4");
  inputs[0] = HostTensor::ScalarInt(DType::kI64, 6);
  const Outputs outputs = RunPlan(*model, inputs);
  ASSERT_FALSE(outputs.ok());
  EXPECT_THAT(std::string(outputs.status().message()),
              AllOf(HasSubstr("here"), HasSubstr("u0 = 6"), HasSubstr("a = 4 (input %x dim 0)")));
}

TEST(MisfitOfData, IndicesOutOfRangeAreRefused) {
  const auto model = Parse(R"(
    func @main(%x: f32[a, 3], %i: i64[b], %j: i64[a, 3]) {
      %0 = index_select(%x, %i, dim=0) loc("here")
      %1 = exp(%0)
      %2 = gather(%x, %j, dim=1) loc("here")
      %3 = exp(%2)
      return %1, %3
    })");
  for (const Way& way : kWays) {
    auto session = MakeSession(*model, way);
    ASSERT_TRUE(session.ok()) << way.name << ": " << session.status();
    std::vector<HostTensor> inputs = InputsOf(*model, "a=4 b=2");
    inputs[1] = HostTensor::FromInts(DType::kI64, {2}, {3, -4});
    EXPECT_TRUE(session->Run(inputs).ok()) << way.name << ": " << session->Run(inputs).status();
    for (int64_t index : {4, -5, 1 << 30}) {
      inputs[1] = HostTensor::FromInts(DType::kI64, {2}, {0, index});
      EXPECT_FALSE(session->Run(inputs).ok()) << way.name << " takes " << index;
    }
    inputs[1] = HostTensor::FromInts(DType::kI64, {2}, {0, 0});
    std::vector<int64_t> indices(12, 0);
    indices[7] = 3;
    inputs[2] = HostTensor::FromInts(DType::kI64, {4, 3}, indices);
    EXPECT_FALSE(session->Run(inputs).ok()) << way.name;
  }
}

// The kernel makes the numbers that it gathers from: no load would see the index.
TEST(MisfitOfData, IndicesOutOfRangeOfMadeNumbersAreRefused) {
  const auto model = Parse(R"(
    func @main(%i: i64[2], %j: i64[2]) {
      %2 = fused(%i, kind="pointwise") : i64[2] {
        body(%i: i64[2]) -> i64[2] {
          %0 = arange(start=0, end=5, dtype=i64) : i64[5]
          %1 = index_select(%0, %i, dim=0) : i64[2]
          %2 = neg(%1) : i64[2]
          return %2
        }
      }
      %c = constant(dense<1.5>) : f32[]
      %3 = expand(%c, size=[5])
      %4 = gather(%3, %j, dim=0) loc("here")
      %5 = exp(%4)
      return %2, %5
    })");
  for (const Way& way : kWays) {
    auto session = MakeSession(*model, way);
    ASSERT_TRUE(session.ok()) << way.name << ": " << session.status();
    const HostTensor fits = HostTensor::FromInts(DType::kI64, {2}, {4, 0});
    const HostTensor misfits = HostTensor::FromInts(DType::kI64, {2}, {0, 5});
    EXPECT_TRUE(session->Run({fits, fits}).ok()) << way.name << session->Run({fits, fits}).status();
    EXPECT_FALSE(session->Run({misfits, fits}).ok()) << way.name;
    EXPECT_FALSE(session->Run({fits, misfits}).ok()) << way.name;
  }
}

TEST(MisfitOfData, AssertsAreChecked) {
  const auto model = Parse(R"(
    func @main(%x: f32[a], %least: f32[]) {
      %0 = exp(%x)
      %1 = ge(%0, %least)
      %2 = all(%1)
      runtime_assert(%2, message="large enough") loc("here")
      return %0
    })");
  for (const Way& way : kWays) {
    auto session = MakeSession(*model, way);
    ASSERT_TRUE(session.ok()) << way.name << ": " << session.status();
    std::vector<HostTensor> inputs = InputsOf(*model, "a=5");
    inputs[1] = HostTensor::Scalar(DType::kF32, 0);
    EXPECT_TRUE(session->Run(inputs).ok()) << way.name << ": " << session->Run(inputs).status();
    inputs[1] = HostTensor::Scalar(DType::kF32, 1e9);
    const Outputs outputs = session->Run(inputs);
    ASSERT_FALSE(outputs.ok()) << way.name;
    EXPECT_THAT(std::string(outputs.status().message()), HasSubstr("large enough")) << way.name;
  }
}

// A composite's own check of its data outlives its decomposition.
TEST(MisfitOfData, LengthsOfSequencesBeyondTheInputAreRefused) {
  const auto model = Parse(R"(
    func @main(%x: f32[a, 2, 4], %w: f32[1, 5, 4], %r: f32[1, 5, 5], %n: i32[2]) {
      %0, %1 = rnn(%x, %w, %r, none, %n, none, hidden_size=5) loc("here")
      return %1
    })");
  for (const Way& way : kWays) {
    auto session = MakeSession(*model, way);
    ASSERT_TRUE(session.ok()) << way.name << ": " << session.status();
    for (int length : {0, 3}) {
      std::vector<HostTensor> inputs = InputsOf(*model, absl::StrCat("a=", length));
      inputs[3] = HostTensor::FromInts(DType::kI32, {2}, {length, 0});
      EXPECT_TRUE(session->Run(inputs).ok()) << way.name << ": " << session->Run(inputs).status();
      for (int wrong : {length + 1, -1}) {
        inputs[3] = HostTensor::FromInts(DType::kI32, {2}, {0, wrong});
        EXPECT_FALSE(session->Run(inputs).ok()) << way.name << " takes " << wrong;
      }
    }
  }
}

}  // namespace
}  // namespace weft
