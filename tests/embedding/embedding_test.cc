// Runs the commands of docs/embedding.md, docs/c-api.md and docs/running.md: every line of their
// ```sh blocks, in order, in one scratch folder that has examples/; `./bazelw run //tools:NAME --`
// runs the tool that this build made. The tests then check the results.
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

fs::path Root() { return fs::path(std::getenv("TEST_SRCDIR")) / std::getenv("TEST_WORKSPACE"); }

fs::path Scratch() { return fs::path(testing::TempDir()) / "embedding"; }

std::string Read(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Ran {
  std::string command;
  int status = 0;
  std::string output;  // And standard error.
};

Ran Shell(const std::string& command) {
  Ran ran = {command};
  const std::string log = (Scratch() / "log").string();
  const int status = std::system(
      absl::StrCat("cd '", Scratch().string(), "' && { ", command, "\n} > '", log, "' 2>&1")
          .c_str());
  ran.status = WEXITSTATUS(status);
  ran.output = Read(log);
  return ran;
}

std::string ToShell(absl::string_view line) {
  if (absl::ConsumePrefix(&line, "./bazelw run //tools:install --")) {
    return absl::StrCat("'", (Root() / "tools/install/install").string(), "'", line);
  }
  for (const char* tool : {"opt", "run"}) {
    if (!absl::ConsumePrefix(&line, absl::StrCat("./bazelw run //tools:", tool, " --"))) continue;
    return absl::StrCat("'", (Root() / "tools" / tool).string(), "'", line);
  }
  return std::string(line);
}

class EmbeddingTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    fs::remove_all(Scratch());
    fs::create_directories(Scratch());
    fs::create_directory_symlink(Root() / "examples", Scratch() / "examples");
    unsetenv("BUILD_WORKING_DIRECTORY");
    setenv("HOME", Scratch().c_str(), 1);
    for (const char* name : {"docs/embedding.md", "docs/running.md", "docs/c-api.md"})
      RunDocument(Root() / name);
  }

  static void RunDocument(const fs::path& path) {
    std::ifstream document(path);
    bool inside = false;
    for (std::string line; std::getline(document, line);) {
      if (absl::StartsWith(line, "```")) {
        inside = !inside && line == "```sh";
      } else if (inside && !line.empty()) {
        documented_.push_back(Shell(ToShell(line)));
      }
    }
  }

  // The one that has `part` in it.
  static Ran Documented(absl::string_view part) {
    for (const Ran& ran : documented_) {
      if (absl::StrContains(ran.command, part)) return ran;
    }
    return {absl::StrCat("no document shows a command with ", part), -1};
  }

  static Ran Opt(const std::string& flags) { return Shell("weft/bin/weft-opt " + flags); }

  // A shared library of C source, without Weft.
  static void MakeLibrary(const std::string& name, const std::string& source) {
    std::ofstream(Scratch() / (name + ".c")) << source;
    const Ran ran = Shell(absl::StrCat("gcc -shared -fPIC -o ", name, ".so ", name, ".c"));
    ASSERT_EQ(ran.status, 0) << ran.output;
  }

  static std::vector<Ran> documented_;
};

std::vector<Ran> EmbeddingTest::documented_;

TEST_F(EmbeddingTest, WhatIsDocumentedWorks) {
  EXPECT_GE(documented_.size(), 9u);
  for (const Ran& ran : documented_) {
    EXPECT_EQ(ran.status, 0) << ran.command << "\n" << ran.output.substr(0, 4000);
  }
}

