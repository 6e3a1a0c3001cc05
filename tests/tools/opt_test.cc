// The command line of opt, run as a program.
#include <cstdlib>
#include <regex>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "onnx/onnx_pb.h"
#include "tests/tools/tool_test.h"

namespace weft {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class OptTest : public ToolTest {
 protected:
  OptTest() : ToolTest("opt") {}

  // Standard output and error go to output_.
  int Opt(const std::string& flags) {
    const int status = Run(flags);
    output_ = absl::StrCat(out_, err_);
    return status;
  }

  std::string output_;
};

TEST_F(OptTest, StopsAtTheRewriteLimit) {
  EXPECT_EQ(Opt("--passes=canonicalize --rewrite-limit=0 --emit=text in.weft"), 0);
  EXPECT_THAT(output_, HasSubstr("permute"));
  EXPECT_EQ(Opt("--passes=canonicalize,dce --rewrite-limit=1 --emit=text in.weft"), 0);
  EXPECT_THAT(output_, Not(HasSubstr("permute")));
}

TEST_F(OptTest, RemarksAsRecords) {
  EXPECT_EQ(Opt("--emit= --remarks=passed:canonicalize --remarks-format=json "
                "--remarks-output=r.json in.weft"),
            0);
  EXPECT_EQ(output_, "");
  EXPECT_THAT(Read("r.json"), StartsWith("{\"kind\": \"passed\", \"pass\": \"canonicalize\""));
  EXPECT_EQ(Opt("--emit= --remarks=missed in.weft"), 0);
  EXPECT_EQ(output_, "");
  EXPECT_EQ(Opt("--emit= --budget=1 in.weft"), 0);
  EXPECT_THAT(output_, HasSubstr("budget canonicalize: stopped: the budget is spent, budget=1"));
}

// The keys and tags are those that LLVM's optrecord.py reads.
TEST_F(OptTest, RemarksAsOptimizationRecords) {
  EXPECT_EQ(Opt("--passes=canonicalize,dce --emit= --remarks=passed:canonicalize "
                "--remarks-format=yaml --remarks-output=r.yaml in.weft"),
            0);
  EXPECT_THAT(
      Read("r.yaml"),
      AllOf(StartsWith("--- !Passed\nPass: \"canonicalize\"\nName: \"fold.permute\"\n"
                       "DebugLoc: { File: \"@main\", Line: "),
            HasSubstr(", Column: 0 }\nFunction: \"main\"\nArgs:\n  - \"Op\": \"permute\"\n"),
            EndsWith("\n...\n")));
  EXPECT_EQ(Opt("--emit= --budget=1 --remarks-format=yaml in.weft"), 0);
  EXPECT_THAT(output_, AllOf(HasSubstr("--- !Missed\nPass: \"canonicalize\""),
                             HasSubstr("\n  - \"Kind\": \"budget\"\n  - \"String\": \": \"\n"),
                             HasSubstr("\n  - \"budget\": \"1\"\n")));
  EXPECT_EQ(Opt("--emit= --remarks-format=xml in.weft"), 2);
  EXPECT_THAT(output_, HasSubstr("--remarks-format takes text, json or yaml, not \"xml\""));
}

TEST_F(OptTest, OpsetsOfOnnx) {
  for (const int opset : {17, 21}) {
    EXPECT_EQ(Opt(absl::StrCat("--passes=none --emit=onnx --opset=", opset, " -o o.onnx in.weft")),
              0)
        << output_;
    onnx::ModelProto model;
    ASSERT_TRUE(model.ParseFromString(Read("o.onnx")));
    ASSERT_EQ(model.opset_import_size(), 1);
    EXPECT_EQ(model.opset_import(0).version(), opset);
  }
  EXPECT_EQ(Opt("--emit=text --opset=18 in.weft"), 2);
  EXPECT_THAT(output_, HasSubstr("--opset goes with --emit=onnx"));
  EXPECT_EQ(Opt("--emit=onnx --opset=25 in.weft"), 2);
  EXPECT_THAT(output_, HasSubstr("--opset takes an integer from 17 to 24"));
  Write("f8.weft", "func @main(%x: f8e4m3[3]) -> f32[3] { %y = convert(%x, dtype=f32) return %y }");
  EXPECT_EQ(Opt("--emit=onnx --opset=17 -o none.onnx f8.weft"), 2);
  EXPECT_THAT(output_, HasSubstr("opset 19"));
}

TEST_F(OptTest, AnExpressionThatNamesNoRemarksSaysWhichThereAre) {
  EXPECT_EQ(Opt("--emit= --remarks=pased in.weft"), 0);
  EXPECT_THAT(output_, AllOf(HasSubstr("--remarks=pased names no kind of remark and no pass"),
                             HasSubstr("\n  passed:canonicalize.")));
  EXPECT_EQ(Opt("--passes=none --emit= --remarks=mine in.weft"), 0);
  EXPECT_THAT(output_, HasSubstr("there are no remarks"));
}

TEST_F(OptTest, NearMissesOfUnknownRulesAreAnswered) {
  EXPECT_EQ(Opt("--emit= --near-misses=mul-chainn in.weft"), 0);
  EXPECT_THAT(output_, HasSubstr("--near-misses=mul-chainn: no rule is called \"mul-chainn\", did "
                                 "you mean \"mul-chain"));
  EXPECT_EQ(Opt("--emit= --near-misses='mul-.*' in.weft"), 0);
  EXPECT_THAT(output_, Not(HasSubstr("no rule is called")));
}

TEST_F(OptTest, APlanShowsItsMemory) {
  EXPECT_EQ(Opt("--passes=none --target=cpu --emit=plan in.weft"), 0);
  EXPECT_THAT(output_, HasSubstr("\n}\n// memory"));
}

TEST_F(OptTest, ListsAsJson) {
  EXPECT_EQ(Opt("--list-ops=softmax --format=json"), 0);
  EXPECT_THAT(output_, AllOf(HasSubstr("\"schema\": \"softmax("), HasSubstr("\"decomposition\": "),
                             HasSubstr("\"cpu\""), Not(HasSubstr("log_softmax"))));
  EXPECT_EQ(Opt("--list-ops=add --format=json"), 0);
  EXPECT_THAT(output_, AllOf(HasSubstr("\"pointwise\""), HasSubstr("\"commutative\""),
                             HasSubstr("\"decomposition\": null")));
  EXPECT_EQ(Opt("--list-passes='c.*' --format=json -o passes.json"), 0);
  EXPECT_EQ(output_, "");
  EXPECT_THAT(Read("passes.json"),
              AllOf(HasSubstr("\"name\": \"cse\""), HasSubstr("\"kind\": \"pipeline\"")));
  EXPECT_EQ(Opt("--list-rules --format=json"), 0);
  EXPECT_THAT(output_, HasSubstr("\"standing\": \"built in\""));
  EXPECT_EQ(Opt("--list-ops=sofmax"), 2);
  EXPECT_THAT(output_, HasSubstr("no op is called \"sofmax\", did you mean \"softmax\"?"));
}

TEST_F(OptTest, ReadsTextFromStandardInput) {
  EXPECT_EQ(Opt("--passes=none --emit=text - < in.weft"), 0);
  EXPECT_THAT(output_, HasSubstr("permute"));
  EXPECT_EQ(Opt("--passes=none - < /dev/null"), 0);
  EXPECT_EQ(Opt("--passes=none --emit=text /dev/null < in.weft"), 2);
  EXPECT_EQ(RunOther("run", "- < in.weft"), 0) << err_;
}

TEST_F(OptTest, LargeConstantsAreElided) {
  std::string elements;
  for (int i = 0; i < 40; ++i) absl::StrAppend(&elements, i == 0 ? "" : ", ", i, ".5");
  Write("large.weft", absl::StrCat("func @main(%x: f32[40]) -> f32[40] {\n %0 = constant(dense<[",
                                   elements, "]>) : f32[40]\n %1 = mul(%x, %0)\n return %1\n}\n"));
  EXPECT_EQ(Opt("--passes=cse,dce --print-after=cse,dce --emit= large.weft"), 0);
  EXPECT_THAT(output_, AllOf(HasSubstr("after cse"), HasSubstr("after dce"), HasSubstr("omitted"),
                             Not(HasSubstr("base64"))));
  // A pipe and a file get text that reads back, unless it is asked for.
  EXPECT_EQ(Opt("--passes=none --emit=text large.weft"), 0);
  EXPECT_THAT(output_, AllOf(HasSubstr("base64"), Not(HasSubstr("omitted"))));
  EXPECT_EQ(Opt("--passes=none --emit=text --elide=39 large.weft"), 0);
  EXPECT_THAT(output_, HasSubstr("omitted"));
  EXPECT_EQ(Opt("--passes=none --emit=text --elide=40 large.weft"), 0);
  EXPECT_THAT(output_, HasSubstr("39.5"));
}

TEST_F(OptTest, StatisticsAsTreeAndJson) {
  EXPECT_EQ(Opt("--passes='fixpoint(cse,if(changed,dce))' in.weft"), 0);
  EXPECT_THAT(output_, AllOf(HasSubstr("fixpoint"), HasSubstr("\n        round 1"),
                             HasSubstr("share"), HasSubstr("peak MB")));
  EXPECT_EQ(Opt("--stats=json in.weft"), 0);
  EXPECT_THAT(output_, StartsWith("{\"seconds\": "));
}

TEST_F(OptTest, DumpsToFiles) {
  EXPECT_EQ(Opt("--emit= --passes=canonicalize,cse --print-before=all "
                "--print-after='ca.*' --print-to=dumps in.weft"),
            0);
  EXPECT_EQ(output_, "");
  EXPECT_TRUE(Exists("dumps/0000.canonicalize.before.weft"));
  EXPECT_TRUE(Exists("dumps/0001.cse.before.weft"));
  EXPECT_FALSE(Exists("dumps/0001.cse.after.weft"));
  EXPECT_EQ(Opt("--passes=none dumps/0000.canonicalize.after.weft"), 0);
}

TEST_F(OptTest, BlamesRules) {
  EXPECT_EQ(Opt("--emit= --blame=%0 in.weft"), 0);
  EXPECT_THAT(output_, AllOf(HasSubstr("@main %0 = sin"), HasSubstr("\"c\""), HasSubstr("\"d\"")));
  EXPECT_EQ(Opt("--emit= --blame=%7 in.weft"), 2);
  EXPECT_EQ(output_, "opt: error: --blame: no node has the value %7 in @main\n");
}

TEST_F(OptTest, PrintsThePipeline) {
  EXPECT_EQ(Opt("--passes='fixpoint{max=3}( if(nodes < 9, dce) )' --print-pipeline"), 0);
  EXPECT_EQ(output_, "fixpoint{max=3}(if(nodes<9,dce))\n");
}

TEST_F(OptTest, RunsReplayFiles) {
  Write("r.weft", absl::StrCat("// weft replay\n// passes: canonicalize,dce\n",
                               "// rewrite_limit: 1\n", kModel));
  EXPECT_EQ(Opt("--replay=r.weft --emit=text"), 0);
  EXPECT_THAT(output_, AllOf(HasSubstr("sin"), Not(HasSubstr("permute"))));
  EXPECT_EQ(Opt("--replay=in.weft"), 2);
  EXPECT_THAT(output_, HasSubstr("in.weft: line 1: a replay file begins with"));
  Write("v.weft", absl::StrCat("// weft replay\n// passes: dce\n// verify: struc\n", kModel));
  EXPECT_EQ(Opt("--replay=v.weft"), 2);
  EXPECT_EQ(output_, "opt: error: v.weft: line 3: bad value of verify: \"struc\"\n");
}

// A plugin is code: that a file names it is not enough.
TEST_F(OptTest, ReplayFilesDoNotLoadPlugins) {
  Write("evil.weft",
        absl::StrCat("// weft replay\n// passes: dce\n// plugin: ./evil.so\n", kModel));
  Write("evil.so", "not even a library");
  EXPECT_EQ(Opt("--replay=evil.weft --emit=text"), 2);
  EXPECT_EQ(output_,
            "opt: error: evil.weft: it needs the plugin ./evil.so, whose code would run; pass "
            "--load=./evil.so to allow that\n");
  EXPECT_EQ(Opt("--replay=evil.weft --load=evil.so --emit=text"), 2);
  EXPECT_THAT(output_, HasSubstr("evil.so: cannot be loaded: it is not a shared library"));
}

TEST_F(OptTest, FlagErrors) {
  EXPECT_EQ(Opt("--stats=xml in.weft"), 2);
  EXPECT_EQ(output_, "opt: error: --stats takes text or json, not \"xml\"\n");
  EXPECT_EQ(Opt("--remarks='(' in.weft"), 2);
  EXPECT_EQ(output_,
            "opt: error: --remarks: \"(\" is not a regular expression: a '(' is not closed "
            "(character 1)\n");
  EXPECT_EQ(Opt("--print-after=dec in.weft"), 2);
  EXPECT_THAT(output_, HasSubstr("--print-after: unknown pass \"dec\", did you mean"));
  EXPECT_EQ(Opt("--passes='if(foo,dce)' in.weft"), 2);
  EXPECT_THAT(output_, HasSubstr("pipeline, column 4: expected a condition"));
}

TEST_F(OptTest, AFailingRunLeavesItsReportsAndAReplayFile) {
  // One round changes something, so it cannot be the last.
  const std::string flags =
      "--strict --passes='dce,fixpoint{max=1}(canonicalize,cse)' --emit=text ";
  EXPECT_EQ(Opt(flags + "--stats=json --stats-output=s.json --remarks --remarks-format=json "
                        "--remarks-output=r.json in.weft"),
            2);
  EXPECT_EQ(out_, "");
  EXPECT_THAT(err_, AllOf(StartsWith("opt: error: fixpoint: no fixpoint after 1 rounds"),
                          HasSubstr("\n  replay: opt --replay=./replay.fixpoint.weft\n")));
  EXPECT_THAT(Read("s.json"), AllOf(StartsWith("{\"seconds\": "), HasSubstr("\"hash_salt\": "),
                                    HasSubstr("\"path\": \"fixpoint.1.cse\"")));
  EXPECT_THAT(Read("r.json"),
              AllOf(HasSubstr("\"rule\": \"fold.permute\""), HasSubstr("\"kind\": \"failed\"")));
  EXPECT_THAT(Read("r.json"), HasSubstr("\"suggestion\": \"fixpoint{max=2} gives it twice"));
  EXPECT_EQ(Opt(flags + "in.weft"), 2);
  // The file has the module before the fixpoint, and fails in the same way.
  EXPECT_THAT(Read("replay.fixpoint.weft"),
              AllOf(HasSubstr("// passes: fixpoint{max=1}(canonicalize"), HasSubstr("permute")));
  EXPECT_EQ(Opt("--replay=replay.fixpoint.weft"), 2);
  EXPECT_THAT(output_, HasSubstr("no fixpoint after 1 rounds"));
}

TEST_F(OptTest, StatisticsMakeRoomForTheGraph) {
  EXPECT_EQ(Run("--emit=text,stats in.weft"), 0);
  EXPECT_THAT(out_, StartsWith("func @main"));
  EXPECT_THAT(err_, HasSubstr("in.weft: loaded in "));
  EXPECT_EQ(Run("--emit=text,stats -o out.weft in.weft"), 0);
  EXPECT_THAT(out_, HasSubstr("in.weft: loaded in "));
  EXPECT_EQ(err_, "");
  EXPECT_THAT(Read("out.weft"), StartsWith("func @main"));
  EXPECT_EQ(Run("--emit=text,dot -o out.x in.weft"), 0);
  EXPECT_THAT(Read("out.weft"), StartsWith("func @main"));
  EXPECT_THAT(Read("out.dot"), HasSubstr("digraph"));
}

TEST_F(OptTest, PicturesOfThePipeline) {
  EXPECT_EQ(Run("--emit=html,model-explorer,text -o out.x in.weft"), 0);
  EXPECT_EQ(absl::StrCat(out_, err_), "");
  const std::string page = Read("out.html");
  EXPECT_THAT(page, StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(page, AllOf(HasSubstr("\"title\":\"in.weft\""), HasSubstr("{\"path\":\"import\""),
                          HasSubstr("{\"path\":\"fixpoint.1.canonicalize\"")));
  EXPECT_THAT(Read("out.model-explorer.json"), StartsWith("{\"label\":\"in.weft\",\"graphs\":["));
  EXPECT_THAT(Read("out.weft"), StartsWith("func @main"));
  // Other bytes would be those of times or addresses.
  EXPECT_EQ(Run("--emit=html -o again.html in.weft"), 0);
  EXPECT_TRUE(Read("again.html") == page);
  // With statistics there are times.
  EXPECT_THAT(page, Not(ContainsRegex("\"us\":[0-9]")));
  EXPECT_EQ(Run("--emit=html,stats -o timed.html in.weft"), 0);
  EXPECT_THAT(Read("timed.html"), ContainsRegex("\"us\":[0-9]"));
}

TEST_F(OptTest, PicturesWithAPlan) {
  EXPECT_EQ(Run("--emit=html -o out.html in.weft"), 0);
  EXPECT_THAT(Read("out.html"), HasSubstr("\"plan\":{\"name\":[],"));
  EXPECT_EQ(Run("--target=cpu --emit=html -o out.html in.weft"), 0) << err_;
  EXPECT_THAT(Read("out.html"), AllOf(HasSubstr("launch @"), HasSubstr("extern \\\"C\\\"")));
  // What cannot be lowered has a picture without a plan.
  Write("writes.weft", "func @main(%x: f32[2]) {\n  %0 = copy_(%x, %x)\n  return %0\n}\n");
  EXPECT_EQ(Run("--target=cpu --passes=none --emit=html -o out.html writes.weft"), 0);
  EXPECT_THAT(err_, HasSubstr("the picture has no plan: "));
  EXPECT_THAT(Read("out.html"), HasSubstr("\"plan\":{\"name\":[],"));
}

TEST_F(OptTest, PicturesWithATrace) {
  Write("t.json", R"([{"ph": "X", "name": "k1", "dur": 5, "args": {"provenance": ["c"]}}])");
  EXPECT_EQ(Run("--emit=html --trace=t.json -o out.html in.weft"), 0);
  EXPECT_THAT(Read("out.html"), HasSubstr("\"us\":[5.000]"));
  EXPECT_EQ(RunOther("trace", "convert t.json t.json.gz"), 0) << err_;
  EXPECT_EQ(RunOther("trace", "convert t.json t.pftrace"), 0) << err_;
  for (const char* trace : {"t.json.gz", "t.pftrace"}) {
    EXPECT_EQ(Run(absl::StrCat("--emit=html --trace=", trace, " -o out.html in.weft")), 0) << err_;
    EXPECT_THAT(Read("out.html"), HasSubstr("\"us\":[5.000]")) << trace;
  }
  EXPECT_EQ(Run("--trace=t.json in.weft"), 2);
  EXPECT_EQ(err_, "opt: error: --trace goes with --emit=html\n");
  EXPECT_EQ(Run("--emit=html --trace=none.json in.weft"), 2);
  EXPECT_THAT(err_,
              AllOf(StartsWith("opt: error: "), HasSubstr("cannot open none.json: No such file")));
  Write("other.json", R"([{"ph": "X", "name": "k1", "dur": 5, "args": {"provenance": ["e"]}}])");
  EXPECT_EQ(Run("--emit=html --trace=other.json in.weft"), 2);
  EXPECT_THAT(err_, HasSubstr("none of its 1 kernels names a source node of the model"));
  Write("bad.json", "[{");
  EXPECT_EQ(Run("--emit=html --trace=bad.json in.weft"), 2);
  EXPECT_THAT(err_, HasSubstr("bad.json: byte 2: "));
}

TEST_F(OptTest, PathsAreTheUsers) {
  EXPECT_EQ(RunFrom("below", "--emit=text -o out.weft --stats-output=s.txt in.weft"), 0);
  EXPECT_THAT(Read("out.weft"), StartsWith("func @main"));
  EXPECT_THAT(Read("s.txt"), HasSubstr("in.weft: loaded in "));
  EXPECT_FALSE(Exists("below/out.weft"));
}

TEST_F(OptTest, AdmitsContracts) {
  Write("sum.weft", R"(func @main(%x: f32[2, 4], %w: f32[3, 4], %b: f32[3]) -> f32[2, 3] {
  %0 = linear(%x, %w, none)
  %1 = add(%0, %b)
  return %1
}
)");
  EXPECT_EQ(Run("--emit=text sum.weft"), 0);
  EXPECT_THAT(out_, HasSubstr("add"));
  EXPECT_EQ(Run("--emit=text --admit=reassociating --verify=semantics sum.weft"), 0);
  EXPECT_THAT(out_, HasSubstr("linear(%x, %w, %b)"));
  EXPECT_EQ(Run("--admit=all sum.weft"), 2);
  EXPECT_THAT(err_, StartsWith("opt: error: --admit takes bit-exact, value-safe, "));
}

// The lines of standard error that are of that component or artifact, in absl's form.
int LinesOf(const std::string& err, const std::string& name) {
  const std::regex form("[DIWE]\\d{4} \\d\\d:\\d\\d:\\d\\d\\.\\d{6} +\\d+ \\[" + name + "\\] .*");
  int lines = 0;
  for (absl::string_view line : absl::StrSplit(err, '\n', absl::SkipEmpty())) {
    lines += std::regex_match(std::string(line), form);
  }
  return lines;
}

TEST_F(OptTest, Logs) {
  EXPECT_EQ(Run("--emit= --log=help"), 0);
  EXPECT_THAT(out_, AllOf(HasSubstr("fusion"), HasSubstr("guards"), HasSubstr("perf_hints")));
  EXPECT_EQ(Run("--emit= in.weft"), 0);
  EXPECT_EQ(err_, "");
  EXPECT_EQ(Run("--emit= --log=import,passes --passes=canonicalize,cse,dce in.weft"), 0);
  EXPECT_EQ(LinesOf(err_, "import"), 1);
  const int passes = LinesOf(err_, "passes");
  EXPECT_GE(passes, 2);
  EXPECT_EQ(LinesOf(err_, "graph"), 0);
  EXPECT_EQ(Run("--emit= --log=all,-passes --passes=canonicalize,cse,dce in.weft"), 0);
  EXPECT_EQ(LinesOf(err_, "passes"), 0);
  EXPECT_EQ(LinesOf(err_, "import"), 1);
  EXPECT_EQ(Run("--emit= --log=+passes,pass_graphs --passes=canonicalize,cse,dce in.weft"), 0);
  EXPECT_GE(LinesOf(err_, "passes"), passes);
  EXPECT_GE(LinesOf(err_, "pass_graphs"), 3);
  EXPECT_THAT(err_, HasSubstr("sin(%x)"));
  EXPECT_EQ(Run("--emit= --log=pases in.weft"), 2);
  EXPECT_THAT(err_, AllOf(StartsWith("opt: error: logs: \"pases\""), HasSubstr("passes")));
}

TEST_F(OptTest, LogsOfTheEnvironment) {
  setenv("WEFT_LOGS", "passes", 1);
  EXPECT_EQ(Run("--emit= in.weft"), 0);
  EXPECT_GE(LinesOf(err_, "passes"), 1);
  EXPECT_EQ(LinesOf(err_, "import"), 0);
  // The flag says more.
  EXPECT_EQ(Run("--emit= --log=import in.weft"), 0);
  EXPECT_EQ(LinesOf(err_, "passes"), 0);
  EXPECT_EQ(LinesOf(err_, "import"), 1);
  setenv("WEFT_LOGS", "help", 1);
  EXPECT_EQ(Run("--emit= in.weft"), 0);
  EXPECT_THAT(out_, HasSubstr("fusion"));
  unsetenv("WEFT_LOGS");
}

constexpr char kConvolution[] = R"(
func @main(%x: f32[1, 2, 6, 6], %y: f32[1, 2, 6, 6], %w: f32[2, 2, 3, 3]) -> f32[1, 2, 6, 6] {
  %0 = convolution(%x, %w, none, stride=[1, 1], padding=[1, 1], dilation=[1, 1])
  %1 = softmax(%0, dim=3)
  %2 = add(%1, %y)
  return %2
}
)";

