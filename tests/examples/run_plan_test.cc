// A model goes through a file from compile to run_plan, which has no graphs, ops, passes and
// importers: neither in its symbols nor in the libraries that it needs.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "api/backends.h"
#include "api/compiler.h"
#include "api/model_io.h"
#include "api/session.h"
#include "examples/models/models.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

// Bytes of the stripped program, without the libraries that it needs: Abseil, oneDNN, SLEEF and the
// compiler's.
constexpr int64_t kMaxBytes = 4750000;

std::string ProgramPath(const std::string& name) {
  return (std::filesystem::path(std::getenv("TEST_SRCDIR")) / std::getenv("TEST_WORKSPACE") / name)
      .string();
}

std::string RunPlanPath() { return ProgramPath("examples/standalone/run_plan"); }

std::string NewFolder() {
  std::string folder = testing::TempDir() + "/run_plan_XXXXXX";
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  return folder;
}

// Runs a command; its standard output.
std::string OutputOf(const std::string& command) {
  const std::string path = NewFolder() + "/output";
  EXPECT_EQ(std::system(absl::StrCat(command, " > '", path, "'").c_str()), 0) << command;
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(RunPlan, RunsAModelFromFiles) {
  models::ModelOptions options;
  options.small = true;
  auto model = models::BuildModel("mobilenet_v2", options);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto inputs = models::MakeInputs(*model, {{"batch", 2}});
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  const std::string folder = NewFolder();
  ASSERT_TRUE(SaveModel(*model->module, folder + "/model.onnx").ok());
  std::string arguments;
  for (size_t i = 0; i < inputs->size(); ++i) {
    const std::string path = absl::StrCat(folder, "/in", i, ".npy");
    ASSERT_TRUE(SaveTensor(path, (*inputs)[i]).ok());
    absl::StrAppend(&arguments, " '", path, "'");
  }
  for (const char* kind : {"weftb", "so"}) {
    const std::string said =
        OutputOf(absl::StrCat("'", ProgramPath("tools/compile"), "' --check --strip=names,graph '",
                              folder, "/model.onnx' -o '", folder, "/model.", kind, "'"));
    const char* product = absl::string_view(kind) == "so" ? "machine code" : "plan";
    EXPECT_TRUE(absl::StrContains(said, absl::StrCat("runs of source and ", product, " agree")))
        << said;
    OutputOf(absl::StrCat("'", RunPlanPath(), "' '", folder, "/model.", kind, "' '", folder, "/",
                          kind, "'", arguments));
  }

  auto module = LoadModel(folder + "/model.onnx");
  ASSERT_TRUE(module.ok()) << module.status();
  CompileOptions compile;
  compile.passes = "";
  SetTarget(**BuiltinBackends().Find("cpu"), &compile);
  ASSERT_TRUE(Compile(**module, compile).ok());
  auto session = Session::Create(*std::move(module), "cpu", {{"threads", "1"}});
  ASSERT_TRUE(session.ok()) << session.status();
  const auto want = session->Run(*inputs);
  ASSERT_TRUE(want.ok()) << want.status();
  ASSERT_FALSE(want->empty());
  for (size_t i = 0; i < want->size(); ++i) {
    for (const char* kind : {"weftb", "so"}) {
      const auto got = LoadTensor(absl::StrCat(folder, "/", kind, i, ".npy"));
      ASSERT_TRUE(got.ok()) << got.status();
      EXPECT_TRUE(got->BitEqual((*want)[i])) << "output " << i << " of the " << kind;
    }
  }
}

TEST(RunPlan, HasNoGraphsOpsPassesAndImporters) {
  const std::string symbols = OutputOf(absl::StrCat("nm -C '", RunPlanPath(), "'"));
  EXPECT_TRUE(absl::StrContains(symbols, " weft::PlanRunner::")) << "nm shows no symbols";
  for (const char* absent :
       {" weft::ops::", " weft::Graph::", " weft::Module::", " weft::Node::", " weft::Builder::",
        " weft::OpDef::", " weft::OpRegistry::", " weft::Rewriter::", " weft::PassManager::",
        " weft::GraphLowering::", " weft::ParseModule(",
        " weft::cpu::GeneratedKernels::", "google::protobuf", "onnx::"}) {
    for (absl::string_view line : absl::StrSplit(symbols, '\n')) {
      if (absl::StrContains(line, absent)) ADD_FAILURE() << line;
    }
  }
  const std::string libraries = OutputOf(absl::StrCat("objdump -p '", RunPlanPath(), "'"));
  EXPECT_TRUE(absl::StrContains(libraries, "NEEDED"));
  EXPECT_FALSE(absl::StrContains(libraries, "libproto"));
  EXPECT_FALSE(absl::StrContains(libraries, "libonnx"));
}

TEST(RunPlan, IsSmall) {
  const std::string stripped = NewFolder() + "/run_plan";
  OutputOf(absl::StrCat("strip -o '", stripped, "' '", RunPlanPath(), "'"));
  const auto bytes = static_cast<int64_t>(std::filesystem::file_size(stripped));
  std::cout << "run_plan has " << bytes << " bytes, stripped\n";
  RecordProperty("stripped_bytes", absl::StrCat(bytes));
  EXPECT_LE(bytes, kMaxBytes);
}

}  // namespace
}  // namespace weft
