// Memory that runs out becomes a status.
//
// Tensors, texts and tables whose sizes come from a file may be larger than memory.
// CatchOutOfMemory wraps the entry points for such input, so that no exception crosses a public
// header or ends the process.
#ifndef WEFT_BASE_OUT_OF_MEMORY_H_
#define WEFT_BASE_OUT_OF_MEMORY_H_

#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace weft {

// Thrown where one block of memory is too large, as containers throw std::bad_alloc.
class OutOfMemory : public std::bad_alloc {
 public:
  explicit OutOfMemory(int64_t bytes) : what_(absl::StrCat("no memory for ", bytes, " bytes")) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

// The result of `fn()`, an absl::Status or StatusOr; ResourceExhausted when memory runs out in it.
template <typename Fn>
auto CatchOutOfMemory(Fn&& fn) -> decltype(fn()) {
  try {
    return fn();
  } catch (const OutOfMemory& error) {
    return absl::ResourceExhaustedError(error.what());
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("no memory");
  } catch (const std::length_error&) {  // A container longer than its max_size().
    return absl::ResourceExhaustedError("no memory");
  }
}

}  // namespace weft

#endif  // WEFT_BASE_OUT_OF_MEMORY_H_
