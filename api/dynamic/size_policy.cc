#include "api/dynamic/size_policy.h"

#include "absl/strings/str_cat.h"
#include "api/call_inputs.h"
#include "base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/ir/value.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_ops.h"

namespace weft {
namespace {

constexpr int64_t kMaxSpecializedElements = 64;

absl::StatusOr<SymInt> MarkedSize(const Graph& main, const MarkedDim& mark) {
  WEFT_ASSIGN_OR_RETURN(const int input, FindInput(main, mark.input));
  const Type type = main.input(input)->type();
  if (type.is_symint() && mark.dim == -1) return type.symint();
  if (type.is_tensor() && mark.dim >= 0 && mark.dim < type.rank()) return type.dim(mark.dim);
  return absl::InvalidArgumentError(absl::StrCat("\"", mark.input, "\" of type ", type.ToString(),
                                                 " has no dim ", mark.dim, " to mark"));
}

std::string MarkText(const MarkedDim& mark) {
  return absl::StrCat(mark.dynamic == Dynamic::kSymbolic ? "mark_dynamic" : "mark_static", "(",
                      mark.input, ", ", mark.dim, ")");
}

}  // namespace

absl::StatusOr<int> FindInput(const Graph& main, absl::string_view name) {
  std::vector<std::string> names;
  for (int i = 0; i < main.num_inputs(); ++i) {
    if (main.input_info(i).name == name) return i;
    names.push_back(main.input_info(i).name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the program has no input \"", name, "\"", NearNames(name, names)));
}

absl::Status AssumeMarkedRanges(Module& module, absl::Span<const MarkedDim> marks) {
  for (const MarkedDim& mark : marks) {
    WEFT_ASSIGN_OR_RETURN(const SymInt size, MarkedSize(*module.main(), mark));
    std::vector<SymInt> conditions;
    if (mark.min) conditions.push_back(GreaterEqual(size, *mark.min));
    if (mark.max) conditions.push_back(LessEqual(size, *mark.max));
    for (SymInt condition : conditions) {
      if (module.symbols().Assume(condition, MarkText(mark)) != Proof::kNo) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(MarkText(mark), ": no size that the program takes meets ",
                       condition.is_constant() ? "the bounds" : condition.ToString()));
    }
  }
  return absl::OkStatus();
}

SizePolicy::SizePolicy(const Graph& main, const SizeProgram& size_program,
                       const ProgramOptions& options)
    : main_(main),
      size_program_(size_program),
      options_(options),
      seen_(size_program.symbols().size()) {}

absl::Status SizePolicy::Check() {
  for (const MarkedDim& mark : options_.marks) WEFT_RETURN_IF_ERROR(AddMark(mark));
  for (const std::string& name : options_.specialized_values) {
    WEFT_RETURN_IF_ERROR(AddValue(name));
  }
  return absl::OkStatus();
}

absl::Status SizePolicy::AddMark(const MarkedDim& mark) {
  WEFT_ASSIGN_OR_RETURN(const SymInt size, MarkedSize(main_, mark));
  if (mark.dynamic == Dynamic::kSymbolic && size.is_constant()) {
    return absl::InvalidArgumentError(absl::StrCat(
        MarkText(mark), ": the size is ", size.ToString(), " in the program, and no other"));
  }
  absl::Status status;
  ForEachSymbol(size, [&](SymInt symbol) {
    const int number = size_program_.NumberOf(symbol);
    if (number < 0) return;
    const MarkedDim*& known = seen_[number].mark;
    if (known != nullptr && known->dynamic != mark.dynamic) {
      status.Update(absl::InvalidArgumentError(absl::StrCat(
          MarkText(mark), " contradicts ", MarkText(*known), ": both have ", symbol.ToString())));
    }
    known = &mark;
  });
  return status;
}

absl::Status SizePolicy::AddValue(const std::string& name) {
  WEFT_ASSIGN_OR_RETURN(const int input, FindInput(main_, name));
  const auto fail = [&](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("the value of \"", name, "\" cannot be specialized: ", why));
  };
  const Type type = main_.input(input)->type();
  if (!type.is_tensor()) return fail("it is a size, which is marked as dim -1");
  if (IsFloat(type.dtype()) || IsComplex(type.dtype())) return fail("it is no integer or bool");
  if (main_.module().HasWrites()) return fail("the program writes in place");
  for (int written : main_.write_backs()) {
    if (written == input) return fail("the program writes it");
  }
  if (main_.input_info(input).initial >= 0) return fail("it is state");
  seen_values_.push_back({input, HostTensor(), false});
  return absl::OkStatus();
}

