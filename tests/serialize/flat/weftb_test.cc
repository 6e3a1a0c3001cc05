// .weftb files, written and read back.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/compiled_file.h"
#include "api/model_io.h"
#include "api/runtime/runtime_program.h"
#include "api/session.h"
#include "backends/cpu/standalone/standalone.h"
#include "backends/cpu/target.h"
#include "base/host_buffer.h"
#include "gmock/gmock.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/module.h"
#include "graph/ops/registry.h"
#include "graph/target/target_text.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "lowering/plan_constants.h"
#include "lowering/plan_facts.h"
#include "lowering/plan_text.h"
#include "serialize/flat/weftb_builder.h"
#include "serialize/flat/weftb_file.h"
#include "serialize/flat/weftb_format.h"
#include "serialize/flat/weftb_module.h"
#include "serialize/flat/weftb_plan.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using testing::HasSubstr;

constexpr char kModel[] = R"(
func @main(%x: f32[s0, 20]) -> (f32[s0, 3]) where 1 <= s0 <= 64 {
  %0 = constant(@c0) : f32[20, 3]
  %1 = matmul(%x, %0) : f32[s0, 3]  loc("fc/matmul")
  %2 = constant(dense<[0.5, -1.0, 2.0]>) : f32[3]
  %3 = add(%1, %2) : f32[s0, 3]  loc("fc/add")
  %4 = relu(%3) : f32[s0, 3]  loc("act")
  return %4
}
constants {
  @c0 "fc.weight" : f32[20, 3] = dense<0.25>
}
)";

std::string TempPath(const std::string& name) {
  return absl::StrCat(testing::TempDir(), "/", name);
}

std::string ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string BytesOf(const Module& module, const WeftbModuleOptions& options = {}) {
  WeftbBuilder builder;
  builder.producer = "test";
  EXPECT_TRUE(AddModuleToWeftb(module, options, &builder).ok());
  auto bytes = builder.Bytes();
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return *std::move(bytes);
}

std::shared_ptr<const WeftbFile> ParseFile(const std::string& bytes) {
  auto file = WeftbFile::Parse(bytes, "m.weftb");
  EXPECT_TRUE(file.ok()) << file.status();
  return *file;
}

std::unique_ptr<Module> ModuleOf(const WeftbFile& file) {
  auto module = ReadModuleFromWeftb(file, ops::Registry());
  EXPECT_TRUE(module.ok()) << module.status();
  return *std::move(module);
}

Plan LowerMain(const Module& module) {
  auto plan = Lower(*module.main(), cpu::CpuTarget());
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *std::move(plan);
}

TEST(Weftb, ModulesRoundTripExactly) {
  const auto module = Parse(kModel);
  const std::string bytes = BytesOf(*module);
  const auto file = ParseFile(bytes);
  EXPECT_TRUE(file->CheckAll().ok());
  EXPECT_EQ(file->contents().producer, "test");
  EXPECT_EQ(file->contents().minor, kWeftbMinor);
  const auto again = ModuleOf(*file);
  EXPECT_EQ(PrintModule(*again), PrintModule(*module));
  EXPECT_EQ(BytesOf(*again), bytes);
}

TEST(Weftb, EveryDTypeRoundTrips) {
  int64_t seed = 0;
  WeftbBuilder builder;
  std::vector<HostTensor> tensors;
  for (int d = 0; d <= static_cast<int>(DType::kC128); ++d) {
    const auto dtype = static_cast<DType>(d);
    for (const std::vector<int64_t>& dims :
         std::vector<std::vector<int64_t>>{{}, {5}, {3, 0, int64_t{1} << 40}, {7, 3}}) {
      auto tensor = HostTensor::Allocate(dtype, dims);
      ASSERT_TRUE(tensor.ok()) << tensor.status();
      for (int64_t i = 0; i < tensor->bytes(); ++i) {
        const auto byte = static_cast<uint8_t>(37 * ++seed);
        tensor->raw()[i] = dtype == DType::kBool ? byte % 2 : byte;
      }
      tensors.push_back(*tensor);
      ASSERT_TRUE(builder.AddConstant(tensor->Fingerprint(), *tensor).ok());
    }
  }
  const std::string path = TempPath("dtypes.weftb");
  ASSERT_TRUE(builder.Write(path).ok());
  const auto file = WeftbFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE((*file)->CheckAll().ok()) << (*file)->CheckAll();
  for (const HostTensor& want : tensors) {
    const auto got = (*file)->Constant(want.Fingerprint());
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_TRUE(got->BitEqual(want)) << want.type().ToString();
    EXPECT_EQ(got->dims(), want.dims());
  }
}

