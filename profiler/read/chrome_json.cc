// ReadChromeJson(): a SAX handler that holds one event.
#include <cmath>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "profiler/json_text.h"
#include "profiler/read/read.h"

namespace weft::profiler {
namespace {

constexpr int kDeepest = 100;

// The bytes of a source for nlohmann's lexer, which holds a token: ends early at one that is too
// long.
class JsonBytes {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  struct State {
    ByteSource& source;
    int64_t longest;
    int64_t token = 0;  // Bytes of it so far.
    bool in_string = false;
    bool escaped = false;
    bool too_long = false;
  };

  explicit JsonBytes(State* state = nullptr) : state_(state) {}
  bool operator==(const JsonBytes& other) const { return AtEnd() == other.AtEnd(); }
  bool operator!=(const JsonBytes& other) const { return AtEnd() != other.AtEnd(); }
  char operator*() const { return state_->source.Peek(); }
  JsonBytes& operator++() {
    Count(state_->source.Peek());
    state_->source.Skip();
    return *this;
  }

 private:
  bool AtEnd() const { return state_ == nullptr || state_->too_long || state_->source.AtEnd(); }

  void Count(char c) {
    State& s = *state_;
    if (s.in_string) {
      ++s.token;
      if (s.escaped) {
        s.escaped = false;
      } else if (c == '\\') {
        s.escaped = true;
      } else if (c == '"') {
        s.in_string = false;
        s.token = 0;
      }
    } else if (c == '"') {
      s.in_string = true;
    } else if (c == ',' || c == ':' || c == '{' || c == '[' || c == ' ' || c == '\n') {
      s.token = 0;
    } else {
      ++s.token;
    }
    if (s.token > s.longest) s.too_long = true;
  }

