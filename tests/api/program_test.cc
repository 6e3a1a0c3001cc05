// Programs: calls that are compiled, sizes that are fixed, inputs that are refused, the limit of
// variants, state, threads.
#include "api/program.h"

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/session.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

constexpr char kModel[] = R"(
func @main(%x: f32[batch, length], %w: f32[4]) -> f32[batch, length, 4]
    where 1 <= batch <= 64, 1 <= length <= 128 {
  %0 = reshape(%x, size=[batch, length, 1])
  %1 = mul(%0, %w)
  %2 = softmax(%1, dim=1)
  return %2
})";

Program Make(ProgramOptions options = {}, const char* text = kModel) {
  options.compile.verify = VerifyLevel::kSemantics;
  auto program = Program::Create(Parse(text), std::move(options));
  EXPECT_TRUE(program.ok()) << program.status();
  return *std::move(program);
}

ProgramOptions With(Dynamic dynamic) {
  ProgramOptions options;
  options.dynamic = dynamic;
  return options;
}

HostTensor Ramp(std::vector<int64_t> dims) {
  HostTensor tensor(DType::kF32, dims);
  std::vector<double> values(tensor.numel());
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i % 7) - 3;
  tensor.WriteDoubles(values);
  return tensor;
}

std::vector<HostTensor> Sizes(int64_t batch, int64_t length) {
  return {Ramp({batch, length}), Ramp({4})};
}

// Runs, and compares with the model as it was imported.
void ExpectRight(Program& program, const std::vector<HostTensor>& inputs) {
  const auto got = program.Run(inputs);
  ASSERT_TRUE(got.ok()) << got.status();
  auto model = Session::Create(program.module().Clone(), "reference");
  ASSERT_TRUE(model.ok()) << model.status();
  const auto want = model->Run(inputs);
  ASSERT_TRUE(want.ok()) << want.status();
  ASSERT_EQ(got->size(), want->size());
  for (size_t i = 0; i < got->size(); ++i) {
    EXPECT_TRUE((*got)[i].BitEqual((*want)[i])) << "output " << i;
  }
}

std::string Error(Program& program, const std::vector<HostTensor>& inputs,
                  absl::StatusCode code = absl::StatusCode::kInvalidArgument) {
  const absl::Status status = program.Run(inputs).status();
  EXPECT_EQ(status.code(), code) << status;
  return std::string(status.message());
}

// --- Which calls are compiled for ----------------------------------------------------

TEST(ProgramTest, AStreamOfTwentyLengthsCostsTwoCompiles) {
  Program program = Make();
  for (int64_t length = 1; length <= 20; ++length) ExpectRight(program, Sizes(3, length));
  const ProgramExplanation explanation = program.Explain();
  EXPECT_EQ(explanation.compiles, 2);
  EXPECT_EQ(explanation.calls, 20);
  EXPECT_EQ(explanation.hits, 18);
  ASSERT_THAT(explanation.variants, SizeIs(2));
  EXPECT_EQ(explanation.variants[0].calls, 1);
  EXPECT_EQ(explanation.variants[1].calls, 19);
  // The length alone: the batch has not changed.
  EXPECT_EQ(explanation.variants[1].sizes[0].text, "3");
  EXPECT_EQ(explanation.variants[1].sizes[1].text, "symbolic");
}

TEST(ProgramTest, SymbolicTakesAllSizesAtOnce) {
  Program program = Make(With(Dynamic::kSymbolic));
  for (int64_t batch : {1, 2, 64}) {
    for (int64_t length : {1, 5, 128}) ExpectRight(program, Sizes(batch, length));
  }
  EXPECT_EQ(program.Explain().compiles, 1);
  EXPECT_THAT(program.Explain().variants[0].guards, SizeIs(0));
}

