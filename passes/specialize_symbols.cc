// Parses the values; passes/sizes/specialize.h applies them.
#include "passes/specialize_symbols.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/module.h"
#include "graph/sym/sym_facts.h"
#include "graph/text/text.h"
#include "passes/sizes/logs.h"

namespace weft {
namespace {

// "s0=8" or "s1=2*s0".
absl::StatusOr<SymbolValue> ParseSymbolValue(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is no symbol and value such as s0=8"));
  }
  SymbolValue value;
  WEFT_ASSIGN_OR_RETURN(value.symbol, ParseSymInt(text.substr(0, equals)));
  WEFT_ASSIGN_OR_RETURN(value.value, ParseSymInt(text.substr(equals + 1)));
  return value;
}

class SpecializeSymbolsPass : public Pass {
 public:
  explicit SpecializeSymbolsPass(const SpecializeSymbolsOptions& options) : options_(options) {}
  absl::string_view name() const override { return "specialize_symbols"; }
  const LogComponent& log() const override { return shapes_log; }
  absl::string_view doc() const override {
    return "Writes numbers or other sizes in place of chosen symbols.";
  }
  void VisitOptions(OptionVisitor& visitor) override {
    visitor.Visit("values", &options_.values, "symbols and values: s0=8;s1=2*s0");
  }
  bool HandlesWrites() const override { return true; }
  bool ChangesInputs() const override { return true; }
  absl::Status Run(Module& module, PassContext& context) override {
    std::vector<SymbolValue> values;
    for (const std::string& text : options_.values) {
      WEFT_ASSIGN_OR_RETURN(const SymbolValue value, ParseSymbolValue(text));
      if (module.symbols().Find(value.symbol) != nullptr) values.push_back(value);
    }
    const size_t before = module.symbols().symbols().size();
    WEFT_RETURN_IF_ERROR(SpecializeSymbols(module, values));
    const int64_t fewer = static_cast<int64_t>(before - module.symbols().symbols().size());
    if (fewer > 0) context.Count("specialized", fewer);
    return absl::OkStatus();
  }

 private:
  SpecializeSymbolsOptions options_;
};

}  // namespace

std::unique_ptr<Pass> CreateSpecializeSymbolsPass(const SpecializeSymbolsOptions& options) {
  return std::make_unique<SpecializeSymbolsPass>(options);
}

std::unique_ptr<Pass> CreateSpecializeSymbolsPass() { return CreateSpecializeSymbolsPass({}); }

}  // namespace weft