TEST_F(OptTest, CompilesForATarget) {
  Write("net.weft", kConvolution);
  // A target's own pipeline is the default one.
  ASSERT_EQ(Run("--target=cpu --print-pipeline net.weft"), 0) << err_;
  const std::string pipeline = out_;
  EXPECT_THAT(pipeline, HasSubstr("freeze"));
  ASSERT_EQ(Run("--target=cpu --emit=plan net.weft"), 0) << err_;
  const std::string plan = out_;
  EXPECT_THAT(plan, HasSubstr("convolution"));
  ASSERT_EQ(Run("--passes=cpu --emit=plan net.weft"), 0) << err_;
  EXPECT_EQ(out_, plan);
  // A composite that the target runs itself stays, unless no target is named.
  ASSERT_EQ(Run("--target=cpu --passes=decompose{admit=reassociating} --emit=text net.weft"), 0)
      << err_;
  EXPECT_THAT(out_, HasSubstr("softmax"));
  ASSERT_EQ(Run("--passes=decompose --admit=reassociating --emit=text net.weft"), 0) << err_;
  EXPECT_THAT(out_, Not(HasSubstr("softmax")));
  // The pipeline's options admit contracts; the flag limits them.
  ASSERT_EQ(Run("--passes=decompose --emit=text net.weft"), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("softmax"));
  ASSERT_EQ(Run("--passes=decompose{admit=reassociating} --admit=bit-exact --emit=text "
                "--stats-output=stats.txt net.weft"),
            0)
      << err_;
  EXPECT_THAT(out_, HasSubstr("softmax"));
  EXPECT_THAT(Read("stats.txt"), HasSubstr("not_admitted"));
}