TEST(ProgramTest, EachSizeThatChangesBecomesSymbolic) {
  Program program = Make();
  ExpectRight(program, Sizes(3, 7));
  ExpectRight(program, Sizes(3, 8));  // The length changes...
  ExpectRight(program, Sizes(4, 7));  // ... and then the batch.
  ExpectRight(program, Sizes(5, 9));
  EXPECT_EQ(program.Explain().compiles, 3);
  EXPECT_EQ(program.Explain().hits, 1);
  // The first variant is there still.
  ExpectRight(program, Sizes(3, 7));
  EXPECT_EQ(program.Explain().compiles, 3);
}

TEST(ProgramTest, StaticCompilesForEachSize) {
  Program program = Make(With(Dynamic::kStatic));
  for (int round = 0; round < 2; ++round) {
    for (int64_t length : {3, 4, 5}) ExpectRight(program, Sizes(2, length));
  }
  const ProgramExplanation explanation = program.Explain();
  EXPECT_EQ(explanation.compiles, 3);
  EXPECT_EQ(explanation.hits, 3);
  for (const ExplainedVariant& variant : explanation.variants) {
    EXPECT_TRUE(variant.sizes[0].fixed);
    EXPECT_TRUE(variant.sizes[1].fixed);
  }
}

TEST(ProgramTest, TheLastUsedVariantIsAskedFirst) {
  // Both variants take the second call's sizes; the newer one gets them.
  Program program = Make();
  ExpectRight(program, Sizes(3, 7));
  ExpectRight(program, Sizes(3, 8));
  ExpectRight(program, Sizes(3, 7));
  EXPECT_EQ(program.Explain().variants[1].calls, 2);
}

// --- Marks, 0 and 1, equal sizes, values -------------------------------------------------

TEST(ProgramTest, MarksWinOverTheRest) {
  ProgramOptions options;
  options.marks = {MarkDynamic("x", 1, 2, 32), MarkStatic("x", 0)};
  Program program = Make(options);
  for (int64_t length : {2, 9, 32}) ExpectRight(program, Sizes(3, length));
  EXPECT_EQ(program.Explain().compiles, 1);
  ExpectRight(program, Sizes(4, 9));
  ExpectRight(program, Sizes(5, 9));
  EXPECT_EQ(program.Explain().compiles, 3);
  EXPECT_EQ(program.Explain().variants[2].sizes[0].why, "marked static");
  EXPECT_EQ(program.Explain().variants[2].sizes[1].why, "marked dynamic");
  EXPECT_THAT(Error(program, Sizes(3, 33)),
              AllOf(HasSubstr("length = 33 (input %x dim 1)"), HasSubstr("mark_dynamic(x, 1)")));
}

TEST(ProgramTest, RefusesMarksThatDoNotFit) {
  const auto error = [](MarkedDim mark) {
    ProgramOptions options;
    options.marks = {mark, MarkStatic("x", 0)};
    return std::string(Program::Create(Parse(kModel), options).status().message());
  };
  EXPECT_EQ(error(MarkStatic("x", 1)), "");
  EXPECT_EQ(error(MarkDynamic("tokens", 0)), "the program has no input \"tokens\"; it has x, w");
  EXPECT_EQ(error(MarkDynamic("w", 0)),
            "mark_dynamic(w, 0): the size is 4 in the program, and no other");
  EXPECT_EQ(error(MarkDynamic("x", 2)), "\"x\" of type f32[batch, length] has no dim 2 to mark");
  EXPECT_EQ(error(MarkDynamic("x", 0)),
            "mark_static(x, 0) contradicts mark_dynamic(x, 0): both have batch");
  EXPECT_EQ(error(MarkDynamic("x", 1, 129)),
            "mark_dynamic(x, 1): no size that the program takes meets length >= 129");
}

TEST(ProgramTest, ZeroAndOneAreSizesLikeOthersUnlessAsked) {
  ProgramOptions options = With(Dynamic::kSymbolic);
  Program program = Make(options);
  ExpectRight(program, Sizes(1, 5));
  ExpectRight(program, Sizes(2, 5));
  EXPECT_EQ(program.Explain().compiles, 1);
  options.specialize_zero_one = true;
  Program special = Make(options);
  ExpectRight(special, Sizes(1, 5));
  ExpectRight(special, Sizes(2, 5));
  ExpectRight(special, Sizes(3, 6));
  EXPECT_EQ(special.Explain().compiles, 2);
  EXPECT_EQ(special.Explain().variants[0].sizes[0].text, "1");
  ExpectRight(special, Sizes(3, 1));
  EXPECT_EQ(special.Explain().compiles, 3);
  EXPECT_EQ(special.Explain().variants[2].misses[1].text,
            "variant 1 needs length >= 2: dim 1 of \"x\" was 5, is 1");
}

