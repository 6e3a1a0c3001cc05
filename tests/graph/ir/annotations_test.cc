// Notes follow values through edits, copies and text, and leave with what they are about.
#include "graph/ir/annotations.h"

#include <iterator>
#include <memory>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/node.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "tests/graph/ir/test_ops.h"

namespace weft {
namespace {

constexpr char kNoted[] =
    R"(func @main(%p: bool[], %x: f32[2] {note(quant="input")}, %y: f32[2]) -> f32[1] {
  %0 = add(%x, %y) : f32[2]  loc("a")  note(later="kept", quant="sum", operand 1 quant="y")
  %1 = cond(%p, %0) : f32[2]  note(quant="branch") {
    then_graph(%a: f32[2] {param="w", note(quant="inner")}) -> f32[2] {
      %0 = relu(%a) : f32[2]  note(operand 0 quant="in")
      return %0  note(operand 0 quant="out")
    }
    else_graph(%a: f32[2]) -> f32[2] {
      return %a
    }
  }
  %2, %3 = topk(%1, k=1) : f32[1], i64[1]  note(result 1 quant="places")
  return %2
}
)";

class AnnotationsTest : public testing::Test {
 protected:
  void SetUp() override {
    auto module = ParseModule(kNoted, test_ops::Registry(), "f.weft");
    ASSERT_TRUE(module.ok()) << module.status();
    module_ = *std::move(module);
    graph_ = module_->main();
    sum_ = graph_->first_node();
  }

  std::unique_ptr<Module> module_;
  Graph* graph_ = nullptr;
  Node* sum_ = nullptr;
};

TEST_F(AnnotationsTest, TextKeepsAllPlacesAndUnknownKeys) {
  EXPECT_EQ(PrintModule(*module_), kNoted);
  EXPECT_EQ(FindNote(graph_->input(1), "quant"), "input");
  EXPECT_EQ(FindNote(sum_->result(), "later"), "kept");
  EXPECT_EQ(FindNote(sum_, 1, "quant"), "y");
  EXPECT_EQ(FindNote(sum_, 0, "quant"), "");
  EXPECT_EQ(FindNote(sum_->result(), "other"), "");
}

TEST_F(AnnotationsTest, CloneCopiesThemNestedGraphsIncluded) {
  EXPECT_EQ(PrintModule(*module_->Clone()), kNoted);
}

TEST_F(AnnotationsTest, InputsAndResultsNameTheirGraph) {
  EXPECT_EQ(graph_->input(0)->graph(), graph_);
  EXPECT_EQ(sum_->result()->graph(), graph_);
  const Graph* branch = sum_->next()->region(0);
  EXPECT_EQ(branch->input(0)->graph(), branch);
}

TEST_F(AnnotationsTest, SettingOneIsAnEditAndSettingItAgainIsNone) {
  const uint64_t before = graph_->epoch();
  SetNote(graph_->input(2), "quant", "other");
  const uint64_t after = graph_->epoch();
  EXPECT_NE(after, before);
  SetNote(graph_->input(2), "quant", "other");
  SetNote(sum_, 0, "quant", "");
  EXPECT_EQ(graph_->epoch(), after);
}

TEST_F(AnnotationsTest, AnEmptyTextRemoves) {
  SetNote(sum_->result(), "quant", "");
  SetNote(sum_, 1, "quant", "");
  EXPECT_EQ(FindNote(sum_->result(), "quant"), "");
  EXPECT_EQ(NotesOf(sum_->result()).size(), 1u);
  EXPECT_TRUE(NotesOf(sum_, 1).empty());
}

TEST_F(AnnotationsTest, ClearNotesLeavesOtherKeysAndNestedGraphs) {
  ClearNotes(graph_, "quant");
  EXPECT_EQ(FindNote(graph_->input(1), "quant"), "");
  EXPECT_EQ(FindNote(sum_->result(), "later"), "kept");
  EXPECT_EQ(FindNote(sum_->next()->region(0)->input(0), "quant"), "inner");
  const uint64_t epoch = graph_->epoch();
  ClearNotes(graph_, "quant");
  EXPECT_EQ(graph_->epoch(), epoch);
}

TEST_F(AnnotationsTest, AReplacedValueHandsThemOn) {
  Builder builder(graph_, sum_);
  Value* by = builder.Op(test_ops::relu, {graph_->input(2)});
  SetNote(by, "quant", "own");
  sum_->result()->ReplaceAllUsesWith(by);
  EXPECT_EQ(FindNote(by, "quant"), "own");
  EXPECT_EQ(FindNote(by, "later"), "kept");
  EXPECT_TRUE(NotesOf(sum_->result()).empty());
  EXPECT_EQ(FindNote(by->node(), 0, "quant"), "");
}

