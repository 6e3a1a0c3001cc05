// Summary, diff and validation of traces.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler/analysis/diff.h"
#include "profiler/analysis/summary.h"
#include "profiler/analysis/validate.h"
#include "profiler/read/read.h"
#include "tests/profiler/sample_trace.h"

namespace weft::profiler {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(SummaryTest, SaysWhatIsThere) {
  Summary summary({});
  Trace trace = SampleTrace();
  trace.tracks[0].num_lost = 5;
  ASSERT_TRUE(ExportTrace(trace, summary).ok());
  const std::string text = *summary.Text();
  EXPECT_THAT(text,
              AllOf(HasSubstr("events in 11.000us, 1 steps\n"), HasSubstr("  4 cpu_op spans\n"),
                    HasSubstr("  3 cpu_instant_event instants\n"), HasSubstr("lost: 5 events"),
                    HasSubstr("memory: peak 1.00 KB at 1.100us "
                              "(activation 1.00 KB)"),
                    HasSubstr("convolution"), Not(HasSubstr("not in order"))));
}

KeyAverages AveragesOf(const Trace& trace) {
  KeyAverages averages;
  EXPECT_TRUE(ExportTrace(trace, averages).ok());
  return averages;
}

TEST(DiffTest, EqualTraces) {
  const KeyAverages averages = AveragesOf(SampleTrace());
  const TraceDiff diff = DiffTraces(averages, averages);
  EXPECT_TRUE(diff.equal());
  EXPECT_EQ(diff.num_equal, 4);
  EXPECT_EQ(diff.ToString(),
            "self time: 12.000us -> 12.000us; 0 slower, 0 faster, 0 appeared, 0 went, 4 equal\n");
}

TEST(DiffTest, SlowerFasterAppearedWent) {
  Trace after = SampleTrace();
  for (Event& event : after.events) {
    const std::string& name = after.NameOf(event);
    if (name == "convolution") event.value = 4900;  // Of its own: 3,000 to 3,900.
    if (name == "work") event.value = 500;
  }
  after.names[3] = "transpose";  // Was reshape.
  const TraceDiff diff = DiffTraces(AveragesOf(SampleTrace()), AveragesOf(after));
  ASSERT_EQ(diff.slower.size(), 1u);
  EXPECT_EQ(diff.slower[0].after.name, "convolution");
  EXPECT_EQ(diff.slower[0].cost_ns, 900);
  ASSERT_EQ(diff.faster.size(), 2u);
  EXPECT_EQ(diff.faster[0].after.name, "work");
  EXPECT_EQ(diff.faster[1].after.name, "ProfilerStep*");
  ASSERT_EQ(diff.appeared.size(), 1u);
  EXPECT_EQ(diff.appeared[0].after.name, "transpose");
  EXPECT_EQ(diff.appeared[0].cost_ns, 1500);
  ASSERT_EQ(diff.went.size(), 1u);
  EXPECT_EQ(diff.went[0].before.name, "reshape");
  EXPECT_EQ(diff.went[0].cost_ns, -1500);
  EXPECT_THAT(
      diff.ToString(),
      AllOf(HasSubstr("slower:\n        +0.900 us  3.000us -> 3.900us (x1.30)  convolution\n"),
            HasSubstr("went:\n        -1.500 us  2 x 0.750us  reshape\n")));
  EXPECT_THAT(diff.ToString(1), HasSubstr("(1 more)"));
}

TEST(DiffTest, ThresholdAndTotals) {
  Trace after = SampleTrace();
  for (Event& event : after.events) {
    if (after.NameOf(event) == "work") event.value += 20;  // 1 %.
  }
  TraceDiffOptions options;
  EXPECT_TRUE(DiffTraces(AveragesOf(SampleTrace()), AveragesOf(after), options).equal());
  options.threshold = 0.005;
  EXPECT_EQ(DiffTraces(AveragesOf(SampleTrace()), AveragesOf(after), options).slower.size(), 1u);
  // One more call makes the total larger, not the calls slower.
  Trace more = SampleTrace();
  more.events.push_back(more.events.back());
  more.events.back().time += 1000;
  more.events.back().value = 750;  // As the average.
  options.threshold = 0.05;
  const auto reshapes = [&] {
    int count = 0;
    for (const auto& change :
         DiffTraces(AveragesOf(SampleTrace()), AveragesOf(more), options).slower) {
      count += change.after.name == "reshape";
    }
    return count;
  };
  EXPECT_EQ(reshapes(), 0);
  options.by_total = true;
  EXPECT_EQ(reshapes(), 1);
}

std::string ProblemsOf(absl::string_view json) {
  Validator validator;
  const absl::Status status = ReadTraceBytes(json, "t", validator);
  EXPECT_TRUE(status.ok()) << status;
  return validator.Text();
}

TEST(ValidateTest, WeftsTracesAreGood) {
  for (const Trace& trace : {SampleTrace(), HostileTrace()}) {
    Validator validator;
    ASSERT_TRUE(ExportTrace(trace, validator).ok());
    EXPECT_EQ(validator.num_problems(), 0) << validator.Text();
  }
}

TEST(ValidateTest, NamesProblems) {
  EXPECT_EQ(ProblemsOf("[]"),
            "the header has no schemaVersion\nthe header has no displayTimeUnit\n"
            "0 events, 2 problems\n");
  const auto with = [](const std::string& events) {
    return ProblemsOf("{\"schemaVersion\": 1, \"displayTimeUnit\": \"ms\", \"traceEvents\": [" +
                      events + "]}");
  };
  EXPECT_THAT(with("{\"ph\":\"Q\",\"name\":\"a\"}"), HasSubstr("event 1: the phase 'Q'"));
  EXPECT_THAT(with("{\"ph\":\"X\"}"), HasSubstr("event 1: no name"));
  EXPECT_THAT(with("{\"ph\":\"X\",\"name\":\"a\",\"ts\":-1}"), HasSubstr("a time before 0"));
  EXPECT_THAT(with("{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":5},"
                   "{\"ph\":\"X\",\"name\":\"b\",\"ts\":3,\"dur\":5}"),
              HasSubstr("event 2: \"b\" begins within a span"));
  EXPECT_THAT(with("{\"ph\":\"s\",\"name\":\"a\",\"id\":4}"), HasSubstr("1 flows have"));
  EXPECT_THAT(with("{\"ph\":\"f\",\"name\":\"a\",\"id\":4},{\"ph\":\"s\",\"name\":\"a\",\"id\":4}"),
              HasSubstr(" 0 problems"));
  EXPECT_THAT(with("{\"ph\":\"i\",\"name\":\"[memory]\",\"args\":{\"Bytes\":1,\"Addr\":2}}"),
              HasSubstr("without Total Allocated"));
  std::string many = "{\"ph\":\"X\"}";
  for (int i = 0; i < 99; ++i) many += ",{\"ph\":\"X\"}";
  EXPECT_THAT(with(many), AllOf(HasSubstr("(80 more)"), HasSubstr("100 problems")));
}

}  // namespace
}  // namespace weft::profiler
