// One program, all sizes: a model with symbolic sizes is compiled once, and takes
// every size in their ranges, with the results of the model as it was imported.
//
// Each model runs on 50 assignments of sizes to its symbols: all at their smallest,
// all at their largest, and others drawn so that small sizes are as likely as large
// ones and conditions hold. To save time, ranges without an end are cut at kUnbounded,
// and what is drawn is at most kMaxDrawn more than the smallest size. Results agree
// exactly but for the sign of zeros, which is the contract of `default`. A size beside
// its range is refused, and the message names it.
//
// The models written here run always. The programs of torch.export lie beside the
// checkout (../shared/pt2); those of them that have symbolic sizes run when they are
// there, with their own data as well: as exported, and decomposed (kFewSamples).
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/check/compare.h"
#include "api/check/seeded_inputs.h"
#include "api/dynamic/graph_sizes.h"
#include "api/model_io.h"
#include "api/program.h"
#include "api/session.h"
#include "backends/runtime/size_program.h"
#include "gmock/gmock.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"
#include "graph/ops/registry.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

using testing::AllOf;
using testing::HasSubstr;

constexpr int kSamples = 50;
constexpr int kFewSamples = 10;
constexpr int64_t kUnbounded = 64;
constexpr int64_t kMaxDrawn = 5;

// By symbol, as the size program numbers them.
using Sizes = std::vector<int64_t>;

class SizeSampler {
 public:
  explicit SizeSampler(const Graph& main)
      : main_(main),
        size_program_(MakeSizeProgram(main)),
        random_(static_cast<uint32_t>(main.num_nodes())) {}

  const SizeProgram& size_program() const { return size_program_; }
  SymbolInfo InfoOf(int number) const {
    const SymInt symbol = size_program_.symbols()[number];
    const SymbolInfo* known = main_.module().symbols().Find(symbol);
    SymbolInfo info;
    if (known != nullptr) info = *known;
    info.symbol = symbol;
    return info;
  }

  // The sample; all symbols at the smallest size for the first one, and so on.
  Sizes Draw(int sample) {
    for (int attempt = 0; attempt < 10000; ++attempt) {
      Sizes sizes;
      for (size_t i = 0; i < size_program_.symbols().size(); ++i) {
        const bool end = attempt == 0 && sample < 2;
        sizes.push_back(DrawOne(InfoOf(static_cast<int>(i)), end ? sample : 2));
      }
      if (Holds(sizes)) return sizes;
    }
    ADD_FAILURE() << "no sizes meet the conditions";
    return {};
  }

 private:
  int64_t DrawOne(const SymbolInfo& info, int which) {
    const int64_t step = info.divisor;
    const int64_t max = std::min(info.range.max, std::max(kUnbounded, info.range.min));
    const int64_t low = (std::max<int64_t>(info.range.min, 0) + step - 1) / step;
    const int64_t high = max / step;
    if (which < 2) return (which == 0 ? low : high) * step;
    const int64_t top = std::min(high, low + kMaxDrawn);
    const double unit = static_cast<double>(random_()) / 4294967296.0;
    const double drawn = std::exp(unit * std::log(static_cast<double>(top - low + 2)));
    return (low + static_cast<int64_t>(drawn) - 1) * step;
  }

  bool Holds(const Sizes& sizes) const {
    for (const SymCondition& c : main_.module().symbols().conditions()) {
      if (!size_program_.Knows(c.condition)) continue;
      const auto value = Evaluate(c.condition, [&](SymInt s) -> std::optional<int64_t> {
        return sizes[size_program_.NumberOf(s)];
      });
      if (value != 1) return false;
    }
    return true;
  }

  const Graph& main_;
  const SizeProgram size_program_;
  std::mt19937 random_;
};

absl::StatusOr<std::vector<HostTensor>> SeededInputs(const Graph& main,
                                                     const SizeProgram& size_program,
                                                     const Sizes& sizes, uint64_t seed) {
  SeedOptions options;
  options.seed = seed;
  for (size_t i = 0; i < sizes.size(); ++i) {
    options.dims[std::string(size_program.symbols()[i].name())] = sizes[i];
  }
  return MakeSeededInputs(main, options);
}

