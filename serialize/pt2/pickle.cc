#include "serialize/pt2/pickle.h"

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "serialize/pt2/pickle_machine.h"

namespace weft::pt2 {

absl::Status PickleMachine::Run() {
  while (status_.ok() && !stopped_) {
    at_ = next_;
    Step(Byte());
  }
  return status_;
}

absl::StatusOr<std::vector<std::pair<std::string, PickledTensor>>> PickleMachine::Result() {
  if (stack_.size() != 1 || values_[stack_[0]].kind != Kind::kDict) {
    Fail("the pickle is no dict of tensors");
    return status_;
  }
  std::vector<std::pair<std::string, PickledTensor>> result;
  const Ids& items = values_[stack_[0]].items;
  absl::flat_hash_set<absl::string_view> names;
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    const PickleValue& key = values_[items[i]];
    const PickleValue& value = values_[items[i + 1]];
    if (key.kind != Kind::kString || value.kind != Kind::kTensor) {
      Fail("the dict has an entry that is not the tensor of a name");
      return status_;
    }
    if (!names.insert(key.text).second) {
      Fail(absl::StrCat("the dict has \"", key.text, "\" twice"));
      return status_;
    }
    result.emplace_back(std::string(key.text), tensors_[value.integer]);
  }
  return result;
}

// --- Bytes ------------------------------------------------------------------------

void PickleMachine::Fail(absl::string_view what) {
  if (!status_.ok()) return;
  status_ = absl::InvalidArgumentError(absl::StrCat(file_, ": byte ", at_, ": ", what));
}

void PickleMachine::Refuse(absl::string_view what) {
  if (!status_.ok()) return;
  status_ = absl::UnimplementedError(absl::StrCat(file_, ": byte ", at_, ": ", what));
}

absl::string_view PickleMachine::Take(size_t n) {
  if (n > bytes_.size() - next_) {
    Fail("the pickle ends early");
    return "";
  }
  next_ += n;
  return bytes_.substr(next_ - n, n);
}

uint8_t PickleMachine::Byte() {
  const absl::string_view byte = Take(1);
  return byte.empty() ? 0 : static_cast<uint8_t>(byte[0]);
}

int64_t PickleMachine::Number(size_t n, bool is_signed) {
  const absl::string_view bytes = Take(n);
  uint64_t v = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    v |= static_cast<uint64_t>(static_cast<uint8_t>(bytes[i])) << (8 * i);
  }
  const int shift = static_cast<int>(64 - 8 * n);
  if (!is_signed || shift >= 64 || bytes.empty()) return static_cast<int64_t>(v);
  return static_cast<int64_t>(v << shift) >> shift;
}

absl::string_view PickleMachine::Line() {
  const size_t end = bytes_.find('\n', next_);
  if (end == absl::string_view::npos) {
    Fail("a name has no end");
    return "";
  }
  const absl::string_view line = bytes_.substr(next_, end - next_);
  next_ = end + 1;
  return line;
}

// --- The stack --------------------------------------------------------------------

void PickleMachine::Push(PickleValue v) {
  stack_.push_back(static_cast<int>(values_.size()));
  values_.push_back(std::move(v));
}

void PickleMachine::Push(Kind kind, int64_t integer) {
  PickleValue v;
  v.kind = kind;
  v.integer = integer;
  Push(std::move(v));
}

int PickleMachine::Pop() {
  if (stack_.empty() || (!marks_.empty() && marks_.back() == stack_.size())) {
    Fail("nothing is on the stack");
    return -1;
  }
  const int id = stack_.back();
  stack_.pop_back();
  return id;
}

PickleMachine::Ids PickleMachine::PopToMark() {
  if (marks_.empty()) {
    Fail("there is no mark");
    return {};
  }
  Ids items(stack_.begin() + static_cast<int64_t>(marks_.back()), stack_.end());
  stack_.resize(marks_.back());
  marks_.pop_back();
  return items;
}

PickleValue* PickleMachine::Top(Kind kind) {
  if (stack_.empty() || values_[stack_.back()].kind != kind) {
    Fail("what is on top of the stack has another type");
    return nullptr;
  }
  return &values_[stack_.back()];
}

// --- Opcodes ----------------------------------------------------------------------

void PickleMachine::PushString(size_t length) {
  PickleValue v;
  v.kind = Kind::kString;
  v.text = Take(length);
  Push(std::move(v));
}

void PickleMachine::PushTuple(Ids items) {
  if (!status_.ok()) return;
  PickleValue v;
  v.kind = Kind::kTuple;
  v.items = std::move(items);
  Push(std::move(v));
}

