// Compiling text to functions, use of a cache, and errors.
#include "backends/cpu/jit/kernel_library.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft::cpu {
namespace {

using ::testing::HasSubstr;

constexpr char kText[] = "extern \"C\" int twice(int x) { return 2 * x; }\n";

int Call(const KernelLibrary& library, const char* name, int x) {
  auto* fn = reinterpret_cast<int (*)(int)>(library.Find(name));
  return fn == nullptr ? -1 : fn(x);
}

// An empty folder that belongs to the test.
std::string Folder(const std::string& name) {
  const std::string path = testing::TempDir() + "/" + name;
  std::filesystem::remove_all(path);
  return path;
}

TEST(KernelLibrary, CompilesAndFinds) {
  JitStats stats;
  const auto library = KernelLibrary::Create(kText, {}, &stats);
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_EQ(Call(**library, "twice", 21), 42);
  EXPECT_EQ((*library)->Find("thrice"), nullptr);
  EXPECT_FALSE(stats.from_cache);
  EXPECT_GT(stats.compile_seconds, 0);
}

TEST(KernelLibrary, TheSecondTimeComesFromTheCache) {
  JitOptions options;
  options.cache_dir = Folder("cache");
  JitStats stats;
  ASSERT_TRUE(KernelLibrary::Create(kText, options, &stats).ok());
  EXPECT_FALSE(stats.from_cache);
  const auto again = KernelLibrary::Create(kText, options, &stats);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(stats.from_cache);
  EXPECT_EQ(Call(**again, "twice", 4), 8);
}

TEST(KernelLibrary, WhatTheCacheHasNeedsNoCompiler) {
  JitOptions options;
  const auto nowhere = KernelLibrary::FromCache(kText, options);
  ASSERT_TRUE(nowhere.ok()) << nowhere.status();
  EXPECT_EQ(*nowhere, nullptr);
  options.cache_dir = Folder("kept");
  const auto before = KernelLibrary::FromCache(kText, options);
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_EQ(*before, nullptr);
  options.idle = true;
  ASSERT_TRUE(KernelLibrary::Create(kText, options).ok());
  const auto after = KernelLibrary::FromCache(kText, options);
  ASSERT_TRUE(after.ok()) << after.status();
  ASSERT_NE(*after, nullptr);
  EXPECT_EQ(Call(**after, "twice", 3), 6);
}

TEST(KernelLibrary, OtherFlagsAreOtherObjects) {
  JitOptions options;
  options.cache_dir = Folder("flags");
  ASSERT_TRUE(KernelLibrary::Create(kText, options).ok());
  options.flags = {"-O2"};
  JitStats stats;
  ASSERT_TRUE(KernelLibrary::Create(kText, options, &stats).ok());
  EXPECT_FALSE(stats.from_cache);
}

TEST(KernelLibrary, ASpoiledCacheIsMadeAgain) {
  JitOptions options;
  options.cache_dir = Folder("spoiled");
  ASSERT_TRUE(KernelLibrary::Create(kText, options).ok());
  for (const auto& entry : std::filesystem::directory_iterator(options.cache_dir)) {
    if (entry.path().extension() != ".so") continue;
    std::filesystem::remove(entry.path());
    std::ofstream(entry.path()) << "not an object";
  }
  JitStats stats;
  const auto library = KernelLibrary::Create(kText, options, &stats);
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_FALSE(stats.from_cache);
  EXPECT_EQ(Call(**library, "twice", 1), 2);
}

TEST(KernelLibrary, AFolderForAllIsRefused) {
  JitOptions options;
  options.cache_dir = Folder("open");
  std::filesystem::create_directories(options.cache_dir);
  ASSERT_EQ(chmod(options.cache_dir.c_str(), 0777), 0);
  const auto library = KernelLibrary::Create(kText, options);
  EXPECT_EQ(library.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(library.status().message()), HasSubstr("open"));
}

TEST(KernelLibrary, SaysWhatTheCompilerSays) {
  const auto library = KernelLibrary::Create("int f( {", {});
  EXPECT_EQ(library.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(library.status().message()), HasSubstr("error"));
}

TEST(KernelLibrary, NoCompiler) {
  JitOptions options;
  options.compiler = "no-such-compiler";
  const auto library = KernelLibrary::Create(kText, options);
  EXPECT_EQ(library.status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace weft::cpu
