// Einstein summation.
//
// ONNX's ellipses stand for equal dims. Where those of the operands differ, as
// NumPy's may, they become labels; dims of size 1 that broadcast are dropped.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "graph/ops/ops.h"
#include "graph/sym/sym_ops.h"
#include "serialize/onnx/export/export_tables.h"

namespace weft::onnx_export {
namespace {

constexpr char kDots[] = "...";
constexpr size_t kDotsSize = 3;

struct Equation {
  std::vector<std::string> terms;  // Without spaces.
  std::string result;
  bool has_result = false;
};

Equation Parse(absl::string_view text) {
  const std::string plain = absl::StrReplaceAll(text, {{" ", ""}});
  const std::vector<std::string> sides = absl::StrSplit(plain, "->");
  Equation equation;
  equation.terms = absl::StrSplit(sides[0], ',');
  equation.has_result = sides.size() > 1;
  if (equation.has_result) equation.result = sides[1];
  return equation;
}

// Without "->": the ellipsis, then the labels that occur once, in order.
std::string ImpliedResult(const Equation& equation) {
  const std::string labels = absl::StrReplaceAll(absl::StrJoin(equation.terms, ""), {{".", ""}});
  std::string result(kDots);
  for (char c = 'A'; c <= 'z'; ++c) {
    if (std::count(labels.begin(), labels.end(), c) == 1) result += c;
  }
  return result;
}

// `n` letters that the equation does not use.
absl::StatusOr<std::string> FreshLabels(absl::string_view equation, size_t n) {
  std::string labels;
  for (char c = 'A'; c <= 'z' && labels.size() < n; ++c) {
    if (c > 'Z' && c < 'a') continue;
    if (equation.find(c) == absl::string_view::npos) labels += c;
  }
  if (labels.size() == n) return labels;
  return NodeExport::Unsupported("has too many labels");
}

// The dims that an operand's ellipsis stands for.
absl::Span<const SymInt> EllipsisDims(absl::string_view term, Type type) {
  const size_t at = term.find(kDots);
  if (at == absl::string_view::npos) return {};
  return type.dims().subspan(at, type.rank() - (term.size() - kDotsSize));
}

// Right-aligned, as NumPy broadcasts.
std::vector<SymInt> Broadcast(absl::Span<const SymInt> a, absl::Span<const SymInt> b) {
  if (a.size() < b.size()) std::swap(a, b);
  std::vector<SymInt> dims(a.begin(), a.end());
  for (size_t i = 0; i < b.size(); ++i) {
    SymInt& dim = dims[dims.size() - 1 - i];
    dim = BroadcastSize(dim, b[b.size() - 1 - i]);
  }
  return dims;
}

// Replaces the ellipsis of operand `i` by the labels of its dims; drops those
// of size 1 that others broadcast.
absl::StatusOr<Val> Spell(NodeExport& e, int i, absl::Span<const SymInt> all,
                          absl::string_view labels, std::string* term) {
  const auto dims = EllipsisDims(*term, e.type(i));
  const size_t at = term->find(kDots);
  if (at == std::string::npos) return e.in(i);
  std::string spelt;
  std::vector<SymInt> kept(e.type(i).dims().begin(), e.type(i).dims().begin() + at);
  for (size_t d = 0; d < dims.size(); ++d) {
    const size_t of_all = all.size() - dims.size() + d;
    if (dims[d] == all[of_all]) {
      spelt += labels[of_all];
      kept.push_back(dims[d]);
    } else if (!dims[d].Is(1)) {
      return NodeExport::Unsupported("broadcasts ", dims[d].ToString(), " to ",
                                     all[of_all].ToString(), ", which may or may not be equal");
    }
  }
  const auto rest = e.type(i).dims().subspan(at + dims.size());
  kept.insert(kept.end(), rest.begin(), rest.end());
  term->replace(at, kDotsSize, spelt);
  if (kept.size() == e.type(i).dims().size()) return e.in(i);
  return e.Reshape(e.in(i), e.type(i).dims(), kept);
}

absl::Status ExportEinsum(NodeExport& e) {
  const std::string& text = e.attrs().Str("equation");
  Equation equation = Parse(text);
  std::vector<SymInt> all;
  bool differ = false;
  for (int i = 0; i < e.num_operands(); ++i) {
    const auto dims = EllipsisDims(equation.terms[i], e.type(i));
    if (i > 0 && dims != absl::MakeConstSpan(all)) differ = true;
    all = Broadcast(all, dims);
  }
  std::vector<Val> operands = e.ins();
  std::string written = text;
  if (differ) {
    WEFT_ASSIGN_OR_RETURN(const std::string labels, FreshLabels(text, all.size()));
    std::string result = equation.has_result ? equation.result : ImpliedResult(equation);
    for (int i = 0; i < e.num_operands(); ++i) {
      WEFT_ASSIGN_OR_RETURN(operands[i], Spell(e, i, all, labels, &equation.terms[i]));
    }
    written = absl::StrCat(absl::StrJoin(equation.terms, ","), "->",
                           absl::StrReplaceAll(result, {{kDots, labels}}));
  }
  e.SetOutput(0, e.w().Op("Einsum", operands, {{"equation", written}}));
  return absl::OkStatus();
}

}  // namespace

absl::Span<const ExportEntry> EinsumExports() {
  static const ExportEntry kEntries[] = {
      {&ops::einsum, ExportEinsum, "",
       "ellipses that broadcast sizes which may or may not be equal"},
  };
  return kEntries;
}

}  // namespace weft::onnx_export