TEST_F(OptTest, ReadsTheTargetThatItPrints) {
  Write("net.weft", kConvolution);
  ASSERT_EQ(Run("--emit=target -o cpu.target net.weft"), 0) << err_;
  const std::string text = Read("cpu.target");
  EXPECT_THAT(text, StartsWith("target cpu {\n"));
  ASSERT_EQ(Run("--target-file=cpu.target --passes=cpu --emit=target net.weft"), 0) << err_;
  EXPECT_EQ(out_, text);
  ASSERT_EQ(Run("--target-file=cpu.target --passes=cpu --emit=plan net.weft"), 0) << err_;
  const std::string plan = out_;
  EXPECT_THAT(plan, HasSubstr("library convolution"));
  // A device without a routine for convolutions.
  Write("no_convolution.target",
        std::regex_replace(text, std::regex("ops = \\[convolution\\]"), "ops = []"));
  ASSERT_EQ(Run("--target-file=no_convolution.target --passes=cpu --emit=plan net.weft"), 0)
      << err_;
  EXPECT_THAT(out_, Not(HasSubstr("library convolution")));
  Write("bad.target", "target t {\n  routine r { opps = [add] }\n}\n");
  EXPECT_EQ(Run("--target-file=bad.target net.weft"), 2);
  EXPECT_THAT(err_, HasSubstr("bad.target:2:15: there is no field opps"));
  EXPECT_EQ(Run("--target-file=none.target net.weft"), 2);
  EXPECT_EQ(err_, "opt: error: none.target: cannot be read\n");
  EXPECT_EQ(Run("--target=gpu net.weft"), 2);
  EXPECT_EQ(err_, "opt: error: unknown target \"gpu\"; the targets are: reference, cpu, cuda\n");
}

