// Donors of write-backs: those that are found, and the detection of wrong ones.
#include "lowering/write_backs.h"

#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "lowering/plan_text.h"
#include "tests/support/generic_target.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using testing::HasSubstr;

// Plans of one program, printed and read again with another text in some place.
class Edited {
 public:
  explicit Edited(const char* program, const Target& target = GenericTarget())
      : module_(Parse(program)) {
    const auto plan = Lower(*module_->main(), target);
    EXPECT_TRUE(plan.ok()) << plan.status();
    text_ = PrintPlan(*plan);
  }

  absl::Status Check() const { return Check(text_); }
  absl::Status CheckWith(const std::string& from, const std::string& to) const {
    std::string text = text_;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from << " in\n" << text;
    if (at != std::string::npos) text.replace(at, from.size(), to);
    return Check(text);
  }
  const std::string& text() const { return text_; }

 private:
  absl::Status Check(const std::string& text) const {
    const auto plan = ParsePlan(text, *module_);
    EXPECT_TRUE(plan.ok()) << plan.status();
    return plan.ok() ? CheckWriteBacks(*plan) : plan.status();
  }

  std::unique_ptr<Module> module_;
  std::string text_;
};

constexpr char kTwoInputs[] = R"(
  func @main(%x: f32[8], %y: f32[8], %z: f32[9]) -> (f32[8], f32[8] {writes=%x}) {
    %0 = flip(%y, dims=[0])
    %1 = add(%x, %0)
    %2 = mul(%1, %x)
    return %1, %2
  })";

TEST(WriteBacks, LastReaderAtTheSamePlaceIsLegal) {
  const Edited plan(kTwoInputs);
  EXPECT_THAT(plan.text(), HasSubstr("donor %x"));
  EXPECT_TRUE(plan.Check().ok()) << plan.Check();
}

TEST(WriteBacks, WrongDonorsAreSeen) {
  const Edited plan(kTwoInputs);
  EXPECT_TRUE(plan.CheckWith("donor %x", "donor %y").ok());
  EXPECT_THAT(std::string(plan.CheckWith("donor %x", "donor %z").message()),
              HasSubstr("is no new value of %z"));
  EXPECT_THAT(std::string(plan.CheckWith("output 0", "output 0 donor %x").message()),
              HasSubstr("is a donor twice"));
  // %1 takes the place of %x, which the next step reads.
  const Edited early(R"(
    func @main(%x: f32[8], %y: f32[8]) -> (f32[8], f32[8] {writes=%y}) {
      %0 = sin(%x)
      %1 = cumsum(%x, dim=0)
      return %0, %1
    })");
  EXPECT_TRUE(early.Check().ok());
  EXPECT_THAT(std::string(early.CheckWith("output 0", "output 0 donor %x").message()),
              HasSubstr("reads %x, which"));
}

TEST(WriteBacks, ReadsElsewhereAreSeen) {
  const Edited plan(R"(
    func @main(%x: f32[4, 4]) -> (f32[4, 4] {writes=%x}) {
      %0 = permute(%x, dims=[1, 0])
      %1 = neg(%0)
      return %1
    })");
  EXPECT_THAT(plan.text(), HasSubstr("remark"));
  EXPECT_THAT(std::string(plan.CheckWith("output 0", "output 0 donor %x").message()),
              HasSubstr("reads %x elsewhere than it replaces it"));
}

// `plan` has a step behind the write of %x that may fail.
void ExpectNoDonor(const Edited& plan) {
  EXPECT_THAT(plan.text(), HasSubstr("may fail later"));
  const size_t at = plan.text().find("remark");
  ASSERT_NE(at, std::string::npos);
  const std::string remark = plan.text().substr(at, plan.text().find('\n', at) - at);
  EXPECT_THAT(std::string(plan.CheckWith(remark, "donor %x").message()),
              HasSubstr("may fail when an input is written over"));
}

