// The work of a GPU in traces: the emulated driver's, as CUPTI's records and by events. Fields and
// words are those of traces that Kineto writes on a GPU.
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "backends/cuda/driver/cupti_api.h"
#include "backends/cuda/trace/device_limits.h"
#include "backends/cuda/trace/gpu_source.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "profiler/analysis/validate.h"
#include "profiler/session.h"
#include "profiler/sinks/chrome_json.h"
#include "profiler/sinks/key_averages.h"
#include "tests/backends/cuda/emulated_program.h"
#include "tests/profiler/kineto_fields.h"

namespace weft::cuda {
namespace {

using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Json = nlohmann::json;

// Two kernels, a matmul, and a step that runs on the host.
constexpr char kProgram[] = R"(
  func @main(%x: f32[s0, 40], %w: f32[40, 24], %m: f32[4, 4]) -> (f32[s0, 24], f32[4, 4])
      where 1 <= s0 {
    %0 = softmax(%x, dim=-1)
    %1 = matmul(%0, %w)
    %2 = gelu(%1)
    %3 = matrix_exp(%m)
    return %2, %3
  })";
constexpr int kRuns = 3;

std::vector<HostTensor> Inputs() { return {Ramp({5, 40}), Ramp({40, 24}), Ramp({4, 4})}; }

BackendOptions Options(const std::string& cupti) {
  return {{"cuda-driver", "emulated"}, {"cuda-cupti", cupti}};
}

// Of a run that begins with the compilation, or of a program that was compiled before.
profiler::Trace Record(EmulatedProgram* program, int runs = kRuns) {
  profiler::SessionOptions options;
  options.sources.push_back(GpuSource::Get());
  auto session = profiler::Session::Start(std::move(options));
  EXPECT_TRUE(session.ok()) << session.status();
  for (int run = 0; run < runs; ++run) {
    const auto got = program->Run(Inputs());
    EXPECT_TRUE(got.ok()) << got.status();
  }
  auto trace = (*session)->Stop();
  EXPECT_TRUE(trace.ok()) << trace.status();
  return *std::move(trace);
}

Json ToJson(const profiler::Trace& trace) {
  const std::string path = testing::TempDir() + "/cuda_profile_test.json";
  profiler::ChromeJsonSink sink({path});
  const absl::Status status = profiler::ExportTrace(trace, sink);
  EXPECT_TRUE(status.ok()) << status;
  return profiler::ParseFile(path);
}

std::vector<Json> EventsOf(const Json& trace, const std::string& category,
                           const std::string& phase = "X") {
  std::vector<Json> events;
  for (const Json& event : trace["traceEvents"]) {
    if (event.value("cat", "") == category && event["ph"] == phase) events.push_back(event);
  }
  return events;
}

// Microseconds: sums of times with three decimals.
constexpr double kRounding = 0.002;

double End(const Json& span) { return span["ts"].get<double>() + span["dur"].get<double>(); }

// Calls without an op, such as those of a program's end, name none.
void ExpectCallsWithinTheirOps(const Json& trace) {
  std::map<int64_t, Json> ops;
  for (const Json& op : EventsOf(trace, "cpu_op")) ops[op["args"]["External id"]] = op;
  for (const Json& call : EventsOf(trace, "cuda_driver")) {
    if (!call["args"].contains("External id")) continue;
    const Json& op = ops.at(call["args"]["External id"]);
    EXPECT_EQ(call["pid"], op["pid"]);
    EXPECT_EQ(call["tid"], op["tid"]);
    EXPECT_LE(op["ts"].get<double>(), call["ts"].get<double>()) << call << op;
    EXPECT_LE(End(call), End(op) + kRounding) << call << op;
  }
}

// Both ways of recording.
class CudaProfile : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, CudaProfile, testing::Values("", "none"), [](const auto& info) {
  return std::string(*info.param == 0 ? "ByCupti" : "ByEvents");
});

using Fields = std::map<std::string, std::set<std::string>>;

