#include "graph/ir/attr.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <deque>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/quote.h"
#include "graph/sym/sym_expr.h"

namespace weft {
namespace {

uint64_t Bits(double v) {
  uint64_t bits;
  std::memcpy(&bits, &v, sizeof(bits));
  return bits;
}

uint64_t HashString(uint64_t h, absl::string_view s) {
  for (char c : s) h = FastHashCombine(h, static_cast<uint8_t>(c));
  return FastHashCombine(h, s.size());
}

struct Hasher {
  uint64_t operator()(std::monostate) const { return 1; }
  uint64_t operator()(bool v) const { return FastHashCombine(2, v); }
  uint64_t operator()(SymInt v) const { return FastHashCombine(3, v.hash()); }
  uint64_t operator()(double v) const { return FastHashCombine(4, Bits(v)); }
  uint64_t operator()(const std::string& v) const { return HashString(5, v); }
  uint64_t operator()(DType v) const { return FastHashCombine(6, static_cast<uint64_t>(v)); }
  uint64_t operator()(const std::vector<SymInt>& v) const {
    uint64_t h = 7;
    for (SymInt s : v) h = FastHashCombine(h, s.hash());
    return h;
  }
  uint64_t operator()(const std::vector<double>& v) const {
    uint64_t h = 8;
    for (double d : v) h = FastHashCombine(h, Bits(d));
    return h;
  }
  uint64_t operator()(const std::vector<std::string>& v) const {
    uint64_t h = 9;
    for (const std::string& s : v) h = HashString(h, s);
    return h;
  }
};

struct Printer {
  std::string operator()(std::monostate) const { return "none"; }
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(SymInt v) const { return v.ToString(); }
  std::string operator()(double v) const { return FloatToString(v); }
  std::string operator()(const std::string& v) const { return Quote(v); }
  std::string operator()(DType v) const { return std::string(DTypeName(v)); }
  template <typename T>
  std::string operator()(const std::vector<T>& v) const {
    return absl::StrCat(
        "[",
        absl::StrJoin(v, ", ",
                      [](std::string* out, const T& x) { absl::StrAppend(out, Printer()(x)); }),
        "]");
  }
};

// A '.' or exponent marks a float, so that 1.0 is never read as an integer.
std::string MarkFloat(std::string s) {
  if (s.find_first_of(".einfa") == std::string::npos) s += ".0";
  return s;
}

template <typename T>
std::string ShortestFloat(T v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  char buffer[64];
  auto result = std::to_chars(buffer, buffer + sizeof(buffer), v);
  return MarkFloat(std::string(buffer, result.ptr));
}

}  // namespace

bool AttrValue::Matches(AttrKind kind) const {
  const auto constant = [&] {
    for (SymInt s : symints()) {
      if (!s.is_constant()) return false;
    }
    return true;
  };
  switch (kind) {
    case AttrKind::kBool:
      return get_if<bool>() != nullptr;
    case AttrKind::kInt:
      return get_if<SymInt>() != nullptr && constant();
    case AttrKind::kSymInt:
      return get_if<SymInt>() != nullptr;
    case AttrKind::kFloat:
      return get_if<double>() != nullptr;
    case AttrKind::kString:
      return get_if<std::string>() != nullptr;
    case AttrKind::kDType:
      return get_if<DType>() != nullptr;
    case AttrKind::kInts:
      return get_if<std::vector<SymInt>>() != nullptr && constant();
    case AttrKind::kSymInts:
      return get_if<std::vector<SymInt>>() != nullptr;
    case AttrKind::kFloats:
      return get_if<std::vector<double>>() != nullptr;
    case AttrKind::kStrings:
      return get_if<std::vector<std::string>>() != nullptr;
  }
  return false;
}

absl::Span<const SymInt> AttrValue::symints() const {
  if (auto* s = get_if<SymInt>()) return {s, 1};
  if (auto* v = get_if<std::vector<SymInt>>()) return *v;
  return {};
}

AttrValue AttrValue::Substitute(absl::FunctionRef<std::optional<SymInt>(SymInt)> fn) const {
  if (auto* s = get_if<SymInt>()) return weft::Substitute(*s, fn);
  if (auto* v = get_if<std::vector<SymInt>>()) {
    std::vector<SymInt> out;
    for (SymInt s : *v) out.push_back(weft::Substitute(s, fn));
    return out;
  }
  return *this;
}

std::string AttrValue::ToString() const { return std::visit(Printer(), v_); }

uint64_t AttrValue::hash() const { return std::visit(Hasher(), v_); }

bool operator==(const AttrValue& a, const AttrValue& b) {
  if (a.v_.index() != b.v_.index()) return false;
  if (auto* x = a.get_if<double>()) return Bits(*x) == Bits(*b.get_if<double>());
  if (auto* x = a.get_if<std::vector<double>>()) {
    const auto& y = *b.get_if<std::vector<double>>();
    return x->size() == y.size() &&
           (x->empty() || std::memcmp(x->data(), y.data(), x->size() * sizeof(double)) == 0);
  }
  return a.v_ == b.v_;
}

AttrList::AttrList(std::vector<AttrValue> values)
    : values_(std::move(values)), hash_(11), is_symbolic_(false) {
  for (const AttrValue& v : values_) {
    hash_ = FastHashCombine(hash_, v.hash());
    for (SymInt s : v.symints()) is_symbolic_ |= !s.is_constant();
  }
}

struct AttrListHash {
  size_t operator()(const AttrList* l) const { return l->hash(); }
};

const AttrList* AttrList::Get(std::vector<AttrValue> values) {
  struct Eq {
    bool operator()(const AttrList* a, const AttrList* b) const {
      return a == b || a->values_ == b->values_;
    }
  };
  static absl::Mutex* const mu = new absl::Mutex;
  static auto* const lists = new std::deque<AttrList>;
  static auto* const set = new absl::flat_hash_set<const AttrList*, AttrListHash, Eq>;
  AttrList candidate(std::move(values));
  absl::MutexLock lock(mu);
  auto it = set->find(&candidate);
  if (it != set->end()) return *it;
  lists->push_back(std::move(candidate));
  set->insert(&lists->back());
  return &lists->back();
}

const AttrList* AttrList::Empty() {
  static const AttrList* const empty = Get({});
  return empty;
}

const AttrList* AttrList::Substitute(absl::FunctionRef<std::optional<SymInt>(SymInt)> fn) const {
  if (!is_symbolic_) return this;
  std::vector<AttrValue> values;
  for (const AttrValue& v : values_) values.push_back(v.Substitute(fn));
  return Get(std::move(values));
}

std::string FloatToString(double v) { return ShortestFloat(v); }
std::string FloatToString(float v) { return ShortestFloat(v); }

}  // namespace weft
