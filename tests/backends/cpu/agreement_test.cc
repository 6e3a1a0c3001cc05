// The interpreter and generated code give the same bits. Kernels come from random programs, from
// reductions of many shapes and from the models. All kernels of a test are compiled as one unit,
// and each runs on arguments of random elements, with and without values that are not finite.
//
// All NaNs count as equal here, because it is unspecified which operand's bits a NaN keeps.
#include <cstdlib>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/compiler.h"
#include "backends/cpu/emit/emit_cc.h"
#include "backends/cpu/interpreter/interpreter.h"
#include "backends/cpu/interpreter/tile_program.h"
#include "backends/cpu/jit/kernel_library.h"
#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/target.h"
#include "backends/runtime/run_input.h"
#include "backends/runtime/symbol_env.h"
#include "examples/models/models.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"
#include "graph/target/target.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "lowering/plan_text.h"
#include "lowering/schedule_kernel.h"
#include "tests/lowering/random_graphs.h"
#include "tests/support/parse.h"
#include "tests/support/tensor_compare.h"

namespace weft::cpu {
namespace {

using GeneratedFn = int (*)(void* const*, const long*, void*, long, long);

// An instruction set, and a target for it, which may be an edited one.
struct Setting {
  Isa isa = Isa::kAvx2;
  int64_t vector_bytes = 32;
  int64_t l1_bytes = 32 << 10;
};

// An argument: the elements of its buffer, and the offset of its first element.
struct Argument {
  DType dtype = DType::kF32;
  int64_t elements = 0;
  int64_t offset = 0;
};

struct Case {
  std::string name;
  Kernel kernel;
  std::vector<Argument> arguments;
  // Values of the symbols; the module of the plan outlives the case.
  std::shared_ptr<const SymbolEnv> env;
};

void AddCases(const Plan& plan, const std::shared_ptr<const SymbolEnv>& env, std::string name,
              std::vector<Case>* cases) {
  for (const Step& step : plan.steps) {
    for (const auto& region : step.regions) AddCases(*region, env, name, cases);
    if (step.kind != StepKind::kKernel) continue;
    Case c;
    c.name = absl::StrCat(name, ", kernel @", plan.kernels[step.kernel].name);
    c.kernel = plan.kernels[step.kernel];
    c.env = env;
    std::vector<const View*> views;
    for (const View& view : step.args) views.push_back(&view);
    for (const View& view : step.results) views.push_back(&view);
    bool known = true;
    for (const View* view : views) {
      // Sizes that depend on data have no value, and absent results no memory.
      const auto elements =
          view->present() ? env->Eval(plan.buffers[view->buffer].numel) : std::nullopt;
      const auto offset = view->present() ? env->Eval(view->offset) : std::nullopt;
      known = known && elements && offset;
      if (known) c.arguments.push_back({view->type.dtype(), *elements, *offset});
    }
    if (known) cases->push_back(std::move(c));
  }
}

// Integers are small, so that most of them are indices within bounds.
void Fill(const Argument& argument, bool special, std::mt19937_64& random, HostTensor* tensor) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kSpecial[] = {0.0, -0.0, kInfinity, -kInfinity, kNan, 1e-40, -3e38};
  std::vector<double> values(argument.elements);
  for (double& v : values) {
    if (!IsFloat(argument.dtype)) {
      v = static_cast<double>(random() % 3);
    } else if (special && random() % 50 == 0) {
      v = kSpecial[random() % std::size(kSpecial)];
    } else {
      v = static_cast<double>(random() % 80001) / 10000 - 4;
    }
  }
  tensor->WriteDoubles(values);
}

class Runner {
 public:
  Runner(const Setting& setting, std::vector<Case>* cases) : setting_(setting), cases_(*cases) {
    Target target;
    target.vector_bytes = setting.vector_bytes;
    target.l1_bytes = setting.l1_bytes;
    for (Case& c : cases_) c.kernel.schedule = DecideSchedule(c.kernel, target);
  }

  void Run() {
    Compile();
    if (testing::Test::HasFatalFailure()) return;
    int64_t agreed = 0;
    for (size_t i = 0; i < cases_.size(); ++i) {
      for (bool special : {false, true}) agreed += Compare(i, special) ? 1 : 0;
      if (testing::Test::HasFailure()) return;
    }
    // Other runs met an index out of bounds, in the interpreter and in the code.
    EXPECT_GT(agreed, static_cast<int64_t>(cases_.size()));
  }

