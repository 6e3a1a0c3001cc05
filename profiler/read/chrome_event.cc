#include "profiler/read/chrome_event.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace weft::profiler {
namespace {

using Kind = JsonScalar::Kind;

absl::Status Wrong(absl::string_view key, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("an event's ", key, " ", what));
}

// Converts "123.456" microseconds to nanoseconds, exactly; false if they do not fit.
bool NanosOfDecimal(const std::string& text, double value, int64_t* nanos) {
  if (text.find_first_of("eE") != std::string::npos) {
    if (!(std::fabs(value) < 9e15)) return false;
    *nanos = std::llround(value * 1000);
    return true;
  }
  const bool negative = text[0] == '-';
  uint64_t sum = 0;
  int digits_after = -1;  // Digits after the point.
  for (size_t i = negative; i < text.size() && digits_after < 3; ++i) {
    if (text[i] == '.') {
      digits_after = 0;
      continue;
    }
    if (sum > (uint64_t{1} << 62) / 10) return false;
    sum = sum * 10 + static_cast<uint64_t>(text[i] - '0');
    if (digits_after >= 0) ++digits_after;
  }
  for (int i = std::max(digits_after, 0); i < 3; ++i) {
    if (sum > (uint64_t{1} << 62) / 10) return false;
    sum *= 10;
  }
  *nanos = negative ? -static_cast<int64_t>(sum) : static_cast<int64_t>(sum);
  return true;
}

absl::Status SetTime(absl::string_view key, const JsonScalar& scalar, int64_t* nanos) {
  if (scalar.kind == Kind::kDouble) {
    if (NanosOfDecimal(std::string(scalar.text), scalar.number, nanos)) return absl::OkStatus();
  } else if (scalar.kind == Kind::kInt) {
    if (!__builtin_mul_overflow(scalar.integer, int64_t{1000}, nanos)) return absl::OkStatus();
  } else {
    return Wrong(key, "is no number");
  }
  return Wrong(key, "is out of range");
}

absl::Status SetTrackPart(absl::string_view key, const JsonScalar& scalar, std::string* text,
                          TrackPart* part) {
  if (scalar.kind == Kind::kInt) {
    *part = TrackPart::Number(scalar.integer);
    return absl::OkStatus();
  }
  if (scalar.kind != Kind::kString) return Wrong(key, "is neither an integer nor a string");
  *text = std::string(scalar.text);
  part->is_text = true;
  return absl::OkStatus();
}

}  // namespace

void ChromeEvent::Clear() {
  event_ = {};
  has_phase_ = false;
  for (std::string* text : {&category_, &name_, &pid_, &tid_, &arg_text_}) text->clear();
  pending_args_.clear();
}

void ChromeEvent::SetId(const JsonScalar& scalar) {
  if (scalar.kind == Kind::kInt) event_.id = static_cast<uint64_t>(scalar.integer);
  if (scalar.kind == Kind::kUint) event_.id = scalar.natural;
  if (scalar.kind != Kind::kString) return;
  if (absl::SimpleAtoi(scalar.text, &event_.id) || absl::SimpleHexAtoi(scalar.text, &event_.id)) {
    return;
  }
  event_.id = 14695981039346656037u;  // FNV-1a
  for (char c : scalar.text) event_.id = (event_.id ^ static_cast<uint8_t>(c)) * 1099511628211u;
}

absl::Status ChromeEvent::SetLetter(absl::string_view key, const JsonScalar& scalar) {
  if (scalar.kind != Kind::kString || scalar.text.size() != 1 || scalar.text[0] <= ' ' ||
      scalar.text[0] > '~') {
    return Wrong(key, "is not one letter");
  }
  (key == "ph" ? event_.phase : event_.scope) = scalar.text[0];
  has_phase_ = has_phase_ || key == "ph";
  return absl::OkStatus();
}

absl::Status ChromeEvent::SetField(absl::string_view key, const JsonScalar& scalar) {
  if (key == "ts") return SetTime(key, scalar, &event_.time_ns);
  if (key == "dur") return SetTime(key, scalar, &event_.duration_ns);
  if (key == "pid") return SetTrackPart(key, scalar, &pid_, &event_.pid);
  if (key == "tid") return SetTrackPart(key, scalar, &tid_, &event_.tid);
  if (key == "ph" || key == "s") return SetLetter(key, scalar);
  const bool is_string = scalar.kind == Kind::kString;
  if (key == "name" && is_string) {
    name_ = std::string(scalar.text);
  } else if (key == "cat" && is_string) {
    category_ = std::string(scalar.text);
  } else if (key == "id") {
    SetId(scalar);
  }
  return absl::OkStatus();
}

absl::Status ChromeEvent::AddArg(absl::string_view key, const JsonScalar& scalar) {
  switch (scalar.kind) {
    case Kind::kBool:
      return AddArgText(key, ArgValue::Bool(scalar.integer != 0), {});
    case Kind::kInt:
      return AddArgText(key, ArgValue::Int(scalar.integer), {});
    case Kind::kDouble:
      return AddArgText(key, ArgValue::Double(scalar.number), {});
    case Kind::kString:
      return AddArgText(key, ArgValue::String({}), scalar.text);
    default: {
      std::string json;
      AppendJsonScalar(scalar, &json);
      return AddJsonArg(key, json);
    }
  }
}

absl::Status ChromeEvent::AddJsonArg(absl::string_view key, absl::string_view json) {
  return AddArgText(key, ArgValue::Json({}), json);
}

absl::Status ChromeEvent::AddArgText(absl::string_view key, ArgValue value,
                                     absl::string_view text) {
  PendingArg arg;
  arg.value = value;
  arg.key_begin = arg_text_.size();
  arg.key_size = key.size();
  arg_text_.append(key.data(), key.size());
  arg.text_begin = arg_text_.size();
  arg.text_size = text.size();
  arg_text_.append(text.data(), text.size());
  pending_args_.push_back(arg);
  const size_t bytes = arg_text_.size() + pending_args_.size() * sizeof(PendingArg);
  if (static_cast<int64_t>(bytes) <= longest_) return absl::OkStatus();
  return absl::InvalidArgumentError("an event is too long");
}

absl::StatusOr<const TraceEvent*> ChromeEvent::Finish() {
  if (!has_phase_) return absl::InvalidArgumentError("an event has no ph");
  if (event_.duration_ns < 0) return Wrong("dur", "is negative");
  int64_t end;
  if (__builtin_add_overflow(event_.time_ns, event_.duration_ns, &end)) {
    return Wrong("end", "is out of range");
  }
  event_.category = category_;
  event_.name = name_;
  if (event_.pid.is_text) event_.pid.text = pid_;
  if (event_.tid.is_text) event_.tid.text = tid_;
  const absl::string_view text = arg_text_;
  args_.clear();
  for (const PendingArg& pending : pending_args_) {
    Arg& arg = args_.emplace_back();
    arg.key = text.substr(pending.key_begin, pending.key_size);
    arg.value = pending.value;
    arg.value.text = text.substr(pending.text_begin, pending.text_size);
  }
  event_.args = args_;
  return &event_;
}

}  // namespace weft::profiler
