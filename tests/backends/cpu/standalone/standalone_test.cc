// Plans that are written to a file, read back without ops, and run by cpu::Standalone: their
// results equal the session's bit for bit.
#include "backends/cpu/standalone/standalone.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "api/backends.h"
#include "api/compiler.h"
#include "api/session.h"
#include "backends/cpu/kernels/kernel_list.h"
#include "backends/cpu/library/routine_ops.h"
#include "backends/cpu/standalone/needed_kernels.h"
#include "backends/cpu/target.h"
#include "examples/models/models.h"
#include "gmock/gmock.h"
#include "graph/ir/attr.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_registry.h"
#include "graph/ir/op_schema.h"
#include "graph/ir/value.h"
#include "graph/ops/registry.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "lowering/plan_constants.h"
#include "lowering/plan_facts.h"
#include "lowering/plan_ops.h"
#include "lowering/plan_text.h"
#include "lowering/plan_verifier.h"
#include "serialize/flat/weftb_builder.h"
#include "serialize/flat/weftb_file.h"
#include "serialize/flat/weftb_plan.h"
#include "tests/support/parse.h"
#include "tests/support/programs.h"

namespace weft::cpu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

void CompileForCpu(Module& module) {
  CompileOptions options;
  options.passes = "";
  SetTarget(**BuiltinBackends().Find("cpu"), &options);
  const auto compiled = Compile(module, options);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
}

Plan LowerMain(const Module& module) {
  auto plan = Lower(*module.main(), CpuTarget());
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *std::move(plan);
}

// The plan from a file, read without ops.
Plan Reread(const Plan& plan) {
  const std::string path = testing::TempDir() + "/plan.weftb";
  WeftbBuilder builder;
  EXPECT_TRUE(AddPlanToWeftb(plan, builder.AddTarget("cpu", ""), &builder).ok());
  const absl::Status written = builder.Write(path);
  EXPECT_TRUE(written.ok()) << written;
  const auto file = WeftbFile::Open(path);
  EXPECT_TRUE(file.ok()) << file.status();
  auto read = ReadPlanFromWeftb(**file, plan.name, "cpu");
  EXPECT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(PrintPlan(*read), PrintPlan(plan));
  EXPECT_EQ(PrintPlan(*read, PlanForm::kSelfContained), PrintPlan(plan, PlanForm::kSelfContained));
  for (const Plan* p : AllPlans(*read)) {
    for (const Step& step : p->steps) EXPECT_EQ(step.op, nullptr);
  }
  return *std::move(read);
}

// Compiles the module and runs both, with these inputs in turn.
void ExpectAsSession(std::unique_ptr<Module> module,
                     const std::vector<std::vector<HostTensor>>& runs) {
  CompileForCpu(*module);
  Plan plan = Reread(LowerMain(*module));
  auto session = Session::Create(std::move(module), "cpu", {{"threads", "2"}});
  ASSERT_TRUE(session.ok()) << session.status();
  StandaloneOptions options;
  options.threads = 2;
  auto program = Standalone::Create(std::move(plan), options);
  ASSERT_TRUE(program.ok()) << program.status();
  for (const std::vector<HostTensor>& inputs : runs) {
    const auto want = session->Run(inputs);
    ASSERT_TRUE(want.ok()) << want.status();
    // The first run of these sizes prepares, the second reuses.
    for (int again = 0; again < 2; ++again) {
      std::vector<HostTensor> got;
      const absl::Status status = (*program)->Run(inputs, &got);
      ASSERT_TRUE(status.ok()) << status;
      ASSERT_EQ(got.size(), want->size());
      for (size_t i = 0; i < got.size(); ++i) {
        EXPECT_TRUE(got[i].BitEqual((*want)[i])) << "output " << i;
      }
    }
  }
}

// Numbers that differ along every dim.
HostTensor Ramp(DType dtype, absl::Span<const int64_t> dims) {
  HostTensor t(dtype, dims);
  std::vector<double> values(t.numel());
  for (size_t i = 0; i < values.size(); ++i) {
    const auto step = static_cast<double>(static_cast<int64_t>(i * 48271 % 97) - 48);
    values[i] = IsFloat(dtype) ? step / 50 : step;
  }
  t.WriteDoubles(values);
  return t;
}