 private:
  void Compile() {
    std::vector<const Kernel*> kernels;
    for (const Case& c : cases_) kernels.push_back(&c.kernel);
    CcTarget target;
    target.isa = setting_.isa == Isa::kAvx512 ? CcTarget::Isa::kAvx512 : CcTarget::Isa::kAvx2;
    target.sleef = LoadSleef();
    ASSERT_TRUE(target.sleef) << "the interpreter's functions are SLEEF's";
    auto unit = EmitCc(kernels, target);
    ASSERT_TRUE(unit.ok()) << unit.status();
    unit_ = *std::move(unit);
    JitOptions options;
    options.flags = CcFlags(target);
    auto library = KernelLibrary::Create(unit_.text, options);
    ASSERT_TRUE(library.ok()) << library.status();
    library_ = *std::move(library);
  }

  static std::vector<void*> Pointers(const Case& c, std::vector<HostTensor>& tensors) {
    std::vector<void*> pointers;
    for (size_t a = 0; a < tensors.size(); ++a) {
      const int64_t bytes = c.arguments[a].offset * DTypeBits(c.arguments[a].dtype) / 8;
      pointers.push_back(tensors[a].raw() + bytes);
    }
    return pointers;
  }

  // False when an index was out of bounds.
  bool Interpret(const Case& c, std::vector<HostTensor>& tensors) {
    const TileTable* table = setting_.isa == Isa::kAvx512 ? Avx512TileTable() : Avx2TileTable();
    const auto program = CompileTiles(c.kernel, *table, [&](SymInt s) { return c.env->Eval(s); });
    EXPECT_TRUE(program.ok()) << program.status();
    if (!program.ok()) return false;
    constexpr int kThreads = 2;
    std::unique_ptr<char, void (*)(void*)> workspace(
        static_cast<char*>(std::aligned_alloc(64, program->workspace_bytes * kThreads)), std::free);
    return RunTiles(*program, Pointers(c, tensors).data(), workspace.get(), kThreads).ok();
  }

  // Runs the points in three parts, as threads do. False when an index was out of bounds.
  bool Generated(size_t i, std::vector<HostTensor>& tensors) {
    const CcKernel& kernel = unit_.kernels[i];
    const Case& c = cases_[i];
    const auto fn = reinterpret_cast<GeneratedFn>(library_->Find(kernel.symbol));
    std::vector<long> sizes;
    for (SymInt s : kernel.sizes) sizes.push_back(*c.env->Eval(s));
    const int64_t points = *c.env->Eval(kernel.points);
    const int64_t bytes = (*c.env->Eval(kernel.scratch_bytes) + 127) / 64 * 64;
    std::unique_ptr<char, void (*)(void*)> scratch(
        static_cast<char*>(std::aligned_alloc(64, bytes)), std::free);
    const std::vector<void*> args = Pointers(c, tensors);
    const int64_t cuts[] = {0, points / 3, points - points / 4, points};
    int bad = 0;
    for (int part = 0; part < 3; ++part) {
      bad |= fn(args.data(), sizes.data(), scratch.get(), cuts[part], cuts[part + 1]);
    }
    return bad == 0;
  }

  // True when both ran and agree.
  bool Compare(size_t i, bool special) {
    const Case& c = cases_[i];
    SCOPED_TRACE(absl::StrCat(c.name, special ? ", special values" : ""));
    std::vector<HostTensor> tensors[2];
    for (auto& list : tensors) {
      std::mt19937_64 random(i);
      for (const Argument& argument : c.arguments) {
        list.emplace_back(argument.dtype, std::vector<int64_t>{argument.elements});
        Fill(argument, special, random, &list.back());
      }
    }
    const bool interpreted = Interpret(c, tensors[0]);
    EXPECT_EQ(Generated(i, tensors[1]), interpreted);
    if (!interpreted) return false;
    for (size_t a = 0; a < c.arguments.size(); ++a) {
      const std::string difference = ExactDifference(tensors[0][a], tensors[1][a]);
      EXPECT_EQ(difference, "") << "argument " << a << "\n" << PrintKernel(c.kernel);
      if (!difference.empty()) return false;
    }
    return true;
  }

  const Setting setting_;
  std::vector<Case>& cases_;
  CcUnit unit_;
  std::shared_ptr<KernelLibrary> library_;
};

class AgreementTest : public testing::TestWithParam<Setting> {
 protected:
  void SetUp() override {
    if (!ChooseIsa(IsaName(GetParam().isa)).ok()) GTEST_SKIP() << "not on this machine";
  }