TEST_P(CudaProfile, HasKinetosFields) {
  const std::set<std::string> integer = {"integer"}, decimal = {"decimal"}, list = {"array"};
  const Fields span = {{"ts", {"decimal"}},
                       {"dur", {"decimal"}},
                       {"pid", {"integer"}},
                       {"tid", {"integer"}},
                       {"args.correlation", {"integer"}}};
  const Fields work = {{"args.device", integer},
                       {"args.context", integer},
                       {"args.stream", integer},
                       {"args.External id", integer}};
  const std::map<std::string, Fields> want = {
      {"X kernel",
       {{"args.queued", integer},
        {"args.registers per thread", integer},
        {"args.shared memory", integer},
        {"args.blocks per SM", decimal},
        {"args.warps per SM", decimal},
        {"args.grid", list},
        {"args.block", list},
        {"args.est. achieved occupancy %", integer}}},
      {"X gpu_memcpy",
       {{"args.bytes", integer}, {"args.memory bandwidth (GB/s)", {"decimal", "integer"}}}},
      {"X cuda_driver", {{"args.cbid", integer}}},
  };
  EmulatedProgram program(kProgram, Options(GetParam()));
  const Json trace = ToJson(Record(&program));
  const auto kinds = profiler::KindsOf(trace);
  int compared = 0;
  for (const auto& [name, own] : want) {
    const auto kind = kinds.find(name);
    ASSERT_NE(kind, kinds.end()) << name;
    Fields fields = own;
    fields.insert(span.begin(), span.end());
    if (name != "X cuda_driver") fields.insert(work.begin(), work.end());
    for (const auto& [field, types] : fields) {
      // What the backend prepares when no program runs has no cause.
      const bool always = field != "args.External id" || name == "X kernel";
      // A library's call that events time as a whole tells nothing about its launches.
      const bool of_launch = *GetParam() != 0 && own.count(field) > 0 && field != "args.queued";
      const auto found = kind->second.fields.find(field);
      ASSERT_NE(found, kind->second.fields.end()) << name << " has no " << field;
      for (const std::string& type : found->second) {
        EXPECT_THAT(types, Contains(type)) << name << ": " << field;
      }
      if (always && !(name == "X kernel" && of_launch)) {
        EXPECT_EQ(kind->second.presence.at(field), kind->second.count) << field;
      }
      ++compared;
    }
  }
  EXPECT_GE(compared, 30);
  for (const Json& kernel : EventsOf(trace, "kernel")) {
    if (kernel["args"].contains("grid")) {
      EXPECT_EQ(kernel["args"]["grid"].size(), 3u);
      EXPECT_EQ(kernel["args"]["block"].size(), 3u);
    }
    EXPECT_EQ(kernel["args"]["emulated"], 1);
    EXPECT_EQ(kernel["args"].contains("clock"), *GetParam() != 0);
  }
}

TEST_P(CudaProfile, DescribesTheDevice) {
  EmulatedProgram program(kProgram, Options(GetParam()));
  const Json trace = ToJson(Record(&program));
  ASSERT_EQ(trace["deviceProperties"].size(), 1u);
  const Json& device = trace["deviceProperties"][0];
  EXPECT_EQ(device["name"], "Emulated");
  for (const char* field :
       {"id", "totalGlobalMem", "computeMajor", "computeMinor", "maxThreadsPerBlock",
        "maxThreadsPerMultiprocessor", "regsPerBlock", "warpSize", "sharedMemPerBlock", "numSms",
        "regsPerMultiprocessor", "sharedMemPerBlockOptin", "sharedMemPerMultiprocessor"}) {
    EXPECT_TRUE(device[field].is_number_integer()) << field;
  }
  const std::vector<Json> kernels = EventsOf(trace, "kernel");
  ASSERT_THAT(kernels, Not(IsEmpty()));
  std::set<std::string> facts;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] != "M" || event["pid"] != kernels[0]["pid"]) continue;
    const std::string name = event["name"];
    facts.insert(absl::StrCat(name, " ", event["tid"].dump(), " ", event["args"].dump()));
  }
  const std::string stream = kernels[0]["tid"].dump();
  EXPECT_THAT(facts, Contains(HasSubstr("process_name 0")));
  EXPECT_THAT(facts, Contains("process_labels 0 {\"labels\":\"GPU 0\"}"));
  EXPECT_THAT(facts, Contains("process_sort_index 0 {\"sort_index\":5000000}"));
  EXPECT_THAT(
      facts, Contains(absl::StrCat("thread_name ", stream, " {\"name\":\"stream ", stream, "\"}")));
  EXPECT_THAT(facts, Contains(absl::StrCat("thread_sort_index ", stream,
                                           " {\"sort_index\":", stream, "}")));
}

