// Replay files of passes that fail and of passes that crash.
#include "api/replay.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "api/compiler.h"
#include "api/model_io.h"
#include "base/check.h"
#include "gmock/gmock.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

// Goes wrong in the way that its option says, when the graph has a `neg`.
class BreakPass : public Pass {
 public:
  absl::string_view name() const override { return "break"; }
  absl::string_view doc() const override { return "For tests."; }
  void VisitOptions(OptionVisitor& visitor) override {
    visitor.Visit("how", &how_, "fail, check or crash.");
  }
  absl::Status Run(Module& module, PassContext& context) override {
    for (const Node* node : module.main()->nodes()) {
      if (!node->Is(ops::neg)) continue;
      WEFT_CHECK(how_ != "check") << "on purpose";
      if (how_ == "crash") std::raise(SIGSEGV);
      return absl::InternalError("on purpose");
    }
    return absl::OkStatus();
  }

 private:
  std::string how_ = "fail";
};

constexpr char kProgram[] = R"(func @main(%x: f32[4]) -> (f32[4]) {
  %0 = neg(%x) loc("a")
  %1 = neg(%x) loc("b")
  %2 = add(%0, %1)
  return %2
})";

class ReplayTest : public testing::Test {
 protected:
  ReplayTest() : passes_(BuiltinPasses()) {
    passes_.Add([]() -> std::unique_ptr<Pass> { return std::make_unique<BreakPass>(); });
    folder_ = fs::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    auto module = ParseModule(kProgram, ops::Registry());
    EXPECT_TRUE(module.ok()) << module.status();
    module_ = *std::move(module);
    options_.registry = &passes_;
    options_.replay.folder = folder_.string();
    options_.context.rewrite_limit = 7;
    options_.context.target.name = "toy";
    options_.context.target.composites = {"gelu", "softmax"};
    options_.seed = 3;
    options_.replay.rules = "my.rules";
  }

  std::string FileText() const {
    std::ifstream file(Path());
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  std::string Path() const { return (folder_ / "replay.fixpoint.1.break.weft").string(); }

  PassRegistry passes_;
  fs::path folder_;
  std::unique_ptr<Module> module_;
  CompileOptions options_;
};

TEST_F(ReplayTest, OfAFailingPassRunsAgain) {
  options_.passes = "cse,fixpoint(break)";
  const absl::Status status = Compile(*module_, options_).status();
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("fixpoint.1.break: on purpose"),
                    EndsWith(absl::StrCat("\nreplay: opt --replay=", Path()))));
  EXPECT_THAT(FileText(), HasSubstr("// passes: break{how=fail}\n"));

  auto replay = LoadReplay(Path());
  ASSERT_TRUE(replay.ok()) << replay.status();
  EXPECT_EQ(replay->reason, "fixpoint.1.break: on purpose");
  CompileOptions again;
  again.registry = &passes_;
  ASSERT_TRUE(ApplyReplay(*replay, &again).ok());
  EXPECT_EQ(again.seed, 3u);
  EXPECT_EQ(replay->rules, "my.rules");
  EXPECT_EQ(again.context.rewrite_limit, 7);
  EXPECT_EQ(again.context.target, options_.context.target);
  auto module = LoadModel(Path());
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ((*module)->num_nodes(), 2);  // After cse.
  EXPECT_EQ(Compile(**module, again).status().message(), "break: on purpose");
}

