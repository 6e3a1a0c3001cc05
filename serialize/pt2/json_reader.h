// Reads untrusted JSON: it is parsed without recursion on its depth, and every value has its place
// for errors.
//
// Errors stick: after the first one readers return harmless values, and status() has the error with
// its place, `models/model.json: $.a.b[2]: expected a string`.
#ifndef WEFT_SERIALIZE_PT2_JSON_READER_H_
#define WEFT_SERIALIZE_PT2_JSON_READER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace weft::pt2 {

using Json = nlohmann::json;

// Checks size, nesting and syntax.
absl::StatusOr<Json> ParseJson(absl::string_view text, const std::string& file, int max_depth,
                               int64_t max_bytes);

// A value and the path to it from the root. Places are on the stack of the readers.
class Place {
 public:
  explicit Place(const Json* value) : value_(value) {}
  Place(const Place& parent, absl::string_view key, const Json* value)
      : parent_(&parent), key_(key), value_(value) {}
  Place(const Place& parent, size_t index, const Json* value)
      : parent_(&parent), index_(index), value_(value) {}

  // Null if there is no such value.
  const Json* json() const { return value_; }
  bool present() const { return value_ != nullptr && !value_->is_null(); }
  // The member of an object; not present if the object lacks it.
  Place operator[](absl::string_view key) const;
  // The elements of an array. ForEachMember visits the members of an object.
  size_t size() const { return present() && value_->is_array() ? value_->size() : 0; }
  Place at(size_t i) const { return Place(*this, i, &(*value_)[i]); }
  std::string ToString() const;

 private:
  const Place* parent_ = nullptr;
  absl::string_view key_;
  std::optional<size_t> index_;
  const Json* value_;
};

class JsonReader {
 public:
  explicit JsonReader(std::string file) : file_(std::move(file)) {}

  const absl::Status& status() const { return status_; }
  bool ok() const { return status_.ok(); }
  void Fail(const Place& at, absl::string_view message);
  void Unsupported(const Place& at, absl::string_view message);

  int64_t Int(const Place& at);
  // Also accepts "Infinity", "-Infinity" and "NaN".
  double Float(const Place& at);
  bool Bool(const Place& at);
  std::string String(const Place& at);
  // Fails unless the value is an object (an array).
  bool IsObject(const Place& at);
  bool IsArray(const Place& at);
  // The only member of an object, which is how the format writes unions. Empty after an error.
  std::string UnionKey(const Place& at);

  // Calls `fn(Place)` for each element of an array.
  template <typename Fn>
  void ForEach(const Place& at, Fn fn) {
    if (!IsArray(at)) return;
    for (size_t i = 0; i < at.size() && ok(); ++i) fn(at.at(i));
  }
  // Calls `fn(name, Place)` for each member of an object.
  template <typename Fn>
  void ForEachMember(const Place& at, Fn fn) {
    if (!IsObject(at)) return;
    for (auto it = at.json()->begin(); it != at.json()->end() && ok(); ++it) {
      fn(it.key(), Place(at, it.key(), &it.value()));
    }
  }

 private:
  std::string file_;
  absl::Status status_;
};

}  // namespace weft::pt2

#endif  // WEFT_SERIALIZE_PT2_JSON_READER_H_
