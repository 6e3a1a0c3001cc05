// The values that inputs give to symbols, and the messages for inputs that break a constraint.
#include "backends/runtime/size_program.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"
#include "graph/tensor/tensor.h"
#include "graph/tensor/type.h"
#include "gtest/gtest.h"
#include "lowering/plan.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr int64_t kNone = SizeProgram::kNoValue;

SymInt S(int i) { return SymInt::Symbol(absl::StrCat("s", i)); }
HostTensor Zeros(std::vector<int64_t> dims) { return HostTensor(DType::kF32, dims); }
HostTensor Integer(int64_t value) { return HostTensor::ScalarInt(DType::kI64, value); }

PlanInput Read(std::string name, std::vector<SymInt> dims) {
  return {Type::Tensor(DType::kF32, dims), std::move(name), /*read=*/true, /*value=*/-1};
}
PlanInput Unread(std::string name, std::vector<SymInt> dims) {
  return {Type::Tensor(DType::kF32, dims), std::move(name), /*read=*/false, /*value=*/-1};
}
PlanInput Size(std::string name, SymInt value) {
  return {Type::Symbolic(value), std::move(name), /*read=*/true, /*value=*/-1};
}

// A program with facts about its symbols, and constants.
struct Signature {
  std::vector<PlanInput> inputs;
  SymbolTable facts;
  std::map<int, HostTensor> constants;

  SizeProgram Compile(SizeProgram::Options options = {}) const {
    const auto constant = [this](int number) {
      const auto it = constants.find(number);
      return it == constants.end() ? nullptr : &it->second;
    };
    return SizeProgram(inputs, facts, constant, std::move(options));
  }
};

// Symbols may be left without values.
SizeProgram::Options Incomplete() {
  SizeProgram::Options options;
  options.complete = false;
  return options;
}

// The values, or the message.
struct Bound {
  std::vector<int64_t> values;
  std::string error;
};
Bound Bind(const SizeProgram& program, const std::vector<HostTensor>& inputs,
           const std::vector<int64_t>& known = {}) {
  Bound bound;
  const std::vector<RunInput> all(inputs.begin(), inputs.end());
  const absl::Status status = program.Bind(all, known, &bound.values);
  EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
  bound.error = std::string(status.message());
  return bound;
}

// --- Values of symbols -----------------------------------------------------------------

TEST(SizeProgramTest, BindsBareSymbolsFirstAndSolvesForOthers) {
  Signature s;
  s.inputs = {Read("a", {S(0) * 2 + 1, S(1) * S(0)}), Read("b", {S(0)}),
              Read("c", {S(2) * 3, S(2) + S(0)})};
  const SizeProgram program = s.Compile();
  ASSERT_EQ(program.symbols().size(), 3u);
  const Bound bound = Bind(program, {Zeros({9, 8}), Zeros({4}), Zeros({6, 6})});
  EXPECT_EQ(bound.error, "");
  EXPECT_THAT(bound.values, ElementsAre(4, 2, 2));  // s0, s1, s2.
  EXPECT_EQ(program.SourceText(0), "dim 0 of \"b\"");
  EXPECT_EQ(program.SourceText(1), "dim 1 of \"a\"");
  EXPECT_TRUE(program.source(0).bare);
  EXPECT_FALSE(program.source(1).bare);
  EXPECT_EQ(Bind(program, {Zeros({8, 8}), Zeros({4}), Zeros({6, 6})}).error,
            "input 0 (a): dim 0 is 8 and has to be 2*s0 + 1 = 9, as s0 is 4 (dim 0 of \"b\")");
  EXPECT_EQ(Bind(program, {Zeros({9, 7}), Zeros({4}), Zeros({6, 6})}).error,
            "input 0 (a): dim 1 is 7, and no s1 makes s0*s1 equal that, as s0 is 4 (dim 0 of "
            "\"b\")");
  EXPECT_EQ(Bind(program, {Zeros({9, 8}), Zeros({4}), Zeros({6, 7})}).error,
            "input 2 (c): dim 1 is 7 and has to be s0 + s2 = 6, as s0 is 4 (dim 0 of \"b\"), "
            "s2 is 2 (by dim 0 of \"c\")");
}

