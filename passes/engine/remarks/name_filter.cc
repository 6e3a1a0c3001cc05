#include "passes/engine/remarks/name_filter.h"

#include <bitset>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace weft {
namespace {

using Set = std::bitset<256>;  // A set of bytes.

constexpr size_t kMaxLength = 1000;
constexpr int kMaxDepth = 100;
constexpr int kMaxStates = 10000;
constexpr int kMaxCount = 1000;  // Largest count of a repetition.
constexpr int kUnbounded = -1;

enum class Kind : uint8_t { kSet, kSplit, kJump, kBegin, kEnd, kWordEdge, kNoWordEdge, kAccept };

// Targets are relative to the state, so that states can be moved and copied.
struct State {
  Kind kind;
  int x = 0;  // kSet: the index of the set. kSplit and kJump: the next state,
  int y = 0;  // Second target of kSplit. Other kinds continue with the next state.
};

bool IsWordByte(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }

Set Single(char c) {
  Set set;
  set.set(static_cast<uint8_t>(c));
  return set;
}

// \d, \w, \s and their opposites.
std::optional<Set> ClassOf(char letter) {
  const auto byte = static_cast<unsigned char>(letter);
  const char kind = absl::ascii_tolower(byte);
  if (kind != 'd' && kind != 'w' && kind != 's') return std::nullopt;
  Set set;
  for (int i = 0; i < 256; ++i) {
    const char c = static_cast<char>(i);
    set[i] = kind == 'd'   ? IsDigit(c)
             : kind == 'w' ? IsWordByte(c)
                           : absl::ascii_isspace(static_cast<unsigned char>(c));
  }
  return absl::ascii_isupper(byte) ? ~set : set;
}

}  // namespace

struct NameFilter::Program {
  std::vector<State> states;
  std::vector<Set> sets;
};

// Thompson's construction by recursive descent: choice, sequence, repetition, atom. Each appends
// states that continue at their end. The first error is kept.
class NameFilter::Compiler {
 public:
  explicit Compiler(absl::string_view text) : text_(text) {}

  absl::StatusOr<Program> Compile() {
    if (text_.size() > kMaxLength) Fail(absl::StrCat("more than ", kMaxLength, " characters"));
    Choice();
    if (!AtEnd()) Fail("a ')' closes nothing");
    Emit(Kind::kAccept);
    WEFT_RETURN_IF_ERROR(error_);
    return std::move(program_);
  }

 private:
  bool AtEnd() const { return at_ >= text_.size(); }
  bool At(char c) const { return !AtEnd() && text_[at_] == c; }
  bool AtQuantifier() const { return At('*') || At('+') || At('?') || At('{'); }
  bool Take(char c) {
    if (!At(c)) return false;
    ++at_;
    return true;
  }
  // Ends the text.
  void Fail(absl::string_view why) {
    if (error_.ok()) {
      error_ = absl::InvalidArgumentError(absl::StrCat(why, " (character ", at_ + 1, ")"));
    }
    text_ = text_.substr(0, 0);
    at_ = 0;
  }

  int Here() const { return static_cast<int>(program_.states.size()); }
  int Emit(Kind kind, int x = 0) {
    if (Here() >= kMaxStates) {
      Fail(absl::StrCat("more than ", kMaxStates, " states"));
      return Here() - 1;
    }
    program_.states.push_back({kind, x});
    return Here() - 1;
  }
  void EmitSet(const Set& set) {
    program_.sets.push_back(set);
    Emit(Kind::kSet, static_cast<int>(program_.sets.size()) - 1);
  }
  // A state before those from `at` on.
  void Insert(int at, State state) { program_.states.insert(program_.states.begin() + at, state); }

  void Choice() {
    std::vector<int> ends;
    int begin = Here();
    Sequence();
    while (Take('|')) {
      ends.push_back(Emit(Kind::kJump) + 1);  // Position after the previous split.
      Insert(begin, {Kind::kSplit, 1, Here() + 1 - begin});
      begin = Here();
      Sequence();
    }
    if (!error_.ok()) return;
    for (int end : ends) program_.states[end].x = Here() - end;
  }

  void Sequence() {
    while (!AtEnd() && !At('|') && !At(')')) Repeat();
  }

  void Repeat() {
    const bool is_place = At('^') || At('$');
    const int begin = Here();
    Atom();
    if (!AtQuantifier()) return;
    if (is_place) return Fail("a place cannot be repeated");
    int least = 0, most = kUnbounded;
    if (!Count(&least, &most)) {
      return Fail(absl::StrCat("a count is {m}, {m,} or {m,n}, up to ", kMaxCount));
    }
    Take('?');  // Lazy.
    if (AtQuantifier()) return Fail("a quantifier follows another");
    Copies(begin, least, most);
  }