TEST_F(EmbeddingTest, AProgramUsesItsOpPassAndRules) {
  const Ran cmake = Documented("embed/embed examples/");
  EXPECT_EQ(cmake.output, R"(func @main(%points: f32[rows, 2], %center: f32[2]) -> f32[rows] {
  %0 = sub(%points, %center) : f32[rows, 2]
  %1 = abs(%0) : f32[rows, 2]
  %2 = mul(%1, %1) : f32[rows, 2]
  %3 = sum(%2, dim=[1]) : f32[rows]
  return %3
}

func @main(%points: f32[rows, 2], %center: f32[2]) -> f32[rows] {
  %0 = sub(%points, %center) : f32[rows, 2]
  %1 = square(%0) : f32[rows, 2]
  %2 = sum(%1, dim=[1]) : f32[rows]
  return %2
}

2 changed regions, 142 runs before and after agree, 0 remembered
distances: 0 25 2
)");
  EXPECT_EQ(Documented("/by-hand examples/embed/squares.rules").output, cmake.output);
}

TEST_F(EmbeddingTest, AFileOfAProgramRunsInTheRuntime) {
  EXPECT_THAT(Documented("running/running model.weftb").output,
              AllOf(HasSubstr("f32[2, 2]: 1.5\ncalls: 5\nwith other weights: 6, then 6\n"),
                    HasSubstr("\"y\"")));
  const Ran opened = Documented("open_file/open_file model.weftb");
  EXPECT_EQ(opened.output, "f32[2, 2]\nwrote calls\n");
  EXPECT_EQ(Documented("open_file/by-hand model.weftb").output, opened.output);
  const Ran libraries = Shell("readelf --dynamic open_file/open_file weft/lib/libweft_runtime.so");
  EXPECT_THAT(libraries.output,
              AllOf(HasSubstr("[libweft_runtime.so."), Not(HasSubstr("[libweft.so")),
                    Not(HasSubstr("libproto")), Not(HasSubstr("libonnx"))));
  const Ran missing = Shell("open_file/open_file none.weftb");
  EXPECT_EQ(missing.status, 1);
  EXPECT_THAT(missing.output, HasSubstr("none.weftb"));
}

TEST_F(EmbeddingTest, AModelAsSourceRunsInTheRuntime) {
  EXPECT_EQ(Documented("run_net/run_net ").output,
            "y: [1, 2]: 1.5 1.5\ny: [2, 2]: 1.5 1.5\ncalls: 2\n");
  const Ran libraries = Shell("readelf --dynamic run_net/run_net");
  EXPECT_THAT(libraries.output,
              AllOf(HasSubstr("[libweft_runtime.so."), Not(HasSubstr("[libweft.so"))));
}

TEST_F(EmbeddingTest, AWrongRuleOfAProgramIsRefused) {
  std::ofstream(Scratch() / "wrong.rules")
      << "rule wrong bit-exact { x: float square(x) => abs(x) }";
  const Ran ran = Shell("embed/embed wrong.rules");
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.output,
              AllOf(HasSubstr("embed: wrong.rules:1: rule wrong is wrong: the results differ"),
                    HasSubstr("%0 = square(%x)")));
}

TEST_F(EmbeddingTest, AHiddenNameDoesNotLink) {
  auto link = [&](absl::string_view header, absl::string_view code) {
    std::ofstream(Scratch() / "hidden.cc") << header << "int main() { " << code << " }\n";
    return Shell(
        "g++ -std=c++17 -o hidden hidden.cc -Iweft/include -Lweft/lib -lweft -labsl_status "
        "-labsl_strings");
  };
  // passes/cse.h is not public: declared here as it is there.
  const Ran hidden = link(
      "#include <memory>\n#include \"weft/passes/engine/pass.h\"\n"
      "namespace weft { std::unique_ptr<Pass> CreateCsePass(); }\n",
      "return weft::CreateCsePass() == nullptr;");
  EXPECT_NE(hidden.status, 0);
  EXPECT_THAT(hidden.output, HasSubstr("undefined reference to `weft::CreateCsePass()'"));
  const Ran shown = link("#include \"weft/passes/pipelines.h\"\n",
                         "return weft::BuiltinPasses().Create(\"cse\") == nullptr;");
  EXPECT_EQ(shown.status, 0) << shown.output;
}

