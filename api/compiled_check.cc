#include "api/compiled_check.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "api/check/compare.h"
#include "api/check/planned_runs.h"
#include "api/check/seeded_inputs.h"
#include "api/compiled_program.h"
#include "api/model_io.h"
#include "api/runtime/compiled_plan.h"
#include "api/session.h"
#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/standalone/model_library.h"
#include "base/annotate.h"
#include "base/status_macros.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"

namespace weft {
namespace {

using Tensors = std::vector<HostTensor>;
// Runs a program; outputs, then new values of written inputs.
using Runner = std::function<absl::StatusOr<Tensors>(const Tensors& inputs)>;

absl::StatusOr<Runner> RunnerOfSession(std::unique_ptr<Module> module, const Backend& backend) {
  WEFT_ASSIGN_OR_RETURN(Session session, Session::Create(std::move(module), backend));
  const auto shared = std::make_shared<Session>(std::move(session));
  return Runner([shared](const Tensors& inputs) -> absl::StatusOr<Tensors> {
    Tensors written;
    WEFT_ASSIGN_OR_RETURN(Tensors outputs, shared->RunStateless(inputs, &written));
    for (const HostTensor& tensor : written) {
      if (tensor.valid()) outputs.push_back(tensor);
    }
    return outputs;
  });
}

// A form of the file that is compared with the source.
struct Product {
  CheckedProduct checked;
  Runner run;
  size_t num_inputs = 0;
};

absl::StatusOr<Product> ProductOfPlan(const std::string& path,
                                      const CompiledProgramOptions& options) {
  WEFT_ASSIGN_OR_RETURN(CompiledProgram opened, CompiledProgram::Open(path, options));
  const auto program = std::make_shared<CompiledProgram>(std::move(opened));
  Product product;
  product.num_inputs = program->inputs().size();
  product.run = [program](const Tensors& inputs) -> absl::StatusOr<Tensors> {
    Tensors written;
    WEFT_ASSIGN_OR_RETURN(Tensors outputs, program->Run(inputs, &written));
    for (const HostTensor& tensor : written) {
      if (tensor.valid()) outputs.push_back(tensor);
    }
    return outputs;
  };
  return product;
}

// The products of the plan for an instruction set: with interpreted kernels and with machine code,
// as far as the file has both.
absl::Status AddProducts(const std::string& path, const std::string& set,
                         const LinkedKernels& linked, std::vector<Product>* products) {
  CompiledProgramOptions options;
  options.cpu = set;
  const auto add = [&](const char* name) -> absl::Status {
    WEFT_ASSIGN_OR_RETURN(Product product, ProductOfPlan(path, options));
    product.checked.product = name;
    product.checked.instruction_set = set;
    products->push_back(std::move(product));
    return absl::OkStatus();
  };
  if (absl::EndsWith(path, ".so")) return add("machine code");
  WEFT_RETURN_IF_ERROR(add("plan"));
  if (const auto code = linked.find(set); code != linked.end()) {
    options.code = code->second->entry();
    return add("C++ source");
  }
  WEFT_ASSIGN_OR_RETURN(options.allow_code, HasMachineCode(path));
  return options.allow_code ? add("machine code") : absl::OkStatus();
}

// Those of each plan that this machine can run; or the file's module.
absl::StatusOr<std::vector<Product>> ProductsOf(const Backend& backend, const std::string& path,
                                                const LinkedKernels& linked, CompiledCheck* check) {
  std::vector<Product> products;
  if (backend.name() != "cpu") {
    WEFT_ASSIGN_OR_RETURN(auto module, LoadModel(path));
    Product& product = products.emplace_back();
    product.checked.product = "module";
    product.num_inputs = module->main()->num_inputs();
    WEFT_ASSIGN_OR_RETURN(product.run, RunnerOfSession(std::move(module), backend));
    return products;
  }
  WEFT_ASSIGN_OR_RETURN(const auto sets, ReadInstructionSets(path, backend.name()));
  for (const std::string& set : sets) {
    if (cpu::ChooseIsa(set).ok()) {
      WEFT_RETURN_IF_ERROR(AddProducts(path, set, linked, &products));
    } else {
      check->unchecked.push_back(set);
    }
  }
  if (!products.empty()) return products;
  return absl::FailedPreconditionError(absl::StrCat(
      path, ": this machine cannot run its plans, which are for ", absl::StrJoin(sets, ", ")));
}

// Sums of other orders differ by parts of their largest terms, so that elements near zero are
// measured against the largest ones.
CompareOptions ToleranceOf(const HostTensor& want) {
  CompareOptions options = ToleranceFor(want.dtype());
  if (!IsFloat(want.dtype())) return options;
  double largest = 0;
  for (const double value : want.ReadDoubles()) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  options.rtol = std::max(options.rtol, CompiledCheck::kRelative);
  options.atol = std::max(options.atol, CompiledCheck::kOfLargest * largest);
  return options;
}

std::string ShapesOf(const Tensors& inputs) {
  return absl::StrJoin(inputs, ", ", [](std::string* out, const HostTensor& input) {
    out->append(input.type().ToString());
  });
}

// The difference, or "".
std::string Difference(const Tensors& got, const Tensors& want, CheckedProduct* checked) {
  if (got.size() != want.size()) {
    return absl::StrCat(got.size(), " outputs instead of ", want.size());
  }
  for (size_t i = 0; i < got.size(); ++i) {
    double error = 0;
    const absl::Status status = Compare(got[i], want[i], ToleranceOf(want[i]), &error);
    checked->largest_error = std::max(checked->largest_error, error);
    if (!status.ok()) return absl::StrCat("output ", i, ": ", status.message());
  }
  return "";
}

// Whether a pipeline may have made a constant of the input, and dropped it.
bool MayBeCompiledIn(const Graph& source, int input) {
  return source.input_info(input).initial >= 0 &&
         !absl::c_linear_search(source.write_backs(), input);
}

// Gives what may have been compiled in the value that it has there.
void SetCompiledIn(const Graph& source, Tensors* inputs) {
  for (int i = 0; i < source.num_inputs(); ++i) {
    if (!MayBeCompiledIn(source, i)) continue;
    (*inputs)[i] = source.module().constants().tensor(source.input_info(i).initial);
  }
}

// The inputs without those that were compiled in, which the product does not have.
Tensors InputsFor(const Product& product, const Graph& source, const Tensors& inputs) {
  if (product.num_inputs == inputs.size()) return inputs;
  Tensors own;
  for (int i = 0; i < source.num_inputs(); ++i) {
    if (!MayBeCompiledIn(source, i)) own.push_back(inputs[i]);
  }
  return own;
}

}  // namespace

absl::StatusOr<CompiledCheck> CheckCompiledFile(const Module& source, const Backend& backend,
                                                const std::string& path, uint64_t seed,
                                                const LinkedKernels& linked) {
  WEFT_RETURN_IF_ERROR(CheckHasMain(source));
  CompiledCheck check;
  check.seed = seed;
  WEFT_ASSIGN_OR_RETURN(const Backend* reference, BuiltinBackends().Find("reference"));
  WEFT_ASSIGN_OR_RETURN(const Runner run_source, RunnerOfSession(source.Clone(), *reference));
  WEFT_ASSIGN_OR_RETURN(std::vector<Product> products, ProductsOf(backend, path, linked, &check));
  absl::Status refusal;
  for (const PlannedRun& run : PlanRuns(*source.main(), /*edges=*/false, /*more_runs=*/0)) {
    SeedOptions options;
    options.seed = seed++;
    options.values = run.values;
    options.sizes = run.sizes;
    WEFT_ASSIGN_OR_RETURN(Tensors inputs, MakeSeededInputs(*source.main(), options));
    SetCompiledIn(*source.main(), &inputs);
    const auto want = run_source(inputs);
    if (!want.ok()) {
      ++check.refused;
      refusal = want.status();
      continue;
    }
    for (Product& product : products) {
      const auto got = product.run(InputsFor(product, *source.main(), inputs));
      product.checked.runs.push_back(ShapesOf(inputs));
      check.difference = got.ok() ? Difference(*got, *want, &product.checked)
                                  : absl::StrCat("the product refuses: ", got.status().message());
      if (!check.difference.empty()) {
        check.difference = absl::StrCat(product.checked.product, " for (", ShapesOf(inputs), "), ",
                                        check.difference);
        break;
      }
    }
    if (!check.difference.empty()) break;
  }
  for (Product& product : products) check.products.push_back(std::move(product.checked));
  if (check.compared() > 0) return check;
  return Annotate(refusal, "no run of source and product could be compared");
}

int CompiledCheck::compared() const {
  size_t runs = 0;
  for (const CheckedProduct& product : products) runs += product.runs.size();
  return static_cast<int>(runs);
}

double CompiledCheck::largest_error() const {
  double largest = 0;
  for (const CheckedProduct& product : products) {
    largest = std::max(largest, product.largest_error);
  }
  return largest;
}

std::string CompiledCheck::ToString() const {
  std::vector<std::string> names;
  for (const CheckedProduct& product : products) {
    if (absl::c_linear_search(names, product.product)) continue;
    names.push_back(product.product);
  }
  std::string text =
      difference.empty()
          ? absl::StrFormat("%d runs of source and %s agree; the largest difference is %.2g",
                            compared(), absl::StrJoin(names, " and "), largest_error())
          : absl::StrCat("source and product differ: ", difference);
  if (!unchecked.empty()) {
    absl::StrAppend(&text,
                    "; not checked, as this machine lacks it: ", absl::StrJoin(unchecked, ", "));
  }
  if (refused > 0) absl::StrAppend(&text, "; the source refused the inputs of ", refused, " more");
  return text;
}

}  // namespace weft
