// Autocast: which nodes each list takes, what is cast and how often, and ranges of f16. Golden
// files in tests/golden/autocast have whole programs.
#include "passes/autocast.h"

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "passes/autocast/decision.h"
#include "passes/autocast/lists.h"
#include "passes/autocast/ranges.h"
#include "passes/engine/pass_manager.h"
#include "passes/pipelines.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// --- Decisions ---------------------------------------------------------------

std::string Decided(absl::string_view program, absl::string_view lists = "cpu",
                    const CastSettings& settings = {}) {
  const auto module = Parse(program);
  const uint64_t epoch = module->main()->epoch();
  const absl::StatusOr<AutocastLists> loaded = LoadAutocastLists(lists);
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  const CastDecision decision = DecideCasts(*module, *loaded, settings);
  EXPECT_EQ(module->main()->epoch(), epoch);
  std::string text = ToString(decision);
  for (const std::string& entry : decision.unmet) absl::StrAppend(&text, "unmet ", entry, "\n");
  return text;
}

CastSettings F16() {
  CastSettings settings;
  settings.low = DType::kF16;
  return settings;
}

constexpr char kChain[] = R"(
  func @main(%x: f32[2, 4], %w: f32[4, 4]) {
    %0 = linear(%x, %w, none)  loc("fc")
    %1 = relu(%0)
    %2 = exp(%1)
    %3 = softmax(%2, dim=1)
    %4 = prod(%3, dim=[1])
    return %4
  })";

TEST(AutocastDecision, TheListsOfCpusKeepFewOpsInF32) {
  EXPECT_EQ(Decided(kChain),
            "%1 = linear: low, operands 0 1\n"
            "%2 = relu: widest, operands 0\n"
            "%3 = exp: widest, operands 0\n"
            "%4 = softmax: widest, operands 0\n");
}

TEST(AutocastDecision, TheListsOfCudaKeepFunctionsAndSumsInF32) {
  EXPECT_EQ(Decided(kChain, "cuda"),
            "%1 = linear: low, operands 0 1\n"
            "%2 = relu: widest, operands 0\n");
}

TEST(AutocastDecision, TheWidestOperandDecides) {
  constexpr char kSums[] = R"(
    func @main(%x: f32[2, 4], %w: f32[4, 4], %p: f32[4] {param="p", initial=dense<1.0>}) {
      %b = constant(dense<[1.0, 2.0, 3.0, 4.0]>) : f32[4]
      %0 = linear(%x, %w, none)
      %1 = add(%0, %b)
      %2 = add(%0, %p)
      %3 = add(%0, %x)
      %4 = add(%x, %b)
      return %1, %2, %3, %4
    })";
  EXPECT_EQ(Decided(kSums),
            "%2 = linear: low, operands 0 1\n"
            "%3 = add: widest, operands 0 1\n"
            "%4 = add: widest, operands 0 1\n"
            "%5 = add: f32: operand 1 is f32\n");
  CastSettings narrow;
  narrow.narrow_mixed = true;
  EXPECT_THAT(Decided(kSums, "cpu", narrow), HasSubstr("%5 = add: widest, operands 0 1\n"));
}

TEST(AutocastDecision, KeepsWhatTheUserNames) {
  CastSettings settings;
  settings.keep = {"f*", "exp", "nothing"};
  EXPECT_EQ(Decided(kChain, "cpu", settings), "unmet nothing\n");
  settings.keep = {"exp"};
  EXPECT_EQ(Decided(kChain, "cpu", settings),
            "%1 = linear: low, operands 0 1\n"
            "%2 = relu: widest, operands 0\n");
}

TEST(AutocastDecision, CastsStandBeforeMovesThatAreOnlyReadLow) {
  EXPECT_EQ(Decided(R"(
    func @main(%x: f32[2, 3, 4], %w: f32[5, 4], %y: f32[100, 4]) {
      %0 = permute(%x, dims=[1, 0, 2])
      %1 = reshape(%0, size=[6, 4])
      %2 = linear(%1, %w, none)
      %3 = slice(%y, dim=0, start=0, end=6)
      %4 = linear(%3, %w, none)
      return %2, %4
    })"),
            "%1 = permute: sunk, operands 0\n"
            "%2 = reshape: sunk, operands 0\n"
            "%3 = linear: low, operands 0 1\n"
            "%5 = linear: low, operands 0 1\n");
}

