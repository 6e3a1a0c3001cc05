// Strings by content, numbered in order of their first use.
#ifndef WEFT_SERIALIZE_HTML_STRING_TABLE_H_
#define WEFT_SERIALIZE_HTML_STRING_TABLE_H_

#include <deque>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace weft {

class StringTable {
 public:
  int Add(absl::string_view text) {
    auto it = ids_.find(text);
    if (it != ids_.end()) return it->second;
    const int id = static_cast<int>(strings_.size());
    strings_.emplace_back(text);  // A deque: the views in ids_ stay valid.
    ids_.emplace(strings_.back(), id);
    return id;
  }
  // The number of `text`, or -1.
  int Find(absl::string_view text) const {
    auto it = ids_.find(text);
    return it == ids_.end() ? -1 : it->second;
  }
  const std::string& operator[](int id) const { return strings_[id]; }
  int size() const { return static_cast<int>(strings_.size()); }

 private:
  std::deque<std::string> strings_;
  absl::flat_hash_map<absl::string_view, int> ids_;
};

}  // namespace weft

#endif  // WEFT_SERIALIZE_HTML_STRING_TABLE_H_