TEST(ProgramTest, EqualSizesAreOneSymbolWhenAsked) {
  ProgramOptions options = With(Dynamic::kSymbolic);
  options.duck_shape = true;
  Program program = Make(options);
  ExpectRight(program, Sizes(5, 5));
  ExpectRight(program, Sizes(6, 6));
  EXPECT_EQ(program.Explain().compiles, 1);
  EXPECT_EQ(program.Explain().variants[0].sizes[1].text, "batch");
  ExpectRight(program, Sizes(5, 6));
  ExpectRight(program, Sizes(7, 9));
  EXPECT_EQ(program.Explain().compiles, 2);
}

constexpr char kPick[] = R"(
func @main(%x: f32[s0, 3], %k: i64[s1], %n: symint[s2]) {
  %0 = index_select(%x, %k, dim=1)
  %1 = expand(%0, size=[s2, s0, s1])
  return %1
})";

std::vector<HostTensor> Pick(int64_t rows, std::vector<int64_t> k, int64_t n) {
  return {Ramp({rows, 3}), HostTensor::FromInts(DType::kI64, {static_cast<int64_t>(k.size())}, k),
          HostTensor::ScalarInt(DType::kI64, n)};
}

TEST(ProgramTest, ValuesAreSpecializedUntilTheyChange) {
  ProgramOptions options;
  options.specialized_values = {"k"};
  Program program = Make(options, kPick);
  ExpectRight(program, Pick(2, {0, 2}, 1));
  ExpectRight(program, Pick(2, {0, 2}, 1));
  EXPECT_EQ(program.Explain().compiles, 1);
  EXPECT_THAT(program.Explain().variants[0].guards.back().text, "\"k\" == [0, 2]");
  ExpectRight(program, Pick(2, {1, 2}, 1));
  ExpectRight(program, Pick(2, {0, 1}, 1));
  EXPECT_EQ(program.Explain().compiles, 2);
  EXPECT_EQ(program.Explain().variants[1].misses[0].text,
            "variant 0 needs \"k\" == [0, 2]: the value differs");
  options.specialized_values = {"x"};
  EXPECT_EQ(Program::Create(Parse(kPick), options).status().message(),
            "the value of \"x\" cannot be specialized: it is no integer or bool");
}

TEST(ProgramTest, IntegersAreSizes) {
  Program program = Make({}, kPick);
  ExpectRight(program, Pick(2, {0}, 1));
  ExpectRight(program, Pick(2, {0}, 4));
  ExpectRight(program, Pick(2, {1}, 5));
  EXPECT_EQ(program.Explain().compiles, 2);
  EXPECT_EQ(program.Explain().variants[1].misses[0].text,
            "variant 0 needs s2 == 1: \"n\" was 1, is 4");
}

// --- What is refused -------------------------------------------------------------------

TEST(ProgramTest, AConstraintThatIsBrokenIsAnErrorAndNoRecompile) {
  Program program = Make();
  ExpectRight(program, Sizes(3, 7));
  EXPECT_THAT(Error(program, Sizes(65, 7)),
              HasSubstr("input 0 (x): dim 0 is 65, outside of 1 <= batch <= 64"));
  EXPECT_EQ(Error(program, {Ramp({3, 7}), Ramp({5})}), "input 1 (w): dim 0 is 5 and has to be 4");
  EXPECT_THAT(Error(program, {Ramp({3, 7})}), HasSubstr("takes 2 inputs, got 1"));
  EXPECT_THAT(Error(program, {HostTensor(), Ramp({4})}), HasSubstr("input 0 (x) is missing"));
  EXPECT_THAT(Error(program, {HostTensor(DType::kF64, {3, 7}), Ramp({4})}),
              HasSubstr("expected f32[batch, length], got f64[3, 7]"));
  const ProgramExplanation explanation = program.Explain();
  EXPECT_EQ(explanation.compiles, 1);
  EXPECT_EQ(explanation.refused, 4);  // The number of inputs is looked at before.
  EXPECT_THAT(explanation.variants, SizeIs(1));
}

