// Ops of a program in C: by functions, and by formulas.
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/c/weft.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/api/c/weft_api.h"

namespace weft_api_test {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Not;
using testing::Pointwise;

struct DestroyExtensions {
  void operator()(weft_extensions* extensions) const { Weft().extensions_destroy(extensions); }
};
using Extensions = std::unique_ptr<weft_extensions, DestroyExtensions>;

Extensions NewExtensions() {
  weft_extensions* extensions = nullptr;
  EXPECT_FINE(Weft().extensions_create(&extensions));
  return Extensions(extensions);
}

Error ParseError(const Extensions& extensions, const std::string& text, Module* module) {
  weft_load_options options = {};
  options.struct_size = sizeof options;
  options.extensions = extensions.get();
  weft_module* made = nullptr;
  const Error error =
      Take(Weft().module_parse_with(text.data(), text.size(), "model.weft", &options, &made));
  module->reset(made);
  return error;
}

Module ParseWith(const Extensions& extensions, const std::string& text) {
  Module module;
  const Error error = ParseError(extensions, text, &module);
  EXPECT_EQ(error.code, WEFT_OK) << error.message;
  return module;
}

weft_op NewOp(const char* schema) {
  weft_op op = {};
  op.struct_size = sizeof op;
  op.schema = schema;
  return op;
}

int64_t Count(const weft_tensor& tensor) {
  int64_t count = 1;
  for (int32_t i = 0; i < tensor.ndim; ++i) count *= tensor.shape[i];
  return count;
}

// The element of a matrix wherever its strides put it.
float At(const weft_tensor& tensor, int64_t i, int64_t j) {
  const char* bytes = static_cast<const char*>(tensor.data) + tensor.byte_offset;
  return reinterpret_cast<const float*>(bytes)[i * tensor.strides[0] + j * tensor.strides[1]];
}

// self * factor + (bias or 0), row by row.
void EvaluateScale(void* context, weft_op_call* call) {
  if (context != nullptr) ++*static_cast<std::atomic<int>*>(context);
  const weft_tensor* self = Weft().op_call_operand(call, 0);
  const weft_tensor* bias = Weft().op_call_operand(call, 1);
  const weft_tensor* result = Weft().op_call_result(call, 0);
  const auto factor = static_cast<float>(Weft().op_call_attr(call, "factor")->floats[0]);
  auto* to = static_cast<float*>(result->data);
  for (int64_t i = 0; i < result->shape[0]; ++i) {
    for (int64_t j = 0; j < result->shape[1]; ++j) {
      *to++ = At(*self, i, j) * factor + (bias == nullptr ? 0 : At(*bias, i, j));
    }
  }
}

constexpr char kScale[] = "scale(Tensor self, Tensor? bias, float factor=2.0) -> Tensor";

// Operands that lie in memory as they are, and one that is absent.
constexpr char kScaleModel[] = R"(
func @main(%x: f32[n, 3]) -> (%y: f32[3, n]) {
  %0 = permute(%x, dims=[1, 0])
  %1 = scale(%0, %0, factor=10.0)
  %2 = scale(%1, none)
  return %2
}
)";

TEST(WeftOwnOpsTest, AFunctionEvaluatesAnOp) {
  for (const char* target : {"cpu", "reference"}) {
    std::atomic<int> calls{0};
    Extensions extensions = NewExtensions();
    weft_op op = NewOp(kScale);
    op.evaluate = EvaluateScale;
    op.context = &calls;
    ASSERT_FINE(Weft().extensions_add_op(extensions.get(), &op));
    weft_program_options options = {};
    options.struct_size = sizeof options;
    options.target = target;
    Module module = ParseWith(extensions, kScaleModel);
    const Program program = Create(module, &options);
    // The program keeps what it needs.
    module = nullptr;
    extensions = nullptr;
    const auto x = F32({2, 3}, {1, 2, 3, 4, 5, 6});
    EXPECT_THAT(Read(Run1(program, &x->tensor)), ElementsAre(22, 88, 44, 110, 66, 132)) << target;
    EXPECT_EQ(calls, 2) << target;
  }
}

