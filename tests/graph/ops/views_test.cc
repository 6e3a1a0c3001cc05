// The views and builders that graph/ops/gen makes of the schemas.
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "graph/ir/attrs.h"
#include "graph/ir/builder.h"
#include "graph/ir/builtin_ops.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/node_view.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_registry.h"
#include "graph/ir/op_schema.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/index.h"
#include "graph/ops/nn.h"
#include "graph/ops/reduce.h"
#include "graph/ops/registry.h"
#include "graph/ops/shape.h"
#include "graph/ops/signal.h"
#include "graph/tensor/tensor.h"
#include "graph/tensor/type.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// --- The generator reads schemas as the library does.

std::string KindName(AttrKind kind) {
  switch (kind) {
    case AttrKind::kBool:
      return "bool";
    case AttrKind::kInt:
      return "int";
    case AttrKind::kSymInt:
      return "SymInt";
    case AttrKind::kFloat:
      return "float";
    case AttrKind::kString:
      return "str";
    case AttrKind::kDType:
      return "ScalarType";
    case AttrKind::kInts:
      return "int[]";
    case AttrKind::kSymInts:
      return "SymInt[]";
    case AttrKind::kFloats:
      return "float[]";
    case AttrKind::kStrings:
      return "str[]";
  }
  return "";
}

std::string Signature(const OpSchema& schema) {
  std::vector<std::string> arguments;
  for (const OperandSpec& operand : schema.operands) {
    arguments.push_back(absl::StrCat(operand.symint ? "SymInt*" : "Tensor",
                                     operand.variadic ? "[]" : "", operand.optional ? "?" : "", " ",
                                     operand.name));
  }
  for (const AttrSpec& attr : schema.attrs) {
    arguments.push_back(
        absl::StrCat(KindName(attr.kind), attr.optional ? "?" : "", " ", attr.name));
  }
  for (const std::string& region : schema.regions) {
    arguments.push_back(absl::StrCat("Graph ", region));
  }
  const std::string results =
      schema.has_variadic_result() ? "list" : absl::StrCat(schema.results.size());
  return absl::StrCat(schema.name, "(", absl::StrJoin(arguments, ", "), ") -> ", results);
}

TEST(SignaturesTest, AreThoseOfTheSchemas) {
  std::map<std::string, std::string> generated;
  std::ifstream in("graph/ops/signatures.txt");
  for (std::string line; std::getline(in, line);) generated[line.substr(0, line.find('('))] = line;
  ASSERT_THAT(generated, SizeIs(testing::Gt(150)));
  for (const OpDef* op : ops::Registry().All()) {
    if (op == &ops::constant || op == &ops::return_) continue;
    EXPECT_EQ(generated[std::string(op->name())], Signature(op->schema()));
  }
  EXPECT_EQ(generated.size() + 2, ops::Registry().All().size());
}

// --- Views and builders.

class ViewsTest : public testing::Test {
 protected:
  Value* Input(std::vector<SymInt> dims, DType dtype = DType::kF32) {
    return graph_->AddInput(Type::Tensor(dtype, dims));
  }

  Module module_{ops::Registry()};
  Graph* graph_ = module_.AddFunction("main");
  Builder b_{graph_, nullptr, Builder::Options{/*fold=*/false}};
};

TEST_F(ViewsTest, NameOperandsAndAttributes) {
  Value* x = Input({1, 4, 8, 8});
  Value* w = Input({6, 2, 3, 3});
  Value* y = ops::BuildConvolution(b_, x, w, nullptr, {2, 1}, {1, 0}, {1, 1},
                                   /*transposed=*/false, {}, /*groups=*/2);
  ASSERT_TRUE(b_.status().ok()) << b_.status();
  const ops::ConvolutionView conv(*y->node());
  EXPECT_EQ(&conv.node(), y->node());
  EXPECT_EQ(conv.input(), x);
  EXPECT_EQ(conv.weight(), w);
  EXPECT_EQ(conv.bias(), nullptr);
  EXPECT_THAT(conv.stride(), ElementsAre(SymInt(2), SymInt(1)));
  EXPECT_THAT(conv.padding(), ElementsAre(SymInt(1), SymInt(0)));
  EXPECT_THAT(conv.dilation(), ElementsAre(SymInt(1), SymInt(1)));
  EXPECT_FALSE(conv.transposed());
  EXPECT_THAT(conv.output_padding(), IsEmpty());
  EXPECT_EQ(conv.groups(), SymInt(2));
}

TEST_F(ViewsTest, ShowListsOfOperands) {
  Value* x = Input({2, 3});
  Value* y = Input({2, 5});
  const ops::CatView cat(*ops::BuildCat(b_, {x, y, x}, 1)->node());
  EXPECT_EQ(cat.tensors().size(), 3);
  EXPECT_EQ(cat.tensors()[1], y);
  EXPECT_THAT(cat.tensors().ToVector(), ElementsAre(x, y, x));
  EXPECT_EQ(cat.dim(), 1);
}

TEST_F(ViewsTest, TellAbsentAttributesFromPresentOnes) {
  Value* x = Input({4});
  Value* y = Input({4});
  EXPECT_EQ(ops::DivView(*ops::BuildDiv(b_, x, y)->node()).rounding_mode(), std::nullopt);
  const ops::DivView floored(*ops::BuildDiv(b_, x, y, "floor")->node());
  EXPECT_EQ(floored.rounding_mode(), "floor");
  Value* signal = Input({2, 8, 1});
  EXPECT_EQ(ops::DftView(*ops::BuildDft(b_, signal)->node()).dft_length(), std::nullopt);
  EXPECT_EQ(ops::DftView(*ops::BuildDft(b_, signal, 4)->node()).dft_length(), SymInt(4));
}

