// Writes the members of a JSON object.
#ifndef WEFT_SERIALIZE_HTML_JSON_WRITER_H_
#define WEFT_SERIALIZE_HTML_JSON_WRITER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "serialize/html/json_text.h"

namespace weft {

// The functions with a name append a member: a list of `size` items, which are written or given for
// each number, or an object. The text begins with a '{'.
class JsonWriter {
 public:
  template <typename Item>
  void List(absl::string_view name, size_t size, Item item) {
    Name(name);
    out_ += '[';
    for (size_t i = 0; i < size; ++i) {
      if (i > 0) out_ += ',';
      item(static_cast<int>(i));
    }
    out_ += ']';
  }
  // The same for numbers.
  template <typename Item>
  void Column(absl::string_view name, size_t size, Item item) {
    List(name, size, [&](int i) { absl::StrAppend(&out_, item(i)); });
  }
  // Numbers as differences from the number before.
  template <typename Item>
  void Differences(absl::string_view name, size_t size, Item item) {
    int64_t last = 0;
    Column(name, size, [&](int i) {
      const int64_t now = item(i), step = now - last;
      last = now;
      return step;
    });
  }
  void Name(absl::string_view name) {
    absl::StrAppend(&out_, out_.back() == '{' ? "" : ",", "\"", name, "\":");
  }
  template <typename Body>
  void Object(absl::string_view name, Body body) {
    Name(name);
    out_ += '{';
    body();
    out_ += '}';
  }
  void Numbers(const std::vector<int>& numbers) {
    out_ += '[';
    for (size_t i = 0; i < numbers.size(); ++i) {
      absl::StrAppend(&out_, i == 0 ? "" : ",", numbers[i]);
    }
    out_ += ']';
  }
  void Flag(absl::string_view name, bool value) {
    Name(name);
    out_ += value ? "true" : "false";
  }
  void Number(absl::string_view name, int64_t number) {
    Name(name);
    absl::StrAppend(&out_, number);
  }
  void Text(absl::string_view name, absl::string_view text) {
    Name(name);
    AppendJsonString(text, &out_);
  }
  template <typename Item>
  void TextColumn(absl::string_view name, size_t size, Item item) {
    List(name, size, [&](int i) { AppendJsonString(item(i), &out_); });
  }
  void Texts(absl::string_view name, const std::vector<std::string>& texts) {
    TextColumn(name, texts.size(), [&](int i) -> const std::string& { return texts[i]; });
  }

 protected:
  std::string out_ = "{";
};

}  // namespace weft

#endif  // WEFT_SERIALIZE_HTML_JSON_WRITER_H_