  State* state_;
};

// Nanoseconds of "123.456" microseconds, exactly; false when they do not fit.
bool NanosOfDecimal(const std::string& text, double value, int64_t* nanos) {
  if (text.find_first_of("eE") != std::string::npos) {
    if (!(std::fabs(value) < 9e15)) return false;
    *nanos = std::llround(value * 1000);
    return true;
  }
  const bool negative = text[0] == '-';
  uint64_t sum = 0;
  int digits_after = -1;  // Of the point.
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

// A scalar of the file.
struct Scalar {
  enum class Kind { kNull, kBool, kInt, kUint, kDouble, kString } kind;
  int64_t integer = 0;  // Of kUint, when it fits.
  uint64_t natural = 0;
  double number = 0;
  absl::string_view text;  // Of kString; of kDouble, as written.
};

class Handler : public nlohmann::json_sax<nlohmann::json> {
 public:
  Handler(ByteSource* source, TraceSink* sink, const ReadOptions& options)
      : source_(*source), sink_(*sink), longest_(options.max_item_bytes) {}

  absl::Status status;

  absl::Status Finish() {
    if (!status.ok()) return status;
    if (!begun_) return source_.ErrorHere("there are no traceEvents");
    return sink_.Finish(fields_);
  }

  bool null() override { return Value({Scalar::Kind::kNull}); }
  bool boolean(bool value) override {
    Scalar scalar = {Scalar::Kind::kBool};
    scalar.integer = value;
    return Value(scalar);
  }
  bool number_integer(int64_t value) override {
    Scalar scalar = {Scalar::Kind::kInt};
    scalar.integer = value;
    return Value(scalar);
  }
  bool number_unsigned(uint64_t value) override {
    const bool fits = value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    Scalar scalar = {fits ? Scalar::Kind::kInt : Scalar::Kind::kUint};
    scalar.integer = static_cast<int64_t>(value);
    scalar.natural = value;
    return Value(scalar);
  }
  bool number_float(double value, const std::string& text) override {
    Scalar scalar = {Scalar::Kind::kDouble};
    scalar.number = value;
    scalar.text = text;
    return Value(scalar);
  }
  bool string(std::string& value) override {
    Scalar scalar = {Scalar::Kind::kString};
    scalar.text = value;
    return Value(scalar);
  }
  bool binary(nlohmann::json::binary_t&) override { return Fail("binary data"); }
  bool start_object(size_t) override { return Open('{'); }
  bool start_array(size_t) override { return Open('['); }
  bool end_object() override { return Close('}'); }
  bool end_array() override { return Close(']'); }

  bool key(std::string& key) override {
    if (!captures_.empty()) {
      Separate();
      AppendJsonString(key, &captured_);
      captured_.append(": ");
      after_key_ = true;
      return FitsCapture();
    }
    (place_ == Place::kArgs ? arg_key_ : key_) = key;
    return true;
  }

  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: what is wrong"
    absl::string_view text = error.what();
    const size_t colon = text.find(": ");
    if (colon != absl::string_view::npos) text.remove_prefix(colon + 2);
    return Fail(absl::StrCat("line ", source_.line(), ": ", text.substr(0, 200)));
  }

 private:
  enum class Place { kOutside, kTop, kEvents, kEvent, kArgs, kDone };

  struct PendingArg {
    size_t key_begin, key_size;
    ArgValue value;
    size_t text_begin, text_size;
  };

  bool Fail(absl::string_view message) {
    if (status.ok()) status = source_.ErrorHere(message);
    return false;
  }

  bool Open(char bracket);
  bool Close(char bracket);
  bool Value(const Scalar& scalar);

  // Containers that are kept as text.
  bool StartCapture(char bracket);
  bool EndCapture();
  void Separate();
  bool FitsCapture() {
    return static_cast<int64_t>(captured_.size()) <= longest_ || Fail("a value is too long");
  }
  static void AppendScalar(const Scalar& scalar, std::string* out);

  bool AddField(std::string json);
  bool SetEventField(const Scalar& scalar);
  bool SetTrackPart(const Scalar& scalar, std::string* text, TrackPart* part);
  bool SetTime(const Scalar& scalar, int64_t* nanos);
  void SetId(const Scalar& scalar);
  bool AddArg(const Scalar& scalar);
  bool AddArgText(ArgValue value, absl::string_view text);
  bool BeginEvents();
  void BeginEvent();
  bool EndEvent();

  ByteSource& source_;
  TraceSink& sink_;
  const int64_t longest_;

  Place place_ = Place::kOutside;
  bool in_list_ = false;  // The file is an array of events.
  bool begun_ = false;
  std::string key_, arg_key_;
  TraceHeader fields_;  // Before the events, then behind them.
  int64_t field_bytes_ = 0;

  std::string captured_;
  std::string captures_;  // The closing brackets that are expected.
  bool needs_comma_ = false;
  bool after_key_ = false;

  TraceEvent event_;
  bool has_phase_ = false;
  std::string category_, name_, pid_, tid_;
  std::string arg_text_;
  std::vector<PendingArg> pending_args_;
  std::vector<Arg> args_;
};

bool Handler::Open(char bracket) {
  if (!captures_.empty()) return StartCapture(bracket);
  switch (place_) {
    case Place::kOutside:
      in_list_ = bracket == '[';
      place_ = Place::kTop;
      return in_list_ ? BeginEvents() : true;
    case Place::kTop:
      if (key_ == "traceEvents") {
        if (bracket != '[') return Fail("traceEvents is not a list");
        return BeginEvents();
      }
      return StartCapture(bracket);
    case Place::kEvents:
      if (bracket != '{') return Fail("an event is not an object");
      BeginEvent();
      return true;
    case Place::kEvent:
      if (key_ == "args" && bracket == '{') {
        place_ = Place::kArgs;
        return true;
      }
      return StartCapture(bracket);
    default:
      return StartCapture(bracket);
  }
}

bool Handler::Close(char bracket) {
  if (!captures_.empty()) {
    captured_.push_back(bracket);
    captures_.pop_back();
    needs_comma_ = true;
    return captures_.empty() ? EndCapture() : FitsCapture();
  }
  switch (place_) {
    case Place::kArgs:
      place_ = Place::kEvent;
      return true;
    case Place::kEvent:
      place_ = Place::kEvents;
      return EndEvent();
    case Place::kEvents:
      place_ = in_list_ ? Place::kDone : Place::kTop;
      return true;
    default:
      place_ = Place::kDone;
      return true;
  }
}

bool Handler::Value(const Scalar& scalar) {
  if (!captures_.empty()) {
    Separate();
    AppendScalar(scalar, &captured_);
    return FitsCapture();
  }
  switch (place_) {
    case Place::kTop: {
      if (key_ == "baseTimeNanoseconds" && scalar.kind == Scalar::Kind::kInt && !begun_) {
        fields_.base_time_ns = scalar.integer;
        return true;
      }
      if (key_ == "traceEvents") return Fail("traceEvents is not a list");
      std::string json;
      AppendScalar(scalar, &json);
      return AddField(std::move(json));
    }
    case Place::kEvents:
      return Fail("an event is not an object");
    case Place::kEvent:
      return SetEventField(scalar);
    case Place::kArgs:
      return AddArg(scalar);
    default:
      return Fail("a trace is an object or a list");
  }
}

void Handler::Separate() {
  if (needs_comma_ && !after_key_) captured_.append(", ");
  after_key_ = false;
  needs_comma_ = true;
}

bool Handler::StartCapture(char bracket) {
  if (captures_.size() >= kDeepest) return Fail("values are nested too deep");
  if (captures_.empty()) {
    captured_.clear();
    needs_comma_ = after_key_ = false;
  }
  Separate();
  captured_.push_back(bracket);
  captures_.push_back(bracket == '{' ? '}' : ']');
  needs_comma_ = false;
  return FitsCapture();
}

bool Handler::EndCapture() {
  if (place_ == Place::kTop) return AddField(captured_);
  if (place_ == Place::kArgs) return AddArgText(ArgValue::Json({}), captured_);
  return true;  // Of an event, something that is not known.
}

void Handler::AppendScalar(const Scalar& scalar, std::string* out) {
  switch (scalar.kind) {
    case Scalar::Kind::kNull:
      out->append("null");
      return;
    case Scalar::Kind::kBool:
      out->append(scalar.integer != 0 ? "true" : "false");
      return;
    case Scalar::Kind::kInt:
      absl::StrAppend(out, scalar.integer);
      return;
    case Scalar::Kind::kUint:
      absl::StrAppend(out, scalar.natural);
      return;
    case Scalar::Kind::kDouble:
      out->append(scalar.text.data(), scalar.text.size());
      return;
    case Scalar::Kind::kString:
      AppendJsonString(scalar.text, out);
      return;
  }
}

bool Handler::AddField(std::string json) {
  field_bytes_ += static_cast<int64_t>(key_.size() + json.size());
  if (field_bytes_ > longest_) return Fail("there is too much outside of traceEvents");
  fields_.fields.emplace_back(key_, std::move(json));
  return true;
}

bool Handler::BeginEvents() {
  if (begun_) return Fail("traceEvents stands twice");
  begun_ = true;
  place_ = Place::kEvents;
  status = sink_.Begin(fields_);
  fields_ = {};
  return status.ok();
}

void Handler::BeginEvent() {
  place_ = Place::kEvent;
  event_ = {};
  has_phase_ = false;
  for (std::string* text : {&category_, &name_, &pid_, &tid_, &arg_text_}) text->clear();
  pending_args_.clear();
}

bool Handler::SetTrackPart(const Scalar& scalar, std::string* text, TrackPart* part) {
  if (scalar.kind == Scalar::Kind::kInt) {
    *part = TrackPart::Number(scalar.integer);
    return true;
  }
  if (scalar.kind != Scalar::Kind::kString) {
    return Fail(absl::StrCat("an event's ", key_, " is neither an integer nor a string"));
  }
  *text = std::string(scalar.text);
  part->is_text = true;
  return true;
}

bool Handler::SetTime(const Scalar& scalar, int64_t* nanos) {
  if (scalar.kind == Scalar::Kind::kDouble) {
    if (NanosOfDecimal(std::string(scalar.text), scalar.number, nanos)) return true;
  } else if (scalar.kind == Scalar::Kind::kInt) {
    if (!__builtin_mul_overflow(scalar.integer, int64_t{1000}, nanos)) return true;
  } else {
    return Fail(absl::StrCat("an event's ", key_, " is no number"));
  }
  return Fail(absl::StrCat("an event's ", key_, " is out of range"));
}

void Handler::SetId(const Scalar& scalar) {
  if (scalar.kind == Scalar::Kind::kInt) event_.id = static_cast<uint64_t>(scalar.integer);
  if (scalar.kind == Scalar::Kind::kUint) event_.id = scalar.natural;
  if (scalar.kind != Scalar::Kind::kString) return;
  if (absl::SimpleAtoi(scalar.text, &event_.id) || absl::SimpleHexAtoi(scalar.text, &event_.id)) {
    return;
  }
  event_.id = 14695981039346656037u;  // FNV-1a
  for (char c : scalar.text) event_.id = (event_.id ^ static_cast<uint8_t>(c)) * 1099511628211u;
}

bool Handler::SetEventField(const Scalar& scalar) {
  const bool is_string = scalar.kind == Scalar::Kind::kString;
  if (key_ == "ts") return SetTime(scalar, &event_.time_ns);
  if (key_ == "dur") return SetTime(scalar, &event_.duration_ns);
  if (key_ == "pid") return SetTrackPart(scalar, &pid_, &event_.pid);
  if (key_ == "tid") return SetTrackPart(scalar, &tid_, &event_.tid);
  if (key_ == "name" && is_string) {
    name_ = std::string(scalar.text);
  } else if (key_ == "cat" && is_string) {
    category_ = std::string(scalar.text);
  } else if (key_ == "id") {
    SetId(scalar);
  } else if (key_ == "ph" || key_ == "s") {
    if (!is_string || scalar.text.size() != 1 || scalar.text[0] <= ' ' || scalar.text[0] > '~') {
      return Fail(absl::StrCat("an event's ", key_, " is not one letter"));
    }
    (key_ == "ph" ? event_.phase : event_.scope) = scalar.text[0];
    has_phase_ = has_phase_ || key_ == "ph";
  }
  return true;
}

bool Handler::AddArg(const Scalar& scalar) {
  switch (scalar.kind) {
    case Scalar::Kind::kBool:
      return AddArgText(ArgValue::Bool(scalar.integer != 0), {});
    case Scalar::Kind::kInt:
      return AddArgText(ArgValue::Int(scalar.integer), {});
    case Scalar::Kind::kDouble:
      return AddArgText(ArgValue::Double(scalar.number), {});
    case Scalar::Kind::kString:
      return AddArgText(ArgValue::String({}), scalar.text);
    default: {
      std::string json;
      AppendScalar(scalar, &json);
      return AddArgText(ArgValue::Json({}), json);
    }
  }
}

bool Handler::AddArgText(ArgValue value, absl::string_view text) {
  PendingArg arg;
  arg.value = value;
  arg.key_begin = arg_text_.size();
  arg.key_size = arg_key_.size();
  arg_text_.append(arg_key_);
  arg.text_begin = arg_text_.size();
  arg.text_size = text.size();
  arg_text_.append(text.data(), text.size());
  pending_args_.push_back(arg);
  const size_t bytes = arg_text_.size() + pending_args_.size() * sizeof(PendingArg);
  return static_cast<int64_t>(bytes) <= longest_ || Fail("an event is too long");
}

bool Handler::EndEvent() {
  if (!has_phase_) return Fail("an event has no ph");
  if (event_.duration_ns < 0) return Fail("an event's dur is negative");
  int64_t end;
  if (__builtin_add_overflow(event_.time_ns, event_.duration_ns, &end)) {
    return Fail("an event's end is out of range");
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
  status = sink_.Add(event_);
  return status.ok();
}

}  // namespace

absl::Status ReadChromeJson(ByteSource& source, TraceSink& sink, const ReadOptions& options) {
  Handler handler(&source, &sink, options);
  JsonBytes::State state = {source, options.max_item_bytes};
  nlohmann::json::sax_parse(JsonBytes(&state), JsonBytes(), &handler);
  if (!source.status().ok()) return source.status();
  if (state.too_long) return source.ErrorHere("a string is too long");
  return handler.Finish();
}

}  // namespace weft::profiler
