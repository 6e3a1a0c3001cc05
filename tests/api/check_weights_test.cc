// Compiled files with a damaged weight: refused by name, or run with the weight that they have.
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/backends.h"
#include "api/compiled_file.h"
#include "api/compiled_program.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "serialize/flat/weftb_builder.h"
#include "serialize/flat/weftb_file.h"
#include "serialize/flat/weftb_plan.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Numbers are exact in any order of the sums.
constexpr char kModel[] = R"(
func @main(%x: f32[s0, 48]) -> (%y: f32[s0, 48]) {
  %0 = constant(@c0) : f32[48, 48]
  %y = matmul(%x, %0)
  return %y
}
constants {
  @c0 "fc.weight" : f32[48, 48] = dense<0.25>
}
)";

const Backend& Cpu() { return **BuiltinBackends().Find("cpu"); }

std::string ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Writes the model, and a copy whose weight begins with 1; returns the paths of both.
std::pair<std::string, std::string> WriteBoth(absl::string_view extension) {
  const auto path = [&](absl::string_view name) {
    return absl::StrCat(testing::TempDir(), "/", name, extension);
  };
  const auto module = Parse(kModel);
  const absl::Status status = extension == ".so"
                                  ? WriteCompiledLibrary(*module, Cpu(), path("good"))
                                  : WriteCompiledFile(*module, Cpu(), path("good"));
  EXPECT_TRUE(status.ok()) << status;
  const std::vector<float> weight(48 * 48, 0.25f);
  const std::string pattern(reinterpret_cast<const char*>(weight.data()),
                            weight.size() * sizeof(float));
  std::string bytes = ReadBytes(path("good"));
  const size_t at = bytes.find(pattern);
  EXPECT_NE(at, std::string::npos);
  EXPECT_EQ(bytes.find(pattern, at + 1), std::string::npos);
  const float one = 1;
  bytes.replace(at, sizeof(one), reinterpret_cast<const char*>(&one), sizeof(one));
  std::ofstream(path("damaged"), std::ios::binary) << bytes;
  return {path("good"), path("damaged")};
}

absl::StatusOr<CompiledProgram> Open(const std::string& path, bool check_weights) {
  CompiledProgramOptions options;
  options.check_weights = check_weights;
  return CompiledProgram::Open(path, options);
}

// The sums of the weight's columns.
std::vector<double> ColumnSums(const CompiledProgram& program) {
  const auto outputs =
      program.Run({HostTensor::FromDoubles(DType::kF32, {1, 48}, std::vector<double>(48, 1))});
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return (*outputs)[0].ReadDoubles();
}

std::vector<double> Sums(double first) {
  std::vector<double> sums(48, 12);
  sums[0] = first;
  return sums;
}

class CheckWeights : public testing::TestWithParam<const char*> {};

TEST_P(CheckWeights, ADamagedWeightIsRefusedByName) {
  const auto [good, damaged] = WriteBoth(GetParam());
  EXPECT_TRUE(CompiledProgram::Open(good).ok());
  const absl::Status refusal = CompiledProgram::Open(damaged).status();
  EXPECT_EQ(refusal.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refusal.message()),
              AllOf(HasSubstr(absl::StrCat(damaged, ": constant 0x")),
                    HasSubstr(" (fc.weight) has another content, 0x")));
}

// The files give their weights one content id, which is true for the first alone. Programs that
// took it for true could share the weight, or what they pack of it.
TEST_P(CheckWeights, EachProgramRunsWithItsOwnWeights) {
  const auto [good, damaged] = WriteBoth(GetParam());
  for (const bool good_is_checked : {true, false}) {
    for (const bool damaged_is_first : {false, true}) {
      const auto unchecked = Open(damaged, false);
      ASSERT_TRUE(unchecked.ok()) << unchecked.status();
      if (damaged_is_first) {
        EXPECT_EQ(ColumnSums(*unchecked), Sums(12.75));
      }
      const auto checked = Open(good, good_is_checked);
      ASSERT_TRUE(checked.ok()) << checked.status();
      for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(ColumnSums(*checked), Sums(12));
        EXPECT_EQ(ColumnSums(*unchecked), Sums(12.75));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, CheckWeights, testing::Values(".weftb", ".so"),
                         [](const auto& info) { return std::string(info.param + 1); });

// A plan does not keep the ids of its file: a file that is written of it has those of its contents.
TEST(CheckWeightsTest, AFileThatIsWrittenAgainHasTheIdsOfItsContents) {
  const auto [good, damaged] = WriteBoth(".weftb");
  const auto file = WeftbFile::Open(damaged);
  ASSERT_TRUE(file.ok()) << file.status();
  WeftbPlanOptions options;
  options.check_weights = false;
  const auto plan = ReadPlanFromWeftb(**file, "main", "cpu", options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  WeftbBuilder builder;
  ASSERT_TRUE(AddPlanToWeftb(*plan, builder.AddTarget("cpu", ""), &builder).ok());
  const std::string again = absl::StrCat(testing::TempDir(), "/again.weftb");
  ASSERT_TRUE(builder.Write(again).ok());
  const auto program = CompiledProgram::Open(again);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(ColumnSums(*program), Sums(12.75));
}

}  // namespace
}  // namespace weft