  bool Count(int* least, int* most) {
    if (Take('*')) return true;
    if (Take('+')) return *least = 1, true;
    if (Take('?')) return *most = 1, true;
    Take('{');
    const std::optional<int> low = Number();
    if (!low) return false;
    std::optional<int> high = low;
    if (Take(',')) high = At('}') ? kUnbounded : Number();
    if (!high || !Take('}')) return false;
    *least = *low;
    *most = *high;
    return *most == kUnbounded || *most >= *least;
  }

  std::optional<int> Number() {
    int number = 0;
    const size_t begin = at_;
    while (!AtEnd() && IsDigit(text_[at_])) {
      number = number * 10 + (text_[at_++] - '0');
      if (number > kMaxCount) return std::nullopt;
    }
    return at_ == begin ? std::nullopt : std::optional<int>(number);
  }

  // The states from `begin` on, so often.
  void Copies(int begin, int least, int most) {
    const std::vector<State> atom(program_.states.begin() + begin, program_.states.end());
    const int size = static_cast<int>(atom.size());
    program_.states.resize(begin);
    const auto copy = [&] {
      for (const State& state : atom) {
        const int at = Emit(state.kind, state.x);
        program_.states[at].y = state.y;
      }
    };
    for (int i = 0; i < least && error_.ok(); ++i) copy();
    if (most == kUnbounded) {
      const int split = Emit(Kind::kSplit, 1);
      program_.states[split].y = size + 2;
      copy();
      Emit(Kind::kJump, -size - 1);
      return;
    }
    for (int i = least; i < most && error_.ok(); ++i) {
      const int split = Emit(Kind::kSplit, 1);
      program_.states[split].y = (most - i) * (size + 1);
      copy();
    }
  }

  void Atom() {
    const char c = text_[at_++];
    switch (c) {
      case '(':
        return Group();
      case '[':
        return Class();
      case '\\':
        return Escape();
      case '.':
        return EmitSet(~(Single('\n') | Single('\r')));
      case '^':
        Emit(Kind::kBegin);
        return;
      case '$':
        Emit(Kind::kEnd);
        return;
      case '*':
      case '+':
      case '?':
      case '{':
        --at_;
        return Fail("a quantifier follows nothing");
      default:
        return EmitSet(Single(c));
    }
  }

  void Group() {
    const size_t begin = at_ - 1;
    if (Take('?') && !Take(':')) return Fail("look-ahead is not supported");
    if (++depth_ > kMaxDepth) return Fail(absl::StrCat("more than ", kMaxDepth, " groups nest"));
    Choice();
    --depth_;
    if (Take(')')) return;
    at_ = begin;
    Fail("a '(' is not closed");
  }

  void Escape() {
    if (AtEnd()) return Fail("a '\\' ends it");
    const char c = text_[at_];
    const auto set = ClassOf(c);
    if (c >= '1' && c <= '9') return Fail("back-references are not supported");
    if (Take('b')) {
      Emit(Kind::kWordEdge);
    } else if (Take('B')) {
      Emit(Kind::kNoWordEdge);
    } else if (set) {
      ++at_;
      EmitSet(*set);
    } else {
      EmitSet(Single(EscapedByte()));
    }
  }

  // After a backslash.
  char EscapedByte() {
    constexpr absl::string_view kLetters = "fnrtv0";
    constexpr absl::string_view kBytes("\f\n\r\t\v\0", 6);
    const char c = text_[at_++];
    const size_t known = kLetters.find(c);
    if (known != absl::string_view::npos) return kBytes[known];
    if (c == 'x') return HexByte();
    if (IsWordByte(c) && c != '_') {
      --at_;
      Fail("the escape is not known");
    }
    return c;
  }

  char HexByte() {
    int byte = 0;
    for (int i = 0; i < 2; ++i) {
      if (AtEnd() || !absl::ascii_isxdigit(static_cast<unsigned char>(text_[at_]))) {
        Fail("\\x takes two hexadecimal digits");
        return 0;
      }
      const char digit = absl::ascii_tolower(static_cast<unsigned char>(text_[at_++]));
      byte = byte * 16 + (IsDigit(digit) ? digit - '0' : digit - 'a' + 10);
    }
    return static_cast<char>(byte);
  }

  void Class() {
    const size_t begin = at_ - 1;
    const bool inverted = Take('^');
    Set set;
    while (!AtEnd() && !At(']')) set |= ClassPart();
    if (error_.ok() && !At(']')) {
      at_ = begin;
      Fail("a '[' is not closed");
    }
    Take(']');
    EmitSet(inverted ? ~set : set);
  }