TEST_F(OptTest, ExtractsParts) {
  EXPECT_EQ(Run("--extract=a:c -o part.weft in.weft"), 0) << err_;
  EXPECT_EQ(out_, "extract: 2 of 4 nodes\n");
  EXPECT_THAT(Read("part.weft"), AllOf(HasSubstr("func @main(%a: f32[3, 2]) -> (%c: f32[2, 3])"),
                                       Not(HasSubstr("loc(\"a\")"))));
  EXPECT_EQ(Run("--extract=c,d --emit=stats in.weft"), 0) << err_;
  EXPECT_THAT(out_, Not(HasSubstr("func")));
  EXPECT_EQ(Run("--extract=a:c -o part.onnx in.weft"), 0) << err_;
  EXPECT_EQ(Run("--passes=none --emit=text part.onnx"), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("func @main(%a: f32[3, 2]) -> (%c: f32[2, 3])"));
  // Passes run on the part.
  EXPECT_EQ(Run("--extract=:c --passes=canonicalize,dce in.weft"), 0) << err_;
  EXPECT_THAT(out_, Not(HasSubstr("permute")));
  EXPECT_EQ(Run("--extract=e:c in.weft"), 2);
  EXPECT_THAT(err_, StartsWith("opt: error: --extract: no node, input or output is called \"e\""));
}

