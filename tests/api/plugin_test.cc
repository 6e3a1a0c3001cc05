// Plugins that do not fit: none of their code runs.
#include "api/plugin.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "api/plugin_tag.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class PluginTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }

  // A library whose constructor leaves a file, with `more` in it.
  std::string Make(const std::string& name, const std::string& more) {
    const std::string source = absl::StrCat(folder_, "/", name, ".cc");
    const std::string library = absl::StrCat(folder_, "/", name, ".so");
    std::ofstream(source) << "#include <cstdio>\n__attribute__((constructor)) static void Ran() {"
                          << " std::fclose(std::fopen(\"" << Mark() << "\", \"w\")); }\n"
                          << more;
    const std::string command = absl::StrCat("c++ -shared -fPIC -o ", library, " ", source);
    EXPECT_EQ(std::system(command.c_str()), 0);
    return library;
  }
  static std::string Tag(const std::string& text) {
    return absl::StrCat("__attribute__((section(\"weft_plugin\"), used)) const char tag[] = \"",
                        text, "\";\n");
  }
  std::string Mark() const { return folder_ + "/ran"; }
  bool Ran() const { return fs::exists(Mark()); }
  static std::string Message(const std::string& library) {
    Extensions mine;
    return std::string(LoadPlugin(library, mine).status().message());
  }

  const std::string folder_ = testing::TempDir() + "/plugins";
};

TEST_F(PluginTest, AnyLibrary) {
  const std::string library = Make("any", "");
  EXPECT_EQ(Message(library), library + ": not a plugin of Weft: it has no section weft_plugin");
  EXPECT_FALSE(Ran());
}

TEST_F(PluginTest, MadeForAnother) {
  const std::string library = Make("other", Tag("weft 0.0, C++ ABI 1"));
  EXPECT_EQ(
      Message(library),
      absl::StrCat(library, ": made for weft 0.0, C++ ABI 1; this program is ", WEFT_PLUGIN_TAG));
  EXPECT_FALSE(Ran());
}

TEST_F(PluginTest, MadeForThisOne) {
  const std::string library = Make("mine", Tag(WEFT_PLUGIN_TAG));
  EXPECT_EQ(Message(library),
            library + ": not a plugin of Weft: it has no symbol weft_plugin_info");
  EXPECT_TRUE(Ran());
}

TEST_F(PluginTest, OtherFiles) {
  const std::string text = folder_ + "/text.so";
  std::ofstream(text) << "a text";
  EXPECT_THAT(Message(text), HasSubstr("text.so: cannot be loaded: it is not a shared library"));
  EXPECT_THAT(Message(folder_), HasSubstr("cannot be loaded: not a regular file"));
}

TEST_F(PluginTest, AreAllowedByName) {
  const std::string one = folder_ + "/one.so";
  std::ofstream(one) << "1";
  EXPECT_TRUE(CheckPluginsAllowed({}, {}).ok());
  EXPECT_TRUE(CheckPluginsAllowed({one}, {one}).ok());
  EXPECT_TRUE(CheckPluginsAllowed({folder_ + "/../plugins/one.so"}, {"x.so", one}).ok());
  const absl::Status status = CheckPluginsAllowed({one, "two.so"}, {one});
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(status.message()), HasSubstr("pass --load=two.so to allow that"));
}

// Every cut and every changed byte of the headers: a status, no read outside of the bytes.
TEST_F(PluginTest, DamagedFiles) {
  const std::string library = Make("whole", Tag("the tag"));
  std::ifstream file(library, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), {});
  ASSERT_EQ(*ReadPluginTag(whole), "the tag");
  for (size_t size = 0; size < whole.size(); size += size < 100 ? 1 : 37) {
    // A copy, so that sanitizers see its end.
    const std::string cut = whole.substr(0, size);
    ReadPluginTag(cut).status().IgnoreError();
  }
  for (size_t i = 0; i < 64; ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      ReadPluginTag(changed).status().IgnoreError();
    }
  }
}

}  // namespace
}  // namespace weft
