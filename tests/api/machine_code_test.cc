// Machine code in .weftb files: programs run it if they allow it, with the bits of a session.
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/backends.h"
#include "api/compiled_file.h"
#include "api/compiler.h"
#include "api/runtime/runtime_program.h"
#include "api/session.h"
#include "examples/models/models.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "serialize/flat/weftb_file.h"
#include "tests/api/compiled_models.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using testing::HasSubstr;

std::string Write(std::unique_ptr<Module> module, absl::string_view name, bool kernels = true) {
  CompiledFileOptions options;
  options.instruction_sets = Sets();
  options.kernels = kernels;
  const auto status = WriteCompiledFile(*Compiled(std::move(module)), Cpu(), Path(name), options);
  EXPECT_TRUE(status.ok()) << status;
  return Path(name);
}

RuntimeProgram Open(const std::string& path, bool allow_code, const std::string& set = "native") {
  RuntimeProgramOptions options;
  options.allow_code = allow_code;
  options.cpu = set;
  auto program = RuntimeProgram::Open(path, options);
  EXPECT_TRUE(program.ok()) << program.status();
  return *std::move(program);
}

HostTensor RunOn(const RuntimeProgram& program, const HostTensor& x) {
  const auto got = program.Run({x});
  EXPECT_TRUE(got.ok()) << got.status();
  return got.ok() ? (*got)[0] : HostTensor();
}

// How many mappings of this process are of machine code from memory.
int Mappings() {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);)
    count += absl::StrContains(line, "weft_kernels");
  return count;
}

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(MachineCode, ModelsGiveWhatSessionsGive) {
  for (const char* name : {"bert", "gpt2", "softmax", "norm_chain"}) {
    models::ModelOptions small;
    small.small = true;
    auto model = models::BuildModel(name, small);
    ASSERT_TRUE(model.ok()) << model.status();
    const auto inputs = models::MakeInputs(*model, {});
    ASSERT_TRUE(inputs.ok()) << inputs.status();
    const std::string path = Write(model->module->Clone(), absl::StrCat(name, ".weftb"));
    for (const std::string& set : Sets()) {
      auto session = Session::Create(Compiled(model->module->Clone()), "cpu",
                                     {{"threads", "1"}, {"cpu", set}});
      ASSERT_TRUE(session.ok()) << session.status();
      const auto want = session->Run(*inputs);
      ASSERT_TRUE(want.ok()) << want.status();
      for (const bool allow_code : {false, true}) {
        SCOPED_TRACE(absl::StrCat(name, " ", set, " ", allow_code));
        const RuntimeProgram program = Open(path, allow_code, set);
        const auto got = program.Run(*inputs);
        ASSERT_TRUE(got.ok()) << got.status();
        EXPECT_EQ(program.machine_code_steps() > 0, allow_code);
        ASSERT_EQ(got->size(), want->size());
        for (size_t i = 0; i < got->size(); ++i) {
          EXPECT_TRUE((*got)[i].BitEqual((*want)[i])) << "output " << i;
        }
      }
    }
  }
}

TEST(MachineCode, SizesStaySymbolic) {
  const std::string path = Write(Parse(kModel), "sizes.weftb");
  const RuntimeProgram code = Open(path, true), interpreted = Open(path, false);
  for (const int64_t rows : {0, 1, 3, 17}) {
    for (const int64_t columns : {1, 8, 33}) {
      const HostTensor x = Ramp(rows, columns);
      EXPECT_TRUE(RunOn(code, x).BitEqual(RunOn(interpreted, x))) << rows << " x " << columns;
    }
  }
  EXPECT_GT(code.machine_code_steps(), 0);
  EXPECT_EQ(interpreted.machine_code_steps(), 0);
}

TEST(MachineCode, AFileWithoutItIsInterpreted) {
  const RuntimeProgram program = Open(Write(Parse(kModel), "plain.weftb", false), true);
  EXPECT_TRUE(RunOn(program, Ramp(2, 3)).valid());
  EXPECT_EQ(program.machine_code_steps(), 0);
}

// Not a byte of it is mapped as code before it has the hash of the file's description.
TEST(MachineCode, AFlippedByteIsRefused) {
  const std::string path = Write(Parse(kModel), "flipped.weftb");
  const auto file = WeftbFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  const WeftbContents& contents = (*file)->contents();
  ASSERT_EQ(contents.codes.size(), Sets().size());
  std::string bytes = Read(path);
  for (const WeftbContents::Code& code : contents.codes) {
    const WeftbContents::Segment& segment = contents.segments[code.segment];
    bytes[segment.offset + segment.bytes / 2] ^= 1;
  }
  std::ofstream(Path("bad.weftb"), std::ios::binary) << bytes;
  RuntimeProgramOptions options;
  options.allow_code = true;
  const absl::Status status = RuntimeProgram::Open(Path("bad.weftb"), options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("bad.weftb: the machine code in segment "));
  EXPECT_THAT(status.message(), HasSubstr("does not have the hash that the file gives"));
  EXPECT_EQ(Mappings(), 0);
  EXPECT_TRUE(RunOn(Open(Path("bad.weftb"), false), Ramp(2, 3)).valid());
}

// The loader knows libraries by their paths, which name descriptors here.
TEST(MachineCode, SeveralModelsComeAndGo) {
  std::string other(kModel);
  other.replace(other.find("tanh"), 4, "relu");
  const std::string first = Write(Parse(kModel), "first.weftb");
  const std::string second = Write(Parse(other), "second.weftb");
  const HostTensor x = Ramp(2, 5);
  const HostTensor want_first = RunOn(Open(first, false), x);
  const HostTensor want_second = RunOn(Open(second, false), x);
  EXPECT_FALSE(want_first.BitEqual(want_second));
  auto a = std::make_unique<RuntimeProgram>(Open(first, true));
  auto b = std::make_unique<RuntimeProgram>(Open(second, true));
  EXPECT_TRUE(RunOn(*a, x).BitEqual(want_first));
  EXPECT_TRUE(RunOn(*b, x).BitEqual(want_second));
  a.reset();
  auto c = std::make_unique<RuntimeProgram>(Open(second, true));
  EXPECT_TRUE(RunOn(*c, x).BitEqual(want_second));
  c.reset();
  auto d = std::make_unique<RuntimeProgram>(Open(first, true));
  EXPECT_TRUE(RunOn(*d, x).BitEqual(want_first));
  EXPECT_TRUE(RunOn(*b, x).BitEqual(want_second));
  EXPECT_GT(Mappings(), 0);
}

TEST(MachineCode, AThousandLoadsLeaveNothing) {
  const std::string path = Write(Parse(kModel), "loads.weftb");
  for (int i = 0; i < 1000; ++i) Open(path, true);
  EXPECT_EQ(Mappings(), 0);
}

TEST(MachineCode, ItIsDropped) {
  const std::string plain = Write(Parse(kModel), "without.weftb", false);
  const std::string code = Write(Parse(kModel), "with.weftb");
  EXPECT_NE(Read(code), Read(plain));
  ASSERT_TRUE(StripMachineCode(code, Path("stripped.weftb")).ok());
  EXPECT_EQ(Read(Path("stripped.weftb")), Read(plain));
}

}  // namespace
}  // namespace weft
