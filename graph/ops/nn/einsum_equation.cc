#include "graph/ops/nn/einsum_equation.h"

#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "graph/ops/support/infer.h"

namespace weft::ops {
namespace {

absl::Status CheckLabels(absl::string_view term, absl::string_view equation) {
  std::string letters(term);
  const size_t dots = letters.find("...");
  if (dots != std::string::npos) letters.erase(dots, 3);
  for (char c : letters) {
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) {
      return Invalid("'", std::string(1, c), "' in the equation \"", equation, "\" is no label");
    }
  }
  return absl::OkStatus();
}

// The labels of a term for an operand of rank `rank`, or, for -1, of the result
// with an ellipsis of `ellipsis` dims.
absl::StatusOr<std::vector<int>> ParseTerm(absl::string_view term, int rank, int ellipsis) {
  const size_t dots = term.find("...");
  const bool has_dots = dots != absl::string_view::npos;
  const int letters = static_cast<int>(term.size()) - (has_dots ? 3 : 0);
  if (rank >= 0) {
    ellipsis = rank - letters;
    if (ellipsis < 0 || (ellipsis > 0 && !has_dots)) {
      return Invalid("the term \"", term, "\" does not fit rank ", rank);
    }
  }
  std::vector<int> labels;
  for (size_t i = 0; i < term.size(); ++i) {
    if (i == dots) {
      for (int d = ellipsis; d > 0; --d) labels.push_back(Equation::kEllipsis + d);
      i += 2;
    } else {
      labels.push_back(static_cast<unsigned char>(term[i]));
    }
  }
  return labels;
}

// Without "->": the ellipsis, then the labels that occur once, in order.
std::vector<int> ImplicitResult(const std::vector<std::vector<int>>& operands) {
  std::map<int, int> count;
  for (const auto& labels : operands) {
    for (int label : labels) ++count[label];
  }
  std::vector<int> dots, once;
  for (const auto& [label, n] : count) {
    if (label >= Equation::kEllipsis) {
      dots.push_back(label);
    } else if (n == 1) {
      once.push_back(label);
    }
  }
  std::reverse(dots.begin(), dots.end());
  dots.insert(dots.end(), once.begin(), once.end());
  return dots;
}

}  // namespace

absl::StatusOr<Equation> Equation::Parse(absl::string_view text, absl::Span<const int> ranks) {
  const std::string equation = absl::StrReplaceAll(text, {{" ", ""}});
  const std::vector<std::string> sides = absl::StrSplit(equation, "->");
  const std::vector<std::string> terms = absl::StrSplit(sides[0], ',');
  if (sides.size() > 2 || terms.size() != ranks.size()) {
    return Invalid("the equation \"", text, "\" does not have ", ranks.size(), " terms");
  }
  Equation parsed;
  int ellipsis = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    WEFT_RETURN_IF_ERROR(CheckLabels(terms[i], text));
    WEFT_ASSIGN_OR_RETURN(std::vector<int> labels, ParseTerm(terms[i], ranks[i], 0));
    ellipsis = std::max<int>(ellipsis, std::count_if(labels.begin(), labels.end(),
                                                     [](int l) { return l >= kEllipsis; }));
    parsed.operands.push_back(std::move(labels));
  }
  if (sides.size() == 1) {
    parsed.result = ImplicitResult(parsed.operands);
    return parsed;
  }
  WEFT_RETURN_IF_ERROR(CheckLabels(sides[1], text));
  WEFT_ASSIGN_OR_RETURN(parsed.result, ParseTerm(sides[1], -1, ellipsis));
  for (size_t i = 0; i < parsed.result.size(); ++i) {
    const int label = parsed.result[i];
    const bool known =
        std::any_of(parsed.operands.begin(), parsed.operands.end(),
                    [&](const auto& l) { return std::find(l.begin(), l.end(), label) != l.end(); });
    const auto begin = parsed.result.begin();
    if (!known || std::find(begin, begin + i, label) != begin + i) {
      return Invalid("the result of \"", text, "\" repeats a label or has one that no operand has");
    }
  }
  return parsed;
}

}  // namespace weft::ops
