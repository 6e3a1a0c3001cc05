// The command line of trace, run as a program.
#include "gmock/gmock.h"
#include "tests/tools/tool_test.h"

namespace weft {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class TraceTest : public ToolTest {
 protected:
  TraceTest() : ToolTest("trace") {
    Write("a.json", Trace("relu", 4));
    Write("b.json", Trace("gelu", 8));
  }

  static std::string Trace(const std::string& other, int dur) {
    return R"({"schemaVersion": 1, "displayTimeUnit": "ms", "traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "matmul", "pid": 1, "tid": 1, "ts": 1.000, "dur": )" +
           std::to_string(dur) + R"(, "args": {"Flops": 4000, "Provenance": ["fc1", "act"]}},
{"ph": "X", "cat": "cpu_op", "name": ")" +
           other + R"(", "pid": 1, "tid": 1, "ts": 20.000, "dur": 1.500},
{"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": 21.0,
 "args": {"Bytes": 64, "Addr": 4096, "Total Allocated": 64}}
]})";
  }
};

TEST_F(TraceTest, Summary) {
  EXPECT_EQ(Run("summary a.json"), 0);
  EXPECT_THAT(out_, AllOf(StartsWith("3 events in 20.500us\n"), HasSubstr("2 cpu_op spans"),
                          HasSubstr("memory: peak 64 B"), HasSubstr("matmul")));
  // A pipe gets no progress.
  EXPECT_EQ(err_, "");
}

TEST_F(TraceTest, Top) {
  EXPECT_EQ(Run("top --limit=1 --peak-gflops=10 a.json"), 0);
  EXPECT_THAT(out_, AllOf(HasSubstr("matmul"), Not(HasSubstr("relu")), HasSubstr("10.00%"),
                          HasSubstr("(1 more rows)")));
  EXPECT_EQ(Run("top --by=provenance a.json"), 0);
  EXPECT_THAT(out_, AllOf(HasSubstr("fc1, act"), Not(HasSubstr("matmul"))));
  EXPECT_EQ(Run("top --sort=name -o table.txt a.json"), 0);
  EXPECT_THAT(Read("table.txt"), HasSubstr("relu"));
}

TEST_F(TraceTest, Diff) {
  EXPECT_EQ(Run("diff a.json b.json"), 0);
  EXPECT_THAT(out_, AllOf(HasSubstr("1 slower, 0 faster, 1 appeared, 1 went, 0 equal"),
                          HasSubstr("4.000us -> 8.000us (x2.00)  matmul"), HasSubstr("gelu"),
                          HasSubstr("relu")));
  EXPECT_EQ(Run("diff --threshold=2 a.json b.json"), 0);
  EXPECT_THAT(out_, HasSubstr("0 slower"));
}

TEST_F(TraceTest, ConvertThereAndBack) {
  EXPECT_EQ(Run("convert a.json c.pftrace"), 0);
  EXPECT_EQ(Run("convert c.pftrace d.json.gz"), 0);
  EXPECT_EQ(Run("top d.json.gz"), 0);
  const std::string back = out_;
  EXPECT_EQ(Run("top a.json"), 0);
  EXPECT_EQ(back, out_);
  EXPECT_EQ(Run("convert a.json e.folded"), 0);
  EXPECT_EQ(Read("e.folded"), "matmul 4000\nrelu 1500\n");
  EXPECT_EQ(Run("convert a.json e.csv"), 0);
  EXPECT_THAT(Read("e.csv"), HasSubstr("21.000,64,"));
  EXPECT_EQ(Run("convert --max-bytes=300 a.json parts.json"), 0);
  EXPECT_TRUE(Exists("parts.2.json"));
}

TEST_F(TraceTest, Validate) {
  EXPECT_EQ(Run("validate a.json"), 0);
  EXPECT_EQ(out_, "3 events, 0 problems\n");
  Write("bad.json", "[{\"ph\": \"X\", \"ts\": 1}]");
  EXPECT_EQ(Run("validate bad.json"), 1);
  EXPECT_THAT(out_, HasSubstr("event 1: no name"));
}

TEST_F(TraceTest, PathsAreTheUsers) {
  EXPECT_EQ(RunFrom("below", "convert a.json below/c.pftrace"), 0);
  EXPECT_TRUE(Exists("below/c.pftrace"));
}

TEST_F(TraceTest, Errors) {
  EXPECT_EQ(Run(""), 2);
  EXPECT_EQ(err_, "trace: error: expected a command and a trace; --help shows how\n");
  EXPECT_EQ(Run("sumary a.json"), 2);
  EXPECT_EQ(err_, "trace: error: unknown command \"sumary\"; did you mean summary?\n");
  EXPECT_EQ(Run("diff a.json"), 2);
  EXPECT_EQ(err_, "trace: error: diff takes two traces; --help shows how\n");
  EXPECT_EQ(Run("summary none.json"), 2);
  EXPECT_EQ(err_, "trace: error: cannot open none.json: No such file or directory\n");
  EXPECT_EQ(Run("top --by=color a.json"), 2);
  EXPECT_EQ(err_, "trace: error: --by takes name, shapes, provenance or step, not \"color\"\n");
  EXPECT_EQ(Run("top --sort=color a.json"), 2);
  EXPECT_THAT(err_, HasSubstr("cannot sort by \"color\""));
  EXPECT_EQ(Run("top --by=provenance in.weft"), 2);
  EXPECT_THAT(err_, StartsWith("trace: error: in.weft: byte "));
  EXPECT_EQ(Run("convert a.json b.txt"), 2);
  EXPECT_THAT(err_, HasSubstr("cannot tell the format of b.txt"));
  EXPECT_EQ(out_, "");
}

}  // namespace
}  // namespace weft
