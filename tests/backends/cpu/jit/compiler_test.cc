// Exits of the compiler's process, and clean-up of its folders.
#include "backends/cpu/jit/compiler.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft::cpu {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

absl::Status Shell(const std::string& script, int max_seconds = 60) {
  return RunProgram({"sh", "-c", script}, /*idle=*/false, max_seconds);
}

// The kernel's letter for the state of the process; "Z" for a zombie.
std::string StateOf(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name, state = "Z";
  stat >> number >> name >> state;
  return state;
}

TEST(RunProgram, TellsTheStatusAndWhatItWrote) {
  EXPECT_TRUE(Shell("exit 0").ok());
  const absl::Status status = Shell("echo what went wrong; exit 3");
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("sh failed with status 3"), HasSubstr("what went wrong")));
}

TEST(RunProgram, TellsTheSignal) {
  const absl::Status status = Shell("kill -SEGV $$");
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("sh was ended by signal 11"));
}

TEST(RunProgram, StopsWhatDoesNotEndAndItsChildren) {
  const std::string file = testing::TempDir() + "/child";
  const auto begin = std::chrono::steady_clock::now();
  const absl::Status status = Shell("sleep 600 & echo $! > " + file + "; wait", 1);
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()), HasSubstr("did not end within 1 s"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  pid_t child = 0;
  std::ifstream(file) >> child;
  ASSERT_GT(child, 0);
  // A signal takes a moment. Where nothing reaps it, a killed process stays as a zombie.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (StateOf(child) != "Z" && std::chrono::steady_clock::now() < deadline) usleep(10000);
  EXPECT_EQ(StateOf(child), "Z");
}

TEST(RunProgram, StopsWhatClosesItsOutputsAndGoesOn) {
  const absl::Status status = Shell("exec >/dev/null 2>&1; exec sleep 600", 1);
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
}

class ScratchFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(parent_);
    fs::create_directories(parent_);
    setenv("TMPDIR", parent_.c_str(), 1);
  }
  void TearDown() override { unsetenv("TMPDIR"); }
  int NumFolders() const {
    int n = 0;
    for (const auto& entry : fs::directory_iterator(parent_)) n += entry.is_directory();
    return n;
  }
  const std::string parent_ = testing::TempDir() + "/scratch";
};

TEST_F(ScratchFolderTest, IsRemovedWithWhatLiesInIt) {
  {
    auto folder = ScratchFolder::Create();
    ASSERT_TRUE(folder.ok()) << folder.status();
    std::ofstream(folder->path() + "/file") << "text";
    EXPECT_EQ(NumFolders(), 1);
  }
  EXPECT_EQ(NumFolders(), 0);
}

TEST_F(ScratchFolderTest, OfAKilledProcessIsRemovedByTheNext) {
  const pid_t child = fork();
  if (child == 0) {
    auto folder = ScratchFolder::Create();
    if (folder.ok()) std::ofstream(folder->path() + "/file") << "text";
    raise(SIGKILL);
  }
  ASSERT_GT(child, 0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(NumFolders(), 1);
  const auto mine = ScratchFolder::Create();
  ASSERT_TRUE(mine.ok()) << mine.status();
  EXPECT_EQ(NumFolders(), 1);
}

TEST_F(ScratchFolderTest, ThoseInUseStay) {
  const auto first = ScratchFolder::Create();
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = ScratchFolder::Create();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_TRUE(fs::exists(first->path()));
  EXPECT_EQ(NumFolders(), 2);
}

TEST_F(ScratchFolderTest, LinksAreNotFollowed) {
  const std::string kept = testing::TempDir() + "/kept_folder";
  fs::create_directories(kept);
  fs::create_directory_symlink(kept, parent_ + "/weft-jit-000000");
  ASSERT_TRUE(ScratchFolder::Create().ok());
  EXPECT_TRUE(fs::exists(kept));
}

}  // namespace
}  // namespace weft::cpu