TEST(WeftOwnOpsTest, FunctionsRunOnSeveralThreadsAtOnce) {
  const Extensions extensions = NewExtensions();
  std::atomic<int> calls{0};
  weft_op op = NewOp(kScale);
  op.evaluate = EvaluateScale;
  op.context = &calls;
  ASSERT_FINE(Weft().extensions_add_op(extensions.get(), &op));
  const Program program = Create(ParseWith(extensions, kScaleModel));
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const int64_t rows = 1 + (t + i) % 3;
        const auto x = F32({rows, 3}, std::vector<float>(3 * rows, static_cast<float>(t)));
        const std::vector<float> want(3 * rows, static_cast<float>(22 * t));
        if (Read(Run1(program, &x->tensor)) != want) ++wrong[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
  EXPECT_EQ(calls, 4 * 20 * 2);
}

// The operand's rows, each `times` times, and whether they are copies.
constexpr char kRepeat[] = "repeat_rows(Tensor self, int times) -> (Tensor rows, Tensor copied)";

void InferRepeat(void* context, weft_op_call* call) {
  const std::string type = Weft().op_call_operand_type(call, 0);  // "f32[n, 3]"
  const size_t comma = type.find(',');
  const std::string rows = absl::StrCat(Weft().op_call_attr(call, "times")->ints[0], "*(",
                                        type.substr(4, comma - 4), ")");
  Weft().op_call_set_type(call, 0, absl::StrCat("f32[", rows, type.substr(comma)).c_str());
  Weft().op_call_set_type(call, 1, absl::StrCat("bool[", rows, "]").c_str());
}

void EvaluateRepeat(void* context, weft_op_call* call) {
  const weft_tensor* self = Weft().op_call_operand(call, 0);
  const weft_tensor* rows = Weft().op_call_result(call, 0);
  const int64_t times = Weft().op_call_attr(call, "times")->ints[0];
  auto* to = static_cast<float*>(rows->data);
  auto* copied = static_cast<uint8_t*>(Weft().op_call_result(call, 1)->data);
  for (int64_t i = 0; i < rows->shape[0]; ++i) {
    copied[i] = i % times != 0;
    for (int64_t j = 0; j < rows->shape[1]; ++j) *to++ = At(*self, i / times, j);
  }
}

TEST(WeftOwnOpsTest, AFunctionInfersTypesOfOpenSizes) {
  const Extensions extensions = NewExtensions();
  weft_op op = NewOp(kRepeat);
  op.infer = InferRepeat;
  op.evaluate = EvaluateRepeat;
  ASSERT_FINE(Weft().extensions_add_op(extensions.get(), &op));
  const Program program = Create(ParseWith(extensions, R"(
func @main(%x: f32[n, 2]) {
  %0, %1 = repeat_rows(%x, times=2)
  return %0, %1
}
)"));
  EXPECT_STREQ(Weft().program_output(program.get(), 0)->type, "f32[2*n, 2]");
  for (const int64_t n : {1, 2}) {
    const auto x = F32({n, 2}, {1, 2, 3, 4});
    const weft_tensor* inputs[] = {&x->tensor};
    weft_managed_tensor* outputs[2] = {};
    ASSERT_FINE(Weft().program_run(program.get(), inputs, 1, outputs, 2));
    const Output rows(outputs[0]), copied(outputs[1]);
    EXPECT_THAT(Shape(rows), ElementsAre(2 * n, 2));
    EXPECT_EQ(Read(rows).back(), n == 1 ? 2 : 4);
    EXPECT_EQ(static_cast<uint8_t*>(copied->tensor.data)[1], 1);
  }
}

int CountOf(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(WeftOwnOpsTest, AFormulaIsFused) {
  constexpr char kRules[] = R"(
op swish_of(x, float beta = 1.0) = x * sigmoid(beta * x)
rule twice-swish value-safe { x: float  add(swish_of(x), swish_of(x)) => mul(swish_of(x), 2) }
)";
  const Extensions extensions = NewExtensions();
  ASSERT_FINE(Weft().extensions_add_rules(extensions.get(), kRules, strlen(kRules), "swish.rules"));
  const Module module = ParseWith(extensions, R"(
func @main(%x: f32[n]) {
  %0 = neg(%x)
  %1 = swish_of(%0, beta=2.0)
  %2 = swish_of(%1)
  %3 = add(%2, %2)
  return %3
}
)");
  const Program program = Create(module);
  const std::vector<float> values = {-2, -0.5, 0, 1, 3};
  std::vector<float> want;
  const auto swish = [](double x, double beta) { return x / (1 + std::exp(-beta * x)); };
  for (const float x : values) {
    want.push_back(static_cast<float>(2 * swish(swish(-x, 2), 1)));
  }
  EXPECT_THAT(Read(Run1(program, &F32({5}, values)->tensor)), Pointwise(FloatNear(1e-6f), want));
  // The rule applies, and one kernel has it all.
  weft_pass_options passes = {};
  passes.struct_size = sizeof passes;
  passes.target = "cpu";
  ASSERT_FINE(Weft().module_run_passes(module.get(), &passes));
  const std::string plan = Emit(module, "plan");
  EXPECT_THAT(plan, AllOf(HasSubstr("sigmoid"), Not(HasSubstr("swish_of"))));
  EXPECT_EQ(CountOf(plan, "kernel @"), 1) << plan;
}

// --- Files -----------------------------------------------------------------------------

Error LoadError(const Extensions& extensions, const std::string& path, Module* module) {
  weft_load_options options = {};
  options.struct_size = sizeof options;
  options.extensions = extensions.get();
  weft_module* made = nullptr;
  const Error error = Take(Weft().module_load(path.c_str(), &options, &made));
  module->reset(made);
  return error;
}

// An op by a function, and one by a formula, under their names in ONNX.
Extensions ScaleAndSquash() {
  constexpr char kRules[] = "op squash(x) onnx \"acme::Squash\" = x / (1 + abs(x))";
  Extensions extensions = NewExtensions();
  weft_op op = NewOp(kScale);
  op.evaluate = EvaluateScale;
  op.onnx = "acme::Scale";
  EXPECT_FINE(Weft().extensions_add_op(extensions.get(), &op));
  EXPECT_FINE(Weft().extensions_add_rules(extensions.get(), kRules, strlen(kRules), nullptr));
  return extensions;
}

TEST(WeftOwnOpsTest, FilesKeepTheOps) {
  const Extensions extensions = ScaleAndSquash();
  const Module module = ParseWith(extensions, R"(
func @main(%x: f32[n, 2]) -> (%y: f32[n, 2]) {
  %0 = squash(%x)
  %1 = scale(%0, none, factor=4.0)
  return %1
}
)");
  const auto x = F32({1, 2}, {1, -3});
  for (const char* name : {"own.onnx", "own.weft", "own.weftb"}) {
    ASSERT_FINE(Weft().module_save(module.get(), Path(name).c_str()));
    Module loaded;
    const Error error = LoadError(extensions, Path(name), &loaded);
    ASSERT_EQ(error.code, WEFT_OK) << error.message;
    EXPECT_THAT(Emit(loaded, "text"), HasSubstr("%1 = scale(%0, none, factor=4.0)"));
    EXPECT_THAT(Read(Run1(Create(loaded), &x->tensor)), ElementsAre(2, -3)) << name;
    // Without the extensions the error names the op.
    EXPECT_THAT(LoadError(nullptr, Path(name), &loaded).message,
                AnyOf(HasSubstr("squash"), HasSubstr("acme::Squash")));
  }
}

TEST(WeftOwnOpsTest, ACompiledFileHasFormulasAndNoFunctions) {
  const Extensions extensions = ScaleAndSquash();
  const auto x = F32({1, 2}, {1, -3});
  const std::string path = Path("compiled.weftb");
  weft_program* opened = nullptr;
  const Module formula =
      ParseWith(extensions, "func @main(%x: f32[n, 2]) {\n  %0 = squash(%x)\n  return %0\n}");
  ASSERT_FINE(Weft().module_compile(formula.get(), path.c_str(), nullptr));
  ASSERT_FINE(Weft().program_open(path.c_str(), nullptr, &opened));
  EXPECT_THAT(Read(Run1(Program(opened), &x->tensor)), ElementsAre(0.5, -0.75));

  const Module function =
      ParseWith(extensions, "func @main(%x: f32[n, 2]) {\n  %0 = scale(%x, none)\n  return %0\n}");
  Error error = Take(Weft().module_compile(function.get(), path.c_str(), nullptr));
  if (error.code == WEFT_OK) error = Take(Weft().program_open(path.c_str(), nullptr, &opened));
  EXPECT_NE(error.code, WEFT_OK);
  EXPECT_THAT(error.message, HasSubstr("scale"));
}

// --- Errors ----------------------------------------------------------------------------

// The message, after the context was given back.
std::string AddError(const Extensions& extensions, weft_op op) {
  int destroyed = 0;
  op.context = &destroyed;
  op.destroy = [](void* context) { ++*static_cast<int*>(context); };
  const Error error = Take(Weft().extensions_add_op(extensions.get(), &op));
  EXPECT_EQ(destroyed, 1) << error.message;
  EXPECT_EQ(error.function, "extensions_add_op");
  return error.message;
}

TEST(WeftOwnOpsTest, OpsThatAreRefused) {
  const Extensions extensions = NewExtensions();
  const auto message = [&](const char* schema, int32_t like = 0, const char* onnx = nullptr) {
    weft_op op = NewOp(schema);
    op.evaluate = EvaluateScale;
    op.like = like;
    op.onnx = onnx;
    return AddError(extensions, op);
  };
  EXPECT_EQ(message(nullptr), "`schema` is null");
  EXPECT_EQ(AddError(extensions, NewOp(kScale)), "`evaluate` is null");
  EXPECT_THAT(message("scale"), HasSubstr("expected name(arguments) -> results"));
  EXPECT_THAT(message("scale(SymInt* n) -> Tensor"), HasSubstr("are tensors"));
  EXPECT_THAT(message("scale(Tensor x) -> Tensor[]"), HasSubstr("are tensors"));
  EXPECT_THAT(message("scale(Tensor(a!) x) -> Tensor(a!)"), HasSubstr("neither views nor writes"));
  EXPECT_THAT(message("scale() -> Tensor"), HasSubstr("has operands"));
  EXPECT_THAT(message("scale(Tensor x, SymInt n) -> Tensor"), HasSubstr("attribute n"));
  EXPECT_THAT(message("scale(Tensor x) -> Tensor", 1), HasSubstr("`like` is 1"));
  EXPECT_THAT(message("scale(Tensor x) -> Tensor", -1), HasSubstr("`like` is -1"));
  EXPECT_THAT(message("1x(Tensor x) -> Tensor"), HasSubstr("cannot be called \"1x\""));
  EXPECT_THAT(message("relu(Tensor x) -> Tensor"), HasSubstr("an op called relu already"));
  EXPECT_THAT(message("scale(Tensor x) -> Tensor", 0, "Scale"), HasSubstr("domain::Type"));
  EXPECT_THAT(message("scale(Tensor x) -> Tensor", 0, "ai.onnx::Relu"), HasSubstr("\"ai.onnx\""));

  weft_op op = NewOp("scale(Tensor x) -> Tensor");
  op.evaluate = EvaluateScale;
  op.onnx = "acme::Scale";
  ASSERT_FINE(Weft().extensions_add_op(extensions.get(), &op));
  EXPECT_THAT(message("scale(Tensor x) -> Tensor"), HasSubstr("an op called scale already"));
  EXPECT_THAT(message("other(Tensor x) -> Tensor", 0, "acme::Scale"),
              HasSubstr("an op called acme::Scale already"));
  const Error rules = Take(Weft().extensions_add_rules(extensions.get(), "op f(x) = y", 11, "my"));
  EXPECT_EQ(rules.message, "my:1:11: y is neither an operand nor an attribute of f");

  // A module reads the tables, from any thread.
  Module module = ParseWith(extensions, kDouble);
  EXPECT_THAT(message("late(Tensor x) -> Tensor"), HasSubstr("nothing can be added"));
  const Program program = Create(module);
  module = nullptr;
  EXPECT_THAT(message("late(Tensor x) -> Tensor"), HasSubstr("nothing can be added"));
}

// Functions that do what they must not.
struct Wrong {
  const char* type = nullptr;
  const char* failure = nullptr;
};

void InferWrong(void* context, weft_op_call* call) {
  const auto& wrong = *static_cast<const Wrong*>(context);
  if (wrong.failure != nullptr) Weft().op_call_fail(call, wrong.failure);
  if (wrong.type != nullptr) Weft().op_call_set_type(call, 0, wrong.type);
}

std::string InferError(Wrong wrong) {
  const Extensions extensions = NewExtensions();
  weft_op op = NewOp("wrong(Tensor x) -> Tensor");
  op.infer = InferWrong;
  op.evaluate = EvaluateScale;
  op.context = &wrong;
  EXPECT_FINE(Weft().extensions_add_op(extensions.get(), &op));
  Module module;
  return ParseError(extensions, "func @main(%x: f32[n, 2]) {\n  %0 = wrong(%x)\n  return %0\n}",
                    &module)
      .message;
}

TEST(WeftOwnOpsTest, TypesThatAreRefused) {
  EXPECT_THAT(InferError({}), AllOf(HasSubstr("model.weft:2"), HasSubstr("wrong: no type was set "
                                                                         "for result 0")));
  EXPECT_THAT(InferError({"f32[m]"}), HasSubstr("the operands' types have no symbol m"));
  EXPECT_THAT(InferError({"f32[n"}), HasSubstr("the type \"f32[n\" that was set for result 0"));
  EXPECT_THAT(InferError({"symint[n]"}), HasSubstr("it is not a tensor's"));
  EXPECT_THAT(InferError({"f32[-1]"}), HasSubstr("negative"));
  EXPECT_THAT(InferError({"f32[n]", "x must be square"}), HasSubstr("wrong: x must be square"));
}

void EvaluateWrong(void* context, weft_op_call* call) {
  const weft_tensor* result = Weft().op_call_result(call, 0);
  EXPECT_EQ(Weft().op_call_result(call, 1), nullptr);
  EXPECT_EQ(Weft().op_call_operand(call, 7), nullptr);
  EXPECT_EQ(Weft().op_call_operand_type(call, 7), nullptr);
  EXPECT_EQ(Weft().op_call_attr(call, "no"), nullptr);
  EXPECT_EQ(Weft().op_call_num_operands(call), 1u);
  std::memset(result->data, 2, Count(*result));
  if (context != nullptr) Weft().op_call_fail(call, static_cast<const char*>(context));
}

TEST(WeftOwnOpsTest, EvaluationsThatFail) {
  for (const char* failure : {static_cast<const char*>(nullptr), "the table is not loaded"}) {
    const Extensions extensions = NewExtensions();
    weft_op op = NewOp("wrong(Tensor x) -> Tensor");
    op.evaluate = EvaluateWrong;
    op.context = const_cast<char*>(failure);
    ASSERT_FINE(Weft().extensions_add_op(extensions.get(), &op));
    const Program program = Create(
        ParseWith(extensions, "func @main(%x: bool[2]) {\n  %0 = wrong(%x)\n  return %0\n}"));
    Given<uint8_t> x({6, 8, 1}, {2}, {0, 1});
    EXPECT_THAT(RunError(program, &x.tensor).message,
                HasSubstr(failure != nullptr ? failure : "a bool that is neither 0 nor 1"));
  }
}

TEST(WeftOwnOpsTest, NullIsAnArgumentLikeOthers) {
  const Extensions extensions = NewExtensions();
  weft_module* module = nullptr;
  const std::vector<weft_error*> errors = {
      Weft().extensions_create(nullptr),
      Weft().extensions_add_op(extensions.get(), nullptr),
      Weft().extensions_add_op(nullptr, nullptr),
      Weft().extensions_add_rules(nullptr, "", 0, nullptr),
      Weft().extensions_add_rules(extensions.get(), nullptr, 0, nullptr),
      Weft().module_parse_with(nullptr, 0, nullptr, nullptr, &module),
  };
  for (weft_error* error : errors) {
    const Error taken = Take(error);
    EXPECT_EQ(taken.code, WEFT_INVALID_ARGUMENT);
    EXPECT_THAT(taken.message, HasSubstr("is null"));
  }
  Weft().extensions_destroy(nullptr);
  EXPECT_EQ(Weft().op_call_num_operands(nullptr), 0u);
  EXPECT_EQ(Weft().op_call_attr(nullptr, "x"), nullptr);
  Weft().op_call_set_type(nullptr, 0, "f32[]");
  Weft().op_call_fail(nullptr, "x");
}

}  // namespace
}  // namespace weft_api_test
