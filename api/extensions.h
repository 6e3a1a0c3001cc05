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
// The functions check what they are given and leave the object as it was when
// they refuse it: AlreadyExists for a name that is taken, InvalidArgument for what
// is incomplete or malformed. All messages name the culprit.
#ifndef WEFT_API_EXTENSIONS_H_
#define WEFT_API_EXTENSIONS_H_

#include <memory>
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

// Outlives the modules and compilations that use it; stays where it is.
class Extensions {
 public:
  Extensions();  // Only what is built in.
  ~Extensions();
  Extensions(const Extensions&) = delete;
  Extensions& operator=(const Extensions&) = delete;

  // `op` outlives this. It has an Infer, and an Eval or a Decompose.
  absl::Status AddOp(const OpDef* op);
  absl::Status AddPass(PassFactory factory);
  // The text may name all that was added before.
  absl::Status AddPipeline(NamedPipeline pipeline);
  // Rules in the form of passes/engine/rules/rule_set.h, over the ops added so far; each
  // is tested before it is admitted. `file` is for messages.
  absl::Status AddRules(absl::string_view text, absl::string_view file);
  // NotFound when the file cannot be read.
  absl::Status AddRuleFile(const std::string& path);

  // A target for --target, Session and ProgramOptions::backends. Its default pipeline may name all
  // that was added before.
  absl::Status AddBackend(std::shared_ptr<const Backend> backend);

  const OpRegistry& ops() const { return ops_; }
  const PassRegistry& passes() const { return passes_; }
  // Null without rules.
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
