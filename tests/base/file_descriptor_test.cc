#include "base/file_descriptor.h"

#include <fcntl.h>

#include "gtest/gtest.h"

namespace weft {
namespace {

bool IsOpen(int fd) { return fcntl(fd, F_GETFD) >= 0; }

TEST(FileDescriptorTest, ClosesAtTheEndOfTheScope) {
  int fd = -1;
  {
    const FileDescriptor file(open("/dev/null", O_RDONLY | O_CLOEXEC));
    fd = file.fd();
    ASSERT_TRUE(file.is_open());
    EXPECT_TRUE(IsOpen(fd));
  }
  EXPECT_FALSE(IsOpen(fd));
}

TEST(FileDescriptorTest, AFileThatDoesNotOpen) {
  const FileDescriptor file(open("/dev/null/none", O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(file.is_open());
  EXPECT_EQ(file.fd(), -1);
}

}  // namespace
}  // namespace weft