void PickleMachine::Memoize(int64_t index) {
  if (stack_.empty()) return Fail("nothing is on the stack");
  memo_[index] = stack_.back();
}

void PickleMachine::Recall(int64_t index) {
  const auto found = memo_.find(index);
  if (found == memo_.end()) return Fail(absl::StrCat("nothing is memoized as ", index));
  stack_.push_back(found->second);
}

// Adds items to the list or dict on top of the stack.
void PickleMachine::Extend(Kind kind, const Ids& items) {
  PickleValue* target = Top(kind);
  if (target == nullptr) return;
  if (kind == Kind::kDict && items.size() % 2 != 0) return Fail("a key has no value");
  target->items.insert(target->items.end(), items.begin(), items.end());
}

void PickleMachine::Step(uint8_t op) {
  if (!status_.ok()) return;
  switch (op) {
    case 0x80:  // PROTO
      if (Number(1, false) > 2) Refuse("protocols above 2 are not read");
      return;
    case '.':  // STOP
      stopped_ = true;
      return;
    case '(':  // MARK
      return marks_.push_back(stack_.size());
    case 'c':  // GLOBAL
      return Global();
    case 'R':  // REDUCE
      return Reduce();
    case 'b':  // BUILD
      return Build();
    case 'Q':  // BINPERSID
      return PersistentId();
    case 'X':  // BINUNICODE
      return PushString(static_cast<size_t>(Number(4, false)));
    default:
      return StepNumber(op);
  }
}

void PickleMachine::StepNumber(uint8_t op) {
  switch (op) {
    case 'N':  // NONE
      return Push(Kind::kNone);
    case 0x88:  // NEWTRUE
      return Push(Kind::kBool, 1);
    case 0x89:  // NEWFALSE
      return Push(Kind::kBool, 0);
    case 'K':  // BININT1
      return Push(Kind::kInt, Number(1, false));
    case 'M':  // BININT2
      return Push(Kind::kInt, Number(2, false));
    case 'J':  // BININT
      return Push(Kind::kInt, Number(4, true));
    case 0x8a: {  // LONG1
      const int64_t n = Number(1, false);
      if (n > 8) return Refuse("an integer has more than 64 bits");
      return Push(Kind::kInt, Number(static_cast<size_t>(n), true));
    }
    case 'G':  // BINFLOAT
      Take(8);
      return Push(Kind::kFloat);
    default:
      return StepContainer(op);
  }
}

void PickleMachine::StepContainer(uint8_t op) {
  switch (op) {
    case ')':  // EMPTY_TUPLE
      return PushTuple({});
    case 0x85:    // TUPLE1
    case 0x86:    // TUPLE2
    case 0x87: {  // TUPLE3
      Ids items(op - 0x84);
      for (size_t i = items.size(); i-- > 0;) items[i] = Pop();
      return PushTuple(std::move(items));
    }
    case 't':  // TUPLE
      return PushTuple(PopToMark());
    case '}':  // EMPTY_DICT
      return Push(Kind::kDict);
    case ']':  // EMPTY_LIST
      return Push(Kind::kList);
    case 's': {  // SETITEM
      const int value = Pop();
      const int key = Pop();
      if (status_.ok()) Extend(Kind::kDict, {key, value});
      return;
    }
    case 'u':  // SETITEMS
      return Extend(Kind::kDict, PopToMark());
    case 'a': {  // APPEND
      const int value = Pop();
      if (status_.ok()) Extend(Kind::kList, {value});
      return;
    }
    case 'e':  // APPENDS
      return Extend(Kind::kList, PopToMark());
    default:
      return StepMemo(op);
  }
}

void PickleMachine::StepMemo(uint8_t op) {
  switch (op) {
    case 'q':  // BINPUT
      return Memoize(Number(1, false));
    case 'r':  // LONG_BINPUT
      return Memoize(Number(4, false));
    case 'h':  // BINGET
      return Recall(Number(1, false));
    case 'j':  // LONG_BINGET
      return Recall(Number(4, false));
    default:
      return Refuse(absl::StrCat("the opcode ", static_cast<int>(op),
                                 " is none of those for dicts of tensors"));
  }
}

absl::StatusOr<std::vector<std::pair<std::string, PickledTensor>>> ReadPickledTensors(
    absl::string_view bytes, const std::string& file) {
  constexpr size_t kMostBytes = size_t{1} << 24;
  if (bytes.size() > kMostBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat(file, ": the pickle has ", bytes.size(), " bytes; the limit is ", kMostBytes));
  }
  PickleMachine machine(bytes, file);
  WEFT_RETURN_IF_ERROR(machine.Run());
  return machine.Result();
}

}  // namespace weft::pt2
