// A pass: graph to graph, inside one module.
//
// On entry and on exit the module verifies; the pass manager sees to it. A pass
// neither times nor verifies itself, and does not say whether it changed
// something: the manager measures that. Run twice in a row, a pass changes
// nothing the second time.
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

// Sees the options of a pass, each with its place in the pass's options struct.
class OptionVisitor {
 public:
  virtual ~OptionVisitor() = default;
  virtual void Visit(absl::string_view name, bool* value, absl::string_view doc) = 0;
  virtual void Visit(absl::string_view name, int64_t* value, absl::string_view doc) = 0;
  virtual void Visit(absl::string_view name, double* value, absl::string_view doc) = 0;
  virtual void Visit(absl::string_view name, std::string* value, absl::string_view doc) = 0;
  // Written with ';' between the elements.
  virtual void Visit(absl::string_view name, std::vector<std::string>* value,
                     absl::string_view doc) = 0;
};

class Pass {
 public:
  virtual ~Pass() = default;
  // As in the pipeline text.
  virtual absl::string_view name() const = 0;
  // One line.
  virtual absl::string_view doc() const = 0;
  // Lists each option once; parsing, printing and help come from this list.
  virtual void VisitOptions(OptionVisitor& visitor) {}
  // The loosest numeric contract among its rewrites. A pass that has looser ones than bit-exact
  // has an option `admit` too, with what the pipeline admits of them.
  virtual NumericContract max_contract() const { return NumericContract::kBitExact; }
  // Whether it may see modules with writes (Module::HasWrites). The manager
  // does not run others on them: a pass takes values for what they are, not for
  // what their memory has become.
  virtual bool HandlesWrites() const { return false; }
  // Whether the module takes other inputs afterwards, as asked: semantic checks,
  // which compare before and after on the same inputs, leave the pass out.
  virtual bool ChangesInputs() const { return false; }
  // Its remarks are logged here.
  virtual const LogComponent& log() const { return passes_log; }
  virtual absl::Status Run(Module& module, PassContext& context) = 0;

  // Option `admit`; nothing where the pipeline does not say.
  std::optional<NumericContract> admit() const { return admit_; }
  void set_admit(std::optional<NumericContract> contract) { admit_ = contract; }

 private:
  std::optional<NumericContract> admit_;
};

// An option as text.
struct PassOption {
  std::string name;
  std::string value;
  std::string doc;
};
// With the present values, in the pass's order.
std::vector<PassOption> OptionsOf(Pass& pass);
// The error names the option and, for an unknown one, a close name.
absl::Status SetOption(Pass& pass, absl::string_view name, absl::string_view value);

}  // namespace weft

#endif  // WEFT_PASSES_ENGINE_PASS_H_
