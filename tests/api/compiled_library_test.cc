// Models as shared objects: machine code that gives what sessions give, and goes away with them.
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/backends.h"
#include "api/compiled_file.h"
#include "api/compiled_program.h"
#include "api/compiler.h"
#include "api/runtime/compiled_plan.h"
#include "api/session.h"
#include "backends/cpu/standalone/model_entry.h"
#include "examples/models/models.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "tests/api/compiled_models.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string Write(std::unique_ptr<Module> module, absl::string_view name) {
  const std::string path = Path(name);
  const absl::Status status = WriteCompiledLibrary(*Compiled(std::move(module)), Cpu(), path);
  EXPECT_TRUE(status.ok()) << status;
  return path;
}

CompiledProgram Open(const std::string& path, int threads = 1) {
  CompiledProgramOptions options;
  options.threads = threads;
  auto program = CompiledProgram::Open(path, options);
  EXPECT_TRUE(program.ok()) << program.status();
  return *std::move(program);
}

// How many mappings of this process are of a file with that name.
int MappingsOf(absl::string_view name) {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) {
    count += absl::EndsWith(line, absl::StrCat("/", name));
  }
  return count;
}

TEST(CompiledLibraryTest, ModelsGiveWhatSessionsGive) {
  for (const char* name : {"mlp", "mobilenet_v2", "bert", "gpt2", "softmax", "norm_chain"}) {
    models::ModelOptions options;
    options.small = true;
    auto model = models::BuildModel(name, options);
    ASSERT_TRUE(model.ok()) << model.status();
    const auto inputs = models::MakeInputs(*model, {});
    ASSERT_TRUE(inputs.ok()) << inputs.status();
    const std::string path = Write(model->module->Clone(), absl::StrCat(name, ".so"));
    for (const int threads : {1, 2}) {
      auto session = Session::Create(Compiled(model->module->Clone()), "cpu",
                                     {{"threads", absl::StrCat(threads)}});
      ASSERT_TRUE(session.ok()) << session.status();
      const auto want = session->Run(*inputs);
      ASSERT_TRUE(want.ok()) << want.status();
      const auto got = Open(path, threads).Run(*inputs);
      ASSERT_TRUE(got.ok()) << got.status();
      ASSERT_EQ(got->size(), want->size());
      for (size_t i = 0; i < got->size(); ++i) {
        EXPECT_TRUE((*got)[i].BitEqual((*want)[i])) << name << ", output " << i;
      }
    }
  }
}

TEST(CompiledLibraryTest, KernelsAreMachineCode) {
  const std::string path = Write(Parse(kModel), "code.so");
  const auto compiled = ReadCompiledPlan(path, "cpu");
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  ASSERT_EQ(compiled->kernels.size(), 1u);
  EXPECT_NE(compiled->kernels[0].fn, nullptr);
  EXPECT_EQ(compiled->kernels[0].points.ToString(), "s0*s1");
}

TEST(CompiledLibraryTest, SizesStaySymbolic) {
  const CompiledProgram program = Open(Write(Parse(kModel), "sizes.so"));
  auto session = Session::Create(Compiled(Parse(kModel)), "cpu", {{"threads", "1"}});
  ASSERT_TRUE(session.ok()) << session.status();
  for (const int64_t rows : {0, 1, 3, 17}) {
    for (const int64_t columns : {1, 8, 33}) {
      const HostTensor x = Ramp(rows, columns);
      const auto got = program.Run({x});
      ASSERT_TRUE(got.ok()) << got.status();
      EXPECT_TRUE((*got)[0].BitEqual((*session->Run({x}))[0])) << rows << " x " << columns;
    }
  }
}

TEST(CompiledLibraryTest, OpsWithoutRoutinesAndControlFlowRun) {
  const CompiledProgram program =
      Open(Write(Parse("func @main(%x: f32[s0, 4]) -> (i64[u0, 2]) where unbacked u0 {"
                       " %0 = nonzero(%x) : i64[u0, 2] return %0 }"),
                 "nonzero.so"));
  const auto got = program.Run({HostTensor::FromDoubles(DType::kF32, {1, 4}, {{0, 5, 0, 7}})});
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_THAT((*got)[0].ReadInts(), testing::ElementsAre(0, 1, 0, 3));
}

TEST(CompiledLibraryTest, TwoVersionsLiveInOneProcess) {
  std::string other(kModel);
  other.replace(other.find("tanh"), 4, "relu");
  const CompiledProgram first = Open(Write(Parse(kModel), "first.so"));
  const CompiledProgram second = Open(Write(Parse(other), "second.so"));
  const CompiledProgram again = Open(Path("first.so"));
  const HostTensor x = Ramp(2, 5);
  const auto a = first.Run({x}), b = second.Run({x}), c = again.Run({x});
  ASSERT_TRUE(a.ok() && b.ok() && c.ok());
  EXPECT_FALSE((*a)[0].BitEqual((*b)[0]));
  EXPECT_TRUE((*a)[0].BitEqual((*c)[0]));
}

