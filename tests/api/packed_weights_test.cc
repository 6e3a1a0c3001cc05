// Compiled files with packed weights: programs run them in place, with the bits of other programs.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/backends.h"
#include "api/compiled_file.h"
#include "api/compiled_program.h"
#include "backends/cpu/standalone/standalone.h"
#include "backends/runtime/step_evaluator.h"
#include "base/align.h"
#include "base/host_buffer.h"
#include "gmock/gmock.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/module.h"
#include "graph/ops/registry.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "lowering/plan.h"
#include "lowering/plan_constants.h"
#include "lowering/plan_text.h"
#include "serialize/flat/weftb_file.h"
#include "serialize/flat/weftb_plan.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using testing::HasSubstr;

// Two products with parts of one weight, and one with all of another.
constexpr char kModel[] = R"(
func @main(%x: f32[s0, 48]) -> (%y: f32[s0, 32], %z: f32[s0, 32], %w: f32[s0, 40]) {
  %0 = constant(@c0) : f32[96, 32]
  %1 = slice(%0, dim=0, start=0, end=48) : f32[48, 32]
  %2 = slice(%0, dim=0, start=48, end=96) : f32[48, 32]
  %3 = constant(@c1) : f32[48, 40]
  %y = matmul(%x, %1)
  %z = matmul(%x, %2)
  %w = matmul(%x, %3)
  return %y, %z, %w
}
constants {
  @c0 "both.weight" : f32[96, 32] = dense<0.5>
  @c1 "one.weight" : f32[48, 40] = dense<0.25>
}
)";

std::string Path(absl::string_view name) { return absl::StrCat(testing::TempDir(), "/", name); }

std::string ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Writes a file of the model, whose weights become different numbers.
std::string Write(absl::string_view name, bool pack, absl::string_view model = kModel) {
  auto module = Parse(model);
  for (int i = 0; i < module->constants().size(); ++i) {
    const HostTensor& weight = module->constants().tensor(i);
    auto* const elements = weight.data<float>();
    for (int64_t e = 0; e < weight.numel(); ++e) {
      elements[e] = 0.01f * static_cast<float>((e * 37 + i) % 211) - 1;
    }
  }
  CompiledFileOptions options;
  options.pack = pack;
  const Backend& cpu = **BuiltinBackends().Find("cpu");
  const std::string path = Path(name);
  const absl::Status status = absl::EndsWith(path, ".so")
                                  ? WriteCompiledLibrary(*module, cpu, path, options)
                                  : WriteCompiledFile(*module, cpu, path, options);
  EXPECT_TRUE(status.ok()) << status;
  return path;
}

HostTensor Input(int64_t rows) {
  std::vector<double> values;
  for (int64_t i = 0; i < rows * 48; ++i) values.push_back(0.125 * static_cast<double>(i % 17) - 1);
  return HostTensor::FromDoubles(DType::kF32, {rows, 48}, values);
}

std::unique_ptr<cpu::Standalone> Open(const std::string& path) {
  const auto file = WeftbFile::Open(path);
  EXPECT_TRUE(file.ok()) << file.status();
  auto plan = ReadPlanFromWeftb(**file, "main", "cpu");
  EXPECT_TRUE(plan.ok()) << plan.status();
  auto program = cpu::Standalone::Create(*std::move(plan), {});
  EXPECT_TRUE(program.ok()) << program.status();
  return *std::move(program);
}

TEST(PackedWeights, NothingIsPackedAndTheBitsAreTheSame) {
  const std::string plain = Write("plain.weftb", /*pack=*/false);
  const std::string packed = Write("packed.weftb", /*pack=*/true);
  EXPECT_GE(ReadBytes(packed).size(), ReadBytes(plain).size() + 4 * 48 * (32 + 32 + 40));
  // Many rows may run in another routine, unless few rows came before.
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{1, 5, 64, 900}, {900, 3, 900}}) {
    const auto want_of = Open(plain);
    const auto got_of = Open(packed);
    for (const int64_t rows : sizes) {
      std::vector<HostTensor> want, got;
      ASSERT_TRUE(want_of->Run({Input(rows)}, &want).ok());
      ASSERT_TRUE(got_of->Run({Input(rows)}, &got).ok());
      ASSERT_EQ(got.size(), 3u);
      for (int i = 0; i < 3; ++i) EXPECT_TRUE(got[i].BitEqual(want[i])) << rows << " " << i;
    }
    EXPECT_EQ(want_of->Packed().size(), 3u);
    EXPECT_EQ(got_of->Packed().size(), 0u);
  }
}