TEST(AutocastDecision, BitsAndDataStay) {
  EXPECT_EQ(Decided(R"(
    func @main(%x: f32[2, 4], %w: f32[4, 4]) {
      %0 = linear(%x, %w, none)
      %1 = bitcast(%0, dtype=i32)
      %2 = nonzero(%0)
      return %1, %2
    })"),
            "%1 = linear: low, operands 0 1\n");
}

// --- Ranges ------------------------------------------------------------------

// A product with a constant of two elements.
std::string ProductWith(absl::string_view elements, const CastSettings& settings) {
  return Decided(absl::StrCat("func @main(%x: f32[3, 2]) {\n  %w = constant(dense<[", elements,
                              "]>) : f32[2]\n  %0 = matmul(%x, %w)\n  return %0\n}"),
                 "cpu", settings);
}

TEST(AutocastRanges, ConstantsThatBecomeInfiniteStay) {
  constexpr char kLow[] = "%2 = matmul: low, operands 0 1\n";
  const auto stays = [](absl::string_view dtype) {
    return absl::StrCat("%2 = matmul: f32: operand 1 is out of the range of ", dtype, "\n");
  };
  EXPECT_EQ(ProductWith("65504.0, 1.0", F16()), kLow);
  EXPECT_EQ(ProductWith("-65520.0, 1.0", F16()), stays("f16"));
  EXPECT_EQ(ProductWith("65520.0, 1.0", {}), kLow);
  EXPECT_EQ(ProductWith("3.38e+38, 1.0", {}), kLow);
  EXPECT_EQ(ProductWith("3.4e+38, 1.0", {}), stays("bf16"));
  // An infinity of the program is one in both.
  EXPECT_EQ(ProductWith("-inf, 1.0", F16()), kLow);
}

TEST(AutocastRanges, ConstantsThatVanishStay) {
  constexpr char kLow[] = "%2 = matmul: low, operands 0 1\n";
  EXPECT_EQ(ProductWith("1e-06, 2e-05", F16()),
            "%2 = matmul: f32: operand 1 is out of the range of f16\n");
  EXPECT_EQ(ProductWith("1e-06, 2e-05", {}), kLow);
  EXPECT_EQ(ProductWith("1e-06, 1e-04", F16()), kLow);
  EXPECT_EQ(ProductWith("0.0, 0.0", F16()), kLow);
}

TEST(AutocastRanges, MasksThatAreComputedStay) {
  constexpr char kMasked[] = R"(
    func @main(%q: f32[1, 2, 4], %m: f32[1, 2], %c: bool[2, 2]) {
      %one = constant(dense<1.0>) : f32[]
      %least = constant(dense<LEAST>) : f32[]
      %0 = sub(%one, %m)
      %1 = mul(%0, %least)
      %2 = reshape(%1, size=[1, 1, 2])
      %3 = where(%c, %2, %one)
      %4 = scaled_dot_product_attention(%q, %q, %q, %3)
      %5 = softmax(%3, dim=1)
      %6 = matmul(%5, %q)
      return %4, %6
    })";
  const auto with = [&](absl::string_view least) {
    return absl::StrReplaceAll(kMasked, {{"LEAST", least}});
  };
  EXPECT_THAT(Decided(with("-10000.0"), "cpu", F16()),
              HasSubstr("scaled_dot_product_attention: low, operands 0 1 2 3\n"));
  const std::string large = Decided(with("-100000.0"), "cpu", F16());
  EXPECT_THAT(large, HasSubstr("scaled_dot_product_attention: low, operands 0 1 2\n"));
  // A softmax has a bound.
  EXPECT_THAT(large, HasSubstr("matmul: low, operands 0 1\n"));
  EXPECT_THAT(Decided(with("-3.4028235e+38")),
              HasSubstr("scaled_dot_product_attention: low, operands 0 1 2\n"));
}