// Inputs of the function main, with `size` for all symbols.
std::vector<HostTensor> InputsOf(const Module& module, int64_t size) {
  std::vector<HostTensor> inputs;
  const Graph& graph = *module.main();
  for (int i = 0; i < graph.num_inputs(); ++i) {
    std::vector<int64_t> dims;
    for (SymInt d : graph.input(i)->type().dims()) {
      dims.push_back(d.is_constant() ? d.value() : size);
    }
    inputs.push_back(Ramp(graph.input(i)->type().dtype(), dims));
  }
  return inputs;
}

constexpr const char* kPrograms[] = {
    // Kernels.
    "func @main(%x: f32[s0, 3], %y: f32[3]) -> (f32[s0, 3]) {"
    " %0 = add(%x, %y) %1 = tanh(%0) %2 = mul(%1, %x) return %2 }",
    "func @main(%x: f32[s0, 37]) -> (f32[s0, 37]) { %0 = softmax(%x, dim=1) return %0 }",
    // Ops that routines apply, and ops that a kernel applies after them.
    "func @main(%x: f32[s0, 30], %w: f32[30, 20], %b: f32[20]) -> (f32[s0, 20]) {"
    " %0 = matmul(%x, %w) %1 = add(%0, %b) %2 = gelu(%1) return %2 }",
    "func @main(%x: f32[s0, 30], %w: f32[30, 20], %b: f32[s0, 1]) -> (f32[s0, 20]) {"
    " %0 = matmul(%x, %w) %1 = mul(%0, %b) %2 = sqrt(%1) %3 = hardtanh(%2) return %3 }",
    "func @main(%x: f16[s0, 30], %w: f16[30, 20], %r: f16[s0, 20]) -> (f16[s0, 20]) {"
    " %0 = matmul(%x, %w) %1 = gelu(%0, approximate=\"tanh\") %2 = add(%1, %r) return %2 }",
    "func @main(%x: bf16[s0, 30], %w: bf16[20, 30], %b: bf16[20]) -> (bf16[s0, 20]) {"
    " %0 = linear(%x, %w, %b) %1 = silu(%0) return %1 }",
    "func @main(%x: f32[s0, 4, 9, 9], %w: f32[6, 4, 3, 3], %b: f32[6], %r: f32[s0, 6, 9, 9])"
    " -> (f32[s0, 6, 9, 9]) { %0 = convolution(%x, %w, %b, stride=[1, 1], "
    "padding=[1, 1, 1, 1], dilation=[1, 1]) %1 = leaky_relu(%0, negative_slope=0.25) %2 = add(%1, "
    "%r) return %2 }",
    "func @main(%x: f32[s0, 8, 20], %w: f32[8, 6, 3]) -> (f32[s0, 6, 40]) {"
    " %0 = convolution(%x, %w, none, stride=[2], padding=[1, 1], dilation=[1], "
    "transposed=true,"
    " output_padding=[1]) %1 = sigmoid(%0) return %1 }",
    // Other routines.
    "func @main(%q: f32[2, s0, 16], %k: f32[2, s0, 16], %v: f32[2, s0, 16]) -> (f32[2, s0, 16]) {"
    " %0 = scaled_dot_product_attention(%q, %k, %v, none, is_causal=true) return %0 }",
    "func @main(%q: f32[2, s0, 16], %k: f32[2, 5, 16], %v: f32[2, 5, 8]) -> (f32[2, s0, 8]) {"
    " %0 = scaled_dot_product_attention(%q, %k, %v, none, scale=0.5, softcap=2.0) return %0 }",
    "func @main(%x: f32[s0, 4, 10, 10]) -> (f32[s0, 4, 5, 5]) {"
    " %0 = avg_pool(%x, kernel_size=[3, 3], stride=[2, 2], padding=[1, 1, 1, 1], "
    "dilation=[1, 1], count_include_pad=true) return %0 }",
    "func @main(%x: f32[s0, 4, 10, 10]) -> (f32[s0, 4, 5, 5]) {"
    " %0, %1 = max_pool(%x, kernel_size=[2, 2], stride=[2, 2], padding=[0, 0, 0, 0], "
    "dilation=[1, 1]) return %0 }",
    "func @main(%x: i8[s0, 33], %w: i8[33, 20], %z: i8[]) -> (i32[s0, 20]) {"
    " %0 = matmul_integer(%x, %w, %z, none) return %0 }",
    "func @main(%x: f32[s0, 70], %w: u8[20, 3, 16], %s: f32[20, 3], %z: u8[20, 2], %b: f32[20])"
    " -> (f32[s0, 20]) { %0 = matmul_nbits(%x, %w, %s, %z, %b, group_size=32) %1 = silu(%0)"
    " return %1 }",
};