TEST_F(EmbeddingTest, FindPackageWantsTheVersion) {
  fs::create_directories(Scratch() / "later");
  std::ofstream(Scratch() / "later/CMakeLists.txt")
      << "cmake_minimum_required(VERSION 3.16)\nproject(later LANGUAGES CXX)\n"
         "find_package(weft 7.3 REQUIRED)\n";
  const Ran ran = Shell("cmake -S later -B later/build -DCMAKE_PREFIX_PATH=$HOME/weft");
  EXPECT_NE(ran.status, 0);
  EXPECT_THAT(ran.output, HasSubstr("version: 0.1"));
}

TEST_F(EmbeddingTest, APluginAddsToOpt) {
  const Ran text = Documented("--passes=find_twice,default");
  EXPECT_THAT(text.output, HasSubstr("func @main("));
  const std::string load = "--load=twice/libtwice.so ";
  EXPECT_THAT(Documented("--list-passes").output, HasSubstr("find_twice\n      x + x becomes"));
  EXPECT_THAT(Opt("--list-passes").output, Not(HasSubstr("find_twice")));
  EXPECT_THAT(
      Opt(load + "--help").output,
      AllOf(HasSubstr("Usage: opt"), EndsWith("find_twice\n      x + x becomes twice(x).\n")));
  EXPECT_THAT(Opt("--help").output, Not(HasSubstr("find_twice")));
  EXPECT_THAT(Opt(load + "--list-ops").output, HasSubstr("twice(Tensor self) -> Tensor"));
  EXPECT_THAT(Opt(load + "--list-rules").output,
              AllOf(HasSubstr("twice-of-neg  [bit-exact, field-tested on "),
                    HasSubstr("x - x = 0 for integers")));
}

TEST_F(EmbeddingTest, APluginsOpPassesThroughFiles) {
  std::ofstream(Scratch() / "in.weft") << R"(
func @main(%x: f32[s0, 3]) -> f32[s0, 3] {
  %0 = neg(%x)
  %1 = add(%0, %0)
  return %1
}
)";
  const std::string load = "--load=twice/libtwice.so ";
  const Ran made =
      Opt(load + "--passes=find_twice --verify=semantics --emit=text -o out.weft in.weft");
  EXPECT_EQ(made.status, 0) << made.output;
  const Ran again = Opt(load + "--verify=semantics --emit=text out.weft");
  EXPECT_THAT(again.output, HasSubstr("%0 = twice(%x) : f32[s0, 3]\n  %1 = neg(%0)"));
  const Ran unknown = Opt("--emit=text out.weft");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.output, HasSubstr("out.weft:3:8: unknown op \"twice\""));
  const Ran onnx = Opt(load + "--emit=onnx -o out.onnx out.weft");
  EXPECT_EQ(onnx.status, 2);
  EXPECT_THAT(onnx.output, HasSubstr("twice"));
}

TEST_F(EmbeddingTest, APluginsOpRunsInAKernel) {
  std::ofstream(Scratch() / "squash.weft")
      << "func @main(%x: f32[n]) -> f32[n] {\n  %0 = neg(%x)\n  %1 = squash(%0, limit=2.0)\n"
         "  %2 = relu(%1)\n  return %2\n}\n";
  const std::string load = "--load=twice/libtwice.so ";
  EXPECT_EQ(Opt(load + "--emit=onnx -o squash.onnx squash.weft").status, 0);
  EXPECT_THAT(Opt(load + "--emit=text squash.onnx").output, HasSubstr("squash(%0, limit=2.0)"));
  const Ran plan = Opt(load + "--target=cpu --emit=plan squash.onnx");
  const size_t launch = plan.output.find("  launch ");
  EXPECT_EQ(plan.output.find("  launch ", launch + 1), std::string::npos) << plan.output;
  EXPECT_THAT(plan.output, AllOf(HasSubstr("  launch "), Not(HasSubstr("squash("))));
}

