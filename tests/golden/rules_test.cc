// Requirements for every rule of every set: a name, an identity, named guards; a golden case in
// which it fires, and one in which an op that its pattern starts at occurs and it does not fire.
// The runner checks that both sides compute the same, edge values included, in the case that fires.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_def.h"
#include "graph/ops/registry.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "passes/canonicalize.h"
#include "tests/golden/runner.h"

namespace weft::golden {
namespace {

std::vector<const Rule*> AllRules() {
  std::vector<const Rule*> rules;
  for (absl::Span<const Rule> theme : CanonicalizeRules()) {
    for (const Rule& rule : theme) rules.push_back(&rule);
  }
  return rules;
}

bool StartsAt(const Rule& rule, const OpDef& op) {
  const PatternNode& root = rule.pattern.root();
  if (root.op != nullptr) return root.op == &op;
  if (root.ops == nullptr) return (op.traits() & root.traits) == root.traits;
  return std::find(root.ops, root.ops + root.num_ops, &op) != root.ops + root.num_ops;
}

// Evidence about rules from the golden cases.
struct Evidence {
  std::set<std::string> fired;       // Rules, by name.
  std::map<std::string, bool> kept;  // Rules that a case could have fired.
};

void Collect(const File& file, const Case& test, Evidence* evidence) {
  const auto module = ParseModule(test.input, ops::Registry());
  ASSERT_TRUE(module.ok()) << test.name << ": " << module.status();
  const auto counters = CountersOf(file, test);
  ASSERT_TRUE(counters.ok()) << test.name << ": " << counters.status();
  std::set<std::string> fired;
  for (absl::string_view counter : *counters) {
    if (absl::ConsumePrefix(&counter, "rule.")) fired.insert(std::string(counter));
  }
  std::set<const OpDef*> ops;
  for (Graph* graph : (*module)->AllGraphs()) {
    for (Node* node : graph->nodes()) ops.insert(&node->op());
  }
  const NumericContract admitted = file.contract.value_or(PassContext::kDefaultAdmitted);
  for (const Rule* rule : AllRules()) {
    if (rule->contract > admitted || fired.count(rule->name) > 0) continue;
    evidence->kept[rule->name] |=
        std::any_of(ops.begin(), ops.end(), [&](const OpDef* op) { return StartsAt(*rule, *op); });
  }
  evidence->fired.insert(fired.begin(), fired.end());
}

const Evidence& FromGoldenFiles() {
  static const Evidence& evidence = *[] {
    auto* e = new Evidence;
    for (const auto& entry : std::filesystem::recursive_directory_iterator("tests/golden")) {
      if (entry.path().extension() != ".weft") continue;
      const auto file = ReadFile(entry.path().generic_string());
      EXPECT_TRUE(file.ok()) << file.status();
      if (!file.ok() || file->pipeline.find("canonicalize") == std::string::npos) continue;
      for (const Case& test : file->cases) Collect(*file, test, e);
    }
    return e;
  }();
  return evidence;
}

class RuleTest : public testing::TestWithParam<const Rule*> {};

TEST_P(RuleTest, IsNamed) {
  const Rule& rule = *GetParam();
  for (const char* c = rule.name; *c != '\0'; ++c) {
    EXPECT_TRUE(std::islower(*c) || std::isdigit(*c) || *c == '-') << rule.name;
  }
  EXPECT_STRNE(rule.identity, "");
  for (const Guard& guard : rule.guards.list) {
    if (guard.holds == nullptr) continue;
    EXPECT_GT(absl::string_view(guard.name).size(), 8u) << "a guard's name says what holds";
  }
}

TEST_P(RuleTest, FiresInAGoldenCase) {
  EXPECT_EQ(FromGoldenFiles().fired.count(GetParam()->name), 1u);
}

TEST_P(RuleTest, DoesNotFireInAnother) {
  const auto& kept = FromGoldenFiles().kept;
  const auto it = kept.find(GetParam()->name);
  EXPECT_TRUE(it != kept.end() && it->second)
      << "no golden case has the root of the pattern and keeps it";
}

INSTANTIATE_TEST_SUITE_P(Canonicalize, RuleTest, testing::ValuesIn(AllRules()),
                         [](const testing::TestParamInfo<const Rule*>& info) {
                           std::string name = info.param->name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Rules, NamesAreUnique) {
  std::set<std::string> names;
  for (const Rule* rule : AllRules()) {
    EXPECT_TRUE(names.insert(rule->name).second) << rule->name << " stands twice";
  }
}

}  // namespace
}  // namespace weft::golden
