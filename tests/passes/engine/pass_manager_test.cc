// The manager, with passes made for the purpose; and cse and dce on graphs with
// effects, nested graphs and unbacked symbols.
#include "passes/engine/pass_manager.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/ir/builder.h"
#include "graph/ir/builtin_ops.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ir/op_args.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_registry.h"
#include "graph/ir/provenance.h"
#include "graph/sym/sym_facts.h"
#include "graph/verify/verifier.h"
#include "gtest/gtest.h"
#include "passes/cse.h"
#include "passes/dce.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

absl::StatusOr<Types> SameAsFirst(const OpArgs& args) { return Types{args.type(0)}; }
absl::StatusOr<Types> FreshLength(const OpArgs& args) {
  SymbolInfo info;
  info.unbacked = true;
  return Types{Type::Tensor(DType::kI64, {args.symbols->Fresh("u", info)})};
}
absl::StatusOr<Types> OfRegion(const OpArgs& args) {
  Types types;
  for (Value* v : args.regions[0]->outputs()) types.push_back(v->type());
  return types;
}
absl::StatusOr<Types> OfSize(const OpArgs& args) {
  return Types{Type::Tensor(DType::kF32, args.attrs().Syms("size"))};
}

const OpDef kNeg("t_neg", OpSpec("t_neg(Tensor x) -> Tensor", "").Infer(SameAsFirst));
const OpDef kAdd("t_add", OpSpec("t_add(Tensor x, Tensor y, int k=0) -> Tensor", "")
                              .Traits(kCommutative)
                              .Infer(SameAsFirst));
const OpDef kWrite(
    "t_write", OpSpec("t_write(Tensor x) -> Tensor", "").Traits(kSideEffect).Infer(SameAsFirst));
const OpDef kFind(
    "t_find", OpSpec("t_find(Tensor x) -> Tensor", "").Traits(kDataDependent).Infer(FreshLength));
const OpDef kFill("t_fill", OpSpec("t_fill(SymInt[] size) -> Tensor", "").Infer(OfSize));
const OpDef kCall(
    "t_call",
    OpSpec("t_call(Tensor[] xs, Graph body) -> Tensor[]", "").Traits(kControlFlow).Infer(OfRegion));

OpRegistry TestOps() {
  OpRegistry registry;
  for (const OpDef* op :
       {&kNeg, &kAdd, &kWrite, &kFind, &kFill, &kCall, &ops::constant, &ops::return_}) {
    registry.Register(op);
  }
  return registry;
}

class PassManagerTest : public testing::Test {
 protected:
  PassManagerTest() : ops_(TestOps()), module_(ops_) {
    graph_ = module_.AddFunction("main");
    x_ = graph_->AddInput(Type::Tensor(DType::kF32, {4}), "x");
  }

  Value* Neg(Value* x) { return Builder(graph_).Op(kNeg, {x}); }
  Value* Add(Value* x, Value* y, int k = 0) { return Builder(graph_).Op(kAdd, {x, y}, {{"k", k}}); }
  Value* Named(Value* v, absl::string_view name) {
    v->node()->set_provenance(module_.provenance().Leaf(name));
    return v;
  }
  // A node that holds `fn`'s body over one input.
  template <typename Fn>
  Value* Call(Value* x, Fn fn) {
    auto body = std::make_unique<Graph>(&module_, "body");
    Value* in = body->AddInput(x->type());
    body->SetOutputs({fn(body.get(), in)});
    std::vector<std::unique_ptr<Graph>> regions;
    regions.push_back(std::move(body));
    return Builder(graph_).Ops(kCall, {&x, 1}, {}, std::move(regions))[0];
  }

  absl::Status Run(Pipeline pipeline, PassManagerOptions options = {}) {
    EXPECT_TRUE(Verify(module_).ok()) << Verify(module_);
    report_ = PipelineReport();
    return PassManager(std::move(pipeline), std::move(options)).Run(module_, context_, &report_);
  }
  absl::Status RunOne(std::unique_ptr<Pass> pass) {
    Pipeline pipeline;
    pipeline.Add(std::move(pass));
    return Run(std::move(pipeline));
  }