TEST(PackedWeights, SharedObjectsHaveThem) {
  const auto plain = CompiledProgram::Open(Write("plain.weftb", /*pack=*/false));
  const auto packed = CompiledProgram::Open(Write("packed.so", /*pack=*/true));
  ASSERT_TRUE(packed.ok()) << packed.status();
  const auto want = plain->Run({Input(7)});
  const auto got = packed->Run({Input(7)});
  ASSERT_TRUE(want.ok() && got.ok()) << want.status() << got.status();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE((*got)[i].BitEqual((*want)[i])) << i;
}

TEST(PackedWeights, ADamagedCopyIsRefusedUnlessWeightsAreNotChecked) {
  const std::string path = Write("damaged.weftb", /*pack=*/true);
  const auto want = CompiledProgram::Open(path)->Run({Input(2)});
  std::string bytes = ReadBytes(path);
  {
    const auto file = WeftbFile::Parse(bytes, "m.weftb");
    ASSERT_TRUE(file.ok()) << file.status();
    const WeftbContents& contents = (*file)->contents();
    ASSERT_EQ(contents.packed.size(), 3u);
    for (const WeftbContents::Constant& constant : contents.constants) {
      if (constant.id != contents.packed[0].packed) continue;
      bytes[constant.offset + 2] = static_cast<char>(bytes[constant.offset + 2] ^ 0x40);
    }
  }
  std::ofstream(path, std::ios::binary) << bytes;
  EXPECT_THAT(std::string(CompiledProgram::Open(path).status().message()),
              HasSubstr("has another content, 0x"));
  CompiledProgramOptions options;
  options.check_weights = false;
  const auto program = CompiledProgram::Open(path, options);
  ASSERT_TRUE(program.ok()) << program.status();
  const auto got = program->Run({Input(2)});
  ASSERT_TRUE(want.ok() && got.ok()) << want.status() << got.status();
  int same = 0;
  for (int i = 0; i < 3; ++i) same += (*got)[i].BitEqual((*want)[i]);
  EXPECT_EQ(same, 2);
}

// Another layout is that of another machine.
TEST(PackedWeights, OtherLayoutsAreIgnored) {
  const auto file = WeftbFile::Open(Write("other.weftb", /*pack=*/true));
  ASSERT_TRUE(file.ok()) << file.status();
  auto plan = ReadPlanFromWeftb(**file, "main", "cpu");
  ASSERT_TRUE(plan.ok()) << plan.status();
  auto constants = std::make_shared<PlanConstants>(*plan->constants);
  for (auto& [number, constant] : constants->by_number) {
    for (PackedConstant& packed : constant.packed) {
      // The right name with too few elements, and another name.
      if (number % 2 == 0) {
        packed.data = HostTensor(DType::kF32, {64});
      } else {
        packed.layout += " ";
      }
    }
  }
  plan->constants = constants;
  const auto program = cpu::Standalone::Create(*std::move(plan), {});
  ASSERT_TRUE(program.ok()) << program.status();
  std::vector<HostTensor> want, got;
  ASSERT_TRUE((*program)->Run({Input(5)}, &got).ok());
  ASSERT_TRUE(Open(Write("plain.weftb", /*pack=*/false))->Run({Input(5)}, &want).ok());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(got[i].BitEqual(want[i])) << i;
  EXPECT_EQ((*program)->Packed().size(), 3u);
}

// --- Pages of weights --------------------------------------------------------------------

