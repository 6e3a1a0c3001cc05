// Runs the commands that README.md and docs/ show, so that they cannot rot.
//
// Lines of ```sh blocks that begin with `./bazelw run //tools:NAME --` run the
// tool of that name, in order, in a scratch folder that has examples/. Other
// lines of such blocks must be in kElsewhere. tests/embedding runs those of
// kEmbedding, which build programs.
//
// In kRecorded a ```text block behind a command is what it prints: a line `...` stands for any
// lines, and ` ... ` in a line for any text.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

struct Tool {
  const char* name;
  const char* path;
};
constexpr Tool kTools[] = {
    {"opt", "tools/opt"},
    {"run", "tools/run"},
    {"reduce", "tools/reduce"},
    {"diff", "tools/diff"},
    {"conformance", "tools/conformance/main"},
    {"bench", "tools/bench/main"},
    {"make_model", "tools/make_model"},
    {"install", "tools/install/install"},
    {"compile", "tools/compile"},
    {"quantize", "tools/quantize"},
    {"trace", "tools/trace"},
};

// Commands that other tests, or this very run, stand for.
constexpr const char* kElsewhere[] = {
    "./bazelw test //...",
    "./bazelw test //tests/golden/...",
    "./bazelw run //examples:",
};

constexpr const char* kEmbedding[] = {"c-api.md", "embedding.md", "running.md"};
constexpr const char* kRecorded = "tasks.md";

struct Command {
  std::string file;
  int line;
  std::string text;
  std::vector<std::string> output;  // As recorded; empty: not recorded.
};

fs::path Root() { return fs::path(std::getenv("TEST_SRCDIR")) / std::getenv("TEST_WORKSPACE"); }

std::vector<Command> CommandsOf(const fs::path& file) {
  std::vector<Command> commands;
  std::ifstream in(file);
  std::string line;
  absl::string_view fence;
  std::string block;  // The fence's language; "": between blocks.
  for (int number = 1; std::getline(in, line); ++number) {
    if (absl::ConsumePrefix(&(fence = line), "```")) {
      block = block.empty() ? std::string(fence.empty() ? "-" : fence) : "";
    } else if (block == "sh" && !line.empty()) {
      commands.push_back({file.filename().string(), number, line, {}});
    } else if (block == "text" && !commands.empty()) {
      commands.back().output.push_back(line);
    }
  }
  return commands;
}

std::vector<fs::path> Documents() {
  std::vector<fs::path> files = {Root() / "README.md"};
  for (const auto& entry : fs::directory_iterator(Root() / "docs")) {
    const bool embedding = std::find(std::begin(kEmbedding), std::end(kEmbedding),
                                     entry.path().filename()) != std::end(kEmbedding);
    if (entry.path().extension() != ".md" || embedding) continue;
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool IsElsewhere(const std::string& text) {
  for (const char* known : kElsewhere) {
    if (absl::StartsWith(text, known)) return true;
  }
  return false;
}

// The shell command for the line `text`; "" if it runs elsewhere.
std::string ToShell(absl::string_view text) {
  if (!absl::ConsumePrefix(&text, "./bazelw run //tools:")) return "";
  for (const Tool& tool : kTools) {
    if (!absl::ConsumePrefix(&text, absl::StrCat(tool.name, " --"))) continue;
    return absl::StrCat("'", (Root() / tool.path).string(), "'", text);
  }
  return "";
}

// True if `line` is `pattern`, where `...` stands for any text.
bool Matches(absl::string_view line, absl::string_view pattern) {
  const std::vector<absl::string_view> parts = absl::StrSplit(pattern, "...");
  if (parts.size() == 1) return line == pattern;
  if (!absl::ConsumePrefix(&line, parts.front()) || !absl::ConsumeSuffix(&line, parts.back())) {
    return false;
  }
  for (size_t i = 1; i + 1 < parts.size(); ++i) {
    const size_t at = line.find(parts[i]);
    if (at == absl::string_view::npos) return false;
    line.remove_prefix(at + parts[i].size());
  }
  return true;
}

// The first recorded line that the output lacks; "" if the output is as recorded.
std::string FindDifference(absl::string_view output, const std::vector<std::string>& recorded) {
  const std::vector<absl::string_view> lines =
      absl::StrSplit(absl::StripSuffix(output, "\n"), '\n');
  size_t next = 0;
  bool skips = false;
  for (const std::string& want : recorded) {
    if (want == "...") {
      skips = true;
      continue;
    }
    while (skips && next < lines.size() && !Matches(lines[next], want)) ++next;
    if (next == lines.size() || !Matches(lines[next], want)) return want;
    ++next;
    skips = false;
  }
  return skips || next == lines.size() ? "" : absl::StrCat("no line, but: ", lines[next]);
}

TEST(Recorded, Matches) {
  EXPECT_EQ(FindDifference("a\nb 3 ms\nc\n", {"a", "b ... ms", "c"}), "");
  EXPECT_EQ(FindDifference("a\nb\nc\n", {"a", "...", "c"}), "");
  EXPECT_EQ(FindDifference("a\nb\nc\n", {"a", "c"}), "c");
  EXPECT_EQ(FindDifference("a\nb\n", {"a"}), "no line, but: b");
  EXPECT_EQ(FindDifference("a\n", {"a", "b"}), "b");
  EXPECT_EQ(FindDifference("a\nb\n", {"...", "c"}), "c");
  EXPECT_EQ(FindDifference("ab\n", {"a...bb"}), "a...bb");
}

TEST(Commands, Run) {
  const fs::path scratch = fs::path(testing::TempDir()) / "commands";
  fs::create_directories(scratch);
  std::error_code error;
  fs::create_directory_symlink(Root() / "examples", scratch / "examples", error);
  unsetenv("BUILD_WORKING_DIRECTORY");
  setenv("HOME", scratch.c_str(), 1);
  int run = 0;
  for (const fs::path& file : Documents()) {
    for (const Command& command : CommandsOf(file)) {
      SCOPED_TRACE(absl::StrCat(command.file, ":", command.line, ": ", command.text));
      if (IsElsewhere(command.text)) continue;
      const std::string shell = ToShell(command.text);
      ASSERT_FALSE(shell.empty()) << "no test stands for this command";
      const std::string log = (scratch / "log").string();
      const int status = std::system(
          absl::StrCat("cd '", scratch.string(), "' && { ", shell, "; } > '", log, "' 2>&1")
              .c_str());
      std::ifstream in(log);
      std::ostringstream output;
      output << in.rdbuf();
      EXPECT_EQ(status, 0) << output.str().substr(0, 2000);
      if (command.file == kRecorded && !command.output.empty()) {
        EXPECT_EQ(FindDifference(output.str(), command.output), "") << output.str();
      }
      ++run;
    }
  }
  EXPECT_GE(run, 10) << "the documents show fewer commands than they did";
}

}  // namespace
}  // namespace weft
