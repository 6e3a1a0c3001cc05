// Reads the include lines of every source file in the repository and fails with file:line where
// one goes against the layers. The tables below are the rules; build_defs/BUILD.bazel states the
// same order for Bazel's targets.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

enum Libraries { kAbseilOnly, kAnyLibrary };

// A layer, or a room of one, is a folder, or the files of one stem (`api/program`); a file belongs
// to the longest matching name. It may include itself and what is listed: `x/...` is x with all
// that is below it.
struct Layer {
  std::string name;
  Libraries libraries;
  std::vector<std::string> may_include;
};

std::vector<std::string> With(std::vector<std::string> names,
                              const std::vector<std::string>& more) {
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

const std::vector<Layer>& Layers() {
  static const auto& kBelowApi =
      *new std::vector<std::string>{"base",          "backends/...", "lowering",    "passes/...",
                                    "serialize/...", "graph/...",    "profiler/..."};
  static const auto& kApiRooms = *new std::vector<std::string>{
      "api", "api/check", "api/check/target", "api/dynamic", "api/inspect"};
  static const auto& layers = *new std::vector<Layer>{
      {"base", kAbseilOnly, {}},
      {"profiler", kAbseilOnly, {"base"}},
      // Files of traces and what is made of them, apart from recording.
      {"profiler/sinks", kAnyLibrary, {"base", "profiler"}},
      {"profiler/read", kAnyLibrary, {"base", "profiler"}},
      {"profiler/analysis", kAnyLibrary, {"base", "profiler", "profiler/sinks", "profiler/read"}},
      {"graph/sym", kAbseilOnly, {"base"}},
      {"graph/tensor", kAbseilOnly, {"base", "graph/sym"}},
      {"graph/ir", kAbseilOnly, {"base", "graph/sym", "graph/tensor"}},
      // The parser of modules asks the verifier, which shows nodes.
      {"graph/text/parts", kAbseilOnly, {"base", "graph/sym", "graph/tensor", "graph/ir"}},
      {"graph/target",
       kAbseilOnly,
       {"base", "graph/sym", "graph/tensor", "graph/ir", "graph/text/parts"}},
      {"graph/verify",
       kAbseilOnly,
       {"base", "graph/sym", "graph/tensor", "graph/ir", "graph/text/parts"}},
      {"graph/text",
       kAbseilOnly,
       {"base", "graph/sym", "graph/tensor", "graph/ir", "graph/text/parts", "graph/verify"}},
      {"graph/ops",
       kAbseilOnly,
       {"base", "graph/sym", "graph/tensor", "graph/ir", "graph/text/...", "graph/verify"}},
      {"serialize", kAnyLibrary, {"base", "graph/...", "profiler"}},
      {"serialize/onnx", kAnyLibrary, {"base", "serialize", "graph/...", "profiler"}},
      {"serialize/onnx/import",
       kAnyLibrary,
       {"base", "serialize", "serialize/onnx", "graph/...", "profiler"}},
      {"serialize/onnx/export",
       kAnyLibrary,
       {"base", "serialize", "serialize/onnx", "graph/...", "profiler"}},
      // The engine knows no pass; what several passes share lies beside it.
      {"passes/engine", kAnyLibrary, {"base", "graph/...", "profiler"}},
      {"passes/fuse", kAnyLibrary, {"base", "passes/engine", "graph/...", "profiler"}},
      {"passes/sizes", kAnyLibrary, {"base", "passes/engine", "graph/...", "profiler"}},
      {"passes",
       kAnyLibrary,
       {"base", "passes/engine", "passes/fuse", "passes/sizes", "graph/...", "profiler"}},
      {"lowering", kAnyLibrary, {"base", "graph/...", "profiler"}},
      // `backends` itself holds what the backends share, such as the plugin interface.
      {"backends", kAnyLibrary, {"base", "lowering", "graph/...", "profiler"}},
      {"backends/reference",
       kAnyLibrary,
       {"base", "backends", "lowering", "graph/...", "profiler"}},
      // Code for one instruction set, and functions in a compiled file, know the least.
      {"backends/cpu/kernels", kAnyLibrary, {"base", "lowering", "graph/tensor"}},
      {"backends/cpu/jit", kAnyLibrary, {"base"}},
      {"backends/cpu/runtime",
       kAnyLibrary,
       {"base", "backends", "lowering", "graph/...", "profiler"}},
      {"backends/cpu/interpreter",
       kAnyLibrary,
       {"base", "backends", "backends/cpu/kernels", "backends/cpu/runtime", "lowering", "graph/...",
        "profiler"}},
      {"backends/cpu/onednn",
       kAnyLibrary,
       {"base", "backends", "backends/cpu/kernels", "backends/cpu/runtime", "lowering", "graph/...",
        "profiler"}},
      {"backends/cpu/library",
       kAnyLibrary,
       {"base", "backends", "backends/cpu/kernels", "backends/cpu/runtime",
        "backends/cpu/interpreter", "backends/cpu/onednn", "lowering", "graph/...", "profiler"}},
      {"backends/cpu",
       kAnyLibrary,
       {"base", "backends", "backends/cpu/...", "lowering", "graph/...", "profiler"}},
      {"backends/cuda", kAnyLibrary, {"base", "backends", "lowering", "graph/...", "profiler"}},
      // What a compilation is checked with.
      {"api/check",
       kAnyLibrary,
       {"base", "backends", "backends/reference", "lowering", "passes/...", "graph/...",
        "profiler"}},
      // Compiler and Session, and what they take.
      {"api", kAnyLibrary, With(kBelowApi, {"api/check"})},
      {"api/check/target", kAnyLibrary, With(kBelowApi, {"api/check", "api"})},
      {"api/dynamic", kAnyLibrary, With(kBelowApi, {"api/check", "api"})},
      {"api/inspect", kAnyLibrary, With(kBelowApi, {"api/check", "api"})},
      // What stands on all rooms.
      {"api/model_io", kAnyLibrary, With(kBelowApi, kApiRooms)},
      {"api/program", kAnyLibrary, With(kBelowApi, kApiRooms)},
      {"api/test_data", kAnyLibrary, With(With(kBelowApi, kApiRooms), {"api/model_io"})},
      // The models that tools build by name.
      {"examples/models", kAbseilOnly, {"base", "graph/..."}},
      // Also the headers that api's headers include: see kReexporting.
      {"tools", kAnyLibrary, {"base", "api/...", "examples/models", "profiler/..."}},
      {"examples", kAnyLibrary, With(kBelowApi, {"api/...", "examples/models"})},
      {"tests", kAnyLibrary, With(kBelowApi, {"api/...", "examples/...", "tools"})},
  };
  return layers;
}

// A layer that may include whatever the headers of another one include.
struct Reexport {
  absl::string_view layer;
  absl::string_view headers_of;
};
constexpr Reexport kReexporting = {"tools", "api"};

// A pass does not include another pass. The pass of a file is the first word after `passes/`:
// passes/cse.cc, passes/cse.h and passes/cse/table.h are all of `cse`. What all passes may include
// lies in rooms of its own.
// The one place that composes passes.
constexpr absl::string_view kPassComposer = "pipelines";

// Projects that stand for programs out of this tree: of Weft they see what is installed.
constexpr absl::string_view kForeign[] = {"examples/embed", "examples/plugin"};

// Libraries that a layer of kAbseilOnly would name in angle brackets.
constexpr absl::string_view kLibraryPrefixes[] = {
    "benchmark/", "gmock/", "google/", "gtest/", "minizip/",
    "nlohmann/",  "omp.h",  "onnx/",   "zlib.h",
};

// Folders of the repository's root without sources of ours.
bool IsOutside(absl::string_view folder) {
  return absl::StartsWith(folder, ".") || absl::StartsWith(folder, "bazel-") ||
         folder == "third_party";
}

struct Include {
  int line = 0;
  bool quoted = false;
  std::string path;
};

struct File {
  std::string path;  // From the root.
  std::vector<Include> includes;
  std::vector<std::string> types;  // Of namespace weft itself that a header defines.
};

std::vector<Include> ParseIncludes(absl::string_view text) {
  std::vector<Include> includes;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripLeadingAsciiWhitespace(line);
    if (!absl::ConsumePrefix(&line, "#")) continue;
    line = absl::StripLeadingAsciiWhitespace(line);
    if (!absl::ConsumePrefix(&line, "include")) continue;
    line = absl::StripLeadingAsciiWhitespace(line);
    const bool quoted = absl::ConsumePrefix(&line, "\"");
    if (!quoted && !absl::ConsumePrefix(&line, "<")) continue;
    const size_t end = line.find(quoted ? '"' : '>');
    if (end == absl::string_view::npos) continue;
    includes.push_back({number, quoted, std::string(line.substr(0, end))});
  }
  return includes;
}