TEST_F(OptTest, BisectsPasses) {
  EXPECT_EQ(Run("--passes=dce,canonicalize,cse,dce --bisect='grep -q permute' in.weft"), 0) << err_;
  EXPECT_THAT(out_, AllOf(StartsWith("canonicalize: the first pass after which the command fails"),
                          HasSubstr("\nafter: bisect.after.weft\n")));
  EXPECT_THAT(Read("bisect.before.weft"), HasSubstr("permute"));
  EXPECT_THAT(Read("bisect.after.weft"), Not(HasSubstr("permute")));
  EXPECT_EQ(Run("--passes=canonicalize,dce --bisect='grep -q \"sin(%1)\" < {}' -o b in.weft"), 0)
      << err_;
  EXPECT_THAT(out_, AllOf(StartsWith("canonicalize: "), HasSubstr("rewrite: number 1 of all")));
  EXPECT_TRUE(Exists("b.before.weft"));
  EXPECT_FALSE(Exists("b.candidate.weft"));
  EXPECT_EQ(Run("--bisect=false in.weft"), 1);
  EXPECT_EQ(err_, "opt: --bisect: the command fails before the first pass\n");
  EXPECT_EQ(Run("--bisect=true in.weft"), 1);
  EXPECT_EQ(err_, "opt: --bisect: the command does not fail after the last pass\n");
  EXPECT_EQ(Run("--bisect=no-such-command in.weft"), 2);
  EXPECT_THAT(err_, HasSubstr("the shell cannot run \"no-such-command"));
}

