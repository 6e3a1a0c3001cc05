#include "serialize/html/kernel_times.h"

#include <cmath>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace weft {
namespace {

using Json = nlohmann::json;

// Follows the parser. The events are the objects of the array "traceEvents", or of the
// outermost array; of an event only what is needed is kept.
class EventReader : public nlohmann::json_sax<Json> {
 public:
  std::vector<KernelTime> TakeKernels() { return std::move(kernels_); }
  const std::string& error() const { return error_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t v) override { return Number(static_cast<double>(v)); }
  bool number_unsigned(number_unsigned_t v) override { return Number(static_cast<double>(v)); }
  bool number_float(number_float_t v, const string_t&) override { return Number(v); }
  bool string(string_t& v) override {
    if (depth_ == event_ && key_ == "name")
      event_name_ = std::move(v);
    else if (depth_ == event_ && key_ == "ph")
      is_complete_ = v == "X";
    else if (InArgs() && key_ == "kernel")
      kernel_.name = std::move(v);
    else if (in_sources_ && depth_ == event_ + 2)
      kernel_.sources.push_back(std::move(v));
    return true;
  }
  bool binary(binary_t&) override { return true; }

  bool start_object(std::size_t) override {
    ++depth_;
    if (depth_ == 1) is_object_ = true;
    if (event_ == 0 && in_events_ && depth_ == events_ + 1) BeginEvent();
    if (event_ > 0 && depth_ == event_ + 1) in_args_ = key_ == "args";
    return true;
  }
  bool key(string_t& v) override {
    if (event_ == 0 || depth_ <= event_ + 1) key_ = std::move(v);
    return true;
  }
  bool end_object() override {
    if (event_ > 0 && depth_ == event_ + 1) in_args_ = false;
    if (event_ > 0 && depth_ == event_) EndEvent();
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override {
    ++depth_;
    if (event_ == 0 && !in_events_ &&
        (depth_ == 1 || (depth_ == 2 && is_object_ && key_ == "traceEvents"))) {
      in_events_ = true;
      events_ = depth_;
    }
    if (event_ > 0 && in_args_ && depth_ == event_ + 2) {
      in_sources_ = key_ == "Provenance" || key_ == "provenance";
    }
    return true;
  }
  bool end_array() override {
    if (in_events_ && depth_ == events_) in_events_ = false;
    if (event_ > 0 && depth_ == event_ + 2) in_sources_ = false;
    --depth_;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const Json::exception&) override {
    error_ = absl::StrCat("no JSON at byte ", position);
    return false;
  }

 private:
  bool InArgs() const { return event_ > 0 && in_args_ && depth_ == event_ + 1; }
  bool Number(double v) {
    if (!std::isfinite(v) || v < 0 || v > 1e18) return true;
    if (event_ > 0 && depth_ == event_ && key_ == "dur") kernel_.microseconds = v;
    if (InArgs() && (key_ == "Bytes moved" || key_ == "bytes"))
      kernel_.bytes = static_cast<int64_t>(v);
    return true;
  }
  void BeginEvent() {
    event_ = depth_;
    kernel_ = KernelTime();
    event_name_.clear();
    is_complete_ = false;
  }
  void EndEvent() {
    event_ = 0;
    if (!is_complete_ || kernel_.sources.empty()) return;
    if (kernel_.name.empty()) kernel_.name = event_name_;
    auto [it, inserted] =
        numbers_.emplace(std::make_pair(kernel_.name, kernel_.sources), kernels_.size());
    if (inserted) {
      kernels_.emplace_back();
      kernels_.back().name = kernel_.name;
      kernels_.back().sources = kernel_.sources;
    }
    KernelTime& all = kernels_[it->second];
    ++all.calls;
    all.microseconds += kernel_.microseconds;
    all.bytes += kernel_.bytes;
  }

  int depth_ = 0;
  int events_ = 0;  // Depth of the array of events.
  int event_ = 0;   // Depth of the event at hand; 0: none.
  bool is_object_ = false;
  bool in_events_ = false;
  bool in_args_ = false;
  bool in_sources_ = false;
  bool is_complete_ = false;
  std::string key_;
  std::string event_name_;
  std::string error_;
  KernelTime kernel_;
  std::vector<KernelTime> kernels_;
  absl::flat_hash_map<std::pair<std::string, std::vector<std::string>>, size_t> numbers_;
};

}  // namespace

absl::StatusOr<std::vector<KernelTime>> ReadKernelTimes(std::istream& trace) {
  if (trace.peek() == 0x1f) {
    return absl::InvalidArgumentError("compressed; gunzip gives the JSON that is read");
  }
  EventReader reader;
  if (!Json::sax_parse(trace, &reader)) return absl::InvalidArgumentError(reader.error());
  return reader.TakeKernels();
}

}  // namespace weft
