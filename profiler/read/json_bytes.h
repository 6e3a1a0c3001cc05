// Passes the bytes of a source to nlohmann's lexer. The lexer keeps a whole token, so the bytes end
// early if a token is too long.
#ifndef WEFT_PROFILER_READ_JSON_BYTES_H_
#define WEFT_PROFILER_READ_JSON_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "profiler/read/byte_source.h"

namespace weft::profiler {

class JsonBytes {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  struct State {
    ByteSource& source;
    int64_t longest;
    int64_t token = 0;  // Bytes of the token so far.
    bool in_string = false;
    bool escaped = false;
    bool too_long = false;
  };

  explicit JsonBytes(State* state = nullptr) : state_(state) {}
  bool operator==(const JsonBytes& other) const { return AtEnd() == other.AtEnd(); }
  bool operator!=(const JsonBytes& other) const { return AtEnd() != other.AtEnd(); }
  char operator*() const { return state_->source.Peek(); }
  JsonBytes& operator++() {
    const char c = state_->source.Peek();
    Count(c);
    state_->source.Skip();
    // The lexer keeps blanks too, so a sequence of blanks is reduced to one.
    while (!state_->in_string && IsBlank(c) && !AtEnd() && IsBlank(state_->source.Peek())) {
      state_->source.Skip();
    }
    return *this;
  }

 private:
  bool AtEnd() const { return state_ == nullptr || state_->too_long || state_->source.AtEnd(); }

  static bool IsBlank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

  void Count(char c) {
    State& s = *state_;
    if (s.in_string) {
      ++s.token;
      if (s.escaped) {
        s.escaped = false;
      } else if (c == '\\') {
        s.escaped = true;
      } else if (c == '"') {
        s.in_string = false;
        s.token = 0;
      }
    } else if (c == '"') {
      s.in_string = true;
    } else if (c == ',' || c == ':' || c == '{' || c == '[' || IsBlank(c)) {
      s.token = 0;
    } else {
      ++s.token;
    }
    if (s.token > s.longest) s.too_long = true;
  }

  State* state_;
};

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_READ_JSON_BYTES_H_
