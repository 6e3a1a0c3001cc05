#include "graph/tensor/type.h"

#include <deque>

#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/check.h"
#include "base/hash.h"
#include "graph/sym/sym_expr.h"
#include "graph/sym/sym_ops.h"

namespace weft {

struct TypeStorage {
  Type::Kind kind;
  DType dtype;
  bool is_static;
  uint64_t hash;
  SymInt numel;  // Product of a tensor's dims; the value of a symint.
  absl::InlinedVector<SymInt, 4> dims;
};

namespace {

// The fields that a lookup compares, without owning the dims.
struct Key {
  Type::Kind kind;
  DType dtype;
  absl::Span<const SymInt> dims;
  uint64_t hash;
};

Key MakeKey(Type::Kind kind, DType dtype, absl::Span<const SymInt> dims) {
  uint64_t h = static_cast<uint64_t>(kind) * 131 + static_cast<uint64_t>(dtype);
  for (SymInt d : dims) h = FastHashCombine(h, d.hash());
  return {kind, dtype, dims, h};
}

Key ToKey(const TypeStorage* s) { return {s->kind, s->dtype, s->dims, s->hash}; }

struct Hash {
  using is_transparent = void;
  size_t operator()(const TypeStorage* s) const { return s->hash; }
  size_t operator()(const Key& k) const { return k.hash; }
};

struct Eq {
  using is_transparent = void;
  static bool Same(const Key& a, const Key& b) {
    return a.hash == b.hash && a.kind == b.kind && a.dtype == b.dtype && a.dims == b.dims;
  }
  bool operator()(const TypeStorage* a, const TypeStorage* b) const { return a == b; }
  bool operator()(const Key& a, const TypeStorage* b) const { return Same(a, ToKey(b)); }
  bool operator()(const TypeStorage* a, const Key& b) const { return Same(ToKey(a), b); }
};

class Interner {
 public:
  const TypeStorage* Intern(Type::Kind kind, DType dtype, absl::Span<const SymInt> dims) {
    const Key key = MakeKey(kind, dtype, dims);
    {
      absl::ReaderMutexLock lock(&mu_);
      auto it = set_.find(key);
      if (it != set_.end()) return *it;
    }
    const bool is_static = AllConstant(dims).has_value();
    const SymInt numel = kind == Type::Kind::kTensor ? Product(dims) : dims[0];
    absl::MutexLock lock(&mu_);
    auto it = set_.find(key);
    if (it != set_.end()) return *it;
    storage_.push_back({kind, dtype, is_static, key.hash, numel, {dims.begin(), dims.end()}});
    set_.insert(&storage_.back());
    return &storage_.back();
  }

 private:
  absl::Mutex mu_;
  std::deque<TypeStorage> storage_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_set<const TypeStorage*, Hash, Eq> set_ ABSL_GUARDED_BY(mu_);
};

const TypeStorage* Intern(Type::Kind kind, DType dtype, absl::Span<const SymInt> dims) {
  static Interner* const interner = new Interner;
  return interner->Intern(kind, dtype, dims);
}

}  // namespace

Type Type::Tensor(DType dtype, absl::Span<const SymInt> dims) {
  return Type(Intern(Kind::kTensor, dtype, dims));
}

Type Type::Symbolic(SymInt value) { return Type(Intern(Kind::kSymInt, DType::kI64, {&value, 1})); }

Type::Kind Type::kind() const { return storage_ == nullptr ? Kind::kNone : storage_->kind; }

DType Type::dtype() const {
  WEFT_CHECK(is_tensor()) << ToString();
  return storage_->dtype;
}

absl::Span<const SymInt> Type::dims() const {
  WEFT_CHECK(is_tensor()) << ToString();
  return storage_->dims;
}

SymInt Type::numel() const {
  WEFT_CHECK(is_tensor()) << ToString();
  return storage_->numel;
}

std::optional<std::vector<int64_t>> Type::static_dims() const { return AllConstant(dims()); }

bool Type::is_static() const { return storage_ != nullptr && storage_->is_static; }

SymInt Type::symint() const {
  WEFT_CHECK(is_symint()) << ToString();
  return storage_->numel;
}

Type Type::Substitute(absl::FunctionRef<std::optional<SymInt>(SymInt)> fn) const {
  if (is_static() || kind() == Kind::kNone) return *this;
  if (is_symint()) return Symbolic(weft::Substitute(symint(), fn));
  std::vector<SymInt> dims;
  for (SymInt d : this->dims()) dims.push_back(weft::Substitute(d, fn));
  return WithDims(dims);
}

std::string Type::ToString() const {
  switch (kind()) {
    case Kind::kTensor:
      return absl::StrCat(DTypeName(dtype()), weft::ToString(dims()));
    case Kind::kSymInt:
      return absl::StrCat("symint[", symint().ToString(), "]");
    case Kind::kNone:
      break;
  }
  return "none";
}

uint64_t Type::hash() const { return storage_ == nullptr ? 0 : storage_->hash; }

}  // namespace weft
