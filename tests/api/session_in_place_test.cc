// Memory that sessions of the target "cpu" overwrite, and memory that they do not.
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/session.h"
#include "base/host_buffer.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/ops/registry.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Session Make(const char* text, absl::string_view target = "cpu") {
  auto module = ParseModule(text, ops::Registry());
  EXPECT_TRUE(module.ok()) << module.status();
  auto session = Session::Create(*std::move(module), target);
  EXPECT_TRUE(session.ok()) << session.status();
  return *std::move(session);
}

HostTensor Row(std::vector<double> values) {
  return HostTensor::FromDoubles(DType::kF32, {static_cast<int64_t>(values.size())}, values);
}

// A parameter that moves against the gradient, with a count of the steps.
constexpr char kStep[] = R"(
  func @main(%p: f32[3] {param="p", initial=dense<[1.0, 2.0, 3.0]>}, %g: f32[3],
             %n: f32[3]) -> (f32[3], f32[3] {writes=%p}, f32[3] {writes=%n}) {
    %0 = sub(%p, %g)
    %1 = constant(dense<[1.0, 1.0, 1.0]>) : f32[3]
    %2 = add(%n, %1)
    %3 = neg(%0)
    return %3, %0, %2
  })";

TEST(SessionInPlace, StateIsUpdatedWhereItLies) {
  Session session = Make(kStep);
  Session reference = Make(kStep, "reference");
  const uint8_t* place = nullptr;
  for (int step = 1; step <= 4; ++step) {
    std::vector<HostTensor> inputs = {HostTensor(), Row({1, 0.5, -1}), Row({0, 0, 0})};
    const auto got = session.Run(&inputs);
    ASSERT_TRUE(got.ok()) << got.status();
    const auto want = reference.Run({HostTensor(), Row({1, 0.5, -1}), Row({0, 0, 0})});
    EXPECT_TRUE((*got)[0].BitEqual((*want)[0]));
    EXPECT_TRUE(session.state("p")->BitEqual(*reference.state("p")));
    EXPECT_THAT(inputs[2].ReadDoubles(), ElementsAre(1, 1, 1));
    EXPECT_FALSE(inputs[0].valid());
    // The first value is the module's.
    EXPECT_EQ(session.state("p")->raw() == place, step > 1);
    place = session.state("p")->raw();
  }
}

TEST(SessionInPlace, ACopyOfTheStateKeepsItsValue) {
  Session session = Make(kStep);
  const std::vector<HostTensor> inputs = {HostTensor(), Row({1, 1, 1}), Row({0, 0, 0})};
  ASSERT_TRUE(session.Run(inputs).ok());
  const HostTensor kept = *session.state("p");
  ASSERT_TRUE(session.Run(inputs).ok());
  EXPECT_THAT(kept.ReadDoubles(), ElementsAre(0, 1, 2));
  EXPECT_THAT(session.state("p")->ReadDoubles(), ElementsAre(-1, 0, 1));
}

TEST(SessionInPlace, TensorsThatAreTheCallersAloneAreWrittenOver) {
  Session session = Make(kStep);
  std::vector<HostTensor> inputs = {Row({5, 5, 5}), Row({1, 2, 3}), Row({0, 0, 0})};
  const uint8_t* const place[] = {inputs[0].raw(), inputs[1].raw(), inputs[2].raw()};
  ASSERT_TRUE(session.Run(&inputs).ok());
  EXPECT_THAT(inputs[0].ReadDoubles(), ElementsAre(4, 3, 2));
  EXPECT_THAT(inputs[1].ReadDoubles(), ElementsAre(1, 2, 3));
  EXPECT_THAT(inputs[2].ReadDoubles(), ElementsAre(1, 1, 1));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(inputs[i].raw(), place[i]) << i;
  std::map<std::string, HostTensor> named = {
      {"p", inputs[0]}, {"g", Row({1, 2, 3})}, {"n", Row({0, 0, 0})}};
  const uint8_t* n = named["n"].raw();
  ASSERT_TRUE(session.Run(&named).ok());
  EXPECT_EQ(named["n"].raw(), n);
  EXPECT_THAT(named["n"].ReadDoubles(), ElementsAre(1, 1, 1));
  // Two tensors were on it.
  EXPECT_THAT(inputs[0].ReadDoubles(), ElementsAre(4, 3, 2));
  EXPECT_THAT(named["p"].ReadDoubles(), ElementsAre(3, 1, -1));
}

