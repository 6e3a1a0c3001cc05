// Einstein summation.
#include <algorithm>
#include <array>
#include <map>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "graph/ops/support/op.h"

namespace weft::ops {
namespace {

// Labels of each operand and of the result. Dims that an ellipsis stands for
// are labelled from kEllipsis on, counted from the last one.
constexpr int kEllipsis = 256;

struct Equation {
  std::vector<std::vector<int>> operands;
  std::vector<int> result;
};

absl::Status CheckLabels(absl::string_view term, absl::string_view equation) {
  std::string letters(term);
  const size_t dots = letters.find("...");
  if (dots != std::string::npos) letters.erase(dots, 3);
  for (char c : letters) {
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) {
      return Invalid("'", std::string(1, c), "' in the equation \"", equation,
                     "\" is no label");
    }
  }
  return absl::OkStatus();
}

// The labels of a term for an operand of rank `rank`, or, for -1, of the result
// with an ellipsis of `ellipsis` dims.
absl::StatusOr<std::vector<int>> ParseTerm(absl::string_view term, int rank,
                                           int ellipsis) {
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
      for (int d = ellipsis; d > 0; --d) labels.push_back(kEllipsis + d);
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
    if (label >= kEllipsis) {
      dots.push_back(label);
    } else if (n == 1) {
      once.push_back(label);
    }
  }
  std::reverse(dots.begin(), dots.end());
  dots.insert(dots.end(), once.begin(), once.end());
  return dots;
}

absl::StatusOr<Equation> Parse(absl::string_view text,
                               absl::Span<const int> ranks) {
  const std::string equation = absl::StrReplaceAll(text, {{" ", ""}});
  const std::vector<std::string> sides = absl::StrSplit(equation, "->");
  const std::vector<std::string> terms = absl::StrSplit(sides[0], ',');
  if (sides.size() > 2 || terms.size() != ranks.size()) {
    return Invalid("the equation \"", text, "\" does not have ", ranks.size(),
                   " terms");
  }
  Equation parsed;
  int ellipsis = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    WEFT_RETURN_IF_ERROR(CheckLabels(terms[i], text));
    WEFT_ASSIGN_OR_RETURN(std::vector<int> labels,
                          ParseTerm(terms[i], ranks[i], 0));
    ellipsis = std::max<int>(
        ellipsis, std::count_if(labels.begin(), labels.end(),
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
    const bool known = std::any_of(
        parsed.operands.begin(), parsed.operands.end(), [&](const auto& l) {
          return std::find(l.begin(), l.end(), label) != l.end();
        });
    const auto begin = parsed.result.begin();
    if (!known || std::find(begin, begin + i, label) != begin + i) {
      return Invalid("the result of \"", text,
                     "\" repeats a label or has one that no operand has");
    }
  }
  return parsed;
}

template <typename Tensors>
std::vector<int> Ranks(const Tensors& tensors) {
  std::vector<int> ranks;
  for (const auto& t : tensors) ranks.push_back(t.rank());
  return ranks;
}

absl::Status Verify(const OpArgs& args) {
  if (args.size() == 0) return Invalid("it needs an operand");
  for (int i = 0; i < args.size(); ++i) {
    WEFT_RETURN_IF_ERROR(CheckNumeric(args, i));
  }
  WEFT_RETURN_IF_ERROR(CheckSameDType(args));
  return Parse(args.attrs().Str("equation"), Ranks(args.types)).status();
}

absl::StatusOr<Types> Infer(const OpArgs& args) {
  WEFT_ASSIGN_OR_RETURN(const Equation equation,
                        Parse(args.attrs().Str("equation"), Ranks(args.types)));
  std::map<int, SymInt> sizes;
  for (int i = 0; i < args.size(); ++i) {
    for (int d = 0; d < args.type(i).rank(); ++d) {
      const SymInt size = args.type(i).dim(d);
      auto [it, inserted] = sizes.emplace(equation.operands[i][d], size);
      if (inserted) continue;
      it->second = BroadcastSize(it->second, size);
      if (!it->second.is_valid()) {
        return Invalid("the sizes of a label differ in dim ", d, " of operand ",
                       i);
      }
    }
  }
  std::vector<SymInt> dims;
  for (int label : equation.result) dims.push_back(sizes.at(label));
  return Types{args.type(0).WithDims(dims)};
}

// Where the loop over all labels stands in each operand and in the result.
struct Loop {
  std::vector<int64_t> sizes;                 // By position of the label.
  std::vector<std::vector<int64_t>> strides;  // Operands, then the result.
};

Loop MakeLoop(const Equation& equation, EvalContext& c) {
  std::vector<int> labels = equation.result;
  for (const auto& operand : equation.operands) {
    for (int label : operand) {
      if (std::find(labels.begin(), labels.end(), label) == labels.end()) {
        labels.push_back(label);
      }
    }
  }
  Loop loop;
  loop.sizes.assign(labels.size(), 1);
  loop.strides.assign(equation.operands.size() + 1,
                      std::vector<int64_t>(labels.size(), 0));
  const auto position = [&](int label) {
    return std::find(labels.begin(), labels.end(), label) - labels.begin();
  };
  for (size_t i = 0; i < equation.operands.size(); ++i) {
    const auto dims = c.in(static_cast<int>(i)).dims();
    const std::vector<int64_t> strides = ContiguousStrides(dims);
    for (size_t d = 0; d < dims.size(); ++d) {
      const size_t p = position(equation.operands[i][d]);
      if (dims[d] == 1) continue;
      loop.sizes[p] = dims[d];
      loop.strides[i][p] += strides[d];  // A repeated label: the diagonal.
    }
  }
  const std::vector<int64_t> strides = ContiguousStrides(c.out(0).dims());
  for (size_t d = 0; d < strides.size(); ++d) loop.strides.back()[d] = strides[d];
  return loop;
}

absl::Status Eval(EvalContext& c) {
  std::vector<int> ranks;
  for (int i = 0; i < c.num_inputs(); ++i) ranks.push_back(c.in(i).rank());
  WEFT_ASSIGN_OR_RETURN(const Equation equation,
                        Parse(c.attrs().Str("equation"), ranks));
  const Loop loop = MakeLoop(equation, c);
  return VisitDomain(c.in(0).dtype(), [&](auto zero) {
    using T = decltype(zero);
    std::vector<std::vector<T>> in;
    for (int i = 0; i < c.num_inputs(); ++i) in.push_back(Read<T>(c.in(i)));
    std::vector<T> out(c.out(0).numel(), T{0});
    std::vector<int64_t> at(in.size() + 1);
    ForEachIndex(loop.sizes, [&](absl::Span<const int64_t> index) {
      for (size_t k = 0; k < at.size(); ++k) {
        at[k] = 0;
        for (size_t d = 0; d < index.size(); ++d) {
          at[k] += index[d] * loop.strides[k][d];
        }
      }
      T product = in[0][at[0]];
      for (size_t k = 1; k < in.size(); ++k) {
        product = WrapMul<T>(product, in[k][at[k]]);
      }
      out[at.back()] = WrapAdd<T>(out[at.back()], product);
    });
    Write(out, &c.out(0));
    return absl::OkStatus();
  });
}

}  // namespace