// A cache of a program in f32 is read once by one query.
TEST(Autocast, OneQueryReadsKeysInTheirDType) {
  const auto with = [](absl::string_view queries) {
    return Decided(absl::StrReplaceAll(R"(
    func @main(%q: f32[1, N, 4], %k: f32[1, 9, 4], %w: f32[4, 4]) {
      %0 = matmul(%q, %w)
      %1 = scaled_dot_product_attention(%0, %k, %k, none)
      %2 = matmul(%k, %w)
      %3 = scaled_dot_product_attention(%0, %2, %2, none)
      return %1, %3
    })",
                                       {{"N", queries}}));
  };
  EXPECT_THAT(with("1"), HasSubstr("scaled_dot_product_attention: f32: operand 1 is f32\n"));
  EXPECT_THAT(with("1"), HasSubstr("scaled_dot_product_attention: low, operands 0 1 2\n"));
  EXPECT_THAT(with("2"), testing::Not(HasSubstr("operand 1 is f32")));
}

TEST(AutocastRanges, LargeValuesStayInNestedGraphs) {
  EXPECT_EQ(Decided(R"(
    func @main(%c: bool[], %x: f32[2, 2]) {
      %least = constant(dense<-100000.0>) : f32[]
      %0 = mul(%x, %least)
      %1 = cond(%c, %x, %0) : f32[2, 2] {
        then_graph @t(%a: f32[2, 2], %b: f32[2, 2]) {
          %0 = matmul(%a, %b)
          return %0
        }
        else_graph @e(%a: f32[2, 2], %b: f32[2, 2]) {
          %0 = matmul(%a, %a)
          return %0
        }
      }
      return %1
    })",
                    "cpu", F16()),
            "%1 = matmul: f32: operand 1 is out of the range of f16\n"
            "%1 = matmul: low, operands 0 1\n");
}

TEST(AutocastRanges, NarrowedRoundsToTheNearest) {
  std::vector<double> numbers = {0.0, -0.0, 1.0, 1.00390625, 1.01171875, 3.3895e38, -2.5, 1e-40};
  for (const double special : {std::numeric_limits<double>::infinity(), std::nan("")}) {
    numbers.push_back(special);
  }
  uint32_t seed = 1;
  for (int i = 0; i < 2000; ++i) {
    seed = seed * 1664525 + 1013904223;
    numbers.push_back(std::ldexp(static_cast<int32_t>(seed), static_cast<int>(seed % 200) - 131));
  }
  const HostTensor wide =
      HostTensor::FromDoubles(DType::kF32, {static_cast<int64_t>(numbers.size())}, numbers);
  for (const DType low : {DType::kBF16, DType::kF16}) {
    const HostTensor narrow = Narrowed(wide, low);
    ASSERT_EQ(narrow.dtype(), low);
    const HostTensor want = HostTensor::FromDoubles(low, wide.dims(), wide.ReadDoubles());
    for (int64_t i = 0; i < narrow.numel(); ++i) {
      const double have = narrow.DoubleAt(i), must = want.DoubleAt(i);
      EXPECT_TRUE(have == must || (std::isnan(have) && std::isnan(must)))
          << DTypeName(low) << " " << i << ": " << have << " is not " << must;
      EXPECT_EQ(std::signbit(have), std::signbit(must));
    }
  }
}

// --- What the pass makes -----------------------------------------------------

struct Made {
  std::unique_ptr<Module> module;
  std::map<std::string, int64_t, std::less<>> counters;
};

Made Cast(absl::string_view program, absl::string_view options = "") {
  Made made;
  made.module = Parse(program);
  auto pipeline = Pipeline::Parse(
      absl::StrCat("autocast{admit=approximate", options.empty() ? "" : ",", options, "}"),
      BuiltinPasses());
  EXPECT_TRUE(pipeline.ok()) << pipeline.status();
  PassContext context;
  const absl::Status status = PassManager(*std::move(pipeline)).Run(*made.module, context);
  EXPECT_TRUE(status.ok()) << status;
  made.counters = context.counters();
  return made;
}

