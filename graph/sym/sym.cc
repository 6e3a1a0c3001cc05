// The nodes of symbolic expressions, and their order.
#include <algorithm>
#include <deque>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "base/check.h"
#include "base/hash.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_int.h"
#include "graph/sym/sym_internal.h"

namespace weft {

struct SymNode {
  SymInt::Kind kind;
  int depth = 0;     // Levels below this node.
  int64_t size = 1;  // Nodes of the expression written out as a tree.
  uint64_t hash = 0;
  int64_t value = 0;  // The constant, or the coefficient.
  std::string name;
  std::vector<SymInt> args;
};

namespace {

using Kind = SymInt::Kind;

constexpr int64_t kMaxSize = 4096;

bool SameNode(const SymNode& a, const SymNode& b) {
  return a.kind == b.kind && a.value == b.value && a.name == b.name && a.args == b.args;
}

struct NodeHash {
  size_t operator()(const SymNode* n) const { return n->hash; }
};
struct NodeEq {
  bool operator()(const SymNode* a, const SymNode* b) const { return SameNode(*a, *b); }
};

}  // namespace

// Owns all nodes of the process.
class SymInterner {
 public:
  static SymInterner& Get() {
    static SymInterner* const interner = new SymInterner;
    return *interner;
  }

  SymInt Intern(Kind kind, int64_t value, absl::string_view name, std::vector<SymInt> args) {
    for (SymInt arg : args) {
      if (!arg.is_valid()) return SymInt::Invalid();
    }
    SymNode n;
    n.kind = kind;
    n.value = value;
    n.name = std::string(name);
    n.args = std::move(args);
    n.hash = HashCombine(static_cast<uint64_t>(kind) + 17, value);
    for (char c : n.name) n.hash = HashCombine(n.hash, static_cast<uint8_t>(c));
    for (SymInt arg : n.args) {
      n.hash = HashCombine(n.hash, arg.hash());
      if (!arg.is_inline()) {
        n.depth = std::max(n.depth, arg.node()->depth + 1);
        n.size += arg.node()->size;
      }
    }
    if (kind != Kind::kInvalid && (n.depth > SymInt::kMaxDepth || n.size > kMaxSize ||
                                   static_cast<int>(n.args.size()) > SymInt::kMaxTerms)) {
      return SymInt::Invalid();
    }
    absl::MutexLock lock(&mu_);
    auto it = set_.find(&n);
    if (it != set_.end()) return SymInt(*it);
    nodes_.push_back(std::move(n));
    set_.insert(&nodes_.back());
    return SymInt(&nodes_.back());
  }

 private:
  absl::Mutex mu_;
  std::deque<SymNode> nodes_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_set<const SymNode*, NodeHash, NodeEq> set_ ABSL_GUARDED_BY(mu_);
};

namespace {

int KindRank(SymInt s) { return static_cast<int>(s.kind()); }

int CompareNames(absl::string_view a, absl::string_view b) {
  // A shorter name is first, so that s2 is before s10.
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  const int c = a.compare(b);
  return c < 0 ? -1 : c > 0;
}

}  // namespace

SymInt::SymInt(int64_t value) {
  const uint64_t shifted = static_cast<uint64_t>(value) << 1;
  if (static_cast<int64_t>(shifted) >> 1 == value) {
    rep_ = shifted | 1;
  } else {
    rep_ = SymInterner::Get().Intern(Kind::kConst, value, "", {}).rep_;
  }
}

SymInt SymInt::Symbol(absl::string_view name) {
  return SymInterner::Get().Intern(Kind::kSymbol, 0, name, {});
}

SymInt SymInt::Invalid() {
  static const SymInt invalid = SymInterner::Get().Intern(Kind::kInvalid, 0, "", {});
  return invalid;
}

Kind SymInt::kind() const { return is_inline() ? Kind::kConst : node()->kind; }
bool SymInt::is_symbol() const { return kind() == Kind::kSymbol; }
bool SymInt::is_valid() const { return kind() != Kind::kInvalid; }
bool SymInt::is_constant() const { return is_inline() || node()->kind == Kind::kConst; }
std::optional<int64_t> SymInt::constant() const {
  if (!is_constant()) return std::nullopt;
  return value();
}
int64_t SymInt::value() const {
  if (is_inline()) return static_cast<int64_t>(rep_) >> 1;
  WEFT_CHECK(node()->kind == Kind::kConst) << ToString();
  return node()->value;
}
absl::string_view SymInt::name() const {
  WEFT_CHECK(is_symbol()) << ToString();
  return node()->name;
}
absl::Span<const SymInt> SymInt::args() const {
  if (is_inline()) return {};
  return node()->args;
}
int64_t SymInt::coefficient() const {
  WEFT_CHECK(kind() == Kind::kSum || kind() == Kind::kProduct) << ToString();
  return node()->value;
}
uint64_t SymInt::hash() const { return is_inline() ? HashCombine(3, rep_) : node()->hash; }

int Compare(SymInt a, SymInt b) {
  if (a == b) return 0;
  if (KindRank(a) != KindRank(b)) return KindRank(a) < KindRank(b) ? -1 : 1;
  if (a.is_constant()) return a.value() < b.value() ? -1 : 1;
  if (a.is_symbol()) return CompareNames(a.name(), b.name());
  const auto xs = a.args();
  const auto ys = b.args();
  if (xs.size() != ys.size()) return xs.size() < ys.size() ? -1 : 1;
  for (size_t i = 0; i < xs.size(); ++i) {
    if (const int c = Compare(xs[i], ys[i])) return c;
  }
  // The operands are equal: a sum or product with another coefficient.
  return a.coefficient() < b.coefficient() ? -1 : 1;
}

namespace internal {

SymInt InternSym(SymInt::Kind kind, int64_t value, std::vector<SymInt> args) {
  return SymInterner::Get().Intern(kind, value, "", std::move(args));
}

void SortUnique(std::vector<SymInt>* values) {
  std::sort(values->begin(), values->end(), [](SymInt a, SymInt b) { return Compare(a, b) < 0; });
  values->erase(std::unique(values->begin(), values->end()), values->end());
}

}  // namespace internal
}  // namespace weft
