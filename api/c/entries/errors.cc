#include "api/c/entries/errors.h"

#include <exception>
#include <new>
#include <string>

#include "api/c/entries/entries.h"
#include "base/out_of_memory.h"

struct weft_error {
  weft_status code = WEFT_OK;
  std::string message;
  const char* function = "";
};

namespace weft::c {
namespace {

// Made when the library is loaded, and never destroyed by callers.
weft_error* NoMemory() {
  static weft_error& error = *new weft_error{WEFT_RESOURCE_EXHAUSTED, "no memory", ""};
  return &error;
}
weft_error* const kNoMemory = NoMemory();

}  // namespace

weft_error* ErrorFrom(const absl::Status& status, const char* function) noexcept {
  if (status.ok()) return nullptr;
  try {
    return new weft_error{static_cast<weft_status>(status.code()), std::string(status.message()),
                          function};
  } catch (const std::bad_alloc&) {
    return kNoMemory;
  }
}

weft_error* Guarded(const char* function, absl::FunctionRef<absl::Status()> body) noexcept {
  absl::Status status;
  try {
    status = CatchOutOfMemory(body);
  } catch (const std::exception& error) {
    status = absl::InternalError(error.what());
  } catch (...) {
    status = absl::InternalError("unknown exception");
  }
  return ErrorFrom(status, function);
}

absl::Status CheckGiven(const void* pointer, absl::string_view name) {
  if (pointer != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("`", name, "` is null"));
}

weft_status ErrorCode(const weft_error* error) { return error == nullptr ? WEFT_OK : error->code; }

const char* ErrorMessage(const weft_error* error) {
  return error == nullptr ? "" : error->message.c_str();
}

const char* ErrorFunction(const weft_error* error) {
  return error == nullptr ? "" : error->function;
}

void ErrorDestroy(weft_error* error) {
  if (error != kNoMemory) delete error;
}

}  // namespace weft::c