WEFT_DEFINE_OP(einsum,
    OpSpec("einsum(Tensor[] operands, str equation) -> Tensor",
           "Sum over the products of elements whose labels agree; dims under "
           "an ellipsis broadcast, a label repeated in one operand takes the "
           "diagonal. ATen: aten::einsum; ONNX: Einsum-12.")
        .Verify(Verify)
        .Infer(Infer)
        .Eval(Eval)
        .Samples(R"(
einsum(f32[2, 3], f32[3, 4], equation="ij,jk->ik")
einsum(f32[2, 3], equation="ij->ji")
einsum(f32[2, 3], equation="ij->i")
einsum(f64[3], f64[3], equation="i,i")
einsum(f32[5, 2, 3], f32[5, 3, 4], equation="bij, bjk -> bik")
einsum(f32[2, 3, 3], equation="...ii->...i")
einsum(f32[5, 1, 2, 3], f32[4, 3, 2], equation="...ij,...jk->...ik")
einsum(i32[2, 3], i32[3], i32[2], equation="ij,j,i->")
einsum(f16[2, 3], f16[3, 4], equation="ij,jk")
einsum(f32[0, 3], f32[3, 4], equation="ij,jk->ik")
einsum(f32[2, 3], equation="ij,jk->ik") ! "does not have 1 terms"
einsum(f32[2, 3], equation="i->i") ! "does not fit rank 2"
einsum(f32[2, 3], equation="ij->ik") ! "that no operand has"
einsum(f32[2, 3], f32[4], equation="ij,j->i") ! "the sizes of a label differ"
einsum(f32[2], equation="1->1") ! "is no label"
)"));

}  // namespace weft::ops
