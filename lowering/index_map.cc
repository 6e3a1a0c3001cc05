#include "lowering/index_map.h"

#include <utility>

#include "absl/hash/hash.h"
#include "graph/sym/sym_facts.h"
#include "graph/sym/sym_ops.h"
#include "lowering/kernel_body.h"

namespace weft {

bool operator==(const Index& a, const Index& b) {
  return a.offset == b.offset && a.strides == b.strides && a.terms == b.terms;
}

uint64_t HashOf(const Indices& indices) {
  uint64_t hash = indices.size();
  for (const Index& index : indices) {
    hash = absl::HashOf(hash, index.offset.hash());
    for (SymInt s : index.strides) hash = absl::HashOf(hash, s.hash());
    for (const IndexTerm& t : index.terms) {
      hash = absl::HashOf(hash, t.value, t.stride.hash());
    }
  }
  return hash;
}

Index ZeroIndex(size_t loops) {
  Index index;
  index.strides.assign(loops, SymInt(0));
  return index;
}

Index LoopIndex(size_t loops, size_t loop) {
  Index index = ZeroIndex(loops);
  index.strides[loop] = 1;
  return index;
}

Index TermIndex(size_t loops, int value, SymInt bound) {
  Index index = ZeroIndex(loops);
  index.terms.push_back({value, 1, bound});
  return index;
}

Index operator+(Index a, const Index& b) {
  a.offset = a.offset + b.offset;
  for (size_t i = 0; i < a.strides.size(); ++i) {
    a.strides[i] = a.strides[i] + b.strides[i];
  }
  a.terms.insert(a.terms.end(), b.terms.begin(), b.terms.end());
  return a;
}

Index operator+(Index a, SymInt offset) {
  a.offset = a.offset + offset;
  return a;
}

Index operator*(Index a, SymInt factor) {
  a.offset = a.offset * factor;
  for (SymInt& s : a.strides) s = s * factor;
  for (IndexTerm& t : a.terms) t.stride = t.stride * factor;
  return a;
}

bool IsZero(const Index& index) {
  if (!index.offset.Is(0) || !index.terms.empty()) return false;
  for (SymInt s : index.strides) {
    if (!s.Is(0)) return false;
  }
  return true;
}

bool Sizes::Equal(SymInt a, SymInt b) const {
  if (a == b) return true;
  if (a.is_constant() && b.is_constant()) return false;
  return symbols_->ProveEq(a, b) == Proof::kYes;
}

bool Sizes::AtMost(SymInt a, SymInt b) const {
  return a == b || symbols_->ProveLe(a, b) == Proof::kYes;
}

SymInt Sizes::Simplify(SymInt s) const {
  return s.is_constant() || s.is_symbol() ? s : symbols_->Simplify(s);
}

Indices BroadcastIndices(const Sizes& sizes, const Indices& at, absl::Span<const SymInt> from,
                         absl::Span<const SymInt> to) {
  const size_t grown = to.size() - from.size();
  Indices result;
  for (size_t i = 0; i < from.size(); ++i) {
    const Index& index = at[grown + i];
    if (from[i].Is(1)) {
      result.push_back(index * SymInt(0));
    } else if (from[i].is_constant() || sizes.Equal(from[i], to[grown + i])) {
      result.push_back(index);
    } else {
      // The index is 0 if the size is 1.
      result.push_back(index * NotEqual(from[i], 1));
    }
  }
  return result;
}

std::optional<std::vector<DimGroup>> GroupDims(const Sizes& sizes, absl::Span<const SymInt> a,
                                               absl::Span<const SymInt> b) {
  std::vector<DimGroup> groups(1);
  size_t i = 0;
  size_t j = 0;
  SymInt left = 1;
  SymInt right = 1;
  // Products of the dims before each one; a group ends where they are equal.
  std::vector<SymInt> after_a;
  for (size_t k = 0; k < a.size(); ++k) {
    left = sizes.Simplify(left * a[k]);
    after_a.push_back(left);
  }
  std::vector<SymInt> after_b;
  for (size_t k = 0; k < b.size(); ++k) {
    right = sizes.Simplify(right * b[k]);
    after_b.push_back(right);
  }
  if (!sizes.Equal(left, right)) return std::nullopt;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && a[i].Is(1)) {
      ++i;
      continue;
    }
    if (j < b.size() && b[j].Is(1)) {
      ++j;
      continue;
    }
    if (i == a.size() || j == b.size()) {
      // The remaining sizes have a product of 1, or there are no elements.
      for (; i < a.size(); ++i) groups.back().a.push_back(static_cast<int>(i));
      for (; j < b.size(); ++j) groups.back().b.push_back(static_cast<int>(j));
      break;
    }
    // The nearest pair of equal products.
    size_t end_a = a.size() - 1;
    size_t end_b = b.size() - 1;
    bool found = false;
    for (size_t p = i; p < a.size() && !found; ++p) {
      for (size_t q = j; q < b.size() && !found; ++q) {
        if (after_a[p] == after_b[q]) {
          end_a = p;
          end_b = q;
          found = true;
        }
      }
    }
    DimGroup& group = groups.back();
    for (; i <= end_a; ++i) {
      if (!a[i].Is(1)) group.a.push_back(static_cast<int>(i));
    }
    for (; j <= end_b; ++j) {
      if (!b[j].Is(1)) group.b.push_back(static_cast<int>(j));
    }
    groups.emplace_back();
  }
  if (groups.back().a.empty() && groups.back().b.empty()) groups.pop_back();
  return groups;
}

