#include "tests/passes/functionalize/differential.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/reference/executor.h"
#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"
#include "passes/engine/pass_manager.h"
#include "passes/pipelines.h"
#include "tests/passes/functionalize/mutable_interpreter.h"
#include "tests/passes/functionalize/random_program.h"

namespace weft {
namespace {

// Outputs, then the inputs as they are in the end.
using Tensors = std::vector<HostTensor>;

absl::StatusOr<Tensors> RunInMemory(const Graph& graph, const Tensors& inputs) {
  Tensors mine;
  for (const HostTensor& input : inputs) mine.push_back(Copied(input));
  WEFT_ASSIGN_OR_RETURN(Tensors all, RunMutable(graph, mine));
  all.insert(all.end(), mine.begin(), mine.end());
  return all;
}

absl::StatusOr<Tensors> RunOnReference(const Graph& graph, const Tensors& inputs) {
  Tensors written;
  reference::RunOptions options;
  options.written = &written;
  WEFT_ASSIGN_OR_RETURN(Tensors all, reference::Run(graph, inputs, options));
  all.resize(graph.num_own_outputs());
  for (size_t i = 0; i < inputs.size(); ++i) {
    all.push_back(written[i].valid() ? written[i] : inputs[i]);
  }
  return all;
}

std::string Show(const HostTensor& tensor) {
  std::string text = tensor.type().ToString();
  for (double v : tensor.ReadDoubles()) absl::StrAppend(&text, " ", v);
  return text;
}

bool Equal(const HostTensor& a, const HostTensor& b, bool signed_zeros) {
  if (a.BitEqual(b)) return true;
  return !signed_zeros && a.type() == b.type() && a.ReadDoubles() == b.ReadDoubles();
}

absl::Status Compare(const absl::StatusOr<Tensors>& got, const Tensors& want,
                     absl::string_view what, bool signed_zeros = true) {
  if (!got.ok()) {
    return absl::InternalError(absl::StrCat(what, ": ", got.status().message()));
  }
  if (got->size() != want.size()) {
    return absl::InternalError(
        absl::StrCat(what, ": ", got->size(), " tensors, not ", want.size()));
  }
  for (size_t i = 0; i < want.size(); ++i) {
    if (Equal((*got)[i], want[i], signed_zeros)) continue;
    return absl::InternalError(
        absl::StrCat(what, ": tensor ", i, " is ", Show((*got)[i]), "\n  not ", Show(want[i])));
  }
  return absl::OkStatus();
}

void Add(const PipelineReport& report, DifferentialCounts* counts) {
  for (const PassReport& pass : report.passes) {
    for (const auto& [name, n] : pass.counters) {
      if (name == "writes") counts->writes += n;
      if (name == "replayed") counts->replayed += n;
      if (name == "inverted") counts->inverted += n;
      if (name == "write_backs" && pass.pass == "functionalize") {
        counts->write_backs += n;
      }
      if (name == "returned") counts->returned += n;
      if (name == "possible") counts->possible += n;
      if (name == "done") counts->done += n;
      if (name == "missed_bytes") counts->missed_bytes += n;
    }
  }
}

class Check {
 public:
  explicit Check(uint32_t seed) : seed_(seed), program_(MakeRandomProgram(seed)) {}

  absl::Status Run(DifferentialCounts* counts) {
    const Graph& main = *program_.module->main();
    WEFT_ASSIGN_OR_RETURN(want_, RunInMemory(main, program_.inputs));
    WEFT_RETURN_IF_ERROR(
        Compare(RunOnReference(main, program_.inputs), want_, "executor, with writes"));
    ++counts->programs;
    WEFT_RETURN_IF_ERROR(After("functionalize", counts));
    DifferentialCounts again;
    WEFT_RETURN_IF_ERROR(After("functionalize,reinplace", &again));
    counts->possible += again.possible;
    counts->done += again.done;
    counts->missed_bytes += again.missed_bytes;
    if (seed_ % 4 == 0) {
      WEFT_RETURN_IF_ERROR(After("functionalize,reinplace{pointwise=true}", &again));
    }
    if (seed_ % 16 != 1) return absl::OkStatus();
    return After("default,reinplace", &again);
  }

 private:
  absl::Status After(const std::string& passes, DifferentialCounts* counts) {
    std::unique_ptr<Module> module = program_.module->Clone();
    WEFT_ASSIGN_OR_RETURN(Pipeline pipeline, Pipeline::Parse(passes, BuiltinPasses()));
    PassContext context;
    PipelineReport report;
    absl::Status status = PassManager(std::move(pipeline)).Run(*module, context, &report);
    if (status.ok()) {
      Add(report, counts);
      if (passes == "functionalize" && module->HasWrites()) {
        status = absl::InternalError("it still writes");
      }
    }
    // The default pipeline may change the sign of a zero.
    const bool exact = passes.find("default") == std::string::npos;
    if (status.ok()) {
      status = Compare(RunOnReference(*module->main(), program_.inputs), want_, "executor", exact);
    }
    if (status.ok()) {
      status = Compare(RunInMemory(*module->main(), program_.inputs), want_, "real memory", exact);
    }
    if (status.ok()) return status;
    return absl::InternalError(absl::StrCat("after ", passes, ": ", status.message(), "\n",
                                            PrintModule(*module), "before:"));
  }

  uint32_t seed_;
  RandomProgram program_;
  Tensors want_;
};

}  // namespace

std::string DifferentialCounts::ToString() const {
  return absl::StrCat(programs, " programs, ", writes, " writes, ", replayed, " views made again, ",
                      inverted, " inverses, ", write_backs, " write-backs, ", returned,
                      " operands written by nested graphs; ", done, " of ", possible,
                      " updates in place, ", missed_bytes, " bytes missed");
}

absl::Status CheckRandomProgram(uint32_t seed, DifferentialCounts* counts) {
  const absl::Status status = Check(seed).Run(counts);
  if (status.ok()) return status;
  return absl::InternalError(absl::StrCat("seed ", seed, ": ", status.message(), "\n",
                                          PrintModule(*MakeRandomProgram(seed).module)));
}

}  // namespace weft