TEST_F(ReplayTest, OfAFixpointThatDoesNotSettle) {
  // cse changes something in the first round, so that it is not the last.
  options_.passes = "fixpoint(dce,fixpoint{max=1}(cse))";
  ASSERT_TRUE(Compile(*module_->Clone(), options_).ok());
  EXPECT_TRUE(fs::is_empty(folder_));
  options_.context.strict = true;
  CompileResult result;
  const absl::Status status = Compile(*module_->Clone(), options_, &result);
  const std::string path = (folder_ / "replay.fixpoint.1.fixpoint.weft").string();
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("no fixpoint after 1 rounds"),
                    EndsWith(absl::StrCat("\nreplay: opt --replay=", path))));
  // The report up to the failing pass is there as well.
  EXPECT_EQ(result.report.passes.size(), 2u);
  ASSERT_EQ(result.remarks.size(), 1u);
  EXPECT_EQ(result.remarks[0].kind, RemarkKind::kFailed);

  auto replay = LoadReplay(path);
  ASSERT_TRUE(replay.ok()) << replay.status();
  EXPECT_EQ(replay->passes, "fixpoint{max=1}(cse)");
  CompileOptions again;
  ASSERT_TRUE(ApplyReplay(*replay, &again).ok());
  auto module = LoadModel(path);
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ((*module)->num_nodes(), 3);
  EXPECT_THAT(std::string(Compile(**module, again).status().message()),
              HasSubstr("no fixpoint after 1 rounds"));
}

TEST_F(ReplayTest, OfCrashesAndFailedChecks) {
  options_.replay.crashes = true;
  for (const char* how : {"crash", "check"}) {
    SCOPED_TRACE(how);
    options_.passes = absl::StrCat("fixpoint(break{how=", how, "})");
    EXPECT_EXIT(static_cast<void>(Compile(*module_, options_)),
                testing::KilledBySignal(how == std::string("crash") ? SIGSEGV : SIGABRT),
                "crash in fixpoint.1.break; replay: opt --replay=");
    auto replay = LoadReplay(Path());
    ASSERT_TRUE(replay.ok()) << replay.status();
    EXPECT_EQ(replay->reason, "crash in fixpoint.1.break");
    EXPECT_EQ(replay->passes, absl::StrCat("break{how=", how, "}"));
    auto module = LoadModel(Path());
    ASSERT_TRUE(module.ok()) << module.status();
    EXPECT_EQ(PrintModule(**module), PrintModule(*module_));
    fs::remove(Path());
  }
}

TEST_F(ReplayTest, OfLargeModulesWhenAsked) {
  Builder builder(module_->main());
  Value* value = module_->main()->input(0);
  for (int i = 0; i < 3000; ++i) value = builder.Op(ops::sin, {value});
  module_->main()->SetOutputs({value});
  options_.passes = "break{how=fail}";
  absl::Status status = Compile(*module_, options_).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("--replay-dir=DIR"));
  EXPECT_TRUE(fs::is_empty(folder_));
  options_.replay.any_size = true;
  status = Compile(*module_, options_).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("replay: opt --replay="));
  EXPECT_FALSE(fs::is_empty(folder_));
}

TEST_F(ReplayTest, IsNotLeftBySuccess) {
  options_.passes = "if(!has_op(neg),break),cse";
  ASSERT_TRUE(Compile(*module_, options_).ok());
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST(ReplayHeadTest, NamesTheFilesThatTheRunUses) {
  Replay replay;
  replay.plugins = {"a.so", "b c.so"};
  replay.rules = "x.rules";
  const std::string head = ReplayHead(replay, "f.weft");
  EXPECT_THAT(head, HasSubstr("// command: opt --replay=f.weft --load=a.so --load='b c.so'\n"));
  auto again = ParseReplayHead(head);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_THAT(again->plugins, testing::ElementsAre("a.so", "b c.so"));
  EXPECT_EQ(again->rules, "x.rules");
}

TEST(ReplayHeadTest, ErrorsNameTheLine) {
  EXPECT_EQ(ParseReplayHead("func @main").status().message(),
            "line 1: a replay file begins with \"// weft replay\"");
  EXPECT_EQ(ParseReplayHead("// weft replay\n// seed: x\n").status().message(),
            "line 2: bad value of seed: \"x\"");
  EXPECT_EQ(ParseReplayHead("// weft replay\n// admitted: all\n").status().message(),
            "line 2: bad value of admitted: \"all\"");
  EXPECT_EQ(LoadReplay("no-such-file").status().message(), "no-such-file: cannot be read");
  Replay replay;
  replay.verify = "unheard of";
  CompileOptions options;
  EXPECT_EQ(ApplyReplay(replay, &options).message(), "unknown verification \"unheard of\"");
}

}  // namespace
}  // namespace weft
