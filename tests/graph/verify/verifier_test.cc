// One broken module per invariant. Those that the graph's own interface cannot
// break are broken by writing over its objects.
#include "graph/verify/verifier.h"

#include <string>

#include "gmock/gmock.h"
#include "graph/ir/builder.h"
#include "graph/ir/builtin_ops.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "tests/graph/ir/test_ops.h"

namespace weft {
namespace {

using ::testing::HasSubstr;
using namespace test_ops;  // NOLINT: the ops are the vocabulary here.

class VerifierTest : public ::testing::Test {
 protected:
  VerifierTest() : module_(Registry()), graph_(module_.AddFunction("main")) {
    x_ = graph_->AddInput(Type::Tensor(DType::kF32, {2, 3}), "x");
  }

  Node* Make(const OpDef& op, std::vector<Value*> operands, Type type,
             std::vector<AttrValue> attrs = {}) {
    return graph_->CreateNode(op, operands, AttrList::Get(std::move(attrs)), {type});
  }
  Node* Relu(Value* x) { return Make(relu, {x}, x->type()); }

  void ExpectBroken(const std::string& invariant, const std::string& what) {
    const absl::Status status = Verify(module_);
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
    EXPECT_THAT(std::string(status.message()), HasSubstr("(" + invariant + ") is broken: "));
    EXPECT_THAT(std::string(status.message()), HasSubstr(what));
  }

