#include "tests/trust/check.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/compiler.h"
#include "backends/cpu/target.h"
#include "backends/reference/executor.h"
#include "base/annotate.h"
#include "base/status_macros.h"
#include "graph/ir/attr.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/node.h"
#include "graph/ops/ops.h"
#include "lowering/lower.h"
#include "lowering/plan_verifier.h"
#include "tests/support/tensor_compare.h"

namespace weft::trust {
namespace {

// Runs on changed numbers that tell how well conditioned a result is.
constexpr int kChanges = 10;

// A few units in the last place.
double ChangeOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 1e-14;
    case DType::kF32:
      return 1e-6;
    case DType::kF16:
      return 1e-3;
    default:
      return 1e-2;
  }
}

HostTensor Changed(const HostTensor& tensor, double slack, Random& random) {
  if (!tensor.valid() || !IsFloat(tensor.dtype())) return tensor;
  std::vector<double> values = tensor.ReadDoubles();
  const double by = ChangeOf(tensor.dtype()) * slack;
  for (double& v : values) v *= 1 + by * random.Unit();
  return HostTensor::FromDoubles(tensor.dtype(), tensor.dims(), values);
}

double LargestOf(absl::Span<const HostTensor> tensors) {
  double largest = 0;
  for (const HostTensor& tensor : tensors) {
    if (!tensor.valid() || !IsFloat(tensor.dtype())) continue;
    for (double v : tensor.ReadDoubles()) {
      if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
    }
  }
  return largest;
}

// The largest term of the sums behind the node's results: of a matmul or convolution a product of
// two elements, of other ops an element.
double LargestTerm(const Node& node, absl::Span<const HostTensor> operands) {
  const double largest = LargestOf(operands);
  if (!node.Is(ops::matmul) && !node.Is(ops::linear) && !node.Is(ops::convolution)) return largest;
  return std::max(largest, LargestOf(operands.subspan(0, 1)) * LargestOf(operands.subspan(1, 1)));
}

// Results with errors in proportion to the largest term, as those of 1 + erf(x) in gelu.
reference::RunOptions WithErrors(double slack, Random& random, double* largest) {
  reference::RunOptions options;
  options.edit_operands = [largest](const Node& node, std::vector<HostTensor>* operands) {
    *largest = LargestTerm(node, *operands);
  };
  options.edit_results = [largest, slack, &random](const Node&, std::vector<HostTensor>* results) {
    for (HostTensor& tensor : *results) {
      if (!tensor.valid() || !IsFloat(tensor.dtype())) continue;
      std::vector<double> values = tensor.ReadDoubles();
      const double by = 0.2 * ChangeOf(tensor.dtype()) * slack * *largest;
      for (double& v : values) v += by * random.Unit();
      tensor = HostTensor::FromDoubles(tensor.dtype(), tensor.dims(), values);
    }
  };
  return options;
}

// Runs the program with inputs and constants that differ by a few units in the last place, and with
// such errors.
absl::StatusOr<std::vector<HostTensor>> RunChanged(const Module& module,
                                                   absl::Span<const HostTensor> inputs,
                                                   double slack, Random& random) {
  const auto copy = module.Clone();
  for (const auto& function : copy->functions()) {
    for (Node* node : function->nodes()) {
      if (!node->Is(ops::constant)) continue;
      HostTensor tensor = Changed(*LiteralOf(node->result()), slack, random);
      const int id = copy->constants().Add(std::move(tensor));
      function->UpdateAttrs(node, AttrList::Get({id}));
    }
  }
  std::vector<HostTensor> changed;
  for (const HostTensor& input : inputs) changed.push_back(Changed(input, slack, random));
  double largest = 0;
  return reference::Run(*copy->main(), changed, WithErrors(slack, random, &largest));
}

// Runs the program with results that rounding may make 0, as gelu(-6) in f32 is, made `zero`: times
// an infinity, they are NaN, and atan2 and divisions turn on the sign.
absl::StatusOr<std::vector<HostTensor>> RunFlushed(const Module& module,
                                                   absl::Span<const HostTensor> inputs,
                                                   double zero) {
  reference::RunOptions options;
  options.edit_results = [zero](const Node&, std::vector<HostTensor>* results) {
    for (HostTensor& tensor : *results) {
      if (!tensor.valid() || !IsFloat(tensor.dtype())) continue;
      const double tiny = ToleranceOf(tensor.dtype()).absolute;
      std::vector<double> values = tensor.ReadDoubles();
      if (std::none_of(values.begin(), values.end(),
                       [=](double v) { return std::abs(v) < tiny; })) {
        continue;
      }
      for (double& v : values) {
        if (std::abs(v) < tiny) v = zero;
      }
      tensor = HostTensor::FromDoubles(tensor.dtype(), tensor.dims(), values);
    }
  };
  return reference::Run(*module.main(), inputs, options);
}

