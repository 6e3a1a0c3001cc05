// A line of progress: on a terminal, and nothing of it in a pipe.
#include "tools/common/progress.h"

#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft::tools {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

std::string ReadAll(int file) {
  std::string text;
  char block[4096];
  ssize_t size;
  while ((size = read(file, block, sizeof(block))) > 0) text.append(block, size);
  close(file);
  return text;
}

// Text that `work` writes to standard error if that is a terminal with this number of columns.
std::string OnTerminal(unsigned short columns, const std::function<void()>& work) {
  winsize size = {24, columns, 0, 0};
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  EXPECT_GE(child, 0) << std::strerror(errno);
  if (child < 0) return "";
  if (child == 0) {
    work();
    _exit(0);
  }
  std::string text = ReadAll(terminal);
  waitpid(child, nullptr, 0);
  return text;
}

std::string InPipe(const std::function<void()>& work) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    work();
    _exit(0);
  }
  close(ends[1]);
  std::string text = ReadAll(ends[0]);
  waitpid(child, nullptr, 0);
  return text;
}

// The reason that there is no terminal to test with; "" if there is one.
std::string NoTerminal() {
  int ends[2];
  if (openpty(&ends[0], &ends[1], nullptr, nullptr, nullptr) != 0) {
    return std::string("no terminal can be opened (is /dev/pts mounted?): ") + std::strerror(errno);
  }
  close(ends[0]);
  close(ends[1]);
  return "";
}

class ProgressLineTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string why = NoTerminal();
    if (!why.empty()) GTEST_SKIP() << why;
  }
};

void Work() {
  ProgressLine line("model.onnx");
  for (int i = 0; i <= 1000; ++i) line.Show(i, 1000);
  const auto report = line.Callback();
  if (report) report(5, 10);
  line.Show("[3/4] add");
}

TEST_F(ProgressLineTest, IsShownOnATerminal) {
  const std::string text = OnTerminal(80, Work);
  EXPECT_THAT(text, testing::StartsWith("\rmodel.onnx: 0 %\x1b[K\rmodel.onnx: 1 %\x1b[K"));
  EXPECT_THAT(text, HasSubstr("\rmodel.onnx: 100 %\x1b[K\rmodel.onnx: 50 %"));
  // Each percentage once, and away in the end.
  EXPECT_EQ(std::count(text.begin(), text.end(), '\r'), 101 + 1 + 1 + 1);
  EXPECT_THAT(text, EndsWith("\r[3/4] add\x1b[K\r\x1b[K"));
}

TEST_F(ProgressLineTest, IsCutToTheTerminal) {
  const std::string text = OnTerminal(8, [] { ProgressLine().Show("0123456789"); });
  EXPECT_THAT(text, HasSubstr("\r0123456\x1b[K"));
  EXPECT_THAT(text, Not(HasSubstr("01234567")));
}

TEST_F(ProgressLineTest, NamesAreNotObeyed) {
  const std::string text = OnTerminal(80, [] { ProgressLine().Show("a\x1b[31mb\nc"); });
  EXPECT_THAT(text, HasSubstr("\ra\\u001b[31mb\\u000ac\x1b[K"));
}

TEST_F(ProgressLineTest, IsNotInAPipe) {
  EXPECT_EQ(InPipe(Work), "");
  const auto says = [] {
    ProgressLine line;
    if (line.shown() || line.Callback()) std::fputs("shown", stderr);
  };
  EXPECT_EQ(InPipe(says), "");
  EXPECT_EQ(OnTerminal(80, says), "shown");
}

TEST_F(ProgressLineTest, ClearsNothingThatIsNotThere) {
  EXPECT_EQ(OnTerminal(80,
                       [] {
                         ProgressLine line;
                         line.Clear();
                         line.Show(1, 0);
                       }),
            "");
}

}  // namespace
}  // namespace weft::tools