namespace {

// Splits one row-major index over dims of these sizes into one index per dim: each loop must step
// through one of the dims.
bool SplitIndex(const Sizes& sizes, const Index& index, absl::Span<const SymInt> extents,
                absl::Span<const SymInt> dims, absl::Span<const int> to, Indices* out) {
  if (!index.offset.Is(0) || !index.terms.empty()) return false;
  SymInt stride = 1;
  std::vector<bool> used(extents.size(), false);
  for (size_t k = to.size(); k-- > 0;) {
    const SymInt size = dims[to[k]];
    bool found = size.Is(1);
    for (size_t loop = 0; loop < extents.size() && !found; ++loop) {
      if (used[loop] || index.strides[loop] != stride || !sizes.Equal(extents[loop], size)) {
        continue;
      }
      (*out)[to[k]].strides[loop] = 1;
      used[loop] = true;
      found = true;
    }
    if (!found) return false;
    stride = stride * size;
  }
  for (size_t loop = 0; loop < extents.size(); ++loop) {
    if (!used[loop] && !index.strides[loop].Is(0)) return false;
  }
  return true;
}

}  // namespace

std::optional<Indices> ReshapeIndices(const Sizes& sizes, const Indices& at,
                                      absl::Span<const SymInt> extents,
                                      absl::Span<const SymInt> from, absl::Span<const SymInt> to) {
  const auto groups = GroupDims(sizes, from, to);
  if (!groups) return std::nullopt;
  Indices out(to.size(), ZeroIndex(extents.size()));
  for (const DimGroup& group : *groups) {
    if (group.b.empty()) continue;
    if (group.a.size() == 1 && group.b.size() == 1) {
      out[group.b[0]] = at[group.a[0]];
      continue;
    }
    Index whole = ZeroIndex(extents.size());
    for (int d : group.a) whole = whole * from[d] + at[d];
    if (group.b.size() == 1) {
      out[group.b[0]] = std::move(whole);
    } else if (!SplitIndex(sizes, whole, extents, to, group.b, &out)) {
      return std::nullopt;
    }
  }
  return out;
}

Access AccessOf(const View& view, const Indices& at, size_t loops) {
  Index whole = ZeroIndex(loops);
  for (size_t d = 0; d < at.size(); ++d) whole = whole + at[d] * view.strides[d];
  Access access;
  access.offset = whole.offset;
  access.strides = std::move(whole.strides);
  access.terms = std::move(whole.terms);
  return access;
}

std::vector<SymInt> DenseStrides(absl::Span<const SymInt> dims) {
  std::vector<SymInt> strides(dims.size());
  SymInt stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride = stride * dims[i];
  }
  return strides;
}

bool IsDense(const Sizes& sizes, const View& view) {
  SymInt stride = 1;
  for (size_t i = view.strides.size(); i-- > 0;) {
    const SymInt size = view.type.dim(static_cast<int>(i));
    if (size.Is(1)) continue;
    if (!sizes.Equal(view.strides[i], stride)) return false;
    stride = stride * size;
  }
  return true;
}

std::optional<View> ReshapeView(const Sizes& sizes, const View& view,
                                absl::Span<const SymInt> dims) {
  View result = view;
  result.type = view.type.WithDims(dims);
  result.strides = DenseStrides(dims);
  if (IsDense(sizes, view)) return result;
  const auto groups = GroupDims(sizes, view.type.dims(), dims);
  if (!groups) return std::nullopt;
  for (const DimGroup& group : *groups) {
    if (group.b.empty()) continue;
    if (group.a.empty()) return std::nullopt;
    // The dims of the group are walked with one stride.
    for (size_t k = 0; k + 1 < group.a.size(); ++k) {
      const int d = group.a[k + 1];
      const SymInt next = view.strides[d] * view.type.dim(d);
      if (!sizes.Equal(view.strides[group.a[k]], next)) return std::nullopt;
    }
    SymInt stride = view.strides[group.a.back()];
    for (size_t k = group.b.size(); k-- > 0;) {
      result.strides[group.b[k]] = stride;
      stride = stride * dims[group.b[k]];
    }
  }
  return result;
}

}  // namespace weft
