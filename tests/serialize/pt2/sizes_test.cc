// Operators whose arguments or results depend on sizes that a program leaves open: one
// import, run at several sizes.
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/reference/executor.h"
#include "gmock/gmock.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"
#include "graph/sym/sym_ops.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "serialize/pt2/pt2.h"
#include "tests/serialize/pt2/program_text.h"

namespace weft::pt2 {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Inputs = std::vector<std::pair<std::string, std::string>>;
using Doubles = std::vector<double>;

const char kS0[] = "Symbol('s0', positive=True, integer=True)";

std::string T(const std::string& name) { return TestProgram::T(name); }

std::string SymInt0(const std::string& name) {
  return absl::StrCat("{\"as_sym_int\":{\"as_name\":\"", name, "\"}}");
}

std::string Aten(const std::string& op, const Inputs& in, const std::vector<std::string>& out) {
  return TestProgram::Node("torch.ops.aten." + op, in, out);
}

// n = x.shape[dim]
std::string SizeNode(const std::string& name, int dim) {
  return Aten("sym_size.int", {{"self", T("x")}, {"dim", absl::StrCat("{\"as_int\":", dim, "}")}},
              {SymInt0(name)});
}

// x: f32[sizes]; ranges of s0 as given.
TestProgram Program(const std::vector<std::string>& sizes, int min = 1) {
  TestProgram p;
  p.inputs = {{"x", 7, sizes}};
  p.ranges = absl::StrCat("{\"s0\":{\"min_val\":", min, ",\"max_val\":200}}");
  return p;
}

absl::StatusOr<std::vector<HostTensor>> RunAt(const TestProgram& p,
                                              const std::vector<HostTensor>& inputs) {
  const auto module = ImportPt2Bytes(p.Archive());
  if (!module.ok()) return module.status();
  return reference::Run(*(*module)->main(), inputs);
}

HostTensor Ramp(std::vector<int64_t> dims) {
  int64_t count = 1;
  for (int64_t d : dims) count *= d;
  Doubles values;
  for (int64_t i = 0; i < count; ++i) values.push_back(std::sin(static_cast<double>(3 * i + 1)));
  return HostTensor::FromDoubles(DType::kF32, dims, values);
}

Doubles First(const TestProgram& p, const HostTensor& x) {
  const auto results = RunAt(p, {x});
  EXPECT_TRUE(results.ok()) << results.status();
  return results.ok() ? (*results)[0].ReadDoubles() : Doubles();
}

TEST(SizesTest, AdaptivePoolingOfAnySize) {
  TestProgram mean = Program({"2", kS0});
  mean.nodes = {Aten("adaptive_avg_pool1d.default",
                     {{"self", T("x")}, {"output_size", "{\"as_ints\":[4]}"}}, {T("y")})};
  mean.values = {{"y", 7, {"2", "4"}}};
  mean.outputs = {"y"};
  TestProgram max = mean;
  max.nodes = {Aten("adaptive_max_pool1d.default",
                    {{"self", T("x")}, {"output_size", "{\"as_ints\":[4]}"}}, {T("y"), T("at")})};
  max.outputs = {"y", "at"};
  for (int64_t n : {1, 3, 4, 7, 8, 13}) {
    const HostTensor x = Ramp({2, n});
    const Doubles in = x.ReadDoubles();
    Doubles means, maxima, places;
    for (int64_t i = 0; i < 8; ++i) {
      const int64_t begin = i % 4 * n / 4;
      const int64_t end = (i % 4 * n + n + 3) / 4;
      const auto row = in.begin() + i / 4 * n;
      double sum = 0;
      for (int64_t k = begin; k < end; ++k) sum += row[k];
      means.push_back(sum / static_cast<double>(end - begin));
      const auto best = std::max_element(row + begin, row + end);
      maxima.push_back(*best);
      places.push_back(static_cast<double>(best - row));
    }
    EXPECT_THAT(First(mean, x), testing::Pointwise(testing::DoubleNear(1e-6), means)) << n;
    const auto found = RunAt(max, {x});
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ((*found)[0].ReadDoubles(), maxima) << n;
    EXPECT_EQ((*found)[1].ReadDoubles(), places) << n;
  }
}

TEST(SizesTest, RollsBySizes) {
  TestProgram p = Program({kS0});
  p.nodes = {SizeNode("n", 0),
             TestProgram::Node("_operator.floordiv", {{"", SymInt0("n")}, {"", "{\"as_int\":3}"}},
                               {SymInt0("third")}),
             Aten("roll.default",
                  {{"self", T("x")},
                   {"shifts", "{\"as_sym_ints\":[{\"as_name\":\"third\"}]}"},
                   {"dims", "{\"as_ints\":[0]}"}},
                  {T("y")}),
             Aten("fft_fftshift.default", {{"self", T("x")}}, {T("z")})};
  p.outputs = {"y", "z"};
  for (int64_t n : {1, 2, 5, 9}) {
    const HostTensor x = Ramp({n});
    const auto found = RunAt(p, {x});
    ASSERT_TRUE(found.ok()) << found.status();
    Doubles by_third = x.ReadDoubles(), by_half = by_third;
    std::rotate(by_third.begin(), by_third.end() - n / 3, by_third.end());
    std::rotate(by_half.begin(), by_half.end() - n / 2, by_half.end());
    EXPECT_EQ((*found)[0].ReadDoubles(), by_third) << n;
    EXPECT_EQ((*found)[1].ReadDoubles(), by_half) << n;
  }
}

// The file names three parts: sizes that make two or four are refused.
TEST(SizesTest, ChunksAsManyAsTheFileNames) {
  TestProgram p = Program({kS0});
  p.nodes = {Aten("chunk.default", {{"self", T("x")}, {"chunks", "{\"as_int\":3}"}},
                  {"{\"as_tensors\":[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"c\"}]}"})};
  p.outputs = {"a", "b", "c"};
  for (int64_t n : {3, 5, 7, 9, 100}) {
    const auto found = RunAt(p, {Ramp({n})});
    ASSERT_TRUE(found.ok()) << found.status();
    const int64_t size = (n + 2) / 3;
    EXPECT_EQ((*found)[0].dim(0), size);
    EXPECT_EQ((*found)[1].dim(0), size);
    EXPECT_EQ((*found)[2].dim(0), n - 2 * size);
  }
  for (int64_t n : {1, 2, 4}) {
    EXPECT_THAT(std::string(RunAt(p, {Ramp({n})}).status().message()),
                HasSubstr("the number of parts"))
        << n;
  }
  TestProgram split = p;
  split.nodes = {Aten("split.Tensor", {{"self", T("x")}, {"split_size", "{\"as_int\":4}"}},
                      {"{\"as_tensors\":[{\"name\":\"a\"},{\"name\":\"b\"}]}"})};
  split.outputs = {"a", "b"};
  EXPECT_TRUE(RunAt(split, {Ramp({5})}).ok());
  EXPECT_TRUE(RunAt(split, {Ramp({8})}).ok());
  EXPECT_FALSE(RunAt(split, {Ramp({4})}).ok());
  EXPECT_FALSE(RunAt(split, {Ramp({9})}).ok());
}

TEST(SizesTest, TensorSplitOfAnySize) {
  TestProgram p = Program({kS0});
  p.nodes = {Aten("tensor_split.sections", {{"self", T("x")}, {"sections", "{\"as_int\":3}"}},
                  {"{\"as_tensors\":[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"c\"}]}"})};
  p.outputs = {"a", "b", "c"};
  for (int64_t n : {1, 2, 5, 7, 9}) {
    const auto found = RunAt(p, {Ramp({n})});
    ASSERT_TRUE(found.ok()) << found.status();
    for (int64_t i = 0; i < 3; ++i) EXPECT_EQ((*found)[i].dim(0), n / 3 + (i < n % 3)) << n;
  }
}

// arange(start, end, step) with end = n / 2 as a float of the program.
TestProgram RangeProgram(const std::string& start, const std::string& step, bool by_size) {
  TestProgram p = Program({kS0});
  const std::string half = "{\"as_sym_float\":{\"as_name\":\"half\"}}";
  p.nodes = {
      SizeNode("n", 0),
      TestProgram::Node("_operator.truediv", {{"", SymInt0("n")}, {"", "{\"as_int\":2}"}}, {half}),
      TestProgram::Node("_operator.truediv", {{"", "{\"as_int\":1}"}, {"", SymInt0("n")}},
                        {"{\"as_sym_float\":{\"as_name\":\"part\"}}"}),
      Aten("arange.start_step",
           {{"start", start},
            {"end", by_size ? "{\"as_int\":1}" : half},
            {"step", by_size ? "{\"as_sym_float\":{\"as_name\":\"part\"}}" : step}},
           {T("y")})};
  p.outputs = {"y"};
  return p;
}

void CheckRange(const TestProgram& p, int64_t n, double start, double end, double step) {
  const auto count = static_cast<int64_t>(std::max(std::ceil((end - start) / step), 0.0));
  Doubles want;
  for (int64_t i = 0; i < count; ++i) {
    want.push_back(static_cast<float>(start + static_cast<double>(i) * step));
  }
  EXPECT_THAT(First(p, Ramp({n})), testing::Pointwise(testing::DoubleNear(1e-6), want)) << n;
}

TEST(SizesTest, RangesOfFloats) {
  const TestProgram up = RangeProgram("{\"as_int\":0}", "{\"as_float\":0.5}", false);
  const TestProgram thirds = RangeProgram("{\"as_float\":0.25}", "{\"as_float\":0.75}", false);
  // Steps that no fraction stands for: the number of values is data.
  const TestProgram odd = RangeProgram("{\"as_int\":0}", "{\"as_float\":0.7}", false);
  const TestProgram parts = RangeProgram("{\"as_int\":0}", "", true);
  for (int64_t n : {1, 2, 7, 10, 33, 49, 100}) {
    const auto size = static_cast<double>(n);
    CheckRange(up, n, 0, size / 2, 0.5);
    CheckRange(thirds, n, 0.25, size / 2, 0.75);
    CheckRange(odd, n, 0, size / 2, 0.7);
    CheckRange(parts, n, 0, 1, 1 / size);
  }
  const auto module = ImportPt2Bytes(up.Archive());
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ((*module)->main()->output(0)->type().dim(0), SymInt::Symbol("s0"));
}

// An image of one row whose s0 points are resized by a factor.
TestProgram Resized(const std::string& factor) {
  TestProgram p = Program({"1", "1", kS0}, 2);
  const std::string scale = absl::StrCat("{\"as_floats\":[", factor, "]}");
  p.nodes = {
      Aten("upsample_nearest1d.vec",
           {{"input", T("x")}, {"output_size", "{\"as_none\":true}"}, {"scale_factors", scale}},
           {T("y")})};
  p.values = {
      {"y",
       7,
       {"1", "1",
        absl::StrCat("TruncToInt(Mul(Float('", factor, "', precision=53), ToFloat(", kS0, ")))")}}};
  p.outputs = {"y"};
  return p;
}

TEST(SizesTest, ResizesByFactors) {
  const TestProgram p = Resized("1.5");
  const auto module = ImportPt2Bytes(p.Archive());
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ((*module)->main()->output(0)->type().dim(2), FloorDiv(3 * SymInt::Symbol("s0"), 2));
  EXPECT_EQ(First(p, Ramp({1, 1, 5})).size(), 7u);
  EXPECT_EQ(First(p, Ramp({1, 1, 8})).size(), 12u);
}

// 80 * 0.7 is 56 and 90 * 0.7 less than 63, as floats.
TEST(SizesTest, ResizesByFactorsWhoseProductsMissAFraction) {
  TestProgram p = Resized("0.7");
  p.ranges = "{\"s0\":{\"min_val\":2,\"max_val\":100000}}";
  for (const int64_t n : {2, 10, 11, 80, 90, 91, 160, 170, 340, 680, 690, 1360}) {
    EXPECT_EQ(First(p, Ramp({1, 1, n})).size(), std::floor(static_cast<double>(n) * 0.7)) << n;
  }
  // Ranges of sizes that there are none of do not count.
  p.ranges = "{\"s0\":{\"min_val\":2,\"max_val\":150}}";
  const auto module = ImportPt2Bytes(p.Archive());
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ((*module)->main()->output(0)->type().dim(2).ToString(),
            "(7*s0 - max(s0 >= 85 and s0 <= 90, s0 >= 45 and s0 <= 45)) // 10");
}

// Guards that torch.export writes for windows have a dozen alternatives. One that leaves
// 64 bits says nothing, and the others stay.
TEST(SizesTest, LargeGuardsAreChecked) {
  TestProgram p = Program({kS0}, 5);
  const std::string n = "L['x'].size()[0]";
  std::string large;
  for (int i = 0; i < 12; ++i) {
    absl::StrAppend(&large, i == 0 ? "" : " or ", "(", n, " % ", 100 + i, ") == ", i + 1);
  }
  absl::StrAppend(&large, " or ", n, " > 9");
  p.extra = absl::StrCat(R"(,"guards_code":[")", large, R"(",")", n, R"( != 11",")", n,
                         R"(*9223372036854775807*4 > 1"])");
  p.nodes = {Aten("neg.default", {{"self", T("x")}}, {T("y")})};
  p.outputs = {"y"};
  EXPECT_TRUE(RunAt(p, {Ramp({10})}).ok());
  EXPECT_TRUE(RunAt(p, {Ramp({7})}).ok());
  EXPECT_FALSE(RunAt(p, {Ramp({11})}).ok());
  p.extra = absl::StrCat(R"(,"guards_code":[")", n, " > 4 and (", large, ")\"]");
  EXPECT_TRUE(RunAt(p, {Ramp({10})}).ok());
  p.ranges = "{\"s0\":{\"min_val\":1,\"max_val\":200}}";
  EXPECT_FALSE(RunAt(p, {Ramp({4})}).ok());
}