// Errors of sums are in proportion to the largest terms, for which the largest result stands.
Tolerance ToleranceFor(const HostTensor& want, double slack) {
  Tolerance tolerance = ToleranceOf(want.dtype());
  tolerance.relative *= 10 * slack;
  tolerance.absolute *= 10 * slack;
  if (!IsFloat(want.dtype())) return tolerance;
  double largest = 0;
  for (double v : want.ReadDoubles()) {
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  }
  tolerance.absolute = std::max(tolerance.absolute, tolerance.relative * largest);
  return tolerance;
}

// Functions of f32 are computed in f32 by `cpu` and may overflow where the reference does not yet.
constexpr double kNearOverflow = 1e37;

bool IsSame(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return true;
  return std::min(std::abs(a), std::abs(b)) > kNearOverflow && (a < 0) == (b < 0);
}

// Index of an element whose difference the changed runs do not explain, or -1.
int64_t Unexplained(const HostTensor& got, const HostTensor& want,
                    const std::vector<std::vector<double>>& changed, Tolerance tolerance) {
  const std::vector<double> a = got.ReadDoubles();
  const std::vector<double> b = want.ReadDoubles();
  for (size_t i = 0; i < a.size(); ++i) {
    if (IsSame(a[i], b[i])) continue;
    double spread = 0;
    bool jumps = false;
    for (const std::vector<double>& run : changed) {
      if (IsSame(run[i], b[i])) continue;
      jumps |= !std::isfinite(run[i]) || !std::isfinite(b[i]) || IsSame(run[i], a[i]);
      spread = std::max(spread, std::abs(run[i] - b[i]));
    }
    if (jumps) continue;
    const double allowed = tolerance.absolute + tolerance.relative * std::abs(b[i]) + 30 * spread;
    if (!(std::abs(a[i] - b[i]) <= allowed)) return static_cast<int64_t>(i);
  }
  return -1;
}

bool AreEmpty(const std::vector<HostTensor>& tensors) {
  return std::all_of(tensors.begin(), tensors.end(),
                     [](const HostTensor& tensor) { return tensor.numel() == 0; });
}

}  // namespace

std::string Configuration::ToString() const {
  return absl::StrCat("passes ", passes, ", ", options.isa, ", ", options.threads, " threads, ",
                      options.f32_precision, options.deterministic ? ", deterministic" : "",
                      options.code == cpu::CpuOptions::Code::kNone ? "" : ", generated code");
}

Configuration RandomConfiguration(Random& random, const ConfigurationLimits& limits) {
  Configuration configuration;
  configuration.passes = random.Of<const char*>({"none", "default", "cpu", "cpu", "cpu"});
  if (!limits.passes.empty()) configuration.passes = limits.passes;
  cpu::CpuOptions& options = configuration.options;
  options.threads = random.Pick(1, 2);
  options.isa = !limits.isa.empty() ? limits.isa : random.OneIn(2) ? "native" : "avx2";
  options.deterministic = random.OneIn(10);
  if (limits.narrow_precision && random.OneIn(10)) {
    options.f32_precision = random.OneIn(2) ? "high" : "medium";
  }
  if (limits.code_one_in > 0 && random.OneIn(limits.code_one_in)) {
    options.code = cpu::CpuOptions::Code::kBeforeCreation;
  }
  return configuration;
}

std::string Totals::ToString() const {
  return absl::StrCat(programs, " programs: ", compared, " agree, ", refused, " refused by both, ",
                      unfit, " that fit no sizes, ", strict, " refused by cpu alone, ", empty,
                      " refused by the reference alone without elements, ", ill,
                      " agree as far as rounding of inputs allows, ", skipped,
                      " seeds without a program; ", generated, " generated kernels, ", fallbacks,
                      " calls without a routine");
}