// `struct Name {` or `class Name : ...` at the start of a line, while the innermost named
// namespace is weft.
std::vector<std::string> ParseTypes(absl::string_view text) {
  std::vector<std::string> types;
  bool in_weft = false;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::StartsWith(line, "namespace ")) in_weft = line == "namespace weft {";
    if (absl::StartsWith(line, "}  // namespace weft::")) in_weft = true;
    if (!in_weft) continue;
    if (!absl::ConsumePrefix(&line, "struct ") && !absl::ConsumePrefix(&line, "class ")) continue;
    const absl::string_view name = line.substr(0, line.find_first_of(" :;<"));
    if (!absl::StrContains(line, ";") || absl::StrContains(line, "{")) types.emplace_back(name);
  }
  return types;
}

bool IsWithin(absl::string_view path, absl::string_view folder) {
  return absl::ConsumePrefix(&path, folder) && absl::StartsWith(path, "/");
}

bool Holds(const Layer& layer, absl::string_view path) {
  if (!absl::ConsumePrefix(&path, layer.name)) return false;
  return absl::StartsWith(path, "/") || path == ".h" || path == ".cc";
}

bool Lists(const Layer& layer, absl::string_view name) {
  return std::any_of(
      layer.may_include.begin(), layer.may_include.end(), [&](absl::string_view listed) {
        return absl::ConsumeSuffix(&listed, "/...") ? name == listed || IsWithin(name, listed)
                                                    : name == listed;
      });
}

