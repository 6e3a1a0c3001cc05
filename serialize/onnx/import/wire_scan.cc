#include "serialize/onnx/import/wire_scan.h"

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"

namespace weft::onnx_import {
namespace {

// Message types that can contain nested graphs.
enum class Kind { kModel, kGraph, kNode, kAttribute, kFunction, kOther };

Kind Child(Kind parent, uint64_t field) {
  switch (parent) {
    case Kind::kModel:
      return field == 7 ? Kind::kGraph : field == 25 ? Kind::kFunction : Kind::kOther;
    case Kind::kGraph:
      return field == 1 ? Kind::kNode : Kind::kOther;
    case Kind::kFunction:
      return field == 7 ? Kind::kNode : Kind::kOther;
    case Kind::kNode:
      return field == 5 ? Kind::kAttribute : Kind::kOther;
    case Kind::kAttribute:
      return field == 6 || field == 11 ? Kind::kGraph : Kind::kOther;
    case Kind::kOther:
      break;
  }
  return Kind::kOther;
}

struct Open {
  Kind kind;
  size_t end;
};

class Scanner {
 public:
  Scanner(absl::string_view bytes, int max_nesting) : bytes_(bytes), max_nesting_(max_nesting) {}

  absl::Status Run() {
    open_.push_back({Kind::kModel, bytes_.size()});
    while (!open_.empty()) {
      if (pos_ == open_.back().end) {
        if (open_.back().kind == Kind::kGraph) --graphs_;
        open_.pop_back();
        continue;
      }
      if (!Field()) return Bad();
      if (graphs_ > max_nesting_) {
        return absl::InvalidArgumentError(absl::StrCat("graphs are nested more than ", max_nesting_,
                                                       " deep (at byte ", pos_, ")"));
      }
    }
    return absl::InvalidArgumentError(
        "not an ONNX model: a field has a type that onnx.proto does not give "
        "it, or messages are nested too deeply");
  }

 private:
  absl::Status Bad() const {
    return absl::InvalidArgumentError(absl::StrCat(
        "not an ONNX model: truncated or malformed at byte ", field_start_, " of ", bytes_.size()));
  }

  bool Varint(uint64_t* value) {
    *value = 0;
    const size_t end = open_.back().end;
    for (int shift = 0; shift < 70; shift += 7) {
      if (pos_ == end) return false;
      const auto byte = static_cast<uint8_t>(bytes_[pos_++]);
      if (shift < 64) *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  bool Skip(uint64_t n) {
    if (n > open_.back().end - pos_) return false;
    pos_ += n;
    return true;
  }

  bool Field() {
    field_start_ = pos_;
    uint64_t tag, value;
    if (!Varint(&tag) || tag >> 3 == 0) return false;
    switch (tag & 7) {
      case 0:
        return Varint(&value);
      case 1:
        return Skip(8);
      case 2: {
        if (!Varint(&value) || value > open_.back().end - pos_) return false;
        const Kind kind = Child(open_.back().kind, tag >> 3);
        if (kind == Kind::kOther) return Skip(value);
        if (kind == Kind::kGraph) ++graphs_;
        open_.push_back({kind, pos_ + value});
        return true;
      }
      case 5:
        return Skip(4);
      default:
        return false;
    }
  }

  absl::string_view bytes_;
  int max_nesting_;
  size_t pos_ = 0;
  size_t field_start_ = 0;
  int graphs_ = 0;
  std::vector<Open> open_;
};

}  // namespace

absl::Status ExplainParseFailure(absl::string_view bytes, int max_nesting) {
  return Scanner(bytes, max_nesting).Run();
}

}  // namespace weft::onnx_import
