#include "backends/backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lowering/plan.h"

namespace weft {
namespace {

using testing::HasSubstr;

class ToyBackend : public Backend {
 public:
  explicit ToyBackend(std::string name) { target_.name = std::move(name); }

  const Target& target() const override { return target_; }
  std::string default_pipeline() const override { return "none"; }
  absl::Span<const BackendOption> options() const override {
    using Kind = BackendOption::Kind;
    static const auto& options = *new std::vector<BackendOption>{
        {"streams", Kind::kInt, "N", "2", "Streams", 1, 4},
        {"mode", Kind::kChoice, "fast|exact", "fast", "Mode"},
        {"trace", Kind::kSwitch, "", "false", "Trace"},
        {"folder", Kind::kText, "DIR", "", "Folder"},
    };
    return options;
  }
  absl::StatusOr<std::unique_ptr<Executable>> Compile(const Graph&, Plan, const BackendOptions&,
                                                      const ExecutableHooks&) const override {
    return absl::UnimplementedError("a toy");
  }

 private:
  Target target_;
};

TEST(BackendRegistryTest, FindsByName) {
  BackendRegistry registry;
  ASSERT_TRUE(registry.Add(std::make_unique<ToyBackend>("b")).ok());
  ASSERT_TRUE(registry.Add(std::make_unique<ToyBackend>("a")).ok());
  EXPECT_TRUE(absl::IsAlreadyExists(registry.Add(std::make_unique<ToyBackend>("b"))));
  ASSERT_EQ(registry.all().size(), 2u);
  const auto found = registry.Find("a");
  ASSERT_TRUE(found.ok());
  EXPECT_EQ((*found)->name(), "a");
  const absl::Status unknown = registry.Find("c").status();
  EXPECT_TRUE(absl::IsInvalidArgument(unknown));
  EXPECT_EQ(unknown.message(), "unknown target \"c\"; the targets are: b, a");
}

TEST(BackendOptionsTest, AreChecked) {
  const ToyBackend toy("toy");
  EXPECT_TRUE(CheckOptions(toy, {}).ok());
  EXPECT_TRUE(
      CheckOptions(toy,
                   {{"streams", "4"}, {"mode", "exact"}, {"trace", "true"}, {"folder", "anywhere"}})
          .ok());
  const auto error = [&](const BackendOptions& options) {
    return std::string(CheckOptions(toy, options).message());
  };
  EXPECT_EQ(error({{"stream", "4"}}),
            "the target toy has no option \"stream\"; its options are: streams, mode, trace, "
            "folder");
  EXPECT_EQ(error({{"streams", "5"}}), "streams takes an integer from 1 to 4, not \"5\"");
  EXPECT_THAT(error({{"streams", "99999999999999999999"}}), HasSubstr("from 1 to 4"));
  EXPECT_THAT(error({{"streams", ""}}), HasSubstr("from 1 to 4"));
  EXPECT_EQ(error({{"mode", "fas"}}), "mode takes fast or exact, not \"fas\"");
  EXPECT_EQ(error({{"trace", "maybe"}}), "trace takes true or false, not \"maybe\"");
}

TEST(BackendOptionsTest, HaveDefaults) {
  const ToyBackend toy("toy");
  EXPECT_EQ(OptionOf(toy, {}, "streams"), "2");
  EXPECT_EQ(OptionOf(toy, {{"streams", "3"}}, "streams"), "3");
  EXPECT_EQ(OptionOf(toy, {}, "folder"), "");
}

TEST(CountersTest, AreZeroWhereTheyAreNotThere) {
  EXPECT_EQ(CounterOf({{"steps", 3}}, "steps"), 3);
  EXPECT_EQ(CounterOf({{"steps", 3}}, "kernels"), 0);
}

}  // namespace
}  // namespace weft