absl::Status SizePolicy::CheckOnHost(absl::Span<const RunInput> inputs) const {
  for (const SeenValue& value : seen_values_) {
    if (inputs[value.input].host() != nullptr) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("input \"", main_.input_info(value.input).name,
                     "\" is specialized on, and has to be in the host's memory"));
  }
  return absl::OkStatus();
}

VariantChoice SizePolicy::Choose(absl::Span<const int64_t> sizes,
                                 absl::Span<const RunInput> inputs) {
  VariantChoice result;
  for (size_t i = 0; i < sizes.size(); ++i) {
    result.sizes.push_back(ChooseSize(static_cast<int>(i), sizes[i]));
  }
  for (size_t i = 0; i < seen_values_.size(); ++i) {
    result.values.push_back(ChooseValue(i, *inputs[seen_values_[i].input].host()));
    if (result.values.back().fixed) FixDimsOf(result.values.back(), sizes, &result);
  }
  if (options_.duck_shape) ShareEqualSizes(sizes, &result);
  if (!options_.specialize_zero_one) return result;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const SymInt symbol = size_program_.symbols()[i];
    if (result.sizes[i].value != symbol || seen_[i].mark != nullptr) continue;
    result.assumptions.push_back({GreaterEqual(symbol, 2), "0 and 1 are specialized"});
  }
  return result;
}

SizeChoice SizePolicy::ChooseSize(int number, int64_t size) {
  Seen& seen = seen_[number];
  if (!seen.any) {
    seen.any = true;
    seen.first = size;
  } else if (size != seen.first && !seen.changed) {
    seen.changed = true;
    seen.other = size;
  }
  const SymInt symbol = size_program_.symbols()[number];
  if (seen.mark != nullptr) {
    const bool fixed = seen.mark->dynamic == Dynamic::kStatic;
    if (fixed) return {SymInt(size), "marked static"};
    if (seen.mark->dynamic == Dynamic::kSymbolic) return {symbol, "marked dynamic"};
  } else if (options_.specialize_zero_one && (size == 0 || size == 1)) {
    return {SymInt(size), "0 and 1 are specialized"};
  }
  if (options_.dynamic == Dynamic::kStatic) return {SymInt(size), "dynamic=static"};
  if (options_.dynamic == Dynamic::kSymbolic) return {symbol, "dynamic=symbolic"};
  if (!seen.changed) return {SymInt(size), "no other size so far"};
  return {symbol, absl::StrCat("it was ", seen.first, ", then ", seen.other)};
}

ValueChoice SizePolicy::ChooseValue(size_t place, const HostTensor& value) {
  SeenValue& seen = seen_values_[place];
  const HostTensor dense = value.Contiguous();
  if (!seen.first.valid()) {
    seen.first = dense;
  } else if (!seen.first.BitEqual(dense)) {
    seen.changed = true;
  }
  ValueChoice choice{seen.input, true, "no other value so far"};
  if (value.numel() > kMaxSpecializedElements) {
    choice = {seen.input, false, absl::StrCat("more than ", kMaxSpecializedElements, " elements")};
  } else if (options_.dynamic == Dynamic::kStatic) {
    choice.why = "dynamic=static";
  } else if (options_.dynamic == Dynamic::kSymbolic) {
    choice = {seen.input, false, "dynamic=symbolic"};
  } else if (seen.changed) {
    choice = {seen.input, false, "the value changed"};
  }
  return choice;
}

// If the value of an input is fixed, its dims are fixed too.
void SizePolicy::FixDimsOf(const ValueChoice& choice, absl::Span<const int64_t> sizes,
                           VariantChoice* result) const {
  for (SymInt dim : main_.input(choice.input)->type().dims()) {
    ForEachSymbol(dim, [&](SymInt symbol) {
      const int number = size_program_.NumberOf(symbol);
      if (number < 0 || result->sizes[number].value.is_constant()) return;
      result->sizes[number] = {SymInt(sizes[number]), "the value is specialized"};
    });
  }
}

void SizePolicy::ShareEqualSizes(absl::Span<const int64_t> sizes, VariantChoice* result) const {
  absl::flat_hash_map<int64_t, SymInt> first;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const SymInt symbol = size_program_.symbols()[i];
    if (result->sizes[i].value != symbol) continue;
    const SymInt other = first.emplace(sizes[i], symbol).first->second;
    if (other != symbol) result->sizes[i] = {other, "equal sizes are one symbol (duck shaping)"};
  }
}

}  // namespace weft
