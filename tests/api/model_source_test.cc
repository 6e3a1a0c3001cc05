// Models as C++ source: the system's compiler builds them with the runtime, and a program in C runs
// them with the bits of a session.

#include <sys/wait.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/backends.h"
#include "api/compiled_file.h"
#include "api/compiler.h"
#include "api/session.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "tests/api/compiled_models.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Products that are added, a matmul with weights, a view, a name that is a word of C++, a state, a
// size that is an expression.
constexpr char kNet[] = R"(
func @main(%x: f32[rows, 24], %class: i32[2*rows],
           %calls: i64[] {param="calls", initial=dense<0>})
    -> (%y: f32[rows, 5], %t: f32[24, rows], %n: i32[], %same: i32[2*rows], %next: i64[] {writes=%calls}) {
  %0 = constant("weight" dense<0.1875>) : f32[24, 5]
  %1 = sigmoid(%x)
  %2 = mul(%1, %1)
  %3 = add(%2, %1)
  %4 = matmul(%3, %0)
  %y = tanh(%4)
  %t = permute(%3, dims=[1, 0])
  %n = amax(%class, dim=[0])
  %one = constant(dense<1>) : i64[]
  %next = add(%calls, %one)
  return %y, %t, %n, %class, %next
}
)";

// Runs the model twice, and writes what it gives.
constexpr char kProgram[] = R"(
#include <stdio.h>
#include <stdlib.h>
#define HEADER "net.h"
#include HEADER
long long Steps(const char* file);
static int Fail(void) { fprintf(stderr, "%s\n", net_error()); return 1; }
int main(int argc, char** argv) {
  const char* file = argv[1][0] != 0 ? argv[1] : NULL;
  const long rows = argc > 2 ? atol(argv[2]) : 1;
  net* model = net_create(file, NULL);
  float* x = malloc(sizeof(float) * 24 * (rows + 1));
  int32_t* classes = malloc(sizeof(int32_t) * 2 * (rows + 1));
  int64_t calls = 0;
  if (model == NULL) return Fail();
  for (long i = 0; i < 24 * rows; ++i) x[i] = (float)(i % 37) * 0.375f - 5;
  for (long i = 0; i < 2 * rows; ++i) classes[i] = (int32_t)(i % 7);
  net_sizes sizes = {rows};
  net_inputs inputs = {x, classes, &calls};
  net_outputs outputs;
  for (int run = 0; run < 2; ++run) {
    if (net_run(model, &sizes, &inputs, &outputs) != 0) return Fail();
  }
  // The model's outputs are not on this memory.
  int32_t first = classes[0];
  classes[0] = 77;
  if (rows > 0 && outputs.same[0] != first) return 5;
  if (outputs.y_dims[0] != rows || outputs.t_dims[1] != rows) return 3;
  fwrite(outputs.y, sizeof(float), 5 * rows, stdout);
  fwrite(outputs.t, sizeof(float), 24 * rows, stdout);
  fwrite(outputs.n, sizeof(int32_t), 1, stdout);
  fwrite(outputs.same, sizeof(int32_t), 2 * rows, stdout);
  fwrite(&calls, sizeof calls, 1, stdout);
  net_destroy(model);
  free(x);
  free(classes);
  return file != NULL && Steps(file) == 0 ? 4 : 0;
}
)";

// Kernels of the source that a run of the file takes.
constexpr char kSteps[] = R"(
#include "weft/api/runtime/runtime.h"
extern "C" const void* net_entry(void);
extern "C" long long Steps(const char* file) {
  weft::RuntimeProgramOptions options;
  options.code = net_entry();
  const auto program = weft::RuntimeProgram::Open(file, options);
  if (!program.ok()) return 0;
  const weft::HostTensor x(weft::DType::kF32, {2, 24}), c(weft::DType::kI32, {4});
  if (!program->Run({x, c, weft::HostTensor(weft::DType::kI64, {})}).ok()) return 0;
  return program->machine_code_steps();
}
)";

constexpr char kAvx2[] = "-O2 -march=x86-64-v3";

std::string Folder(absl::string_view name) {
  return (fs::path(testing::TempDir()) / std::string(name)).lexically_normal();
}

struct Ran {
  int status = 0;
  std::string output, errors;
};

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Ran Shell(const std::string& command) {
  const std::string out = Folder("out"), err = Folder("err");
  const int status =
      std::system(absl::StrCat("{ ", command, "\n} > '", out, "' 2> '", err, "'").c_str());
  return {WEXITSTATUS(status), Read(out), Read(err)};
}

// Headers as they are installed, and the runtime.
std::string Flags() {
  const fs::path root = fs::current_path();
  std::error_code error;
  fs::create_directories(Folder("include"), error);
  fs::create_directory_symlink(root, Folder("include/weft"), error);
  return absl::StrCat("-I'", root.string(), "' -I'", Folder("include"), "'");
}

std::string Runtime() {
  for (const auto& entry : fs::directory_iterator("api/runtime")) {
    if (entry.path().filename().string().rfind("libweft_runtime.so", 0) == 0) {
      const std::string library = fs::absolute(entry.path());
      return absl::StrCat("'", library, "' -Wl,-rpath,'", fs::path(library).parent_path().string(),
                          "' -labsl_status -labsl_statusor -labsl_strings -l:libsleef.so.3");
    }
  }
  ADD_FAILURE() << "no runtime";
  return "";
}

