// Bytes that are not a valid .weftb file: a message for each fault, and no crash.
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/hash.h"
#include "flatbuffers/flatbuffers.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/ops/registry.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text_content.h"
#include "gtest/gtest.h"
#include "lowering/plan.h"
#include "serialize/flat/weftb_builder.h"
#include "serialize/flat/weftb_file.h"
#include "serialize/flat/weftb_format.h"
#include "serialize/flat/weftb_module.h"
#include "serialize/flat/weftb_plan.h"
#include "tests/serialize/flat/weftb_objects_generated.h"
#include "tests/support/parse.h"

namespace weft {
namespace {

using flat_objects::ConstantT;
using flat_objects::FileT;
using flat_objects::PlanT;
using flat_objects::SegmentT;
using flat_objects::TargetT;
using testing::HasSubstr;

// Where the segments of the sample are: behind any description that a test makes.
constexpr int64_t kGraphAt = 8192;
constexpr int64_t kPlanAt = 12288;
constexpr int64_t kConstantsAt = 16384;
constexpr int64_t kFileBytes = kConstantsAt + 192;

constexpr char kModel[] = R"(
func @main(%x: f32[20]) -> (f32[20]) {
  %0 = constant(@c0) : f32[20]
  %1 = mul(%x, %0) : f32[20]
  return %1
}
constants {
  @c0 "scale" : f32[20] = dense<3.0>
}
)";

// A graph, a text in place of a plan, and two constants: a weight of 80 bytes and 3 bools.
struct Sample {
  Sample() {
    const auto module = Parse(kModel);
    const ContentText printed = PrintModuleByContent(*module);
    graph = printed.text;
    weight = HostTensor(DType::kF32, {20});
    weight.WriteDoubles(std::vector<double>(20, 3.0));
    bools = HostTensor::FromInts(DType::kBool, {3}, {1, 0, 1});
    AddSegment(kGraphAt, graph.size(), Fnv1a(graph));
    AddSegment(kPlanAt, plan.size(), Fnv1a(plan));
    AddSegment(kConstantsAt, 64 * 2 + 3, 0);
    AddConstant(weight, "f32", 0);
    AddConstant(bools, "bool", 128);
    file.graph = 0;
    auto target = std::make_unique<TargetT>();
    target->name = "cpu";
    file.targets.push_back(std::move(target));
    auto entry = std::make_unique<PlanT>();
    entry->function = "main";
    entry->segment = 1;
    file.plans.push_back(std::move(entry));
  }

  void AddSegment(uint64_t offset, uint64_t bytes, uint64_t hash) {
    auto segment = std::make_unique<SegmentT>();
    segment->offset = offset;
    segment->bytes = bytes;
    segment->hash = hash;
    file.segments.push_back(std::move(segment));
  }

  void AddConstant(const HostTensor& tensor, const std::string& dtype, uint64_t offset) {
    auto constant = std::make_unique<ConstantT>();
    constant->id = tensor.Fingerprint();
    constant->dtype = dtype;
    constant->dims.assign(tensor.dims().begin(), tensor.dims().end());
    constant->segment = 2;
    constant->offset = offset;
    constant->bytes = tensor.bytes();
    file.constants.push_back(std::move(constant));
  }

  // The whole file, with the right hash of its description.
  std::string Bytes() const {
    flatbuffers::FlatBufferBuilder fbb;
    flat_objects::FinishFileBuffer(fbb, flat_objects::File::Pack(fbb, &file));
    std::string all(reinterpret_cast<const char*>(fbb.GetBufferPointer()), fbb.GetSize());
    all.insert(8, kWeftbHeaderBytes - 8, '\0');
    all[0] = static_cast<char>(all[0] + kWeftbHeaderBytes - 8);
    WeftbHeader header;
    header.header_bytes = kWeftbHeaderBytes;
    header.major = kWeftbMajor;
    header.meta_bytes = all.size();
    header.file_bytes = kFileBytes;
    EXPECT_LT(all.size(), static_cast<size_t>(kGraphAt));
    WriteWeftbHeader(header, all.data());
    header.meta_hash = HashWeftbMeta(all);
    WriteWeftbHeader(header, all.data());
    all.resize(kFileBytes);
    all.replace(kGraphAt, graph.size(), graph);
    all.replace(kPlanAt, plan.size(), plan);
    std::memcpy(all.data() + kConstantsAt, weight.raw(), weight.bytes());
    std::memcpy(all.data() + kConstantsAt + 128, bools.raw(), bools.bytes());
    return all;
  }

