#include "passes/engine/pass_manager/pipeline.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "graph/ir/attr.h"

namespace weft {
namespace {

constexpr absl::string_view kFixpoint = "fixpoint";
constexpr absl::string_view kIf = "if";
constexpr absl::string_view kSpecial = ",{}()\"= \t\r\n";
// Nesting of parentheses and of pipelines that name pipelines.
constexpr int kMaxNesting = 16;

class PipelineParser {
 public:
  PipelineParser(absl::string_view text, const PassRegistry& registry, int nesting)
      : text_(text), registry_(registry), nesting_(nesting) {}

  absl::StatusOr<std::vector<Pipeline::Step>> ParseAll() {
    std::vector<Pipeline::Step> steps;
    SkipSpace();
    if (AtEnd()) return steps;
    WEFT_RETURN_IF_ERROR(ParseItems(&steps));
    if (!AtEnd()) return Error(pos_, "expected ',' or the end");
    return steps;
  }

 private:
  struct Option {
    std::string name;
    std::string value;
    size_t pos;
    bool bare = false;  // Without a value.
  };

  absl::Status ParseItems(std::vector<Pipeline::Step>* steps) {
    do {
      WEFT_RETURN_IF_ERROR(ParseItem(steps));
    } while (Consume(','));
    return absl::OkStatus();
  }

  absl::Status ParseItem(std::vector<Pipeline::Step>* steps) {
    SkipSpace();
    const size_t start = pos_;
    const std::string name = Word();
    if (name.empty()) return Error(start, "expected the name of a pass");
    std::vector<Option> options;
    WEFT_RETURN_IF_ERROR(ParseOptions(&options));
    if (name == kFixpoint) return ParseFixpoint(options, steps);
    if (name == kIf) {
      if (!options.empty()) return Error(options[0].pos, "if has no options");
      return ParseIf(steps);
    }
    if (const NamedPipeline* named = registry_.FindPipeline(name)) {
      if (!options.empty()) {
        return Error(options[0].pos, absl::StrCat("pipeline ", name, " takes no options"));
      }
      return Expand(*named, start, steps);
    }
    std::unique_ptr<Pass> pass = registry_.Create(name);
    if (pass == nullptr) return UnknownName(start, name);
    for (const Option& option : options) {
      if (option.bare && NeedsValue(*pass, option.name)) return NoValue(option);
      const absl::Status status = SetOption(*pass, option.name, option.value);
      if (!status.ok()) return Error(option.pos, status.message());
    }
    steps->emplace_back().pass = std::move(pass);
    return absl::OkStatus();
  }

  absl::Status ParseFixpoint(const std::vector<Option>& options,
                             std::vector<Pipeline::Step>* steps) {
    Pipeline::Step step;
    for (const Option& option : options) {
      if (option.name != "max") {
        return Error(option.pos, absl::StrCat("fixpoint has no option \"", option.name,
                                              "\", did you mean \"max\"?"));
      }
      if (option.bare) return NoValue(option);
      if (!absl::SimpleAtoi(option.value, &step.max_rounds) || step.max_rounds < 1) {
        return Error(option.pos, "max must be a positive integer");
      }
    }
    if (!Consume('(')) return Error(pos_, "expected '(' after fixpoint");
    return ParseBody(std::move(step), steps);
  }

  absl::Status ParseIf(std::vector<Pipeline::Step>* steps) {
    Pipeline::Step step;
    if (!Consume('(')) return Error(pos_, "expected '(' after if");
    Pipeline::Condition condition;
    WEFT_RETURN_IF_ERROR(ParseCondition(&condition));
    step.condition = std::move(condition);
    if (!Consume(',')) {
      return Error(pos_, "expected ',' and the items after the condition");
    }
    return ParseBody(std::move(step), steps);
  }

  // The items of a group, and its ')'.
  absl::Status ParseBody(Pipeline::Step step, std::vector<Pipeline::Step>* steps) {
    if (++nesting_ > kMaxNesting) return Error(pos_, "nested too deep");
    SkipSpace();
    const bool empty = !AtEnd() && text_[pos_] == ')';
    WEFT_RETURN_IF_ERROR(empty ? absl::OkStatus() : ParseItems(&step.steps));
    --nesting_;
    if (!Consume(')')) return Error(pos_, "expected ',' or ')'");
    steps->push_back(std::move(step));
    return absl::OkStatus();
  }

