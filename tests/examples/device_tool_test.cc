// examples/device by the command lines of opt, run, conformance and bench.
#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/tools/tool_test.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

fs::path Root() { return fs::path(std::getenv("TEST_SRCDIR")) / std::getenv("TEST_WORKSPACE"); }

std::string Load() {
  return absl::StrCat("--load='", (Root() / "examples/device/libsim.so").string(), "' ");
}

class DeviceToolTest : public ToolTest {
 protected:
  DeviceToolTest() : ToolTest("run") {}
  std::string Model() const {
    return absl::StrCat(" '", (Root() / "examples/transformer.onnx").string(), "'");
  }
};

TEST_F(DeviceToolTest, RunsAModelAsTheReference) {
  ASSERT_EQ(Run(absl::StrCat(Load(), "--target=sim --compare=reference --size batch=1 ",
                             "--size sequence=4", Model())),
            0)
      << out_ << err_;
}

TEST_F(DeviceToolTest, VerifiesTheTarget) {
  EXPECT_EQ(Run(absl::StrCat(Load(), "--target=sim --verify=target in.weft")), 0) << out_ << err_;
}

TEST_F(DeviceToolTest, SaysWhichTargetsThereAre) {
  EXPECT_EQ(Run("--target=sim in.weft"), 2);
  EXPECT_THAT(err_, HasSubstr("unknown target \"sim\"; the targets are: reference, cpu, cuda"));
  EXPECT_EQ(Run(absl::StrCat(Load(), "--target=simm in.weft")), 2);
  EXPECT_THAT(err_, HasSubstr("the targets are: reference, cpu, cuda, sim"));
}

TEST_F(DeviceToolTest, TakesTheDevicesOptions) {
  const std::string sim = absl::StrCat(Load(), "--target=sim ");
  EXPECT_EQ(Run(absl::StrCat(sim, "--device-option=fail=launch:1 in.weft")), 2);
  EXPECT_THAT(err_, HasSubstr("device sim: launch: the option fail asks for it"));
  EXPECT_EQ(Run(absl::StrCat(sim, "--device-option=threads=1 in.weft")), 2);
  EXPECT_THAT(err_, HasSubstr("its options are: fail, delay"));
  EXPECT_EQ(Run(absl::StrCat(sim, "--device-option=fail in.weft")), 2);
  EXPECT_THAT(err_, HasSubstr("--device-option takes NAME=VALUE"));
}

TEST_F(DeviceToolTest, OptCompilesForIt) {
  EXPECT_EQ(RunOther("opt", absl::StrCat(Load(), "--target=sim --emit=target in.weft")), 0) << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("target sim {"), HasSubstr("routine convolution {")));
  EXPECT_EQ(RunOther("opt", absl::StrCat(Load(), "--target=sim --emit=plan in.weft")), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("kernel @"));
}

TEST_F(DeviceToolTest, RunsConformanceCases) {
  const int status = RunOther("conformance/main",
                              absl::StrCat(Load(), "--target=sim --filter='test_softmax_axis_*' ",
                                           "/usr/share/libonnx-testdata/data/node"));
  EXPECT_EQ(status, 0) << out_ << err_;
  EXPECT_THAT(out_, HasSubstr(" 0 failed"));
}

TEST_F(DeviceToolTest, BenchMeasuresIt) {
  const std::string flags = "--format=json --repeat=3 --nopeaks --target=sim ";
  EXPECT_EQ(RunOther("bench/main", absl::StrCat(Load(), flags, "in.weft")), 0) << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("\"target\": \"sim\""), HasSubstr("\"passes\": \"cpu\""),
                          HasSubstr("\"iterations\": 3"), HasSubstr("\"steps\": 2")));
  // The work is the device's.
  EXPECT_EQ(RunOther("bench/main",
                     absl::StrCat(Load(), flags, "--device-option=fail=launch:1 ", "in.weft")),
            2);
  EXPECT_THAT(err_, HasSubstr("device sim: launch: the option fail asks for it"));
  EXPECT_EQ(RunOther("bench/main", absl::StrCat(flags, "in.weft")), 2);
  EXPECT_THAT(err_, HasSubstr("unknown target \"sim\""));
}

TEST_F(DeviceToolTest, BenchVerifiesAndSweepsIt) {
  const std::string flags = absl::StrCat(Load(), "--repeat=1 --nopeaks --target=sim ");
  EXPECT_EQ(RunOther("bench/main", absl::StrCat(flags, "--verify=target in.weft")), 0) << err_;
  EXPECT_THAT(err_, HasSubstr("agree with the reference"));
  Write("open.weft", "func @main(%x: f32[s0]) -> f32[s0] {\n %0 = exp(%x)\n return %0\n}\n");
  EXPECT_EQ(RunOther("bench/main", absl::StrCat(flags, "--sweep=s0=2:4:2 open.weft")), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("\"assignments\": 2"));
}

}  // namespace
}  // namespace weft