// A kernel has a step, the call that launched it, and an arrow from the call.
TEST_P(CudaProfile, EveryKernelHasItsStepAndItsLaunch) {
  EmulatedProgram program(kProgram, Options(GetParam()));
  const Json trace = ToJson(Record(&program));
  std::map<int64_t, Json> ops, calls, starts, finishes;
  double wall = 0;
  for (const Json& op : EventsOf(trace, "cpu_op")) {
    ops[op["args"]["External id"]] = op;
    if (op["name"] == "main") wall += op["dur"].get<double>();
  }
  for (const Json& call : EventsOf(trace, "cuda_driver")) {
    calls[call["args"]["correlation"]] = call;
  }
  ExpectCallsWithinTheirOps(trace);
  for (const Json& flow : EventsOf(trace, "ac2g", "s")) starts[flow["id"]] = flow;
  for (const Json& flow : EventsOf(trace, "ac2g", "f")) finishes[flow["id"]] = flow;
  EXPECT_EQ(starts.size(), finishes.size());
  std::map<std::string, int> launches;  // By step.
  double sum = 0, last = 0;
  for (const Json& kernel : EventsOf(trace, "kernel")) {
    const int64_t correlation = kernel["args"]["correlation"];
    const Json& op = ops.at(kernel["args"]["External id"]);
    EXPECT_TRUE(op["args"].contains("kernel_backend")) << op;
    ++launches[op["name"]];
    const Json& call = calls.at(correlation);
    // The matmul is cuBLASLt's.
    const bool library = op["name"] == "matmul";
    const char* const launch = !library           ? "cuLaunchKernel"
                               : *GetParam() == 0 ? "cudaLaunchKernelExC"
                                                  : "library call";
    EXPECT_EQ(call["name"], launch);
    EXPECT_EQ(call["args"]["External id"], kernel["args"]["External id"]);
    EXPECT_LE(call["ts"].get<double>(), kernel["ts"].get<double>());
    EXPECT_EQ(starts.at(correlation)["ts"], call["ts"]);
    EXPECT_EQ(finishes.at(correlation)["ts"], kernel["ts"]);
    EXPECT_EQ(finishes.at(correlation)["bp"], "e");
    EXPECT_GE(kernel["ts"].get<double>(), last - kRounding);
    last = End(kernel);
    sum += kernel["dur"].get<double>();
  }
  EXPECT_EQ(launches["matmul"], kRuns);
  EXPECT_EQ(launches.size(), 3u) << Json(launches);
  EXPECT_GT(sum, 0);
  EXPECT_LE(sum, wall);
  // The inputs' copies belong to the run, those of the step on the host to that step.
  std::map<std::string, int> copies;
  for (const Json& copy : EventsOf(trace, "gpu_memcpy")) {
    if (!copy["args"].contains("External id")) continue;
    // Host memory is pageable or pinned.
    const std::string name = copy["name"];
    EXPECT_THAT(name, AnyOf(HasSubstr("Pageable"), HasSubstr("Pinned")));
    ++copies[absl::StrCat(name.substr(0, name.find(" (")), " of ",
                          ops.at(copy["args"]["External id"])["name"].get<std::string>())];
  }
  EXPECT_EQ(copies["Memcpy HtoD of main"], 3 * kRuns) << Json(copies);
  EXPECT_EQ(copies["Memcpy DtoH of main"], 2 * kRuns) << Json(copies);
  EXPECT_EQ(copies["Memcpy DtoH of matrix_exp"], kRuns) << Json(copies);
}

