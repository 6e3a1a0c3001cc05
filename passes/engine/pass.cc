#include "passes/engine/pass.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "graph/ir/attr.h"
#include "passes/engine/registry.h"

namespace weft {
namespace {

class OptionLister : public OptionVisitor {
 public:
  void Visit(absl::string_view name, bool* value, absl::string_view doc) override {
    Add(name, *value ? "true" : "false", doc);
  }
  void Visit(absl::string_view name, int64_t* value, absl::string_view doc) override {
    Add(name, absl::StrCat(*value), doc);
  }
  void Visit(absl::string_view name, double* value, absl::string_view doc) override {
    Add(name, FloatToString(*value), doc);
  }
  void Visit(absl::string_view name, std::string* value, absl::string_view doc) override {
    Add(name, *value, doc);
  }
  void Visit(absl::string_view name, std::vector<std::string>* value,
             absl::string_view doc) override {
    Add(name, absl::StrJoin(*value, ";"), doc);
  }
  std::vector<PassOption> Take() { return std::move(options_); }

 private:
  void Add(absl::string_view name, std::string value, absl::string_view doc) {
    options_.push_back({std::string(name), std::move(value), std::string(doc)});
  }
  std::vector<PassOption> options_;
};

class OptionSetter : public OptionVisitor {
 public:
  OptionSetter(absl::string_view name, absl::string_view text) : name_(name), text_(text) {}

  void Visit(absl::string_view name, bool* value, absl::string_view doc) override {
    if (Is(name)) Check(absl::SimpleAtob(text_, value), "true or false");
  }
  void Visit(absl::string_view name, int64_t* value, absl::string_view doc) override {
    if (Is(name)) Check(absl::SimpleAtoi(text_, value), "an integer");
  }
  void Visit(absl::string_view name, double* value, absl::string_view doc) override {
    if (Is(name)) Check(absl::SimpleAtod(text_, value), "a number");
  }
  void Visit(absl::string_view name, std::string* value, absl::string_view doc) override {
    if (Is(name)) *value = std::string(text_);
  }
  void Visit(absl::string_view name, std::vector<std::string>* value,
             absl::string_view doc) override {
    if (Is(name)) *value = absl::StrSplit(text_, ';', absl::SkipEmpty());
  }

  bool found() const { return found_; }
  const std::string& expected() const { return expected_; }

 private:
  bool Is(absl::string_view name) {
    if (name != name_) return false;
    return found_ = true;
  }
  void Check(bool ok, absl::string_view expected) {
    if (!ok) expected_ = std::string(expected);
  }
  absl::string_view name_;
  absl::string_view text_;
  bool found_ = false;
  std::string expected_;  // Description of valid text.
};

constexpr absl::string_view kAdmit = "admit";

absl::Status BadValue(const Pass& pass, absl::string_view option, absl::string_view expected,
                      absl::string_view value) {
  return absl::InvalidArgumentError(absl::StrCat("option ", option, " of ", pass.name(),
                                                 " must be ", expected, ", not \"", value, "\""));
}

}  // namespace

std::vector<PassOption> OptionsOf(Pass& pass) {
  OptionLister lister;
  pass.VisitOptions(lister);
  std::vector<PassOption> options = lister.Take();
  if (pass.max_contract() > NumericContract::kBitExact) {
    options.push_back(
        {std::string(kAdmit), std::string(pass.admit() ? NumericContractName(*pass.admit()) : ""),
         absl::StrCat("the loosest numeric contract of its rewrites, up to ",
                      NumericContractName(pass.max_contract()),
                      "; default: ", NumericContractName(PassContext::kDefaultAdmitted))});
  }
  return options;
}

absl::Status SetOption(Pass& pass, absl::string_view name, absl::string_view value) {
  if (name == kAdmit && pass.max_contract() > NumericContract::kBitExact) {
    pass.set_admit(ParseNumericContract(value));
    if (pass.admit() || value.empty()) return absl::OkStatus();
    return BadValue(pass, name, "bit-exact, value-safe, reassociating or approximate", value);
  }
  OptionSetter setter(name, value);
  pass.VisitOptions(setter);
  if (!setter.found()) {
    std::vector<std::string> names;
    for (const PassOption& option : OptionsOf(pass)) {
      names.push_back(option.name);
    }
    return absl::InvalidArgumentError(
        absl::StrCat(pass.name(), " has no option \"", name, "\"", DidYouMean(name, names)));
  }
  if (!setter.expected().empty()) {
    return BadValue(pass, name, setter.expected(), value);
  }
  return absl::OkStatus();
}

}  // namespace weft
