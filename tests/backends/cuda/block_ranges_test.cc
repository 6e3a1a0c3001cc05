// Nests of a kernel that one launch computes, each in a range of blocks: on the emulated driver
// against the reference, whose results they also have when they run alone, bit for bit.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "backends/cuda/emit/emit_cuda.h"
#include "backends/cuda/kernel_launches.h"
#include "backends/cuda/target.h"
#include "backends/runtime/symbol_env.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lowering/example_sizes.h"
#include "lowering/lower.h"
#include "lowering/plan_facts.h"
#include "tests/backends/cuda/emulated_program.h"

namespace weft::cuda {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// One of the parts of a kernel that do not depend on each other.
struct Member {
  std::vector<std::string> inputs;  // Types.
  std::string result;
  std::string op;  // Operands are $0, $1, ...
};

// The members as one kernel, or, without `joined`, each as a kernel.
std::string Program(const std::vector<Member>& members, const std::string& where,
                    bool joined = true) {
  std::vector<std::string> inputs;
  std::vector<std::string> operands;
  std::vector<std::string> results;
  std::vector<std::string> types;
  std::string body;
  for (size_t m = 0; m < members.size(); ++m) {
    std::string op = members[m].op;
    for (size_t i = 0; i < members[m].inputs.size(); ++i) {
      const std::string name = absl::StrCat("%x", m, "_", i);
      inputs.push_back(absl::StrCat(name, ": ", members[m].inputs[i]));
      operands.push_back(name);
      op = absl::StrReplaceAll(op, {{absl::StrCat("$", i), name}});
    }
    results.push_back(absl::StrCat("%y", m));
    types.push_back(members[m].result);
    absl::StrAppend(&body, results.back(), " = ", op, "\n");
  }
  const std::string returned = absl::StrCat("return ", absl::StrJoin(results, ", "), "\n");
  if (joined) {
    body = absl::StrCat(absl::StrJoin(results, ", "), " = fused(", absl::StrJoin(operands, ", "),
                        ", kind=\"horizontal\") {\nbody(", absl::StrJoin(inputs, ", "), ") {\n",
                        body, returned, "}\n}\n");
  }
  return absl::StrCat("func @main(", absl::StrJoin(inputs, ", "), ") -> (",
                      absl::StrJoin(types, ", "), ") ", where.empty() ? "" : "where ", where,
                      " {\n", body, returned, "}\n");
}

BackendOptions Options(const std::string& graphs = "off") {
  return {{"cuda-driver", "emulated"}, {"cuda-cublaslt", "none"}, {"cuda-graphs", graphs}};
}

// Runs the members as one kernel and each alone; returns the launches of the former, or -1 after an
// error.
int64_t ExpectAsAlone(const std::vector<Member>& members, const std::string& where,
                      const std::vector<HostTensor>& inputs, double tolerance = 1e-5) {
  EmulatedProgram joined(Program(members, where), Options());
  EmulatedProgram alone(Program(members, where, false), Options());
  const auto got = joined.Run(inputs);
  joined.ExpectAsReference(inputs, got, tolerance);
  const auto want = alone.Run(inputs);
  EXPECT_TRUE(want.ok()) << want.status();
  if (!got.ok() || !want.ok()) return -1;
  for (size_t i = 0; i < want->size(); ++i) {
    EXPECT_EQ(Difference((*got)[i], (*want)[i], {0, 0}), "") << "output " << i;
  }
  EXPECT_EQ(CounterOf(joined.counters(), "kernels"), 1);
  EXPECT_EQ(CounterOf(joined.counters(), "host_steps"), 0);
  return CounterOf(joined.counters(), "launches");
}

Member Difference1d(const std::string& size) {
  const std::string type = absl::StrCat("f32[", size, "]");
  return {{type, type}, type, "sub($0, $1)"};
}

// Inputs that differ from nest to nest and from run to run.
std::vector<HostTensor> Pairs(const std::vector<int64_t>& sizes, int run = 0) {
  std::vector<HostTensor> inputs;
  for (const int64_t n : sizes) {
    HostTensor first = Ramp({n});
    for (int64_t i = 0; i < n; ++i)
      first.data<float>()[i] += static_cast<float>(static_cast<int>(inputs.size()) + run);
    inputs.push_back(std::move(first));
    inputs.push_back(Ramp({n}));
  }
  return inputs;
}

// --- Pointwise nests ---------------------------------------------------------------------

// Sizes that are multiples of four run in groups, in another function.
TEST(CudaBlockRanges, ANestThatFitsGroupsRunsWithThoseAlone) {
  const std::vector<int64_t> sizes = {4, 5, 1000, 7, 4096, 333};
  std::vector<Member> members;
  for (const int64_t n : sizes) members.push_back(Difference1d(absl::StrCat(n)));
  EXPECT_EQ(ExpectAsAlone(members, "", Pairs(sizes)), 2);
}

// At run time: nests without points, of one block, of the most blocks that a nest has (64), and of
// more work than that.
TEST(CudaBlockRanges, SizesMayChange) {
  std::vector<Member> members;
  std::vector<std::string> where;
  for (int i = 0; i < 5; ++i) {
    members.push_back(Difference1d(absl::StrCat("s", i)));
    where.push_back(absl::StrCat("0 <= s", i));
  }
  EmulatedProgram program(Program(members, absl::StrJoin(where, ", ")), Options());
  int64_t before = 0;
  const auto launches = [&](const std::vector<int64_t>& sizes) {
    program.ExpectAsReference(Pairs(sizes));
    return CounterOf(program.counters(), "launches") -
           std::exchange(before, CounterOf(program.counters(), "launches"));
  };
  EXPECT_EQ(launches({1, 3, 5, 7, 9}), 1);
  EXPECT_EQ(launches({0, 3, 0, 7, 0}), 1);
  EXPECT_EQ(launches({0, 0, 0, 0, 0}), 0);
  EXPECT_EQ(launches({4, 3, 8, 0, 16400}), 2);
  EXPECT_EQ(launches({65537, 1, 16385, 4097, 255}), 1);
  EXPECT_EQ(launches({0, 0, 0, 0, 257}), 1);
}

// A table has 113 nests of four arguments.
TEST(CudaBlockRanges, ATableTakesAsManyNestsAsFit) {
  for (const int count : {113, 114}) {
    const std::vector<int64_t> sizes(count, 8);
    const std::vector<Member> members(count, Difference1d("8"));
    EmulatedProgram program(Program(members, ""), Options());
    program.ExpectAsReference(Pairs(sizes));
    EXPECT_EQ(CounterOf(program.counters(), "launches"), count == 113 ? 1 : 2);
  }
}

TEST(CudaBlockRanges, NestsOfSeveralFunctionsAndDTypes) {
  std::vector<Member> members;
  std::vector<HostTensor> inputs;
  for (int i = 0; i < 3; ++i) {
    for (const char* dtype : {"f32", "f16", "i64", "i8"}) {
      const std::string type = absl::StrCat(dtype, "[", 20 + 4 * i, "]");
      members.push_back({{type, type}, type, i == 2 ? "maximum($0, $1)" : "add($0, $1)"});
      const DType of = dtype[1] == '3'   ? DType::kF32
                       : dtype[1] == '1' ? DType::kF16
                       : dtype[1] == '6' ? DType::kI64
                                         : DType::kI8;
      inputs.push_back(Ints({20 + 4 * i}, std::vector<double>(20 + 4 * i, i), of));
      inputs.push_back(Ints({20 + 4 * i}, std::vector<double>(20 + 4 * i, 3), of));
    }
  }
  // The two additions of a dtype share a launch if both sizes are multiples of its groups: of 4 and
  // 2 elements, but not of 8.
  EXPECT_EQ(ExpectAsAlone(members, "", inputs), 2 + 3 + 2 + 3);
}

// Parts of one result.
TEST(CudaBlockRanges, PartsOfAConcatenation) {
  EmulatedProgram program(R"(
    func @main(%x: f32[s0, 4], %y: f32[s0, 2], %z: f32[s0, 4]) -> f32[s0, 10] where 1 <= s0 {
      %0 = fused(%x, %y, %z, kind="concat") {
        body(%a: f32[s0, 4], %b: f32[s0, 2], %c: f32[s0, 4]) {
          %1 = exp(%a)
          %2 = exp(%b)
          %3 = exp(%c)
          %4 = cat(%1, %2, %3, dim=1)
          return %4
        }
      }
      return %0
    })",
                          Options());
  for (const int64_t n : {1, 3, 300}) {
    program.ExpectAsReference({Ramp({n, 4}), Ramp({n, 2}), Ramp({n, 4})});
  }
}