  // "a", "\d" or "a-z".
  Set ClassPart() {
    if (At('[') && at_ + 1 < text_.size() && text_[at_ + 1] == ':') {
      Fail("classes with names are not supported");
      return Set();
    }
    Set set;
    const std::optional<char> low = ClassByte(&set);
    const bool range = low && At('-') && at_ + 1 < text_.size() && text_[at_ + 1] != ']';
    if (!range) return set;
    ++at_;
    const std::optional<char> high = ClassByte(&set);
    if (!high || static_cast<uint8_t>(*high) < static_cast<uint8_t>(*low)) {
      Fail("the ends of a range are no range");
      return Set();
    }
    for (int c = static_cast<uint8_t>(*low); c <= static_cast<uint8_t>(*high); ++c) set.set(c);
    return set;
  }

  // Adds the next element of a class to `set`; nullopt for one of several bytes, such as \d.
  std::optional<char> ClassByte(Set* set) {
    char c = text_[at_++];
    if (c == '\\') {
      const auto several = AtEnd() ? std::nullopt : ClassOf(text_[at_]);
      if (several) {
        ++at_;
        *set |= *several;
        return std::nullopt;
      }
      if (AtEnd()) {
        Fail("a '\\' ends it");
        return std::nullopt;
      }
      c = Take('b') ? '\b' : EscapedByte();
    }
    *set |= Single(c);
    return c;
  }

  absl::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
  Program program_;
  absl::Status error_;
};

// The states that the expression may be in at a position of the text.
class NameFilter::Threads {
 public:
  Threads(const Program& program, absl::string_view text)
      : program_(program), text_(text), seen_(program.states.size(), -1) {}

  // Adds `state` and all states reachable from it without a byte.
  void Add(int state, size_t at) {
    stack_.push_back(state);
    while (!stack_.empty()) {
      const int top = stack_.back();
      stack_.pop_back();
      if (seen_[top] == static_cast<int64_t>(at)) continue;
      seen_[top] = static_cast<int64_t>(at);
      const State& s = program_.states[top];
      if (s.kind == Kind::kAccept) {
        accepts_ = true;
      } else if (s.kind == Kind::kSet) {
        waiting_.push_back(top);
      } else if (s.kind == Kind::kSplit || s.kind == Kind::kJump) {
        stack_.push_back(top + s.x);
        if (s.kind == Kind::kSplit) stack_.push_back(top + s.y);
      } else if (Holds(s.kind, at)) {
        stack_.push_back(top + 1);
      }
    }
  }

  // Consumes the byte at `at`: afterwards this holds the states after it.
  void Step(size_t at) {
    stepping_.swap(waiting_);
    waiting_.clear();
    accepts_ = false;
    const auto byte = static_cast<uint8_t>(text_[at]);
    for (int state : stepping_) {
      if (program_.sets[program_.states[state].x].test(byte)) Add(state + 1, at + 1);
    }
  }

  bool accepts() const { return accepts_; }
  bool empty() const { return waiting_.empty(); }

 private:
  bool Holds(Kind kind, size_t at) const {
    if (kind == Kind::kBegin) return at == 0;
    if (kind == Kind::kEnd) return at == text_.size();
    const bool before = at > 0 && IsWordByte(text_[at - 1]);
    const bool after = at < text_.size() && IsWordByte(text_[at]);
    return (before != after) == (kind == Kind::kWordEdge);
  }

  const Program& program_;
  const absl::string_view text_;
  std::vector<int64_t> seen_;  // By state: position at which it was last added.
  std::vector<int> stack_;
  std::vector<int> waiting_;   // For a byte.
  std::vector<int> stepping_;  // States that waited for a byte.
  bool accepts_ = false;
};

absl::StatusOr<NameFilter> NameFilter::Parse(const std::string& regex) {
  auto program = Compiler(regex).Compile();
  if (!program.ok()) {
    constexpr size_t kShown = 60;
    return absl::InvalidArgumentError(
        absl::StrCat("\"", regex.substr(0, kShown), regex.size() > kShown ? "..." : "",
                     "\" is not a regular expression: ", program.status().message()));
  }
  NameFilter filter;
  filter.program_ = std::make_shared<const Program>(*std::move(program));
  return filter;
}

bool NameFilter::Run(absl::string_view text, bool whole) const {
  Threads threads(*program_, text);
  threads.Add(0, 0);
  for (size_t at = 0; at < text.size(); ++at) {
    if (!whole && threads.accepts()) return true;
    if (whole && threads.empty()) return false;
    threads.Step(at);
    if (!whole) threads.Add(0, at + 1);
  }
  return threads.accepts();
}

bool NameFilter::Matches(absl::string_view name) const { return Run(name, /*whole=*/true); }

bool NameFilter::Finds(absl::string_view name) const { return Run(name, /*whole=*/false); }

}  // namespace weft
