// The part of a plan's text that describes ops (plan_ops.h), and mentions of ops in steps.
#ifndef WEFT_LOWERING_PLAN_TEXT_OPS_H_
#define WEFT_LOWERING_PLAN_TEXT_OPS_H_

#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/text/parts/text_reader.h"
#include "lowering/plan.h"
#include "lowering/plan_ops.h"
#include "lowering/plan_text.h"

namespace weft {

// An op that the reader of a plan has; without a schema: it has no such op.
struct NamedOp {
  const OpDef* op = nullptr;
  const OpSchema* schema = nullptr;
  absl::string_view schema_text;
};
using OpSource = absl::FunctionRef<NamedOp(absl::string_view name)>;

// "name" or "name(attributes)".
std::string OpText(const OpSchema& schema, const AttrList* attrs);

// A line per schema, and the bodies of ops of epilogues.
std::string OpsText(const Plan& plan);

// Each function reads one item at the reader's position; false after an error, which the reader
// has.
class OpsParser {
 public:
  // `ops` is null for a text that is read without ops; it must then have the schemas itself.
  OpsParser(text::TextReader& reader, const OpSource* ops) : reader_(reader), source_(ops) {}

  // Reads the text of OpsText.
  bool ParseLines();
  // Reads the text of OpText.
  bool ParseOp(NamedOp* op, const AttrList** attrs);
  // Passes the descriptions to the plan and its nested plans.
  void Finish(Plan* plan);

 private:
  bool ParseSchema();
  bool ParseBody();
  bool AttributesFollow(const OpSchema& schema);
  NamedOp Find(absl::string_view name) const;

  text::TextReader& reader_;
  const OpSource* const source_;
  std::shared_ptr<PlanOps> ops_ = std::make_shared<PlanOps>();
};

// ParsePlan (plan_text.h) with ops from anywhere, or without ops.
absl::StatusOr<Plan> ReadPlanText(absl::string_view text, const OpSource* ops,
                                  ConstantSource constants, absl::string_view filename);

}  // namespace weft

#endif  // WEFT_LOWERING_PLAN_TEXT_OPS_H_