// Writes the model's source as net/, and builds the program with the compiler's flags, once.
std::string Build(const std::string& flags, const std::string& program) {
  static auto& built = *new std::map<std::string, std::string>;
  if (built.count(program) > 0) return built[program];
  CompiledFileOptions options;
  options.instruction_sets = Sets();
  const auto stem = WriteCompiledSource(*Compiled(Parse(kNet)), Cpu(), Folder("net"), options);
  EXPECT_TRUE(stem.ok()) << stem.status();
  EXPECT_EQ(*stem, Folder("net/net"));
  std::ofstream(Folder("net/main.c")) << kProgram;
  std::ofstream(Folder("net/steps.cc")) << kSteps;
  const std::string binary = Folder(program);
  const Ran ran = Shell(absl::StrCat(
      "cd '", Folder("net"), "' && c++ -std=c++17 -Wall -Wextra -Werror ", flags, " ", Flags(),
      " -c net.cc && c++ -std=c++17 ", Flags(),
      " -c steps.cc && cc -std=c99 -pedantic -Wall -Wextra -Werror -c main.c && c++ -o '", binary,
      "' net.o steps.o main.o ", Runtime()));
  EXPECT_EQ(ran.status, 0) << ran.errors;
  EXPECT_EQ(ran.errors, "");
  return built[program] = binary;
}

// What a session with the instruction set gives, as the program writes it.
std::string Wanted(const std::string& set, int64_t rows) {
  auto session = Session::Create(Compiled(Parse(kNet)), "cpu", {{"threads", "1"}, {"cpu", set}});
  EXPECT_TRUE(session.ok()) << session.status();
  std::vector<double> x;
  std::vector<int64_t> classes;
  for (int64_t i = 0; i < 24 * rows; ++i) x.push_back(static_cast<double>(i % 37) * 0.375 - 5);
  for (int64_t i = 0; i < 2 * rows; ++i) classes.push_back(i % 7);
  std::vector<HostTensor> written;
  const auto outputs =
      session->RunStateless({HostTensor::FromDoubles(DType::kF32, {rows, 24}, x),
                             HostTensor::FromInts(DType::kI32, {2 * rows}, classes),
                             HostTensor::ScalarInt(DType::kI64, 0)},
                            &written);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  std::string bytes;
  for (const HostTensor& output : *outputs) {
    const HostTensor dense = output.Contiguous();
    bytes.append(reinterpret_cast<const char*>(dense.raw()), dense.bytes());
  }
  const int64_t calls = 2;
  bytes.append(reinterpret_cast<const char*>(&calls), sizeof calls);
  return bytes;
}

TEST(ModelSource, AProgramInCGivesWhatASessionGives) {
  for (const std::string& set : Sets()) {
    const std::string program = Build(set == "avx2" ? kAvx2 : "-O3 -march=x86-64-v4", set);
    for (const int64_t rows : {3, 200}) {
      SCOPED_TRACE(absl::StrCat(set, ", ", rows));
      const Ran ran = Shell(absl::StrCat(program, " '", Folder("net/net.weftb"), "' ", rows));
      EXPECT_EQ(ran.status, 0) << ran.errors;
      EXPECT_TRUE(ran.output == Wanted(set, rows));
    }
  }
}

TEST(ModelSource, TheFileMayBeInTheProgram) {
  const std::string program = Build("-O1 -march=x86-64-v3 -DNET_FILE='\"net.weftb\"'", "embedded");
  const Ran ran = Shell(absl::StrCat("cd / && ", program, " '' 5"));
  EXPECT_EQ(ran.status, 0) << ran.errors;
  EXPECT_TRUE(ran.output == Wanted("avx2", 5));
}

TEST(ModelSource, MistakesAreNamed) {
  const std::string program = Build(kAvx2, "avx2");
  const auto error = [&](const std::string& arguments) {
    const Ran ran = Shell(absl::StrCat(program, " ", arguments));
    EXPECT_EQ(ran.status, 1);
    return ran.errors;
  };
  EXPECT_THAT(error("none.weftb"), HasSubstr("none.weftb"));
  EXPECT_THAT(error("''"), HasSubstr("this program: there is code without the .weftb file"));
  EXPECT_THAT(error(absl::StrCat(Folder("net/net.weftb"), " -3")),
              HasSubstr("input x, f32[rows, 24]"));
  // The file of another model, of the same and of another signature.
  std::string other(kNet);
  other.replace(other.find("tanh"), 4, "relu");
  CompiledFileOptions options;
  options.instruction_sets = Sets();
  ASSERT_TRUE(
      WriteCompiledFile(*Compiled(Parse(other)), Cpu(), Folder("other.weftb"), options).ok());
  EXPECT_THAT(error(Folder("other.weftb")),
              HasSubstr("other.weftb: its machine code is not of the plan for avx2"));
  ASSERT_TRUE(WriteCompiledFile(*Compiled(Parse("func @main(%x: f32[2]) -> f32[2] { return %x }")),
                                Cpu(), Folder("small.weftb"), options)
                  .ok());
  EXPECT_NE(error(Folder("small.weftb")), "");
  // Flags for no instruction set of the source.
  const Ran ran = Shell(absl::StrCat("c++ -std=c++17 ", Flags(), " -c -o '", Folder("x.o"), "' '",
                                     Folder("net/net.cc"), "'"));
  EXPECT_NE(ran.status, 0);
  EXPECT_THAT(ran.errors, HasSubstr("net.cc: compile it with -march="));
}

}  // namespace
}  // namespace weft