  OpRegistry ops_;
  Module module_;
  Graph* graph_;
  Value* x_;
  PassContext context_;
  PipelineReport report_;
};

// A pass made of a function.
class FnPass : public Pass {
 public:
  using Fn = std::function<absl::Status(Module&, PassContext&)>;
  FnPass(std::string name, Fn fn) : name_(std::move(name)), fn_(std::move(fn)) {}
  absl::string_view name() const override { return name_; }
  absl::string_view doc() const override { return "For tests."; }
  absl::Status Run(Module& module, PassContext& context) override { return fn_(module, context); }

 private:
  std::string name_;
  Fn fn_;
};

std::unique_ptr<Pass> MakePass(std::string name, FnPass::Fn fn) {
  return std::make_unique<FnPass>(std::move(name), std::move(fn));
}

std::unique_ptr<Pass> Grower() {
  return MakePass("grow", [](Module& module, PassContext& context) {
    Graph* graph = module.main();
    Builder(graph).Op(kNeg, {graph->input(0)});
    context.Count("grown");
    return absl::OkStatus();
  });
}

std::unique_ptr<Pass> Idler(int* runs) {
  return MakePass("idle", [runs](Module&, PassContext&) {
    ++*runs;
    return absl::OkStatus();
  });
}

TEST_F(PassManagerTest, MeasuresChangesAndCounts) {
  graph_->SetOutputs({Add(Neg(x_), Neg(x_))});
  int runs = 0;
  Pipeline pipeline;
  pipeline.Add(Idler(&runs)).Add(CreateCsePass()).Add(CreateDcePass());
  ASSERT_TRUE(Run(std::move(pipeline)).ok());
  ASSERT_EQ(report_.passes.size(), 3u);
  EXPECT_FALSE(report_.passes[0].changed);
  EXPECT_TRUE(report_.passes[1].changed);
  EXPECT_FALSE(report_.passes[2].changed);
  EXPECT_EQ(report_.passes[1].nodes_before, 3);
  EXPECT_EQ(report_.passes[1].nodes_after, 2);
  EXPECT_THAT(report_.passes[1].counters, ElementsAre(Pair("merged", 1)));
  ASSERT_EQ(report_.passes[1].op_counts.size(), 1u);
  EXPECT_EQ(report_.passes[1].op_counts[0].op, "t_neg");
  EXPECT_EQ(report_.passes[1].op_counts[0].before, 2);
  EXPECT_EQ(report_.passes[1].op_counts[0].after, 1);
  EXPECT_EQ(report_.Counter("merged"), 1);
  EXPECT_EQ(report_.Counter("merged", "dce"), 0);
  EXPECT_THAT(report_.ToString(), HasSubstr("merged: 1"));
  EXPECT_THAT(report_.ToString(), HasSubstr("ops t_neg: 2 -> 1"));
  EXPECT_EQ(runs, 1);
}

TEST_F(PassManagerTest, RefiningATypeIsAChange) {
  Value* y = Neg(x_);
  graph_->SetOutputs({y});
  const auto set_type = [](Value* value, Type type) {
    return MakePass("refine", [=](Module&, PassContext&) {
      value->set_type(type);
      return absl::OkStatus();
    });
  };
  ASSERT_TRUE(RunOne(set_type(y, y->type())).ok());
  EXPECT_FALSE(report_.passes[0].changed);
  const SymInt s = SymInt::Symbol("s0");
  x_->set_type(Type::Tensor(DType::kF32, {s}));
  ASSERT_TRUE(RunOne(set_type(y, x_->type())).ok());
  EXPECT_TRUE(report_.passes[0].changed);
  y->set_type(Type::Tensor(DType::kF32, {4}));
  ASSERT_TRUE(RunOne(set_type(x_, y->type())).ok());
  EXPECT_TRUE(report_.passes[0].changed);
}