// The bits behind the last 4-bit element are not content.
TEST(Weftb, EqualContentsGiveEqualBytes) {
  const auto bytes = [](uint8_t last) {
    HostTensor tensor(DType::kU4, {3});
    tensor.raw()[0] = 0x21;
    tensor.raw()[1] = last;
    WeftbBuilder builder;
    EXPECT_TRUE(builder.AddConstant(tensor.Fingerprint(), tensor).ok());
    return *builder.Bytes();
  };
  EXPECT_EQ(bytes(0x03), bytes(0xf3));
  EXPECT_NE(bytes(0x03), bytes(0x04));
  EXPECT_EQ(BytesOf(*Parse(kModel)), BytesOf(*Parse(kModel)));
  const auto compiled = [](const std::string& path) {
    const auto module = Parse(kModel);
    const auto cpu = BuiltinBackends().Find("cpu");
    const absl::Status status = WriteCompiledFile(*module, **cpu, path);
    EXPECT_TRUE(status.ok()) << status;
    return ReadBytes(path);
  };
  EXPECT_EQ(compiled(TempPath("a.weftb")), compiled(TempPath("b.weftb")));
}

TEST(Weftb, AViewIsWrittenDense) {
  const HostTensor whole = HostTensor::FromInts(DType::kI16, {2, 3}, {1, 2, 3, 4, 5, 6});
  const auto turned = HostTensor::View(whole.buffer(), DType::kI16, {3, 2}, {1, 3});
  ASSERT_TRUE(turned.ok());
  WeftbBuilder builder;
  ASSERT_TRUE(builder.AddConstant(turned->Fingerprint(), *turned).ok());
  const auto file = ParseFile(*builder.Bytes());
  const auto got = file->Constant(turned->Fingerprint());
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_THAT(got->ReadInts(), testing::ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(Weftb, ConstantsAreAlignedViewsOfTheMapping) {
  const std::string path = TempPath("mapped.weftb");
  const auto module = Parse(kModel);
  ASSERT_TRUE(SaveModel(*module, path).ok());
  HostTensor weight;
  {
    const auto loaded = LoadModel(path);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(PrintModule(**loaded), PrintModule(*module));
    for (int i = 0; i < (*loaded)->constants().size(); ++i) {
      const HostTensor& tensor = (*loaded)->constants().tensor(i);
      if (tensor.numel() == 60) weight = tensor;
    }
  }
  // It outlives the module and the file object.
  ASSERT_TRUE(weight.valid());
  EXPECT_EQ(weight.DoubleAt(59), 0.25);
  // A page of its own in memory is one of the file: nothing was copied.
  EXPECT_EQ(reinterpret_cast<uintptr_t>(weight.raw()) % kWeftbPage, 0u);
  std::ifstream maps("/proc/self/maps");
  const std::string text((std::istreambuf_iterator<char>(maps)), {});
  EXPECT_THAT(text, HasSubstr("mapped.weftb"));
  const uintptr_t at = reinterpret_cast<uintptr_t>(weight.raw());
  bool inside = false;
  std::ifstream again("/proc/self/maps");
  for (std::string line; std::getline(again, line);) {
    if (!absl::StrContains(line, "mapped.weftb")) continue;
    const auto begin = std::stoull(line, nullptr, 16);
    const auto end = std::stoull(line.substr(line.find('-') + 1), nullptr, 16);
    inside |= begin <= at && at < end;
  }
  EXPECT_TRUE(inside);
}

TEST(Weftb, AFileMayBeWrittenOverTheOneThatItsConstantsComeFrom) {
  const std::string path = TempPath("same.weftb");
  ASSERT_TRUE(SaveModel(*Parse(kModel), path).ok());
  const std::string before = ReadBytes(path);
  const auto loaded = LoadModel(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ASSERT_TRUE(SaveModel(**loaded, path).ok());
  EXPECT_EQ(ReadBytes(path), before);
  EXPECT_EQ(PrintModule(**loaded), PrintModule(*Parse(kModel)));
}

TEST(Weftb, PlansRoundTripAndRun) {
  const auto module = Parse(kModel);
  const Plan plan = LowerMain(*module);
  WeftbBuilder builder;
  ASSERT_TRUE(AddModuleToWeftb(*module, {}, &builder).ok());
  const int target = builder.AddTarget("cpu", PrintTarget(cpu::CpuTarget()));
  ASSERT_TRUE(AddPlanToWeftb(plan, target, &builder).ok());
  EXPECT_EQ(AddPlanToWeftb(plan, target, &builder).code(), absl::StatusCode::kAlreadyExists);
  const auto file = ParseFile(*builder.Bytes());
  EXPECT_EQ(ParseTarget(file->contents().targets[0].text)->name, "cpu");
  // The module and its plan share the weight; the small constant is in the plan alone.
  EXPECT_EQ(file->contents().constants.size(), 2u);
  auto read = ReadPlanFromWeftb(*file, "main", "cpu");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(PrintPlan(*read, PlanForm::kSelfContained), PrintPlan(plan, PlanForm::kSelfContained));
  auto program = cpu::Standalone::Create(*std::move(read), {});
  ASSERT_TRUE(program.ok()) << program.status();
  auto session = Session::Create(Parse(kModel), "reference");
  ASSERT_TRUE(session.ok()) << session.status();
  for (const int64_t batch : {1, 5, 64}) {
    HostTensor x(DType::kF32, {batch, 20});
    std::vector<double> values;
    for (int64_t i = 0; i < x.numel(); ++i) values.push_back(static_cast<double>(i % 9) - 4);
    x.WriteDoubles(values);
    std::vector<HostTensor> got;
    ASSERT_TRUE((*program)->Run({x}, &got).ok());
    const auto want = session->Run({x});
    ASSERT_TRUE(want.ok()) << want.status();
    // Small integers times 1/4: exact in any order.
    ASSERT_EQ(got.size(), 1u);
    EXPECT_TRUE(got[0].BitEqual((*want)[0])) << batch;
  }
}

TEST(Weftb, PackedConstantsRoundTrip) {
  const auto module = Parse(kModel);
  Plan plan = LowerMain(*module);
  auto constants = std::make_shared<PlanConstants>(*plan.constants);
  PlanConstant& weight = constants->by_number.begin()->second;
  const HostTensor rows = HostTensor::FromDoubles(DType::kF32, {3}, {1, 2, 3});
  const HostTensor bytes = HostTensor::FromInts(DType::kU8, {2}, {4, 5});
  weight.packed = {{"rows", rows}, {"bytes", bytes}};
  SetConstants(constants, &plan);
  WeftbBuilder builder;
  const int target = builder.AddTarget("cpu", "");
  ASSERT_TRUE(AddPlanToWeftb(plan, target, &builder).ok());
  const std::string written = *builder.Bytes();
  const auto file = ParseFile(written);
  const auto read = ReadPlanFromWeftb(*file, "main", "cpu");
  ASSERT_TRUE(read.ok()) << read.status();
  for (const auto& [number, constant] : read->constants->by_number) {
    const size_t want = constant.tensor.BitEqual(weight.tensor) ? 2 : 0;
    ASSERT_EQ(constant.packed.size(), want) << number;
    if (want == 0) continue;
    EXPECT_EQ(constant.packed[0].layout, "rows");
    EXPECT_TRUE(constant.packed[0].data.BitEqual(rows));
    EXPECT_EQ(constant.packed[1].layout, "bytes");
    EXPECT_TRUE(constant.packed[1].data.BitEqual(bytes));
  }
  WeftbBuilder again;
  ASSERT_TRUE(AddPlanToWeftb(*read, again.AddTarget("cpu", ""), &again).ok());
  EXPECT_TRUE(*again.Bytes() == written);
}

// A program maps a part of the file that has nothing but what it reads.
TEST(Weftb, WhatIsReadIsInOnePlace) {
  const auto constant = [](int64_t elements, double value, bool packed) {
    PlanConstant c;
    c.tensor = HostTensor(DType::kF32, {elements});
    c.tensor.WriteDoubles(std::vector<double>(elements, value));
    if (packed) c.packed = {{"rows", HostTensor::Scalar(DType::kF32, value + 0.5)}};
    return c;
  };
  const auto module = Parse(kModel);
  Plan plan = LowerMain(*module);
  auto constants = std::make_shared<PlanConstants>(*plan.constants);
  const size_t own = constants->by_number.size();
  constants->by_number[100] = constant(4000, 1, true);
  constants->by_number[101] = constant(5000, 2, false);
  constants->by_number[102] = constant(3, 3, true);
  constants->by_number[103] = constant(2, 4, false);
  SetConstants(constants, &plan);
  WeftbBuilder builder;
  ASSERT_TRUE(AddPlanToWeftb(plan, builder.AddTarget("cpu", ""), &builder).ok());
  const auto file = ParseFile(*builder.Bytes());
  std::vector<int64_t> sizes;
  for (const WeftbContents::Constant& c : file->contents().constants) sizes.push_back(c.bytes / 4);
  ASSERT_EQ(sizes.size(), own + 6);
  // Small, large; copies; what the copies are of.
  EXPECT_TRUE(std::is_sorted(sizes.begin(), sizes.end() - 4));
  EXPECT_THAT(std::vector<int64_t>(sizes.end() - 5, sizes.end()),
              testing::ElementsAre(5000, 1, 1, 3, 4000));
}

TEST(Weftb, APlanOfAnotherFunctionIsRefused) {
  WeftbBuilder builder;
  const int target = builder.AddTarget("cpu", "");
  const Plan plan = LowerMain(*Parse("func @main(%x: f32[3]) -> (f32[3]) { return %x }"));
  const std::string text = PrintPlan(plan, PlanForm::kSelfContained);
  ASSERT_TRUE(builder.AddPlan("other", target, text).ok());
  const auto file = ParseFile(*builder.Bytes());
  EXPECT_EQ(ReadPlanFromWeftb(*file, "other", "cpu").status().message(),
            "m.weftb, plan of @other: the text is of @main");
}

TEST(Weftb, TwoConstantsOfOneIdAreRefused) {
  WeftbBuilder builder;
  const HostTensor one = HostTensor::FromInts(DType::kI8, {2}, {1, 2});
  ASSERT_TRUE(builder.AddConstant(7, one).ok());
  EXPECT_TRUE(builder.AddConstant(7, one).ok());
  EXPECT_EQ(builder.AddConstant(7, HostTensor::FromInts(DType::kI8, {2}, {1, 3})).message(),
            "two constants have the content id 0x0000000000000007");
}

TEST(Weftb, PlansAreFoundByInstructionSet) {
  WeftbBuilder builder;
  for (const char* set : {"", "avx2", "avx512"}) {
    ASSERT_TRUE(builder.AddPlan("main", builder.AddTarget("cpu", "", set), "").ok());
  }
  ASSERT_TRUE(builder.AddPlan("main", builder.AddTarget("cuda", "", "sm_90"), "").ok());
  const auto file = ParseFile(*builder.Bytes());
  const auto found = [&](absl::string_view target, const std::vector<std::string>& sets) {
    return FindPlanInWeftb(*file, "main", target, sets);
  };
  EXPECT_EQ(*found("cpu", {}), 0);
  EXPECT_EQ(*found("cpu", {"avx2"}), 1);
  EXPECT_EQ(*found("cpu", {"avx512", "avx2"}), 2);
  EXPECT_EQ(*found("cpu", {"neon"}), 0);  // The plan of which the set is not known.
  EXPECT_EQ(*found("cuda", {}), 3);
  const absl::Status none = found("cuda", {"sm_80", "sm_75"}).status();
  EXPECT_EQ(none.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(none.message(),
            "m.weftb: there is no plan of @main for target cuda with sm_80 or sm_75; the file has "
            "@main for cpu, @main for cpu:avx2, @main for cpu:avx512, @main for cuda:sm_90");
}

// A reader before version 1.2 refuses two copies of one layout.
TEST(Weftb, PlansMayShareAPackedCopy) {
  WeftbBuilder builder;
  const HostTensor weight = HostTensor::FromInts(DType::kI8, {2}, {1, 2});
  const HostTensor packed = HostTensor::FromInts(DType::kI8, {2}, {2, 1});
  const uint64_t id = weight.Fingerprint();
  ASSERT_TRUE(builder.AddConstant(id, weight).ok());
  const int narrow = builder.AddTarget("cpu", "", "avx2");
  const int wide = builder.AddTarget("cpu", "", "avx512");
  ASSERT_TRUE(builder.AddPacked(id, "mine", packed, narrow).ok());
  ASSERT_TRUE(builder.AddPacked(id, "both", packed, narrow).ok());
  ASSERT_TRUE(builder.AddPacked(id, "both", packed, wide).ok());
  const auto file = ParseFile(*builder.Bytes());
  const auto& entries = file->contents().packed;
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].instruction_set, "avx2");
  EXPECT_EQ(entries[1].instruction_set, "");
}

TEST(Weftb, MissingPlansAndGraphsAreNamed) {
  const auto module = Parse(kModel);
  WeftbBuilder builder;
  ASSERT_TRUE(
      AddPlanToWeftb(LowerMain(*module), builder.AddTarget("cpu", "target cpu {}"), &builder).ok());
  const auto file = ParseFile(*builder.Bytes());
  EXPECT_EQ(ReadPlanFromWeftb(*file, "main", "cuda").status().message(),
            "m.weftb: there is no plan of @main for target cuda; the file has @main for cpu");
  EXPECT_THAT(std::string(ReadPlanFromWeftb(*file, "other", "cpu").status().message()),
              HasSubstr("no plan of @other"));
  EXPECT_THAT(std::string(ReadModuleFromWeftb(*file, ops::Registry()).status().message()),
              HasSubstr("m.weftb: the file has no graph"));
  EXPECT_EQ(file->Constant(7).status().message(),
            "m.weftb: there is no constant of content 0x0000000000000007");
}

TEST(Weftb, NamesAreStripped) {
  const auto bytes = [](bool names) {
    const auto module = Parse(kModel);
    CompiledFileOptions options;
    options.names = names;
    options.graph = true;
    const std::string path = TempPath("names.weftb");
    EXPECT_TRUE(WriteCompiledFile(*module, **BuiltinBackends().Find("cpu"), path, options).ok());
    return ReadBytes(path);
  };
  EXPECT_THAT(bytes(true), HasSubstr("fc/matmul"));
  EXPECT_THAT(bytes(false), testing::Not(HasSubstr("fc/matmul")));
}

TEST(Weftb, ACompiledFileAgreesWithItsSource) {
  const auto source = Parse(kModel);
  const auto cpu = BuiltinBackends().Find("cpu");
  const std::string path = TempPath("check.weftb");
  ASSERT_TRUE(WriteCompiledFile(*source->Clone(), **cpu, path).ok());
  auto check = CheckCompiledFile(*source, **cpu, path);
  ASSERT_TRUE(check.ok()) << check.status();
  ASSERT_EQ(check->products.size(), 1u);
  EXPECT_EQ(check->products[0].product, "plan");
  EXPECT_GE(check->compared(), 4);
  EXPECT_EQ(check->difference, "");
  EXPECT_THAT(check->ToString(), HasSubstr("runs of source and plan agree"));
  // Another program in the file.
  std::string other(kModel);
  other.replace(other.find("relu"), 4, "tanh");
  check = CheckCompiledFile(*Parse(other), **cpu, path);
  ASSERT_TRUE(check.ok()) << check.status();
  EXPECT_THAT(check->difference, HasSubstr("output 0: "));
}

TEST(Weftb, AFileSaysWhatWasComparedOfIt) {
  const auto cpu = BuiltinBackends().Find("cpu");
  const std::string path = TempPath("says.weftb");
  const auto source = Parse(kModel);
  CompiledCheck check;
  CompiledFileOptions options;
  options.source = source.get();
  options.check_seed = 5;
  options.check = &check;
  ASSERT_TRUE(WriteCompiledFile(*source->Clone(), **cpu, path, options).ok());
  const auto file = WeftbFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE((*file)->CheckAll().ok());
  ASSERT_EQ((*file)->contents().checks.size(), 1u);
  const WeftbContents::Check& entry = (*file)->contents().checks[0];
  EXPECT_EQ(entry.product, "plan");
  EXPECT_EQ(entry.seed, 5u);
  EXPECT_EQ(static_cast<int>(entry.runs.size()), check.compared());
  EXPECT_EQ(entry.rtol, 1e-3);
  EXPECT_EQ(entry.largest_error, check.largest_error());
  EXPECT_THAT(*DescribeCompiledFile(path), HasSubstr("checked: plan for "));
  // A copy of other contents has not been compared.
  ASSERT_TRUE(StripMachineCode(path, path).ok());
  EXPECT_THAT(*DescribeCompiledFile(path), HasSubstr("checked: no"));
  // A source with other results.
  std::string other(kModel);
  other.replace(other.find("relu"), 4, "tanh");
  const auto another = Parse(other);
  options.source = another.get();
  ASSERT_TRUE(WriteCompiledFile(*source->Clone(), **cpu, path, options).ok());
  EXPECT_NE(check.difference, "");
  EXPECT_THAT(*DescribeCompiledFile(path), HasSubstr("checked: no"));
}

TEST(Weftb, StateHasItsInitialValue) {
  const auto module = Parse(R"(
func @main(%sum: f32[2] {param="sum", initial=@start}, %x: f32[2])
    -> (f32[2], f32[2] {writes=%sum}) {
  %0 = add(%sum, %x)
  return %0, %0
}
constants {
  @start : f32[2] = dense<[0.5, 0.25]>
}
)");
  const std::string path = TempPath("state.weftb");
  ASSERT_TRUE(WriteCompiledFile(*module, **BuiltinBackends().Find("cpu"), path).ok());
  const auto program = RuntimeProgram::Open(path);
  ASSERT_TRUE(program.ok()) << program.status();
  ASSERT_TRUE(program->inputs()[0].initial.valid());
  EXPECT_THAT(program->inputs()[0].initial.ReadDoubles(), testing::ElementsAre(0.5, 0.25));
  EXPECT_FALSE(program->inputs()[1].initial.valid());
  EXPECT_THAT(program->written_inputs(), testing::ElementsAre(0));
  EXPECT_THAT(*DescribeCompiledFile(path), HasSubstr("with initial values of 1 inputs"));
}

TEST(Weftb, APlanRunsWithOpsThatTheRuntimeLacks) {
  const auto source = Parse(
      "func @main(%x: f32[s0, 4]) -> (i64[u0, 2]) where unbacked u0 {"
      " %0 = nonzero(%x) : i64[u0, 2] return %0 }");
  const auto cpu = BuiltinBackends().Find("cpu");
  const std::string path = TempPath("nonzero.weftb");
  ASSERT_TRUE(WriteCompiledFile(*source->Clone(), **cpu, path).ok());
  EXPECT_THAT(*OpsOutsideRuntime(path, "cpu"), testing::ElementsAre("nonzero"));
  const auto check = CheckCompiledFile(*source, **cpu, path);
  ASSERT_TRUE(check.ok()) << check.status();
  EXPECT_EQ(check->difference, "");
  EXPECT_GT(check->compared(), 0);
}

// A file of a later minor version reads.
TEST(Weftb, OtherVersions) {
  std::string bytes = BytesOf(*Parse(kModel));
  const auto with_version = [&](uint16_t major, uint16_t minor) {
    std::string edited = bytes;
    WeftbHeader header = ReadWeftbHeader(edited);
    header.major = major;
    header.minor = minor;
    WriteWeftbHeader(header, edited.data());
    header.meta_hash = HashWeftbMeta(absl::string_view(edited).substr(0, header.meta_bytes));
    WriteWeftbHeader(header, edited.data());
    return edited;
  };
  EXPECT_EQ(ParseFile(with_version(kWeftbMajor, 900))->contents().minor, 900);
  const auto newer = WeftbFile::Parse(with_version(kWeftbMajor + 1, 3), "m.weftb");
  EXPECT_EQ(newer.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(newer.status().message(),
            "m.weftb: the file has version 2.3 of the .weftb format; this program reads version 1");
}

}  // namespace
}  // namespace weft