int64_t Count(const Made& made, absl::string_view counter) {
  const auto it = made.counters.find(counter);
  return it == made.counters.end() ? 0 : it->second;
}

int CountNodes(const Graph& graph, const OpDef& op) {
  int count = 0;
  for (const Node* node : graph.nodes()) count += node->Is(op) && node->result()->has_uses();
  return count;
}

TEST(Autocast, CastsAValueOnce) {
  const Made made = Cast(R"(
    func @main(%x: f32[4, 4], %w: f32[4, 4]) {
      %0 = linear(%x, %w, none)
      %1 = linear(%x, %0, none)
      %2 = matmul(%w, %x)
      %3 = permute(%x, dims=[1, 0])
      %4 = matmul(%3, %1)
      return %2, %4
    })");
  EXPECT_EQ(Count(made, "casts"), 2);
  EXPECT_EQ(Count(made, "low"), 4);
  EXPECT_EQ(Count(made, "sunk"), 1);
  // Of %x and %w, and back for the two outputs.
  EXPECT_EQ(CountNodes(*made.module->main(), ops::convert), 4);
  for (const Node* node : made.module->main()->nodes()) {
    if (node->Is(ops::matmul) || node->Is(ops::linear) || node->Is(ops::permute)) {
      EXPECT_EQ(node->result()->type().dtype(), DType::kBF16);
    }
  }
}

TEST(Autocast, ChainsKeepTheirValuesNarrow) {
  const Made made = Cast(R"(
    func @main(%x: f32[1, 2, 4, 4]) {
      %w = constant(dense<0.5>) : f32[2, 2, 1, 1]
      %b = constant(dense<[0.25, 0.5]>) : f32[2]
      %0 = convolution(%x, %w, %b, stride=[1, 1], padding=[0, 0], dilation=[1, 1])
      %1 = relu(%0)
      %2, %at = max_pool(%1, kernel_size=[2, 2], stride=[2, 2], padding=[0, 0, 0, 0], dilation=[1, 1])
      %3 = convolution(%2, %w, %b, stride=[1, 1], padding=[0, 0], dilation=[1, 1])
      %4 = add(%2, %3)
      %5 = mean(%4, dim=[2, 3])
      return %5
    })");
  // Of the input, and back for the output.
  EXPECT_EQ(CountNodes(*made.module->main(), ops::convert), 2);
  EXPECT_EQ(made.module->main()->output(0)->type().dtype(), DType::kF32);
}

TEST(Autocast, WeightsAreRoundedOnceToOneConstant) {
  const Made made = Cast(R"(
    func @main(%x: f32[4, 4]) {
      %w = constant(dense<[[0.1, 0.2], [0.3, 0.4]]>) : f32[2, 2]
      %v = constant(dense<[[0.1, 0.2], [0.3, 0.4]]>) : f32[2, 2]
      %y = slice(%x, dim=1, start=0, end=2)
      %0 = linear(%y, %w, none)
      %1 = linear(%0, %w, none)
      %2 = linear(%1, %v, none)
      return %2
    })");
  EXPECT_EQ(Count(made, "casts"), 1);
  const ConstantStore& constants = made.module->constants();
  int narrow = 0;
  for (int i = 0; i < constants.size(); ++i) {
    if (constants.tensor(i).dtype() != DType::kBF16) continue;
    ++narrow;
    EXPECT_TRUE(constants.derived(i));
    EXPECT_THAT(constants.tensor(i).ReadDoubles(),
                ElementsAre(0.10009765625, 0.2001953125, 0.30078125, 0.400390625));
  }
  EXPECT_EQ(narrow, 1);
}

