#include "serialize/flat/weftb_builder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/align.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/output_file.h"
#include "base/printable.h"
#include "base/status_macros.h"
#include "flatbuffers/flatbuffers.h"
#include "serialize/flat/weftb_file.h"
#include "serialize/flat/weftb_format.h"
#include "serialize/flat/weftb_generated.h"

namespace weft {
namespace {

// Bytes that the header takes behind the root's position and the identifier.
constexpr size_t kInserted = kWeftbHeaderBytes - 8;

absl::string_view BytesOf(const HostTensor& dense) {
  return {reinterpret_cast<const char*>(dense.raw()), static_cast<size_t>(dense.bytes())};
}

// All positions but the root's are relative, so the header fits in behind the root's.
std::string WithHeader(absl::string_view flat_buffer, int64_t file_bytes) {
  std::string meta(flat_buffer);
  meta.insert(8, kInserted, '\0');
  uint32_t root;
  std::memcpy(&root, meta.data(), sizeof(root));
  root += kInserted;
  std::memcpy(meta.data(), &root, sizeof(root));
  WeftbHeader header;
  header.header_bytes = kWeftbHeaderBytes;
  header.major = kWeftbMajor;
  header.minor = kWeftbMinor;
  header.meta_bytes = meta.size();
  header.file_bytes = static_cast<uint64_t>(file_bytes);
  WriteWeftbHeader(header, meta.data());
  header.meta_hash = HashWeftbMeta(meta);
  WriteWeftbHeader(header, meta.data());
  return meta;
}

}  // namespace

// Where the parts of the file are.
struct WeftbBuilder::Layout {
  struct Segment {
    int64_t offset = 0;
    int64_t bytes = 0;
    uint64_t hash = 0;
  };
  std::vector<Segment> segments;         // Those of texts and codes, then that of the constants.
  std::vector<int64_t> constant_starts;  // Positions in their segment.
  int64_t file_bytes = 0;
};

absl::StatusOr<WeftbBuilder> WeftbBuilder::WithoutCode(const WeftbFile& file) {
  WEFT_RETURN_IF_ERROR(file.CheckAll());
  const WeftbContents& contents = file.contents();
  WeftbBuilder builder;
  builder.producer = std::string(contents.producer);
  builder.pipeline = std::string(contents.pipeline);
  builder.source_hash = contents.source_hash;
  if (contents.graph >= 0) {
    WEFT_ASSIGN_OR_RETURN(const absl::string_view text, file.Text(contents.graph));
    builder.SetGraph(std::string(text));
  }
  for (const WeftbContents::Constant& constant : contents.constants) {
    WEFT_ASSIGN_OR_RETURN(const HostTensor tensor, file.Constant(constant.id));
    WEFT_RETURN_IF_ERROR(builder.AddConstant(constant.id, tensor));
  }
  for (const WeftbContents::Target& t : contents.targets) {
    builder.targets_.push_back(
        {std::string(t.name), std::string(t.text), std::string(t.instruction_set)});
  }
  for (const WeftbContents::Plan& plan : contents.plans) {
    WEFT_ASSIGN_OR_RETURN(const absl::string_view text, file.Text(plan.segment));
    WEFT_RETURN_IF_ERROR(builder.AddPlan(plan.function, plan.target, std::string(text)));
  }
  for (const WeftbContents::Packed& p : contents.packed) {
    builder.packed_.push_back(
        {p.weight, p.packed, std::string(p.layout), std::string(p.instruction_set)});
  }
  for (const WeftbContents::State& s : contents.states) {
    builder.states_.push_back({s.plan, s.input, s.constant});
  }
  return builder;
}

absl::Status WeftbBuilder::AddConstant(uint64_t id, const HostTensor& tensor) {
  const auto [it, inserted] = by_id_.emplace(id, constants_.size());
  if (inserted) {
    constants_.push_back({id, tensor.Contiguous()});
    return absl::OkStatus();
  }
  if (constants_[it->second].tensor.BitEqual(tensor)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("two constants have the content id 0x", absl::Hex(id, absl::kZeroPad16)));
}

absl::Status WeftbBuilder::AddPacked(uint64_t weight, absl::string_view layout,
                                     const HostTensor& packed, int target) {
  const std::string& set = targets_[target].instruction_set;
  for (Packed& other : packed_) {
    if (other.weight != weight || other.layout != layout) continue;
    if (other.instruction_set != set) other.instruction_set.clear();
    return absl::OkStatus();
  }
  packed_.push_back({weight, packed.Fingerprint(), std::string(layout), set});
  return AddConstant(packed_.back().packed, packed);
}

int WeftbBuilder::AddTarget(absl::string_view name, absl::string_view text,
                            absl::string_view instruction_set) {
  for (size_t i = 0; i < targets_.size(); ++i) {
    const Target& target = targets_[i];
    if (target.name == name && target.text == text && target.instruction_set == instruction_set) {
      return static_cast<int>(i);
    }
  }
  targets_.push_back({std::string(name), std::string(text), std::string(instruction_set)});
  return static_cast<int>(targets_.size()) - 1;
}

absl::Status WeftbBuilder::AddPlan(absl::string_view function, int target, std::string text) {
  WEFT_CHECK(target >= 0 && target < static_cast<int>(targets_.size())) << target;
  for (const Plan& plan : plans_) {
    if (plan.function != function || plan.target != target) continue;
    return absl::AlreadyExistsError(
        absl::StrCat("@", PrintableName(function), " has two plans for one target"));
  }
  plans_.push_back({std::string(function), target, std::move(text)});
  return absl::OkStatus();
}

int WeftbBuilder::IndexOf(absl::string_view function, int target) const {
  const auto plan = std::find_if(plans_.begin(), plans_.end(), [&](const Plan& p) {
    return p.function == function && p.target == target;
  });
  WEFT_CHECK(plan != plans_.end()) << "the plan is added first";
  return static_cast<int>(plan - plans_.begin());
}

absl::Status WeftbBuilder::AddState(absl::string_view function, int target, int input,
                                    const HostTensor& value) {
  const int plan = IndexOf(function, target);
  for (const State& other : states_) {
    if (other.plan != plan || other.input != input) continue;
    return absl::AlreadyExistsError(
        absl::StrCat("input ", input, " of @", PrintableName(function), " has a value already"));
  }
  states_.push_back({plan, input, value.Fingerprint()});
  return AddConstant(states_.back().constant, value);
}

absl::Status WeftbBuilder::AddCode(absl::string_view function, int target, absl::string_view format,
                                   std::string code) {
  const int index = IndexOf(function, target);
  for (const Code& other : codes_) {
    if (other.plan != index || other.format != format) continue;
    return absl::AlreadyExistsError(
        absl::StrCat("the plan of @", PrintableName(function), " has machine code already"));
  }
  codes_.push_back({index, std::string(format), std::move(code)});
  return absl::OkStatus();
}

std::vector<absl::string_view> WeftbBuilder::Texts() const {
  std::vector<absl::string_view> texts;
  if (graph_) texts.push_back(*graph_);
  for (const Plan& plan : plans_) texts.push_back(plan.text);
  for (const Code& code : codes_) texts.push_back(code.bytes);
  return texts;
}

WeftbBuilder::Layout WeftbBuilder::MakeLayout(int64_t meta_bytes) const {
  Layout layout;
  int64_t end = meta_bytes;
  for (const absl::string_view text : Texts()) {
    const auto bytes = static_cast<int64_t>(text.size());
    const int64_t offset = AlignUp(end, kWeftbAlignment);
    layout.segments.push_back({offset, bytes, Fnv1a(text)});
    end = offset + bytes;
  }
  if (!constants_.empty()) {
    const int64_t offset = AlignUp(end, kWeftbPage);
    int64_t bytes = 0;
    for (const Constant& constant : constants_) {
      layout.constant_starts.push_back(AlignUp(bytes, kWeftbAlignment));
      bytes = layout.constant_starts.back() + constant.tensor.bytes();
    }
    layout.segments.push_back({offset, bytes, 0});
    end = offset + bytes;
  }
  layout.file_bytes = end;
  return layout;
}

absl::Status WeftbBuilder::CheckLimits() const {
  if (constants_.size() > kMaxWeftbConstants) {
    return absl::ResourceExhaustedError(absl::StrCat(
        constants_.size(), " constants; a .weftb file has at most ", kMaxWeftbConstants));
  }
  if (plans_.size() > kMaxWeftbPlans || targets_.size() > kMaxWeftbPlans) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a .weftb file has at most ", kMaxWeftbPlans, " plans and targets"));
  }
  size_t bytes = producer.size() + pipeline.size();
  for (const Target& target : targets_) {
    bytes += target.name.size() + target.text.size() + target.instruction_set.size();
  }
  for (const Plan& plan : plans_) {
    if (plan.function.size() > kMaxWeftbName) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the name of a function has more than ", kMaxWeftbName, " bytes"));
    }
    bytes += plan.function.size();
  }
  for (const Packed& packed : packed_) {
    bytes += packed.layout.size() + packed.instruction_set.size();
  }
  for (const Code& code : codes_) bytes += code.format.size();
  for (const Check& check : checks) {
    bytes += check.product.size() + check.instruction_set.size();
    for (const std::string& run : check.runs) bytes += run.size();
  }
  if (bytes <= kMaxWeftbStrings) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("targets and pipeline pass ", kMaxWeftbStrings, " bytes"));
}

