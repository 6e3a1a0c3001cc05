// Layers of two models that stand for the same source nodes, and what their values differ by.
#include "api/inspect/numeric_diff.h"

#include <cmath>

#include "api/inspect/graph_view.h"
#include "api/inspect/layer_report.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/parse.h"

namespace weft {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr char kFloat[] = R"(
func @main(%x: f32[4]) -> (%y: f32[4]) {
  %0 = neg(%x) loc("first")
  %1 = relu(%0) loc("second")
  %2 = neg(%1) loc("third")
  return %2
})";

// The second layer is rounded to steps of 0.5, between two nodes of its own.
constexpr char kQuantized[] = R"(
func @main(%x: f32[4]) -> (%y: f32[4]) {
  %s = constant(dense<0.5>) : f32[]
  %0 = neg(%x) loc("first")
  %1 = relu(%0) loc("second")
  %2 = quantize_linear(%1, %s, none, dtype=i8) loc("second")
  %3 = dequantize_linear(%2, %s, none) loc("second")
  %4 = neg(%3) loc("third")
  return %4
})";

std::vector<LayerRow> Rows(const char* before, const char* after,
                           const std::vector<double>& values) {
  const auto a = Parse(before);
  const auto b = Parse(after);
  NumericDiff diff(*a, *b);
  // In two batches, so that sums are over both.
  for (double sign : {1.0, -1.0}) {
    std::vector<double> batch = values;
    for (double& v : batch) v *= sign;
    const absl::Status status = diff.AddBatch({HostTensor::FromDoubles(DType::kF32, {4}, batch)});
    EXPECT_TRUE(status.ok()) << status;
  }
  return diff.Rows();
}

TEST(NumericDiffTest, ErrorsOfLayersAndOutputs) {
  const auto rows = Rows(kFloat, kQuantized, {-1, -2.125, 0, 0});
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].name, "first");
  EXPECT_EQ(rows[0].op, "neg");
  EXPECT_TRUE(std::isinf(rows[0].sqnr_db));
  EXPECT_EQ(rows[0].max_error, 0);
  EXPECT_DOUBLE_EQ(rows[0].cosine, 1);
  // 1 and 2.125 became 1 and 2; the batch of the other sign is 0 in both.
  EXPECT_EQ(rows[1].name, "second");
  const double signal = 1 + 2.125 * 2.125;
  EXPECT_THAT(rows[1].sqnr_db, DoubleNear(10 * std::log10(signal / (0.125 * 0.125)), 1e-9));
  EXPECT_THAT(rows[1].cosine, DoubleNear(5.25 / std::sqrt(signal * 5), 1e-9));
  EXPECT_EQ(rows[1].max_error, 0.125);
  EXPECT_EQ(rows[2].name, "third");
  EXPECT_EQ(rows[3].state, "output");
  EXPECT_EQ(rows[3].name, "y");
  EXPECT_EQ(rows[3].max_error, 0.125);
}

// A fused node stands for the last of its source nodes.
TEST(NumericDiffTest, FusedNodesMeetTheLastOfTheirSources) {
  const auto rows = Rows(kFloat, R"(
func @main(%x: f32[4]) -> (%y: f32[4]) {
  %0 = sigmoid(%x) loc("first", "second")
  %1 = neg(%0) loc("third")
  return %1
})",
                         {1, 2, 3, 4});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].name, "second");
  EXPECT_EQ(rows[0].op, "relu");
}

TEST(NumericDiffTest, InputsByNameAndInitialValues) {
  const auto before = Parse(R"(
func @main(%x: f32[2]) {
  %0 = mul(%x, %x) loc("square")
  return %0
})");
  const auto after = Parse(R"(
func @main(%state: f32[2] {initial=dense<[1.0, 2.0]>}, %x: f32[2]) {
  %0 = mul(%x, %state) loc("square")
  return %0
})");
  NumericDiff diff(*before, *after);
  ASSERT_TRUE(diff.AddBatch({HostTensor::FromDoubles(DType::kF32, {2}, {1, 2})}).ok());
  EXPECT_EQ(diff.Rows()[0].max_error, 0);
  NumericDiff back(*after, *before);
  const HostTensor x = HostTensor::FromDoubles(DType::kF32, {2}, {1, 3});
  ASSERT_TRUE(back.AddBatch({HostTensor(), x}).ok());
  EXPECT_EQ(back.Rows()[0].max_error, 3);
  const auto other = Parse("func @main(%z: f32[2]) {\n  return %z\n}");
  NumericDiff none(*before, *other);
  EXPECT_THAT(std::string(none.AddBatch({x}).message()),
              HasSubstr("the second model: input \"z\" has no value"));
}