TEST(Autocast, NestedGraphsTakeWhatTheyOnlyReadLow) {
  const Made made = Cast(R"(
    func @main(%n: i64[], %c: bool[], %x: f32[2, 2], %w: f32[2, 2], %v: f32[2, 2]) {
      %0 = loop(%n, %c, %x, %w, %v, num_carried=1) : f32[2, 2] {
        body(%i: i64[], %d: bool[], %a: f32[2, 2], %w: f32[2, 2], %v: f32[2, 2]) {
          %0 = matmul(%a, %w)
          %1 = matmul(%0, %v)
          %2 = add(%1, %v)
          return %d, %2
        }
      }
      return %0
    })");
  EXPECT_EQ(Count(made, "inputs"), 1);
  const Graph* body = nullptr;
  for (Node* node : made.module->main()->nodes()) {
    if (node->Is(ops::loop)) body = node->region(0);
  }
  ASSERT_NE(body, nullptr);
  EXPECT_EQ(body->input(2)->type().dtype(), DType::kF32);
  EXPECT_EQ(body->input(3)->type().dtype(), DType::kBF16);
  EXPECT_EQ(body->input(4)->type().dtype(), DType::kF32);
  EXPECT_EQ(body->output(1)->type().dtype(), DType::kF32);
}

TEST(Autocast, StopsAfterAnyRewrite) {
  constexpr char kProgram[] = R"(
    func @main(%c: bool[], %x: f32[4, 4], %w: f32[4, 4]) {
      %0 = permute(%x, dims=[1, 0])
      %1 = linear(%0, %w, none)
      %2 = relu(%1)
      %3 = cond(%c, %2, %w) : f32[4, 4] {
        then_graph @t(%a: f32[4, 4], %b: f32[4, 4]) {
          %0 = matmul(%a, %b)
          return %0
        }
        else_graph @e(%a: f32[4, 4], %b: f32[4, 4]) {
          %0 = linear(%a, %b, none)
          return %0
        }
      }
      return %3
    })";
  for (int limit = 0; limit < 8; ++limit) {
    const auto module = Parse(kProgram);
    PassContext::Options options;
    options.admitted = NumericContract::kApproximate;
    options.rewrite_limit = limit;
    PassContext context(options);
    auto pipeline = Pipeline::Parse("autocast", BuiltinPasses());
    ASSERT_TRUE(pipeline.ok());
    // The manager verifies the module.
    const absl::Status status = PassManager(*std::move(pipeline)).Run(*module, context);
    EXPECT_TRUE(status.ok()) << limit << ": " << status;
  }
}

absl::Status StatusOf(absl::string_view pass) {
  const auto module = Parse(kChain);
  auto pipeline = Pipeline::Parse(pass, BuiltinPasses());
  if (!pipeline.ok()) return pipeline.status();
  PassContext context;
  return PassManager(*std::move(pipeline)).Run(*module, context);
}

TEST(Autocast, HasToBeAdmitted) {
  EXPECT_THAT(std::string(StatusOf("autocast").message()),
              HasSubstr("autocast{admit=approximate}"));
  EXPECT_TRUE(StatusOf("autocast{keep=linear}").ok());
}

TEST(Autocast, RefusesOptionsItDoesNotKnow) {
  const auto error = [](absl::string_view options) {
    return std::string(
        StatusOf(absl::StrCat("autocast{admit=approximate,", options, "}")).message());
  };
  EXPECT_THAT(error("dtype=f8e4m3"), HasSubstr("dtype is bf16 or f16, not \"f8e4m3\""));
  EXPECT_THAT(error("mixed=bf16"), HasSubstr("mixed is f32 or low, not \"bf16\""));
  EXPECT_THAT(error("lists=cdua"),
              HasSubstr("no lists are called \"cdua\", did you mean \"cuda\"?"));
  EXPECT_THAT(error("list=cpu"), HasSubstr("did you mean \"lists\"?"));
}

TEST(Autocast, SaysWhatStaysF32) {
  const auto module = Parse(kChain);
  PassContext::Options options;
  options.admitted = NumericContract::kApproximate;
  options.remarks = true;
  PassContext context(options);
  auto pipeline = Pipeline::Parse("autocast{keep=linaer;relu}", BuiltinPasses());
  ASSERT_TRUE(pipeline.ok());
  ASSERT_TRUE(PassManager(*std::move(pipeline)).Run(*module, context).ok());
  std::vector<std::string> remarks;
  for (const Remark& remark : context.remarks()) remarks.push_back(remark.ToString());
  EXPECT_THAT(remarks, ElementsAre(HasSubstr("keep: \"linaer\" meets no node")));
}

}  // namespace
}  // namespace weft
