#include "tools/bench/prepare.h"

#include <utility>

#include "base/status_macros.h"
#include "tools/bench/measure.h"

namespace weft::bench {

absl::StatusOr<Prepared> Prepare(const PrepareOptions& options, std::unique_ptr<Module> module) {
  Prepared result;
  CompileOptions compile;
  WEFT_ASSIGN_OR_RETURN(const Backend* const backend, options.target.Find());
  WEFT_RETURN_IF_ERROR(options.pipeline.Apply(options.extensions, &compile));
  SetTarget(*backend, &compile);
  compile.verify = VerifyLevel::kNone;
  compile.count_ops = false;
  absl::Status status;
  result.passes_ms = TimeMs([&] { status = Compile(*module, compile, &result.compiled); });
  WEFT_RETURN_IF_ERROR(status);
  result.nodes = module->num_nodes();
  absl::StatusOr<Session> session = absl::UnknownError("");
  result.session_ms = TimeMs(
      [&] { session = Session::Create(std::move(module), *backend, options.target.options); });
  WEFT_RETURN_IF_ERROR(session.status());
  result.session = std::make_unique<Session>(*std::move(session));
  return result;
}

}  // namespace weft::bench