TEST(CompiledLibraryTest, AThousandLoadsLeaveNothing) {
  const std::string path = Write(Parse(kModel), "loads.so");
  const HostTensor x = Ramp(2, 5);
  for (int i = 0; i < 1000; ++i) {
    const CompiledProgram program = Open(path);
    if (i % 100 == 0) {
      ASSERT_TRUE(program.Run({x}).ok());
      EXPECT_GT(MappingsOf("loads.so"), 0);
    }
  }
  EXPECT_EQ(MappingsOf("loads.so"), 0);
}

// An output does not need the library that made it.
TEST(CompiledLibraryTest, OutputsOutliveTheLibrary) {
  const std::string path = Write(Parse(R"(
func @main(%x: f32[2]) {
  %0 = constant("c" dense<[3.0, 4.0]>) : f32[2]
  %1 = add(%x, %0)
  return %0, %1
}
)"),
                                 "outlive.so");
  std::vector<HostTensor> outputs;
  {
    const auto got = Open(path).Run({HostTensor::FromDoubles(DType::kF32, {2}, {{1, 2}})});
    ASSERT_TRUE(got.ok()) << got.status();
    outputs = *got;
  }
  EXPECT_EQ(MappingsOf("outlive.so"), 0);
  EXPECT_THAT(outputs[0].ReadDoubles(), testing::ElementsAre(3, 4));
  EXPECT_THAT(outputs[1].ReadDoubles(), testing::ElementsAre(4, 6));
}

TEST(CompiledLibraryTest, ThreadsShareAProgram) {
  const CompiledProgram program = Open(Write(Parse(kModel), "threads.so"));
  std::vector<HostTensor> want;
  for (int64_t rows = 1; rows <= 4; ++rows) want.push_back((*program.Run({Ramp(rows, 9)}))[0]);
  std::vector<int> wrong(8);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const int64_t rows = 1 + (i + t) % 4;
        const auto got = program.Run({Ramp(rows, 9)});
        if (!got.ok() || !(*got)[0].BitEqual(want[rows - 1])) ++wrong[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(8));
}

TEST(CompiledLibraryTest, OtherFilesAreRefused) {
  const auto error = [](absl::string_view name) {
    return std::string(CompiledProgram::Open(Path(name)).status().message());
  };
  EXPECT_EQ(error("none.so"), absl::StrCat(Path("none.so"), ": no such file"));
  std::ofstream(Path("text.so")) << "text";
  EXPECT_THAT(error("text.so"), StartsWith(absl::StrCat(Path("text.so"), ": cannot be loaded: ")));
  const auto make = [](absl::string_view name, absl::string_view source) {
    std::ofstream(Path("source.cc")) << source;
    ASSERT_EQ(std::system(
                  absl::StrCat("c++ -shared -fPIC -o '", Path(name), "' '", Path("source.cc"), "'")
                      .c_str()),
              0);
  };
  make("other.so", "int x;");
  EXPECT_THAT(error("other.so"), HasSubstr("other.so: not a model that compile wrote"));
  make("later.so", absl::StrCat(cpu::kModelEntryText,
                                "extern \"C\" const ModelEntry* weft_model_entry() {"
                                " static const ModelEntry e = {900}; return &e; }"));
  EXPECT_THAT(error("later.so"), HasSubstr("later.so: made for version 900 of models"));
  make("empty.so", absl::StrCat(cpu::kModelEntryText,
                                "extern \"C\" const ModelEntry* weft_model_entry() {"
                                " static const ModelEntry e = {",
                                cpu::kModelEntryVersion, "}; return &e; }"));
  EXPECT_THAT(error("empty.so"), HasSubstr("empty.so"));
  // The file in it is checked like any other.
  std::ifstream whole(Write(Parse(kModel), "whole.so"), std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(whole)), std::istreambuf_iterator<char>());
  const size_t plan = bytes.find("plan @main");
  ASSERT_NE(plan, std::string::npos);
  bytes[plan] = 'q';
  std::ofstream(Path("changed.so"), std::ios::binary) << bytes;
  EXPECT_THAT(error("changed.so"), HasSubstr("does not have the hash that the file gives"));
}

TEST(CompiledLibraryTest, OnlyTheCpuHasCode) {
  const absl::Status status = WriteCompiledLibrary(
      *Parse(kModel), **BuiltinBackends().Find("reference"), Path("reference.so"));
  EXPECT_EQ(status.message(),
            absl::StrCat(Path("reference.so"), ": code of kernels is for cpu, not for reference"));
}

}  // namespace
}  // namespace weft