TEST_F(PassManagerTest, FixpointRunsUntilNothingChanges) {
  graph_->SetOutputs({x_});
  // Each adds a node after the other one did, up to three in all.
  const auto grow_after = [&](std::string name, int64_t parity) {
    return MakePass(name, [=](Module& module, PassContext&) {
      const int64_t n = module.num_nodes();
      if (n < 3 && n % 2 == parity) Builder(module.main()).Op(kNeg, {x_});
      return absl::OkStatus();
    });
  };
  Pipeline body;
  body.Add(grow_after("even", 0)).Add(grow_after("odd", 1));
  Pipeline pipeline;
  pipeline.AddFixpoint(std::move(body));
  ASSERT_TRUE(Run(std::move(pipeline)).ok());
  std::vector<std::string> paths;
  for (const PassReport& pass : report_.passes) {
    paths.push_back(
        absl::StrCat(pass.path, pass.changed ? " changed" : "", pass.skipped ? " skipped" : ""));
  }
  EXPECT_THAT(paths, ElementsAre("fixpoint.1.even changed", "fixpoint.1.odd changed",
                                 "fixpoint.2.even changed", "fixpoint.2.odd",
                                 "fixpoint.3.even skipped", "fixpoint.3.odd skipped"));
}

// Another manager, the same graph.
TEST_F(PassManagerTest, CleanGraphsAreNotLookedAtAgain) {
  int runs = 0;
  const auto run = [&] {
    Pipeline pipeline;
    pipeline.Add(MakePass("look", [&](Module& module, PassContext& context) {
      ++runs;
      return absl::OkStatus();
    }));
    return Run(std::move(pipeline));
  };
  ASSERT_TRUE(run().ok());
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(report_.passes.back().skipped);
  Builder(module_.main()).Op(kNeg, {x_});
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(runs, 2);
}

TEST_F(PassManagerTest, HittingTheCapIsLoud) {
  int k = 0;
  const auto fight = [&] {
    Pipeline body;
    body.Add(MakePass("left", [&](Module& module, PassContext& context) {
      Builder(module.main()).Op(kNeg, {x_});
      context.Count("rule.up", ++k);
      return absl::OkStatus();
    }));
    body.Add(CreateDcePass());
    Pipeline pipeline;
    pipeline.AddFixpoint(std::move(body), 3);
    return pipeline;
  };
  ASSERT_TRUE(Run(fight()).ok());
  ASSERT_EQ(context_.remarks().size(), 1u);
  EXPECT_EQ(context_.remarks()[0].kind, RemarkKind::kFailed);
  EXPECT_EQ(context_.remarks()[0].ToString(),
            "failed fixpoint: no fixpoint after 3 rounds; in the last one: "
            "left(rule.up=3), dce(erased=1); fixpoint{max=6} gives it twice as many");
  PassContext::Options strict;
  strict.strict = true;
  PassContext context(strict);
  const absl::Status status = PassManager(fight()).Run(module_, context);
  EXPECT_THAT(status.message(), HasSubstr("no fixpoint after 3 rounds"));
}

TEST_F(PassManagerTest, NamesTheFailingPass) {
  Pipeline pipeline;
  pipeline.Add(CreateDcePass());
  pipeline.Add(
      MakePass("bad", [](Module&, PassContext&) { return absl::UnimplementedError("no way"); }));
  const absl::Status status = Run(std::move(pipeline));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(status.message(), "bad: no way");
  EXPECT_EQ(report_.passes.size(), 2u);
}

TEST_F(PassManagerTest, VerifiesWhatAPassBroke) {
  graph_->SetOutputs({Neg(Neg(x_))});
  const auto breaker = [] {
    return MakePass("break", [](Module& module, PassContext&) {
      Node* first = module.main()->first_node();
      module.main()->MoveBefore(first, module.main()->return_node());
      return absl::OkStatus();
    });
  };
  const absl::Status status = RunOne(breaker());
  EXPECT_THAT(status.message(), HasSubstr("break: verifier: "));
  Pipeline unverified;
  unverified.Add(breaker());
  PassManagerOptions options;
  options.verify = false;
  PassContext context;
  EXPECT_TRUE(PassManager(std::move(unverified), options).Run(module_, context).ok());
}

