// Observers and pairs within the bodies of cond, loop and scan.
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "api/compiler.h"
#include "api/quantize/quantizer.h"
#include "api/session.h"
#include "gmock/gmock.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/quant.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

// $SPEC is the note of each value that is observed.
constexpr char kLoop[] = R"(
func @main(%x: f32[3, 2]) {
  %n = constant(dense<3>) : i64[]
  %t = constant(dense<true>) : bool[]
  %w = constant(dense<[[1.0, 0.5], [0.25, -1.5]]>) : f32[2, 2]
  %0 = loop(%n, %t, %x, %w, num_carried=1) : f32[3, 2] {
    body(%i: i64[], %c: bool[], %a: f32[3, 2], %b: f32[2, 2]) {
      %0 = linear(%a, %b, none)  note(operand 0 quant="$SPEC group=0")
      return %c, %0
    }
  }
  return %0
})";

constexpr char kUnrolled[] = R"(
func @main(%x: f32[3, 2]) {
  %w = constant(dense<[[1.0, 0.5], [0.25, -1.5]]>) : f32[2, 2]
  %0 = linear(%x, %w, none)  note(operand 0 quant="$SPEC group=0")
  %1 = linear(%0, %w, none)  note(operand 0 quant="$SPEC group=0")
  %2 = linear(%1, %w, none)  note(operand 0 quant="$SPEC group=0")
  return %2
})";

// The loop where the sum of x is positive, within a branch; a scan of the rows before.
constexpr char kNested[] = R"(
func @main(%x: f32[3, 2]) {
  %h = constant(dense<[0.0, 0.0]>) : f32[2]
  %w = constant(dense<[[1.0, 0.5], [0.25, -1.5]]>) : f32[2, 2]
  %zero = constant(dense<0.0>) : f32[]
  %0, %1 = scan(%h, %x, num_carried=1, num_scanned=1) : f32[2], f32[3, 2] {
    body(%a: f32[2], %b: f32[2]) {
      %0 = add(%a, %b)  note(quant="$SPEC group=0")
      return %0, %0
    }
  }
  %s = sum(%x, dim=[0, 1])
  %p = gt(%s, %zero)
  %2 = cond(%p, %1, %w) : f32[3, 2] {
    then_graph(%y: f32[3, 2], %v: f32[2, 2]) {
      %n = constant(dense<2>) : i64[]
      %t = constant(dense<true>) : bool[]
      %0 = loop(%n, %t, %y, %v, num_carried=1) : f32[3, 2] {
        body(%i: i64[], %c: bool[], %a: f32[3, 2], %b: f32[2, 2]) {
          %0 = linear(%a, %b, none)  note(operand 0 quant="$SPEC group=1")
          return %c, %0
        }
      }
      return %0
    }
    else_graph(%y: f32[3, 2], %v: f32[2, 2]) {
      return %y
    }
  }
  return %2
})";

// With the branch taken.
constexpr char kNestedUnrolled[] = R"(
func @main(%x: f32[3, 2]) {
  %w = constant(dense<[[1.0, 0.5], [0.25, -1.5]]>) : f32[2, 2]
  %h = constant(dense<[0.0, 0.0]>) : f32[2]
  %0 = select(%x, dim=0, index=0)
  %1 = add(%h, %0)  note(quant="$SPEC group=0")
  %2 = select(%x, dim=0, index=1)
  %3 = add(%1, %2)  note(quant="$SPEC group=0")
  %4 = select(%x, dim=0, index=2)
  %5 = add(%3, %4)  note(quant="$SPEC group=0")
  %6 = stack(%1, %3, %5, dim=0)
  %7 = linear(%6, %w, none)  note(operand 0 quant="$SPEC group=1")
  %8 = linear(%7, %w, none)  note(operand 0 quant="$SPEC group=1")
  return %8
})";

HostTensor Draw(std::mt19937& random, double center) {
  HostTensor tensor(DType::kF32, {3, 2});
  std::vector<double> values(6);
  for (double& v : values) v = center + static_cast<double>(random() % 201) / 100 - 1;
  tensor.WriteDoubles(values);
  return tensor;
}

struct Calibrated {
  std::vector<std::vector<double>> states;
  std::vector<double> last;
};