// The bytes of a file, of which those from `forbidden` on cannot be read.
class ForbiddenBytes : public HostBuffer {
 public:
  ForbiddenBytes(const std::string& bytes, int64_t forbidden)
      : HostBuffer(Map(bytes.size()), static_cast<int64_t>(bytes.size())) {
    std::memcpy(data(), bytes.data(), bytes.size());
    EXPECT_EQ(mprotect(data() + forbidden, size() - forbidden, PROT_NONE), 0);
  }
  ~ForbiddenBytes() override { munmap(data(), size()); }

 private:
  static uint8_t* Map(size_t size) {
    return static_cast<uint8_t*>(
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
};

// Ends the run at the first step.
class FirstStep : public StepEvaluator {
 public:
  absl::StatusOr<std::vector<HostTensor>> Evaluate(const Step& step, const AttrList*,
                                                   absl::Span<const HostTensor>) const override {
    return absl::CancelledError(absl::StrCat("reached ", step.op_name));
  }
  bool DependsOnData(const Step&) const override { return true; }
  void AddToProfile(const Plan&, const Step&, const SymbolEnv&,
                    profiler::Description*) const override {}
};

// A read of a forbidden page ends the process.
TEST(PackedWeights, NoWeightIsReadBeforeTheFirstInstruction) {
  const std::string bytes = ReadBytes(Write("first.weftb", /*pack=*/true, R"(
    func @main(%x: f32[7, 48]) -> (%i: i64[u0, 2], %y: f32[7, 400]) {
      %i = nonzero(%x) : i64[u0, 2]
      %0 = constant(@c0) : f32[48, 400]
      %y = matmul(%x, %0)
      return %i, %y
    }
    constants {
      @c0 "weight" : f32[48, 400] = dense<0.5>
    })"));
  int64_t first = static_cast<int64_t>(bytes.size());
  for (const auto& constant : (*WeftbFile::Parse(bytes, "m"))->contents().constants) {
    first = std::min(first, constant.offset);
  }
  const auto memory = std::make_shared<ForbiddenBytes>(bytes, first);
  ASSERT_EQ(first % sysconf(_SC_PAGESIZE), 0);
  const auto file = WeftbFile::View(memory, "m.weftb");
  ASSERT_TRUE(file.ok()) << file.status();
  WeftbPlanOptions options;
  options.check_weights = false;
  const auto parse = [](absl::string_view text, ConstantSource constants, absl::string_view name) {
    return ParsePlan(text, ops::Registry(), constants, name);
  };
  auto plan = ReadPlanFromWeftb(**file, "main", "cpu", options, parse);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const FirstStep evaluator;
  cpu::StandaloneOptions standalone;
  standalone.evaluator = &evaluator;
  const auto program = cpu::Standalone::Create(*std::move(plan), standalone);
  ASSERT_TRUE(program.ok()) << program.status();
  std::vector<HostTensor> outputs;
  EXPECT_THAT(std::string((*program)->Run({Input(7)}, &outputs).message()),
              HasSubstr("reached nonzero"));
}

// Kilobytes of the field in the mappings of the file of this name.
int64_t KilobytesOf(absl::string_view name, absl::string_view field) {
  std::ifstream maps("/proc/self/smaps");
  bool mine = false;
  int64_t sum = 0;
  for (std::string line; std::getline(maps, line);) {
    if (absl::StrContains(line, " r--p ") || absl::StrContains(line, " rw-p ")) {
      mine = absl::EndsWith(line, name);
    }
    if (mine && absl::StartsWith(line, field)) sum += std::stoll(line.substr(field.size()));
  }
  return sum;
}

// All processes that have the file open share its pages.
TEST(PackedWeights, APageOfTheFileIsNotCopied) {
  const auto program = Open(Write("shared.weftb", /*pack=*/true));
  std::vector<HostTensor> outputs;
  ASSERT_TRUE(program->Run({Input(3)}, &outputs).ok());
  EXPECT_GE(KilobytesOf("/shared.weftb", "Rss:"), 4 * 48 * (32 + 32 + 40) / 1024);
  EXPECT_EQ(KilobytesOf("/shared.weftb", "Private_Dirty:"), 0);
  EXPECT_EQ(KilobytesOf("/shared.weftb", "Anonymous:"), 0);
}

}  // namespace
}  // namespace weft