TEST_P(CudaProfile, IsValid) {
  EmulatedProgram program(kProgram, Options(GetParam()));
  profiler::Validator validator;
  ASSERT_TRUE(profiler::ExportTrace(Record(&program), validator).ok());
  EXPECT_EQ(validator.num_problems(), 0) << validator.Text();
}

TEST_P(CudaProfile, CountsDeviceTimeByStep) {
  EmulatedProgram program(kProgram, Options(GetParam()));
  const profiler::Trace trace = Record(&program);
  int64_t kernel_ns = 0, device_ns = 0;
  for (const profiler::Event& event : trace.events) {
    if (event.activity == profiler::Activity::kKernel) kernel_ns += event.value;
    if (event.activity == profiler::Activity::kKernel ||
        event.activity == profiler::Activity::kDeviceCopy ||
        event.activity == profiler::Activity::kDeviceFill) {
      device_ns += event.value;
    }
  }
  profiler::KeyAveragesOptions by_step;
  by_step.group = profiler::KeyAveragesOptions::Group::kStep;
  profiler::KeyAverages steps(by_step), all;
  ASSERT_TRUE(profiler::ExportTrace(trace, steps).ok());
  ASSERT_TRUE(profiler::ExportTrace(trace, all).ok());
  EXPECT_EQ(steps.DeviceTotal(), device_ns);
  int64_t of_steps = 0;
  for (const profiler::KeyAveragesRow& row : steps.rows()) {
    of_steps += row.kernel_ns;
    if (row.name == "matmul") {
      EXPECT_EQ(row.RatedNs(), row.kernel_ns);
    } else if (row.name == "matrix_exp") {
      EXPECT_GT(row.self_device_ns, 0);
      EXPECT_EQ(row.kernel_ns, 0);
    }
  }
  EXPECT_EQ(of_steps, kernel_ns);
  for (const profiler::KeyAveragesRow& row : all.rows()) {
    if (row.name != "main") continue;
    EXPECT_GE(row.device_ns, kernel_ns);
    EXPECT_LE(row.device_ns, device_ns);
  }
  const auto table = steps.Table();
  ASSERT_TRUE(table.ok());
  EXPECT_THAT(*table, HasSubstr("Self CUDA %"));
  EXPECT_THAT(*table, HasSubstr("Self CUDA time total: "));
}

TEST_P(CudaProfile, RecordsProgramsThatWereCompiledBefore) {
  EmulatedProgram program(kProgram, Options(GetParam()));
  ASSERT_TRUE(program.Run(Inputs()).ok());
  for (int recording = 0; recording < 2; ++recording) {
    const Json trace = ToJson(Record(&program, 1));
    EXPECT_EQ(EventsOf(trace, "kernel").size(), 3u);
  }
}

// A program that ends before the recording does.
TEST_P(CudaProfile, KeepsTheWorkOfClosedPrograms) {
  profiler::SessionOptions options;
  options.sources.push_back(GpuSource::Get());
  auto session = profiler::Session::Start(std::move(options));
  ASSERT_TRUE(session.ok());
  {
    EmulatedProgram program(kProgram, Options(GetParam()));
    ASSERT_TRUE(program.Run(Inputs()).ok());
  }
  const Json trace = ToJson(*(*session)->Stop());
  EXPECT_EQ(EventsOf(trace, "kernel").size(), 3u);
  ExpectCallsWithinTheirOps(trace);
}