std::string WeftbBuilder::MakeMeta(const Layout& layout) const {
  flatbuffers::FlatBufferBuilder fbb;
  // Defaults are written, so that the size does not depend on the offsets.
  fbb.ForceDefaults(true);
  std::vector<flatbuffers::Offset<flat::Segment>> segments;
  for (const Layout::Segment& s : layout.segments) {
    segments.push_back(flat::CreateSegment(fbb, s.offset, s.bytes, s.hash));
  }
  std::vector<flatbuffers::Offset<flat::Constant>> constants;
  const auto last = static_cast<uint32_t>(layout.segments.size() - 1);
  for (size_t i = 0; i < constants_.size(); ++i) {
    const HostTensor& tensor = constants_[i].tensor;
    const absl::string_view name = DTypeName(tensor.dtype());
    const auto dtype = fbb.CreateSharedString(name.data(), name.size());
    const auto dims = fbb.CreateVector(tensor.dims().data(), tensor.dims().size());
    constants.push_back(flat::CreateConstant(fbb, constants_[i].id, dtype, dims, last,
                                             layout.constant_starts[i], tensor.bytes()));
  }
  std::vector<flatbuffers::Offset<flat::Target>> targets;
  for (const Target& t : targets_) {
    const auto name = fbb.CreateString(t.name);
    const auto text = fbb.CreateString(t.text);
    targets.push_back(flat::CreateTarget(fbb, name, text, fbb.CreateString(t.instruction_set)));
  }
  std::vector<flatbuffers::Offset<flat::Plan>> plans;
  for (size_t i = 0; i < plans_.size(); ++i) {
    const auto function = fbb.CreateString(plans_[i].function);
    const size_t segment = i + (graph_ ? 1 : 0);
    plans.push_back(flat::CreatePlan(fbb, function, plans_[i].target, segment));
  }
  std::vector<flatbuffers::Offset<flat::Packed>> packed;
  for (const Packed& p : packed_) {
    const auto layout = fbb.CreateString(p.layout);
    packed.push_back(
        flat::CreatePacked(fbb, p.weight, layout, p.packed, fbb.CreateString(p.instruction_set)));
  }
  std::vector<flatbuffers::Offset<flat::Code>> codes;
  for (size_t i = 0; i < codes_.size(); ++i) {
    const size_t segment = i + plans_.size() + (graph_ ? 1 : 0);
    const auto format = fbb.CreateString(codes_[i].format);
    codes.push_back(flat::CreateCode(fbb, codes_[i].plan, format, segment));
  }
  std::vector<flatbuffers::Offset<flat::State>> states;
  for (const State& s : states_) {
    states.push_back(flat::CreateState(fbb, s.plan, s.input, s.constant));
  }
  std::vector<flatbuffers::Offset<flat::Check>> compared;
  for (const Check& c : checks) {
    const auto product = fbb.CreateString(c.product);
    const auto set = fbb.CreateString(c.instruction_set);
    compared.push_back(flat::CreateCheck(fbb, product, set, fbb.CreateVectorOfStrings(c.runs),
                                         c.seed, c.rtol, c.atol, c.largest_error));
  }
  const auto producer_at = fbb.CreateString(producer);
  const auto pipeline_at = fbb.CreateString(pipeline);
  const auto segments_at = fbb.CreateVector(segments);
  const auto constants_at = fbb.CreateVector(constants);
  const auto targets_at = fbb.CreateVector(targets);
  const auto plans_at = fbb.CreateVector(plans);
  const auto packed_at = fbb.CreateVector(packed);
  const auto codes_at = fbb.CreateVector(codes);
  const auto states_at = fbb.CreateVector(states);
  const auto checks_at = fbb.CreateVector(compared);
  flat::FinishFileBuffer(
      fbb, flat::CreateFile(fbb, producer_at, pipeline_at, source_hash, segments_at, constants_at,
                            graph_ ? 0 : -1, targets_at, plans_at, packed_at, codes_at, states_at,
                            checks_at));
  return WithHeader({reinterpret_cast<const char*>(fbb.GetBufferPointer()), fbb.GetSize()},
                    layout.file_bytes);
}

