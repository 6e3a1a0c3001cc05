// The checks, in this order: the header; FlatBuffers' verifier (positions, lengths, alignment of
// fields); then what the verifier leaves out: alignment of vectors, indices, order and overlap of
// ranges, sizes by checked arithmetic, names of dtypes, unique ids.
#include "serialize/flat/weftb_check.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/align.h"
#include "base/printable.h"
#include "base/status_macros.h"
#include "flatbuffers/flatbuffers.h"
#include "graph/tensor/tensor.h"
#include "graph/tensor/type.h"
#include "serialize/flat/weftb_format.h"
#include "serialize/flat/weftb_generated.h"

namespace weft {
namespace {

constexpr size_t kMaxDTypeName = 16;

template <typename... Parts>
absl::Status Bad(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

absl::string_view View(const flatbuffers::String* s) {
  return s == nullptr ? absl::string_view() : absl::string_view(s->c_str(), s->size());
}

template <typename T>
size_t SizeOf(const flatbuffers::Vector<T>* v) {
  return v == nullptr ? 0 : v->size();
}

// The bytes of the description.
absl::StatusOr<absl::string_view> CheckHeader(absl::string_view bytes, uint16_t* minor) {
  if (bytes.size() < kWeftbHeaderBytes) {
    return Bad(bytes.size(), " bytes are too few for the header of a .weftb file");
  }
  if (bytes.substr(4, 4) != kWeftbIdentifier) {
    return Bad("bytes 4 to 7 are not \"", kWeftbIdentifier, "\": this is not a .weftb file");
  }
  const WeftbHeader header = ReadWeftbHeader(bytes);
  // First of all, because another major version may have another header.
  if (header.major != kWeftbMajor) {
    return absl::UnimplementedError(
        absl::StrCat("the file has version ", header.major, ".", header.minor,
                     " of the .weftb format; this program reads version ", kWeftbMajor));
  }
  if (header.file_bytes != bytes.size()) {
    return Bad("the file was written with ", header.file_bytes, " bytes and has ", bytes.size());
  }
  if (header.header_bytes < kWeftbHeaderBytes || header.header_bytes % 8 != 0 ||
      header.header_bytes > header.meta_bytes || header.meta_bytes > bytes.size()) {
    return Bad("a header of ", header.header_bytes, " bytes and a description of ",
               header.meta_bytes, " do not fit into a file of ", bytes.size());
  }
  if (header.meta_bytes > kMaxWeftbMeta) {
    return Bad("the description has ", header.meta_bytes, " bytes; the limit is ", kMaxWeftbMeta);
  }
  const absl::string_view meta = bytes.substr(0, header.meta_bytes);
  if (HashWeftbMeta(meta) != header.meta_hash) {
    return Bad("the description does not have the hash that the header gives");
  }
  *minor = header.minor;
  return meta;
}

absl::StatusOr<const flat::File*> CheckFlatBuffer(absl::string_view meta) {
  flatbuffers::Verifier::Options options;
  options.max_depth = 8;
  // Each visit of a table takes an entry of a vector, which has 4 bytes.
  options.max_tables = static_cast<flatbuffers::uoffset_t>(meta.size() / 4 + 1);
  const auto* data = reinterpret_cast<const uint8_t*>(meta.data());
  flatbuffers::Verifier verifier(data, meta.size(), options);
  if (!verifier.VerifyBuffer<flat::File>(kWeftbIdentifier)) {
    return Bad("the description is not a valid FlatBuffer");
  }
  return flat::GetFile(data);
}

class Checker {
 public:
  Checker(const flat::File& file, int64_t meta_bytes, int64_t file_bytes)
      : file_(file), meta_bytes_(meta_bytes), file_bytes_(file_bytes) {}

  absl::StatusOr<WeftbContents> Run() {
    if (SizeOf(file_.constants()) > kMaxWeftbConstants) {
      return Bad(SizeOf(file_.constants()), " constants; the limit is ", kMaxWeftbConstants);
    }
    for (const size_t count :
         {SizeOf(file_.plans()), SizeOf(file_.targets()), SizeOf(file_.codes())}) {
      if (count > kMaxWeftbPlans) {
        return Bad(count, " plans, targets or codes; the limit is ", kMaxWeftbPlans);
      }
    }
    // The graph, plans, codes and constants.
    if (SizeOf(file_.segments()) > 2 * kMaxWeftbPlans + kMaxWeftbConstants) {
      return Bad(SizeOf(file_.segments()), " segments are too many");
    }
    out_.producer = View(file_.producer());
    out_.pipeline = View(file_.pipeline());
    out_.source_hash = file_.source_hash();
    WEFT_RETURN_IF_ERROR(CheckSegments());
    WEFT_RETURN_IF_ERROR(CheckConstants());
    WEFT_RETURN_IF_ERROR(CheckTargets());
    WEFT_RETURN_IF_ERROR(CheckPlans());
    WEFT_RETURN_IF_ERROR(CheckPacked());
    WEFT_RETURN_IF_ERROR(CheckCodes());
    WEFT_RETURN_IF_ERROR(CheckStates());
    WEFT_RETURN_IF_ERROR(ReadChecks());
    const int graph = file_.graph();
    if (graph < -1) return Bad("the graph is in segment ", graph);
    if (graph >= 0) WEFT_RETURN_IF_ERROR(CheckText(graph, "the graph"));
    out_.graph = graph;
    return std::move(out_);
  }

 private:
  absl::Status CheckSegments() {
    int64_t end = meta_bytes_;
    for (size_t i = 0; i < SizeOf(file_.segments()); ++i) {
      const flat::Segment& s = *file_.segments()->Get(i);
      const auto size = static_cast<uint64_t>(file_bytes_);
      if (s.offset() > size || s.bytes() > size - s.offset()) {
        return Bad("segment ", i, ": ", s.bytes(), " bytes at ", s.offset(),
                   " lie outside of the file, which has ", file_bytes_);
      }
      const auto offset = static_cast<int64_t>(s.offset());
      if (offset % kWeftbAlignment != 0) {
        return Bad("segment ", i, " begins at ", offset, ", which is not a multiple of ",
                   kWeftbAlignment);
      }
      if (offset < end) {
        return Bad("segment ", i, " begins at ", offset, ", before the end of what precedes it, ",
                   end);
      }
      end = offset + static_cast<int64_t>(s.bytes());
      out_.segments.push_back({offset, static_cast<int64_t>(s.bytes()), s.hash()});
    }
    holds_constants_.resize(out_.segments.size(), false);
    return absl::OkStatus();
  }

  absl::Status CheckConstants() {
    for (size_t i = 0; i < SizeOf(file_.constants()); ++i) {
      const flat::Constant& c = *file_.constants()->Get(i);
      absl::Status status = CheckConstant(c);
      if (status.ok()) continue;
      return Bad("constant ", i, " of content 0x", absl::Hex(c.id(), absl::kZeroPad16), ": ",
                 status.message());
    }
    return absl::OkStatus();
  }

  absl::Status CheckConstant(const flat::Constant& c) {
    WeftbContents::Constant constant;
    constant.id = c.id();
    if (!ids_.insert(c.id()).second) return Bad("the id is there already");
    const absl::string_view name = View(c.dtype());
    const std::optional<DType> dtype =
        name.size() <= kMaxDTypeName ? ParseDType(name) : std::optional<DType>();
    if (!dtype) return Bad("unknown dtype \"", PrintableName(name.substr(0, kMaxDTypeName)), "\"");
    constant.dtype = *dtype;
    const flatbuffers::Vector<int64_t>& dims = *c.dims();
    if (dims.size() > Type::kMaxRank) return Bad("more than ", Type::kMaxRank, " dims");
    // Builders do not align what has no elements.
    if (dims.size() > 0 && reinterpret_cast<uintptr_t>(dims.Data()) % alignof(int64_t) != 0) {
      return Bad("the dims are not aligned");
    }
    constant.dims = absl::MakeConstSpan(reinterpret_cast<const int64_t*>(dims.Data()), dims.size());
    const std::optional<int64_t> numel = CheckedNumel(constant.dims);
    if (!numel || *numel > std::numeric_limits<int64_t>::max() / 16) {
      return Bad("a negative dim, or too many elements to count");
    }
    if (c.bytes() != static_cast<uint64_t>(DTypeBytes(*dtype, *numel))) {
      return Bad(c.bytes(), " bytes; its dtype and dims have ", DTypeBytes(*dtype, *numel));
    }
    constant.bytes = static_cast<int64_t>(c.bytes());
    WEFT_RETURN_IF_ERROR(CheckPlace(c, &constant));
    out_.constants.push_back(constant);
    return absl::OkStatus();
  }

  absl::Status CheckPlace(const flat::Constant& c, WeftbContents::Constant* constant) {
    if (c.segment() >= out_.segments.size()) return Bad("there is no segment ", c.segment());
    const WeftbContents::Segment& segment = out_.segments[c.segment()];
    const auto size = static_cast<uint64_t>(segment.bytes);
    if (c.offset() > size || c.bytes() > size - c.offset()) {
      return Bad(c.bytes(), " bytes at ", c.offset(), " lie outside of segment ", c.segment(),
                 ", which has ", size);
    }
    if (c.offset() % kWeftbAlignment != 0) {
      return Bad("it begins at ", c.offset(), ", which is not a multiple of ", kWeftbAlignment);
    }
    constant->offset = segment.offset + static_cast<int64_t>(c.offset());
    if (constant->offset < constants_end_) {
      return Bad("it overlaps the constant before it, or precedes it in the file");
    }
    constants_end_ = constant->offset + constant->bytes;
    holds_constants_[c.segment()] = true;
    return absl::OkStatus();
  }

  absl::Status CheckTargets() {
    for (size_t i = 0; i < SizeOf(file_.targets()); ++i) {
      const flat::Target& target = *file_.targets()->Get(i);
      out_.targets.push_back(
          {View(target.name()), View(target.text()), View(target.instruction_set())});
    }
    return absl::OkStatus();
  }

  absl::Status CheckPlans() {
    absl::flat_hash_set<std::pair<absl::string_view, uint32_t>> seen;
    for (size_t i = 0; i < SizeOf(file_.plans()); ++i) {
      const flat::Plan& plan = *file_.plans()->Get(i);
      const absl::string_view function = View(plan.function());
      if (function.size() > kMaxWeftbName) {
        return Bad("plan ", i, ": the name of the function has more than ", kMaxWeftbName,
                   " bytes");
      }
      if (plan.target() >= out_.targets.size()) {
        return Bad("plan ", i, ": there is no target ", plan.target());
      }
      if (!seen.emplace(function, plan.target()).second) {
        return Bad("plan ", i, ": @", PrintableName(function), " has a plan for this target");
      }
      WEFT_RETURN_IF_ERROR(CheckText(plan.segment(), absl::StrCat("plan ", i)));
      out_.plans.push_back(
          {function, static_cast<int>(plan.target()), static_cast<int>(plan.segment())});
    }
    return absl::OkStatus();
  }

  absl::Status CheckPacked() {
    if (SizeOf(file_.packed()) > kMaxWeftbConstants) {
      return Bad(SizeOf(file_.packed()), " packed constants; the limit is ", kMaxWeftbConstants);
    }
    absl::flat_hash_set<std::pair<uint64_t, absl::string_view>> seen;
    for (size_t i = 0; i < SizeOf(file_.packed()); ++i) {
      const flat::Packed& packed = *file_.packed()->Get(i);
      const absl::string_view layout = View(packed.layout());
      if (layout.size() > kMaxWeftbName) {
        return Bad("packed constant ", i, ": the name of the layout has more than ", kMaxWeftbName,
                   " bytes");
      }
      for (const uint64_t id : {packed.weight(), packed.packed()}) {
        if (ids_.contains(id)) continue;
        return Bad("packed constant ", i, ": there is no constant of content 0x",
                   absl::Hex(id, absl::kZeroPad16));
      }
      if (!seen.emplace(packed.weight(), layout).second) {
        return Bad("packed constant ", i, ": there is one of layout \"", PrintableName(layout),
                   "\" already");
      }
      out_.packed.push_back(
          {packed.weight(), packed.packed(), layout, View(packed.instruction_set())});
    }
    return absl::OkStatus();
  }

  absl::Status CheckCodes() {
    absl::flat_hash_set<std::pair<uint32_t, absl::string_view>> seen;
    for (size_t i = 0; i < SizeOf(file_.codes()); ++i) {
      const flat::Code& code = *file_.codes()->Get(i);
      const absl::string_view format = View(code.format());
      if (format.size() > kMaxWeftbName) {
        return Bad("machine code ", i, ": the name of the format has more than ", kMaxWeftbName,
                   " bytes");
      }
      if (code.plan() >= out_.plans.size()) {
        return Bad("machine code ", i, ": there is no plan ", code.plan());
      }
      if (!seen.emplace(code.plan(), format).second) {
        return Bad("machine code ", i, ": there is one of format \"", PrintableName(format),
                   "\" already");
      }
      WEFT_RETURN_IF_ERROR(CheckText(code.segment(), absl::StrCat("machine code ", i)));
      out_.codes.push_back(
          {static_cast<int>(code.plan()), static_cast<int>(code.segment()), format});
    }
    return absl::OkStatus();
  }

  absl::Status CheckStates() {
    if (SizeOf(file_.states()) > kMaxWeftbConstants) {
      return Bad(SizeOf(file_.states()), " values of inputs; the limit is ", kMaxWeftbConstants);
    }
    absl::flat_hash_set<std::pair<uint32_t, uint32_t>> seen;
    for (size_t i = 0; i < SizeOf(file_.states()); ++i) {
      const flat::State& state = *file_.states()->Get(i);
      if (state.plan() >= out_.plans.size()) {
        return Bad("state ", i, ": there is no plan ", state.plan());
      }
      // Those who read the plan know how many inputs it has.
      if (state.input() > kMaxWeftbConstants) {
        return Bad("state ", i, ": there is no input ", state.input());
      }
      if (!ids_.contains(state.constant())) {
        return Bad("state ", i, ": there is no constant of content 0x",
                   absl::Hex(state.constant(), absl::kZeroPad16));
      }
      if (!seen.emplace(state.plan(), state.input()).second) {
        return Bad("state ", i, ": input ", state.input(), " has a value already");
      }
      out_.states.push_back(
          {static_cast<int>(state.plan()), static_cast<int>(state.input()), state.constant()});
    }
    return absl::OkStatus();
  }

  // They are for people; nothing depends on them.
  absl::Status ReadChecks() {
    if (SizeOf(file_.checks()) > kMaxWeftbPlans) {
      return Bad(SizeOf(file_.checks()), " checks; the limit is ", kMaxWeftbPlans);
    }
    size_t runs = 0;
    for (size_t i = 0; i < SizeOf(file_.checks()); ++i) {
      const flat::Check& check = *file_.checks()->Get(i);
      // Several checks may share a vector.
      runs += SizeOf(check.runs());
      if (runs > kMaxWeftbConstants) {
        return Bad("the checks have more than ", kMaxWeftbConstants, " runs");
      }
      out_.checks.push_back({View(check.product()),
                             View(check.instruction_set()),
                             {},
                             check.seed(),
                             check.rtol(),
                             check.atol(),
                             check.largest_error()});
      for (size_t run = 0; run < SizeOf(check.runs()); ++run) {
        out_.checks.back().runs.push_back(View(check.runs()->Get(run)));
      }
    }
    return absl::OkStatus();
  }

  // A segment with a hash.
  absl::Status CheckText(int64_t segment, absl::string_view what) const {
    if (segment >= static_cast<int64_t>(out_.segments.size())) {
      return Bad(what, ": there is no segment ", segment);
    }
    if (!holds_constants_[segment]) return absl::OkStatus();
    return Bad(what, ": segment ", segment, " holds constants");
  }

  const flat::File& file_;
  const int64_t meta_bytes_;
  const int64_t file_bytes_;
  WeftbContents out_;
  std::vector<bool> holds_constants_;  // By segment.
  absl::flat_hash_set<uint64_t> ids_;
  int64_t constants_end_ = 0;
};

}  // namespace

absl::StatusOr<WeftbContents> CheckWeftb(absl::string_view bytes) {
  uint16_t minor = 0;
  WEFT_ASSIGN_OR_RETURN(const absl::string_view meta, CheckHeader(bytes, &minor));
  WEFT_ASSIGN_OR_RETURN(const flat::File* file, CheckFlatBuffer(meta));
  Checker checker(*file, static_cast<int64_t>(meta.size()), static_cast<int64_t>(bytes.size()));
  WEFT_ASSIGN_OR_RETURN(WeftbContents contents, checker.Run());
  contents.minor = minor;
  return contents;
}

}  // namespace weft