const Layer* LayerOf(absl::string_view path) {
  const Layer* best = nullptr;
  for (const Layer& layer : Layers()) {
    if (Holds(layer, path) && (!best || layer.name.size() > best->name.size())) {
      best = &layer;
    }
  }
  return best;
}

std::string PassOf(absl::string_view path) {
  if (!absl::ConsumePrefix(&path, "passes/")) return "";
  return std::string(path.substr(0, path.find_first_of("/.")));
}

// Whether a quoted path is written from the repository's root: its first folder is a layer's.
bool IsOurs(absl::string_view path) {
  const absl::string_view first = path.substr(0, path.find('/'));
  return std::any_of(Layers().begin(), Layers().end(), [&](const Layer& layer) {
    return layer.name == first || IsWithin(layer.name, first);
  });
}

bool IsForeign(absl::string_view path) {
  return std::any_of(std::begin(kForeign), std::end(kForeign),
                     [&](absl::string_view folder) { return IsWithin(path, folder); });
}

// Why `file` may not include `include`; empty when it may.
std::string Objection(const File& file, const Layer& from, const Include& include,
                      const std::set<std::string>& reexported) {
  if (IsForeign(file.path)) {
    return IsOurs(include.path) ? "a foreign project includes what is installed, under weft/" : "";
  }
  if (absl::StrContains(include.path, "..") || !absl::StrContains(include.path, '/')) {
    return include.quoted ? "the path does not start at the repository's root" : "";
  }
  if (!include.quoted || !IsOurs(include.path)) {
    const bool known_library =
        include.quoted || std::any_of(std::begin(kLibraryPrefixes), std::end(kLibraryPrefixes),
                                      [&](absl::string_view prefix) {
                                        return absl::StartsWith(include.path, prefix);
                                      });
    if (from.libraries == kAbseilOnly && known_library && !IsWithin(include.path, "absl")) {
      return absl::StrCat(from.name, " stands on Abseil alone");
    }
    return "";
  }
  const Layer* to = LayerOf(include.path);
  if (to == nullptr) return "the path belongs to no layer";
  if (to == &from) {
    const std::string own = PassOf(file.path);
    const std::string other = PassOf(include.path);
    const bool allowed = own == other || own == kPassComposer;
    return allowed ? "" : "only passes/pipelines.cc composes passes";
  }
  if (Lists(from, to->name)) return "";
  if (from.name == kReexporting.layer && reexported.count(include.path)) return "";
  return absl::StrCat(from.name, " may not include ", to->name);
}

