// Counts the allocations of the process by `new` between two points. Those of oneDNN, which makes
// lists of arguments in each call, are left out.
#ifndef WEFT_TESTS_SUPPORT_COUNTING_NEW_H_
#define WEFT_TESTS_SUPPORT_COUNTING_NEW_H_

#include <cstdint>

namespace weft {

// Counts from its construction on, in all threads. One at a time.
class CountingNew {
 public:
  CountingNew();
  ~CountingNew();
  CountingNew(const CountingNew&) = delete;
  CountingNew& operator=(const CountingNew&) = delete;

  // Ends the count.
  int64_t Stop();
};

}  // namespace weft

#endif  // WEFT_TESTS_SUPPORT_COUNTING_NEW_H_
