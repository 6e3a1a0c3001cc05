// Prepares a session from a module, and measures the time of each stage.
#ifndef WEFT_TOOLS_BENCH_PREPARE_H_
#define WEFT_TOOLS_BENCH_PREPARE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "api/compiler.h"
#include "api/session.h"
#include "graph/ir/module.h"
#include "tools/common/pipeline_flags.h"
#include "tools/common/target_flags.h"

namespace weft::bench {

struct PrepareOptions {
  tools::TargetFlags target;
  tools::PipelineFlags pipeline;
  const Extensions* extensions = nullptr;  // With what the pipeline's flags load; null: none.
};

struct Prepared {
  CompileResult compiled;
  double passes_ms = 0;
  double session_ms = 0;
  int64_t nodes = 0;
  std::unique_ptr<Session> session;
};

absl::StatusOr<Prepared> Prepare(const PrepareOptions& options, std::unique_ptr<Module> module);

}  // namespace weft::bench

#endif  // WEFT_TOOLS_BENCH_PREPARE_H_