TEST(SizeProgramTest, SolvesForASymbolThatOnlyACompoundSizeHas) {
  Signature s;
  s.inputs = {Read("x", {S(0) * 2 + 1})};
  s.facts.Declare({S(0), {2, 8}});
  const SizeProgram program = s.Compile();
  EXPECT_THAT(Bind(program, {Zeros({9})}).values, ElementsAre(4));
  EXPECT_EQ(Bind(program, {Zeros({8})}).error,
            "input 0 (x): dim 0 is 8, and no s0 makes 2*s0 + 1 equal that");
  EXPECT_THAT(Bind(program, {Zeros({3})}).error,
              StartsWith("input 0 (x): dim 0 makes s0 = 1, outside of 2 <= s0 <= 8"));
}

TEST(SizeProgramTest, RefusesASizeWhoseSymbolsNothingTells) {
  Signature s;
  s.inputs = {Read("x", {FloorDiv(S(0), 2)}), Read("y", {S(1) + S(2), 3})};
  for (const bool complete : {true, false}) {
    const SizeProgram program = s.Compile(complete ? SizeProgram::Options() : Incomplete());
    EXPECT_THAT(Bind(program, {Zeros({5}), Zeros({6, 3})}).error,
                HasSubstr("input 0 (x): dim 0 is 5, which does not tell the symbols of "));
  }
  s.inputs[0].read = false;
  EXPECT_EQ(Bind(s.Compile(), {Zeros({5}), Zeros({6, 3})}).error,
            "input 1 (y): dim 0 is 6, which does not tell the symbols of s1 + s2");
  s.inputs[1].read = false;
  EXPECT_EQ(Bind(s.Compile(), {Zeros({5}), Zeros({6, 3})}).error, "");
}

// Each of a thousand sizes waits for the one behind it.
TEST(SizeProgramTest, SolvesAThousandInputs) {
  constexpr int kInputs = 1000;
  Signature s;
  std::vector<HostTensor> inputs;
  for (int i = 0; i < kInputs; ++i) {
    const bool last = i + 1 == kInputs;
    s.inputs.push_back(Read(absl::StrCat("x", i), {last ? S(i) : S(i) + S(i + 1), 4}));
    inputs.push_back(Zeros({last ? i : 2 * i + 1, 4}));
  }
  const SizeProgram program = s.Compile();
  const Bound bound = Bind(program, inputs);
  ASSERT_EQ(bound.error, "");
  ASSERT_EQ(bound.values.size(), static_cast<size_t>(kInputs));
  for (int i = 0; i < kInputs; ++i) EXPECT_EQ(bound.values[program.NumberOf(S(i))], i);
  inputs[700] = Zeros({1401, 5});
  EXPECT_EQ(Bind(program, inputs).error, "input 700 (x700): dim 1 is 5 and has to be 4");
  inputs[700] = Zeros({0, 4});
  EXPECT_THAT(Bind(program, inputs).error,
              StartsWith("input 700 (x700): dim 0 makes s700 = -701, outside of 0 <= s700"));
}

