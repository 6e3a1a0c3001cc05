// Command lines, folders and names that a tool must refuse or handle, with the exit status and the
// message of each.
#include <sys/wait.h>

#include <cstdlib>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "tests/tools/tool_test.h"

namespace weft {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class HostileTest : public ToolTest {
 protected:
  HostileTest() : ToolTest("run") {
    Write("sizes.weft", R"(func @main(%x: f32[batch, length]) -> (%y: f32[batch])
    where 1 <= batch, 1 <= length <= 16 {
  %0 = sum(%x, dim=[1])
  return %0
}
)");
    Write("t.json", R"([{"ph": "X", "name": "k\u001b[31m", "ts": 1, "dur": 5}])");
  }

  // A line of the shell in the folder, with "@TOOL" for the program tools/TOOL. Standard output
  // and error, where the line leaves them, go to out_ and err_. The exit status; -1 when a signal
  // ends it, also one of a tool, or the time.
  int Shell(const std::string& line) {
    const std::string tools =
        absl::StrCat(std::getenv("TEST_SRCDIR"), "/", std::getenv("TEST_WORKSPACE"), "/tools/");
    Write("line.sh", absl::StrReplaceAll(line, {{"@", tools}}));
    const int status = std::system(
        absl::StrCat("cd '", folder_.string(), "' && timeout 60 sh line.sh > out 2> err").c_str());
    out_ = Read("out");
    err_ = Read("err");
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return code >= 124 ? -1 : code;
  }
};

struct Probe {
  const char* line;
  const char* says;  // A part of standard error.
};

TEST_F(HostileTest, CommandLinesThatAreRefused) {
  const Probe probes[] = {
      {"@run --size batch sizes.weft",
       "--size takes NAME=SIZE or NAME=SIZE,SIZE..., not \"batch\""},
      {"@run --size batch 1 sizes.weft", "expected one model file"},
      {"@run --size '' sizes.weft", "not \"\""},
      {"@run --size =3 sizes.weft", "not \"=3\""},
      {"@run --size batch= sizes.weft", "not \"batch=\""},
      {"@run --size batch=3, sizes.weft", "not \"batch=3,\""},
      {"@run --threads=100000 sizes.weft", "--threads takes an integer from 0 to 1024, not"},
      {"@run --threads=99999999999 sizes.weft", "--threads takes an integer from 0 to 1024"},
      {"@run --threads=-1 sizes.weft", "--threads takes an integer from 0 to 1024, not \"-1\""},
      {"@run --cache-limit=99999999999 sizes.weft", "--cache-limit takes an integer from 0"},
      {"@bench/main --threads=1025 sizes.weft", "--threads takes an integer from 0 to 1024"},
      {"@bench/main --seconds=nan sizes.weft", "--seconds takes a number of at least 0"},
      {"@run --rtol=nan sizes.weft", "--rtol takes a number of at least 0, not \"nan\""},
      {"@run --atol=-1 sizes.weft", "--atol takes a number of at least 0, not \"-1\""},
      {"@conformance/main --rtol=nan .", "--rtol takes a number of at least 0"},
      {"@conformance/main --atol=inf .", "--atol takes a number of at least 0"},
      {"@trace --threshold=nan diff t.json t.json", "--threshold takes a number of at least 0"},
      {"@opt --near-misses='[' in.weft", "--near-misses: \"[\" is not a regular expression"},
      {"@opt --near-misses=\"$(printf '(%.0s' $(seq 50000))\" in.weft",
       "more than 1000 characters"},
      {"@reduce --predicate=message=\"$(printf '(%.0s' $(seq 50000))\" in.weft",
       "more than 1000 characters"},
      {"@opt --input y=y.npy in.weft", "--input: the program has no input \"y\""},
      {"sed s/main/other/ in.weft > o.weft; @opt --input y=y.npy o.weft",
       "--input: the module has no function @main"},
      {"@opt -x in.weft", "unknown flag -x"},
      {"@run --data=none in.weft", "none is not a folder"},
      {"mkdir -p e; @run --data=e in.weft", "e holds no inputs and outputs: input_0.pb, "},
      {"@run --data=in.weft in.weft", "in.weft is not a folder"},
      {"@quantize --batches=-1 -o o.weft in.weft", "--batches takes an integer from 0"},
      {"@quantize --opset=25 -o o.onnx in.weft", "--opset takes an integer from 17 to 24"},
      {"@quantize --calibration=seeded:99999999999 -o o.weft in.weft", "from 1 to 1000000"},
      {"@diff --numerics --min-sqnr=nan in.weft in.weft", "--min-sqnr takes a number"},
      {"@diff --numerics --data=seeded:-1 in.weft in.weft", "from 1 to 1000000, not \"-1\""},
      {"@diff --numerics --data=none in.weft in.weft", "none: No such file or folder"},
      {"@make_model --opset=99999999999 --model=mlp -o m.onnx", "--opset takes an integer"},
      {"@make_model --small --model=mlp -o m.onnx --inputs=i "
       "--input-size=batch=4611686018427387904",
       "too many elements to count"},
  };
  // For --input: a value of an output of the model.
  ASSERT_EQ(Shell("@run --size batch=2 --size length=3 -o . sizes.weft"), 0) << err_;
  for (const Probe& probe : probes) {
    EXPECT_EQ(Shell(probe.line), 2) << probe.line;
    EXPECT_THAT(err_, HasSubstr(probe.says)) << probe.line;
  }
}

TEST_F(HostileTest, ThreadsOfTheEnvironmentAreBounded) {
  for (const char* threads : {"100000", "99999999999", "-1", "x"}) {
    EXPECT_EQ(Shell(absl::StrCat("OMP_NUM_THREADS=", threads, " @run --target=cpu --passes=cpu ",
                                 "--size batch=20000 --size length=16 sizes.weft")),
              0)
        << threads << err_;
  }
}

TEST_F(HostileTest, PatternsEndInTime) {
  EXPECT_EQ(Shell("@opt --emit= --near-misses='(((((.*)*)*)*)*)*x' in.weft"), 0) << err_;
  EXPECT_EQ(Shell("@opt --emit= --remarks='(((((.*)*)*)*)*)*x' in.weft"), 0) << err_;
}

TEST_F(HostileTest, StandardOutputThatCannotBeWritten) {
  const char* const lines[] = {
      "@run --print in.weft",
      "@opt in.weft",
      "@opt --emit=text in.weft",
      "@opt --stats=json in.weft",
      "@opt --list-ops",
      "@opt --list-passes",
      "@opt --print-pipeline",
      "@opt --log=help",
      "@opt --help",
      "@run --help",
      "@diff --help",
      "@diff --numerics in.weft in.weft",
      "@quantize --help",
      "@reduce --predicate='command=grep -q sin {}' in.weft",
      "@trace summary t.json",
      "@make_model --list",
      "@bench/main --help",
      "@conformance/main --help",
  };
  for (const std::string line : lines) {
    for (const char* to : {" > /dev/full", " >&-"}) {
      EXPECT_EQ(Shell(line + to), 2) << line << to;
      EXPECT_THAT(err_, EndsWith(" error: cannot write standard output\n")) << line << to;
    }
  }
}

// A file that is opened takes the lowest free number, which must not be that of standard output.
TEST_F(HostileTest, NoFileTakesThePlaceOfStandardOutput) {
  EXPECT_EQ(Shell("@opt --emit=text,stats -o f.weft in.weft >&- <&-"), 2);
  EXPECT_THAT(Read("f.weft"), AllOf(StartsWith("func @main"), Not(HasSubstr("loaded in"))));
}

TEST_F(HostileTest, AFullDiskLeavesTheOldFiles) {
  std::string big = "func @main(%x: f32[5000]) -> (%y: f32[5000]) {\n  %0 = sin(%x)\n";
  for (int i = 1; i < 300; ++i) absl::StrAppend(&big, "  %", i, " = sin(%", i - 1, ")\n");
  Write("big.weft", absl::StrCat(big, "  return %299\n}\n"));
  std::string passes = "cse";
  for (int i = 0; i < 60; ++i) passes += ",cse";
  const std::string lines[] = {
      "@opt --emit=text --passes=none -o f big.weft",
      absl::StrCat("@opt --emit= --stats=json --stats-output=f --passes=", passes, " in.weft"),
      "ln -sf f y.npy; @run -o . big.weft",
      "@opt --emit=text --passes=none -o f --print-after=all --print-to=d big.weft",
  };
  for (const std::string& line : lines) {
    Write("f", "old\n");
    // Blocks of 512 bytes.
    EXPECT_EQ(Shell(absl::StrCat("ulimit -f 8; trap '' XFSZ; ", line)), 2) << line;
    EXPECT_THAT(err_, HasSubstr("cannot write ")) << line;
    EXPECT_EQ(Read("f"), "old\n") << line;
  }
}

TEST_F(HostileTest, OutputsThatAreNoFiles) {
  EXPECT_EQ(Shell("@opt --emit=text -o /dev/stdout in.weft > f; @opt --emit=text -o - in.weft > g; "
                  "cmp f g"),
            0);
  EXPECT_EQ(Shell("{ echo one; @opt --emit=text -o /dev/stdout in.weft; echo two; } > f && "
                  "test \"$(head -n 1 f; tail -n 1 f)\" = \"$(printf 'one\\ntwo')\""),
            0)
      << Read("f");
  EXPECT_EQ(Shell("@opt --emit=text -o /dev/stdout in.weft | grep -q func"), 0);
  EXPECT_EQ(Shell("mkfifo p; cat p > f & @opt --emit=text -o p in.weft; wait; test -p p && "
                  "grep -q func f"),
            0);
  EXPECT_EQ(Shell("@opt --emit=text -o /dev/full in.weft"), 2);
  EXPECT_EQ(err_, "opt: error: cannot write /dev/full: No space left on device\n");
  EXPECT_EQ(Shell("mkdir -p real; ln -sf real/f link; : > real/f; chmod 640 real/f; "
                  "@opt --emit=text -o link in.weft && test -L link && "
                  "test \"$(stat -c %a real/f)\" = 640 && grep -q func real/f"),
            0);
}

TEST_F(HostileTest, NamesAreNotObeyed) {
  Write("names.weft", R"(func @main(%"i\x1b[31m": f32[2]) -> (%"a\x1b[31m\nrun: error: b": f32[2]) {
  %0 = sin(%"i\x1b[31m") loc("n\x1b]0;title\x07\nopt: error: forged")
  return %0
}
)");
  const char* const lines[] = {
      "@run --print names.weft",
      "@run --explain names.weft",
      "@run --profile-table names.weft",
      "@run --expect y=y.npy names.weft",
      "@run --input y=y.npy names.weft",
      "@run --log=all,graph,guards,plan --target=cpu names.weft",
      "@opt --emit=stats --remarks --blame=all names.weft",
      "@opt --emit=text names.weft",
      "@opt --passes=canonicalize --print-after=all --emit= names.weft",
      "@diff names.weft in.weft",
      "@diff --numerics names.weft names.weft",
      "@diff --numerics --format=json names.weft names.weft",
      "@trace summary t.json",
      "@trace top t.json",
      "@run \"$(printf 'no\\033[31m\\nopt: error: forged.weft')\"",
  };
  ASSERT_EQ(Shell("@run --size batch=2 --size length=3 -o . sizes.weft"), 0) << err_;
  for (const char* line : lines) {
    ASSERT_NE(Shell(line), -1) << line;
    const std::string both = absl::StrCat("\n", out_, err_);
    EXPECT_THAT(both, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\x07")))) << line;
    EXPECT_THAT(both, Not(HasSubstr("\nopt: error: forged"))) << line;
    EXPECT_THAT(both, Not(HasSubstr("\nrun: error: b"))) << line;
  }
  // The text form has a quoting of its own.
  EXPECT_EQ(Shell("@opt --emit=text --passes=none names.weft > t.weft && "
                  "@opt --emit=text --passes=none t.weft > u.weft && cmp t.weft u.weft"),
            0)
      << err_;
}

TEST_F(HostileTest, OutputsWithMeetingNames) {
  Write("two.weft", R"(func @main(%x: f32[2]) -> (%"a/b": f32[2], %a_b: f32[2], %"../c": f32[2]) {
  %0 = sin(%x)
  %1 = neg(%x)
  return %0, %1, %x
}
)");
  EXPECT_EQ(Shell("@run -o new/folder two.weft"), 0) << err_;
  EXPECT_TRUE(Exists("new/folder/a_b.npy"));
  EXPECT_TRUE(Exists("new/folder/a_b-2.npy"));
  EXPECT_TRUE(Exists("new/folder/_._c.npy"));
  EXPECT_EQ(Shell("@run -o again --expect a_b=new/folder/a_b.npy "
                  "--expect a/b=new/folder/a_b-2.npy two.weft"),
            0)
      << out_;
  EXPECT_THAT(out_, HasSubstr("a/b: as expected\na_b: as expected\n2 outputs compared, largest "
                              "error 0\n"));
}

TEST_F(HostileTest, FoldersOfNumpyFiles) {
  ASSERT_EQ(Shell("mkdir d; @run -o . in.weft && cp output_0.npy d/in_0.npy && "
                  "@run --input x=d/in_0.npy -o . in.weft && "
                  "cp output_0.npy d/out_0.npy && cp output_1.npy d/out_1.npy"),
            0)
      << err_;
  EXPECT_EQ(Shell("@run --data=d in.weft"), 0) << out_;
  EXPECT_THAT(out_, EndsWith("\n2 outputs compared, largest error 0\n"));
  EXPECT_EQ(Shell("cp d/in_0.npy d/out_1.npy; @run --data=d in.weft"), 1);
  EXPECT_THAT(out_, AllOf(HasSubstr("output_1: 6 of 6 elements differ"),
                          HasSubstr("2 outputs compared, largest error 0.")));
  EXPECT_EQ(Shell("mv d/out_1.npy d/out_2.npy; @run --data=d in.weft"), 2);
  EXPECT_THAT(err_, HasSubstr("d has out_2.npy and no out_1.npy"));
  EXPECT_EQ(Shell("rm d/out_2.npy; cp d/in_0.npy d/in_1.npy; @run --data=d in.weft"), 2);
  EXPECT_THAT(err_, HasSubstr("d/in_1.npy: the program has 1 inputs"));
  EXPECT_EQ(Shell("rm d/in_1.npy d/out_0.npy; @run --data=d in.weft"), 0);
  EXPECT_THAT(out_, HasSubstr("d has no outputs to compare with\n"));
}

TEST_F(HostileTest, LargeIntegersAreComparedExactly) {
  for (const char* value : {"1152921504606846976", "1152921504606846977"}) {
    Write(absl::StrCat(value, ".weft"),
          absl::StrCat("func @main(%x: i64[1]) -> (%y: i64[1]) {\n  %0 = constant(dense<", value,
                       ">) : i64[1]\n  return %0\n}\n"));
  }
  ASSERT_EQ(Shell("@run -o . 1152921504606846976.weft"), 0) << err_;
  EXPECT_EQ(Shell("@run --expect y=y.npy 1152921504606846976.weft"), 0) << out_;
  EXPECT_EQ(Shell("@run --expect y=y.npy 1152921504606846977.weft"), 1);
  EXPECT_THAT(out_, AllOf(HasSubstr("got 1152921504606846977, want 1152921504606846976"),
                          HasSubstr("1 output compared, largest error 1\n")));
}

TEST_F(HostileTest, TheShellRunsTheCommandAlone) {
  EXPECT_EQ(Shell("@reduce --predicate='command=grep -q sin {}' -o \"x';touch pwned;'.weft\" "
                  "in.weft"),
            0)
      << err_;
  EXPECT_FALSE(Exists("pwned"));
  EXPECT_TRUE(Exists("x';touch pwned;'.weft"));
  EXPECT_FALSE(Exists("x';touch pwned;'.weft.candidate.weft"));
  EXPECT_EQ(Shell("@reduce --predicate='command=grep -q sin {}' -o ./-q.weft in.weft"), 0) << err_;
}

TEST_F(HostileTest, ReplayFilesThatAreWrong) {
  const std::string head = "// weft replay\n";
  const std::pair<const char*, const char*> cases[] = {
      {"// verify: struc\n", "r.weft: line 2: bad value of verify: \"struc\""},
      {"// seed: x\n", "r.weft: line 2: bad value of seed: \"x\""},
      {"// passes: csee\n", "r.weft: "},
  };
  for (const auto& [line, says] : cases) {
    Write("r.weft", absl::StrCat(head, line, kModel));
    EXPECT_EQ(Shell("@opt --replay=r.weft"), 2) << line;
    EXPECT_THAT(err_, HasSubstr(says)) << line;
  }
}

TEST_F(HostileTest, MemoryThatIsNotThereNamesTheInput) {
  Write("large.weft", "func @main(%x: f32[n, 3]) -> (%y: f32[n, 3]) {\n  return %x\n}\n");
  EXPECT_EQ(Shell("@run --size n=300000000000 large.weft"), 2);
  EXPECT_THAT(err_, HasSubstr("input x: f32[300000000000, 3]"));
}

}  // namespace
}  // namespace weft