// The violations in a set of files, each as `file:line: "include": why`.
std::vector<std::string> Violations(const std::vector<File>& files) {
  std::set<std::string> reexported;
  for (const File& file : files) {
    if (!IsWithin(file.path, kReexporting.headers_of) || !absl::EndsWith(file.path, ".h")) continue;
    for (const Include& include : file.includes) reexported.insert(include.path);
  }
  std::vector<std::string> violations;
  for (const File& file : files) {
    const Layer* layer = LayerOf(file.path);
    if (layer == nullptr) {
      violations.push_back(absl::StrCat(file.path, ":1: the file belongs to no layer"));
      continue;
    }
    for (const Include& include : file.includes) {
      const std::string why = Objection(file, *layer, include, reexported);
      if (why.empty()) continue;
      violations.push_back(
          absl::StrCat(file.path, ":", include.line, ": \"", include.path, "\": ", why));
    }
  }
  return violations;
}

std::vector<File> ReadRepository(const std::filesystem::path& root) {
  std::vector<File> files;
  for (std::filesystem::recursive_directory_iterator it(root), end; it != end; ++it) {
    if (it.depth() == 0 && IsOutside(it->path().filename().string())) {
      it.disable_recursion_pending();
      continue;
    }
    const std::string extension = it->path().extension().string();
    if (extension != ".h" && extension != ".cc" && extension != ".inc") continue;
    std::ifstream stream(it->path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    files.push_back(
        {it->path().lexically_relative(root).generic_string(), ParseIncludes(text), {}});
    if (extension == ".h") files.back().types = ParseTypes(text);
  }
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return a.path < b.path; });
  return files;
}

TEST(LayeringTest, IncludesGoDown) {
  const std::filesystem::path root = std::filesystem::canonical("WORKSPACE").parent_path();
  const std::vector<File> files = ReadRepository(root);
  // The walk reaches the real tree: at least this file is there, with its includes.
  const auto self = std::find_if(files.begin(), files.end(), [](const File& file) {
    return file.path == "tests/layering/layering_test.cc";
  });
  ASSERT_NE(self, files.end()) << "no sources under " << root;
  EXPECT_THAT(self->includes, testing::SizeIs(testing::Ge(10)));
  for (const std::string& violation : Violations(files)) ADD_FAILURE() << violation;
}

// Two types of one name in two headers are one type to the linker.
TEST(LayeringTest, OneNameIsOneType) {
  const std::filesystem::path root = std::filesystem::canonical("WORKSPACE").parent_path();
  std::map<std::string, std::string> header_of;
  for (const File& file : ReadRepository(root)) {
    if (absl::StartsWith(file.path, "tests/") || IsForeign(file.path)) continue;
    for (const std::string& type : file.types) {
      const auto [it, inserted] = header_of.emplace(type, file.path);
      EXPECT_TRUE(inserted) << type << " is defined in " << it->second << " and " << file.path;
    }
  }
  EXPECT_THAT(header_of, testing::Contains(testing::Pair("SizeGuard", "graph/ir/guards.h")));
}