TEST(ProgramTest, RefusesOptionsThatDoNotFit) {
  ProgramOptions options;
  options.target = "abacus";
  EXPECT_THAT(std::string(Program::Create(Parse(kModel), options).status().message()),
              HasSubstr("unknown target \"abacus\""));
  options = ProgramOptions();
  options.cache_limit = 0;
  EXPECT_FALSE(Program::Create(Parse(kModel), options).ok());
  EXPECT_EQ(Program::Create(Parse("func @f(%x: f32[2]) { return %x }")).status().message(),
            "the module has no function @main");
  options = ProgramOptions();
  options.compile.passes = "defautl";
  EXPECT_THAT(std::string(Program::Create(Parse(kModel), options).status().message()),
              HasSubstr("defautl"));
}

// --- The limit -----------------------------------------------------------------------

TEST(ProgramTest, PastTheLimitTheModelRunsAsImported) {
  ProgramOptions options = With(Dynamic::kStatic);
  options.cache_limit = 2;
  Program program = Make(options);
  for (int64_t length : {3, 4, 5, 6, 3, 6}) ExpectRight(program, Sizes(2, length));
  const ProgramExplanation explanation = program.Explain();
  EXPECT_EQ(explanation.compiles, 2);
  EXPECT_EQ(explanation.as_imported, 3);
  EXPECT_EQ(explanation.hits, 1);
  ASSERT_THAT(explanation.last_miss, SizeIs(2));
  EXPECT_EQ(explanation.last_miss[1].text,
            "variant 1 needs length == 4: dim 1 of \"x\" was 4, is 6");
}

TEST(ProgramTest, PastTheLimitIsAnErrorWhenAsked) {
  ProgramOptions options = With(Dynamic::kStatic);
  options.cache_limit = 1;
  options.at_limit = ProgramOptions::AtLimit::kFail;
  Program program = Make(options);
  ExpectRight(program, Sizes(2, 3));
  EXPECT_THAT(Error(program, Sizes(2, 4), absl::StatusCode::kResourceExhausted),
              AllOf(HasSubstr("1 variants, which is the limit"),
                    HasSubstr("dim 1 of \"x\" was 3, is 4"), HasSubstr("mark_dynamic")));
  ExpectRight(program, Sizes(2, 3));
}

// --- Explanations --------------------------------------------------------------------

TEST(ProgramTest, ExplainsItsVariants) {
  Program program = Make();
  for (int64_t length : {7, 9, 12}) ExpectRight(program, Sizes(3, length));
  EXPECT_FALSE(program.Run(Sizes(3, 200)).ok());
  const ProgramExplanation explanation = program.Explain();
  ASSERT_THAT(explanation.variants, SizeIs(2));
  const MissedVariant& miss = explanation.variants[1].misses[0];
  EXPECT_EQ(miss.variant, 0);
  EXPECT_EQ(miss.guard, "length == 7");
  ASSERT_THAT(miss.changed, SizeIs(1));
  EXPECT_EQ(miss.changed[0].input, "x");
  EXPECT_EQ(miss.changed[0].dim, 1);
  EXPECT_EQ(miss.changed[0].before, 7);
  EXPECT_EQ(miss.changed[0].now, 9);
  const std::string text = explanation.ToString();
  EXPECT_THAT(text, Not(HasSubstr("the last call as imported")));
  EXPECT_EQ(
      text,
      R"(2 variants of at most 8, dynamic=automatic; 4 calls: 1 taken by a variant that was there, 2 compiles, 0 as imported, 1 refused
constraint 1 <= batch <= 64
constraint 1 <= length <= 128
variant 0: 1 call, 3 nodes
  made for x: f32[3, 7], w: f32[4]
  because it is the first
  size batch, dim 0 of "x": 3 (no other size so far)
  size length, dim 1 of "x": 7 (no other size so far)
  guard batch == 3 (no other size so far)
  guard length == 7 (no other size so far)
variant 1: 2 calls, 3 nodes
  made for x: f32[3, 9], w: f32[4]
  because variant 0 needs length == 7: dim 1 of "x" was 7, is 9
  size batch, dim 0 of "x": 3 (no other size so far)
  size length, dim 1 of "x": symbolic (it was 7, then 9)
  guard batch == 3 (no other size so far)
)");
}