// --- Reductions and rows -----------------------------------------------------------------

// Threads of a block follow from the length of a row; rows of at most 40 KB are in shared memory,
// others in scratch memory. Rows of 40 and 100 are read in groups, by another
// function.
TEST(CudaBlockRanges, RowsOfOneLengthRunTogether) {
  const std::vector<std::pair<int64_t, int64_t>> dims = {
      {3, 40}, {70, 33}, {1, 100}, {2, 1025}, {5, 1027}, {3, 12001}, {2, 12003}};
  std::vector<Member> members;
  std::vector<std::string> where;
  std::vector<HostTensor> inputs;
  for (size_t i = 0; i < dims.size(); ++i) {
    const std::string type = absl::StrCat("f32[n", i, ", m", i, "]");
    members.push_back({{type}, type, "softmax($0, dim=-1)"});
    where.push_back(absl::StrCat("1 <= n", i, ", 1 <= m", i));
    inputs.push_back(Ramp({dims[i].first, dims[i].second}));
  }
  EXPECT_EQ(ExpectAsAlone(members, absl::StrJoin(where, ", "), inputs, 1e-4), 4);
}

// Rows that threads keep lie in scratch memory, too.
TEST(CudaBlockRanges, ColumnsAreKeptApart) {
  std::vector<Member> members;
  std::vector<HostTensor> inputs;
  for (const int64_t n : {3, 40, 300}) {
    const std::string type = absl::StrCat("f32[20, ", n, "]");
    members.push_back({{type}, type, "softmax($0, dim=0)"});
    inputs.push_back(Ramp({20, n}));
  }
  ExpectAsAlone(members, "", inputs, 1e-4);
}