TEST(LayeringTest, TableHasNoCycle) {
  // Each row lists only rows above it, so the order of the table is a proof; `examples` and
  // `tests` come last.
  std::set<std::string> above;
  for (const Layer& layer : Layers()) {
    for (const std::string& other : layer.may_include) {
      if (absl::EndsWith(other, "/...")) continue;
      EXPECT_TRUE(above.count(other)) << layer.name << " lists " << other;
    }
    EXPECT_TRUE(above.insert(layer.name).second) << layer.name << " appears twice";
    // What `x/...` stands for is above, too, but for the row itself.
    for (const Layer& other : Layers()) {
      EXPECT_TRUE(above.count(other.name) || !Lists(layer, other.name))
          << layer.name << " lists " << other.name;
    }
  }
}

// Below: the checker itself, on made-up files.

std::vector<std::string> Check(const std::map<std::string, std::string>& sources) {
  std::vector<File> files;
  for (const auto& [path, text] : sources) files.push_back({path, ParseIncludes(text), {}});
  return Violations(files);
}

std::string CheckOne(const std::string& file, const std::string& include) {
  return absl::StrJoin(Check({{file, absl::StrCat("#include \"", include, "\"\n")}}), "\n");
}

TEST(LayeringCheckerTest, ReportsFileAndLine) {
  EXPECT_THAT(
      Check({{"graph/ir/a.cc",
              "// A head.\n"
              "#include \"graph/ir/a.h\"\n"
              "  #  include \"passes/cse.h\"  // no\n"}}),
      testing::ElementsAre("graph/ir/a.cc:3: \"passes/cse.h\": graph/ir may not include passes"));
}

TEST(LayeringCheckerTest, IgnoresWhatIsNoInclude) {
  EXPECT_THAT(Check({{"graph/ir/a.cc",
                      "// #include \"passes/cse.h\"\n"
                      "const char* s = \"#include \\\"passes/cse.h\\\"\";\n"
                      "#define include \"passes/cse.h\"\n"
                      "#include <vector>\n"
                      "#include <sys/mman.h>\n"
                      "#include NAME\n"}}),
              testing::IsEmpty());
}

TEST(LayeringCheckerTest, AcceptsDownward) {
  const std::vector<std::pair<std::string, std::string>> good = {
      {"graph/ir/a.cc", "graph/ir/b.h"},
      {"graph/ir/a.cc", "base/b.h"},
      {"profiler/a.cc", "base/b.h"},
      {"graph/ir/a.cc", "absl/strings/str_cat.h"},
      {"graph/ops/a.cc", "graph/ir/b.h"},
      {"profiler/a.cc", "absl/time/time.h"},
      {"serialize/onnx/a.cc", "graph/ops/b.h"},
      {"serialize/onnx/a.cc", "onnx/onnx_pb.h"},
      {"serialize/onnx/a.cc", "serialize/flat/b.h"},
      {"passes/cse.cc", "graph/ir/graph.h"},
      {"passes/cse.cc", "profiler/event.h"},
      {"lowering/plan.cc", "graph/ops/b.h"},
      {"backends/cpu/a.cc", "lowering/plan.h"},
      {"backends/cpu/a.cc", "backends/plugin.h"},
      {"api/session.cc", "backends/cpu/a.h"},
      {"api/session.cc", "passes/pipelines.h"},
      {"profiler/sinks/a.cc", "profiler/sink.h"},
      {"profiler/analysis/a.cc", "profiler/read/read.h"},
      {"tools/opt.cc", "api/compiler.h"},
      {"tools/trace/main.cc", "profiler/analysis/summary.h"},
      {"tools/bench/main.cc", "examples/models/models.h"},
      {"examples/models/net.cc", "graph/ir/builder.h"},
      {"examples/custom_pass/a.cc", "passes/engine/rewrite/rewriter.h"},
      {"tests/passes/cse_test.cc", "passes/cse.h"},
      {"tests/passes/cse_test.cc", "tests/golden/runner.h"},
      // Rooms.
      {"graph/verify/a.cc", "graph/text/parts/b.h"},
      {"graph/text/a.cc", "graph/verify/b.h"},
      {"graph/text/a.cc", "graph/text/parts/b.h"},
      {"graph/ops/a.cc", "graph/text/parts/b.h"},
      {"serialize/onnx/import/a.cc", "serialize/onnx/raw_data.h"},
      {"passes/fuse/a.cc", "passes/engine/pass.h"},
      {"passes/fuse_epilogue.cc", "passes/fuse/b.h"},
      {"backends/cpu/library/a.cc", "backends/cpu/onednn/b.h"},
      {"backends/cpu/executable.cc", "backends/cpu/library/b.h"},
      {"api/compiler.cc", "api/check/bisect.h"},
      {"api/dynamic/a.cc", "api/session.h"},
      {"api/program.cc", "api/program.h"},
      {"api/program.cc", "api/program_options.h"},
      {"api/program.cc", "api/dynamic/b.h"},
      {"api/check/target/a.cc", "api/session.h"},
  };
  for (const auto& [file, include] : good) EXPECT_EQ(CheckOne(file, include), "") << file;
}