TEST(NumericDiffTest, ShapesMayDiffer) {
  const auto rows = Rows(kFloat, R"(
func @main(%x: f32[4]) -> (%y: f32[4]) {
  %0 = reshape(%x, size=[2, 2]) loc("first")
  %1 = reshape(%0, size=[4]) loc("third")
  return %1
})",
                         {1, 2, 3, 4});
  EXPECT_EQ(rows[0].reason, "shapes differ: [4] and [2, 2]");
  EXPECT_TRUE(std::isnan(rows[0].sqnr_db));
}

// --- Reports -----------------------------------------------------------------

LayerReport Sample() {
  LayerReport report;
  report.title = "a <b>";
  report.facts = {{"policy", "x86"}};
  LayerRow row;
  row.name = "conv\"1";
  row.op = "convolution";
  row.state = "quantized";
  row.sqnr_db = 31.5;
  row.bytes_before = 400;
  row.bytes_after = 100;
  report.rows.push_back(row);
  row = LayerRow();
  row.name = "fc";
  row.op = "linear";
  row.state = "float";
  row.reason = "excluded";
  row.sqnr_db = INFINITY;
  report.rows.push_back(row);
  return report;
}

TEST(LayerReportTest, TablesHaveTheColumnsThatAreUsed) {
  EXPECT_EQ(ToTable(Sample()),
            "layer   op           state      SQNR dB  bytes before  bytes after  why\n"
            "conv\"1  convolution  quantized     31.5           400          100\n"
            "fc      linear       float          inf                             excluded\n");
}

TEST(LayerReportTest, JsonHasNullForWhatWasNotMeasured) {
  const auto json = nlohmann::json::parse(ToJson(Sample()));
  EXPECT_EQ(json["facts"]["policy"], "x86");
  EXPECT_EQ(json["layers"][0]["sqnr_db"], 31.5);
  EXPECT_TRUE(json["layers"][0]["cosine"].is_null());
  EXPECT_EQ(json["layers"][1]["sqnr_db"], "inf");
  EXPECT_EQ(json["layers"][1]["reason"], "excluded");
}

TEST(LayerReportTest, NamesAreNoMarkup) {
  const std::string page = ToHtml(Sample(), "<p class=\"x\">picture</p>");
  EXPECT_THAT(page, HasSubstr("a &lt;b&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("<b>")));
  EXPECT_THAT(page, HasSubstr("<td>conv&quot;1</td>"));
  EXPECT_THAT(page, HasSubstr("data-v=\"Infinity\">inf</td>"));
  EXPECT_THAT(page, HasSubstr("srcdoc=\"&lt;p class=&quot;x&quot;&gt;picture&lt;/p&gt;\""));
  EXPECT_THAT(ToHtml(Sample(), ""), Not(HasSubstr("<iframe")));
}

TEST(LayerReportTest, PicturesColourLayersByTheirError) {
  const auto module = Parse(kFloat);
  GraphRecorder recorder("m");
  ASSERT_TRUE(recorder.Start(*module).ok());
  recorder.AddError("second", 40);
  recorder.AddError("third", std::nan(""));
  const std::string page = recorder.Html();
  const std::string begin = "id=\"data\">\n";
  const size_t at = page.find(begin) + begin.size();
  const auto data = nlohmann::json::parse(page.substr(at, page.find("</script>", at) - at));
  EXPECT_EQ(data["errors"], true);
  ASSERT_EQ(data["kernels"]["us"].size(), 1u);
  EXPECT_DOUBLE_EQ(data["kernels"]["us"][0].get<double>(), 1e-4);
}

}  // namespace
}  // namespace weft