TEST(CudaProfileTest, CostsNothingOutsideOfRecordings) {
  const auto count = [](const char* call) {
    return Emulated().emulation.counter(absl::StrCat("calls ", call).c_str());
  };
  const auto enabled = count("cuptiActivityEnable");
  const auto events = count("cuEventRecord");
  for (const char* cupti : {"", "none"}) {
    EmulatedProgram program(kProgram, Options(cupti));
    program.ExpectAsReference(Inputs(), 1e-4);
  }
  EXPECT_EQ(count("cuptiActivityEnable"), enabled);
  EXPECT_EQ(count("cuEventRecord"), events);
}

TEST(CudaProfileTest, UsesEventsIfAnotherProfilerHasCupti) {
  EmulatedProgram program(kProgram, Options(""));
  ASSERT_TRUE(program.Compile().ok());
  Emulated().emulation.fail_at("cuptiActivityEnable", 1, kCuptiMultipleSubscribers);
  const Json trace = ToJson(Record(&program));
  EXPECT_EQ(trace["cuda_profiler"]["recorded_by"], "events");
  EXPECT_THAT(trace["cuda_profiler"]["reason"], HasSubstr("another profiler"));
  EXPECT_EQ(EventsOf(trace, "kernel").size(), size_t{3 * kRuns});
  const Json next = ToJson(Record(&program));
  EXPECT_THAT(next["cuda_profiler"]["recorded_by"], HasSubstr("libweft_cuda_emulated.so"));
}

TEST(CudaProfileTest, NamesThePlacesWhereCuptiIsNot) {
  EmulatedProgram program(kProgram, Options("/nowhere/libcupti.so.13"));
  const Json trace = ToJson(Record(&program));
  EXPECT_EQ(trace["cuda_profiler"]["recorded_by"], "events");
  EXPECT_THAT(trace["cuda_profiler"]["reason"], HasSubstr("/nowhere/libcupti.so.13"));
}

// The emulation puts a record of an unknown kind before the others, and bytes behind each.
TEST(CudaProfileTest, SkipsRecordsThatItDoesNotKnow) {
  EmulatedProgram program(kProgram, Options(""));
  const Json trace = ToJson(Record(&program));
  const Json& records = trace["cuda_profiler"]["cupti"]["records"];
  EXPECT_GE(records["1000"], 1) << records;
  EXPECT_EQ(records["10"], 3 * kRuns) << records;
  EXPECT_EQ(trace["cuda_profiler"]["cupti"]["without_time"], 0);
}

TEST(OccupancyTest, FollowsCudasRules) {
  DeviceLimits h100;
  h100.threads_per_multiprocessor = 2048;
  h100.blocks_per_multiprocessor = 32;
  h100.registers_per_block = h100.registers_per_multiprocessor = 65536;
  h100.shared_per_multiprocessor = 228 << 10;
  h100.shared_reserved_per_block = 1 << 10;
  const auto blocks = [&](int64_t threads, int64_t registers, int64_t shared) {
    return OccupancyOf(h100, {threads, registers, shared}).Blocks();
  };
  EXPECT_EQ(blocks(256, 32, 0), 8);
  EXPECT_EQ(blocks(256, 33, 0), 6);  // 40 of 33 registers are given to each thread.
  EXPECT_EQ(blocks(128, 168, 0), 3);
  EXPECT_EQ(blocks(32, 32, 0), 32);  // As many blocks as there may be.
  EXPECT_EQ(blocks(256, 32, 100 << 10), 2);
  EXPECT_EQ(blocks(256, 32, 227 << 10), 1);
  EXPECT_EQ(blocks(1024, 64, 0), 1);
  EXPECT_EQ(blocks(1024, 65, 0), 0);  // More registers than a block may have.
}

