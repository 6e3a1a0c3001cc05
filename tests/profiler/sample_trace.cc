#include "tests/profiler/sample_trace.h"

#include <cstring>

namespace weft::profiler {
namespace {

Event Make(Activity activity, int64_t time, int64_t value, NameId name, uint32_t track = 0) {
  Event event;
  event.activity = activity;
  event.time = time;
  event.value = value;
  event.name = name;
  event.track = track;
  return event;
}

Trace EmptyTrace() {
  Trace trace;
  trace.base_time_ns = 1'700'000'000'000'000'000;
  trace.start_ns = 1000;
  trace.stop_ns = 12000;
  trace.pid = 77;
  trace.process_name = "weft";
  trace.host_name = "host";
  trace.id = "0123456789ABCDEF0123456789ABCDEF";
  trace.profile_memory = trace.record_shapes = trace.with_flops = true;
  trace.names = {""};
  trace.descriptions = {nullptr};
  return trace;
}

}  // namespace

Trace SampleTrace() {
  Trace trace = EmptyTrace();
  trace.metadata = {{"model", "\"resnet\""}};
  trace.tracks = {{77, 77, "thread 77 (weft)"}, {77, 78, "thread 78 (worker)"}};
  trace.names = {"",      "ProfilerStep#0", "convolution", "reshape", "[memory]",
                 "queue", "ac2g",           "mark",        "work"};
  auto conv = std::make_shared<Description>();
  conv->inputs = {{"float", {1, 3, 8, 8}, {192, 64, 8, 1}, ""},
                  {"float", {4, 3, 3, 3}, {27, 9, 3, 1}, ""},
                  {"ScalarList", {}, {}, "[1, 1]"}};
  conv->outputs = {{"float", {1, 4, 8, 8}, {256, 64, 8, 1}, ""}};
  conv->flops = 8000;
  conv->bytes = 4000;
  conv->threads = 2;
  conv->kernel = "onednn";
  conv->symbols = {{"s0", 1}};
  conv->provenance = {"layer1/conv", "layer1/bn"};
  conv->rules = {"fold-batch-norm"};
  trace.descriptions.push_back(conv);
  auto& events = trace.events;
  events.push_back(Make(Activity::kUserAnnotation, 1000, 10000, 1));
  events.push_back(Make(Activity::kCpuOp, 2000, 4000, 2));
  events.back().description = 1;
  events.push_back(Make(Activity::kMemory, 2100, 1024, 4));
  events.back().id = 0x1000;
  events.back().total = 1024;
  events.back().memory_category = MemoryCategory::kActivation;
  events.push_back(Make(Activity::kCpuOp, 2500, 1000, 3));
  events.push_back(Make(Activity::kFlowStart, 2600, 0, 6));
  events.back().id = 9;
  events.push_back(Make(Activity::kCpuOp, 2700, 2000, 8, 1));
  events.push_back(Make(Activity::kFlowFinish, 2701, 0, 6, 1));
  events.back().id = 9;
  events.push_back(Make(Activity::kCounter, 3000, 0, 5));
  const double queue = 2.5;
  std::memcpy(&events.back().value, &queue, sizeof(queue));
  events.push_back(Make(Activity::kInstant, 3100, 0, 7));
  events.push_back(Make(Activity::kMemory, 7000, -1024, 4));
  events.back().id = 0x1000;
  events.back().total = 0;
  events.push_back(Make(Activity::kCpuOp, 7500, 500, 3));
  return trace;
}

Trace HostileTrace() {
  Trace trace = EmptyTrace();
  trace.process_name = "a \"process\"\n";
  trace.host_name = "\xFF";
  trace.metadata = {{"key \"\n", "not json"}, {"ok", "[1]"}};
  trace.tracks = {{77, 77, "thread \\ \"\x01"}};
  trace.names = {"",
                 "say \"hi\"",
                 "two\nlines\r\n",
                 "bad \xC3\x28 \xFF utf-8",
                 "semi;colon",
                 "gr\xC3\xBC\xC3\x9F",
                 std::string("nul\0byte", 8),
                 "</script>"};
  auto description = std::make_shared<Description>();
  description->provenance = {"\"\n\xFE"};
  description->inputs = {{"\"", {1}, {1}, "\\"}};
  trace.descriptions.push_back(description);
  for (NameId name = 1; name < trace.names.size(); ++name) {
    trace.events.push_back(Make(Activity::kCpuOp, 1000 * name, 100, name));
    trace.events.back().description = 1;
  }
  return trace;
}

}  // namespace weft::profiler