// The parts of all nests are made by one launch, and combined by another one.
TEST(CudaBlockRanges, PartsOfSumsAreCombinedTogether) {
  for (const int dim : {0, 1}) {
    std::vector<Member> members;
    std::vector<std::string> where;
    std::vector<HostTensor> inputs;
    for (int i = 0; i < 4; ++i) {
      members.push_back({{absl::StrCat("f32[n", i, ", m", i, "]")},
                         absl::StrCat("f32[", dim == 0 ? "m" : "n", i, "]"),
                         absl::StrCat("sum($0, dim=[", dim, "])")});
      where.push_back(absl::StrCat("1 <= n", i, ", 1 <= m", i));
      inputs.push_back(dim == 0 ? Ramp({8193 + i, 3}) : Ramp({3, 8193 + 2 * i}));
    }
    EXPECT_EQ(ExpectAsAlone(members, absl::StrJoin(where, ", "), inputs, 1e-3), 2) << dim;
  }
}

// --- Indices -----------------------------------------------------------------------------

TEST(CudaBlockRanges, AnIndexOutOfBoundsIsFoundInEachNest) {
  const std::vector<Member> members(
      3, {{"f32[9, 5]", "i64[7]"}, "f32[7, 5]", "index_select($0, $1, dim=0)"});
  EmulatedProgram program(Program(members, ""), Options());
  const auto inputs = [](size_t wrong) {
    std::vector<HostTensor> all;
    for (size_t m = 0; m < 3; ++m) {
      all.push_back(Ramp({9, 5}));
      all.push_back(Ints({7}, {0, 8, 3, 3, -1, 2, m == wrong ? 9. : 1.}));
    }
    return all;
  };
  program.ExpectAsReference(inputs(3));
  EXPECT_EQ(CounterOf(program.counters(), "launches"), 1);
  for (size_t m = 0; m < 3; ++m) {
    const auto got = program.Run(inputs(m));
    EXPECT_EQ(got.status().code(), absl::StatusCode::kOutOfRange) << got.status();
    EXPECT_THAT(std::string(got.status().message()), HasSubstr("an index is out of bounds"));
    program.ExpectAsReference(inputs(3));
  }
}