  Module module_;
  Graph* graph_;
  Value* x_;
};

TEST_F(VerifierTest, AcceptsAGoodModule) {
  Node* a = Relu(x_);
  graph_->SetOutputs({Relu(a->result())->result()});
  EXPECT_TRUE(Verify(module_).ok());
  EXPECT_TRUE(Verify(*graph_).ok());
}

TEST_F(VerifierTest, ErrorShowsTheNeighbourhood) {
  Node* a = Relu(x_);
  Node* b = Relu(a->result());
  b->result()->set_type(Type::Scalar(DType::kF32));
  EXPECT_EQ(Verify(module_).message(),
            "verifier: invariant 10 (types) is broken: result 0 has type f32[], "
            "inferred is f32[2, 3]\n"
            "  in graph \"main\", node 2 (relu):\n"
            "      %1 = relu(%x) : f32[2, 3]\n"
            "    > %2 = relu(%1) : f32[]");
}

TEST_F(VerifierTest, List) {
  graph_->CreateNode(ops::return_, {}, AttrList::Empty(), {});
  ExpectBroken("list", "a return that is not the graph's");
}

TEST_F(VerifierTest, Ids) {
  Node* a = Relu(x_);
  *a->result() = Value();
  a->result()->set_type(x_->type());
  ExpectBroken("ids", "result 0 is not its own");
}

TEST_F(VerifierTest, Order) {
  Node* a = Relu(x_);
  Node* b = Relu(a->result());
  graph_->MoveBefore(b, a);
  ExpectBroken("order", "operand 0 is not defined before the node");
}

TEST_F(VerifierTest, OrderOfSymbolOperands) {
  Node* a =
      graph_->CreateNode(item, {x_}, AttrList::Empty(),
                         {Type::Symbolic(module_.symbols().Fresh(
                             "u", {SymInt(), SymRange(), 1, std::nullopt, /*unbacked=*/true}))});
  const SymInt u = a->result()->type().symint();
  Node* b =
      Make(full, {}, Type::Tensor(DType::kF32, {u}), {std::vector<SymInt>{u}, 0.0, DType::kF32});
  EXPECT_TRUE(Verify(module_).ok());
  graph_->MoveBefore(b, a);
  ExpectBroken("order", "symbol operand 0");
}

TEST_F(VerifierTest, OperandsOfAnotherGraph) {
  Graph* other = module_.AddFunction("other");
  Value* y = other->AddInput(x_->type());
  Node* a = Relu(y);
  ExpectBroken("order", "operand 0 is not defined before the node");
  a->set_operand(0, x_);
  EXPECT_TRUE(Verify(module_).ok());
}

TEST_F(VerifierTest, NestedGraphsAreIsolated) {
  std::vector<std::unique_ptr<Graph>> regions;
  for (const char* name : {"then_graph", "else_graph"}) {
    regions.push_back(std::make_unique<Graph>(&module_, name));
  }
  Graph* nested = regions[0].get();
  Value* p = graph_->AddInput(Type::Scalar(DType::kBool));
  graph_->CreateNode(cond, {p}, AttrList::Empty(), {}, nullptr, std::move(regions));
  EXPECT_TRUE(Verify(module_).ok()) << Verify(module_);
  nested->CreateNode(relu, {x_}, AttrList::Empty(), {x_->type()});
  ExpectBroken("order", "in graph \"then_graph\"");
  EXPECT_FALSE(Verify(*graph_).ok());
}

TEST_F(VerifierTest, Uses) {
  Node* a = Make(layer, {x_, x_, nullptr}, x_->type(), {1e-5});
  EXPECT_TRUE(Verify(module_).ok());
  *a->use(1) = Use();
  ExpectBroken("uses", "lists a use that is not in the graph");
}

TEST_F(VerifierTest, Operands) {
  Node* a = Make(relu, {}, x_->type());
  ExpectBroken("operands", "0 operands where the schema has 1");
  graph_->EraseNode(a);
  a = Make(relu, {x_, x_}, x_->type());
  ExpectBroken("operands", "2 operands where the schema has 1");
  graph_->EraseNode(a);
  a = Make(relu, {nullptr}, x_->type());
  ExpectBroken("operands", "operand x is absent");
  graph_->EraseNode(a);
  Make(range, {x_}, x_->type());
  ExpectBroken("operands", "operand n has type f32[2, 3]");
}

TEST_F(VerifierTest, Attributes) {
  Node* a = Make(softmax, {x_}, x_->type());
  ExpectBroken("attributes", "0 attributes where the schema has 1");
  a->set_attr_list(AttrList::Get({AttrValue("one")}));
  ExpectBroken("attributes", "attribute dim cannot be \"one\"");
  a->set_attr_list(AttrList::Get({AttrValue()}));
  ExpectBroken("attributes", "attribute dim cannot be none");
  a->set_attr_list(AttrList::Get({AttrValue(SymInt::Symbol("s0"))}));
  ExpectBroken("attributes", "attribute dim cannot be s0");
  a->set_attr_list(AttrList::Get({AttrValue(1)}));
  EXPECT_TRUE(Verify(module_).ok());
}

TEST_F(VerifierTest, Regions) {
  Value* p = graph_->AddInput(Type::Scalar(DType::kBool));
  graph_->CreateNode(cond, {p}, AttrList::Empty(), {});
  ExpectBroken("regions", "0 nested graphs where the schema has 2");
}

TEST_F(VerifierTest, Results) {
  Node* a = graph_->CreateNode(relu, {x_}, AttrList::Empty(), {});
  ExpectBroken("results", "0 results where the schema has 1");
  graph_->EraseNode(a);
  Make(relu, {x_}, Type::Symbolic(3));
  ExpectBroken("results", "result 0 has type symint[3]");
}

TEST_F(VerifierTest, Sizes) {
  Node* a = Relu(x_);
  a->result()->set_type(Type::Tensor(DType::kF32, {SymInt::Invalid(), 3}));
  ExpectBroken("sizes", "result 0 has type f32[invalid, 3]");
  a->result()->set_type(Type::Tensor(DType::kF32, {-1, 3}));
  ExpectBroken("sizes", "result 0 has type f32[-1, 3]");
  graph_->EraseNode(a);
  a = Make(full, {}, Type::Tensor(DType::kF32, {3}),
           {std::vector<SymInt>{SymInt::Invalid()}, 0.0, DType::kF32});
  ExpectBroken("sizes", "attribute size is invalid");
  graph_->EraseNode(a);
  graph_->AddInput(Type());
  ExpectBroken("sizes", "input 1 has type none");
}

TEST_F(VerifierTest, Types) {
  Node* a = Make(softmax, {x_}, x_->type(), {7});
  ExpectBroken("types", "softmax: dim 7 is out of range");
  a->set_attr_list(AttrList::Get({AttrValue(1)}));
  a->result()->set_type(x_->type().WithDType(DType::kF16));
  ExpectBroken("types", "result 0 has type f16[2, 3], inferred is f32[2, 3]");
  a->result()->set_type(Type::Tensor(DType::kF32, {SymInt::Symbol("s0"), 3}));
  EXPECT_TRUE(Verify(module_).ok()) << "not provably different";
}

TEST_F(VerifierTest, Constants) {
  Builder b(graph_);
  Value* v = b.Scalar(DType::kF32, 1);
  v->set_type(Type::Scalar(DType::kF16));
  ExpectBroken("constants", "the constant's type is f32[]");
  v->set_type(Type::Scalar(DType::kF32));
  v->node()->set_attr_list(AttrList::Get({AttrValue(1)}));
  ExpectBroken("constants", "no constant has the id 1");
  v->node()->set_attr_list(AttrList::Get({AttrValue(-1)}));
  ExpectBroken("constants", "no constant has the id -1");
}

TEST_F(VerifierTest, Symbols) {
  SymbolInfo info;
  info.unbacked = true;
  const SymInt u = module_.symbols().Fresh("u", info);
  Node* b =
      Make(full, {}, Type::Tensor(DType::kF32, {u}), {std::vector<SymInt>{u}, 0.0, DType::kF32});
  ExpectBroken("symbols", "no node or input defines the unbacked symbol u0");
  Node* a = graph_->CreateNode(item, {x_}, AttrList::Empty(), {Type::Symbolic(u)}, b);
  ExpectBroken("symbols", "no edge to the definition of u0");
  graph_->EraseNode(b);
  EXPECT_TRUE(Verify(module_).ok());
  graph_->CreateNode(item, {x_}, AttrList::Empty(), {Type::Symbolic(u)}, a);
  ExpectBroken("symbols", "another node defines u0");
}

TEST_F(VerifierTest, InputsMayBringUnbackedSymbols) {
  SymbolInfo info;
  info.unbacked = true;
  const SymInt u = module_.symbols().Fresh("u", info);
  graph_->AddInput(Type::Tensor(DType::kF32, {u}));
  Make(full, {}, Type::Tensor(DType::kF32, {u}), {std::vector<SymInt>{u}, 0.0, DType::kF32});
  EXPECT_TRUE(Verify(module_).ok()) << Verify(module_);
}

TEST_F(VerifierTest, Signature) {
  graph_->AddInput(x_->type(), "y");
  graph_->input_info(1).name = "x";
  ExpectBroken("signature", "the name \"x\" of input 1 is empty or taken");
  graph_->input_info(1).name = "";
  ExpectBroken("signature", "is empty or taken");
  graph_->input_info(1).name = "y";
  graph_->input_info(1).value = 0;
  ExpectBroken("signature", "constant 0, which does not exist");
  module_.constants().Add(HostTensor::Scalar(DType::kF32, 1));
  ExpectBroken("signature", "input 1 of type f32[2, 3] requires a value of type f32[]");
  graph_->input_info(1).value = -1;
  graph_->output_names() = {"out"};
  ExpectBroken("signature", "1 output names for 0 outputs");
}

TEST_F(VerifierTest, InitialValues) {
  graph_->input_info(0).initial = 0;
  ExpectBroken("signature", "input 0 begins with the value of constant 0");
  module_.constants().Add(HostTensor::Scalar(DType::kF32, 1));
  ExpectBroken("signature", "begins with a value of type f32[]");
}

TEST_F(VerifierTest, WriteBacks) {
  graph_->SetWriteBacks({0});
  ExpectBroken("writes", "there are more write-backs than outputs");
  graph_->SetOutputs({x_, x_});
  graph_->SetWriteBacks({0, 0});
  ExpectBroken("writes", "write-back 1 is to input 0 of 1, and not in order");
  graph_->SetWriteBacks({1});
  ExpectBroken("writes", "write-back 0 is to input 1 of 1");
  graph_->SetWriteBacks({0});
  EXPECT_TRUE(Verify(module_).ok());
  Value* y = graph_->AddInput(Type::Tensor(DType::kF32, {2, 4}), "y");
  graph_->SetOutputs({y});
  ExpectBroken("writes", "input 0 of type f32[2, 3] gets a value of type f32[2, 4]");
}

TEST(IsLegalRefinement, AsksTheProver) {
  SymbolTable table;
  const SymInt s0 = SymInt::Symbol("s0");
  table.Declare({s0, {2, 8}});
  const auto f32 = [](SymInt d) { return Type::Tensor(DType::kF32, {d}); };
  EXPECT_TRUE(IsLegalRefinement(f32(s0), f32(s0), table));
  EXPECT_TRUE(IsLegalRefinement(f32(4), f32(s0), table));
  EXPECT_FALSE(IsLegalRefinement(f32(9), f32(s0), table));
  EXPECT_FALSE(IsLegalRefinement(f32(4), f32(5), table));
  EXPECT_FALSE(IsLegalRefinement(f32(4), Type::Scalar(DType::kF32), table));
  EXPECT_FALSE(IsLegalRefinement(f32(4), f32(4).WithDType(DType::kF16), table));
  EXPECT_FALSE(IsLegalRefinement(f32(4), Type::Symbolic(4), table));
  EXPECT_TRUE(IsLegalRefinement(Type::Symbolic(4), Type::Symbolic(s0), table));
  EXPECT_FALSE(IsLegalRefinement(Type::Symbolic(1), Type::Symbolic(s0), table));
}

}  // namespace
}  // namespace weft
