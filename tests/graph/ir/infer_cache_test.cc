#include "graph/ir/infer_cache.h"

#include <vector>

#include "graph/ir/attr.h"
#include "graph/sym/sym_facts.h"
#include "gtest/gtest.h"
#include "tests/graph/ir/test_ops.h"

namespace weft {
namespace {

class InferCacheTest : public testing::Test {
 protected:
  OpArgs Args(const OpDef& op, const std::vector<Type>& types) {
    OpArgs args;
    args.op = &op;
    args.types = types;
    args.attr_list = AttrList::Empty();
    args.symbols = &symbols_;
    return args;
  }

  SymbolTable symbols_;
  InferCache cache_;
  const Type wide_ = Type::Tensor(DType::kF32, {SymInt(4)});
  const Type narrow_ = Type::Tensor(DType::kF32, {SymInt(1)});
};

TEST_F(InferCacheTest, RemembersASignature) {
  const std::vector<Type> types = {wide_, narrow_};
  const OpArgs args = Args(test_ops::add, types);
  ASSERT_TRUE(InferCache::Admits(args));
  EXPECT_EQ(cache_.Find(args), nullptr);
  cache_.Insert(args, {wide_});
  ASSERT_NE(cache_.Find(args), nullptr);
  EXPECT_EQ(*cache_.Find(args), Types{wide_});
}

TEST_F(InferCacheTest, TellsSignaturesApart) {
  const std::vector<Type> types = {wide_, narrow_}, swapped = {narrow_, wide_}, fewer = {wide_};
  cache_.Insert(Args(test_ops::add, types), {wide_});
  EXPECT_EQ(cache_.Find(Args(test_ops::add, swapped)), nullptr);
  EXPECT_EQ(cache_.Find(Args(test_ops::add, fewer)), nullptr);
  EXPECT_EQ(cache_.Find(Args(test_ops::cat, types)), nullptr);
}

TEST_F(InferCacheTest, ForgetsWhenAFactChanges) {
  const std::vector<Type> types = {wide_, wide_};
  cache_.Insert(Args(test_ops::add, types), {wide_});
  symbols_.Fresh("s");
  EXPECT_EQ(cache_.Find(Args(test_ops::add, types)), nullptr);
}

}  // namespace
}  // namespace weft
