// Loading examples/device, and what is refused before any of its code runs.
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "api/backends.h"
#include "api/c/device.h"
#include "api/extensions.h"
#include "api/plugin.h"
#include "backends/cpu/launcher.h"
#include "backends/plugin/backend.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/examples/sim.h"

namespace weft {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string LoadError(const std::string& name, const std::string& tag) {
  const std::string folder = testing::TempDir();
  const std::string library = absl::StrCat(folder, "/", name, ".so");
  std::ofstream(absl::StrCat(folder, "/", name, ".c"))
      << "__attribute__((section(\"weft_device\"), used)) static const char tag[] = \"" << tag
      << "\";\n__attribute__((constructor)) static void ran(void) { __builtin_trap(); }\n";
  const std::string command =
      absl::StrCat("gcc -shared -fPIC -o ", library, " ", folder, "/", name, ".c");
  EXPECT_EQ(std::system(command.c_str()), 0);
  Extensions mine;
  return std::string(LoadPlugin(library, mine).status().message());
}

TEST(LoadDevice, RefusesAnotherVersionBeforeItRuns) {
  EXPECT_THAT(LoadError("later", "device ABI 7, late"),
              HasSubstr("later.so: made for device ABI 7, late; this program has device ABI 1"));
  EXPECT_THAT(LoadError("eleven", "device ABI 11, late"), HasSubstr("device ABI 11, late;"));
  EXPECT_THAT(LoadError("odd", "odd"), HasSubstr("made for odd;"));
}

TEST(LoadDevice, ASecondOneOfThatNameIsRefused) {
  Extensions mine;
  EXPECT_EQ(LoadDevice(SimPath(), mine).value_or(""), "sim");
  EXPECT_THAT(std::string(LoadDevice(SimPath(), mine).status().message()),
              HasSubstr("there is a target \"sim\" already"));
  EXPECT_EQ(mine.backends().all().size(), BuiltinBackends().all().size() + 1);
}

TEST(LoadDevice, ItsPipelineMustBeOne) {
  weft_device_api api = SimEntries();
  api.passes = "no_such_pass";
  auto backend = plugin::MakeBackend(&api, cpu::MakeInterpreter);
  ASSERT_TRUE(backend.ok()) << backend.status();
  Extensions mine;
  EXPECT_THAT(std::string(mine.AddBackend(*std::move(backend)).message()),
              AllOf(HasSubstr("target sim, its pipeline: "), HasSubstr("no_such_pass")));
}

TEST(LoadDevice, TakesDevicesAlone) {
  Extensions mine;
  const std::string folder = testing::TempDir();
  std::ofstream(folder + "/plugin.c")
      << "__attribute__((section(\"weft_plugin\"), used)) static const char tag[] = \""
      << WEFT_PLUGIN_TAG << "\";\n";
  ASSERT_EQ(std::system(
                ("gcc -shared -fPIC -o " + folder + "/plugin.so " + folder + "/plugin.c").c_str()),
            0);
  EXPECT_THAT(std::string(LoadDevice(folder + "/plugin.so", mine).status().message()),
              HasSubstr("plugin.so: not a device"));
  EXPECT_TRUE(absl::IsNotFound(LoadDevice("/no/such.so", mine).status()));
}

}  // namespace
}  // namespace weft
