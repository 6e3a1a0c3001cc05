#include "backends/cuda/trace/demangle.h"

#include <cxxabi.h>

#include <cstdlib>

namespace weft::cuda {

std::string Demangled(const char* symbol) {
  if (symbol == nullptr) return "unknown kernel";
  if (symbol[0] != '_' || symbol[1] != 'Z') return symbol;
  int status = 0;
  char* const text = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  if (status != 0 || text == nullptr) return symbol;
  const std::string name = text;
  std::free(text);
  return name;
}

}  // namespace weft::cuda