TEST(Standalone, GivesTheBitsOfTheSession) {
  for (const char* program : kPrograms) {
    SCOPED_TRACE(program);
    auto module = Parse(program);
    const auto runs = {InputsOf(*module, 5), InputsOf(*module, 1), InputsOf(*module, 64)};
    ExpectAsSession(std::move(module), runs);
  }
}

TEST(Standalone, RunsModels) {
  for (const char* name : {"mobilenet_v2", "resnet50", "bert", "dlrm"}) {
    SCOPED_TRACE(name);
    models::ModelOptions options;
    options.small = true;
    auto model = models::BuildModel(name, options);
    ASSERT_TRUE(model.ok()) << model.status();
    std::vector<std::vector<HostTensor>> runs;
    for (const int64_t batch : {1, 3}) {
      auto inputs = models::MakeInputs(*model, {{"batch", batch}});
      ASSERT_TRUE(inputs.ok()) << inputs.status();
      runs.push_back(*std::move(inputs));
    }
    ExpectAsSession(std::move(model->module), runs);
  }
}

TEST(NeededKernels, AreThoseOfThePlan) {
  const auto f32 = Parse("func @main(%x: f32[s0, 7]) -> (f32[s0, 7]) { %0 = exp(%x) return %0 }");
  EXPECT_THAT(NeededKernels(LowerMain(*f32)), ElementsAre("dtype bool", "dtype f32", "dtype i64"));
  const auto module = Parse(R"(
    func @main(%x: f16[s0, 8], %i: i16[s0, 8], %a: i32[4, 6], %b: i32[6, 5])
        -> (f16[s0, s0], i16[s0, 8], i32[4, 5]) {
      %0 = permute(%x, dims=[1, 0])
      %1 = matmul(%x, %0)
      %2 = add(%i, %i)
      %3 = matmul(%a, %b)
      return %1, %2, %3
    })");
  const std::vector<std::string> lines = NeededKernels(LowerMain(*module));
  // Elements of f16 are copied as u16.
  for (const char* line : {"dtype f32", "dtype i16", "dtype i32", "dtype u16",
                           "routine integer_matmul", "routine matmul"}) {
    EXPECT_THAT(lines, testing::Contains(line));
  }
  EXPECT_THAT(lines, testing::Not(testing::Contains("dtype f16")));
  EXPECT_THAT(MissingKernels(LowerMain(*module)), testing::IsEmpty());
  // Loops compute in f32; products do not.
  const auto narrow = Parse(R"(
    func @main(%x: bf16[s0, 8], %y: bf16[8, 8]) -> (bf16[s0, 8]) {
      %0 = matmul(%x, %y)
      return %0
    })");
  EXPECT_THAT(NeededKernels(LowerMain(*narrow)), testing::Contains("dtype bf16"));
  const auto loops =
      Parse("func @main(%x: bf16[s0, 7]) -> (bf16[s0, 7]) { %0 = exp(%x) return %0 }");
  EXPECT_THAT(NeededKernels(LowerMain(*loops)), testing::Not(testing::Contains("dtype bf16")));
}

TEST(NeededKernels, ListsHaveWholeLines) {
  constexpr char kList[] = "isa avx2\ndtype f32\nroutine matmul\n";
  static_assert(HasLine(kList, "dtype", "f32"));
  static_assert(HasLine(kList, "routine", "matmul"));
  static_assert(!HasLine(kList, "routine", "mat"));
  static_assert(!HasLine(kList, "dtype", "f3"));
  static_assert(!HasLine(kList, "isa", "avx"));
  static_assert(!HasLine(kList, "isa", "avx2_vnni"));
  static_assert(!HasLine("", "isa", "avx2"));
}

