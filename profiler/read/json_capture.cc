#include "profiler/read/json_capture.h"

#include "absl/strings/str_cat.h"
#include "profiler/json_text.h"

namespace weft::profiler {
namespace {

constexpr size_t kDeepest = 100;

}  // namespace

void AppendJsonScalar(const JsonScalar& scalar, std::string* out) {
  switch (scalar.kind) {
    case JsonScalar::Kind::kNull:
      out->append("null");
      return;
    case JsonScalar::Kind::kBool:
      out->append(scalar.integer != 0 ? "true" : "false");
      return;
    case JsonScalar::Kind::kInt:
      absl::StrAppend(out, scalar.integer);
      return;
    case JsonScalar::Kind::kUint:
      absl::StrAppend(out, scalar.natural);
      return;
    case JsonScalar::Kind::kDouble:
      out->append(scalar.text.data(), scalar.text.size());
      return;
    case JsonScalar::Kind::kString:
      AppendJsonString(scalar.text, out);
      return;
  }
}

absl::Status JsonCapture::Check() const {
  if (static_cast<int64_t>(text_.size()) <= longest_) return absl::OkStatus();
  return absl::InvalidArgumentError("a value is too long");
}

void JsonCapture::Separate() {
  if (needs_comma_ && !after_key_) text_.append(", ");
  after_key_ = false;
  needs_comma_ = true;
}

absl::Status JsonCapture::Open(char bracket) {
  if (brackets_.size() >= kDeepest) {
    return absl::InvalidArgumentError("values are nested too deep");
  }
  if (brackets_.empty()) {
    text_.clear();
    needs_comma_ = after_key_ = false;
  }
  Separate();
  text_.push_back(bracket);
  brackets_.push_back(bracket == '{' ? '}' : ']');
  needs_comma_ = false;
  return Check();
}

absl::Status JsonCapture::Close() {
  text_.push_back(brackets_.back());
  brackets_.pop_back();
  needs_comma_ = true;
  return Check();
}

absl::Status JsonCapture::Key(absl::string_view key) {
  Separate();
  AppendJsonString(key, &text_);
  text_.append(": ");
  after_key_ = true;
  return Check();
}

absl::Status JsonCapture::Add(const JsonScalar& scalar) {
  Separate();
  AppendJsonScalar(scalar, &text_);
  return Check();
}

}  // namespace weft::profiler
