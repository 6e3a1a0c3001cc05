// The command line of diff, run as a program.
#include "gmock/gmock.h"
#include "tests/tools/tool_test.h"

namespace weft {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class DiffTest : public ToolTest {
 protected:
  DiffTest() : ToolTest("diff") {
    Write("out.weft", R"(func @main(%x: f32[2, 3]) -> (f32[2, 3], f32[2, 3]) {
  %0 = sin(%x) loc("c", "d")
  return %0, %0
}
)");
  }
};

TEST_F(DiffTest, EqualModelsGiveZero) {
  EXPECT_EQ(Run("in.weft in.weft"), 0);
  EXPECT_EQ(out_, "0 went, 0 appeared, 0 changed, 4 aligned\n");
  EXPECT_EQ(err_, "");
}

TEST_F(DiffTest, DifferencesGiveOne) {
  EXPECT_EQ(Run("in.weft out.weft"), 1);
  EXPECT_THAT(out_, AllOf(StartsWith("@main:\n"), HasSubstr("- %0 = permute(%x, dims=[1, 0])"),
                          HasSubstr("~ return")));
  EXPECT_EQ(err_, "");
}

TEST_F(DiffTest, JsonIntoAFile) {
  EXPECT_EQ(Run("--format=json -o d.json in.weft out.weft"), 1);
  EXPECT_EQ(out_, "");
  EXPECT_THAT(Read("d.json"), AllOf(StartsWith("{\n  \"equal\": false"), HasSubstr("\"went\"")));
}

TEST_F(DiffTest, PathsAreTheUsers) {
  EXPECT_EQ(RunFrom("below", "-o d.txt in.weft out.weft"), 1);
  EXPECT_THAT(Read("d.txt"), HasSubstr("permute"));
}

TEST_F(DiffTest, NumericsOfLayersAndOutputs) {
  Write("near.weft", R"(func @main(%x: f32[2, 3]) -> (f32[2, 3], f32[2, 3]) {
  %0 = sin(%x) loc("c")
  %1 = tan(%x) loc("d")
  return %0, %1
}
)");
  EXPECT_EQ(Run("--numerics in.weft in.weft"), 0) << err_;
  EXPECT_THAT(out_, AllOf(StartsWith("layer"), HasSubstr("inf"), HasSubstr("output_1")));
  EXPECT_EQ(Run("--numerics --data=seeded:2 --min-sqnr=90 in.weft in.weft"), 0);
  EXPECT_EQ(Run("--numerics --min-sqnr=90 in.weft near.weft"), 1);
  EXPECT_EQ(Run("--numerics in.weft near.weft"), 0);
  EXPECT_EQ(Run("--numerics --format=html -o d.html in.weft near.weft"), 0);
  EXPECT_THAT(Read("d.html"), AllOf(StartsWith("<!DOCTYPE html>"), HasSubstr("<td>d</td>")));
  EXPECT_EQ(Run("--format=html in.weft near.weft"), 2);
}

TEST_F(DiffTest, Errors) {
  EXPECT_EQ(Run("in.weft"), 2);
  EXPECT_EQ(err_, "diff: error: expected two model files; --help shows how\n");
  EXPECT_EQ(Run("--format=xml in.weft out.weft"), 2);
  EXPECT_EQ(err_, "diff: error: --format takes text or json, not \"xml\"\n");
  EXPECT_EQ(Run("in.weft none.weft"), 2);
  EXPECT_EQ(err_, "diff: error: cannot open none.weft: No such file or directory\n");
  EXPECT_EQ(Run("--formt=json in.weft out.weft"), 2);
  EXPECT_EQ(err_, "diff: error: unknown flag --formt; did you mean --format?\n");
  EXPECT_EQ(Run("-o none/d.txt in.weft out.weft"), 2);
  EXPECT_EQ(err_, "diff: error: cannot write none/d.txt: No such file or directory\n");
  EXPECT_EQ(out_, "");
  EXPECT_EQ(Run("--help"), 0);
  EXPECT_THAT(out_, StartsWith("Usage: diff [flags] BEFORE AFTER"));
}

}  // namespace
}  // namespace weft