Calibrated Calibrate(const std::string& text, const char* spec,
                     const std::vector<HostTensor>& batches, const char* target) {
  std::unique_ptr<Module> module = Parse(absl::StrReplaceAll(text, {{"$SPEC", spec}}));
  CompileOptions options;
  options.passes = "quantize_prepare";
  EXPECT_TRUE(Compile(*module, options).ok());
  auto session = Session::Create(std::move(module), target);
  EXPECT_TRUE(session.ok()) << session.status();
  Calibrated result;
  for (const HostTensor& batch : batches) {
    const std::map<std::string, HostTensor> inputs = {{"x", batch}};
    const auto outputs = session->Run(inputs);
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    if (outputs.ok()) result.last = (*outputs)[0].ReadDoubles();
  }
  for (const char* name : {"observer.0", "observer.1"}) {
    const HostTensor* state = session->state(name);
    if (state != nullptr) result.states.push_back(state->ReadDoubles());
  }
  return result;
}

constexpr const char* kSpecs[] = {"u8 affine tensor min_max", "i8 symmetric axis=-1 moving_average",
                                  "u8 affine tensor histogram"};

void ExpectEqualStates(const char* nested, const char* unrolled, double center) {
  std::mt19937 random(7);
  std::vector<HostTensor> batches;
  for (int i = 0; i < 3; ++i) batches.push_back(Draw(random, center));
  for (const char* target : {"reference", "cpu"}) {
    for (const char* spec : kSpecs) {
      const Calibrated a = Calibrate(nested, spec, batches, target);
      const Calibrated b = Calibrate(unrolled, spec, batches, target);
      EXPECT_FALSE(a.states.empty());
      EXPECT_EQ(a.states, b.states) << spec << " on " << target;
      EXPECT_EQ(a.last, b.last) << spec << " on " << target;
    }
  }
}

TEST(NestedObservers, OfALoopSeeWhatThoseOfItsStepsSee) { ExpectEqualStates(kLoop, kUnrolled, 0); }

TEST(NestedObservers, OfAScanAndOfALoopInABranchSeeTheSame) {
  ExpectEqualStates(kNested, kNestedUnrolled, 2);
}

TEST(NestedObservers, OfABranchThatIsNotTakenSeeNothing) {
  std::mt19937 random(7);
  const std::vector<HostTensor> batches = {Draw(random, -3)};
  const Calibrated seen = Calibrate(kNested, kSpecs[0], batches, "reference");
  ASSERT_EQ(seen.states.size(), 2);
  EXPECT_LE(seen.states[0][0], seen.states[0][1]);
  EXPECT_GT(seen.states[1][0], seen.states[1][1]);
}

int CountOf(const Module& module, const OpDef& op) {
  int count = 0;
  for (const Graph* graph : module.AllGraphs()) {
    for (const Node* node : graph->nodes()) count += node->Is(op);
  }
  return count;
}

// The error of the quantized model; its branch is taken by the last batch alone, or by none.
TEST(NestedObservers, QuantizeBodies) {
  for (const double center : {2.0, -3.0}) {
    const std::string text =
        absl::StrReplaceAll(kNested, {{"  note(quant=\"$SPEC group=0\")", ""},
                                      {"  note(operand 0 quant=\"$SPEC group=1\")", ""}});
    QuantizeOptions options;
    options.target = "reference";
    auto quantizer = Quantizer::Create(Parse(text), options);
    ASSERT_TRUE(quantizer.ok()) << quantizer.status();
    EXPECT_TRUE(quantizer->needs_calibration());
    std::mt19937 random(7);
    ASSERT_TRUE(quantizer->Calibrate({Draw(random, -3)}).ok());
    const HostTensor last = Draw(random, center);
    ASSERT_TRUE(quantizer->Calibrate({last}).ok());
    auto saved = quantizer->module();
    ASSERT_TRUE(saved.ok()) << saved.status();
    EXPECT_TRUE(Quantizer::Resume((*saved)->Clone(), options).ok());
    auto model = quantizer->Finish();
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ(CountOf(*model->module, ops::observe), 0);
    EXPECT_EQ(model->module->main()->num_inputs(), 1);
    EXPECT_EQ(CountOf(*model->module, ops::dequantize_linear), center > 0 ? 2 : 0);
    auto exact = Session::Create(Parse(text), "reference");
    auto quantized = Session::Create(std::move(model->module), "reference");
    ASSERT_TRUE(exact.ok() && quantized.ok());
    const std::vector<double> a = (*exact->Run({last}))[0].ReadDoubles();
    const std::vector<double> b = (*quantized->Run({last}))[0].ReadDoubles();
    for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 0.2);
  }
}

}  // namespace
}  // namespace weft