// --- Graphs ------------------------------------------------------------------------------

// Addresses of tables are those of the arena, also where a graph is taken over or the arena has
// moved.
TEST(CudaBlockRanges, RunInGraphs) {
  EmulatedProgram program(R"(
    func @main(%a: f32[s0], %b: f32[s0], %c: f32[s1], %d: f32[s1], %e: f32[s2], %f: f32[s2])
        -> (f32[s0], f32[s1], f32[s2]) where 1 <= s0, 1 <= s1, 1 <= s2 {
      %0, %1, %2 = fused(%a, %b, %c, %d, %e, %f, kind="horizontal") {
        body(%a: f32[s0], %b: f32[s0], %c: f32[s1], %d: f32[s1], %e: f32[s2], %f: f32[s2]) {
          %0 = sub(%a, %b)
          %1 = sub(%c, %d)
          %2 = sub(%e, %f)
          return %0, %1, %2
        }
      }
      %3, %4, %5 = fused(%0, %1, %2, kind="horizontal") {
        body(%x: f32[s0], %y: f32[s1], %z: f32[s2]) {
          %0 = exp(%x)
          %1 = exp(%y)
          %2 = exp(%z)
          return %0, %1, %2
        }
      }
      return %3, %4, %5
    })",
                          Options("on"));
  for (int run = 0; run < 30; ++run) {
    Emulated().emulation.seed(run);
    const int64_t n = 1 + 2 * (run / 3);
    program.ExpectAsReference(Pairs({n, n + 2, 300 * n + 1}, run));
    if (run == 0) {
      EXPECT_EQ(CounterOf(program.counters(), "launches"), 2);
    }
  }
  EXPECT_EQ(CounterOf(program.counters(), "graph_launches"), 20);
  EXPECT_GE(CounterOf(program.counters(), "graph_updates"), 2);
}

// --- Random members ----------------------------------------------------------------------

TEST(CudaBlockRanges, RandomMembersAreAsAlone) {
  constexpr const char* kOps[] = {
      "exp($0)",          "mul($0, $0)",       "softmax($0, dim=-1)", "softmax($0, dim=0)",
      "sum($0, dim=[1])", "amax($0, dim=[0])", "argmax($0, dim=1)",   "permute($0, dims=[1, 0])"};
  constexpr int64_t kSizes[] = {0, 1, 2, 3, 4, 8, 17, 32, 100, 257};
  for (unsigned seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto pick = [&](const auto& of) { return of[random() % std::size(of)]; };
    std::vector<Member> members;
    std::vector<HostTensor> inputs;
    std::vector<std::string> ops;
    for (int i = 0; i < 3; ++i) ops.push_back(pick(kOps));
    for (unsigned m = 3 + random() % 6; m > 0; --m) {
      const std::string op = ops[random() % ops.size()];
      int64_t n = pick(kSizes);
      int64_t k = pick(kSizes);
      const bool reduces = op[0] != 'e' && op[0] != 'm' && op[0] != 'p';
      if (reduces) n = std::max<int64_t>(n, 1), k = std::max<int64_t>(k, 1);
      std::string result = absl::StrCat("f32[", n, ", ", k, "]");
      if (op[0] == 'p') result = absl::StrCat("f32[", k, ", ", n, "]");
      if (op.find("sum(") == 0) result = absl::StrCat("f32[", n, "]");
      if (op.find("amax") == 0) result = absl::StrCat("f32[", k, "]");
      if (op.find("argmax") == 0) result = absl::StrCat("i64[", n, "]");
      members.push_back({{absl::StrCat("f32[", n, ", ", k, "]")}, result, op});
      inputs.push_back(Ramp({n, k}));
    }
    Emulated().emulation.seed(seed);
    ExpectAsAlone(members, "", inputs, 1e-4);
  }
}