TEST_F(OptTest, PredictsCliffs) {
  Write("scan.weft", R"(func @main(%x: f32[n, 4]) where 1 <= n {
  %0 = nonzero(%x) loc("order")
  return %0
}
)");
  EXPECT_EQ(Run("--cliffs --size=n=7 scan.weft"), 0) << err_;
  EXPECT_THAT(out_, AllOf(StartsWith("cliffs on cpu: 1 of 1 steps"), HasSubstr(", n=7, u0=64\n"),
                          HasSubstr("(from \"order\")")));
  EXPECT_EQ(Run("--cliffs --format=json -o cliffs.json scan.weft"), 0) << err_;
  EXPECT_EQ(out_, "");
  EXPECT_THAT(Read("cliffs.json"), HasSubstr("\"what\": \"reference nonzero\""));
  EXPECT_EQ(Run("--cliffs --emit=plan scan.weft"), 0) << err_;
  EXPECT_THAT(out_, StartsWith("plan @main"));
  EXPECT_THAT(err_, StartsWith("cliffs on cpu"));
  EXPECT_EQ(Run("--cliffs --size=m=7 scan.weft"), 2);
  EXPECT_EQ(err_, "opt: error: --cliffs: the plan has no size \"m\"\n");
}

TEST_F(OptTest, EmitsTheCodeOfKernels) {
  EXPECT_EQ(Run("--target=cpu --emit=cc in.weft"), 0) << err_;
  EXPECT_THAT(out_, AllOf(StartsWith("// Kernels for cpu."), HasSubstr("weft_k0: @sin"),
                          HasSubstr("extern \"C\"")));
  EXPECT_EQ(Run("--target=cpu --emit=cc --kernel=sin -o k.cc in.weft"), 0) << err_;
  EXPECT_THAT(Read("k.cc"), HasSubstr("weft_k0: @sin"));
  EXPECT_EQ(Run("--target=cpu --emit=cc --kernel=cos in.weft"), 2);
  EXPECT_THAT(err_, StartsWith("opt: error: --kernel: no kernel is called \"cos\""));
}