TEST(SizesTest, RowsOfGroupsTimesMatrices) {
  TestProgram p = Program({kS0, "2"});
  p.inputs.push_back({"w", 7, {"3", "2", "2"}});
  p.inputs.push_back({"ends", 4, {"3"}});
  const Inputs in = {{"input", T("x")}, {"weight", T("w")}, {"offs", T("ends")}};
  p.nodes = {TestProgram::Node("torch.ops.transformers.grouped_mm_fallback.default", in, {T("y")})};
  p.values = {{"y", 7, {kS0, "2"}}};
  p.outputs = {"y"};
  // Group i doubles, swaps, or negates.
  const HostTensor w =
      HostTensor::FromDoubles(DType::kF32, {3, 2, 2}, {2, 0, 0, 2, 0, 1, 1, 0, -1, 0, 0, -1});
  const HostTensor x =
      HostTensor::FromDoubles(DType::kF32, {5, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  const auto run = [&](std::vector<int64_t> ends) {
    return RunAt(p, {x, w, HostTensor::FromInts(DType::kI32, {3}, ends)});
  };
  const auto found = run({2, 2, 4});
  ASSERT_TRUE(found.ok()) << found.status();
  // The last row is in no group.
  EXPECT_THAT((*found)[0].ReadDoubles(), ElementsAre(2, 4, 6, 8, -5, -6, -7, -8, 0, 0));
  const auto all = run({0, 3, 5});
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_THAT((*all)[0].ReadDoubles(), ElementsAre(2, 1, 4, 3, 6, 5, -7, -8, -9, -10));
  EXPECT_THAT(std::string(run({3, 2, 5}).status().message()), HasSubstr("ends of groups"));
  EXPECT_THAT(std::string(run({2, 3, 6}).status().message()), HasSubstr("ends of groups"));
}

}  // namespace
}  // namespace weft::pt2
