// Counts the units that an edit to a header recompiles: those that include it, directly or
// indirectly. A header that most of the tree includes makes every edit below it slow, so no header
// may be included by more than kMaxUnits units, except for headers with a row that sets their
// limit.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/layering/source_files.h"

namespace weft {
namespace {

constexpr int kMaxUnits = 200;

// Lower a row when its header becomes less hot.
const std::map<std::string, int>& Hot() {
  static const auto& rows = *new std::map<std::string, int>{
      {"backends/runtime/symbol_env.h", 215},
      {"base/log.h", 290},
      {"base/status_macros.h", 565},
      {"graph/ir/attr.h", 575},
      {"graph/ir/attrs.h", 490},
      {"graph/ir/builder.h", 395},
      {"graph/ir/builtin_ops.h", 325},
      {"graph/ir/graph.h", 335},
      {"graph/ir/ids.h", 575},
      {"graph/ir/module.h", 505},
      {"graph/ir/node.h", 280},
      {"graph/ir/numeric_contract.h", 420},
      {"graph/ir/op_def.h", 330},
      {"graph/ir/value.h", 535},
      {"graph/ops/ops.h", 300},
      {"graph/sym/sym_int.h", 1170},
      {"graph/target/target.h", 380},
      {"graph/tensor/dtype.h", 1170},
      {"graph/tensor/tensor.h", 660},
      {"graph/tensor/type.h", 1070},
      {"lowering/kernel.h", 355},
      {"lowering/kernel_schedule.h", 355},
      {"lowering/plan.h", 290},
      {"passes/engine/logs.h", 260},
      {"passes/engine/pass_context.h", 260},
      {"passes/engine/remarks.h", 255},
  };
  return rows;
}

// The headers that each header and unit includes directly.
using Graph = std::map<std::string, std::vector<std::string>>;

// The includes of the headers that graph/ops/gen makes: for all ops, and for each family.
std::vector<std::string> IncludesOfGenerated(absl::string_view path) {
  if (path == "graph/ops/ops.h") return {"graph/ir/builtin_ops.h"};
  return {"graph/ir/node_view.h", "graph/sym/sym_int.h", "graph/tensor/dtype.h"};
}

Graph IncludesOf(const std::vector<SourceFile>& files) {
  Graph graph;
  for (const SourceFile& file : files) graph[file.path];
  for (const SourceFile& file : files) {
    for (const Include& include : file.includes) {
      if (!include.quoted) continue;
      if (absl::StartsWith(include.path, "graph/ops/")) {
        graph.emplace(include.path, IncludesOfGenerated(include.path));
      }
      if (graph.count(include.path) > 0) graph[file.path].push_back(include.path);
    }
  }
  return graph;
}

// Units, by header.
std::map<std::string, int> CountUnits(const Graph& graph) {
  std::map<std::string, int> units;
  for (const auto& [unit, direct] : graph) {
    if (!absl::EndsWith(unit, ".cc")) continue;
    absl::flat_hash_set<std::string> seen(direct.begin(), direct.end());
    std::vector<std::string> stack(seen.begin(), seen.end());
    while (!stack.empty()) {
      const std::string header = std::move(stack.back());
      stack.pop_back();
      ++units[header];
      for (const std::string& next : graph.at(header)) {
        if (seen.insert(next).second) stack.push_back(next);
      }
    }
  }
  return units;
}

TEST(IncludeCountsTest, FollowsHeaders) {
  const auto counts = CountUnits({{"a.cc", {"a.h"}},
                                  {"b.cc", {"a.h", "b.h"}},
                                  {"a.h", {"c.h"}},
                                  {"b.h", {"c.h"}},
                                  {"c.h", {}}});
  EXPECT_THAT(counts, testing::ElementsAre(testing::Pair("a.h", 2), testing::Pair("b.h", 1),
                                           testing::Pair("c.h", 2)));
}

TEST(IncludeCountsTest, NoHeaderIsHotterThanItsRow) {
  const auto counts = CountUnits(IncludesOf(ReadSources(RepositoryRoot())));
  ASSERT_GT(counts.size(), 100u);
  for (const auto& [header, units] : counts) {
    const auto row = Hot().find(header);
    if (row == Hot().end()) {
      EXPECT_LE(units, kMaxUnits) << header << " recompiles " << units << " units";
      continue;
    }
    EXPECT_LE(units, row->second) << header << " recompiles " << units << " units";
    EXPECT_GT(units, kMaxUnits) << header << " needs no row any more";
  }
  for (const auto& [header, most] : Hot()) {
    EXPECT_EQ(counts.count(header), 1u)
        << header << " has a row of " << most << " and is not included";
  }
}

}  // namespace
}  // namespace weft