// --- Launches ----------------------------------------------------------------------------

struct Shape {
  size_t nests;
  unsigned blocks;
  unsigned threads;
};

bool operator==(const Shape& a, const Shape& b) {
  return a.nests == b.nests && a.blocks == b.blocks && a.threads == b.threads;
}

void PrintTo(const Shape& s, std::ostream* out) {
  *out << s.nests << " nests, " << s.blocks << " x " << s.threads;
}

// The launches of the plan's first step, after `change`. Symbols are those of the example sizes.
std::vector<Shape> LaunchesOf(const std::string& text, void (*change)(Plan*) = nullptr) {
  const auto module = Parse(text);
  auto plan = Lower(*module->main(), CudaTarget());
  EXPECT_TRUE(plan.ok()) << plan.status();
  if (change != nullptr) change(&*plan);
  const auto unit = EmitCuda({&plan->kernels[0]});
  EXPECT_TRUE(unit.ok()) << unit.status();
  const std::vector<int64_t> offsets(plan->kernels[0].args.size());
  SymbolEnv env(FactsOf(*plan));
  const ExampleSizes sizes(*plan);
  for (const auto& [symbol, value] : sizes.values()) env.Define({symbol}, {value});
  const auto launches = MakeLaunches(unit->kernels[0], *plan, plan->steps[0], env, offsets, 100);
  EXPECT_TRUE(launches.ok()) << launches.status();
  std::vector<Shape> shapes;
  for (const KernelLaunch& l : *launches) {
    shapes.push_back({l.nests.size(), l.shape.blocks, l.shape.threads});
  }
  return shapes;
}

TEST(CudaBlockRanges, ALaunchHasTheBlocksOfItsNests) {
  EXPECT_THAT(
      LaunchesOf(Program({Difference1d("4096"), Difference1d("8"), Difference1d("1048580")}, "")),
      ElementsAre(Shape{3, 4 + 1 + 1025, 256}));
  // A nest alone has as many threads as it needs.
  EXPECT_THAT(LaunchesOf(Program({Difference1d("8"), Difference1d("7")}, "")),
              ElementsAre(Shape{1, 1, 32}, Shape{1, 1, 32}));
  EXPECT_THAT(LaunchesOf(Program({Difference1d("100000000"), Difference1d("4")}, "")),
              ElementsAre(Shape{2, 3200 + 1, 256}));
}

std::vector<size_t> NestsOf(const std::vector<Shape>& launches) {
  std::vector<size_t> nests;
  for (const Shape& shape : launches) nests.push_back(shape.nests);
  return nests;
}

// 300 nests with eight operands each, of four sizes.
TEST(CudaBlockRanges, AStepOfAnOptimizerHasSixLaunches) {
  constexpr char kStep[] = R"(fused($0, $1, $2, $3, $4, kind="pointwise") {
      body(%p: T, %m: T, %v: T, %g: T, %c: f32[]) {
        %0 = mul(%m, %c)
        %1 = add(%0, %g)
        %2 = mul(%g, %g)
        %3 = add(%v, %2)
        %4 = sqrt(%3)
        %5 = div(%1, %4)
        %6 = sub(%p, %5)
        return %6, %1, %3
      }
    })";
  std::vector<std::string> inputs;
  std::vector<std::string> operands;
  std::vector<std::string> results;
  std::vector<std::string> types;
  std::string body;
  for (int m = 0; m < 300; ++m) {
    const std::string type =
        m % 4 == 0 ? "f32[384, 128]" : absl::StrCat("f32[", 128 * (m % 4), "]");
    std::string step = absl::StrReplaceAll(kStep, {{"T", type}});
    for (int i = 0; i < 5; ++i) {
      operands.push_back(absl::StrCat("%x", m, "_", i));
      inputs.push_back(absl::StrCat(operands.back(), ": ", i == 4 ? "f32[]" : type));
      step = absl::StrReplaceAll(step, {{absl::StrCat("$", i), operands.back()}});
    }
    const std::string made = absl::StrCat("%y", m, "_0, %y", m, "_1, %y", m, "_2");
    results.push_back(made);
    types.insert(types.end(), 3, type);
    absl::StrAppend(&body, made, " = ", step, "\n");
  }
  const std::string all = absl::StrJoin(results, ", ");
  const std::string program = absl::StrCat(
      "func @main(", absl::StrJoin(inputs, ", "), ") -> (", absl::StrJoin(types, ", "), ") {\n",
      all, " = fused(", absl::StrJoin(operands, ", "), ", kind=\"horizontal\") {\nbody(",
      absl::StrJoin(inputs, ", "), ") {\n", body, "return ", all, "\n}\n}\nreturn ", all, "\n}\n");
  EXPECT_THAT(NestsOf(LaunchesOf(program)), ElementsAre(53, 53, 53, 53, 53, 35));
}

