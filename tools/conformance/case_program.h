// The program of a case: a session, and the file that was compiled from the same module, if that is
// asked for.
#ifndef WEFT_TOOLS_CONFORMANCE_CASE_PROGRAM_H_
#define WEFT_TOOLS_CONFORMANCE_CASE_PROGRAM_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/compiled_program.h"
#include "api/session.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "tools/conformance/case.h"

namespace weft::tools {

class CaseProgram {
 public:
  // Compiles the module and prepares it to run, generated code included.
  static absl::StatusOr<CaseProgram> Make(std::unique_ptr<Module> module,
                                          const CaseOptions& options);

  const Graph& main() const { return session_.main(); }
  const HostTensor* state(absl::string_view name) const { return session_.state(name); }

  // As the session's. If there is a file, an error also if its outputs, or the values that it
  // writes, differ from the session's in any bit.
  absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor> inputs);
  absl::StatusOr<std::vector<HostTensor>> Run(std::vector<HostTensor>* inputs);

 private:
  explicit CaseProgram(Session session) : session_(std::move(session)) {}
  absl::Status WriteFile(const CaseOptions& options, const Backend& backend);
  absl::Status CheckFile(absl::Span<const HostTensor> given) const;

  Session session_;
  std::optional<CompiledProgram> file_;
};

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CONFORMANCE_CASE_PROGRAM_H_