TEST(SizeProgramTest, TakesTheSymbolsOfAnOuterPlanAsTheyAre) {
  Signature s;
  s.inputs = {Read("", {S(0), S(0) + S(1), S(2)}), Read("y", {S(2) - 1})};
  s.facts.Declare({S(0), {8, 9}});
  s.facts.Assume(GreaterEqual(S(0), S(1)), "the outer plan");
  s.facts.Assume(GreaterEqual(S(2), S(1)), "a test");
  SizeProgram::Options options = Incomplete();
  options.known = {S(1), S(0)};
  const SizeProgram program = s.Compile(options);
  EXPECT_THAT(program.known(), ElementsAre(S(1), S(0)));
  EXPECT_THAT(Bind(program, {Zeros({3, 5, 7}), Zeros({6})}, {2, 3}).values, ElementsAre(2, 3, 7));
  // Facts about known symbols alone are the outer plan's.
  EXPECT_EQ(Bind(program, {Zeros({3, 7, 7}), Zeros({6})}, {4, 3}).error, "");
  EXPECT_EQ(Bind(program, {Zeros({4, 5, 7}), Zeros({6})}, {2, 3}).error,
            "input 0: dim 0 is 4 and has to be s0 = 3, as s0 is 3");
  EXPECT_EQ(Bind(program, {Zeros({3, 6, 7}), Zeros({6})}, {2, 3}).error,
            "input 0: dim 1 is 6 and has to be s0 + s1 = 5, as s0 is 3, s1 is 2");
  EXPECT_EQ(Bind(program, {Zeros({3, 5, 7}), Zeros({7})}, {2, 3}).error,
            "input 1 (y): dim 0 is 7 and has to be s2 - 1 = 6, as s2 is 7 (dim 2 of input 0)");
  EXPECT_THAT(Bind(program, {Zeros({3, 5, 1}), Zeros({0})}, {2, 3}).error,
              HasSubstr("it comes from a test"));
}

// --- What is refused -------------------------------------------------------------------

TEST(SizeProgramTest, NamesInputDimSizeAndConstraint) {
  Signature s;
  s.inputs = {Read("x", {S(0), S(1), 4}), Size("n", S(2))};
  s.facts.Declare({S(0), {2, 16}});
  s.facts.Declare({S(1), {0, SymRange::kMax}, 8});
  s.facts.Declare({S(2), {1, SymRange::kMax}});
  s.facts.Assume(LessEqual(S(0) + S(1), 64), "");
  s.facts.Assume(GreaterEqual(S(1), S(2)), "");
  const SizeProgram program = s.Compile();
  const auto error = [&](std::vector<int64_t> dims, int64_t n) {
    return Bind(program, {Zeros(dims), Integer(n)}).error;
  };
  EXPECT_EQ(error({2, 8, 4}, 1), "");
  EXPECT_EQ(error({1, 8, 4}, 1),
            "input 0 (x): dim 0 is 1, outside of 2 <= s0 <= 16; nearest allowed: s0 = 2");
  EXPECT_EQ(error({17, 8, 4}, 1),
            "input 0 (x): dim 0 is 17, outside of 2 <= s0 <= 16; nearest allowed: s0 = 16");
  EXPECT_THAT(error({2, 12, 4}, 1),
              StartsWith("input 0 (x): dim 1 is 12, which is no multiple of 8: s1 % 8 == 0"));
  EXPECT_EQ(error({2, 8, 5}, 1), "input 0 (x): dim 2 is 5 and has to be 4");
  EXPECT_THAT(error({2, 8, 4}, 0), StartsWith("input 1 (n): the value is 0, outside of 1 <= s2"));
  EXPECT_THAT(error({16, 56, 4}, 1),
              HasSubstr("does not hold for s0 = 16 (input %x dim 0), s1 = 56 (input %x dim 1)"));
  EXPECT_THAT(error({2, 8, 4}, 9), HasSubstr("s2 = 9 (input %n)"));
  EXPECT_EQ(error({2, 8}, 1), "input 0 (x): expected f32[s0, s1, 4], got f32[2, 8]");
  EXPECT_THAT(Bind(program, {Zeros({2, 8, 4}), Zeros({})}).error,
              StartsWith("input 1 (n): expected "));
  EXPECT_EQ(Bind(program, {Zeros({2, 8, 4}), HostTensor()}).error, "input 1 (n) is missing");
  EXPECT_EQ(Bind(program, {Zeros({2, 8, 4})}).error, "the program takes 2 inputs, got 1");
}

