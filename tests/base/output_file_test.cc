#include "base/output_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class OutputFileTest : public testing::Test {
 protected:
  OutputFileTest() {
    folder_ = fs::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  std::string Read(const std::string& name) const {
    std::ifstream file(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  mode_t Mode(const std::string& name) const {
    struct stat info = {};
    EXPECT_EQ(stat(Path(name).c_str(), &info), 0);
    return info.st_mode & 07777;
  }
  int64_t NumFiles() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }
  // The message of WriteFile(); "" when it succeeds.
  std::string Error(const std::string& name, absl::string_view bytes = "new") const {
    return std::string(WriteFile(Path(name), bytes).message());
  }

  fs::path folder_;
};

// The exit status of `body` in a process of its own.
int InChild(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(OutputFileTest, WritesAndReplaces) {
  const mode_t mask = umask(027);
  EXPECT_EQ(Error("f", "one"), "");
  umask(mask);
  EXPECT_EQ(Read("f"), "one");
  EXPECT_EQ(Mode("f"), 0640u);
  EXPECT_EQ(Error("f", "two"), "");
  EXPECT_EQ(Read("f"), "two");
  EXPECT_EQ(NumFiles(), 1);
}

TEST_F(OutputFileTest, TheOldFileStaysUntilCommit) {
  EXPECT_EQ(Error("f", "old"), "");
  {
    auto file = OutputFile::Open(Path("f"));
    ASSERT_TRUE(file.ok());
    EXPECT_TRUE(file->Write("new").ok());
    EXPECT_EQ(Read("f"), "old");
  }
  EXPECT_EQ(Read("f"), "old");
  EXPECT_EQ(NumFiles(), 1);
}

TEST_F(OutputFileTest, AKilledProcessLeavesNothingBehind) {
  const int unnamed = open(folder_.c_str(), O_TMPFILE | O_WRONLY, 0600);
  if (unnamed < 0) GTEST_SKIP() << "this file system has no files without a name";
  close(unnamed);
  EXPECT_EQ(Error("f", "old"), "");
  const int status = InChild([&] {
    auto file = OutputFile::Open(Path("f"));
    if (file.ok() && file->Write("new").ok()) raise(SIGKILL);
    return 0;
  });
  EXPECT_EQ(status, -1);
  EXPECT_EQ(Read("f"), "old");
  EXPECT_EQ(NumFiles(), 1);
}

TEST_F(OutputFileTest, TheOldFileStaysWhenTheDiskIsFull) {
  EXPECT_EQ(Error("f", "old"), "");
  const int status = InChild([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {8192, 8192};
    setrlimit(RLIMIT_FSIZE, &limit);
    const absl::Status written = WriteFile(Path("f"), std::string(20000, 'x'));
    return absl::IsUnavailable(written) ? 7 : 0;
  });
  EXPECT_EQ(status, 7);
  EXPECT_EQ(Read("f"), "old");
  EXPECT_EQ(NumFiles(), 1);
}

TEST_F(OutputFileTest, KeepsPermissionsAndLinks) {
  fs::create_directories(folder_ / "below");
  EXPECT_EQ(Error("below/f", "old"), "");
  chmod(Path("below/f").c_str(), 0604);
  fs::create_symlink("below/f", Path("relative"));
  fs::create_symlink(Path("relative"), Path("absolute"));
  EXPECT_EQ(Error("absolute"), "");
  EXPECT_TRUE(fs::is_symlink(Path("absolute")));
  EXPECT_TRUE(fs::is_symlink(Path("relative")));
  EXPECT_EQ(Read("below/f"), "new");
  EXPECT_EQ(Mode("below/f"), 0604u);
}

TEST_F(OutputFileTest, ALinkToNothingMakesTheFile) {
  fs::create_symlink("there", Path("link"));
  EXPECT_EQ(Error("link"), "");
  EXPECT_TRUE(fs::is_symlink(Path("link")));
  EXPECT_EQ(Read("there"), "new");
}

TEST_F(OutputFileTest, AFileThatMayNotBeWrittenIsRefused) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write every file";
  EXPECT_EQ(Error("f", "old"), "");
  chmod(Path("f").c_str(), 0444);
  EXPECT_THAT(Error("f"), HasSubstr("Permission denied"));
  EXPECT_EQ(Read("f"), "old");
}

TEST_F(OutputFileTest, ErrorsNameThePathAndTheReason) {
  fs::create_symlink("b", Path("a"));
  fs::create_symlink("a", Path("b"));
  EXPECT_EQ(Error("none/f"), "cannot write " + Path("none/f") + ": No such file or directory");
  EXPECT_THAT(Error("a"), HasSubstr("Too many levels of symbolic links"));
  EXPECT_THAT(Error("."), HasSubstr("directory"));
  EXPECT_THAT(Error("none/"), HasSubstr("directory"));
  EXPECT_THAT(std::string(WriteFile("", "x").message()), HasSubstr("No such file"));
  EXPECT_EQ(WriteFile("/dev/full", "x").message(),
            "cannot write /dev/full: No space left on device");
}

TEST_F(OutputFileTest, DevicesAndPipesAreWrittenAsTheyAre) {
  EXPECT_TRUE(WriteFile("/dev/null", "x").ok());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  // Open for both ends, so that no end blocks.
  const int fd = open(Path("pipe").c_str(), O_RDWR);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(Error("pipe", "abc"), "");
  char bytes[3] = {};
  EXPECT_EQ(read(fd, bytes, 3), 3);
  EXPECT_EQ(std::string(bytes, 3), "abc");
  close(fd);
  EXPECT_TRUE(fs::is_fifo(Path("pipe")));
}

// `{ tool -o /dev/stdout; tool -o /dev/stdout; } > f`
TEST_F(OutputFileTest, StandardOutputThatIsAFileGoesOn) {
  const int fd = open(Path("f").c_str(), O_WRONLY | O_CREAT, 0600);
  const int status = InChild([&] {
    dup2(fd, STDOUT_FILENO);
    const std::string other = "/dev/fd/" + std::to_string(fd);
    for (const std::string& path : {std::string("/dev/stdout"), Path("link"), other}) {
      if (path == Path("link")) fs::create_symlink("/dev/stdout", path);
      if (!WriteFile(path, "part ").ok()) return 1;
    }
    return 0;
  });
  close(fd);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Read("f"), "part part part ");
}