  absl::Status ParseCondition(Pipeline::Condition* condition) {
    using Kind = Pipeline::Condition::Kind;
    while (Consume('!')) condition->negated = !condition->negated;
    SkipSpace();
    const size_t start = pos_;
    while (!AtEnd() && (absl::ascii_isalnum(text_[pos_]) || text_[pos_] == '_')) {
      ++pos_;
    }
    const absl::string_view name = text_.substr(start, pos_ - start);
    if (name == "changed") {
      condition->kind = Kind::kChanged;
      return absl::OkStatus();
    }
    if (name == "has_op") {
      condition->kind = Kind::kHasOp;
      if (!Consume('(')) return Error(pos_, "expected '(' after has_op");
      SkipSpace();
      condition->op = Word();
      if (condition->op.empty()) return Error(pos_, "expected the name of an op");
      if (!Consume(')')) return Error(pos_, "expected ')' after the op");
      return absl::OkStatus();
    }
    if (name == "nodes") {
      condition->kind = Kind::kNodesBelow;
      if (!Consume('<')) return Error(pos_, "expected '<' after nodes");
      SkipSpace();
      const size_t number = pos_;
      if (!absl::SimpleAtoi(Word(), &condition->nodes) || condition->nodes < 0) {
        return Error(number, "expected a number of nodes");
      }
      return absl::OkStatus();
    }
    return Error(start,
                 "expected a condition: has_op(NAME), nodes<N, changed, or one of them "
                 "after '!'");
  }

  absl::Status ParseOptions(std::vector<Option>* options) {
    if (!Consume('{')) return absl::OkStatus();
    if (Consume('}')) return absl::OkStatus();
    do {
      SkipSpace();
      Option option;
      option.pos = pos_;
      option.name = Word();
      if (option.name.empty()) return Error(pos_, "expected an option's name");
      if (Consume('=')) {
        SkipSpace();
        WEFT_RETURN_IF_ERROR(ParseValue(&option.value));
      } else {
        option.bare = true;
        option.value = "true";
      }
      options->push_back(std::move(option));
    } while (Consume(','));
    if (!Consume('}')) return Error(pos_, "expected ',' or '}'");
    return absl::OkStatus();
  }

  absl::Status ParseValue(std::string* value) {
    const size_t start = pos_;
    if (!Consume('"')) {
      *value = Word();
      return absl::OkStatus();
    }
    while (!AtEnd() && text_[pos_] != '"') {
      if (text_[pos_] == '\\' && pos_ + 1 < text_.size()) ++pos_;
      value->push_back(text_[pos_++]);
    }
    if (AtEnd()) return Error(start, "a quoted value does not end");
    ++pos_;
    return absl::OkStatus();
  }

  absl::Status Expand(const NamedPipeline& named, size_t start,
                      std::vector<Pipeline::Step>* steps) {
    if (nesting_ >= kMaxNesting) return Error(start, "nested too deep");
    auto inner = PipelineParser(named.text, registry_, nesting_ + 1).ParseAll();
    if (!inner.ok()) {
      return Error(start, absl::StrCat("in pipeline ", named.name, ": ", inner.status().message()));
    }
    for (Pipeline::Step& step : *inner) steps->push_back(std::move(step));
    return absl::OkStatus();
  }

  absl::Status UnknownName(size_t start, const std::string& name) {
    std::vector<std::string> names = registry_.PassNames();
    for (const NamedPipeline& pipeline : registry_.pipelines()) {
      names.push_back(pipeline.name);
    }
    names.emplace_back(kFixpoint);
    names.emplace_back(kIf);
    return Error(start, absl::StrCat("no pass or pipeline is called \"", name, "\"",
                                     DidYouMean(name, names)));
  }

  // A bool option needs no value: its name alone sets it to true.
  static bool NeedsValue(Pass& pass, absl::string_view name) {
    for (const PassOption& option : OptionsOf(pass)) {
      if (option.name == name) return option.value != "true" && option.value != "false";
    }
    return false;
  }

  absl::Status NoValue(const Option& option) const {
    return Error(option.pos + option.name.size(), absl::StrCat("expected '=' after ", option.name));
  }