  // Modules stay, since cases point to what is known of their symbols.
  void Add(std::unique_ptr<Module> module, const std::vector<HostTensor>& inputs,
           absl::string_view passes, std::string name) {
    CompileOptions compile;
    compile.passes = std::string(passes);
    const auto compiled = Compile(*module, compile);
    ASSERT_TRUE(compiled.ok()) << name << ": " << compiled.status();
    const Graph& main = *module->main();
    auto env = std::make_shared<SymbolEnv>(module->symbols());
    for (int i = 0; i < main.num_inputs(); ++i) {
      if (!inputs[i].valid()) continue;
      const absl::Status status = env->Unify(main.input(i)->type(), inputs[i]);
      ASSERT_TRUE(status.ok()) << name << ": " << status;
    }
    const auto plan = Lower(main, CpuTarget());
    ASSERT_TRUE(plan.ok()) << name << ": " << plan.status();
    AddCases(*plan, env, std::move(name), &cases_);
    modules_.push_back(std::move(module));
  }

  std::vector<std::unique_ptr<Module>> modules_;
  std::vector<Case> cases_;
};

TEST_P(AgreementTest, OnRandomPrograms) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    for (const char* passes : {"functionalize", "cpu"}) {
      RandomProgram program = MakeRandomUpdate(seed);
      Add(std::move(program.module), program.inputs, passes,
          absl::StrCat("seed ", seed, ", passes ", passes));
    }
  }
  Runner(GetParam(), &cases_).Run();
}

// Sums of more values than a block takes, loops shorter than a vector, and lanes along each loop of
// a nest.
TEST_P(AgreementTest, OnReductionsOfManyShapes) {
  const std::vector<std::vector<int64_t>> shapes = {
      {3, 10007}, {1001, 40}, {7, 300, 5}, {5000, 3}, {64, 4}, {4, 9, 1030}, {1, 8192}, {2, 4097}};
  const char* kOps[] = {"sum",    "prod",   "amax",    "amin",
                        "argmax", "argmin", "softmax", "log_softmax"};
  for (const char* dtype : {"f32", "bf16", "f64"}) {
    for (std::vector<int64_t> dims : shapes) {
      const std::string x = absl::StrCat(dtype, "[", absl::StrJoin(dims, ", "), "]");
      for (size_t d = 0; d < dims.size(); ++d) {
        std::vector<int64_t> rest = dims;
        rest.erase(rest.begin() + d);
        for (const std::string op : kOps) {
          const bool arg = absl::StartsWith(op, "arg");
          const bool keeps = absl::EndsWith(op, "softmax");
          const std::string type =
              keeps ? x : absl::StrCat(arg ? "i64" : dtype, "[", absl::StrJoin(rest, ", "), "]");
          const std::string dim = arg || keeps ? absl::StrCat(d) : absl::StrCat("[", d, "]");
          const std::string text =
              absl::StrCat("func @main(%x: ", x, ") -> (", type, ") {\n  %0 = ", op,
                           "(%x, dim=", dim, ")\n  return %0\n}\n");
          auto module = Parse(text);
          ASSERT_NE(module, nullptr);
          Add(std::move(module), {HostTensor(*ParseDType(dtype), dims)}, "none", text);
        }
      }
    }
  }
  Runner(GetParam(), &cases_).Run();
}

TEST_P(AgreementTest, OnTheModels) {
  for (const models::ModelEntry& entry : models::AllModels()) {
    models::ModelOptions options;
    options.small = true;
    auto model = models::BuildModel(entry.name, options);
    ASSERT_TRUE(model.ok()) << model.status();
    const auto inputs = models::MakeInputs(*model);
    ASSERT_TRUE(inputs.ok()) << inputs.status();
    Add(std::move(model->module), *inputs, "cpu", entry.name);
  }
  Runner(GetParam(), &cases_).Run();
}

INSTANTIATE_TEST_SUITE_P(Machines, AgreementTest,
                         testing::Values(Setting{Isa::kAvx2, 32}, Setting{Isa::kAvx2, 16, 16 << 10},
                                         Setting{Isa::kAvx512, 64}),
                         [](const auto& info) {
                           return absl::StrCat(IsaName(info.param.isa), "_",
                                               info.param.vector_bytes, "_bytes");
                         });

}  // namespace
}  // namespace weft::cpu