TEST_F(OptTest, RemarksHaveTheNumbersOfTheText) {
  Write("soft.weft", R"(func @main(%x: f32[2, 3]) -> f32[2, 3] {
  %0 = permute(%x, dims=[1, 0]) loc("a")
  %1 = permute(%0, dims=[1, 0]) loc("b")
  %2 = softmax(%1, dim=1) loc("c")
  return %2
}
)");
  EXPECT_EQ(Run("--passes=canonicalize,dce,decompose --remarks=missed:decompose --emit=text "
                "soft.weft"),
            0);
  EXPECT_THAT(out_, HasSubstr("%0 = softmax"));
  EXPECT_THAT(err_, HasSubstr("@main %0 = softmax (from \"c\")"));
}

TEST_F(OptTest, WarnsOfRulesThatWereNotTested) {
  Write("large.rules",
        "rule tested bit-exact {\n  relu(relu(x)) => relu(x)\n}\n"
        "rule large bit-exact {\n  x: f32[n]\n  neg(neg(x)) => abs(x)\n  where n >= 3000\n}\n");
  EXPECT_EQ(Run("--rules=large.rules --emit= in.weft"), 0);
  EXPECT_EQ(err_,
            "opt: warning: rule large is assumed: no instance of it could be made to test it\n");
}