TEST(WriteBacks, FailuresBehindAreSeen) {
  ExpectNoDonor(Edited(R"(
    func @main(%x: f32[8], %i: i64[8]) -> (f32[8], f32[8] {writes=%x}) {
      %0 = neg(%x)
      %1 = index_select(%0, %i, dim=0)
      return %1, %0
    })"));
}

Target WithScatter(bool in_place) {
  Target target = GenericTarget();
  Routine scatter;
  scatter.name = "scatter";
  scatter.ops = {"scatter"};
  scatter.strided = {1, 2};
  scatter.indices = 1;
  scatter.in_place = in_place;
  target.routines.push_back(scatter);
  return target;
}

TEST(WriteBacks, RoutinesWithIndicesMayFail) {
  ExpectNoDonor(Edited(R"(
    func @main(%x: f32[8], %i: i64[8]) -> (f32[8], f32[8] {writes=%x}) {
      %0 = neg(%x)
      %1 = scatter(%0, %i, %0, dim=0)
      return %1, %0
    })",
                       WithScatter(/*in_place=*/false)));
}

// Keys and values of one token, at its position.
constexpr char kCaches[] = R"(
  func @main(%k: f32[8, 4], %v: f32[8, 4], %i: i64[1], %x: f32[1, 4], %y: f32[1, 4])
      -> (f32[8, 4] {writes=%k}, f32[8, 4] {writes=%v}) {
    %at = expand(%i, size=[1, 4])
    %0 = scatter(%k, %at, %x, dim=0)
    %1 = scatter(%v, AT, %y, dim=0)
    return %0, %1
  })";

std::string Caches(const char* second) {
  std::string text = kCaches;
  text.replace(text.find("AT"), 2, second);
  return text;
}

TEST(WriteBacks, RoutinesUpdateInPlace) {
  const std::string text = Caches("%at");
  const Edited plan(text.c_str(), WithScatter(/*in_place=*/true));
  EXPECT_THAT(plan.text(), HasSubstr("donor %k"));
  EXPECT_THAT(plan.text(), HasSubstr("donor %v"));
  EXPECT_TRUE(plan.Check().ok()) << plan.Check();
  EXPECT_THAT(std::string(plan.CheckWith(" updates 0", "").message()),
              HasSubstr("is no kernel and reads what it replaces"));
  const Edited copies(text.c_str(), WithScatter(/*in_place=*/false));
  EXPECT_EQ(copies.text().find("donor"), std::string::npos) << copies.text();
}

// The other index may be wrong when the first cache has been written.
TEST(WriteBacks, OtherIndicesMayFail) {
  const std::string text = Caches("%zero");
  std::string with = text;
  with.insert(with.find("%0 ="), "%zero = mul(%at, %at)\n    ");
  const Edited plan(with.c_str(), WithScatter(/*in_place=*/true));
  // The values are stored first.
  EXPECT_EQ(plan.text().find("donor %v"), std::string::npos) << plan.text();
  EXPECT_THAT(plan.text(), HasSubstr("donor %k"));
  EXPECT_THAT(plan.text(), HasSubstr("may fail later"));
  const size_t at = plan.text().find("remark \"node ");
  ASSERT_NE(at, std::string::npos);
  const std::string remark = plan.text().substr(at, plan.text().find('\n', at) - at);
  EXPECT_THAT(std::string(plan.CheckWith(remark, "donor %v").message()),
              HasSubstr("may fail when an input is written over"));
}

// The updates are read from the memory that is updated.
TEST(WriteBacks, UpdatesFromTheSameMemoryAreNotInPlace) {
  const Edited plan(R"(
    func @main(%k: f32[8, 4], %i: i64[1]) -> (f32[8, 4] {writes=%k}) {
      %at = expand(%i, size=[1, 4])
      %x = slice(%k, dim=0, start=2, end=3)
      %0 = scatter(%k, %at, %x, dim=0)
      return %0
    })",
                    WithScatter(/*in_place=*/true));
  EXPECT_EQ(plan.text().find("donor"), std::string::npos) << plan.text();
  EXPECT_THAT(plan.text(), HasSubstr("reads the input elsewhere than it writes"));
}

}  // namespace
}  // namespace weft
