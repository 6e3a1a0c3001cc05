// lstm, gru and rnn as whole layers, compared with the reference executor.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/compiler.h"
#include "backends/cpu/executable.h"
#include "backends/cpu/target.h"
#include "backends/reference/executor.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "tests/support/parse.h"
#include "tests/support/tensor_compare.h"

namespace weft::cpu {
namespace {

// Numbers between -scale and scale that differ along every dim, and from one seed to the next.
HostTensor Ramp(absl::Span<const int64_t> dims, double scale, int64_t seed) {
  HostTensor t(DType::kF32, dims);
  std::vector<double> values(t.numel());
  for (size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<int64_t>(i) + 31 * seed;
    values[i] = scale * static_cast<double>(at * 48271 % 997 - 498) / 498;
  }
  t.WriteDoubles(values);
  return t;
}

struct Layer {
  std::string op = "lstm";
  int64_t length = 3;
  int64_t batch = 2;
  int64_t input = 5;
  int64_t hidden = 7;
  std::string direction = "forward";
  bool bias = true;
  bool states = true;
  bool peepholes = false;
  std::vector<int64_t> lengths;  // Empty: all sequences have the whole length.
  std::string attrs;
  bool symbolic = false;  // Length and batch are symbols.

  int64_t gates() const { return op == "lstm" ? 4 : op == "gru" ? 3 : 1; }
  int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
};

std::string TypeOf(absl::string_view dtype, const std::vector<std::string>& dims) {
  return absl::StrCat(dtype, "[", absl::StrJoin(dims, ", "), "]");
}

struct Program {
  std::string text;
  std::vector<HostTensor> inputs;
};

Program ProgramOf(const Layer& l) {
  Program p;
  std::string params, operands;
  const std::string t = l.symbolic ? "t" : absl::StrCat(l.length);
  const std::string b = l.symbolic ? "b" : absl::StrCat(l.batch);
  const auto n = [](int64_t size) { return absl::StrCat(size); };
  const int64_t d = l.directions();
  const int64_t rows = l.gates() * l.hidden;
  const auto add = [&](bool given, absl::string_view name, std::vector<std::string> dims,
                       std::vector<int64_t> sizes, double scale) {
    absl::StrAppend(&operands, operands.empty() ? "" : ", ",
                    given ? absl::StrCat("%", name) : "none");
    if (!given) return;
    absl::StrAppend(&params, params.empty() ? "" : ", ", "%", name, ": ", TypeOf("f32", dims));
    p.inputs.push_back(Ramp(sizes, scale, static_cast<int64_t>(p.inputs.size())));
  };
  add(true, "x", {t, b, n(l.input)}, {l.length, l.batch, l.input}, 1);
  add(true, "w", {n(d), n(rows), n(l.input)}, {d, rows, l.input}, 0.5);
  add(true, "wr", {n(d), n(rows), n(l.hidden)}, {d, rows, l.hidden}, 0.4);
  add(l.bias, "bias", {n(d), n(2 * rows)}, {d, 2 * rows}, 0.6);
  if (l.lengths.empty()) {
    absl::StrAppend(&operands, ", none");
  } else {
    absl::StrAppend(&operands, ", %ends");
    absl::StrAppend(&params, ", %ends: i32[", b, "]");
    HostTensor ends(DType::kI32, {l.batch});
    ends.WriteInts(l.lengths);
    p.inputs.push_back(ends);
  }
  add(l.states, "h", {n(d), b, n(l.hidden)}, {d, l.batch, l.hidden}, 0.9);
  if (l.op == "lstm") {
    add(l.states, "c", {n(d), b, n(l.hidden)}, {d, l.batch, l.hidden}, 0.8);
    add(l.peepholes, "peep", {n(d), n(3 * l.hidden)}, {d, 3 * l.hidden}, 0.7);
  }
  const std::string y = TypeOf("f32", {t, n(d), b, n(l.hidden)});
  const std::string state = TypeOf("f32", {n(d), b, n(l.hidden)});
  const bool is_lstm = l.op == "lstm";
  p.text = absl::StrCat("func @main(", params, ") -> (", y, ", ", state, is_lstm ? ", " : "",
                        is_lstm ? state : "", ") { %0, %1", is_lstm ? ", %2" : "", " = ", l.op, "(",
                        operands, ", direction=\"", l.direction, "\", hidden_size=", l.hidden,
                        l.attrs, ") return %0, %1", is_lstm ? ", %2" : "", " }");
  return p;
}

// The inputs whose names begin with "w" or "bias" become constants.
void Freeze(Module& module, absl::Span<const HostTensor> inputs) {
  Graph& graph = *module.main();
  for (int i = 0; i < graph.num_inputs(); ++i) {
    const std::string& name = graph.input_info(i).name;
    if (name[0] != 'w' && name != "bias") continue;
    Builder builder(&graph, graph.first_node());
    graph.input(i)->ReplaceAllUsesWith(builder.Constant(inputs[i]));
  }
}

struct RunOptions {
  bool frozen = false;
  std::string isa = "native";
  int threads = 1;
};

std::unique_ptr<Executable> ExecutableOf(Module& module, const RunOptions& run) {
  CompileOptions compile;
  compile.passes = "decompose,dce";
  compile.context.target = CpuTarget();
  const auto compiled = Compile(module, compile);
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  auto plan = Lower(*module.main(), CpuTarget());
  EXPECT_TRUE(plan.ok()) << plan.status();
  const auto is_layer = [](const Step& step) {
    return step.kind == StepKind::kLibrary &&
           (step.op_name == "lstm" || step.op_name == "gru" || step.op_name == "rnn");
  };
  EXPECT_EQ(std::count_if(plan->steps.begin(), plan->steps.end(), is_layer), 1);
  CpuOptions options;
  options.threads = run.threads;
  options.isa = run.isa;
  auto executable = Executable::Create(*std::move(plan), options);
  EXPECT_TRUE(executable.ok()) << executable.status();
  return executable.ok() ? *std::move(executable) : nullptr;
}

// Runs twice, because states live in memory that the next run uses.
void ExpectAsReference(Executable& executable, const Graph& graph,
                       const std::vector<HostTensor>& inputs) {
  const auto want = reference::Run(graph, inputs);
  ASSERT_TRUE(want.ok()) << want.status();
  for (int i = 0; i < 2; ++i) {
    const auto got = executable.Run(inputs);
    ASSERT_TRUE(got.ok()) << got.status();
    ASSERT_EQ(got->size(), want->size());
    for (size_t r = 0; r < want->size(); ++r) {
      EXPECT_EQ(Difference((*got)[r], (*want)[r], {2e-5, 2e-5}), "") << "result " << r;
    }
  }
  EXPECT_EQ(executable.stats().fallbacks, 0);
}

void ExpectAsReference(const Layer& layer, const RunOptions& run) {
  const Program program = ProgramOf(layer);
  SCOPED_TRACE(absl::StrCat(program.text, " isa=", run.isa, " threads=", run.threads,
                            " frozen=", run.frozen));
  const auto judge = Parse(program.text);
  const auto module = Parse(program.text);
  if (run.frozen) Freeze(*module, program.inputs);
  const auto executable = ExecutableOf(*module, run);
  ASSERT_NE(executable, nullptr);
  ExpectAsReference(*executable, *judge->main(), program.inputs);
}

void ExpectAsReferenceEverywhere(const Layer& layer) {
  for (const char* isa : {"avx2", "native"}) {
    for (const int threads : {1, 2, 3}) {
      for (const bool frozen : {false, true}) ExpectAsReference(layer, {frozen, isa, threads});
    }
  }
}

// Lengths of one step, batches around blocks of rows, states around vectors.
TEST(Recurrent, SizesThatEndWithinBlocks) {
  for (const char* op : {"lstm", "gru", "rnn"}) {
    for (const int64_t hidden : {1, 7, 8, 19, 33}) {
      for (const int64_t batch : {1, 3, 13}) {
        Layer layer;
        layer.op = op;
        layer.length = batch == 3 ? 1 : 4;
        layer.batch = batch;
        layer.hidden = hidden;
        layer.input = hidden == 8 ? 1 : 11;
        ExpectAsReference(layer, {batch == 1, "avx2", 1});
        ExpectAsReference(layer, {batch == 3, "native", 2});
      }
    }
  }
}

TEST(Recurrent, Forms) {
  for (const char* op : {"lstm", "gru", "rnn"}) {
    for (const char* direction : {"forward", "reverse", "bidirectional"}) {
      Layer layer;
      layer.op = op;
      layer.direction = direction;
      layer.hidden = 10;
      ExpectAsReferenceEverywhere(layer);
      layer.batch = 21;  // Enough for two tasks.
      layer.bias = layer.states = false;
      ExpectAsReferenceEverywhere(layer);
      layer.batch = 4;
      layer.states = layer.bias = true;
      layer.lengths = {2, 0, 3, 1};
      ExpectAsReferenceEverywhere(layer);
    }
  }
}

TEST(Recurrent, ResetGatesBeforeAndBehindTheMatmul) {
  Layer layer;
  layer.op = "gru";
  layer.batch = 5;
  layer.attrs = ", linear_before_reset=true";
  ExpectAsReferenceEverywhere(layer);
  layer.direction = "bidirectional";
  layer.lengths = {3, 1, 2, 0, 3};
  ExpectAsReferenceEverywhere(layer);
  layer.attrs = ", clip=0.25, activations=[\"HardSigmoid\", \"Softsign\", \"Sigmoid\", \"Tanh\"]";
  ExpectAsReferenceEverywhere(layer);
}

TEST(Recurrent, PeepholesClipsAndCoupledGates) {
  Layer layer;
  layer.peepholes = true;
  layer.direction = "bidirectional";
  ExpectAsReferenceEverywhere(layer);
  layer.attrs = ", clip=0.3, input_forget=true";
  ExpectAsReferenceEverywhere(layer);
}

TEST(Recurrent, AllActivations) {
  const char* const lists[] = {
      "activations=[\"Relu\"]",
      "activations=[\"Sigmoid\"]",
      "activations=[\"Affine\"], activation_alpha=[0.4], activation_beta=[0.1]",
      "activations=[\"LeakyRelu\"], activation_alpha=[0.3]",
      "activations=[\"ThresholdedRelu\"], activation_alpha=[0.2]",
      "activations=[\"ScaledTanh\"], activation_alpha=[0.7], activation_beta=[1.3]",
      "activations=[\"HardSigmoid\"]",
      "activations=[\"Elu\"], activation_alpha=[0.8]",
      "activations=[\"Softsign\"]",
      "activations=[\"Softplus\"]",
  };
  for (const char* list : lists) {
    Layer layer;
    layer.op = "rnn";
    layer.attrs = absl::StrCat(", ", list);
    ExpectAsReference(layer, {true, "avx2", 1});
    ExpectAsReference(layer, {true, "native", 2});
  }
}

// Inputs of several chunks.
TEST(Recurrent, LongSequences) {
  for (const int threads : {1, 2}) {
    Layer layer;
    layer.op = "gru";
    layer.attrs = ", linear_before_reset=true";
    layer.length = 211;
    layer.batch = 9;
    layer.hidden = 65;
    layer.direction = "bidirectional";
    ExpectAsReference(layer, {true, "native", threads});
  }
}

TEST(Recurrent, OpenLengthsAndBatches) {
  Layer layer;
  layer.symbolic = true;
  layer.direction = "bidirectional";
  const auto judge = Parse(ProgramOf(layer).text);
  const auto module = Parse(ProgramOf(layer).text);
  const auto executable = ExecutableOf(*module, {false, "native", 2});
  ASSERT_NE(executable, nullptr);
  for (const auto& [length, batch] :
       {std::pair<int64_t, int64_t>{1, 1}, {6, 3}, {2, 20}, {0, 2}, {2, 0}}) {
    layer.length = length;
    layer.batch = batch;
    SCOPED_TRACE(absl::StrCat(length, " steps of ", batch));
    ExpectAsReference(*executable, *judge->main(), ProgramOf(layer).inputs);
  }
}

// Inputs and results whose elements do not lie side by side.
TEST(Recurrent, Strides) {
  const std::string text =
      "func @main(%x: f32[2, 5, 3], %w: f32[1, 28, 5], %r: f32[1, 28, 7])"
      " -> (f32[2, 7, 1, 3], f32[1, 2, 7]) {"
      " %0 = permute(%x, dims=[2, 0, 1])"
      " %1, %2, %3 = lstm(%0, %w, %r, none, none, none, none, none, hidden_size=7)"
      " %4 = permute(%1, dims=[2, 3, 1, 0]) return %4, %2 }";
  const std::vector<HostTensor> inputs = {Ramp({2, 5, 3}, 1, 1), Ramp({1, 28, 5}, 0.5, 2),
                                          Ramp({1, 28, 7}, 0.5, 3)};
  for (const int threads : {1, 2}) {
    const auto judge = Parse(text);
    const auto module = Parse(text);
    const auto executable = ExecutableOf(*module, {false, "native", threads});
    ASSERT_NE(executable, nullptr);
    ExpectAsReference(*executable, *judge->main(), inputs);
  }
}

// A state alone: nothing reads the results of the steps.
TEST(Recurrent, LastStateAlone) {
  const std::string text =
      "func @main(%x: f32[3, 2, 5], %w: f32[1, 28, 5], %r: f32[1, 28, 7]) -> (f32[1, 2, 7]) {"
      " %1, %2, %3 = lstm(%x, %w, %r, none, none, none, none, none, hidden_size=7) return %3 }";
  const auto judge = Parse(text);
  const auto module = Parse(text);
  const auto executable = ExecutableOf(*module, {});
  ASSERT_NE(executable, nullptr);
  ExpectAsReference(*executable, *judge->main(),
                    {Ramp({3, 2, 5}, 1, 1), Ramp({1, 28, 5}, 0.5, 2), Ramp({1, 28, 7}, 0.5, 3)});
}

TEST(Recurrent, LengthsThatNoSequenceHasAreRefused) {
  Layer layer;
  layer.lengths = {4, 1};
  const Program program = ProgramOf(layer);
  const auto module = Parse(program.text);
  const auto executable = ExecutableOf(*module, {});
  ASSERT_NE(executable, nullptr);
  EXPECT_EQ(executable->Run(program.inputs).status().code(), absl::StatusCode::kInvalidArgument);
}

// Elements are the same sums for every number of threads.
TEST(Recurrent, ThreadsDoNotChangeResults) {
  Layer layer;
  layer.batch = 17;
  layer.hidden = 70;
  layer.direction = "bidirectional";
  const Program program = ProgramOf(layer);
  std::vector<HostTensor> first;
  for (const int threads : {1, 2, 3, 5}) {
    const auto module = Parse(program.text);
    const auto executable = ExecutableOf(*module, {false, "native", threads});
    ASSERT_NE(executable, nullptr);
    auto got = executable->Run(program.inputs);
    ASSERT_TRUE(got.ok()) << got.status();
    if (first.empty()) first = *got;
    for (size_t r = 0; r < first.size(); ++r) {
      EXPECT_EQ(Difference((*got)[r], first[r], {0, 0}), "") << threads << " threads";
    }
  }
}

}  // namespace
}  // namespace weft::cpu