absl::StatusOr<CompiledProgram> CompiledProgram::Create(const Module& module,
                                                        const Configuration& configuration,
                                                        Totals* totals) {
  CompiledProgram program;
  program.module_ = module.Clone();
  CompileOptions compile;
  compile.passes = configuration.passes;
  WEFT_RETURN_IF_ERROR(Compile(*program.module_, compile).status());
  const Graph& main = *program.module_->main();
  WEFT_ASSIGN_OR_RETURN(Plan plan, Lower(main, cpu::CpuTarget()));
  WEFT_RETURN_IF_ERROR(VerifyPlan(plan));
  totals->coverage.Add(plan);
  WEFT_ASSIGN_OR_RETURN(program.executable_,
                        cpu::Executable::Create(std::move(plan), configuration.options));
  WEFT_RETURN_IF_ERROR(program.executable_->WaitForCode());
  return program;
}

absl::StatusOr<std::vector<HostTensor>> CompiledProgram::Run(absl::Span<const HostTensor> inputs) {
  return executable_->Run(inputs);
}

double SlackOf(const cpu::CpuOptions& options) {
  if (options.f32_precision == "highest") return 1;
  return options.f32_precision == "high" ? 30 : 3000;
}

std::string DifferenceBeyondRounding(const Module& module, absl::Span<const HostTensor> inputs,
                                     absl::Span<const HostTensor> got,
                                     absl::Span<const HostTensor> want, double slack,
                                     Totals* totals) {
  std::vector<std::vector<HostTensor>> changed;
  for (size_t i = 0; i < want.size(); ++i) {
    const Tolerance tolerance = want[i].valid() ? ToleranceFor(want[i], slack) : Tolerance();
    const std::string difference = Difference(got[i], want[i], tolerance);
    if (difference.empty()) continue;
    const std::string place = absl::StrCat("output ", i, ": ", difference);
    if (!got[i].valid() || got[i].dims() != want[i].dims() || got[i].dtype() != want[i].dtype() ||
        IsComplex(want[i].dtype())) {
      return place;
    }
    Random random(17);
    while (changed.size() < kChanges) {
      auto run = changed.size() < 2 ? RunFlushed(module, inputs, changed.empty() ? 0.0 : -0.0)
                                    : RunChanged(module, inputs, slack, random);
      if (!run.ok()) return absl::StrCat(place, "; on changed inputs: ", run.status().message());
      changed.push_back(*std::move(run));
    }
    std::vector<std::vector<double>> elements;
    for (const auto& run : changed) {
      if (run[i].dims() == want[i].dims()) elements.push_back(run[i].ReadDoubles());
    }
    const int64_t at = Unexplained(got[i], want[i], elements, tolerance);
    if (at >= 0) return absl::StrCat(place, "; element ", at, " for sure");
    ++totals->ill;
  }
  return "";
}

absl::Status CheckAgainstReference(const TestProgram& program, const Configuration& configuration,
                                   Totals* totals) {
  ++totals->programs;
  const auto want = reference::Run(*program.module->main(), program.inputs);
  auto compiled = CompiledProgram::Create(*program.module, configuration, totals);
  if (!compiled.ok()) {
    // That two sizes must be equal and differ is found at once where they are known.
    if (program.misfit && !want.ok() && absl::IsInvalidArgument(compiled.status())) {
      ++totals->unfit;
      return absl::OkStatus();
    }
    return Annotate(compiled.status(), "not compiled");
  }
  for (int run = 0; run < 2; ++run) {
    const auto got = compiled->Run(program.inputs);
    if (program.misfit && want.ok() && absl::IsInvalidArgument(got.status())) {
      ++totals->strict;
      return absl::OkStatus();
    }
    // Without elements, no index is looked at.
    if (program.misfit && got.ok() && !want.ok() && AreEmpty(*got)) {
      ++totals->empty;
      return absl::OkStatus();
    }
    if (got.ok() != want.ok()) {
      return absl::InternalError(
          got.ok() ? absl::StrCat("a result, and the reference refuses: ", want.status().message())
                   : absl::StrCat("refused: ", got.status().message()));
    }
    if (!got.ok()) break;
    const std::string difference = DifferenceBeyondRounding(
        *program.module, program.inputs, *got, *want, SlackOf(configuration.options), totals);
    if (!difference.empty()) return absl::InternalError(difference);
  }
  ++(want.ok() ? totals->compared : totals->refused);
  totals->generated += compiled->stats().generated_steps;
  totals->fallbacks += compiled->stats().fallbacks;
  return absl::OkStatus();
}

}  // namespace weft::trust