// Inputs of zeros, whatever the sizes.
std::vector<HostTensor> ZeroInputs(const Graph& main, const SizeProgram& size_program,
                                   const Sizes& sizes) {
  const auto size_of = [&](SymInt s) {
    return *Evaluate(s, [&](SymInt symbol) -> std::optional<int64_t> {
      return sizes[size_program.NumberOf(symbol)];
    });
  };
  std::vector<HostTensor> inputs;
  for (int i = 0; i < main.num_inputs(); ++i) {
    const Type type = main.input(i)->type();
    if (type.is_symint()) {
      inputs.push_back(HostTensor::ScalarInt(DType::kI64, size_of(type.symint())));
      continue;
    }
    std::vector<int64_t> dims;
    for (SymInt d : type.dims()) dims.push_back(size_of(d));
    inputs.push_back(HostTensor(type.dtype(), dims));
  }
  return inputs;
}

void ExpectEqual(const std::vector<HostTensor>& got, const std::vector<HostTensor>& want) {
  ASSERT_EQ(got.size(), want.size());
  CompareOptions exact;
  exact.rtol = exact.atol = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i].BitEqual(want[i])) continue;
    const absl::Status status = Compare(got[i], want[i], exact);
    EXPECT_TRUE(status.ok()) << "output " << i << ": " << status.message();
  }
}

std::string Text(const SizeProgram& size_program, const Sizes& sizes) {
  std::string text;
  for (size_t i = 0; i < sizes.size(); ++i) {
    absl::StrAppend(&text, size_program.symbols()[i].ToString(), "=", sizes[i], " ");
  }
  return text;
}

absl::StatusOr<Program> MakeProgram(const Module& model, Dynamic dynamic) {
  ProgramOptions options;
  options.dynamic = dynamic;
  options.at_limit = ProgramOptions::AtLimit::kFail;
  return Program::Create(model.Clone(), options);
}

// The given sizes on the program and on the model itself.
void ExpectRightOnAll(const std::vector<Sizes>& samples, const SizeProgram& size_program,
                      const Module& model, Program& program) {
  const auto session = Session::Create(model.Clone(), "reference");
  ASSERT_TRUE(session.ok()) << session.status();
  for (size_t i = 0; i < samples.size(); ++i) {
    SCOPED_TRACE(Text(size_program, samples[i]));
    const auto inputs = SeededInputs(program.main(), size_program, samples[i], i);
    ASSERT_TRUE(inputs.ok()) << inputs.status();
    const auto got = program.Run(*inputs);
    ASSERT_TRUE(got.ok()) << got.status();
    std::vector<HostTensor> written;
    const auto want = session->RunStateless(*inputs, &written);
    ASSERT_TRUE(want.ok()) << want.status();
    ExpectEqual(*got, *want);
  }
}

// One more, or one less, than each symbol may be.
int ExpectRefusedOutside(const SizeSampler& sampler, const Sizes& inside, Program& program) {
  const SizeProgram& size_program = sampler.size_program();
  int refused = 0;
  for (size_t i = 0; i < inside.size(); ++i) {
    const SymbolInfo info = sampler.InfoOf(static_cast<int>(i));
    for (const bool above : {true, false}) {
      if (above ? info.range.max == SymRange::kMax : info.range.min <= 0) continue;
      Sizes sizes = inside;
      sizes[i] = above ? info.range.max + 1 : info.range.min - 1;
      SCOPED_TRACE(Text(size_program, sizes));
      const absl::Status status =
          program.Run(ZeroInputs(program.main(), size_program, sizes)).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
      const SizeProgram::Source& source = size_program.source(static_cast<int>(i));
      EXPECT_THAT(std::string(status.message()),
                  AllOf(HasSubstr(program.main().input_info(source.input).name),
                        HasSubstr(info.symbol.ToString()), HasSubstr(absl::StrCat(sizes[i])),
                        testing::AnyOf(HasSubstr("outside of"), HasSubstr("does not hold"))));
      ++refused;
    }
  }
  return refused;
}

// The whole of it. Returns the number of sizes that were refused.
int CheckAllSizes(const Module& model, Program& program, int count = kSamples) {
  SizeSampler sampler(*model.main());
  std::vector<Sizes> samples;
  for (int i = 0; i < count; ++i) samples.push_back(sampler.Draw(i));
  ExpectRightOnAll(samples, sampler.size_program(), model, program);
  const int refused = ExpectRefusedOutside(sampler, samples[0], program);
  const ProgramExplanation explanation = program.Explain();
  EXPECT_EQ(explanation.compiles, 1) << explanation.ToString();
  EXPECT_EQ(explanation.as_imported, 0);
  EXPECT_EQ(explanation.refused, refused);
  return refused;
}

// --- Models of our own ---------------------------------------------------------------

struct OwnModel {
  const char* name;
  const char* text;
};