TEST_F(PassManagerTest, HooksSeeBeforeAndAfter) {
  std::vector<std::string> log;
  PassManagerOptions options;
  options.hooks.before_pass = [&](const PassReport& pass, const Module& m) {
    log.push_back(absl::StrCat("before ", pass.path, " ", m.num_nodes()));
    return absl::OkStatus();
  };
  options.hooks.after_pass = [&](const PassReport& pass, const Module* before,
                                 const Module& after) {
    log.push_back(absl::StrCat("after ", pass.path, " ", before ? before->num_nodes() : -1, " ",
                               after.num_nodes()));
    return absl::OkStatus();
  };
  Pipeline pipeline;
  pipeline.Add(Grower());
  ASSERT_TRUE(Run(std::move(pipeline), options).ok());
  options.hooks.keep_before = true;
  options.hooks.check_semantics = [&](const PassReport& pass, const Module& before,
                                      const Module& after) {
    return absl::DataLossError(absl::StrCat(before.num_nodes(), " to ", after.num_nodes()));
  };
  // Passes do not run again on an unchanged graph, so it is changed.
  module_.main()->AddInput(Type::Tensor(DType::kF32, {}));
  Pipeline again;
  again.Add(CreateCsePass()).Add(Grower());
  const absl::Status status = Run(std::move(again), options);
  EXPECT_EQ(status.message(), "grow: 1 to 2");
  EXPECT_THAT(log, ElementsAre("before grow 0", "after grow -1 1", "before cse 1", "after cse 1 1",
                               "before grow 1"));
}

TEST(PassContextTest, NumbersRewrites) {
  PassContext::Options options;
  options.rewrite_limit = 2;
  PassContext context(options);
  context.BeginPass("first", NumericContract::kReassociating);
  EXPECT_TRUE(context.StartRewrite({NumericContract::kReassociating}));
  EXPECT_EQ(context.fired(), NumericContract::kReassociating);
  context.BeginPass("next");
  EXPECT_EQ(context.fired(), NumericContract::kBitExact);
  EXPECT_TRUE(context.StartRewrite({NumericContract::kBitExact}));
  EXPECT_FALSE(context.StartRewrite({NumericContract::kBitExact}));
  EXPECT_EQ(context.num_rewrites(), 2);
  EXPECT_TRUE(context.Admits(NumericContract::kValueSafe));
  EXPECT_FALSE(context.Admits(NumericContract::kReassociating));
  EXPECT_FALSE(context.StartRewrite({NumericContract::kReassociating}));
  EXPECT_EQ(context.counters().at("not_admitted"), 1);
  // The pipeline's option applies only to that pass.
  context.BeginPass("other", NumericContract::kApproximate);
  EXPECT_TRUE(context.Admits(NumericContract::kApproximate));
  context.BeginPass("third");
  EXPECT_FALSE(context.Admits(NumericContract::kReassociating));
}

TEST(PassContextTest, KeepsFailuresAndWantedRemarks) {
  Remark remark;
  remark.reason = "r";
  PassContext quiet;
  quiet.AddRemark(remark);
  EXPECT_TRUE(quiet.remarks().empty());
  PassContext::Options options;
  options.remarks = true;
  PassContext context(options);
  context.BeginPass("p");
  remark.args = {{"bytes", "4"}};
  context.AddRemark(remark);
  ASSERT_EQ(context.remarks().size(), 1u);
  EXPECT_EQ(context.remarks()[0].ToString(), "analysis p: r, bytes=4");
}

// --- cse --------------------------------------------------------------------

using CseTest = PassManagerTest;

TEST_F(CseTest, MergesChainsInOneRun) {
  Value* a = Named(Neg(Neg(Neg(x_))), "a");
  Value* b = Named(Neg(Neg(Neg(x_))), "b");
  graph_->SetOutputs({Add(a, b)});
  ASSERT_TRUE(RunOne(CreateCsePass()).ok());
  EXPECT_EQ(graph_->num_nodes(), 4);
  EXPECT_THAT(module_.provenance().Names(a->node()->provenance()), ElementsAre("a", "b"));
  EXPECT_EQ(report_.Counter("merged"), 3);
  ASSERT_TRUE(RunOne(CreateCsePass()).ok());
  EXPECT_FALSE(report_.passes[0].changed);
}

