#include "backends/reference/backend.h"

#include "backends/reference/executor.h"
#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/tensor/tensor.h"
#include "lowering/plan.h"

namespace weft::reference {
namespace {

class ReferenceExecutable : public Executable {
 public:
  explicit ReferenceExecutable(const Graph& graph) : graph_(graph) {}

  absl::Status Run(absl::Span<const HostTensor> inputs, const std::vector<bool>&,
                   std::vector<HostTensor>* outputs, std::vector<HostTensor>* written) override {
    RunOptions options;
    options.written = written;
    WEFT_ASSIGN_OR_RETURN(*outputs, reference::Run(graph_, inputs, options));
    outputs->resize(graph_.num_own_outputs());
    return absl::OkStatus();
  }

 private:
  const Graph& graph_;
};

class ReferenceBackend : public Backend {
 public:
  ReferenceBackend() { target_.name = "reference"; }

  const Target& target() const override { return target_; }
  std::string default_pipeline() const override { return "none"; }
  bool runs_plans() const override { return false; }

  absl::StatusOr<std::unique_ptr<Executable>> Compile(const Graph& graph, Plan,
                                                      const BackendOptions&,
                                                      const ExecutableHooks&) const override {
    return std::make_unique<ReferenceExecutable>(graph);
  }

 private:
  Target target_;
};

}  // namespace

std::unique_ptr<const Backend> MakeBackend() { return std::make_unique<ReferenceBackend>(); }

}  // namespace weft::reference