  FileT file;
  std::string graph;
  std::string plan = "not a plan";
  HostTensor weight, bools;
};

// Puts the right hash into the header.
std::string Rehashed(std::string bytes) {
  WeftbHeader header = ReadWeftbHeader(bytes);
  if (header.meta_bytes > bytes.size() || header.meta_bytes < kWeftbHeaderBytes) return bytes;
  header.meta_hash = HashWeftbMeta(absl::string_view(bytes).substr(0, header.meta_bytes));
  WriteWeftbHeader(header, bytes.data());
  return bytes;
}

// The first error of all that a reader does with the bytes; "" without one.
std::string ErrorOf(const std::string& bytes) {
  const auto file = WeftbFile::Parse(bytes, "m.weftb");
  if (!file.ok()) return std::string(file.status().message());
  const auto module = ReadModuleFromWeftb(**file, ops::Registry());
  if (!module.ok()) return std::string(module.status().message());
  return std::string((*file)->CheckAll().message());
}

// The error of the sample after an edit.
std::string Refusal(const std::function<void(Sample&)>& edit) {
  Sample sample;
  edit(sample);
  std::string error = ErrorOf(sample.Bytes());
  EXPECT_NE(error, "");
  EXPECT_TRUE(absl::StartsWith(error, "m.weftb")) << error;
  return error;
}

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

TEST(WeftbHostile, TheSampleIsValid) {
  EXPECT_EQ(ErrorOf(Sample().Bytes()), "");
  const auto file = WeftbFile::Parse(Sample().Bytes(), "m.weftb");
  ASSERT_TRUE(file.ok()) << file.status();
  // A plan is read on request.
  EXPECT_THAT(std::string(ReadPlanFromWeftb(**file, "main", "cpu").status().message()),
              HasSubstr("m.weftb, plan of @main:1:1: expected "));
}

TEST(WeftbHostile, Headers) {
  const std::string good = Sample().Bytes();
  EXPECT_EQ(ErrorOf(""), "m.weftb: 0 bytes are too few for the header of a .weftb file");
  EXPECT_EQ(ErrorOf(good.substr(0, 63)),
            "m.weftb: 63 bytes are too few for the header of a .weftb file");
  EXPECT_EQ(ErrorOf("PK" + good),
            "m.weftb: bytes 4 to 7 are not \"WFTB\": this is not a .weftb file");
  EXPECT_EQ(ErrorOf(good.substr(0, good.size() - 1)),
            "m.weftb: the file was written with 16576 bytes and has 16575");
  EXPECT_EQ(ErrorOf(good + "x"), "m.weftb: the file was written with 16576 bytes and has 16577");
  std::string flipped = good;
  flipped[100] = static_cast<char>(flipped[100] ^ 1);
  EXPECT_EQ(ErrorOf(flipped),
            "m.weftb: the description does not have the hash that the header gives");
  const auto with = [&](const std::function<void(WeftbHeader&)>& edit) {
    std::string bytes = good;
    WeftbHeader header = ReadWeftbHeader(bytes);
    edit(header);
    WriteWeftbHeader(header, bytes.data());
    return ErrorOf(Rehashed(bytes));
  };
  EXPECT_THAT(with([](WeftbHeader& h) { h.meta_bytes = kMax; }),
              HasSubstr("do not fit into a file"));
  EXPECT_THAT(with([](WeftbHeader& h) { h.meta_bytes = kFileBytes + 1; }),
              HasSubstr("do not fit into a file"));
  EXPECT_THAT(with([](WeftbHeader& h) { h.meta_bytes = 32; }), HasSubstr("do not fit into a file"));
  EXPECT_THAT(with([](WeftbHeader& h) { h.header_bytes = 56; }), HasSubstr("a header of 56 bytes"));
  EXPECT_THAT(with([](WeftbHeader& h) { h.header_bytes = 68; }), HasSubstr("a header of 68 bytes"));
  EXPECT_THAT(with([](WeftbHeader& h) { h.major = 0; }), HasSubstr("version 0.0"));
  // Cut in the middle of the tables.
  EXPECT_EQ(with([](WeftbHeader& h) { h.meta_bytes = 128; }),
            "m.weftb: the description is not a valid FlatBuffer");
}

TEST(WeftbHostile, Segments) {
  EXPECT_THAT(Refusal([](Sample& s) { s.file.segments[2]->bytes = 1000; }),
              HasSubstr("segment 2: 1000 bytes at 16384 lie outside of the file"));
  EXPECT_THAT(Refusal([](Sample& s) { s.file.segments[2]->offset = kFileBytes + 64; }),
              HasSubstr("lie outside of the file"));
  // Offset and length pass the end of 64 bits.
  EXPECT_THAT(Refusal([](Sample& s) { s.file.segments[2]->bytes = kMax - kConstantsAt + 2; }),
              HasSubstr("lie outside of the file"));
  EXPECT_THAT(Refusal([](Sample& s) { s.file.segments[2]->offset = kMax - 63; }),
              HasSubstr("lie outside of the file"));
  EXPECT_THAT(Refusal([](Sample& s) { s.file.segments[1]->offset += 8; }),
              HasSubstr("segment 1 begins at 12296, which is not a multiple of 64"));
  EXPECT_THAT(Refusal([](Sample& s) { s.file.segments[1]->offset = kGraphAt; }),
              HasSubstr("segment 1 begins at 8192, before the end of what precedes it"));
  EXPECT_THAT(Refusal([](Sample& s) { s.file.segments[0]->offset = 64; }),
              HasSubstr("segment 0 begins at 64, before the end of what precedes it"));
  EXPECT_THAT(Refusal([](Sample& s) { std::swap(s.file.segments[0], s.file.segments[1]); }),
              HasSubstr("before the end of what precedes it"));
}

TEST(WeftbHostile, Constants) {
  EXPECT_THAT(Refusal([](Sample& s) { s.file.constants[1]->segment = 3; }),
              HasSubstr("there is no segment 3"));
  EXPECT_THAT(Refusal([](Sample& s) { s.file.constants[1]->offset = 192; }),
              HasSubstr("3 bytes at 192 lie outside of segment 2, which has 131"));
  EXPECT_THAT(Refusal([](Sample& s) { s.file.constants[1]->offset = kMax - 1; }),
              HasSubstr("lie outside of segment 2"));
  EXPECT_THAT(Refusal([](Sample& s) { s.file.constants[1]->offset = 120; }),
              HasSubstr("it begins at 120, which is not a multiple of 64"));
  EXPECT_THAT(Refusal([](Sample& s) { s.file.constants[1]->offset = 64; }),
              HasSubstr("it overlaps the constant before it"));
  EXPECT_THAT(Refusal([](Sample& s) { std::swap(s.file.constants[0], s.file.constants[1]); }),
              HasSubstr("or precedes it in the file"));
  EXPECT_THAT(Refusal([](Sample& s) { s.file.constants[1]->id = s.file.constants[0]->id; }),
              HasSubstr("the id is there already"));
  EXPECT_THAT(Refusal([](Sample& s) { s.file.constants[0]->dtype = "f33"; }),
              HasSubstr("unknown dtype \"f33\""));
  EXPECT_THAT(Refusal([](Sample& s) { s.file.constants[0]->dtype = std::string(99, '\x1b'); }),
              HasSubstr("unknown dtype \"\\u001b"));
  EXPECT_THAT(Refusal([](Sample& s) { s.file.constants[0]->bytes = 79; }),
              HasSubstr("79 bytes; its dtype and dims have 80"));
  // A product that is 20 when it wraps.
  EXPECT_THAT(Refusal([](Sample& s) {
                s.file.constants[0]->dims = {int64_t{1} << 32, int64_t{1} << 32, 5};
              }),
              HasSubstr("a negative dim, or too many elements to count"));
  EXPECT_THAT(Refusal([](Sample& s) {
                s.file.constants[0]->dims = {-4, -5};
              }),
              HasSubstr("a negative dim"));
  EXPECT_THAT(Refusal([](Sample& s) { s.file.constants[0]->dims = {int64_t{1} << 62}; }),
              HasSubstr("too many elements to count"));
  EXPECT_THAT(Refusal([](Sample& s) { s.file.constants[0]->dims.assign(65, 1); }),
              HasSubstr("more than 64 dims"));
}

TEST(WeftbHostile, Contents) {
  const auto error = [](int64_t at, int flip) {
    std::string bytes = Sample().Bytes();
    bytes[at] = static_cast<char>(bytes[at] ^ flip);
    return ErrorOf(bytes);
  };
  EXPECT_THAT(error(kGraphAt, 1),
              HasSubstr("m.weftb: the text in segment 0 does not have the hash"));
  EXPECT_THAT(error(kPlanAt, 1),
              HasSubstr("m.weftb: the text in segment 1 does not have the hash"));
  EXPECT_THAT(error(kConstantsAt + 79, 1), HasSubstr("is another tensor, a f32[20]"));
  EXPECT_THAT(error(kConstantsAt + 129, 1), HasSubstr("has another content, 0x"));
  EXPECT_THAT(error(kConstantsAt + 129, 2), HasSubstr("element 1 is 2; a bool is 0 or 1"));
  // A constant that the graph does not expect.
  EXPECT_THAT(Refusal([](Sample& s) { s.file.constants[0]->id = 1; }),
              HasSubstr("m.weftb, graph:8:27: there is no constant of content 0x"));
  EXPECT_THAT(Refusal([](Sample& s) {
                s.file.constants[0]->dims = {4, 5};
              }),
              HasSubstr("is another tensor, a f32[4, 5]"));
}

TEST(WeftbHostile, GraphsAndPlans) {
  EXPECT_THAT(Refusal([](Sample& s) { s.file.graph = 3; }),
              HasSubstr("the graph: there is no segment 3"));
  EXPECT_THAT(Refusal([](Sample& s) { s.file.graph = -2; }),
              HasSubstr("the graph is in segment -2"));
  EXPECT_THAT(Refusal([](Sample& s) { s.file.graph = 2; }),
              HasSubstr("the graph: segment 2 holds constants"));
  EXPECT_THAT(Refusal([](Sample& s) { s.file.plans[0]->segment = 0xffffffff; }),
              HasSubstr("plan 0: there is no segment 4294967295"));
  EXPECT_THAT(Refusal([](Sample& s) { s.file.plans[0]->segment = 2; }),
              HasSubstr("plan 0: segment 2 holds constants"));
  EXPECT_THAT(Refusal([](Sample& s) { s.file.plans[0]->target = 1; }),
              HasSubstr("plan 0: there is no target 1"));
  EXPECT_THAT(Refusal([](Sample& s) { s.file.plans[0]->function = std::string(4097, 'a'); }),
              HasSubstr("plan 0: the name of the function has more than 4096 bytes"));
  EXPECT_THAT(
      Refusal([](Sample& s) { s.file.plans.push_back(std::make_unique<PlanT>(*s.file.plans[0])); }),
      HasSubstr("plan 1: @main has a plan for this target"));
}

TEST(WeftbHostile, PackedConstants) {
  const auto refusal = [](uint64_t weight, uint64_t packed, const std::string& layout, int times) {
    return Refusal([&](Sample& s) {
      for (int i = 0; i < times; ++i) {
        auto entry = std::make_unique<flat_objects::PackedT>();
        entry->weight = weight == 0 ? s.file.constants[0]->id : weight;
        entry->packed = packed == 0 ? s.file.constants[1]->id : packed;
        entry->layout = layout;
        s.file.packed.push_back(std::move(entry));
      }
    });
  };
  EXPECT_THAT(refusal(7, 0, "rows", 1),
              HasSubstr("packed constant 0: there is no constant of content 0x0000000000000007"));
  EXPECT_THAT(refusal(0, 7, "rows", 1),
              HasSubstr("packed constant 0: there is no constant of content 0x0000000000000007"));
  EXPECT_THAT(refusal(0, 0, std::string(4097, 'a'), 1),
              HasSubstr("packed constant 0: the name of the layout has more than 4096 bytes"));
  EXPECT_THAT(refusal(0, 0, "rows", 2),
              HasSubstr("packed constant 1: there is one of layout \"rows\" already"));
}

TEST(WeftbHostile, MachineCode) {
  const auto add = [](Sample& s, uint32_t plan, uint32_t segment, const std::string& format) {
    auto code = std::make_unique<flat_objects::CodeT>();
    code->plan = plan;
    code->segment = segment;
    code->format = format;
    s.file.codes.push_back(std::move(code));
  };
  const auto refusal = [&](uint32_t plan, uint32_t segment, const std::string& format) {
    return Refusal([&](Sample& s) {
      add(s, 0, 1, "elf");
      add(s, plan, segment, format);
    });
  };
  EXPECT_THAT(refusal(1, 1, "other"), HasSubstr("machine code 1: there is no plan 1"));
  EXPECT_THAT(refusal(0, 0xffffffff, "other"),
              HasSubstr("machine code 1: there is no segment 4294967295"));
  EXPECT_THAT(refusal(0, 2, "other"), HasSubstr("machine code 1: segment 2 holds constants"));
  EXPECT_THAT(refusal(0, 1, "elf"),
              HasSubstr("machine code 1: there is one of format \"elf\" already"));
  EXPECT_THAT(refusal(0, 1, std::string(4097, 'a')),
              HasSubstr("machine code 1: the name of the format has more than 4096 bytes"));
  // Behind the description, as all contents: its hash is compared when somebody asks for it.
  Sample sample;
  add(sample, 0, 1, "elf");
  sample.file.segments[1]->hash ^= 1;
  const auto file = WeftbFile::Parse(sample.Bytes(), "m.weftb");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(std::string((*file)->Code(0, "elf").status().message()),
              HasSubstr("m.weftb: the machine code in segment 1 does not have the hash"));
  EXPECT_EQ((*file)->Code(0, "other").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ((*file)->Code(1, "elf").status().code(), absl::StatusCode::kNotFound);
}

// A vector of longs whose length is aligned to 4 bytes and whose elements are not to 8.
TEST(WeftbHostile, States) {
  const auto add = [](Sample& s, uint32_t plan, uint32_t input, uint64_t constant) {
    auto state = std::make_unique<flat_objects::StateT>();
    state->plan = plan;
    state->input = input;
    state->constant = constant;
    s.file.states.push_back(std::move(state));
  };
  const auto refusal = [&](uint32_t plan, uint32_t input, uint64_t constant) {
    return Refusal([&](Sample& s) {
      add(s, 0, 0, s.file.constants[0]->id);
      add(s, plan, input, constant == 0 ? s.file.constants[0]->id : constant);
    });
  };
  EXPECT_THAT(refusal(1, 1, 0), HasSubstr("state 1: there is no plan 1"));
  EXPECT_THAT(refusal(0, 0xffffffff, 0), HasSubstr("state 1: there is no input 4294967295"));
  EXPECT_THAT(refusal(0, 1, 7),
              HasSubstr("state 1: there is no constant of content 0x0000000000000007"));
  EXPECT_THAT(refusal(0, 0, 0), HasSubstr("state 1: input 0 has a value already"));
  // The plan says what inputs there are.
  Plan plan;
  plan.inputs.resize(2);
  plan.inputs[0].type = Type::Tensor(DType::kF32, {20});
  plan.inputs[1].read = false;
  const auto error = [&](uint32_t input, int constant) {
    Sample sample;
    add(sample, 0, input, sample.file.constants[constant]->id);
    const auto file = WeftbFile::Parse(sample.Bytes(), "m.weftb");
    EXPECT_TRUE(file.ok()) << file.status();
    return std::string(ReadStatesFromWeftb(**file, 0, plan).status().message());
  };
  EXPECT_EQ(error(0, 0), "");
  Sample sample;
  add(sample, 0, 0, sample.file.constants[0]->id);
  const auto file = WeftbFile::Parse(sample.Bytes(), "m.weftb");
  EXPECT_TRUE((*ReadStatesFromWeftb(**file, 0, plan))[0].valid());
  EXPECT_FALSE((*ReadStatesFromWeftb(**file, 1, plan))[0].valid());  // Another plan's.
  EXPECT_EQ(error(0, 1), "m.weftb: the value of input 0 has type bool[3], not f32[20]");
  EXPECT_EQ(error(1, 0), "m.weftb: there is a value for input 1, which the plan does not read");
  EXPECT_EQ(error(2, 0), "m.weftb: there is a value for input 2, which the plan does not read");
}

TEST(WeftbHostile, MisalignedDims) {
  int refused = 0;
  const std::string good = Sample().Bytes();
  const WeftbHeader header = ReadWeftbHeader(good);
  // The one that holds 20, as an element of the first constant's dims.
  for (size_t at = kWeftbHeaderBytes; at + 12 <= header.meta_bytes; at += 4) {
    uint32_t length;
    uint64_t element;
    std::memcpy(&length, good.data() + at, sizeof(length));
    std::memcpy(&element, good.data() + at + 4, sizeof(element));
    if (length != 1 || element != 20) continue;
    // Finds the reference to it and moves both the vector and the reference by 4 bytes.
    for (size_t ref = kWeftbHeaderBytes; ref < at; ref += 4) {
      uint32_t distance;
      std::memcpy(&distance, good.data() + ref, sizeof(distance));
      if (ref + distance != at) continue;
      std::string moved = good;
      std::memcpy(moved.data() + at - 4, good.data() + at, 12);
      distance -= 4;
      std::memcpy(moved.data() + ref, &distance, sizeof(distance));
      const std::string error = ErrorOf(Rehashed(moved));
      if (absl::StrContains(error, "the dims are not aligned")) ++refused;
    }
  }
  EXPECT_GE(refused, 1);
}

// Many entries of a vector may be one table.
TEST(WeftbHostile, RepeatedTablesCostNoMoreThanTheFile) {
  flatbuffers::FlatBufferBuilder fbb;
  const auto dtype = fbb.CreateString("f32");
  const auto dims = fbb.CreateVector(std::vector<int64_t>{0});
  const auto one = flat_objects::CreateConstant(fbb, 1, dtype, dims);
  const std::vector<flatbuffers::Offset<flat_objects::Constant>> many(1 << 20, one);
  flat_objects::FinishFileBuffer(fbb,
                                 flat_objects::CreateFile(fbb, 0, 0, 0, 0, fbb.CreateVector(many)));
  std::string all(reinterpret_cast<const char*>(fbb.GetBufferPointer()), fbb.GetSize());
  all.insert(8, kWeftbHeaderBytes - 8, '\0');
  uint32_t root;
  std::memcpy(&root, all.data(), sizeof(root));
  root += kWeftbHeaderBytes - 8;
  std::memcpy(all.data(), &root, sizeof(root));
  WeftbHeader header;
  header.header_bytes = kWeftbHeaderBytes;
  header.major = kWeftbMajor;
  header.meta_bytes = header.file_bytes = all.size();
  WriteWeftbHeader(header, all.data());
  EXPECT_THAT(ErrorOf(Rehashed(all)), HasSubstr("there is no segment 0"));
}

// Any bytes in the description: an error or a file whose parts can be read.
TEST(WeftbHostile, FlippedBits) {
  const std::string good = Sample().Bytes();
  const size_t meta = ReadWeftbHeader(good).meta_bytes;
  std::mt19937_64 random(1);
  int valid = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = good;
    const int flips = 1 + static_cast<int>(random() % 3);
    for (int f = 0; f < flips; ++f) {
      const size_t at = random() % meta;
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    }
    const auto file = WeftbFile::Parse(Rehashed(bytes), "m.weftb");
    if (!file.ok()) continue;
    ++valid;
    (*file)->CheckAll().IgnoreError();
    ReadModuleFromWeftb(**file, ops::Registry()).status().IgnoreError();
  }
  EXPECT_GT(valid, 0);
}

}  // namespace
}  // namespace weft
