// The tables against the specification that libonnx holds.
#include <set>
#include <string>
#include <tuple>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onnx/defs/schema.h"
#include "serialize/onnx/import/import_tables.h"
#include "serialize/onnx/import/onnx.h"

namespace weft {
namespace {

// Operators without a sequence, a string or a random number must be imported.
TEST(CoverageTest, WhatIsAbsentHasAReason) {
  for (const OnnxOperatorSupport& op : OnnxCoverage()) {
    if (!op.imported) {
      EXPECT_NE(op.reason, "not written")
          << op.domain << "::" << op.op_type << " " << op.since_version;
    }
  }
}

// A version that the specification does not have is a slip of the pen.
TEST(CoverageTest, VersionsExist) {
  constexpr int kLastOfLibonnx = 17;
  for (const auto& table : onnx_import::AllTables()) {
    for (const onnx_import::OnnxOp& op : table) {
      int previous = 0;
      for (int version : op.versions) {
        if (version == 0) break;
        EXPECT_GT(version, previous) << op.op_type;
        previous = version;
        if (version > kLastOfLibonnx || op.domain[0] != '\0') continue;
        if (version == 1 && absl::EndsWith(op.op_type, "LayerNormalization")) {
          continue;  // Written before the specification had it.
        }
        const auto* schema = ::onnx::OpSchemaRegistry::Schema(op.op_type, version, op.domain);
        ASSERT_NE(schema, nullptr) << op.op_type << " " << version;
        EXPECT_EQ(schema->SinceVersion(), version) << op.op_type;
      }
    }
  }
}

TEST(CoverageTest, NoVersionIsListedTwice) {
  std::set<std::tuple<std::string, std::string, int>> seen;
  for (const auto& table : onnx_import::AllTables()) {
    for (const onnx_import::OnnxOp& op : table) {
      for (int version : op.versions) {
        if (version == 0) break;
        EXPECT_TRUE(seen.insert({op.domain, op.op_type, version}).second)
            << op.op_type << " " << version;
      }
    }
  }
}

}  // namespace
}  // namespace weft
