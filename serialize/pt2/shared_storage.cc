#include "serialize/pt2/shared_storage.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "graph/tensor/tensor.h"

namespace weft::pt2 {
namespace {

// The bytes from the first to the last element.
struct Extent {
  std::string name;
  const HostTensor* tensor = nullptr;
  int64_t begin = 0;
  int64_t end = 0;
};

Extent ExtentOf(const std::string& name, const HostTensor& t) {
  Extent e{name, &t, t.offset(), t.offset()};
  if (t.numel() > 0) ++e.end;
  for (int i = 0; i < t.rank() && t.numel() > 0; ++i) e.end += (t.dim(i) - 1) * t.strides()[i];
  e.begin = DTypeBytes(t.dtype(), e.begin);
  e.end = DTypeBytes(t.dtype(), e.end);
  return e;
}

// Groups of extents that overlap, directly or through others.
std::vector<std::vector<Extent>> Overlapping(std::vector<Extent> extents) {
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) {
    return std::make_pair(a.begin, a.name) < std::make_pair(b.begin, b.name);
  });
  std::vector<std::vector<Extent>> groups;
  int64_t end = 0;
  for (Extent& e : extents) {
    if (groups.empty() || e.begin >= end) groups.emplace_back();
    end = groups.back().empty() ? e.end : std::max(end, e.end);
    groups.back().push_back(std::move(e));
  }
  return groups;
}

bool SameView(const HostTensor& a, const HostTensor& b) {
  return a.offset() == b.offset() && a.dims() == b.dims() && a.strides() == b.strides();
}

const Extent* FindRoot(const std::vector<Extent>& group) {
  const Extent* root = nullptr;
  for (const Extent& e : group) {
    const bool fits =
        e.tensor->is_contiguous() && std::all_of(group.begin(), group.end(), [&](const Extent& o) {
          return o.begin >= e.begin && o.end <= e.end && o.tensor->dtype() == e.tensor->dtype();
        });
    if (fits && (root == nullptr || e.name < root->name)) root = &e;
  }
  if (root != nullptr) return root;
  // If all views are equal, any of them covers the others.
  const bool same = std::all_of(group.begin(), group.end(), [&](const Extent& e) {
    return SameView(*e.tensor, *group[0].tensor) && e.tensor->dtype() == group[0].tensor->dtype();
  });
  return same ? &group[0] : nullptr;
}

}  // namespace

absl::Status FindSharedViews(const std::map<std::string, HostTensor>& tensors,
                             const std::set<std::string>& written,
                             std::map<std::string, SharedView>* views) {
  std::vector<Extent> extents;
  for (const auto& [name, tensor] : tensors) extents.push_back(ExtentOf(name, tensor));
  for (const std::vector<Extent>& group : Overlapping(std::move(extents))) {
    const bool is_written = std::any_of(group.begin(), group.end(),
                                        [&](const Extent& e) { return written.count(e.name) > 0; });
    if (group.size() == 1 || !is_written) continue;
    const Extent* root = FindRoot(group);
    if (root == nullptr) {
      return absl::UnimplementedError(absl::StrCat(
          "one of ",
          absl::StrJoin(
              group, ", ",
              [](std::string* out, const Extent& e) { absl::StrAppend(out, "\"", e.name, "\""); }),
          " is written, they share memory, and none of them is contiguous and holds the others"));
    }
    for (const Extent& e : group) {
      const HostTensor& t = *e.tensor;
      SharedView view;
      view.root = root->name;
      view.whole = SameView(t, *root->tensor);
      view.size.assign(t.dims().begin(), t.dims().end());
      view.stride.assign(t.strides().begin(), t.strides().end());
      view.offset = t.offset() - root->tensor->offset();
      views->emplace(e.name, std::move(view));
    }
  }
  return absl::OkStatus();
}

}  // namespace weft::pt2