// 299 parts of a concatenation, and 26 embedding bags.
TEST(CudaBlockRanges, PartsAndBagsShareLaunches) {
  std::vector<std::string> inputs;
  std::vector<std::string> names;
  std::vector<std::string> parts;
  std::string body;
  for (int i = 0; i < 299; ++i) {
    names.push_back(absl::StrCat("%x", i));
    inputs.push_back(absl::StrCat("%x", i, ": f32[s0, 64]"));
    parts.push_back(absl::StrCat("%r", i));
    absl::StrAppend(&body, parts.back(), " = relu(", names.back(), ")\n");
  }
  const std::string list = absl::StrJoin(inputs, ", ");
  EXPECT_THAT(
      NestsOf(LaunchesOf(absl::StrCat(
          "func @main(", list, ") -> f32[s0, 19136] where 1 <= s0 {\n%0 = fused(",
          absl::StrJoin(names, ", "), ", kind=\"concat\") {\nbody(", list, ") {\n", body,
          "%y = cat(", absl::StrJoin(parts, ", "), ", dim=1)\nreturn %y\n}\n}\nreturn %0\n}\n"))),
      ElementsAre(146, 146, 7));
  const Member bag = {{"f32[10000, 64]", "i64[s0, 4]"},
                      "f32[s0, 64]",
                      R"(fused($0, $1, kind="reduction") {
                           body(%t: f32[10000, 64], %i: i64[s0, 4]) {
                             %0 = index_select(%t, %i, dim=0)
                             %1 = sum(%0, dim=[1])
                             return %1
                           }
                         })"};
  EXPECT_THAT(NestsOf(LaunchesOf(Program(std::vector<Member>(26, bag), "1 <= s0"))),
              ElementsAre(26));
}

// A nest that reads what another one writes, which a file may say, is launched behind it.
TEST(CudaBlockRanges, NestsThatDependStayInOrder) {
  const std::string program =
      Program({Difference1d("8"), Difference1d("8"), Difference1d("8")}, "");
  EXPECT_THAT(LaunchesOf(program), ElementsAre(Shape{3, 3, 256}));
  EXPECT_THAT(LaunchesOf(program,
                         [](Plan* plan) {
                           Step& step = plan->steps[0];
                           step.args[4].buffer = step.results[0].buffer;
                         }),
              ElementsAre(Shape{1, 1, 256}, Shape{1, 1, 256}, Shape{1, 1, 256}));
  // The memory of an input that an output replaces.
  EXPECT_THAT(LaunchesOf(program,
                         [](Plan* plan) {
                           const Step& step = plan->steps[0];
                           plan->buffers[step.results[0].buffer].donor = step.args[5].buffer;
                         }),
              ElementsAre(Shape{1, 1, 256}, Shape{1, 1, 256}, Shape{1, 1, 256}));
  EXPECT_THAT(LaunchesOf(program,
                         [](Plan* plan) {
                           const Step& step = plan->steps[0];
                           plan->buffers[step.results[0].buffer].donor = step.args[1].buffer;
                         }),
              ElementsAre(Shape{3, 3, 256}));
}

}  // namespace
}  // namespace weft::cuda
