#include "api/extensions.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "api/backends.h"
#include "api/rule_file.h"
#include "backends/backend.h"
#include "base/status_macros.h"
#include "graph/ir/op_def.h"
#include "graph/ir/op_registry.h"
#include "graph/ir/op_schema.h"
#include "graph/ops/registry.h"
#include "passes/engine/pass_manager/pipeline.h"
#include "passes/pipelines.h"

namespace weft {
namespace {

// Checks a name for pipelines and modules: a letter, followed by letters, digits, '_', '-' and '.'.
absl::Status CheckName(absl::string_view what, absl::string_view name) {
  const bool good = !name.empty() && absl::ascii_isalpha(name[0]) &&
                    std::all_of(name.begin(), name.end(), [](char c) {
                      return absl::ascii_isalnum(c) || c == '_' || c == '-' || c == '.';
                    });
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " cannot be called \"", name, "\""));
}

absl::Status Taken(absl::string_view what, absl::string_view name) {
  return absl::AlreadyExistsError(absl::StrCat("there is ", what, " called ", name, " already"));
}

absl::Status CheckFree(const PassRegistry& passes, absl::string_view name) {
  if (passes.Create(name) != nullptr) return Taken("a pass", name);
  if (passes.FindPipeline(name) != nullptr) return Taken("a pipeline", name);
  return absl::OkStatus();
}

// True if operands and results are tensors, and there are no nested graphs.
bool IsOfTensors(const OpSchema& schema) {
  const auto is_size = [](const auto& value) { return value.symint; };
  return schema.regions.empty() && !schema.has_variadic_result() &&
         std::none_of(schema.operands.begin(), schema.operands.end(), is_size) &&
         std::none_of(schema.results.begin(), schema.results.end(), is_size);
}

}  // namespace

Extensions::Extensions()
    : ops_(ops::Registry()),
      passes_(BuiltinPasses()),
      backends_(std::make_unique<BackendRegistry>(BuiltinBackends())) {}
Extensions::~Extensions() = default;

absl::Status Extensions::AddOp(const OpDef* op, std::optional<OnnxName> onnx) {
  WEFT_RETURN_IF_ERROR(CheckName("an op", op->name()));
  auto refuse = [&](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("op ", op->name(), ": ", why));
  };
  auto schema = OpSchema::Parse(op->schema_text());
  if (!schema.ok()) return refuse(schema.status().message());
  if (schema->name != op->name()) return refuse(absl::StrCat("its schema is of ", schema->name));
  if (op->infer() == nullptr) return refuse("it has no Infer");
  if (op->eval() == nullptr && op->decompose() == nullptr) {
    return refuse("it has neither an Eval nor a Decompose, so that nothing can run it");
  }
  if (ops_.Find(op->name()) != nullptr) return Taken("an op", op->name());
  if (onnx) {
    WEFT_RETURN_IF_ERROR(CheckOnnxName(*onnx));
    if (!IsOfTensors(*schema)) {
      return refuse(
          "it has graphs, sizes or lists of results, which operators of ONNX do not have");
    }
    if (ops_.FindInOnnx(onnx->domain, onnx->type) != nullptr) {
      return Taken("an op", absl::StrCat(onnx->domain, "::", onnx->type));
    }
  }
  ops_.Register(op);
  if (onnx) ops_.NameInOnnx(op, *std::move(onnx));
  return absl::OkStatus();
}

absl::Status Extensions::AddPass(PassFactory factory) {
  const std::string name(factory()->name());
  WEFT_RETURN_IF_ERROR(CheckName("a pass", name));
  WEFT_RETURN_IF_ERROR(CheckFree(passes_, name));
  passes_.Add(std::move(factory));
  return absl::OkStatus();
}

absl::Status Extensions::AddPipeline(NamedPipeline pipeline) {
  WEFT_RETURN_IF_ERROR(CheckName("a pipeline", pipeline.name));
  WEFT_RETURN_IF_ERROR(CheckFree(passes_, pipeline.name));
  auto parsed = Pipeline::Parse(pipeline.text, passes_);
  if (!parsed.ok()) {
    absl::string_view message = parsed.status().message();
    absl::ConsumePrefix(&message, "pipeline, ");
    return absl::InvalidArgumentError(absl::StrCat("pipeline ", pipeline.name, ", ", message));
  }
  passes_.AddPipeline(std::move(pipeline));
  return absl::OkStatus();
}

absl::Status Extensions::AddRules(absl::string_view text, absl::string_view file) {
  return Admit(LoadRules(text, file, ops_));
}

absl::Status Extensions::AddRuleFile(const std::string& path) {
  return Admit(LoadRuleFile(path, ops_));
}

absl::Status Extensions::AddBackend(std::shared_ptr<const Backend> backend) {
  WEFT_RETURN_IF_ERROR(CheckName("a target", backend->name()));
  auto parsed = Pipeline::Parse(backend->default_pipeline(), passes_);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("target ", backend->name(), ", its pipeline: ", parsed.status().message()));
  }
  return backends_->Add(std::move(backend));
}

absl::Status Extensions::Admit(absl::StatusOr<std::unique_ptr<RuleSet>> rules) {
  WEFT_RETURN_IF_ERROR(rules.status());
  const size_t known = rules_ == nullptr ? 0 : rules_->ops().size();
  if (rules_ == nullptr) {
    rules_ = *std::move(rules);
  } else {
    WEFT_RETURN_IF_ERROR(rules_->Append(*std::move(rules)));
  }
  for (const RuleSet::OwnOp& own : rules_->ops().subspan(known)) {
    ops_.Register(own.op);
    if (own.onnx) ops_.NameInOnnx(own.op, *own.onnx);
  }
  return absl::OkStatus();
}

}  // namespace weft