absl::Status WeftbBuilder::Emit(
    absl::FunctionRef<absl::Status(int64_t offset, absl::string_view bytes)> put) const {
  // The layout depends on the size of the description, which does not depend on the layout.
  WEFT_RETURN_IF_ERROR(CheckLimits());
  const size_t meta_bytes = MakeMeta(MakeLayout(0)).size();
  const Layout layout = MakeLayout(static_cast<int64_t>(meta_bytes));
  const std::string meta = MakeMeta(layout);
  WEFT_CHECK(meta.size() == meta_bytes) << meta.size() << " " << meta_bytes;
  WEFT_RETURN_IF_ERROR(put(0, meta));
  size_t segment = 0;
  for (const absl::string_view text : Texts()) {
    WEFT_RETURN_IF_ERROR(put(layout.segments[segment++].offset, text));
  }
  for (size_t i = 0; i < constants_.size(); ++i) {
    const HostTensor& tensor = constants_[i].tensor;
    const int64_t offset = layout.segments.back().offset + layout.constant_starts[i];
    absl::string_view bytes = BytesOf(tensor);
    if (DTypeBits(tensor.dtype()) != 4 || tensor.numel() % 2 == 0) {
      WEFT_RETURN_IF_ERROR(put(offset, bytes));
      continue;
    }
    // The bits behind the last element are not part of the content.
    const char last = static_cast<char>(bytes.back() & 0x0f);
    bytes.remove_suffix(1);
    WEFT_RETURN_IF_ERROR(put(offset, bytes));
    const auto end = offset + static_cast<int64_t>(bytes.size());
    WEFT_RETURN_IF_ERROR(put(end, absl::string_view(&last, 1)));
  }
  // A last constant without bytes may lie behind all others.
  return put(layout.file_bytes, "");
}

absl::Status WeftbBuilder::Write(const std::string& path) const {
  WEFT_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Open(path));
  WEFT_RETURN_IF_ERROR(Emit([&](int64_t offset, absl::string_view bytes) {
    WEFT_RETURN_IF_ERROR(file.PadTo(offset));
    return file.Write(bytes);
  }));
  return file.Commit();
}

absl::StatusOr<std::string> WeftbBuilder::Bytes() const {
  std::string all;
  WEFT_RETURN_IF_ERROR(Emit([&](int64_t offset, absl::string_view bytes) {
    all.resize(static_cast<size_t>(offset), '\0');
    all.append(bytes.data(), bytes.size());
    return absl::OkStatus();
  }));
  return all;
}

}  // namespace weft
