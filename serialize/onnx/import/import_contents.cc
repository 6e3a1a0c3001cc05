// NodeContext: contents of inputs that are known while importing.
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"
#include "graph/ops/shape.h"
#include "graph/sym/sym_facts.h"
#include "graph/tensor/tensor.h"
#include "serialize/onnx/import/import_context.h"
#include "serialize/onnx/import/import_model.h"

namespace weft::onnx_import {

absl::Status NodeContext::MustKnow(int i) {
  return Fail(absl::StrCat(InputText(i),
                           " must be known when compiling; pass the value of the graph input that "
                           "it comes from"));
}

std::optional<std::vector<SymInt>> NodeContext::SymbolicInts(int i) {
  Value* v = in(i);
  if (v == nullptr || !(IsInt(v->type().dtype()) || v->type().dtype() == DType::kBool)) {
    return std::nullopt;
  }
  return importer_->KnownInts(v);
}

absl::StatusOr<std::optional<std::vector<SymInt>>> NodeContext::KnownOrGivenInts(int i) {
  Value* v = in(i);
  if (v == nullptr) return status();
  if (!IsInt(v->type().dtype())) {
    return Fail(
        absl::StrCat(InputText(i), " is ", v->type().ToString(), ", not an integer tensor"));
  }
  auto known = importer_->KnownInts(v);
  if (known) return known;
  if (auto tensor = importer_->Evaluate(v, /*specialize=*/true)) {
    known = ToSymInts(tensor->ReadInts());
  }
  return known;
}

absl::StatusOr<std::vector<SymInt>> NodeContext::RequireInts(int i) {
  WEFT_ASSIGN_OR_RETURN(auto known, KnownOrGivenInts(i));
  if (known) return *std::move(known);
  return MustKnow(i);
}

absl::StatusOr<std::vector<int64_t>> NodeContext::RequireConstantInts(int i) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<SymInt> values, RequireInts(i));
  if (auto constants = AllConstant(values)) return *std::move(constants);
  return Fail(absl::StrCat(InputText(i), " is ", ToString(values), ", but must be constant"));
}

absl::StatusOr<int64_t> NodeContext::RequireConstantInt(int i) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<int64_t> values, RequireConstantInts(i));
  if (values.size() == 1) return values[0];
  return Fail(absl::StrCat(InputText(i), " has ", values.size(), " elements instead of one"));
}

absl::StatusOr<HostTensor> NodeContext::RequireConstant(int i) {
  Value* v = in(i);
  if (v == nullptr) return status();
  if (auto tensor = importer_->Evaluate(v, /*specialize=*/true)) {
    return *std::move(tensor);
  }
  return MustKnow(i);
}

absl::StatusOr<std::vector<double>> NodeContext::RequireConstantFloats(int i) {
  WEFT_ASSIGN_OR_RETURN(const HostTensor tensor, RequireConstant(i));
  if (IsComplex(tensor.dtype())) {
    return Fail(absl::StrCat(InputText(i), " is complex"));
  }
  return tensor.ReadDoubles();
}

absl::StatusOr<double> NodeContext::RequireConstantFloat(int i) {
  WEFT_ASSIGN_OR_RETURN(const std::vector<double> values, RequireConstantFloats(i));
  if (values.size() == 1) return values[0];
  return Fail(absl::StrCat(InputText(i), " has ", values.size(), " elements instead of one"));
}

std::optional<HostTensor> NodeContext::ConstantTensor(int i) {
  Value* v = opt(i);
  if (v == nullptr) return std::nullopt;
  return importer_->Evaluate(v, /*specialize=*/false);
}

absl::Status NodeContext::CheckLengthKnown(int i) {
  Value* v = in(i);
  if (v == nullptr) return status();
  const Type type = v->type();
  if (type.rank() <= 1 && type.is_static()) return absl::OkStatus();
  // The number of elements determines the rank of the result.
  return Fail(absl::StrCat("the length of ", InputText(i), " must be known when compiling; it is ",
                           type.ToString()));
}

absl::StatusOr<std::vector<SymInt>> NodeContext::SizesFromTensor(int i, bool sizes) {
  WEFT_ASSIGN_OR_RETURN(auto known, KnownOrGivenInts(i));
  if (known) return *std::move(known);
  WEFT_RETURN_IF_ERROR(CheckLengthKnown(i));
  return SizesFromValue(in(i), sizes);
}

absl::StatusOr<std::vector<SymInt>> NodeContext::SizesFromValue(Value* v, bool sizes) {
  if (v == nullptr) return status();
  const Type type = v->type();
  if (!IsInt(type.dtype()) || type.rank() > 1 || !type.is_static()) {
    return Fail(absl::StrCat("sizes cannot be read from ", type.ToString()));
  }
  if (auto known = importer_->KnownInts(v)) return *std::move(known);
  constexpr int64_t kMaxSizes = 1024;
  const int64_t n = type.numel().value();
  if (n > kMaxSizes) {
    return Fail(absl::StrCat("sizes cannot be read from ", type.ToString()));
  }
  std::vector<SymInt> symbols;
  for (int64_t k = 0; k < n; ++k) {
    Value* element = v;
    if (type.rank() == 1 && n > 1) {
      element = ops::BuildSlice(*this, v, 0, k, k + 1);
    }
    if (element == nullptr) return status();
    const auto known = importer_->KnownElement(&b(), element);
    // An expression that may be negative cannot be a size; the symbol of an `item` node can,
    // because it is checked.
    if (known && (!sizes || importer_->module().symbols().RangeOf(*known).min >= 0)) {
      symbols.push_back(*known);
      continue;
    }
    const auto item = importer_->Item(&b(), element);
    if (!item) return status();
    const SymInt symbol = *item;
    if (sizes && symbol.is_symbol()) {
      SymbolInfo info;
      info.symbol = symbol;
      info.unbacked = true;
      importer_->module().symbols().Declare(info);
    }
    symbols.push_back(symbol);
  }
  return symbols;
}

}  // namespace weft::onnx_import