TEST(Standalone, NamesAllOpsThatItLacks) {
  const auto branch = Parse(kBranchProgram);
  EXPECT_THAT(MissingOps(LowerMain(*branch)), testing::IsEmpty());
  // One of them in a nested plan.
  const auto module = Parse(R"(
    func @main(%p: bool[], %x: f32[2, 2]) -> (i64[u0, 2], f32[2, 2]) {
      %0 = nonzero(%x) : i64[u0, 2]
      %1 = cond(%p, %x) {
        then_graph(%a: f32[2, 2]) {
          %b, %i = cholesky(%a)
          return %b
        }
        else_graph(%a: f32[2, 2]) {
          %b = neg(%a)
          return %b
        }
      }
      return %0, %1
    })");
  const auto program = Standalone::Create(Reread(LowerMain(*module)), {});
  EXPECT_EQ(program.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(program.status().message(),
            "plan @main needs ops that this program lacks: cholesky, nonzero");
}

TEST(Standalone, RefusesSchedulesForWiderVectors) {
  const auto module = Parse(kPrograms[0]);
  Target wide = CpuTarget();
  wide.vector_bytes = 64;
  auto plan = Lower(*module->main(), wide);
  ASSERT_TRUE(plan.ok()) << plan.status();
  StandaloneOptions options;
  options.isa = "avx2";
  const auto program = Standalone::Create(*std::move(plan), options);
  EXPECT_EQ(program.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(program.status().message()),
              HasSubstr("is scheduled for 16 lanes, and avx2 has 8"));
}

// --- Ops as data --------------------------------------------------------------------------------

// The attributes that routines read by name exist, of the right kind.
TEST(RoutineOps, AreThoseOfTheRegistry) {
  for (const RoutineOp op : {RoutineOp::kMatmul, RoutineOp::kLinear, RoutineOp::kConvolution,
                             RoutineOp::kMatmulInteger, RoutineOp::kConvolutionInteger,
                             RoutineOp::kAttention, RoutineOp::kMaxPool, RoutineOp::kAvgPool}) {
    const OpDef* def = ops::Registry().Find(RoutineOpName(op));
    ASSERT_NE(def, nullptr) << RoutineOpName(op);
    EXPECT_EQ(FindRoutineOp(def->name()), op);
    std::vector<AttrValue> values;
    for (const AttrSpec& spec : def->schema().attrs) {
      if (spec.default_value) {
        values.push_back(*spec.default_value);
      } else if (spec.kind == AttrKind::kInts || spec.kind == AttrKind::kSymInts) {
        values.push_back(std::vector<SymInt>{1, 1});
      } else {
        ADD_FAILURE() << def->name() << ": " << spec.name << " has no default";
      }
    }
    const AttrList* attrs = AttrList::Get(values);
    EXPECT_TRUE(CheckRoutineOp(op, &def->schema(), attrs).ok())
        << CheckRoutineOp(op, &def->schema(), attrs);
    EXPECT_FALSE(CheckRoutineOp(op, &def->schema(), nullptr).ok());
    for (AttrValue& value : values) {
      if (value.symints().empty()) continue;
      value = std::vector<SymInt>{SymInt::Symbol("s0")};
    }
    if (!values.empty() && op != RoutineOp::kAttention) {
      EXPECT_FALSE(CheckRoutineOp(op, &def->schema(), AttrList::Get(values)).ok());
    }
  }
  EXPECT_EQ(FindRoutineOp("softmax"), std::nullopt);
}

TEST(RoutineOps, RefuseSchemasThatLackAnAttribute) {
  const auto schema = OpSchema::Parse("max_pool(Tensor self, int[] stride) -> Tensor");
  ASSERT_TRUE(schema.ok()) << schema.status();
  const AttrList* attrs = AttrList::Get({std::vector<SymInt>{2}});
  const absl::Status status = CheckRoutineOp(RoutineOp::kMaxPool, &*schema, attrs);
  EXPECT_EQ(status.message(), "max_pool without a known attribute kernel_size");
}

constexpr char kEpilogue[] =
    "func @main(%x: f32[s0, 8], %w: f32[8, 4]) -> (f32[s0, 4]) {"
    " %0 = matmul(%x, %w) %1 = sigmoid(%0) return %1 }";

class PlanTexts : public testing::Test {
 protected:
  PlanTexts() : module_(Parse(kEpilogue)) {
    CompileForCpu(*module_);
    text_ = PrintPlan(LowerMain(*module_), PlanForm::kSelfContained);
  }

  // The error of reading the text with `to` for `from`.
  std::string Refusal(const std::string& from, const std::string& to) {
    EXPECT_THAT(text_, HasSubstr(from));
    const std::string edited = absl::StrReplaceAll(text_, {{from, to}});
    const auto none = [](uint64_t, Type) { return HostTensor(); };
    const auto plan = ParseSelfContainedPlan(edited, none, "plan.txt");
    const absl::Status status = plan.ok() ? VerifyPlan(*plan) : plan.status();
    EXPECT_FALSE(status.ok()) << edited;
    return std::string(status.message());
  }

  const std::unique_ptr<Module> module_;
  std::string text_;
};

TEST_F(PlanTexts, DescribeOps) {
  EXPECT_THAT(text_, HasSubstr("  op \"matmul(Tensor self, Tensor other) -> Tensor\"\n"));
  EXPECT_THAT(text_, HasSubstr("  op \"sigmoid(Tensor self) -> Tensor\"\n"));
  EXPECT_THAT(text_, HasSubstr("  body sigmoid : f32 kernel @sigmoid.0(%a0: f32, %a1: f32 out) {"));
  EXPECT_THAT(text_, HasSubstr(" then unary sigmoid flops (68*s0)"));
  // The form that names ops says nothing of them.
  const std::string named = PrintPlan(LowerMain(*module_));
  EXPECT_THAT(named, testing::Not(HasSubstr("  op ")));
  EXPECT_THAT(named, testing::Not(HasSubstr("  body ")));
  EXPECT_THAT(named, testing::Not(HasSubstr(" flops ")));
  // With ops, the self-contained text gives the same plan.
  const auto plan = ParsePlan(text_, *module_);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(PrintPlan(*plan, PlanForm::kSelfContained), text_);
}

TEST_F(PlanTexts, RefuseOtherOps) {
  EXPECT_THAT(Refusal("  op \"matmul(Tensor self, Tensor other) -> Tensor\"\n", ""),
              HasSubstr("unknown op \"matmul\""));
  EXPECT_THAT(Refusal("Tensor other) -> Tensor\"", "Thing other) -> Tensor\""),
              HasSubstr("plan.txt:2:"));
  EXPECT_THAT(Refusal("  op \"sigmoid(Tensor self)", "  op \"matmul(Tensor self)"),
              HasSubstr("the op is there already"));
}

TEST_F(PlanTexts, RefuseBodiesThatAreNotForElements) {
  const std::string args = "@sigmoid.0(%a0: f32, %a1: f32 out) {";
  EXPECT_THAT(Refusal("body sigmoid : f32", "body sigmoid : f16"),
              HasSubstr("argument 0 of the body of sigmoid is another one"));
  const size_t nest = text_.find("nest {");
  ASSERT_NE(nest, std::string::npos);
  EXPECT_NE(Refusal(text_.substr(nest, 6), "nest (i0 < 3) {"), "");
  EXPECT_THAT(Refusal(args + "\n", "@sigmoid.0(%a0: f32, %a1: f32 out, %a2: f32) {\n"),
              HasSubstr("argument 1 of the body of sigmoid is another one"));
}

TEST_F(PlanTexts, OtherSchemasThanThoseOfTheOpsAreRefusedWithOps) {
  const std::string edited =
      absl::StrReplaceAll(text_, {{"op \"sigmoid(Tensor self)", "op \"sigmoid(Tensor x)"}});
  const auto plan = ParsePlan(edited, *module_);
  EXPECT_THAT(std::string(plan.status().message()),
              HasSubstr("the schema of sigmoid is here \"sigmoid(Tensor self) -> Tensor\""));
}

TEST_F(PlanTexts, LackingConstantsAreNamed) {
  const auto module = Parse(
      "func @main(%x: f32[3]) -> (f32[3]) { %c = constant(dense<[1.0, 2.0, 4.0]>) : f32[3]"
      " %0 = add(%x, %c) return %0 }");
  const Plan plan = LowerMain(*module);
  const std::string text = PrintPlan(plan, PlanForm::kSelfContained);
  ASSERT_EQ(plan.constants->by_number.size(), 1u);
  const HostTensor constant = plan.constants->by_number.begin()->second.tensor;
  const auto error = [&](const HostTensor& given) {
    const auto give = [&](uint64_t, Type) { return given; };
    return std::string(ParseSelfContainedPlan(text, give).status().message());
  };
  EXPECT_EQ(error(constant), "");
  EXPECT_THAT(error(HostTensor::FromDoubles(DType::kF32, {2}, {1, 2})), HasSubstr(" is a f32[2]"));
  EXPECT_THAT(error(HostTensor()),
              HasSubstr(absl::StrCat("there is no constant of content 0x",
                                     absl::Hex(constant.Fingerprint(), absl::kZeroPad16))));
}

}  // namespace
}  // namespace weft::cpu
