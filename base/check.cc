#include "base/check.h"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace weft::internal {

CheckFailure::CheckFailure(const char* file, int line, const char* condition) {
  stream_ << file << ":" << line << ": check failed: " << condition << " ";
}

CheckFailure::~CheckFailure() {
  std::fputs((stream_.str() + "\n").c_str(), stderr);
  std::abort();
}

}  // namespace weft::internal
