// The samples of every op, as models of one node: valid for ONNX's checker and
// its shape inference, and the same function when read back.

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "backends/reference/executor.h"
#include "graph/ir/module.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_registry.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "serialize/onnx/export/export.h"
#include "serialize/onnx/import/onnx.h"
#include "tests/serialize/onnx/export/export_cases.h"
#include "tests/serialize/onnx/export/onnx_check.h"
#include "tests/support/tensor_compare.h"

namespace weft {
namespace {

class ExportSamplesTest : public testing::TestWithParam<const OpDef*> {};

// Composites may be rounded once more for each op that they consist of.
Tolerance RoundTripTolerance(DType dtype) {
  Tolerance tolerance = ToleranceOf(dtype);
  tolerance.relative *= 4;
  tolerance.absolute *= 4;
  return tolerance;
}

// The op has no form: because of its dtypes, or as the report says.
void ExpectDeclared(const absl::Status& status, const OpDef& op) {
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  const bool by_dtype = absl::StrContains(status.message(), "element type") ||
                        absl::StrContains(status.message(), "does not take");
  if (by_dtype) return;
  for (const OnnxExportSupport& support : OnnxExportCoverage()) {
    if (support.op != op.name()) continue;
    EXPECT_NE(support.limits, "") << status;
  }
}

void ExpectSameWhenReadBack(const ExportCase& c, const std::string& bytes) {
  auto module = ImportOnnxBytes(bytes, "");
  ASSERT_TRUE(module.ok()) << module.status();
  auto outputs = reference::Run(*(*module)->main(), c.inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ASSERT_EQ(outputs->size(), c.outputs.size());
  for (size_t i = 0; i < outputs->size(); ++i) {
    EXPECT_EQ(Difference((*outputs)[i], c.outputs[i], RoundTripTolerance(c.outputs[i].dtype())), "")
        << "output " << i;
  }
}

// Mistakes of libonnx 1.12, by the start of what it says.
bool IsMistaken(const std::string& complaint) {
  // The number of frames is computed from that of the bins.
  return absl::StartsWith(complaint, "[ShapeInferenceError] (op_type:STFT");
}

void CheckCases(const OpDef& op, absl::StatusOr<std::vector<ExportCase>> cases) {
  ASSERT_TRUE(cases.ok()) << cases.status();
  for (const ExportCase& c : *cases) {
    SCOPED_TRACE(c.name);
    const absl::StatusOr<std::string> bytes = ExportOnnx(*c.module);
    if (!bytes.ok()) {
      ExpectDeclared(bytes.status(), op);
      continue;
    }
    const std::string complaint = OnnxComplaint(*bytes);
    EXPECT_TRUE(complaint.empty() || IsMistaken(complaint)) << complaint;
    ExpectSameWhenReadBack(c, *bytes);
    EXPECT_EQ(*ExportOnnx(*c.module), *bytes) << "exported twice";
  }
}

TEST_P(ExportSamplesTest, Static) { CheckCases(*GetParam(), SampleCases(*GetParam())); }

TEST_P(ExportSamplesTest, Symbolic) { CheckCases(*GetParam(), SymbolicSampleCases(*GetParam())); }

std::vector<const OpDef*> OpsWithSamples() {
  std::vector<const OpDef*> with_samples;
  for (const OpDef* op : ops::Registry().All()) {
    if (!op->samples().empty()) with_samples.push_back(op);
  }
  return with_samples;
}

INSTANTIATE_TEST_SUITE_P(Ops, ExportSamplesTest, testing::ValuesIn(OpsWithSamples()),
                         [](const testing::TestParamInfo<const OpDef*>& info) {
                           std::string name(info.param->name());
                           for (char& ch : name) ch = ch == '.' ? '_' : ch;
                           return name;
                         });

// Every op has operators, a decomposition, or a reason for neither.
TEST(OnnxExportCoverageTest, IsComplete) {
  for (const OnnxExportSupport& support : OnnxExportCoverage()) {
    if (support.form != OnnxExportSupport::Form::kNone) continue;
    EXPECT_NE(support.limits, "") << support.op << " has no entry in the tables";
  }
}

}  // namespace
}  // namespace weft
