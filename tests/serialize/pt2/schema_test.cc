// The table of operators: its schemas against PyTorch's, and its completeness.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/aten_schema.h"
#include "serialize/pt2/pt2.h"

namespace weft::pt2 {
namespace {

namespace fs = std::filesystem;

std::string Text(const Argument& a) {
  std::string items;
  for (const Argument& item : a.items) absl::StrAppend(&items, Text(item), ",");
  return absl::StrCat(static_cast<int>(a.kind), ":", a.name, ":", a.integer, ":", a.number, "[",
                      items, "]");
}

std::string Text(const AtenSchema& schema) {
  std::string text = schema.name;
  for (const AtenArg& arg : schema.args) {
    absl::StrAppend(&text, "\n  ", arg.type, " ", arg.name, " ", arg.alias, arg.written ? "!" : "",
                    " = ", arg.default_value ? Text(*arg.default_value) : "-");
  }
  for (const AtenResult& result : schema.results) {
    absl::StrAppend(&text, "\n  -> ", result.alias, result.written ? "!" : "",
                    result.list ? "[]" : "");
  }
  return text;
}

TEST(SchemaTest, ParsesTypesDefaultsAndAliases) {
  const auto schema = AtenSchema::Parse(
      "f.out(Tensor(a!) self, Tensor?[] x, *, Scalar alpha=1, float eps=1e-05, "
      "int[2] pad=[0, 1], str mode=\"a, b\", bool? c=None) -> "
      "(Tensor(a!), Tensor[])");
  ASSERT_TRUE(schema.ok()) << schema.status();
  EXPECT_EQ(schema->name, "f.out");
  ASSERT_EQ(schema->args.size(), 7u);
  EXPECT_EQ(schema->args[0].type, "Tensor");
  EXPECT_TRUE(schema->args[0].written);
  EXPECT_EQ(schema->args[1].type, "Tensor?[]");
  EXPECT_FALSE(schema->args[1].default_value.has_value());
  EXPECT_EQ(schema->args[2].default_value->integer, 1);
  EXPECT_DOUBLE_EQ(schema->args[3].default_value->number, 1e-5);
  EXPECT_EQ(schema->args[4].default_value->items.size(), 2u);
  EXPECT_EQ(schema->args[5].default_value->name, "a, b");
  EXPECT_EQ(schema->args[6].default_value->kind, Argument::Kind::kNone);
  ASSERT_EQ(schema->results.size(), 2u);
  EXPECT_TRUE(schema->results[0].written);
  EXPECT_TRUE(schema->results[1].list);
  EXPECT_FALSE(AtenSchema::Parse("nothing").ok());
}

// Schemas number dtypes as c10 does, archives one higher.
TEST(SchemaTest, DefaultDTypes) {
  const auto schema = AtenSchema::Parse("f(int n, *, ScalarType? dtype=4) -> Tensor");
  ASSERT_TRUE(schema.ok()) << schema.status();
  const Argument& dtype = *schema->args[1].default_value;
  EXPECT_EQ(dtype.kind, Argument::Kind::kDType);
  EXPECT_EQ(DTypeFromNumber(dtype.integer), DType::kI64);
  EXPECT_FALSE(AtenSchema::Parse("f(*, ScalarType? dtype=99) -> Tensor").ok());
}

TEST(SchemaTest, FindsTwinsOfWrites) {
  EXPECT_NE(FindAten("torch.ops.aten.add.Tensor"), nullptr);
  EXPECT_EQ(FindAten("torch.ops.aten.add_.Tensor"), nullptr);
  EXPECT_EQ(FindWritten("torch.ops.aten.add_.Tensor"), FindAten("torch.ops.aten.add.Tensor"));
  EXPECT_EQ(FindWritten("torch.ops.aten.add.Tensor"), nullptr);
  EXPECT_EQ(FindWritten("torch.ops.aten.__and__.Tensor"), nullptr);
}

TEST(SchemaTest, CoreAtenIsCovered) {
  std::vector<std::string> missing;
  int core = 0;
  for (const AtenSupport& op : AtenCoverage()) {
    if (!op.core) continue;
    ++core;
    if (op.kind == AtenSupport::Kind::kMissing) missing.push_back(op.target);
    EXPECT_FALSE(op.how.empty()) << op.target;
  }
  EXPECT_EQ(core, 192);
  EXPECT_THAT(missing, testing::IsEmpty());
}

// PyTorch's own list, where it stands beside the checkout.
TEST(SchemaTest, AgreesWithPyTorch) {
  const fs::path root = fs::canonical(fs::path(std::getenv("TEST_SRCDIR")) /
                                      std::getenv("TEST_WORKSPACE") / "WORKSPACE")
                            .parent_path();
  const fs::path list = root.parent_path() / "shared" / "pt2" / "aten-schemas.tsv";
  if (!fs::exists(list)) {
    GTEST_SKIP() << list << " is not there; it is not part of this project";
  }
  std::map<std::string, std::string> theirs;
  std::ifstream file(list);
  std::string line;
  while (std::getline(file, line)) {
    const std::vector<std::string> columns = absl::StrSplit(line, '\t');
    if (columns.size() < 2) continue;
    theirs[columns[0]] = columns[1].substr(columns[1].find("::") + 2);
  }
  for (const auto& [target, op] : AllAten()) {
    // Other packages register these.
    if (absl::StartsWith(target, "torch.ops.torchao.")) continue;
    if (absl::StartsWith(target, "torch.ops.torchvision.")) continue;
    if (absl::StartsWith(target, "torch.ops.transformers.")) continue;
    const auto found = theirs.find(target);
    ASSERT_NE(found, theirs.end()) << target;
    const auto schema = AtenSchema::Parse(found->second);
    ASSERT_TRUE(schema.ok()) << schema.status();
    AtenSchema ours = op->schema;
    const size_t colons = ours.name.find("::");
    if (colons != std::string::npos) ours.name.erase(0, colons + 2);
    EXPECT_EQ(Text(ours), Text(*schema)) << target;
  }
}

}  // namespace
}  // namespace weft::pt2
