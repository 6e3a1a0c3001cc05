// ReadChromeJson(): a SAX handler that holds one event.
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "profiler/read/chrome_event.h"
#include "profiler/read/json_bytes.h"
#include "profiler/read/json_capture.h"
#include "profiler/read/read.h"

namespace weft::profiler {
namespace {

class Handler : public nlohmann::json_sax<nlohmann::json> {
 public:
  Handler(ByteSource* source, TraceSink* sink, const ReadOptions& options)
      : source_(*source),
        sink_(*sink),
        longest_(options.max_item_bytes),
        capture_(longest_),
        event_(longest_) {}

  absl::Status status;

  absl::Status Finish() {
    WEFT_RETURN_IF_ERROR(status);
    if (!begun_) return source_.ErrorHere("there are no traceEvents");
    return sink_.Finish(fields_);
  }

  bool null() override { return Value({JsonScalar::Kind::kNull}); }
  bool boolean(bool value) override {
    JsonScalar scalar = {JsonScalar::Kind::kBool};
    scalar.integer = value;
    return Value(scalar);
  }
  bool number_integer(int64_t value) override {
    JsonScalar scalar = {JsonScalar::Kind::kInt};
    scalar.integer = value;
    return Value(scalar);
  }
  bool number_unsigned(uint64_t value) override {
    const bool fits = value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    JsonScalar scalar = {fits ? JsonScalar::Kind::kInt : JsonScalar::Kind::kUint};
    scalar.integer = static_cast<int64_t>(value);
    scalar.natural = value;
    return Value(scalar);
  }
  bool number_float(double value, const std::string& text) override {
    JsonScalar scalar = {JsonScalar::Kind::kDouble};
    scalar.number = value;
    scalar.text = text;
    return Value(scalar);
  }
  bool string(std::string& value) override {
    JsonScalar scalar = {JsonScalar::Kind::kString};
    scalar.text = value;
    return Value(scalar);
  }
  bool binary(nlohmann::json::binary_t&) override { return Fail("binary data"); }
  bool start_object(size_t) override { return Open('{'); }
  bool start_array(size_t) override { return Open('['); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }

  bool key(std::string& key) override {
    if (capture_.is_open()) return Check(capture_.Key(key));
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

  bool Fail(absl::string_view message) {
    if (status.ok()) status = source_.ErrorHere(message);
    return false;
  }

  bool Check(const absl::Status& done) { return done.ok() || Fail(done.message()); }

  bool Open(char bracket);
  bool Close();
  bool Value(const JsonScalar& scalar);
  bool TopValue(const JsonScalar& scalar);
  // Ends a list or object that is kept as text.
  bool EndCapture();
  bool AddField(std::string json);
  bool BeginEvents();
  bool EndEvent();

  ByteSource& source_;
  TraceSink& sink_;
  const int64_t longest_;

  Place place_ = Place::kOutside;
  bool in_list_ = false;  // The file is an array of events.
  bool begun_ = false;
  std::string key_, arg_key_;
  TraceHeader fields_;  // Fields before the events, later those after them.
  int64_t field_bytes_ = 0;
  JsonCapture capture_;
  ChromeEvent event_;
};

bool Handler::Open(char bracket) {
  if (capture_.is_open()) return Check(capture_.Open(bracket));
  switch (place_) {
    case Place::kOutside:
      in_list_ = bracket == '[';
      place_ = Place::kTop;
      return in_list_ ? BeginEvents() : true;
    case Place::kTop:
      if (key_ != "traceEvents") return Check(capture_.Open(bracket));
      return bracket == '[' ? BeginEvents() : Fail("traceEvents is not a list");
    case Place::kEvents:
      if (bracket != '{') return Fail("an event is not an object");
      place_ = Place::kEvent;
      event_.Clear();
      return true;
    case Place::kEvent:
      if (key_ != "args" || bracket != '{') return Check(capture_.Open(bracket));
      place_ = Place::kArgs;
      return true;
    default:
      return Check(capture_.Open(bracket));
  }
}

bool Handler::Close() {
  if (capture_.is_open()) {
    if (!Check(capture_.Close())) return false;
    return capture_.is_open() || EndCapture();
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

bool Handler::Value(const JsonScalar& scalar) {
  if (capture_.is_open()) return Check(capture_.Add(scalar));
  switch (place_) {
    case Place::kTop:
      return TopValue(scalar);
    case Place::kEvents:
      return Fail("an event is not an object");
    case Place::kEvent:
      return Check(event_.SetField(key_, scalar));
    case Place::kArgs:
      return Check(event_.AddArg(arg_key_, scalar));
    default:
      return Fail("a trace is an object or a list");
  }
}

bool Handler::TopValue(const JsonScalar& scalar) {
  if (key_ == "baseTimeNanoseconds" && scalar.kind == JsonScalar::Kind::kInt && !begun_) {
    fields_.base_time_ns = scalar.integer;
    return true;
  }
  if (key_ == "traceEvents") return Fail("traceEvents is not a list");
  std::string json;
  AppendJsonScalar(scalar, &json);
  return AddField(std::move(json));
}

bool Handler::EndCapture() {
  if (place_ == Place::kTop) return AddField(capture_.text());
  if (place_ == Place::kArgs) return Check(event_.AddJsonArg(arg_key_, capture_.text()));
  return true;  // An unknown part of an event.
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

bool Handler::EndEvent() {
  const absl::StatusOr<const TraceEvent*> event = event_.Finish();
  if (!event.ok()) return Fail(event.status().message());
  status = sink_.Add(**event);
  return status.ok();
}

}  // namespace

absl::Status ReadChromeJson(ByteSource& source, TraceSink& sink, const ReadOptions& options) {
  Handler handler(&source, &sink, options);
  JsonBytes::State state = {source, options.max_item_bytes};
  nlohmann::json::sax_parse(JsonBytes(&state), JsonBytes(), &handler);
  WEFT_RETURN_IF_ERROR(source.status());
  if (state.too_long) return source.ErrorHere("a string is too long");
  return handler.Finish();
}

}  // namespace weft::profiler
