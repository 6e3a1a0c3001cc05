#include "backends/plugin/call_error.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/printable.h"

namespace weft::plugin {
namespace {

absl::StatusCode CodeOf(weft_status status) {
  switch (status) {
    case WEFT_INVALID_ARGUMENT:
    case WEFT_RESOURCE_EXHAUSTED:
    case WEFT_OUT_OF_RANGE:
    case WEFT_UNIMPLEMENTED:
    case WEFT_UNAVAILABLE:
      return static_cast<absl::StatusCode>(status);
    default:
      return absl::StatusCode::kInternal;
  }
}

weft_status StatusOf(absl::StatusCode code) {
  const auto status = static_cast<weft_status>(code);
  return code == absl::StatusCode::kOk || CodeOf(status) == code ? status : WEFT_INTERNAL;
}

}  // namespace

absl::Status CallError::ToStatus(weft_status status, absl::string_view device,
                                 absl::string_view call) const {
  if (status == WEFT_OK) return absl::OkStatus();
  std::string text =
      PrintableName(absl::string_view(error_.text, strnlen(error_.text, WEFT_DEVICE_ERROR_TEXT)));
  if (text.empty()) text = absl::StrCat("failed with status ", status);
  return absl::Status(CodeOf(status), absl::StrCat("device ", device, ": ", call, ": ", text));
}

weft_status FromStatus(const absl::Status& status, weft_device_error* error) {
  if (error != nullptr && !status.ok()) {
    const absl::string_view text = status.message().substr(0, WEFT_DEVICE_ERROR_TEXT - 1);
    std::memcpy(error->text, text.data(), text.size());
    error->text[text.size()] = '\0';
  }
  return StatusOf(status.code());
}

}  // namespace weft::plugin