  absl::Status Error(size_t pos, absl::string_view message) const {
    return absl::InvalidArgumentError(absl::StrCat("pipeline, column ", pos + 1, ": ", message));
  }
  bool AtEnd() const { return pos_ == text_.size(); }
  void SkipSpace() {
    while (!AtEnd() && absl::ascii_isspace(text_[pos_])) ++pos_;
  }
  bool Consume(char c) {
    SkipSpace();
    if (AtEnd() || text_[pos_] != c) return false;
    ++pos_;
    return true;
  }
  std::string Word() {
    const size_t end = std::min(text_.find_first_of(kSpecial, pos_), text_.size());
    std::string word(text_.substr(pos_, end - pos_));
    pos_ = end;
    return word;
  }

  absl::string_view text_;
  const PassRegistry& registry_;
  int nesting_;
  size_t pos_ = 0;
};

std::string ValueText(const std::string& value) {
  if (!value.empty() &&
      absl::string_view(value).find_first_of(kSpecial) == absl::string_view::npos) {
    return value;
  }
  std::string text = "\"";
  for (char c : value) {
    if (c == '"' || c == '\\') text.push_back('\\');
    text.push_back(c);
  }
  return text + "\"";
}

// The text of a pass without the options whose values are `defaults`.
std::string PassText(Pass& pass, const std::vector<PassOption>& defaults) {
  std::string text(pass.name());
  std::string options;
  const std::vector<PassOption> present = OptionsOf(pass);
  for (size_t i = 0; i < present.size(); ++i) {
    if (i < defaults.size() && defaults[i].value == present[i].value) continue;
    absl::StrAppend(&options, options.empty() ? "" : ",", present[i].name, "=",
                    ValueText(present[i].value));
  }
  if (!options.empty()) absl::StrAppend(&text, "{", options, "}");
  return text;
}

std::string StepText(const Pipeline::Step& step, const PassRegistry* registry);

// Recursive: nesting is bounded by the parser. Without a registry all options are
// written.
std::string StepsText(const std::vector<Pipeline::Step>& steps, const PassRegistry* registry) {
  return absl::StrJoin(steps, ",", [registry](std::string* text, const Pipeline::Step& step) {
    absl::StrAppend(text, StepText(step, registry));
  });
}

std::string StepText(const Pipeline::Step& step, const PassRegistry* registry) {
  if (step.pass != nullptr) {
    const std::unique_ptr<Pass> fresh =
        registry == nullptr ? nullptr : registry->Create(step.pass->name());
    return PassText(*step.pass, fresh == nullptr ? std::vector<PassOption>() : OptionsOf(*fresh));
  }
  const std::string steps = StepsText(step.steps, registry);
  if (step.condition) return absl::StrCat(kIf, "(", step.condition->ToString(), ",", steps, ")");
  std::string text(kFixpoint);
  if (step.max_rounds != Pipeline::kDefaultRounds) {
    absl::StrAppend(&text, "{max=", step.max_rounds, "}");
  }
  return absl::StrCat(text, "(", steps, ")");
}

}  // namespace

absl::StatusOr<Pipeline> Pipeline::Parse(absl::string_view text, const PassRegistry& registry) {
  WEFT_ASSIGN_OR_RETURN(auto steps, PipelineParser(text, registry, 0).ParseAll());
  Pipeline pipeline;
  pipeline.steps_ = std::move(steps);
  return pipeline;
}

Pipeline& Pipeline::Add(std::unique_ptr<Pass> pass) {
  steps_.emplace_back().pass = std::move(pass);
  return *this;
}

Pipeline& Pipeline::AddFixpoint(Pipeline body, int max_rounds) {
  Step step;
  step.max_rounds = max_rounds;
  step.steps = std::move(body.steps_);
  steps_.push_back(std::move(step));
  return *this;
}

Pipeline& Pipeline::AddIf(Condition condition, Pipeline body) {
  Step step;
  step.condition = std::move(condition);
  step.steps = std::move(body.steps_);
  steps_.push_back(std::move(step));
  return *this;
}

std::string Pipeline::Condition::ToString() const {
  const absl::string_view bang = negated ? "!" : "";
  switch (kind) {
    case Kind::kHasOp:
      return absl::StrCat(bang, "has_op(", op, ")");
    case Kind::kNodesBelow:
      return absl::StrCat(bang, "nodes<", nodes);
    case Kind::kChanged:
      return absl::StrCat(bang, "changed");
  }
  return "";
}

std::string PassToString(Pass& pass) { return PassText(pass, {}); }

std::string StepToString(const Pipeline::Step& step) { return StepText(step, nullptr); }

std::string Pipeline::ToString(const PassRegistry& registry) const {
  return StepsText(steps_, &registry);
}

}  // namespace weft
