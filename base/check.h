// CHECKs for broken invariants of Weft itself (STYLE: three kinds of failure).
//
// Never use these on loaded data: input errors are an absl::Status. Debian 12's
// Abseil predates absl/log, hence these few lines.
#ifndef WEFT_BASE_CHECK_H_
#define WEFT_BASE_CHECK_H_

#include <sstream>

namespace weft::internal {

// Collects a message and aborts the process with it when destroyed.
class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition);
  [[noreturn]] ~CheckFailure();
  std::ostream& stream() { return stream_; }

 private:
  std::ostringstream stream_;
};

// Gives the streaming expression type void, so that it fits in ?:.
struct Voidify {
  void operator&(std::ostream&) {}
};

}  // namespace weft::internal

#define WEFT_CHECK(condition)                         \
  (__builtin_expect(static_cast<bool>(condition), 1)) \
      ? static_cast<void>(0)                          \
      : ::weft::internal::Voidify() &                 \
            ::weft::internal::CheckFailure(__FILE__, __LINE__, #condition).stream()

#endif  // WEFT_BASE_CHECK_H_