TEST_F(CseTest, KeepsDifferentAttributesAndOperands) {
  Value* n = Neg(x_);
  graph_->SetOutputs({Add(x_, n, 1), Add(x_, n, 2), Add(x_, x_, 1)});
  ASSERT_TRUE(RunOne(CreateCsePass()).ok());
  EXPECT_EQ(graph_->num_nodes(), 4);
}

TEST_F(CseTest, MergesEqualConstants) {
  Builder b(graph_);
  Value *one = b.Scalar(DType::kF32, 1), *uno = b.Scalar(DType::kF32, 1);
  Value* two = b.Scalar(DType::kF32, 2);
  graph_->SetOutputs({one, uno, two});
  ASSERT_TRUE(RunOne(CreateCsePass()).ok());
  EXPECT_EQ(graph_->num_nodes(), 2);
  EXPECT_EQ(graph_->output(1), one);
}

TEST_F(CseTest, KeepsEffectsNestedGraphsAndDataDependence) {
  Builder b(graph_);
  const auto neg = [](Graph* g, Value* v) { return Builder(g).Op(kNeg, {v}); };
  graph_->SetOutputs({b.Op(kWrite, {x_}), b.Op(kWrite, {x_}), b.Op(kFind, {x_}), b.Op(kFind, {x_}),
                      Call(x_, neg), Call(x_, neg)});
  ASSERT_TRUE(RunOne(CreateCsePass()).ok());
  EXPECT_FALSE(report_.passes[0].changed);
}

TEST_F(CseTest, WorksInsideNestedGraphsAndNotAcross) {
  Value* outer = Neg(x_);
  Value* call = Call(x_, [](Graph* g, Value* v) {
    Builder b(g);
    return b.Op(kAdd, {b.Op(kNeg, {v}), b.Op(kNeg, {v})});
  });
  graph_->SetOutputs({outer, call});
  ASSERT_TRUE(RunOne(CreateCsePass()).ok());
  EXPECT_EQ(call->node()->region(0)->num_nodes(), 2);
  EXPECT_EQ(graph_->num_nodes(), 2);
}

// --- dce --------------------------------------------------------------------

using DceTest = PassManagerTest;

TEST_F(DceTest, ErasesChainsInOneRun) {
  Neg(Neg(Neg(x_)));
  graph_->SetOutputs({Neg(x_)});
  ASSERT_TRUE(RunOne(CreateDcePass()).ok());
  EXPECT_EQ(graph_->num_nodes(), 1);
  EXPECT_EQ(report_.Counter("erased"), 3);
  ASSERT_TRUE(RunOne(CreateDcePass()).ok());
  EXPECT_FALSE(report_.passes[0].changed);
}

TEST_F(DceTest, KeepsEffectsEvenNestedOnes) {
  Builder(graph_).Op(kWrite, {Neg(x_)});
  Call(x_, [](Graph* g, Value* v) {
    Builder(g).Op(kWrite, {v});
    return v;
  });
  Call(x_, [](Graph* g, Value* v) { return Builder(g).Op(kNeg, {v}); });
  graph_->SetOutputs({x_});
  ASSERT_TRUE(RunOne(CreateDcePass()).ok());
  EXPECT_EQ(graph_->num_nodes(), 3);
  EXPECT_EQ(report_.Counter("erased"), 1);  // The pure call.
}

TEST_F(DceTest, KeepsTheDefinitionOfASize) {
  Builder b(graph_);
  Value* found = b.Op(kFind, {x_});
  graph_->SetOutputs({b.Op(kFill, {}, {{"size", found->type().dims()}})});
  b.Op(kFind, {x_});
  ASSERT_TRUE(RunOne(CreateDcePass()).ok());
  EXPECT_EQ(graph_->num_nodes(), 2);
}

}  // namespace
}  // namespace weft
