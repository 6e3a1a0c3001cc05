// The additions of a program to Weft: ops, passes, pipelines, rewrite rules and backends of its
// own, beside the built-in ones.
//
//   Extensions mine;
//   WEFT_RETURN_IF_ERROR(mine.AddOp(&square));
//   WEFT_RETURN_IF_ERROR(mine.AddPass(CreateFindSquaresPass));
//   WEFT_RETURN_IF_ERROR(mine.AddRuleFile("squares.rules"));
//
//   Module module(mine.ops());             // Or LoadOptions::ops, ParseModule.
//   CompileOptions options;
//   options.registry = &mine.passes();
//   options.context.rules = mine.rules();
//
// The functions check their arguments. On an error the object is unchanged: AlreadyExists for a
// name that is taken, InvalidArgument for incomplete or malformed additions. All messages name the
// culprit.
#ifndef WEFT_API_EXTENSIONS_H_
#define WEFT_API_EXTENSIONS_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/ir/op_registry.h"
#include "passes/engine/registry.h"
#include "passes/engine/rules/rule_set.h"

namespace weft {

class Backend;
class BackendRegistry;
class OpDef;

// Outlives the modules and compilations that use it, and must not be moved.
class Extensions {
 public:
  Extensions();  // Only the built-in parts.
  ~Extensions();
  Extensions(const Extensions&) = delete;
  Extensions& operator=(const Extensions&) = delete;

  // `op` outlives this object. It must have an Infer, and an Eval or a Decompose. With `onnx`, ONNX
  // models have it as that operator, of any version of the domain; its operands and results are
  // tensors then.
  absl::Status AddOp(const OpDef* op, std::optional<OnnxName> onnx = std::nullopt);
  absl::Status AddPass(PassFactory factory);
  // The text may use all passes and pipelines added so far.
  absl::Status AddPipeline(NamedPipeline pipeline);
  // Rules and ops in the syntax of passes/engine/rules/rule_set.h, over the ops added so far; each
  // rule is tested before it is admitted. `file` is for messages.
  absl::Status AddRules(absl::string_view text, absl::string_view file);
  // NotFound if the file cannot be read.
  absl::Status AddRuleFile(const std::string& path);

  // A backend for --target, Session and ProgramOptions::backends. Its default pipeline may use
  // everything added so far.
  absl::Status AddBackend(std::shared_ptr<const Backend> backend);

  const OpRegistry& ops() const { return ops_; }
  const PassRegistry& passes() const { return passes_; }
  // Null if there are no rules.
  const RuleSet* rules() const { return rules_.get(); }
  const BackendRegistry& backends() const { return *backends_; }

 private:
  absl::Status Admit(absl::StatusOr<std::unique_ptr<RuleSet>> rules);

  OpRegistry ops_;
  PassRegistry passes_;
  std::unique_ptr<RuleSet> rules_;
  std::unique_ptr<BackendRegistry> backends_;
};

}  // namespace weft

#endif  // WEFT_API_EXTENSIONS_H_