constexpr OwnModel kModels[] = {
    {"attention", R"(
func @main(%x: f32[batch, length, 8], %wq: f32[8, 8], %wk: f32[8, 8], %wv: f32[8, 8],
      %scale: f32[8], %bias: f32[8])
    where 1 <= batch <= 12, 1 <= length <= 40 {
  %0, %16, %17 = native_layer_norm(%x, %scale, %bias, normalized_shape=[8], eps=1e-05)
  %1 = matmul(%0, %wq)
  %2 = matmul(%0, %wk)
  %3 = matmul(%0, %wv)
  %4 = reshape(%1, size=[batch, length, 2, 4])
  %5 = permute(%4, dims=[0, 2, 1, 3])
  %6 = reshape(%2, size=[batch, length, 2, 4])
  %7 = permute(%6, dims=[0, 2, 3, 1])
  %8 = reshape(%3, size=[batch, length, 2, 4])
  %9 = permute(%8, dims=[0, 2, 1, 3])
  %10 = matmul(%5, %7)
  %11 = softmax(%10, dim=3)
  %12 = matmul(%11, %9)
  %13 = permute(%12, dims=[0, 2, 1, 3])
  %14 = reshape(%13, size=[batch, length, 8])
  %15 = add(%14, %x)
  return %15
})"},
    {"convolution", R"(
func @main(%x: f32[n, 2, h, w], %w0: f32[4, 2, 3, 3], %b0: f32[4], %w1: f32[3, 4])
    where 1 <= n <= 6, 3 <= h <= 24, 3 <= w <= 24 {
  %0 = convolution(%x, %w0, %b0, stride=[2, 2], padding=[1, 1], dilation=[1, 1],
                   transposed=false, output_padding=[0, 0], groups=1)
  %1 = relu(%0)
  %2 = mean(%1, dim=[2, 3])
  %3 = permute(%w1, dims=[1, 0])
  %4 = matmul(%2, %3)
  return %1, %4
})"},
    {"divisible", R"(
func @main(%x: f32[s0, 4], %y: f32[s1]) where 4 <= s0 <= 64, s0 % 4 == 0, 2 <= s1 <= 32 {
  %0 = reshape(%x, size=[s0 // 4, 16])
  %1 = sum(%0, dim=[1])
  %2 = cat(%1, %y, dim=0)
  %3 = reshape(%x, size=[4*s0])
  %4 = slice(%3, dim=0, start=s0 // 2, end=s0)
  return %2, %4
})"},
    {"derived", R"(
func @main(%a: f32[s0], %b: f32[2*s0 + 1]) where 3 <= s0 <= 50 {
  %0 = slice(%b, dim=0, start=s0 + 1)
  %1 = mul(%a, %0)
  %2 = cat(%1, %b, dim=0)
  %3 = reshape(%2, size=[3*s0 + 1, 1])
  %4 = reshape(%a, size=[1, s0])
  %5 = add(%3, %4)
  return %2, %5
})"},
    {"conditions", R"(
func @main(%x: f32[s0, s1], %y: f32[s1, 1]) where s0 >= s1, s0 + s1 <= 40, 1 <= s1, 1 <= s0 {
  %0 = slice(%x, dim=0, end=s1)
  %1 = permute(%0, dims=[1, 0])
  %2 = add(%0, %1)
  %3 = mul(%2, %y)
  %4 = reshape(%3, size=[s1*s1])
  return %3, %4
})"},
    {"data", R"(
func @main(%x: f32[s0, s1], %n: symint[s2]) where 0 <= s0 <= 20, 1 <= s1 <= 9, 1 <= s2 <= 5 {
  %0 = relu(%x)
  %1 = nonzero(%0)
  %2 = expand(%x, size=[s2, s0, s1])
  %3 = sum(%2, dim=[0])
  return %1, %3
})"},
};

std::unique_ptr<Module> Read(const OwnModel& own) {
  auto module = ParseModule(own.text, ops::Registry());
  EXPECT_TRUE(module.ok()) << own.name << ": " << module.status();
  return module.ok() ? *std::move(module) : nullptr;
}

TEST(AllSizes, OfOurModels) {
  int refused = 0;
  for (const OwnModel& own : kModels) {
    SCOPED_TRACE(own.name);
    const auto model = Read(own);
    ASSERT_NE(model, nullptr);
    auto program = MakeProgram(*model, Dynamic::kSymbolic);
    ASSERT_TRUE(program.ok()) << program.status();
    refused += CheckAllSizes(*model, *program);
  }
  EXPECT_GE(refused, 20);
}

// The second sample changes all sizes.
TEST(AllSizes, OfOurModelsWithAutomaticDynamic) {
  for (const OwnModel& own : kModels) {
    SCOPED_TRACE(own.name);
    const auto model = Read(own);
    ASSERT_NE(model, nullptr);
    auto program = MakeProgram(*model, Dynamic::kAutomatic);
    ASSERT_TRUE(program.ok()) << program.status();
    SizeSampler sampler(*model->main());
    std::vector<Sizes> samples;
    for (int i = 0; i < kSamples; ++i) samples.push_back(sampler.Draw(i));
    ExpectRightOnAll(samples, sampler.size_program(), *model, *program);
    const int64_t symbols = static_cast<int64_t>(sampler.size_program().symbols().size());
    EXPECT_GE(program->Explain().compiles, 2);
    EXPECT_LE(program->Explain().compiles, 1 + symbols) << program->Explain().ToString();
  }
}

// --- Programs of torch.export ----------------------------------------------------------

fs::path SharedPrograms() {
  const fs::path workspace =
      fs::path(std::getenv("TEST_SRCDIR")) / std::getenv("TEST_WORKSPACE") / "WORKSPACE";
  return fs::canonical(workspace).parent_path().parent_path() / "shared" / "pt2";
}

std::vector<HostTensor> ReadTensors(const fs::path& folder, const std::string& stem) {
  std::vector<HostTensor> tensors;
  for (;;) {
    const fs::path file = folder / absl::StrCat(stem, tensors.size(), ".npy");
    if (!fs::exists(file)) return tensors;
    auto tensor = LoadTensor(file.string());
    EXPECT_TRUE(tensor.ok()) << tensor.status();
    if (!tensor.ok()) return tensors;
    tensors.push_back(*std::move(tensor));
  }
}

// The data of the program, by the rule of the suite.
int CheckCases(const fs::path& folder, Program& program) {
  int cases = 0;
  for (; fs::exists(folder / absl::StrCat("case_", cases)); ++cases) {
    const fs::path data = folder / absl::StrCat("case_", cases);
    SCOPED_TRACE(data.string());
    const std::vector<HostTensor> given = ReadTensors(data, "in_");
    std::vector<HostTensor> inputs;
    for (int i = 0; i < program.main().num_inputs(); ++i) {
      const bool state = program.main().input_info(i).initial >= 0;
      inputs.push_back(state || inputs.size() >= given.size() ? HostTensor()
                                                              : given[inputs.size()]);
    }
    const auto got = program.Run(inputs);
    EXPECT_TRUE(got.ok()) << got.status();
    const std::vector<HostTensor> want = ReadTensors(data, "out_");
    EXPECT_GE(want.size(), 1u);
    for (size_t i = 0; got.ok() && i < want.size(); ++i) {
      double most = 1;
      for (double v : want[i].ReadDoubles()) most = std::max(most, std::abs(v));
      CompareOptions rule;
      rule.rtol = 1e-4;
      rule.atol = 1e-5 * most;
      EXPECT_TRUE(Compare((*got)[i], want[i], rule).ok()) << "output " << i;
    }
  }
  return cases;
}

struct Archive {
  const char* name;
  const char* file;
  int samples;
};
constexpr Archive kArchives[] = {{"exported", "model.pt2", kSamples},
                                 {"decomposed", "core.pt2", kFewSamples}};

class SharedProgramsTest : public testing::TestWithParam<Archive> {};

TEST_P(SharedProgramsTest, TakeAllSizes) {
  const fs::path root = SharedPrograms();
  if (!fs::exists(root)) {
    GTEST_SKIP() << root << " is not there; it holds programs that torch.export wrote";
  }
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(root)) {
    if (fs::exists(entry.path() / GetParam().file)) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  int programs = 0;
  int cases = 0;
  for (const fs::path& folder : folders) {
    SCOPED_TRACE(folder.filename().string());
    auto model = LoadModel((folder / GetParam().file).string());
    ASSERT_TRUE(model.ok()) << model.status();
    if (MakeSizeProgram(*(*model)->main()).symbols().empty()) continue;
    auto program = MakeProgram(**model, Dynamic::kSymbolic);
    ASSERT_TRUE(program.ok()) << program.status();
    CheckAllSizes(**model, *program, GetParam().samples);
    cases += CheckCases(folder, *program);
    EXPECT_EQ(program->Explain().compiles, 1);
    ++programs;
  }
  std::cerr << programs << " programs, " << cases << " cases\n";
  EXPECT_GE(programs, 10);
  EXPECT_GE(cases, 20);
}

INSTANTIATE_TEST_SUITE_P(Archives, SharedProgramsTest, testing::ValuesIn(kArchives),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace weft