// --- State ---------------------------------------------------------------------------

constexpr char kCounter[] = R"(
func @main(%sum: f32[] {param="stats.sum", initial=dense<0.0>}, %x: f32[s0]) -> f32[s0] {
  %0 = sum(%x, dim=[0])
  %1 = add(%sum, %0)
  %2 = copy_(%sum, %1)
  %3 = mul(%x, %2)
  return %3
})";

HostTensor Ones(int64_t n) {
  HostTensor tensor(DType::kF32, {n});
  tensor.WriteDoubles(std::vector<double>(n, 1.0));
  return tensor;
}

TEST(ProgramTest, AllVariantsShareTheState) {
  Program program = Make(With(Dynamic::kStatic), kCounter);
  double sum = 0;
  for (int64_t n : {2, 3, 2, 5}) {
    sum += static_cast<double>(n);
    const auto outputs = program.Run(std::map<std::string, HostTensor>{{"x", Ones(n)}});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_EQ((*outputs)[0].DoubleAt(0), sum);
    EXPECT_EQ(program.state("stats.sum")->DoubleAt(0), sum);
  }
  EXPECT_EQ(program.Explain().compiles, 3);
  ASSERT_TRUE(program.SetState("stats.sum", HostTensor::Scalar(DType::kF32, 100)).ok());
  EXPECT_EQ((*program.Run({HostTensor(), Ones(2)}))[0].DoubleAt(0), 102);
  EXPECT_THAT(program.state_names(), ElementsAre("stats.sum"));
  EXPECT_FALSE(program.state("x").has_value());
  // Past the limit too.
  ProgramOptions options = With(Dynamic::kStatic);
  options.cache_limit = 1;
  Program limited = Make(options, kCounter);
  for (int64_t n : {2, 3, 4}) ASSERT_TRUE(limited.Run({HostTensor(), Ones(n)}).ok());
  EXPECT_EQ(limited.state("sum")->DoubleAt(0), 9);
}

TEST(ProgramTest, WhatIsGivenIsWrittenToTheCallersTensor) {
  Program program = Make({}, kCounter);
  std::map<std::string, HostTensor> inputs = {{"x", Ones(2)},
                                              {"sum", HostTensor::Scalar(DType::kF32, 5)}};
  ASSERT_TRUE(program.Run(&inputs).ok());
  EXPECT_EQ(inputs["sum"].DoubleAt(0), 7);
  EXPECT_EQ(program.state("sum")->DoubleAt(0), 0);
}

// --- Threads -------------------------------------------------------------------------

TEST(ProgramTest, ThreadsShareVariantsAndState) {
  Program program = Make({}, kCounter);
  constexpr int kThreads = 4;
  constexpr int kCalls = 25;
  std::vector<std::thread> threads;
  std::vector<int> failures(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&program, &failures, t] {
      for (int i = 0; i < kCalls; ++i) {
        const auto outputs = program.Run({HostTensor(), Ones(1 + (i + t) % 5)});
        failures[t] += !outputs.ok();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(failures, testing::Each(0));
  EXPECT_EQ(program.Explain().calls, kThreads * kCalls);
  EXPECT_LE(program.Explain().compiles, 2);
  // 5 calls of each length in a thread.
  EXPECT_EQ(program.state("sum")->DoubleAt(0), kThreads * 5 * (1 + 2 + 3 + 4 + 5));
}

}  // namespace
}  // namespace weft