TEST(SizeProgramTest, SaysWhereAConditionComesFrom) {
  Signature s;
  s.inputs = {Read("x", {S(0), S(1)})};
  s.facts.Assume(GreaterEqual(S(0), S(1)), "a test");
  EXPECT_THAT(Bind(s.Compile(), {Zeros({2, 3})}).error,
              StartsWith("s0 >= s1 does not hold for s0 = 2 (input %x dim 0), s1 = 3 (input %x dim "
                         "1); it comes from a test"));
}

// A divisor of 0 leaves a condition without a value.
TEST(SizeProgramTest, RefusesAConditionWithoutAValue) {
  Signature s;
  s.inputs = {Read("x", {S(0), S(1)})};
  s.facts.Assume(GreaterEqual(FloorDiv(S(0), S(1)), 2), "a test");
  EXPECT_EQ(Bind(s.Compile(), {Zeros({4, 2})}).error, "");
  EXPECT_THAT(Bind(s.Compile(), {Zeros({4, 0})}).error, HasSubstr("it comes from a test"));
}

TEST(SizeProgramTest, ChecksValuesThatTheProgramHoldsFor) {
  Signature s;
  s.inputs = {Read("x", {2}), {Type::Tensor(DType::kI64, {S(0)}), "k", true, 7}};
  s.constants.emplace(7, HostTensor::FromInts(DType::kI64, {2}, {3, 4}));
  const SizeProgram program = s.Compile();
  const auto k = [](std::vector<int64_t> values) {
    return HostTensor::FromInts(DType::kI64, {static_cast<int64_t>(values.size())}, values);
  };
  const std::string differs = "input 1 (k) differs from the value that the program was made for";
  EXPECT_EQ(Bind(program, {Zeros({2}), k({3, 4})}).error, "");
  EXPECT_EQ(Bind(program, {Zeros({2}), s.constants.at(7)}).error, "");
  EXPECT_EQ(Bind(program, {Zeros({2}), k({3, 5})}).error, differs);
  EXPECT_EQ(Bind(program, {Zeros({2}), k({3})}).error, differs);
  EXPECT_EQ(program.CheckValues({Zeros({2}), k({3, 5})}).message(), differs);
  // A size that does not fit is said first.
  EXPECT_EQ(Bind(program, {Zeros({3}), k({3, 5})}).error,
            "input 0 (x): dim 0 is 3 and has to be 2");
  s.constants.clear();
  EXPECT_EQ(Bind(s.Compile(), {Zeros({2}), k({3, 4})}).error, "the plan has no constant 7");
}

// --- Inputs that nothing reads ---------------------------------------------------------

TEST(SizeProgramTest, LeavesUnreadInputsAlone) {
  Signature s;
  s.inputs = {Unread("x", {S(0), 2}), Read("y", {S(0), 3})};
  s.facts.Declare({S(0), {1, 8}});
  for (const bool complete : {true, false}) {
    const SizeProgram program = s.Compile(complete ? SizeProgram::Options() : Incomplete());
    EXPECT_THAT(Bind(program, {Zeros({70}), Zeros({4, 3})}).values, ElementsAre(4));
    EXPECT_THAT(Bind(program, {Zeros({70, 7}), Zeros({4, 3})}).values, ElementsAre(4));
    EXPECT_EQ(Bind(program, {Zeros({4, 2}), Zeros({9, 3})}).error.substr(0, 11), "input 1 (y)");
  }
}

// A size that is read and has to be solved comes before a symbol that nothing reads.
TEST(SizeProgramTest, PrefersTheSizesOfInputsThatAreRead) {
  Signature s;
  s.inputs = {Unread("x", {S(0)}), Read("y", {S(0) * 2})};
  const SizeProgram program = s.Compile();
  EXPECT_THAT(Bind(program, {Zeros({5, 5}), Zeros({8})}).values, ElementsAre(4));
  EXPECT_EQ(program.source(0).input, 1);
}