TEST(LayeringCheckerTest, RejectsUpwardAndSideways) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"base/a.h", "graph/ir/b.h"},
      {"graph/ir/a.h", "graph/ops/b.h"},
      {"graph/ir/a.h", "profiler/event.h"},
      {"graph/ops/a.cc", "profiler/event.h"},
      {"graph/ops/a.cc", "passes/cse.h"},
      {"profiler/a.cc", "graph/ir/graph.h"},
      {"profiler/a.cc", "profiler/sinks/b.h"},
      {"profiler/sinks/a.cc", "profiler/read/b.h"},
      {"passes/cse.cc", "profiler/sinks/b.h"},
      {"serialize/dot/a.cc", "passes/cse.h"},
      {"serialize/dot/a.cc", "lowering/plan.h"},
      {"passes/cse.cc", "serialize/onnx/import.h"},
      {"passes/cse.cc", "lowering/plan.h"},
      {"lowering/plan.cc", "passes/cse.h"},
      {"lowering/plan.cc", "backends/cpu/a.h"},
      {"backends/plugin.cc", "backends/cpu/a.h"},
      {"backends/cpu/a.cc", "backends/reference/b.h"},
      {"backends/cpu/a.cc", "passes/cse.h"},
      {"backends/cuda/a.cc", "api/session.h"},
      {"api/session.cc", "tools/flags.h"},
      {"api/session.cc", "tests/models/m.h"},
      {"tools/opt.cc", "graph/ir/graph.h"},
      {"tools/opt.cc", "tests/models/m.h"},
      {"tools/opt.cc", "examples/custom_pass/a.h"},
      {"examples/models/net.cc", "api/compiler.h"},
      {"examples/custom_pass/a.cc", "tools/flags.h"},
      // Rooms.
      {"graph/sym/a.h", "graph/ir/b.h"},
      {"graph/tensor/a.h", "graph/ir/b.h"},
      {"graph/ir/a.cc", "graph/text/b.h"},
      {"graph/ir/a.cc", "graph/text/parts/b.h"},
      {"graph/text/parts/a.cc", "graph/text/b.h"},
      {"graph/text/parts/a.cc", "graph/verify/b.h"},
      {"graph/verify/a.cc", "graph/text/b.h"},
      {"serialize/onnx/raw_data.cc", "serialize/onnx/import/b.h"},
      {"serialize/onnx/import/a.cc", "serialize/onnx/export/b.h"},
      {"passes/engine/rewrite/a.cc", "passes/cse.h"},
      {"passes/engine/a.cc", "passes/sizes/b.h"},
      {"passes/fuse/a.cc", "passes/sizes/b.h"},
      {"passes/fuse/a.cc", "passes/fuse_epilogue.h"},
      {"backends/cpu/kernels/a.cc", "graph/ir/b.h"},
      {"backends/cpu/jit/a.cc", "lowering/kernel.h"},
      {"backends/cpu/onednn/a.cc", "backends/cpu/interpreter/b.h"},
      {"backends/cpu/library/a.cc", "backends/cpu/executable.h"},
      {"api/check/a.cc", "api/session.h"},
      {"api/session.cc", "api/dynamic/b.h"},
      {"api/session.cc", "api/program.h"},
      {"api/dynamic/a.cc", "api/program.h"},
      {"api/inspect/a.cc", "api/model_io.h"},
  };
  for (const auto& [file, include] : bad) {
    EXPECT_THAT(CheckOne(file, include), testing::HasSubstr("may not include"))
        << file << " including " << include;
  }
}