// The declarations beside the headers of an installed CUPTI. Its folders of headers, CUDA's among
// them, are in WEFT_TEST_CUPTI, with colons between.
TEST(CuptiApiTest, AgreesWithTheHeaders) {
  const char* folders = std::getenv("WEFT_TEST_CUPTI");
  if (folders == nullptr) GTEST_SKIP() << "WEFT_TEST_CUPTI names no headers";
  struct Place {
    const char* record;
    const char* field;
    size_t offset;
  };
#define WEFT_PLACE(record, own, theirs, field) \
  { theirs, field, offsetof(record, own) }
  const Place places[] = {
      WEFT_PLACE(CuptiKernelRecord, registers, "KERNEL", "registersPerThread"),
      WEFT_PLACE(CuptiKernelRecord, start, "KERNEL", "start"),
      WEFT_PLACE(CuptiKernelRecord, end, "KERNEL", "end"),
      WEFT_PLACE(CuptiKernelRecord, device, "KERNEL", "deviceId"),
      WEFT_PLACE(CuptiKernelRecord, context, "KERNEL", "contextId"),
      WEFT_PLACE(CuptiKernelRecord, stream, "KERNEL", "streamId"),
      WEFT_PLACE(CuptiKernelRecord, grid, "KERNEL", "gridX"),
      WEFT_PLACE(CuptiKernelRecord, block, "KERNEL", "blockX"),
      WEFT_PLACE(CuptiKernelRecord, static_shared, "KERNEL", "staticSharedMemory"),
      WEFT_PLACE(CuptiKernelRecord, dynamic_shared, "KERNEL", "dynamicSharedMemory"),
      WEFT_PLACE(CuptiKernelRecord, correlation, "KERNEL", "correlationId"),
      WEFT_PLACE(CuptiKernelRecord, name, "KERNEL", "name"),
      WEFT_PLACE(CuptiKernelRecord, queued, "KERNEL", "queued"),
      WEFT_PLACE(CuptiKernelRecord, graph_node, "KERNEL", "graphNodeId"),
      WEFT_PLACE(CuptiKernelRecord, graph, "KERNEL", "graphId"),
      WEFT_PLACE(CuptiCopyRecord, copy_kind, "MEMCPY", "copyKind"),
      WEFT_PLACE(CuptiCopyRecord, from_kind, "MEMCPY", "srcKind"),
      WEFT_PLACE(CuptiCopyRecord, to_kind, "MEMCPY", "dstKind"),
      WEFT_PLACE(CuptiCopyRecord, bytes, "MEMCPY", "bytes"),
      WEFT_PLACE(CuptiCopyRecord, start, "MEMCPY", "start"),
      WEFT_PLACE(CuptiCopyRecord, device, "MEMCPY", "deviceId"),
      WEFT_PLACE(CuptiCopyRecord, correlation, "MEMCPY", "correlationId"),
      WEFT_PLACE(CuptiCopyRecord, graph_node, "MEMCPY", "graphNodeId"),
      WEFT_PLACE(CuptiCopyRecord, graph, "MEMCPY", "graphId"),
      WEFT_PLACE(CuptiFillRecord, bytes, "MEMSET", "bytes"),
      WEFT_PLACE(CuptiFillRecord, start, "MEMSET", "start"),
      WEFT_PLACE(CuptiFillRecord, device, "MEMSET", "deviceId"),
      WEFT_PLACE(CuptiFillRecord, correlation, "MEMSET", "correlationId"),
      WEFT_PLACE(CuptiFillRecord, memory_kind, "MEMSET", "memoryKind"),
      WEFT_PLACE(CuptiFillRecord, graph_node, "MEMSET", "graphNodeId"),
      WEFT_PLACE(CuptiCallRecord, number, "CUpti_ActivityAPI", "cbid"),
      WEFT_PLACE(CuptiCallRecord, start, "CUpti_ActivityAPI", "start"),
      WEFT_PLACE(CuptiCallRecord, thread, "CUpti_ActivityAPI", "threadId"),
      WEFT_PLACE(CuptiCallRecord, correlation, "CUpti_ActivityAPI", "correlationId"),
      WEFT_PLACE(CuptiExternalRecord, external_kind, "CUpti_ActivityExternalCorrelation",
                 "externalKind"),
      WEFT_PLACE(CuptiExternalRecord, external, "CUpti_ActivityExternalCorrelation", "externalId"),
      WEFT_PLACE(CuptiExternalRecord, correlation, "CUpti_ActivityExternalCorrelation",
                 "correlationId"),
      WEFT_PLACE(CuptiOverheadRecord, overhead_kind, "CUpti_ActivityOverhead3", "overheadKind"),
      WEFT_PLACE(CuptiOverheadRecord, object, "CUpti_ActivityOverhead3", "objectId"),
      WEFT_PLACE(CuptiOverheadRecord, start, "CUpti_ActivityOverhead3", "start"),
      WEFT_PLACE(CuptiSyncRecord, type, "CUpti_ActivitySynchronization2", "type"),
      WEFT_PLACE(CuptiSyncRecord, start, "CUpti_ActivitySynchronization2", "start"),
      WEFT_PLACE(CuptiSyncRecord, correlation, "CUpti_ActivitySynchronization2", "correlationId"),
      WEFT_PLACE(CuptiSyncRecord, stream, "CUpti_ActivitySynchronization2", "streamId"),
  };
#undef WEFT_PLACE
  std::string text =
      "#include <cstddef>\n#include <cupti.h>\n"
      "#if CUPTI_API_VERSION >= 130500\n"
      "#define KERNEL CUpti_ActivityKernel13\n#define MEMCPY CUpti_ActivityMemcpy7\n"
      "#define MEMSET CUpti_ActivityMemset5\n"
      "#elif CUPTI_API_VERSION >= 130000\n"
      "#define KERNEL CUpti_ActivityKernel10\n#define MEMCPY CUpti_ActivityMemcpy6\n"
      "#define MEMSET CUpti_ActivityMemset4\n"
      "#else\n"
      "#define KERNEL CUpti_ActivityKernel9\n#define MEMCPY CUpti_ActivityMemcpy6\n"
      "#define MEMSET CUpti_ActivityMemset4\n"
      "#endif\n";
  for (const Place& place : places) {
    absl::StrAppend(&text, "static_assert(offsetof(", place.record, ", ", place.field,
                    ") == ", place.offset, ");\n");
  }
  const std::pair<const char*, int> constants[] = {
      {"CUPTI_ACTIVITY_KIND_MEMCPY", kCuptiCopy},
      {"CUPTI_ACTIVITY_KIND_MEMSET", kCuptiFill},
      {"CUPTI_ACTIVITY_KIND_DRIVER", kCuptiDriverCall},
      {"CUPTI_ACTIVITY_KIND_RUNTIME", kCuptiRuntimeCall},
      {"CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", kCuptiKernel},
      {"CUPTI_ACTIVITY_KIND_OVERHEAD", kCuptiOverhead},
      {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", kCuptiSync},
      {"CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION", kCuptiExternal},
      {"CUPTI_CB_DOMAIN_DRIVER_API", kCuptiDriverDomain},
      {"CUPTI_CB_DOMAIN_RUNTIME_API", kCuptiRuntimeDomain},
      {"CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0", kCuptiCustomCorrelation},
      {"CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM", kCuptiSystemThreads},
      {"CUPTI_ACTIVITY_OBJECT_THREAD", kCuptiObjectThread},
      {"CUPTI_ERROR_MAX_LIMIT_REACHED", kCuptiMaxLimitReached},
      {"CUPTI_ERROR_QUEUE_EMPTY", kCuptiQueueEmpty},
      {"CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED", kCuptiMultipleSubscribers},
  };
  for (const auto& [name, value] : constants) {
    absl::StrAppend(&text, "static_assert(", name, " == ", value, ");\n");
  }
  const std::string source = testing::TempDir() + "/cupti_layout.cc";
  std::ofstream(source) << text;
  std::string command = "g++ -std=c++17 -w -fsyntax-only";
  for (const auto folder : absl::StrSplit(folders, ':')) absl::StrAppend(&command, " -I", folder);
  EXPECT_EQ(std::system(absl::StrCat(command, " ", source).c_str()), 0);
}

}  // namespace
}  // namespace weft::cuda
