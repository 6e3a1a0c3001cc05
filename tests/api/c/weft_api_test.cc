// The C interface as a program in C sees it: through the table alone.
#include "tests/api/c/weft_api.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "api/c/weft.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft_api_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

TEST(WeftApiTest, HasTheVersionsItHas) {
  EXPECT_EQ(weft_get_api(0), nullptr);
  EXPECT_EQ(weft_get_api(WEFT_API_VERSION + 1), nullptr);
  ASSERT_NE(weft_get_api(1), nullptr);
  EXPECT_EQ(Weft().struct_size, sizeof(weft_api));
  EXPECT_EQ(Weft().version, static_cast<uint32_t>(WEFT_API_VERSION));
  EXPECT_STREQ(Weft().library_version(), "0.1");
}

TEST(WeftApiTest, EveryEntryIsThere) {
  // All entries behind the two numbers are pointers.
  const char* bytes = reinterpret_cast<const char*>(&Weft());
  for (size_t at = offsetof(weft_api, library_version); at < sizeof(weft_api);
       at += sizeof(void*)) {
    void* entry = nullptr;
    std::memcpy(&entry, bytes + at, sizeof entry);
    EXPECT_NE(entry, nullptr) << "at " << at;
  }
}

TEST(WeftApiTest, RunsForAnySize) {
  const Module module = Parse(kDouble);
  const Program program = Create(module);
  ASSERT_EQ(Weft().program_num_inputs(program.get()), 1u);
  const weft_value_info* x = Weft().program_input(program.get(), 0);
  EXPECT_STREQ(x->name, "x");
  EXPECT_STREQ(x->type, "f32[s0, 3]");
  ASSERT_EQ(x->ndim, 2);
  EXPECT_EQ(x->shape[0], -1);
  EXPECT_EQ(x->shape[1], 3);
  EXPECT_EQ(x->optional, 0);
  EXPECT_EQ(Weft().program_input(program.get(), 1), nullptr);
  EXPECT_STREQ(Weft().program_output(program.get(), 0)->name, "y");
  for (int64_t rows = 0; rows < 4; ++rows) {
    std::vector<float> values, doubled;
    for (int64_t i = 0; i < 3 * rows; ++i) {
      values.push_back(static_cast<float>(i));
      doubled.push_back(static_cast<float>(2 * i));
    }
    const auto input = F32({rows, 3}, values);
    const Output output = Run1(program, &input->tensor);
    EXPECT_THAT(Shape(output), ElementsAre(rows, 3));
    EXPECT_EQ(Read(output), doubled);
    EXPECT_EQ(output->version_major, 1u);
    EXPECT_EQ(output->flags, 0u);
  }
}

TEST(WeftApiTest, ReadsStridesAndOffsets) {
  const Program program = Create(Parse(kDouble));
  const auto input = F32({2, 3}, {-1, 0, 10, 1, 11, 2, 12});  // Transposed, behind one element.
  input->strides = {1, 2};
  input->tensor.strides = input->strides.data();
  input->tensor.byte_offset = sizeof(float);
  EXPECT_THAT(Read(Run1(program, &input->tensor)), ElementsAre(0, 2, 4, 20, 22, 24));
}