TEST(SessionInPlace, MemoryOfOthersIsLeftAlone) {
  Session session = Make(kStep);
  float values[] = {5, 5, 5};
  const auto borrowed =
      HostTensor::View(HostBuffer::Borrow(values, sizeof values), DType::kF32, {3});
  const HostTensor p = Row({7, 7, 7});
  std::vector<HostTensor> inputs = {p, Row({1, 1, 1}), *borrowed};
  ASSERT_TRUE(session.Run(&inputs).ok());
  EXPECT_THAT(p.ReadDoubles(), ElementsAre(7, 7, 7));
  EXPECT_THAT(values, ElementsAre(5, 5, 5));
  EXPECT_THAT(inputs[0].ReadDoubles(), ElementsAre(6, 6, 6));
  EXPECT_THAT(inputs[2].ReadDoubles(), ElementsAre(6, 6, 6));
  // A run without a pointer overwrites nothing of the caller.
  const std::vector<HostTensor> fixed = {Row({1, 1, 1}), Row({1, 1, 1}), Row({0, 0, 0})};
  ASSERT_TRUE(session.Run(fixed).ok());
  EXPECT_THAT(fixed[0].ReadDoubles(), ElementsAre(1, 1, 1));
  // Gaps between the elements.
  const HostTensor wide = Row({1, 9, 2, 9, 3, 9});
  std::vector<HostTensor> apart = {*HostTensor::View(wide.buffer(), DType::kF32, {3}, {2}),
                                   Row({1, 1, 1}), Row({0, 0, 0})};
  ASSERT_TRUE(session.Run(&apart).ok());
  EXPECT_THAT(apart[0].ReadDoubles(), ElementsAre(0, 1, 2));
  EXPECT_THAT(wide.ReadDoubles(), ElementsAre(1, 9, 2, 9, 3, 9));
}

// Inputs that share memory are refused before anything is written.
TEST(SessionInPlace, SharedMemoryIsRefusedFirst) {
  Session session = Make(kStep);
  const HostTensor shared = Row({1, 2, 3});
  std::vector<HostTensor> inputs = {shared, shared, Row({0, 0, 0})};
  EXPECT_THAT(std::string(session.Run(&inputs).status().message()), HasSubstr("share memory"));
  EXPECT_THAT(inputs[2].ReadDoubles(), ElementsAre(0, 0, 0));
}

constexpr char kChecked[] = R"(
  func @main(%p: f32[3] {param="p", initial=dense<[1.0, 2.0, 3.0]>}, %table: f32[5],
             %i: i64[2]) -> (f32[2], f32[3] {writes=%p}) {
    %0 = neg(%p)
    %1 = index_select(%table, %i, dim=0)
    return %1, %0
  })";

TEST(SessionInPlace, AnErrorLeavesStateAndTensors) {
  Session session = Make(kChecked);
  const HostTensor table = Row({1, 2, 3, 4, 5});
  const HostTensor good = HostTensor::FromInts(DType::kI64, {2}, {0, 4});
  const HostTensor bad = HostTensor::FromInts(DType::kI64, {2}, {0, 5});
  for (int run = 0; run < 3; ++run) {
    ASSERT_TRUE(session.Run({HostTensor(), table, good}).ok());
  }
  const uint8_t* const place = session.state("p")->raw();
  EXPECT_THAT(session.state("p")->ReadDoubles(), ElementsAre(-1, -2, -3));
  EXPECT_EQ(session.Run({HostTensor(), table, bad}).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(session.state("p")->ReadDoubles(), ElementsAre(-1, -2, -3));
  std::vector<HostTensor> given = {Row({1, 2, 3}), table, bad};
  EXPECT_FALSE(session.Run(&given).ok());
  EXPECT_THAT(given[0].ReadDoubles(), ElementsAre(1, 2, 3));
  std::map<std::string, HostTensor> named = {{"table", table}, {"i", bad}};
  EXPECT_FALSE(session.Run(&named).ok());
  EXPECT_TRUE(named["i"].valid());
  ASSERT_TRUE(session.Run({HostTensor(), table, good}).ok());
  EXPECT_EQ(session.state("p")->raw(), place);
  EXPECT_THAT(session.state("p")->ReadDoubles(), ElementsAre(1, 2, 3));
}

}  // namespace
}  // namespace weft
