// The interface of passes, which transform graphs within one module.
//
// The module is valid on entry and exit; the pass manager verifies it. A pass does not measure
// time, verify, or report whether it changed something: the manager does. A pass that runs twice in
// a row changes nothing the second time.
#ifndef WEFT_PASSES_ENGINE_PASS_H_
#define WEFT_PASSES_ENGINE_PASS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/ir/numeric_contract.h"
#include "passes/engine/logs.h"
#include "passes/engine/pass_context.h"

namespace weft {

class Module;

// Visits the options of a pass, each with a pointer into the pass's options struct.
class OptionVisitor {
 public:
  virtual ~OptionVisitor() = default;
  virtual void Visit(absl::string_view name, bool* value, absl::string_view doc) = 0;
  virtual void Visit(absl::string_view name, int64_t* value, absl::string_view doc) = 0;
  virtual void Visit(absl::string_view name, double* value, absl::string_view doc) = 0;
  virtual void Visit(absl::string_view name, std::string* value, absl::string_view doc) = 0;
  // The text form separates the elements by ';'.
  virtual void Visit(absl::string_view name, std::vector<std::string>* value,
                     absl::string_view doc) = 0;
};

class Pass {
 public:
  virtual ~Pass() = default;
  // The name in pipeline text.
  virtual absl::string_view name() const = 0;
  // A description of one line.
  virtual absl::string_view doc() const = 0;
  // Lists each option once; parsing, printing and help come from this list.
  virtual void VisitOptions(OptionVisitor& visitor) { static_cast<void>(visitor); }
  // The loosest numeric contract of its rewrites. A pass with a looser contract than bit-exact also
  // has an option `admit`, which limits its rewrites.
  virtual NumericContract max_contract() const { return NumericContract::kBitExact; }
  // True if the pass supports modules with writes (Module::HasWrites). The manager does not run
  // other passes on them, because these assume that memory does not change.
  virtual bool HandlesWrites() const { return false; }
  // True if the pass changes the inputs of the module, as requested. Semantic checks skip it,
  // because they compare before and after on the same inputs.
  virtual bool ChangesInputs() const { return false; }
  // The log component of its remarks.
  virtual const LogComponent& log() const { return passes_log; }
  virtual absl::Status Run(Module& module, PassContext& context) = 0;

  // The option `admit`; nullopt if the pipeline does not set it.
  std::optional<NumericContract> admit() const { return admit_; }
  void set_admit(std::optional<NumericContract> contract) { admit_ = contract; }

 private:
  std::optional<NumericContract> admit_;
};

// An option and its value as text.
struct PassOption {
  std::string name;
  std::string value;
  std::string doc;
};
// All options with their present values, in the pass's order.
std::vector<PassOption> OptionsOf(Pass& pass);
// Errors name the option and, for an unknown one, a similar name.
absl::Status SetOption(Pass& pass, absl::string_view name, absl::string_view value);

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_PASS_H_