TEST(WeftApiTest, RunsByName) {
  const Program program = Create(Parse(R"(
func @main(%a: f32[2], %b: f32[2]) {
  %0 = sub(%a, %b)
  return %0
}
)"));
  const auto a = F32({2}, {5, 7});
  const auto b = F32({2}, {1, 2});
  weft_managed_tensor* output = nullptr;
  const weft_named_tensor both[] = {{"b", &b->tensor}, {"a", &a->tensor}};
  ASSERT_FINE(Weft().program_run_named(program.get(), both, 2, &output, 1));
  EXPECT_THAT(Read(Output(output)), ElementsAre(4, 5));
  const Error missing = Take(Weft().program_run_named(program.get(), both, 1, &output, 1));
  EXPECT_EQ(missing.code, WEFT_INVALID_ARGUMENT);
  EXPECT_EQ(missing.function, "program_run_named");
  EXPECT_THAT(missing.message, HasSubstr("\"a\""));
  EXPECT_EQ(output, nullptr);
  const weft_named_tensor wrong[] = {{"a", &a->tensor}, {"b", &b->tensor}, {"c", &b->tensor}};
  EXPECT_THAT(Take(Weft().program_run_named(program.get(), wrong, 3, &output, 1)).message,
              HasSubstr("\"c\""));
  const weft_named_tensor twice[] = {{"a", &a->tensor}, {"b", &b->tensor}, {"a", &b->tensor}};
  EXPECT_EQ(Take(Weft().program_run_named(program.get(), twice, 3, &output, 1)).message,
            "\"a\" is given twice");
}

// Outputs outlive the inputs, whose memory the program only borrowed.
TEST(WeftApiTest, AnOutputDoesNotStandOnAnInput) {
  for (const char* target : {"cpu", "reference"}) {
    weft_program_options options = {sizeof options};
    options.target = target;
    const Program program = Create(Parse(R"(
func @main(%x: f32[2, 3]) {
  %0 = permute(%x, dims=[1, 0])
  return %x, %0
}
)"),
                                   &options);
    auto input = F32({2, 3}, {1, 2, 3, 4, 5, 6});
    const weft_tensor* inputs[] = {&input->tensor};
    weft_managed_tensor* outputs[2] = {};
    ASSERT_FINE(Weft().program_run(program.get(), inputs, 1, outputs, 2));
    const Output same(outputs[0]), turned(outputs[1]);
    input->data.assign(6, -1);
    EXPECT_THAT(Read(same), ElementsAre(1, 2, 3, 4, 5, 6)) << target;
    EXPECT_NE(same->tensor.data, input->data.data());
    std::vector<float> column;
    for (int i = 0; i < 2; ++i) {
      column.push_back(static_cast<float*>(turned->tensor.data)[i * turned->tensor.strides[1]]);
    }
    EXPECT_THAT(column, ElementsAre(1, 4)) << target;
  }
}

TEST(WeftApiTest, ConstantsAreReadOnly) {
  const Program program = Create(Parse(R"(
func @main(%x: f32[2]) {
  %0 = constant("c" dense<[3.0, 4.0]>) : f32[2]
  %1 = add(%x, %0)
  return %0, %1
}
)"));
  const auto input = F32({2}, {1, 2});
  const weft_tensor* inputs[] = {&input->tensor};
  weft_managed_tensor* outputs[2] = {};
  ASSERT_FINE(Weft().program_run(program.get(), inputs, 1, outputs, 2));
  const Output constant(outputs[0]), sum(outputs[1]);
  // Either a copy, or marked.
  if ((constant->flags & WEFT_TENSOR_READ_ONLY) == 0) {
    static_cast<float*>(constant->tensor.data)[0] = 99;
  }
  EXPECT_EQ(sum->flags, 0u);
  EXPECT_THAT(Read(sum), ElementsAre(4, 6));
  EXPECT_THAT(Read(Run1(Create(Parse(kDouble)), &F32({1, 3}, {1, 2, 3})->tensor)),
              ElementsAre(2, 4, 6));
  weft_managed_tensor* again[2] = {};
  ASSERT_FINE(Weft().program_run(program.get(), inputs, 1, again, 2));
  EXPECT_THAT(Read(Output(again[0])), ElementsAre(3, 4));
  EXPECT_THAT(Read(Output(again[1])), ElementsAre(4, 6));
}

TEST(WeftApiTest, EveryTypePasses) {
  struct Row {
    const char* name;
    weft_dl_type type;
    int bytes;
  };
  for (const Row& row : std::vector<Row>{
           {"bool", {6, 8, 1}, 1},        {"u8", {1, 8, 1}, 1},      {"u16", {1, 16, 1}, 2},
           {"u32", {1, 32, 1}, 4},        {"u64", {1, 64, 1}, 8},    {"i8", {0, 8, 1}, 1},
           {"i16", {0, 16, 1}, 2},        {"i32", {0, 32, 1}, 4},    {"i64", {0, 64, 1}, 8},
           {"f8e4m3", {10, 8, 1}, 1},     {"f8e5m2", {12, 8, 1}, 1}, {"f8e4m3fnuz", {11, 8, 1}, 1},
           {"f8e5m2fnuz", {13, 8, 1}, 1}, {"f16", {2, 16, 1}, 2},    {"bf16", {4, 16, 1}, 2},
           {"f32", {2, 32, 1}, 4},        {"f64", {2, 64, 1}, 8},    {"c64", {5, 64, 1}, 8},
           {"c128", {5, 128, 1}, 16},     {"i4", {0, 4, 1}, 1},      {"u4", {1, 4, 1}, 1}}) {
    weft_program_options options = {sizeof options};
    options.target = "reference";
    const Program program = Create(
        Parse(absl::StrCat("func @main(%x: ", row.name, "[4]) {\n  return %x\n}\n")), &options);
    Given<double> input(row.type, {4}, std::vector<double>(8));
    auto* bytes = reinterpret_cast<uint8_t*>(input.data.data());
    const int total = row.type.bits == 4 ? 2 : 4 * row.bytes;
    for (int i = 0; i < total; ++i) bytes[i] = static_cast<uint8_t>(i % 2);
    const Output output = Run1(program, &input.tensor);
    ASSERT_NE(output, nullptr) << row.name;
    EXPECT_EQ(output->tensor.dtype.code, row.type.code) << row.name;
    EXPECT_EQ(output->tensor.dtype.bits, row.type.bits) << row.name;
    EXPECT_EQ(std::memcmp(output->tensor.data, bytes, total), 0) << row.name;
  }
}

TEST(WeftApiTest, MalformedTensorsAreNamed) {
  const Program program = Create(Parse(kDouble));
  const auto error = [&](auto change) {
    auto input = F32({1, 3}, {1, 2, 3});
    input->strides = {3, 1};
    input->tensor.strides = input->strides.data();
    change(*input);
    const Error error = RunError(program, &input->tensor);
    EXPECT_EQ(error.code, WEFT_INVALID_ARGUMENT);
    EXPECT_EQ(error.function, "program_run");
    return error.message;
  };
  constexpr char kFor[] = "tensor for \"x\": ";
  EXPECT_EQ(error([](Floats& x) { x.tensor.device.type = 2; }),
            absl::StrCat(kFor, "it is on a device of type 2; Weft takes host memory, type 1"));
  EXPECT_EQ(error([](Floats& x) {
              x.tensor.dtype = {2, 32, 4};
            }),
            absl::StrCat(kFor, "its type, code 2 with 32 bits and 4 lanes, is none of Weft's"));
  EXPECT_EQ(error([](Floats& x) { x.tensor.ndim = 65; }),
            absl::StrCat(kFor, "it has 65 dims; at most 64 are possible"));
  EXPECT_EQ(error([](Floats& x) { x.tensor.ndim = -1; }),
            absl::StrCat(kFor, "it has -1 dims; at most 64 are possible"));
  EXPECT_EQ(error([](Floats& x) { x.tensor.shape = nullptr; }),
            absl::StrCat(kFor, "`shape` is null"));
  EXPECT_EQ(error([](Floats& x) { x.shape[0] = -2; }), absl::StrCat(kFor, "a dim is -2"));
  EXPECT_EQ(error([](Floats& x) {
              x.shape = {int64_t{1} << 40, int64_t{1} << 40};
            }
                  // `shape` moved: the tensor must follow.
                  ),
            absl::StrCat(kFor, "its dims overflow"));
  EXPECT_EQ(error([](Floats& x) { x.shape[0] = 2, x.strides[0] = -3; }),
            absl::StrCat(kFor, "a stride is -3"));
  EXPECT_EQ(
      error([](Floats& x) { x.shape[0] = 2, x.strides[0] = std::numeric_limits<int64_t>::max(); }),
      absl::StrCat(kFor, "its strides overflow"));
  EXPECT_EQ(error([](Floats& x) { x.tensor.data = nullptr; }),
            absl::StrCat(kFor, "`data` is null"));
  EXPECT_EQ(error([](Floats& x) { x.tensor.byte_offset = 2; }),
            absl::StrCat(kFor, "its address is not a multiple of 4 bytes"));
  EXPECT_THAT(error([](Floats& x) { x.tensor.ndim = 1; }), HasSubstr("input 0 (x)"));
  EXPECT_THAT(error([](Floats& x) { x.tensor.dtype = {0, 32, 1}; }), HasSubstr("i32[1, 3]"));
}

TEST(WeftApiTest, BoolsAre0Or1) {
  const Program program = Create(Parse("func @main(%x: bool[2]) {\n  return %x\n}\n"));
  Given<uint8_t> input({6, 8, 1}, {2}, {1, 2});
  EXPECT_EQ(RunError(program, &input.tensor).message,
            "tensor for \"x\": a bool is neither 0 nor 1");
}

TEST(WeftApiTest, CountsAreChecked) {
  const Program program = Create(Parse(kDouble));
  const auto input = F32({1, 3}, {1, 2, 3});
  const weft_tensor* inputs[] = {&input->tensor, nullptr};
  weft_managed_tensor* outputs[2] = {};
  EXPECT_EQ(Take(Weft().program_run(program.get(), inputs, 2, outputs, 1)).message,
            "the program takes 1 inputs, got 2");
  EXPECT_EQ(Take(Weft().program_run(program.get(), inputs, 1, outputs, 2)).message,
            "the program has 1 outputs, and there is room for 2");
  EXPECT_EQ(Take(Weft().program_run(program.get(), inputs + 1, 1, outputs, 1)).message,
            "no tensor for \"x\"");
}

TEST(WeftApiTest, NullIsAnArgumentLikeOthers) {
  weft_module* module = nullptr;
  weft_program* program = nullptr;
  weft_text* text = nullptr;
  const Module some = Parse(kDouble);
  const std::vector<weft_error*> errors = {
      Weft().module_load(nullptr, nullptr, &module),
      Weft().module_load("x.weft", nullptr, nullptr),
      Weft().module_parse(nullptr, 0, nullptr, &module),
      Weft().module_clone(nullptr, &module),
      Weft().module_run_passes(nullptr, nullptr),
      Weft().module_emit(some.get(), nullptr, nullptr, &text),
      Weft().module_emit(some.get(), "text", nullptr, nullptr),
      Weft().module_save(some.get(), nullptr),
      Weft().module_compile(some.get(), nullptr, nullptr),
      Weft().program_create(nullptr, nullptr, &program),
      Weft().program_open(nullptr, nullptr, &program),
      Weft().program_run(nullptr, nullptr, 0, nullptr, 0),
      Weft().program_run_named(nullptr, nullptr, 0, nullptr, 0),
      Weft().program_functional_call(nullptr, nullptr, 0, nullptr, 0, nullptr, 0),
      Weft().program_state(nullptr, "x", nullptr),
      Weft().program_set_states(nullptr, nullptr, 0),
      Weft().program_explain(nullptr, &text),
      Weft().profile_start(nullptr),
      Weft().profile_stop(nullptr, nullptr),
  };
  for (size_t i = 0; i < errors.size(); ++i) {
    const Error error = Take(errors[i]);
    EXPECT_EQ(error.code, WEFT_INVALID_ARGUMENT) << i;
    EXPECT_THAT(error.message, HasSubstr("is null")) << i;
  }
  EXPECT_EQ(Weft().program_num_inputs(nullptr), 0u);
  EXPECT_EQ(Weft().program_state_name(nullptr, 0), nullptr);
  Weft().module_destroy(nullptr);
  Weft().program_destroy(nullptr);
  Weft().text_destroy(nullptr);
  Weft().error_destroy(nullptr);
  Weft().profile_step(nullptr);
  EXPECT_STREQ(Weft().error_message(nullptr), "");
}

TEST(WeftApiTest, ErrorsNameThePlace) {
  weft_module* module = nullptr;
  const std::string text = "func @main(%x: f32[2]) {\n  %0 = addd(%x, %x)\n  return %0\n}\n";
  const Error unknown = Take(Weft().module_parse(text.data(), text.size(), "a.weft", &module));
  EXPECT_EQ(unknown.code, WEFT_INVALID_ARGUMENT);
  EXPECT_EQ(unknown.function, "module_parse");
  EXPECT_THAT(unknown.message, StartsWith("a.weft:2:8: unknown op \"addd\""));
  EXPECT_EQ(module, nullptr);
  const Error missing = Take(Weft().module_load(Path("none.onnx").c_str(), nullptr, &module));
  EXPECT_EQ(missing.code, WEFT_NOT_FOUND);
  EXPECT_THAT(missing.message, HasSubstr("none.onnx"));
  const Program program = Create(Parse(kDouble));
  const auto input = F32({1, 4}, {1, 2, 3, 4});
  EXPECT_THAT(RunError(program, &input->tensor).message,
              HasSubstr("input 0 (x): dim 1 is 4 and has to be 3"));
}

TEST(WeftApiTest, OptionsAreChecked) {
  const Module module = Parse(kDouble);
  weft_program* program = nullptr;
  const auto error = [&](weft_program_options options) {
    return Take(Weft().program_create(module.get(), &options, &program));
  };
  const size_t size = sizeof(weft_program_options);
  EXPECT_THAT(error({size, "gpu"}).message, HasSubstr("\"gpu\""));
  EXPECT_THAT(error({size, nullptr, "no_such_pass"}).message, HasSubstr("no_such_pass"));
  EXPECT_EQ(error({size, nullptr, nullptr, "often"}).message,
            "dynamic is \"often\", not automatic, static or symbolic");
  const weft_option unknown = {"colour", "red"};
  EXPECT_THAT(error({size, nullptr, nullptr, nullptr, &unknown, 1}).message, HasSubstr("colour"));
  const weft_option bad = {"threads", "many"};
  EXPECT_THAT(error({size, nullptr, nullptr, nullptr, &bad, 1}).message, HasSubstr("threads"));
  EXPECT_THAT(error({size, nullptr, nullptr, nullptr, nullptr, 1}).message,
              HasSubstr("`options` is null"));
  EXPECT_THAT(error({3}).message, HasSubstr("struct_size"));
  const weft_option threads = {"threads", "1"};
  weft_program_options good = {size, "cpu", "none", "symbolic", &threads, 1};
  EXPECT_NE(Create(module, &good), nullptr);
  // A caller of an older header: what it does not know is not read.
  weft_program_options old = {offsetof(weft_program_options, dynamic), "reference"};
  old.dynamic = "nonsense";
  EXPECT_NE(Create(module, &old), nullptr);
}

// --- Threads ---------------------------------------------------------------------------

TEST(WeftApiTest, ThreadsShareAProgram) {
  const Program program = Create(Parse(kDouble));
  std::vector<std::thread> threads;
  std::vector<int> wrong(8);
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const int64_t rows = 1 + (t + i) % 5;
        const auto input = F32({rows, 3}, std::vector<float>(3 * rows, static_cast<float>(t)));
        const Output output = Run1(program, &input->tensor);
        if (Read(output) != std::vector<float>(3 * rows, static_cast<float>(2 * t))) ++wrong[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(8));
}

// --- Modules and files -----------------------------------------------------------------

TEST(WeftApiTest, PassesChangeAModuleAndNotItsClone) {
  const Module module = Parse(R"(
func @main(%x: f32[2]) {
  %0 = neg(%x)
  %1 = neg(%0)
  return %1
}
)");
  weft_module* copy = nullptr;
  ASSERT_FINE(Weft().module_clone(module.get(), &copy));
  const Module clone(copy);
  weft_pass_options options = {sizeof options};
  options.verify = "semantics";
  ASSERT_FINE(Weft().module_run_passes(module.get(), &options));
  EXPECT_THAT(Emit(module, "text"), testing::Not(HasSubstr("neg")));
  EXPECT_THAT(Emit(clone, "text"), HasSubstr("neg"));
  EXPECT_THAT(Emit(clone, "plan"), HasSubstr("plan @main"));
  EXPECT_THAT(Emit(clone, "target"), StartsWith("target cpu"));
  weft_text* text = nullptr;
  EXPECT_EQ(Take(Weft().module_emit(clone.get(), "pdf", nullptr, &text)).message,
            "\"pdf\" is no format");
  options.verify = "often";
  EXPECT_EQ(Take(Weft().module_run_passes(module.get(), &options)).message,
            "\"often\" is no level of checks");
  options = {sizeof options, "canonicalize,,"};
  EXPECT_NE(Take(Weft().module_run_passes(module.get(), &options)).code, WEFT_OK);
}

TEST(WeftApiTest, FilesRun) {
  const Module module = Parse(kDouble);
  const auto input = F32({2, 3}, {1, 2, 3, 4, 5, 6});
  for (const char* name : {"m.weft", "m.weftb", "m.onnx"}) {
    const std::string path = Path(name);
    ASSERT_FINE(Weft().module_save(module.get(), path.c_str()));
    weft_module* read = nullptr;
    ASSERT_FINE(Weft().module_load(path.c_str(), nullptr, &read));
    EXPECT_THAT(Read(Run1(Create(Module(read)), &input->tensor)), ElementsAre(2, 4, 6, 8, 10, 12))
        << name;
  }
  EXPECT_THAT(Take(Weft().module_save(module.get(), Path("m.pdf").c_str())).message,
              HasSubstr("m.pdf"));
}

TEST(WeftApiTest, ACompiledFileHasPlansForInstructionSets) {
  const Module module = Parse(kDouble);
  const std::string path = Path("sets.weftb");
  weft_file_options file = {sizeof file, "cpu:avx2,cpu:avx512"};
  ASSERT_FINE(Weft().module_compile(module.get(), path.c_str(), &file));
  weft_plan_options options = {sizeof options};
  options.cpu = "avx2";
  weft_program* opened = nullptr;
  ASSERT_FINE(Weft().program_open(path.c_str(), &options, &opened));
  const Program program(opened);
  const auto input = F32({1, 3}, {1, 2, 3});
  EXPECT_THAT(Read(Run1(program, &input->tensor)), ElementsAre(2, 4, 6));
  options.cpu = "mmx";
  weft_program* refused = nullptr;
  EXPECT_THAT(Take(Weft().program_open(path.c_str(), &options, &refused)).message,
              HasSubstr("unknown instruction set \"mmx\""));
  file.target = "cpu,cuda";
  EXPECT_EQ(Take(Weft().module_compile(module.get(), path.c_str(), &file)).code,
            WEFT_INVALID_ARGUMENT);
}

// Whether the code runs is tested where it can be seen (machine_code_test).
TEST(WeftApiTest, ACompiledFileMayHaveMachineCode) {
  const Module module = Parse(kDouble);
  const std::string path = Path("code.weftb");
  weft_file_options file = {sizeof file};
  file.compiler = "no-such-compiler";
  EXPECT_THAT(Take(Weft().module_compile(module.get(), path.c_str(), &file)).message,
              HasSubstr("no-such-compiler"));
  file.compiler = "c++";
  ASSERT_FINE(Weft().module_compile(module.get(), path.c_str(), &file));
  weft_plan_options options = {sizeof options};
  for (const int32_t allow : {0, 1}) {
    options.allow_code = allow;
    weft_program* opened = nullptr;
    ASSERT_FINE(Weft().program_open(path.c_str(), &options, &opened));
    const Program program(opened);
    const auto input = F32({1, 3}, {1, 2, 3});
    EXPECT_THAT(Read(Run1(program, &input->tensor)), ElementsAre(2, 4, 6));
  }
  // Damaged code is an error where it may run, and is not read elsewhere.
  std::ifstream written(path, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(written), {});
  const size_t at = bytes.find(
      "\x7f"
      "ELF");
  ASSERT_NE(at, std::string::npos);
  bytes[at + 100] ^= 1;
  std::ofstream(path, std::ios::binary) << bytes;
  weft_program* opened = nullptr;
  EXPECT_THAT(Take(Weft().program_open(path.c_str(), &options, &opened)).message,
              HasSubstr("code.weftb: the machine code in segment "));
  options.allow_code = 0;
  ASSERT_FINE(Weft().program_open(path.c_str(), &options, &opened));
  const Program program(opened);
}

TEST(WeftApiTest, ACompiledFileRunsWithoutItsGraph) {
  const Module module = Parse(kDouble);
  const std::string path = Path("plan.weftb");
  weft_file_options file = {sizeof file};
  file.strip_graph = 1;
  file.strip_names = 1;
  file.pack = 1;
  ASSERT_FINE(Weft().module_compile(module.get(), path.c_str(), &file));
  weft_module* none = nullptr;
  EXPECT_THAT(Take(Weft().module_load(path.c_str(), nullptr, &none)).message,
              HasSubstr("plan.weftb"));
  weft_plan_options options = {sizeof options};
  options.threads = 2;
  weft_program* opened = nullptr;
  ASSERT_FINE(Weft().program_open(path.c_str(), &options, &opened));
  const Program program(opened);
  EXPECT_STREQ(Weft().program_input(opened, 0)->name, "x");
  EXPECT_EQ(Weft().program_num_states(opened), 1u);
  for (int64_t rows = 1; rows < 4; ++rows) {
    const auto input = F32({rows, 3}, std::vector<float>(3 * rows, 1.5));
    EXPECT_EQ(Read(Run1(program, &input->tensor)), std::vector<float>(3 * rows, 3));
    const weft_named_tensor named = {"x", &input->tensor};
    weft_managed_tensor* output = nullptr;
    ASSERT_FINE(Weft().program_run_named(opened, &named, 1, &output, 1));
    EXPECT_EQ(Read(Output(output)), std::vector<float>(3 * rows, 3));
    const weft_named_tensor wrong = {"y", &input->tensor};
    EXPECT_EQ(Take(Weft().program_run_named(opened, &wrong, 1, &output, 1)).message,
              "the program has no input \"y\"");
  }
  options.threads = -1;
  weft_program* refused = nullptr;
  EXPECT_THAT(Take(Weft().program_open(path.c_str(), &options, &refused)).message,
              AllOf(HasSubstr("plan.weftb"), HasSubstr("threads")));
  options = {sizeof options, "cuda"};
  EXPECT_EQ(Take(Weft().program_open(path.c_str(), &options, &refused)).code, WEFT_NOT_FOUND);
  options = {sizeof options};
  options.check_weights = "some";
  EXPECT_EQ(Take(Weft().program_open(path.c_str(), &options, &refused)).message,
            "check_weights is \"some\", not all or none");
  std::ofstream(Path("broken.weftb")) << "not a file";
  EXPECT_THAT(Take(Weft().program_open(Path("broken.weftb").c_str(), nullptr, &refused)).message,
              HasSubstr("broken.weftb"));
}

TEST(WeftApiTest, ADamagedWeightIsRefusedUnlessWeightsAreNotChecked) {
  const Module module = Parse(R"(
    func @main(%x: f32[3]) -> (%y: f32[3]) {
      %0 = constant("scale" dense<[2.0, 3.0, 4.0]>) : f32[3]
      %y = mul(%x, %0)
      return %y
    })");
  const std::string path = Path("damaged.weftb");
  weft_file_options file = {sizeof file};
  file.strip_graph = 1;
  ASSERT_FINE(Weft().module_compile(module.get(), path.c_str(), &file));
  std::ifstream written(path, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(written), {});
  const float scale[] = {2, 3, 4};
  const size_t at = bytes.find(std::string(reinterpret_cast<const char*>(scale), sizeof scale));
  ASSERT_NE(at, std::string::npos);
  const float other = 5;
  bytes.replace(at, sizeof other, reinterpret_cast<const char*>(&other), sizeof other);
  std::ofstream(path, std::ios::binary) << bytes;
  weft_plan_options options = {sizeof options};
  weft_program* opened = nullptr;
  for (const char* check : {static_cast<const char*>(nullptr), "all"}) {
    options.check_weights = check;
    EXPECT_THAT(Take(Weft().program_open(path.c_str(), &options, &opened)).message,
                AllOf(HasSubstr("damaged.weftb: constant 0x"), HasSubstr("(scale)")));
  }
  // A program from before the member existed.
  options.check_weights = "none";
  options.struct_size = offsetof(weft_plan_options, check_weights);
  EXPECT_EQ(Take(Weft().program_open(path.c_str(), &options, &opened)).code, WEFT_INVALID_ARGUMENT);
  options.struct_size = sizeof options;
  ASSERT_FINE(Weft().program_open(path.c_str(), &options, &opened));
  const Program program(opened);
  const auto input = F32({3}, {1, 1, 1});
  EXPECT_THAT(Read(Run1(program, &input->tensor)), ElementsAre(5, 3, 4));
}

TEST(WeftApiTest, ExplainsVariants) {
  weft_program_options options = {sizeof options};
  options.dynamic = "static";
  const Program program = Create(Parse(kDouble), &options);
  Run1(program, &F32({1, 3}, {1, 2, 3})->tensor);
  Run1(program, &F32({2, 3}, {1, 2, 3, 4, 5, 6})->tensor);
  weft_text* text = nullptr;
  ASSERT_FINE(Weft().program_explain(program.get(), &text));
  EXPECT_THAT(Weft().text_data(Text(text).get()), HasSubstr("variant 1"));
}

// --- Logs and profiles -----------------------------------------------------------------

TEST(WeftApiTest, LogLinesGoToTheCallback) {
  std::string lines;
  Weft().set_log_callback(
      [](void* context, const char* text, size_t size) {
        static_cast<std::string*>(context)->append(text, size).append("\n");
      },
      &lines);
  ASSERT_FINE(Weft().set_logs("recompiles"));
  weft_program_options options = {sizeof options};
  options.dynamic = "static";
  const Program program = Create(Parse(kDouble), &options);
  Run1(program, &F32({1, 3}, {1, 2, 3})->tensor);
  Run1(program, &F32({2, 3}, {1, 2, 3, 4, 5, 6})->tensor);
  ASSERT_FINE(Weft().set_logs(nullptr));
  Weft().set_log_callback(nullptr, nullptr);
  EXPECT_THAT(lines, HasSubstr("[recompiles]"));
  EXPECT_THAT(Take(Weft().set_logs("recompile")).message, HasSubstr("recompiles"));
}

TEST(WeftApiTest, ProfilesARun) {
  const Program program = Create(Parse(kDouble));
  weft_profile* profile = nullptr;
  ASSERT_FINE(Weft().profile_start(&profile));
  weft_profile* second = nullptr;
  EXPECT_EQ(Take(Weft().profile_start(&second)).code, WEFT_FAILED_PRECONDITION);
  Run1(program, &F32({1, 3}, {1, 2, 3})->tensor);
  Weft().profile_step(profile);
  const std::string path = Path("trace.json");
  ASSERT_FINE(Weft().profile_stop(profile, path.c_str()));
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_THAT(text, AllOf(HasSubstr("program.run"), HasSubstr("ProfilerStep")));
  ASSERT_FINE(Weft().profile_start(&profile));
  EXPECT_THAT(Take(Weft().profile_stop(profile, Path("trace.pdf").c_str())).message,
              HasSubstr("trace.pdf"));
  ASSERT_FINE(Weft().profile_start(&profile));  // The one before was destroyed.
  ASSERT_FINE(Weft().profile_stop(profile, nullptr));
}

}  // namespace
}  // namespace weft_api_test