// The parts of a huge page are written together, whatever their sizes are.
TEST_F(OutputFileTest, PartsOfAllSizesComeInOrder) {
  constexpr int64_t kHuge = 2 << 20;
  std::string want;
  auto file = OutputFile::Open(Path("f"));
  ASSERT_TRUE(file.ok());
  for (const int64_t size : {int64_t{1}, kHuge - 1, kHuge, int64_t{5}, 3 * kHuge, kHuge - 5,
                             2 * kHuge + 7, int64_t{0}, int64_t{100}}) {
    std::string part(static_cast<size_t>(size), '\0');
    for (size_t i = 0; i < part.size(); ++i) part[i] = static_cast<char>(i * 7 + want.size());
    EXPECT_TRUE(file->Write(part).ok());
    want += part;
  }
  EXPECT_TRUE(file->PadTo(static_cast<int64_t>(want.size()) + kHuge).ok());
  want.append(kHuge, '\0');
  EXPECT_TRUE(file->Commit().ok());
  EXPECT_TRUE(Read("f") == want);
}

TEST_F(OutputFileTest, PadsWithZeros) {
  auto file = OutputFile::Open(Path("f"));
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->Write("ab").ok());
  EXPECT_TRUE(file->PadTo(2).ok());
  EXPECT_TRUE(file->PadTo(10000).ok());
  EXPECT_TRUE(file->Write("c").ok());
  EXPECT_TRUE(file->Commit().ok());
  EXPECT_EQ(Read("f"), "ab" + std::string(9998, '\0') + "c");
}

}  // namespace
}  // namespace weft