TEST_F(EmbeddingTest, OtherToolsLoadPlugins) {
  std::ofstream(Scratch() / "twice.weft")
      << "func @main(%x: f32[2]) -> f32[2] {\n  %0 = twice(%x)\n  %1 = sin(%0)\n  return %1\n}\n";
  const std::string load = " --load=twice/libtwice.so ";
  const Ran run = Shell("weft/bin/weft-run" + load + "--passes=find_twice twice.weft");
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("output_0: f32[2]"));
  const Ran diff = Shell("weft/bin/weft-diff" + load + "twice.weft twice.weft");
  EXPECT_EQ(diff.status, 0) << diff.output;
  const Ran reduce =
      Shell("weft/bin/weft-reduce" + load + "--predicate=command='grep -q twice {}' twice.weft");
  EXPECT_EQ(reduce.status, 0) << reduce.output;
  EXPECT_THAT(reduce.output, HasSubstr("2 nodes before, 1 after"));
  for (const char* tool : {"run", "diff", "reduce"}) {
    const Ran bad =
        Shell(absl::StrCat("weft/bin/weft-", tool, " --load=no.so twice.weft twice.weft"));
    EXPECT_EQ(bad.status, 2);
  }
}

TEST_F(EmbeddingTest, AProgramInCRunsModels) {
  EXPECT_THAT(Documented("run_model/run_model examples/resnet.onnx").output,
              HasSubstr("logits: [2, "));
  EXPECT_THAT(Documented("by-hand examples/transformer.onnx 3").output, HasSubstr(": [3, 3, "));
  EXPECT_THAT(Documented("run_model/own_op").output, HasSubstr("above the limit: 2 and 1"));
  EXPECT_EQ(Documented("run_model/on_device emulated").output, "device 2: 32\nruns: 3\n");
  const Ran bad = Shell("run_model/run_model examples/algebra.rules");
  EXPECT_EQ(bad.status, 1);
  EXPECT_THAT(bad.output, HasSubstr("run_model: module_load: "));
  // It is linked with the C library alone: a program that was built before needs no other version
  // of Weft.
  const Ran needed = Shell("readelf --dynamic run_model/run_model | grep NEEDED");
  EXPECT_THAT(needed.output, AllOf(HasSubstr("[libweft_c.so.1]"), Not(HasSubstr("libstdc++")),
                                   Not(HasSubstr("[libweft.so"))));
}

TEST_F(EmbeddingTest, AProgramInCOpensFilesWithTheRuntimeAlone) {
  const Ran opened = Documented("run_model/open_file model.weftb calls");
  EXPECT_EQ(opened.output, "f32[batch, 2]\nf32[batch, 2]\ncalls: 2\n");
  EXPECT_EQ(Documented("by-hand-open model.weftb").output, "f32[batch, 2]\nf32[batch, 2]\n");
  const Ran bad = Shell("run_model/open_file examples/algebra.rules");
  EXPECT_EQ(bad.status, 1);
  EXPECT_THAT(bad.output, HasSubstr("open_file: program_open: examples/algebra.rules"));
  const Ran needed = Shell("readelf --dynamic run_model/open_file | grep NEEDED");
  EXPECT_THAT(needed.output, AllOf(HasSubstr("[libweft_c_runtime.so.1]"),
                                   Not(HasSubstr("libstdc++")), Not(HasSubstr("[libweft.so"))));
  // The library needs none of Weft's others.
  const Ran library = Shell("readelf --dynamic weft/lib/libweft_c_runtime.so | grep NEEDED");
  EXPECT_THAT(library.output, AllOf(HasSubstr("libstdc++"), Not(HasSubstr("[libweft")),
                                    Not(HasSubstr("libproto")), Not(HasSubstr("libonnx"))));
}

