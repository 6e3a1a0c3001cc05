// A trace of run --profile, of a transformer and of a conv net: the fields of torch's traces, times
// and memory that add up, and the description of each kernel.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/profiler/kineto_fields.h"
#include "tests/tools/tool_test.h"

namespace weft {
namespace {

using Json = nlohmann::json;
using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;

constexpr int kRepeat = 12;

struct Span {
  std::string name;
  std::string category;
  double begin = 0;
  double end = 0;
  Json args;
};

class RunProfileTest : public ToolTest, public testing::WithParamInterface<const char*> {
 protected:
  RunProfileTest() : ToolTest("run") {}

  void SetUp() override {
    const bool text = std::string(GetParam()) == "minilm";
    const std::string sizes = text ? " --input-size=sequence=16" : "";
    ASSERT_EQ(RunOther("make_model", absl::StrCat("--small -o model.onnx --inputs=data "
                                                  "--input-size=batch=2",
                                                  sizes, " --model=", GetParam())),
              0)
        << err_;
    std::string inputs;
    for (const auto& file : std::filesystem::directory_iterator(folder_ / "data")) {
      absl::StrAppend(&inputs, " --input ", file.path().stem().string(), "=", file.path().string());
    }
    ASSERT_EQ(Run(absl::StrCat("--target=cpu --passes=cpu --threads=1 --repeat=", kRepeat,
                               " --profile=trace.json.gz --log=executor model.onnx", inputs)),
              0)
        << err_;
    trace_ = profiler::ParseFile(folder_ / "trace.json.gz");
  }

  // The spans of threads in the order of the file: by time, outer spans first.
  std::vector<Span> Spans() const {
    std::vector<Span> spans;
    for (const Json& event : trace_["traceEvents"]) {
      if (event["ph"] != "X" || !event["pid"].is_number()) continue;
      const double begin = event["ts"];
      spans.push_back(
          {event["name"], event["cat"], begin, begin + event["dur"].get<double>(), event["args"]});
    }
    return spans;
  }

  // "N bytes of temporaries", as the executor logs them when it has placed them.
  int64_t LoggedArena() const {
    const size_t end = err_.find(" bytes of temporaries");
    if (end == std::string::npos) return -1;
    const size_t begin = err_.rfind(' ', end - 1) + 1;
    int64_t bytes = -1;
    return absl::SimpleAtoi(err_.substr(begin, end - begin), &bytes) ? bytes : -1;
  }

