#include "api/c/library/extensions.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "api/c/entries/errors.h"
#include "api/c/library/callback_op.h"
#include "api/c/library/entries.h"
#include "base/status_macros.h"
#include "graph/ir/op_registry.h"

namespace weft::c {
namespace {

// Modules read the tables while others might add to them.
absl::Status CheckMayAdd(const weft_extensions* extensions) {
  WEFT_RETURN_IF_ERROR(CheckGiven(extensions, "extensions"));
  if (extensions->shared.use_count() == 1) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "a module or a program uses the extensions, so nothing can be added to them");
}

// "domain::Type".
absl::StatusOr<OnnxName> OnnxNameFrom(absl::string_view text) {
  const size_t colons = text.find("::");
  if (colons != text.npos) {
    return OnnxName{std::string(text.substr(0, colons)), std::string(text.substr(colons + 2))};
  }
  return absl::InvalidArgumentError(absl::StrCat("`onnx` is \"", text, "\", not \"domain::Type\""));
}

}  // namespace

SharedExtensions::SharedExtensions() = default;
SharedExtensions::~SharedExtensions() = default;

void UseExtensions(const ExtensionsRef& extensions, CompileOptions* options) {
  if (extensions == nullptr) return;
  options->registry = &extensions->value.passes();
  options->context.rules = extensions->value.rules();
}

weft_error* ExtensionsCreate(weft_extensions** extensions) {
  return Guarded("extensions_create", [&]() -> absl::Status {
    WEFT_RETURN_IF_ERROR(CheckGiven(extensions, "extensions"));
    *extensions = nullptr;
    *extensions = new weft_extensions;
    return absl::OkStatus();
  });
}

void ExtensionsDestroy(weft_extensions* extensions) { delete extensions; }

weft_error* ExtensionsAddOp(weft_extensions* extensions, const weft_op* op) {
  return Guarded("extensions_add_op", [&]() -> absl::Status {
    WEFT_RETURN_IF_ERROR(CheckGiven(op, "op"));
    WEFT_ASSIGN_OR_RETURN(const weft_op given, OptionsFrom(op));
    OpContext context(given);
    WEFT_RETURN_IF_ERROR(CheckMayAdd(extensions));
    WEFT_ASSIGN_OR_RETURN(auto made, CallbackOp::Make(given, std::move(context)));
    std::optional<OnnxName> onnx;
    if (given.onnx != nullptr) {
      WEFT_ASSIGN_OR_RETURN(onnx, OnnxNameFrom(given.onnx));
    }
    SharedExtensions& shared = *extensions->shared;
    WEFT_RETURN_IF_ERROR(shared.value.AddOp(made.get(), std::move(onnx)));
    shared.ops.push_back(std::move(made));
    return absl::OkStatus();
  });
}

weft_error* ExtensionsAddRules(weft_extensions* extensions, const char* text, size_t size,
                               const char* name) {
  return Guarded("extensions_add_rules", [&]() -> absl::Status {
    WEFT_RETURN_IF_ERROR(CheckMayAdd(extensions));
    WEFT_RETURN_IF_ERROR(CheckGiven(text, "text"));
    return extensions->shared->value.AddRules(absl::string_view(text, size),
                                              name != nullptr ? name : "rules");
  });
}

}  // namespace weft::c
