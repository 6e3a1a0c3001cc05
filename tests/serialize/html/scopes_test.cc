#include "serialize/html/scopes.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(SplitScopes, SlashesWin) {
  EXPECT_THAT(SplitScopes("encoder/layer.0/attn/MatMul"),
              ElementsAre("encoder", "layer.0", "attn"));
  EXPECT_THAT(SplitScopes("/embeddings//Add"), ElementsAre("embeddings"));
  EXPECT_THAT(SplitScopes("/Add"), IsEmpty());
  EXPECT_THAT(SplitScopes("Add"), IsEmpty());
  EXPECT_THAT(SplitScopes(""), IsEmpty());
  EXPECT_THAT(SplitScopes("///"), IsEmpty());
}

TEST(SplitScopes, DotsOtherwise) {
  EXPECT_THAT(SplitScopes("encoder.layer.0.attn.linear"),
              ElementsAre("encoder", "layer.0", "attn"));
  EXPECT_THAT(SplitScopes("add.1"), IsEmpty());
  EXPECT_THAT(SplitScopes("layers.0.1.relu"), ElementsAre("layers.0.1"));
}

TEST(SplitScopes, DepthIsBounded) {
  std::string name;
  for (int i = 0; i < 100'000; ++i) name += "a/";
  const auto scopes = SplitScopes(name + "b");
  ASSERT_EQ(scopes.size(), kMaxScopeDepth);
  EXPECT_EQ(scopes[0], "a");
  EXPECT_EQ(scopes.back().size(), 2 * (100'000 - kMaxScopeDepth) + 1);
}

TEST(ScopeTree, CommonAndRelative) {
  StringTable strings;
  ScopeTree tree(&strings);
  const int query = tree.Of("l/attn/query/MatMul");
  const int key = tree.Of("l/attn/key/MatMul");
  const int norm = tree.Of("l/norm/Add");
  EXPECT_EQ(tree.Path(tree.Common(query, key)), "l/attn");
  EXPECT_EQ(tree.Path(tree.Common(query, norm)), "l");
  EXPECT_EQ(tree.Common(query, tree.Of("Add")), 0);
  EXPECT_EQ(tree.Common(query, query), query);
  EXPECT_EQ(tree.Path(tree.Relative(query, tree.Of("l/x"))), "attn/query");
  EXPECT_EQ(tree.Relative(norm, norm), 0);
  EXPECT_EQ(tree.Of("l/attn/query/Other"), query);
}

}  // namespace
}  // namespace weft