TEST_F(OptTest, FileErrors) {
  EXPECT_EQ(Run(""), 2);
  EXPECT_EQ(err_, "opt: error: expected one model file; --help shows how\n");
  EXPECT_EQ(Run("none.weft"), 2);
  EXPECT_EQ(err_, "opt: error: cannot open none.weft: No such file or directory\n");
  Write("in.txt", kModel);
  EXPECT_EQ(Run("in.txt"), 2);
  EXPECT_THAT(err_, StartsWith("opt: error: in.txt: unknown kind of model; "));
  EXPECT_EQ(Run("--emit=text -o none/out.weft in.weft"), 2);
  EXPECT_EQ(err_, "opt: error: cannot write none/out.weft: No such file or directory\n");
  EXPECT_EQ(Run("--rules=no.rules in.weft"), 2);
  EXPECT_EQ(err_, "opt: error: no.rules: cannot be read\n");
  EXPECT_EQ(Run("--input=x in.weft"), 2);
  EXPECT_EQ(err_, "opt: error: --input takes NAME=FILE, not \"x\"\n");
  EXPECT_EQ(Run("--emit=xml in.weft"), 2);
  EXPECT_THAT(err_, StartsWith("opt: error: --emit: unknown kind \"xml\"; known are "));
  EXPECT_EQ(Run("--help"), 0);
  EXPECT_THAT(out_, StartsWith("Usage: opt [flags] MODEL"));
}

}  // namespace
}  // namespace weft
