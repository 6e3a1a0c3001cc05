// The inputs of a fuzzer that are in the tree, among them those that once
// crashed it, in every build. The folder of seeds is the test's argument.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "gtest/gtest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

const char* folder = nullptr;

TEST(ReplayTest, NoSeedCrashes) {
  ASSERT_NE(folder, nullptr);
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path());
    std::ifstream file(entry.path(), std::ios::binary);
    ASSERT_TRUE(file);
    const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
    EXPECT_EQ(LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()),
              0);
    ++files;
  }
  EXPECT_GT(files, 0) << folder;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1) folder = argv[1];
  return RUN_ALL_TESTS();
}