  Json trace_;
};

TEST_P(RunProfileTest, EventsHaveTheFieldsOfTorchs) {
  SKIP_WITHOUT_GOLDEN_TRACE();
  const auto torch = profiler::KindsOf(profiler::ParseFile(profiler::GoldenTrace()));
  const auto own = profiler::KindsOf(trace_);
  std::set<std::string> both;
  for (const auto& [name, kind] : torch) {
    const auto found = own.find(name);
    if (found == own.end()) continue;
    both.insert(name);
    EXPECT_GT(profiler::ExpectSameFields(name, found->second, kind), 2) << name;
  }
  EXPECT_THAT(both, IsSupersetOf({"X cpu_op", "X user_annotation", "M  process_name",
                                  "M  thread_name", "M  thread_sort_ind"}));
  EXPECT_THAT(both, Contains(HasSubstr("cpu_instant_event [memory]")));
  EXPECT_THAT(both, Contains(HasSubstr("X Trace")));
}

TEST_P(RunProfileTest, CompileTimeAndRunTimeAreOnOneTimeline) {
  double compiled = 0, first_kernel = 0;
  std::set<std::string> stages;
  for (const Span& span : Spans()) {
    if (span.category == "compiler_pass") {
      stages.insert(span.name);
      compiled = std::max(compiled, span.end);
    } else if (span.args.contains("kernel_backend") && first_kernel == 0) {
      first_kernel = span.begin;
    }
  }
  EXPECT_THAT(stages, IsSupersetOf({"import", "lower", "make executable", "prepare sizes"}));
  EXPECT_THAT(stages, Contains(HasSubstr("fuse_epilogue")));
  EXPECT_GT(first_kernel, 0);
  EXPECT_LE(compiled, first_kernel);
}

TEST_P(RunProfileTest, KernelsSayWhatTheyAre) {
  int kernels = 0, flops = 0, led_back = 0, rules = 0;
  for (const Span& span : Spans()) {
    if (!span.args.contains("kernel_backend")) continue;
    ++kernels;
    for (const char* key : {"Input Dims", "Input type", "Output Dims", "Output type", "Bytes moved",
                            "Threads", "Symbols", "Flops"}) {
      EXPECT_TRUE(span.args.contains(key)) << span.name << " has no " << key;
    }
    EXPECT_EQ(span.args["Threads"], 1) << span.name;
    EXPECT_EQ(span.args["Symbols"]["batch"], 2) << span.name;
    flops += span.args.value("Flops", 0) > 0;
    led_back += span.args.contains("Provenance");
    rules += span.args.contains("Rules");
  }
  EXPECT_GT(kernels, 4 * kRepeat);
  EXPECT_GT(flops, kernels / 2);
  EXPECT_GT(led_back, kernels / 2);
  EXPECT_GT(rules, kRepeat);
}

TEST_P(RunProfileTest, MemoryBalancesAndPeaksAtThePlan) {
  std::map<std::string, int64_t> held, peak;
  std::map<uint64_t, int64_t> at;
  int64_t total = -1;
  int points = 0;  // Of the curve.
  for (const Json& event : trace_["traceEvents"]) {
    const Json& args = event["args"];
    if (event["name"] == "memory held") {
      EXPECT_EQ(event["ph"], "C");
      EXPECT_EQ(args["Bytes"].get<int64_t>(), total);
      ++points;
    }
    if (event["name"] != "[memory]") continue;
    total = args["Total Allocated"].get<int64_t>();
    const std::string category = args["Category"];
    int64_t& bytes = held[category];
    bytes += args["Bytes"].get<int64_t>();
    peak[category] = std::max(peak[category], bytes);
    at[args["Addr"].get<uint64_t>()] += args["Bytes"].get<int64_t>();
  }
  EXPECT_GT(points, 0);
  for (const auto& [category, bytes] : held) EXPECT_EQ(bytes, 0) << category;
  for (const auto& [address, bytes] : at) EXPECT_EQ(bytes, 0) << address;
  EXPECT_GT(LoggedArena(), 0) << err_;
  EXPECT_EQ(peak["activation"], LoggedArena());
  for (const char* category : {"parameter", "output", "temporary"}) {
    EXPECT_GT(peak[category], 0) << category;
  }
}

// A step of the loop is a run and next to nothing else: the self times of what ran in it add up to
// its time. The best of several steps counts, with room for what other processes take in it: a
// kind of step without events would leave more out.
TEST_P(RunProfileTest, SelfTimesAddUpToTheRun) {
  const std::vector<Span> spans = Spans();
  double best = 0;
  int steps = 0;
  for (const Span& step : spans) {
    if (step.category != "user_annotation" || step.name == "ProfilerStep#0") continue;
    std::vector<Span> open;
    double self = 0, without_outermost = 0;
    for (const Span& span : spans) {
      if (span.begin < step.begin || span.end > step.end || span.category != "cpu_op") continue;
      while (!open.empty() && open.back().end <= span.begin) open.pop_back();
      const double time = span.end - span.begin;
      self += time;
      // The time of nested spans is not self time.
      if (!open.empty()) {
        EXPECT_LE(span.end, open.back().end + 0.0015) << span.name;
        self -= time;
        without_outermost += time;
      }
      open.push_back(span);
    }
    if (self == 0) continue;
    ++steps;
    EXPECT_GT(without_outermost, 0);
    best = std::max(best, self / (step.end - step.begin));
  }
  EXPECT_GE(steps, kRepeat - 1);
  EXPECT_GE(best, 0.95);
  EXPECT_LE(best, 1.0);
}

INSTANTIATE_TEST_SUITE_P(Models, RunProfileTest, testing::Values("minilm", "mobilenet_v2"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace weft