TEST(LayeringCheckerTest, AbseilAlone) {
  EXPECT_THAT(CheckOne("graph/ir/a.cc", "onnx/onnx_pb.h"), testing::HasSubstr("Abseil alone"));
  EXPECT_THAT(CheckOne("graph/ops/a.cc", "gtest/gtest.h"), testing::HasSubstr("Abseil alone"));
  EXPECT_THAT(Check({{"profiler/a.cc", "#include <google/protobuf/message.h>\n"}}),
              testing::ElementsAre(testing::HasSubstr("Abseil alone")));
}

TEST(LayeringCheckerTest, PathsStartAtTheRoot) {
  EXPECT_THAT(CheckOne("graph/ir/a.cc", "b.h"), testing::HasSubstr("root"));
  EXPECT_THAT(CheckOne("graph/ir/a.cc", "../ops/b.h"), testing::HasSubstr("root"));
  EXPECT_THAT(CheckOne("passes/a.cc", "graph/b.h"), testing::HasSubstr("no layer"));
  EXPECT_THAT(Check({{"scratch/a.cc", ""}}), testing::ElementsAre(testing::HasSubstr("no layer")));
}

TEST(LayeringCheckerTest, ForeignProjectsSeeWhatIsInstalled) {
  EXPECT_EQ(CheckOne("examples/embed/a.cc", "own.h"), "");
  EXPECT_EQ(CheckOne("examples/embed/a.cc", "weft/api/compiler.h"), "");
  EXPECT_THAT(CheckOne("examples/embed/a.cc", "api/compiler.h"), testing::HasSubstr("installed"));
  EXPECT_THAT(CheckOne("examples/plugin/a.cc", "passes/cse.h"), testing::HasSubstr("installed"));
}

TEST(LayeringCheckerTest, OnlyPipelinesComposes) {
  EXPECT_EQ(CheckOne("passes/cse.cc", "passes/cse.h"), "");
  EXPECT_EQ(CheckOne("passes/cse.cc", "passes/cse/table.h"), "");
  EXPECT_EQ(CheckOne("passes/cse.cc", "passes/engine/rewrite/rewriter.h"), "");
  EXPECT_EQ(CheckOne("passes/pipelines.cc", "passes/cse.h"), "");
  EXPECT_THAT(CheckOne("passes/cse.cc", "passes/dce.h"), testing::HasSubstr("composes"));
  EXPECT_THAT(CheckOne("passes/cse.cc", "passes/pipelines.h"), testing::HasSubstr("composes"));
  EXPECT_THAT(CheckOne("passes/quantize/a.cc", "passes/dce.h"), testing::HasSubstr("composes"));
  EXPECT_THAT(CheckOne("passes/decompose/a.cc", "passes/dce.h"), testing::HasSubstr("composes"));
}

TEST(LayeringCheckerTest, ToolsSeeWhatTheApiIncludes) {
  const std::string api = "#include \"passes/engine/pass.h\"\n";
  const std::string tool = "#include \"passes/engine/pass.h\"\n#include \"passes/cse.h\"\n";
  EXPECT_THAT(Check({{"api/compiler.h", api}, {"tools/opt.cc", tool}}),
              testing::ElementsAre(testing::StartsWith("tools/opt.cc:2: ")));
  // What a source file of the api includes is its own affair.
  EXPECT_THAT(Check({{"api/compiler.cc", api}, {"tools/opt.cc", tool}}), testing::SizeIs(2));
}

}  // namespace
}  // namespace weft
