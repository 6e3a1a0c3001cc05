#include "serialize/pt2/json_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/str_join.h"

namespace weft::pt2 {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

struct Extremes {
  int depth = 0;          // Nesting of brackets outside of strings.
  size_t num_blanks = 0;  // Consecutive blanks outside of strings.
};

Extremes ExtremesOf(absl::string_view text) {
  Extremes extremes;
  int depth = 0;
  size_t blanks = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    blanks = !in_string && IsBlank(c) ? blanks + 1 : 0;
    extremes.num_blanks = std::max(extremes.num_blanks, blanks);
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      extremes.depth = std::max(extremes.depth, ++depth);
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return extremes;
}

}  // namespace

absl::StatusOr<Json> ParseJson(absl::string_view text, const std::string& file, int max_depth,
                               int64_t max_bytes) {
  if (text.size() > static_cast<size_t>(max_bytes)) {
    return absl::ResourceExhaustedError(
        absl::StrCat(file, " has ", text.size(), " bytes; the limit is ", max_bytes));
  }
  const Extremes extremes = ExtremesOf(text);
  if (extremes.depth > max_depth) {
    return absl::ResourceExhaustedError(
        absl::StrCat(file, " is nested ", extremes.depth, " deep; the limit is ", max_depth));
  }
  // The parser keeps blanks that it skips in memory.
  constexpr size_t kMaxBlanks = 1 << 20;
  if (extremes.num_blanks > kMaxBlanks) {
    return absl::ResourceExhaustedError(absl::StrCat(
        file, " has ", extremes.num_blanks, " blanks in a row; the limit is ", kMaxBlanks));
  }
  try {
    return Json::parse(text.begin(), text.end());
  } catch (const Json::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": not valid JSON: ", error.what()));
  }
}

Place Place::operator[](absl::string_view key) const {
  if (!present() || !value_->is_object()) return Place(*this, key, nullptr);
  const auto found = value_->find(std::string(key));
  return Place(*this, key, found == value_->end() ? nullptr : &*found);
}

std::string Place::ToString() const {
  std::vector<const Place*> way;
  for (const Place* p = this; p != nullptr; p = p->parent_) way.push_back(p);
  std::string text = "$";
  for (auto it = way.rbegin() + 1; it != way.rend(); ++it) {
    const Place& p = **it;
    if (p.index_) {
      absl::StrAppend(&text, "[", *p.index_, "]");
    } else {
      absl::StrAppend(&text, ".", p.key_.substr(0, 200));
    }
  }
  return text;
}

void JsonReader::Fail(const Place& at, absl::string_view message) {
  if (!ok()) return;
  status_ = absl::InvalidArgumentError(absl::StrCat(file_, ": ", at.ToString(), ": ", message));
}

void JsonReader::Unsupported(const Place& at, absl::string_view message) {
  if (!ok()) return;
  status_ = absl::UnimplementedError(absl::StrCat(file_, ": ", at.ToString(), ": ", message));
}

int64_t JsonReader::Int(const Place& at) {
  const Json* json = at.json();
  if (json != nullptr && json->is_number_unsigned() &&
      json->get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    Fail(at, "the integer does not fit in 64 signed bits");
    return 0;
  }
  if (json != nullptr && json->is_number_integer()) return json->get<int64_t>();
  Fail(at, "expected an integer");
  return 0;
}

double JsonReader::Float(const Place& at) {
  const Json* json = at.json();
  if (json != nullptr && json->is_number()) return json->get<double>();
  if (json != nullptr && json->is_string()) {
    const auto& text = json->get_ref<const std::string&>();
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (text == "Infinity" || text == "inf") return kInfinity;
    if (text == "-Infinity" || text == "-inf") return -kInfinity;
    if (text == "NaN" || text == "nan") return std::nan("");
  }
  Fail(at, "expected a number");
  return 0;
}

bool JsonReader::Bool(const Place& at) {
  if (at.json() != nullptr && at.json()->is_boolean()) {
    return at.json()->get<bool>();
  }
  Fail(at, "expected true or false");
  return false;
}

std::string JsonReader::String(const Place& at) {
  if (at.json() != nullptr && at.json()->is_string()) {
    return at.json()->get<std::string>();
  }
  Fail(at, "expected a string");
  return "";
}

bool JsonReader::IsObject(const Place& at) {
  if (at.json() != nullptr && at.json()->is_object()) return true;
  Fail(at, "expected an object");
  return false;
}

bool JsonReader::IsArray(const Place& at) {
  if (at.json() != nullptr && at.json()->is_array()) return true;
  Fail(at, "expected an array");
  return false;
}

std::string JsonReader::UnionKey(const Place& at) {
  if (!IsObject(at)) return "";
  // Some writers list all members of a union, with null for all but one.
  std::string key;
  int count = 0;
  for (auto it = at.json()->begin(); it != at.json()->end(); ++it) {
    if (it.value().is_null() && at.json()->size() > 1) continue;
    key = it.key();
    ++count;
  }
  if (count == 1) return key;
  Fail(at, absl::StrCat("expected an object with one member, it has ", count));
  return "";
}

}  // namespace weft::pt2