TEST_F(ViewsTest, OfSeveralOpsShowWhatTheyShare) {
  Value* x = Input({2, 3, 4});
  for (const OpDef* op : {&ops::sum, &ops::amax, &ops::logsumexp}) {
    Value* y = ops::BuildDimsReduction(b_, *op, x, {0, 2}, true);
    ASSERT_NE(y, nullptr) << b_.status();
    EXPECT_TRUE(y->IsResultOf(*op));
    const ops::DimsReductionView view(*y->node());
    EXPECT_EQ(view.self(), x);
    EXPECT_THAT(view.dim(), ElementsAre(0, 2));
    EXPECT_TRUE(view.keepdim());
  }
  EXPECT_FALSE(ops::IsDimsReduction(ops::argmax));
  Value* image = Input({1, 2, 8, 8});
  const std::vector<Value*> pooled =
      ops::BuildMaxPool(b_, image, {3, 2}, {1, 1}, {0, 0, 0, 0}, {1, 1});
  ASSERT_THAT(pooled, SizeIs(2)) << b_.status();
  EXPECT_THAT(ops::PoolView(*pooled[0]->node()).kernel_size(), ElementsAre(3, 2));
}

TEST_F(ViewsTest, OfAttributesNeedNoNode) {
  const ops::SliceAttrView slice(Attrs(&ops::slice.schema(), ops::SliceAttrs(1, 2)));
  EXPECT_EQ(slice.dim(), 1);
  EXPECT_EQ(slice.start(), SymInt(2));
  EXPECT_EQ(slice.step(), SymInt(1));
  const Attrs div(&ops::div.schema(), ops::DivAttrs());
  EXPECT_EQ(ops::DivAttrView(div).rounding_mode(), std::nullopt);
  const Attrs pool(&ops::max_pool.schema(), ops::MaxPoolAttrs({3}, {2}, {0}, {1}));
  EXPECT_THAT(ops::PoolAttrView(pool).kernel_size(), ElementsAre(3));
  EXPECT_DEATH(ops::SliceAttrView{div}, "a view of attributes of slice on those of div");
  EXPECT_DEATH(ops::PoolAttrView{div}, "on those of div");
}

TEST_F(ViewsTest, OfConstantsGiveTheirNumber) {
  const HostTensor one = HostTensor::FromInts(DType::kI64, {1}, {1});
  const HostTensor two = HostTensor::FromInts(DType::kI64, {1}, {2});
  b_.Constant(one);
  const ops::ConstantView constant(*b_.Constant(two)->node());
  EXPECT_TRUE(module_.constants().tensor(constant.id()).BitEqual(two));
  const Node& node = *ops::BuildNeg(b_, Input({2}))->node();
  EXPECT_DEATH(ops::ConstantView{node}, "a view of constant on a node of neg");
}

TEST_F(ViewsTest, OfAnotherOpFail) {
  const Node& node = *ops::BuildNeg(b_, Input({2}))->node();
  EXPECT_DEATH(ops::SliceView{node}, "a view of slice on a node of neg");
  EXPECT_DEATH(ops::DimsReductionView{node}, "a shared view on a node of neg");
}

// Attribute lists are interned, so equal ones are one object.
TEST_F(ViewsTest, BuildersFillInTheDefaultsOfTheSchema) {
  Value* x = Input({2, 3, 8});
  const auto attrs = [](Value* v) { return v->node()->attr_list(); };
  EXPECT_EQ(attrs(ops::BuildSlice(b_, x, 2, 1)),
            attrs(b_.Op(ops::slice, {x}, {{"dim", 2}, {"start", 1}})));
  EXPECT_EQ(attrs(ops::BuildConvert(b_, x, DType::kF16)),
            attrs(b_.Op(ops::convert, {x}, {{"dtype", DType::kF16}})));
  EXPECT_EQ(attrs(ops::BuildSum(b_, x)), attrs(b_.Op(ops::sum, {x})));
  EXPECT_EQ(attrs(ops::BuildGelu(b_, x)), attrs(b_.Op(ops::gelu, {x})));
  EXPECT_EQ(attrs(ops::BuildSelu(b_, x)), attrs(b_.Op(ops::selu, {x})));
  EXPECT_EQ(attrs(ops::BuildArange(b_, 0, 5)),
            attrs(b_.Op(ops::arange, {}, {{"start", 0}, {"end", 5}})));
  Value* w = Input({1, 16, 8});
  Value* r = Input({1, 16, 4});
  EXPECT_EQ(attrs(ops::BuildLstm(b_, x, w, r, nullptr, nullptr, nullptr, nullptr, nullptr,
                                 "forward", 4)[0]),
            attrs(b_.Op(ops::lstm, {x, w, r, nullptr, nullptr, nullptr, nullptr, nullptr},
                        {{"hidden_size", 4}})));
  EXPECT_TRUE(b_.status().ok()) << b_.status();
}

TEST_F(ViewsTest, BuildersGiveNothingAfterAnError) {
  Value* x = Input({2, 3});
  EXPECT_EQ(ops::BuildSoftmax(b_, x, 5), nullptr);
  EXPECT_THAT(std::string(b_.status().message()), HasSubstr("out of range"));
  EXPECT_EQ(ops::BuildNeg(b_, x), nullptr);
  EXPECT_THAT(ops::BuildTopk(b_, x, 1), IsEmpty());
}

}  // namespace
}  // namespace weft
