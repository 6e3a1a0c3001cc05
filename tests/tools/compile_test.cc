// The command line of compile, and what other tools do with its files.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/tools/tool_test.h"

namespace weft {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

class CompileTest : public ToolTest {
 protected:
  CompileTest() : ToolTest("compile") {
    Write("m.weft", R"(
func @main(%x: f32[s0, 20]) -> (%y: f32[s0, 3]) where 1 <= s0 <= 64 {
  %0 = constant(@c0) : f32[20, 3]
  %1 = matmul(%x, %0) : f32[s0, 3]  loc("fc")
  %2 = relu(%1) : f32[s0, 3]  loc("act")
  return %2
}
constants {
  @c0 "fc.weight" : f32[20, 3] = dense<0.25>
}
)");
  }
};

TEST_F(CompileTest, WritesAFileThatAgreesWithItsModel) {
  EXPECT_EQ(Run("m.weft --check -o m.weftb"), 0) << err_;
  EXPECT_THAT(out_, MatchesRegex("m.weftb: [0-9]+ bytes\n"
                                 "[0-9]+ runs of source and plan agree; the largest .*\n"));
  EXPECT_EQ(RunOther("run", "--size=s0=3 m.weftb"), 0) << err_;
  EXPECT_EQ(Run("--describe m.weftb"), 0) << err_;
  EXPECT_THAT(out_, MatchesRegex("m.weftb: version 1.4 of the format, by weft .*\n(.*\n)*"
                                 "checked: plan for avx[0-9]+, in [0-9]+ runs from seed 0: "
                                 "elements differ .*\n(  f32\\[[0-9]+, 20\\]\n)+"));
  EXPECT_EQ(RunOther("diff", "m.weftb m.weftb"), 0) << out_ << err_;
}

TEST_F(CompileTest, ReadsItsOwnFiles) {
  EXPECT_EQ(Run("m.weft -o m.weftb"), 0) << err_;
  EXPECT_EQ(Run("m.weftb --passes=none --check -o again.weftb"), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("agree"));
}

TEST_F(CompileTest, WithoutAGraphOtherToolsSayWhy) {
  EXPECT_EQ(Run("m.weft --strip=graph,names --check -o m.weftb"), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("agree"));
  EXPECT_EQ(RunOther("opt", "m.weftb"), 2);
  EXPECT_THAT(err_, HasSubstr("m.weftb: the file has no graph, only plans"));
}

TEST_F(CompileTest, NamesOpsThatTheRuntimeLacks) {
  Write("n.weft",
        "func @main(%x: f32[4]) -> (i64[u0, 1]) where unbacked u0 {"
        " %0 = nonzero(%x) : i64[u0, 1] return %0 }");
  EXPECT_EQ(Run("n.weft --check -o n.weftb"), 0) << err_;
  EXPECT_THAT(err_, HasSubstr("the runtime without a compiler lacks ops of this plan: nonzero"));
  EXPECT_THAT(out_, HasSubstr("runs of source and plan agree"));
}

TEST_F(CompileTest, WritesASharedObject) {
  EXPECT_EQ(Run("m.weft --strip=graph,names --check -o m.so"), 0) << err_;
  EXPECT_THAT(out_, MatchesRegex("m.so: [0-9]+ bytes\n"
                                 "[0-9]+ runs of source and machine code agree; the largest .*\n"));
  EXPECT_EQ(err_, "");
  EXPECT_EQ(Run("--describe m.so"), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("checked: machine code for avx"));
  EXPECT_EQ(Run("m.weft --compiler=no-such-compiler -o n.so"), 2);
  EXPECT_THAT(err_, HasSubstr("no-such-compiler"));
  EXPECT_FALSE(Exists("n.so"));
  EXPECT_EQ(Run("m.weft --target=cuda -o n.so"), 2);
  EXPECT_THAT(err_, HasSubstr("n.so: code of kernels is for cpu, not for cuda"));
}

TEST_F(CompileTest, ChecksModelsWithState) {
  Write("s.weft", R"(
func @main(%w: f32[2] {param="w", initial=@w}, %sum: f32[2] {param="sum", initial=@start},
           %x: f32[2]) -> (f32[2], f32[2] {writes=%sum}) {
  %0 = mul(%x, %w)
  %1 = add(%sum, %0)
  return %1, %1
}
constants {
  @w : f32[2] = dense<2.0>
  @start : f32[2] = dense<[0.5, 0.25]>
}
)");
  EXPECT_EQ(Run("s.weft --check -o s.weftb"), 0) << out_ << err_;
  EXPECT_EQ(Run("--describe s.weftb"), 0) << err_;
  EXPECT_THAT(out_, HasSubstr(", with initial values of 1 inputs\nchecked: plan "));
  EXPECT_EQ(Run("s.weft --passes=none --check -o s.weftb"), 0) << out_ << err_;
  EXPECT_EQ(Run("--describe s.weftb"), 0) << err_;
  EXPECT_THAT(out_, HasSubstr(", with initial values of 2 inputs\n"));
}

TEST_F(CompileTest, WritesMachineCodeBesideThePlan) {
  EXPECT_EQ(Run("m.weft --kernels --check -o code.weftb"), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("runs of source and plan and machine code agree"));
  EXPECT_EQ(Run("m.weft -o plain.weftb"), 0) << err_;
  EXPECT_NE(Read("code.weftb"), Read("plain.weftb"));
  EXPECT_EQ(Run("code.weftb --strip=kernels -o stripped.weftb"), 0) << err_;
  EXPECT_EQ(Read("stripped.weftb"), Read("plain.weftb"));
  EXPECT_EQ(Run("m.weft --strip=kernels -o n.weftb"), 2);
  EXPECT_THAT(err_, HasSubstr("m.weft: "));
  EXPECT_EQ(Run("m.weft --strip=graph,kernels -o n.weftb"), 2);
  EXPECT_EQ(Run("m.weft --kernels --compiler=no-such-compiler -o n.weftb"), 2);
  EXPECT_THAT(err_, HasSubstr("no-such-compiler"));
  EXPECT_EQ(Run("m.weft --kernels --target=cuda -o n.weftb"), 2);
  EXPECT_THAT(err_, HasSubstr("machine code is for cpu, not for cuda"));
  EXPECT_FALSE(Exists("n.weftb"));
}

TEST_F(CompileTest, WritesSource) {
  EXPECT_EQ(Run("m.weft --emit=cc --check -o net"), 0) << err_;
  EXPECT_THAT(
      out_,
      MatchesRegex(".*net/net.weftb: [0-9]+ bytes\n"
                   "[0-9]+ runs of source and plan and C\\+\\+ source agree; the largest .*\n"));
  EXPECT_EQ(Run("--describe net/net.weftb"), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("checked: C++ source for avx"));
  EXPECT_THAT(out_, HasSubstr("allowed: 0.001 of their value"));
  EXPECT_THAT(Read("net/net.h"), HasSubstr("const float* x; /* f32[s0, 20] */"));
  EXPECT_THAT(Read("net/net.cc"), HasSubstr("net* net_create("));
  EXPECT_EQ(Run("m.weft --emit=cc -o 3.d/"), 0) << err_;
  EXPECT_THAT(Read("3.d/t3_d.h"), HasSubstr("t3_d_sizes"));
  EXPECT_EQ(Run("m.weft --emit=cc -o net.so"), 2);
  EXPECT_EQ(Run("m.weft --emit=so -o net.weftb"), 2);
  EXPECT_EQ(Run("m.weft -o net"), 2);
  EXPECT_EQ(Run("m.weft --emit=c -o net"), 2);
  EXPECT_THAT(err_, HasSubstr("--emit=cc -o FOLDER"));
  EXPECT_EQ(Run("m.weft --emit=cc --target=cuda -o other"), 2);
  EXPECT_THAT(err_, HasSubstr("code of kernels is for cpu, not for cuda"));
}

// The check runs what was written, not only the plan beside it: with this compiler sines are
// cosines.
TEST_F(CompileTest, ChecksTheSource) {
  Write("sine.weft", "func @main(%x: f32[64]) { %0 = sin(%x) return %0 }");
  Write("worse-c++",
        "#!/bin/sh\nexec c++ -DSleef_sinf16_u10avx512f=Sleef_cosf16_u10avx512f "
        "-DSleef_sinf8_u10avx2=Sleef_cosf8_u10avx2 -Dsinf=cosf \"$@\"\n");
  std::filesystem::permissions(folder_ / "worse-c++", std::filesystem::perms::owner_all);
  EXPECT_EQ(Run("sine.weft --emit=cc --check --compiler=./worse-c++ -o sine"), 1) << out_ << err_;
  EXPECT_THAT(out_, HasSubstr("source and product differ: C++ source for (f32[64]), output 0"));
  EXPECT_EQ(Run("--describe sine/sine.weftb"), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("checked: no"));
  EXPECT_EQ(Run("sine.weft --emit=cc --check -o sine"), 0) << out_ << err_;
}

TEST_F(CompileTest, WritesPlansForInstructionSets) {
  for (const char* name : {"sets.weftb", "sets.so"}) {
    EXPECT_EQ(Run(absl::StrCat("m.weft --target=cpu:avx512,cpu:avx2 --check -o ", name)), 0)
        << err_;
    EXPECT_THAT(out_,
                MatchesRegex(".*\n[0-9]+ runs of source and (plan|machine code) agree; .*\n"));
  }
  EXPECT_EQ(Run("m.weft --target=cpu,reference -o n.weftb"), 2);
  EXPECT_THAT(err_, HasSubstr("\"cpu,reference\" is not one target"));
  EXPECT_EQ(Run("m.weft --target=cpu:mmx -o n.weftb"), 2);
  EXPECT_THAT(err_, HasSubstr("plans are for native, avx2 or avx512, not for \"mmx\""));
}

TEST_F(CompileTest, ListsKernels) {
  EXPECT_EQ(Run("m.weft --target=cpu:avx2 --list-kernels=list.txt -o m.weftb"), 0) << err_;
  EXPECT_EQ(Read("list.txt"), "dtype bool\ndtype f32\ndtype i64\nisa avx2\nroutine matmul\n");
  EXPECT_EQ(Run("m.weft --target=cuda --list-kernels=list.txt -o m.weftb"), 2);
  EXPECT_THAT(err_, HasSubstr("m.weftb: there is no plan for cpu"));
}

// The list that a small runtime is built from, in another test.
TEST_F(CompileTest, TheListOfTheTransformerIsWhatItNeeds) {
  std::filesystem::copy_file("examples/transformer.onnx", folder_ / "transformer.onnx");
  EXPECT_EQ(Run("transformer.onnx --target=cpu:avx512 --list-kernels=list.txt -o t.weftb"), 0)
      << err_;
  std::ifstream kept("tests/api/c/transformer_kernels.txt");
  const std::string want(std::istreambuf_iterator<char>(kept), {});
  EXPECT_EQ(Read("list.txt"), want);
}

TEST_F(CompileTest, Mistakes) {
  EXPECT_EQ(Run("m.weft"), 2);
  EXPECT_THAT(err_, HasSubstr("expected one model and -o FILE.weftb"));
  EXPECT_EQ(Run("m.weft -o m.weft"), 2);
  EXPECT_EQ(Run("m.weft --strip=weights -o m.weftb"), 2);
  EXPECT_THAT(err_, HasSubstr("--strip takes names and graph, or kernels alone, not \"weights\""));
  EXPECT_EQ(Run("m.weft --target=reference -o m.weftb"), 2);
  EXPECT_THAT(err_, HasSubstr("target reference runs graphs, so there is no plan to write"));
  EXPECT_EQ(Run("m.weft --target=tpu -o m.weftb"), 2);
  EXPECT_FALSE(Exists("m.weftb"));
}

TEST_F(CompileTest, OptWritesModules) {
  EXPECT_EQ(RunOther("opt", "--passes=none -o g.weftb m.weft"), 0) << err_;
  EXPECT_EQ(RunOther("opt", "--passes=none --emit=text m.weft"), 0) << err_;
  const std::string want = out_;
  EXPECT_EQ(RunOther("opt", "--passes=none --emit=text g.weftb"), 0) << err_;
  EXPECT_EQ(out_, want);
  // Other kinds of graphs have names of their own.
  EXPECT_EQ(RunOther("opt", "--passes=none --emit=text -o h.weftb m.weft"), 0) << err_;
  EXPECT_EQ(Read("h.weftb"), Read("g.weftb"));
  EXPECT_EQ(Read("h.weft"), want);
  Write("bad.weftb", Read("g.weftb").substr(0, 100));
  EXPECT_EQ(RunOther("run", "bad.weftb"), 2);
  EXPECT_THAT(err_, HasSubstr("bad.weftb: the file was written with "));
}

}  // namespace
}  // namespace weft