TEST_F(EmbeddingTest, ADeviceRunsModels) {
  EXPECT_THAT(Documented("--target=sim").output, HasSubstr("logits"));
  const Ran target = Opt("--load=sim/libsim.so --target=sim --emit=target examples/resnet.onnx");
  EXPECT_THAT(target.output, HasSubstr("target sim {"));
}

TEST_F(EmbeddingTest, BadPluginsAreNamed) {
  auto fails = [](const std::string& library, const std::string& message) {
    const Ran ran = Opt("--load=" + library + " --list-passes");
    EXPECT_EQ(ran.status, 2) << library;
    EXPECT_THAT(ran.output, AllOf(HasSubstr("opt: error: " + library), HasSubstr(message)));
  };
  fails("missing.so", ": no such file");
  fails("examples/algebra.rules", ": cannot be loaded: ");
  MakeLibrary("empty", "int nothing;\n");
  fails("empty.so", ": not a plugin of Weft: it has no section weft_plugin");
  // The message of a refusal names the version that this program requires.
  const std::string section = "__attribute__((section(\"weft_plugin\"), used)) const char tag[] = ";
  MakeLibrary("version", section + "\"weft 0.0, C++ ABI 1\";\n");
  fails("version.so", ": made for weft 0.0, C++ ABI 1; this program is weft 0.1, C++ ABI 1");
  const std::string refusal = Opt("--load=version.so --list-passes").output;
  const std::string program_is = "this program is ";
  const size_t begin = refusal.find(program_is) + program_is.size();
  const std::string tag = absl::StrCat(
      section, "\"", refusal.substr(begin, refusal.find('\n', begin) - begin), "\";\n");
  MakeLibrary("tagged", tag);
  fails("tagged.so", ": not a plugin of Weft: it has no symbol weft_plugin_info");
  MakeLibrary("unlinked",
              tag + "int missing_name(void);\nint f(void) { return missing_name(); }\n");
  fails("unlinked.so", "undefined symbol: missing_name");

  const std::string info = tag + R"(
struct Info { unsigned interface; const char* build; const char* name; void* add; };
int weft;
static const struct Info info = {)";
  const std::string entry =
      ", \"x\", &weft};\nconst struct Info* weft_plugin_info(void) { return &info; }\n";
  MakeLibrary("interface", info + "7, \"\"" + entry);
  fails("interface.so", ": made for plugin interface 7; this program has interface 1");
  MakeLibrary("build", info + "1, \"weft 0.0, C++ ABI 1\"" + entry);
  fails("build.so", ": made for weft 0.0, C++ ABI 1; this program is weft 0.1, C++ ABI 1");

  MakeLibrary("fields",
              info + "1, 0, 0, 0};\n" + "const void* weft_plugin_info(void) { return &info; }\n");
  fails("fields.so", ": not a plugin of Weft: its weft_plugin_info lacks fields");

  // Twice the same.
  const std::string twice = "twice/libtwice.so";
  const Ran taken = Opt(absl::StrCat("--load=", twice, " --load ", twice, " --list-passes"));
  EXPECT_EQ(taken.status, 2);
  EXPECT_EQ(taken.output, "opt: error: " + twice + ": there is an op called twice already\n");
}

TEST_F(EmbeddingTest, ReplayFilesNameThePlugins) {
  std::ofstream(Scratch() / "replay.in.weft") << "// weft replay\n// passes: find_twice\n"
                                                 "// plugin: twice/libtwice.so\n"
                                                 "func @main(%x: f32[2]) -> f32[2] {\n"
                                                 "  %0 = add(%x, %x)\n  return %0\n}\n";
  const Ran refused = Opt("--replay=replay.in.weft --emit=text");
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.output, HasSubstr("pass --load=twice/libtwice.so to allow that"));
  const Ran ran = Opt("--replay=replay.in.weft --load=twice/libtwice.so --emit=text");
  EXPECT_EQ(ran.status, 0) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("twice(%x)"));
}

}  // namespace
}  // namespace weft