// A node made later may lie where the erased one lay; it has none of its notes.
TEST_F(AnnotationsTest, TheyEndWithTheirNode) {
  const std::string text =
      "func @main(%x: f32[2]) {\n%0 = relu(%x) note(q=\"a\", operand 0 q=\"b\")\n"
      "return %x\n}";
  auto module = ParseModule(text, test_ops::Registry());
  ASSERT_TRUE(module.ok()) << module.status();
  Graph* graph = (*module)->main();
  graph->EraseNode(graph->first_node());
  EXPECT_FALSE(HasNotes(*graph));
}

TEST_F(AnnotationsTest, TheyEndWithTheirInput) {
  auto module = ParseModule("func @main(%x: f32[2] {note(q=\"a\")}, %y: f32[2]) { return %y }",
                            test_ops::Registry());
  ASSERT_TRUE(module.ok()) << module.status();
  Graph* graph = (*module)->main();
  graph->KeepInputs({1});
  EXPECT_FALSE(HasNotes(*graph));
}

TEST_F(AnnotationsTest, InlinedNodesBringThemAndInputsHandThemOn) {
  Graph* branch = sum_->next()->region(0);
  SetNote(graph_->input(2), "quant", "outer");
  Node* before = graph_->return_node();
  const Value* copy = InlineGraph(*branch, {sum_->result()}, graph_, before)[0];
  EXPECT_EQ(FindNote(copy->node(), 0, "quant"), "in");
  EXPECT_EQ(FindNote(sum_->result(), "quant"), "sum");
  ClearNotes(graph_, "quant");
  Value* bare = graph_->input(2);
  InlineGraph(*branch, {bare}, graph_, before);
  EXPECT_EQ(FindNote(bare, "quant"), "inner");
}

// --- Errors ------------------------------------------------------------------

std::string LineError(absl::string_view line) {
  auto module = ParseModule(absl::StrCat("func @main(%x: f32[2]) {\n", line, "\nreturn %x\n}\n"),
                            test_ops::Registry(), "f.weft");
  return module.ok() ? "parsed" : std::string(module.status().message());
}

TEST(NoteErrors, NameThePlace) {
  EXPECT_EQ(LineError("%0 = relu(%x) note(result 1 q=\"a\")"),
            "f.weft:2:20: a note about result 1 of 1");
  EXPECT_EQ(LineError("%0 = relu(%x) note(operand 1 q=\"a\")"),
            "f.weft:2:20: a note about operand 1 of 1");
  EXPECT_EQ(LineError("%0 = relu(%x) note(q=\"a\", q=\"b\")"), "f.weft:2:27: a second note q");
  EXPECT_EQ(LineError("%0 = relu(%x) note(q=\"\")"), "f.weft:2:22: a note has a text");
  EXPECT_THAT(LineError("%0 = relu(%x) note()"), testing::HasSubstr(":2:20: expected the key"));
  auto input = ParseModule("func @main(%x: f32[2] {note(operand 0 q=\"a\")}) { return %x }",
                           test_ops::Registry(), "f.weft");
  EXPECT_THAT(input.status().message(), testing::HasSubstr("f.weft:1:29: the notes of an input"));
}

// Small edits of a text give an error, or a module that prints what reads back.
TEST(NoteErrors, AnyTextGivesAStatus) {
  const absl::string_view tokens[] = {"note(", ")", "operand ", "result ", "1",
                                      "-1",    "=", "\"\"",     "\"",      "quant"};
  std::mt19937 random(12345);
  for (int i = 0; i < 3000; ++i) {
    std::string text = kNoted;
    const size_t at = text.find("note(", random() % 600);
    if (at == text.npos) continue;
    const size_t place = at + random() % 40;
    text.replace(place, random() % 4, std::string(tokens[random() % std::size(tokens)]));
    const auto module = ParseModule(text, test_ops::Registry());
    if (!module.ok()) continue;
    const std::string printed = PrintModule(**module);
    const auto again = ParseModule(printed, test_ops::Registry());
    ASSERT_TRUE(again.ok()) << again.status() << "\n" << printed;
    EXPECT_EQ(PrintModule(**again), printed);
  }
}

}  // namespace
}  // namespace weft