TEST(SizeProgramTest, NeedsAnUnreadInputThatAloneGivesASize) {
  Signature s;
  s.inputs = {Unread("x", {S(0), 2})};
  s.facts.Declare({S(0), {1, 8}});
  const SizeProgram program = s.Compile();
  EXPECT_THAT(Bind(program, {Zeros({7, 2})}).values, ElementsAre(7));
  EXPECT_EQ(Bind(program, {Zeros({7})}).error, "input 0 (x): expected f32[s0, 2], got f32[7]");
  EXPECT_EQ(Bind(program, {Zeros({7, 3})}).error, "input 0 (x): dim 1 is 3 and has to be 2");
  EXPECT_THAT(Bind(program, {Zeros({9, 2})}).error, HasSubstr("outside of 1 <= s0 <= 8"));
}

TEST(SizeProgramTest, LeavesSymbolsWithoutValuesIfItMay) {
  Signature s;
  s.inputs = {Unread("x", {S(0), S(1) * 2}), Read("y", {S(2), S(2) * S(3)})};
  s.facts.Declare({S(0), {1, 8}});
  s.facts.Assume(GreaterEqual(S(2), S(0)), "a test");
  const SizeProgram program = s.Compile(Incomplete());
  const auto value = [&](const Bound& bound, int i) {
    return bound.values[program.NumberOf(S(i))];
  };
  const Bound fits = Bind(program, {Zeros({3, 4}), Zeros({5, 10})});
  EXPECT_EQ(fits.error, "");
  EXPECT_EQ(value(fits, 0), 3);
  EXPECT_EQ(value(fits, 1), 2);
  EXPECT_EQ(value(fits, 3), 2);
  const Bound rank = Bind(program, {Zeros({3}), Zeros({5, 10})});
  EXPECT_EQ(rank.error, "");
  EXPECT_EQ(value(rank, 0), kNone);
  EXPECT_EQ(value(rank, 1), kNone);
  const Bound odd = Bind(program, {Zeros({3, 5}), Zeros({5, 10})});
  EXPECT_EQ(odd.error, "");
  EXPECT_EQ(value(odd, 0), 3);
  EXPECT_EQ(value(odd, 1), kNone);
  // Ranges of what nothing reads are not checked, conditions are.
  EXPECT_EQ(Bind(program, {Zeros({9, 4}), Zeros({10, 10})}).error, "");
  EXPECT_THAT(Bind(program, {Zeros({6, 4}), Zeros({5, 10})}).error,
              HasSubstr("it comes from a test"));
  // Any s3 makes s2*s3 equal 0.
  const Bound zero = Bind(program, {Zeros({0, 4}), Zeros({0, 0})});
  EXPECT_EQ(zero.error, "");
  EXPECT_EQ(value(zero, 3), kNone);
  EXPECT_THAT(Bind(s.Compile(), {Zeros({1, 4}), Zeros({0, 0})}).error, HasSubstr("no s3 makes"));
}

// --- Explanations ----------------------------------------------------------------------

TEST(SizeProgramTest, ListsItsConstraints) {
  Signature s;
  s.inputs = {Read("x", {S(0), S(1), 4}), Read("y", {S(0) + 1})};
  s.facts.Declare({S(0), {2, 16}});
  s.facts.Declare({S(1), {0, SymRange::kMax}, 8});
  s.facts.Assume(GreaterEqual(S(1), S(0)), "a test");
  std::vector<std::string> texts;
  for (const Constraint& c : s.Compile().constraints()) texts.push_back(c.text + c.origin);
  EXPECT_THAT(texts, ElementsAre("2 <= s0 <= 16", "s1 % 8 == 0", "dim 0 of \"y\" == s0 + 1",
                                 testing::EndsWith("a test")));
}

}  // namespace
}  // namespace weft
