#include "tools/common/flags.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "api/version.h"
#include "base/status_macros.h"

namespace weft::tools {
namespace {

// "-o", "--seed".
std::string Dashed(absl::string_view name) {
  return absl::StrCat(name.size() == 1 ? "-" : "--", name);
}

absl::Status BadValue(absl::string_view name, absl::string_view kind, absl::string_view value) {
  return absl::InvalidArgumentError(
      absl::StrCat(Dashed(name), " takes ", kind, ", not \"", value, "\""));
}

int EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

// Text of lines as they are: a backslash is roff's own, and so is a dot or a quote at the start.
std::string Roff(absl::string_view text) {
  return absl::StrReplaceAll(absl::StrCat("\n", text),
                             {{"\\", "\\e"}, {"-", "\\-"}, {"\n.", "\n\\&."}, {"\n'", "\n\\&'"}})
      .substr(1);
}

}  // namespace

std::string ClosestName(absl::string_view name, const std::vector<std::string>& candidates) {
  std::string best;
  int best_distance = static_cast<int>(name.size()) / 3 + 2;
  for (const std::string& candidate : candidates) {
    // A word is no misspelling of one letter.
    if (candidate.size() < 2 && name.size() > 2) continue;
    const int distance = EditDistance(name.substr(0, 64), candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

FlagSet::FlagSet(std::string program, std::string synopsis, std::string about)
    : program_(std::move(program)), synopsis_(std::move(synopsis)), about_(std::move(about)) {}

void FlagSet::Section(std::string title) { flags_.push_back({"", "", std::move(title), nullptr}); }

void FlagSet::Bool(std::string name, bool* target, std::string doc) {
  flags_.push_back({name, "", std::move(doc), [name, target](const std::string& v) -> absl::Status {
                      if (!absl::SimpleAtob(v, target)) {
                        return BadValue(name, "true or false", v);
                      }
                      return absl::OkStatus();
                    }});
}

void FlagSet::String(std::string name, std::string* target, std::string value, std::string doc) {
  flags_.push_back(
      {std::move(name), std::move(value), std::move(doc), [target](const std::string& v) {
         *target = v;
         return absl::OkStatus();
       }});
}

void FlagSet::OptionalString(std::string name, std::string* target, std::string value,
                             std::string bare, std::string doc) {
  String(std::move(name), target, std::move(value), std::move(doc));
  flags_.back().optional = true;
  flags_.back().bare = std::move(bare);
}

void FlagSet::Int(std::string name, int64_t* target, std::string value, std::string doc) {
  flags_.push_back({name, std::move(value), std::move(doc),
                    [name, target](const std::string& v) -> absl::Status {
                      if (!absl::SimpleAtoi(v, target)) {
                        return BadValue(name, "an integer", v);
                      }
                      return absl::OkStatus();
                    }});
}

void FlagSet::IntBetween(std::string name, int64_t* target, int64_t least, int64_t most,
                         std::string value, std::string doc) {
  const std::string kind = absl::StrCat("an integer from ", least, " to ", most);
  flags_.push_back({name, std::move(value), std::move(doc),
                    [name, target, least, most, kind](const std::string& v) -> absl::Status {
                      int64_t number;
                      if (!absl::SimpleAtoi(v, &number) || number < least || number > most) {
                        return BadValue(name, kind, v);
                      }
                      *target = number;
                      return absl::OkStatus();
                    }});
}

void FlagSet::Double(std::string name, double* target, std::string value, std::string doc) {
  flags_.push_back({name, std::move(value), std::move(doc),
                    [name, target](const std::string& v) -> absl::Status {
                      double number;
                      if (!absl::SimpleAtod(v, &number) || !(number >= 0) || std::isinf(number)) {
                        return BadValue(name, "a number of at least 0", v);
                      }
                      *target = number;
                      return absl::OkStatus();
                    }});
}

void FlagSet::Repeated(std::string name, std::vector<std::string>* target, std::string value,
                       std::string doc) {
  flags_.push_back(
      {std::move(name), std::move(value), std::move(doc), [target](const std::string& v) {
         target->push_back(v);
         return absl::OkStatus();
       }});
}

void FlagSet::Custom(std::string name, std::string value, std::string doc,
                     std::function<absl::Status(const std::string&)> set) {
  flags_.push_back({std::move(name), std::move(value), std::move(doc), std::move(set)});
}

void FlagSet::Alias(std::string alias, std::string name) {
  aliases_.emplace(std::move(alias), std::move(name));
}

const FlagSet::Flag* FlagSet::Find(absl::string_view name) const {
  const auto alias = aliases_.find(std::string(name));
  if (alias != aliases_.end()) name = alias->second;
  for (const Flag& flag : flags_) {
    if (!flag.name.empty() && flag.name == name) return &flag;
  }
  return nullptr;
}

absl::Status FlagSet::Unknown(absl::string_view typed) const {
  const absl::string_view name = typed.substr(std::min(typed.find_first_not_of('-'), typed.size()));
  std::vector<std::string> names;
  for (const Flag& flag : flags_) names.push_back(flag.name);
  const std::string closest = ClosestName(name, names);
  return absl::InvalidArgumentError(
      absl::StrCat("unknown flag ", typed,
                   closest.empty() ? "; --help lists the flags"
                                   : absl::StrCat("; did you mean ", Dashed(closest), "?")));
}

absl::Status FlagSet::ParseOne(const std::string& argument, int argc, const char* const* argv,
                               int* index) {
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(argument.substr(2), absl::MaxSplits('=', 1));
  const bool has_value = argument.find('=') != std::string::npos;
  if (const Flag* flag = Find(parts.first)) {
    if (has_value) return flag->set(parts.second);
    if (flag->value.empty()) return flag->set("true");
    if (flag->optional) return flag->set(flag->bare);
    if (*index + 1 >= argc) {
      return absl::InvalidArgumentError(
          absl::StrCat(Dashed(parts.first), " needs a value: ", Dashed(parts.first),
                       parts.first.size() == 1 ? " " : "=", flag->value));
    }
    return flag->set(argv[++*index]);
  }
  absl::string_view positive = parts.first;
  if (!has_value && absl::ConsumePrefix(&positive, "no")) {
    const Flag* flag = Find(positive);
    if (flag != nullptr && flag->value.empty()) return flag->set("false");
  }
  return Unknown(absl::StrCat("--", parts.first));
}

absl::StatusOr<std::vector<std::string>> FlagSet::Parse(int argc, const char* const* argv) {
  std::vector<std::string> positional;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--") {
      positional.insert(positional.end(), argv + i + 1, argv + argc);
      break;
    }
    if (argument == "--help" || argument == "-h") {
      help_requested_ = true;
      break;
    }
    if (argument == "--help=man" || argument == "--help=flags") {
      help_requested_ = true;
      help_form_ = argument == "--help=man" ? HelpForm::kManualPage : HelpForm::kCompletions;
      break;
    }
    if (argument == "--version") {
      version_requested_ = true;
      break;
    }
    if (argument.size() == 2 && argument[0] == '-' && argument[1] != '-' &&
        Find(argument.substr(1)) != nullptr) {
      WEFT_RETURN_IF_ERROR(ParseOne(absl::StrCat("-", argument), argc, argv, &i));
      continue;
    }
    if (argument.size() < 2 || argument[0] != '-') {
      positional.push_back(argument);
      continue;
    }
    if (argument[1] != '-') return Unknown(argument.substr(0, argument.find('=')));
    WEFT_RETURN_IF_ERROR(ParseOne(argument, argc, argv, &i));
  }
  return positional;
}

std::string FlagSet::Shown(const Flag& flag) {
  std::string shown = Dashed(flag.name);
  if (flag.optional) {
    absl::StrAppend(&shown, "[=", flag.value, "]");
  } else if (!flag.value.empty()) {
    absl::StrAppend(&shown, flag.name.size() == 1 ? " " : "=", flag.value);
  }
  return shown;
}

std::string FlagSet::HelpText() const {
  constexpr size_t kColumn = 30;
  std::string help = absl::StrCat("Usage: ", program_, " ", synopsis_, "\n\n", about_, "\n");
  for (const Flag& flag : flags_) {
    if (flag.name.empty()) {
      absl::StrAppend(&help, "\n", flag.doc, ":\n");
      continue;
    }
    std::string left = absl::StrCat("  ", Shown(flag));
    if (left.size() + 2 > kColumn) {
      left += "\n" + std::string(kColumn, ' ');
    } else {
      left.resize(kColumn, ' ');
    }
    // Further lines of the doc align with the first.
    absl::StrAppend(&help, left,
                    absl::StrJoin(absl::StrSplit(flag.doc, '\n'), "\n" + std::string(kColumn, ' ')),
                    "\n");
  }
  return help;
}

std::string FlagSet::Help() const {
  switch (help_form_) {
    case HelpForm::kManualPage:
      return ManualPage();
    case HelpForm::kCompletions:
      return Completions();
    default:
      return HelpText();
  }
}

std::string FlagSet::ManualPage() const {
  const std::string name = absl::StrCat("weft-", program_);
  // The first sentence says what the tool is for.
  const std::string line = absl::StrReplaceAll(absl::StrCat(about_, " "), {{"\n", " "}});
  const std::string first = line.substr(0, line.find(". "));
  std::string page = absl::StrCat(".TH ", absl::AsciiStrToUpper(name), " 1 \"\" \"Weft ", kVersion,
                                  "\"\n.SH NAME\n", Roff(name), " \\- ", Roff(first),
                                  "\n.SH SYNOPSIS\n.B ", Roff(name), "\n", Roff(synopsis_),
                                  "\n.SH DESCRIPTION\n.nf\n", Roff(about_), "\n.fi\n");
  bool any = false;
  for (const Flag& flag : flags_) {
    if (flag.name.empty() || !any) {
      absl::StrAppend(&page, ".SH ",
                      flag.name.empty() ? Roff(absl::AsciiStrToUpper(flag.doc)) : "OPTIONS", "\n");
      any = true;
    }
    if (flag.name.empty()) continue;
    absl::StrAppend(&page, ".TP\n.B ", Roff(Shown(flag)), "\n", Roff(flag.doc), "\n");
  }
  return page;
}

std::string FlagSet::Completions() const {
  std::string lines = "--help\n--version\n";
  for (const Flag& flag : flags_) {
    if (flag.name.empty()) continue;
    absl::StrAppend(&lines, Dashed(flag.name),
                    flag.value.empty() || flag.optional || flag.name.size() == 1 ? "" : "=", "\n");
  }
  return lines;
}

}  // namespace weft::tools
