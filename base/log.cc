#include "base/log.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_macros.h"

namespace weft {
namespace internal {

std::atomic<uint64_t> log_state{0};
static_assert(4 * kNumLogComponents + kNumLogArtifacts <= 64, "one word holds the settings");

}  // namespace internal

namespace {

struct Name {
  absl::string_view name;
  absl::string_view doc;
};

// In the order of the enums.
constexpr Name kComponents[kNumLogComponents] = {
    {"import", "files that are read"},
    {"passes", "passes that ran, how long, what changed"},
    {"shapes", "sizes that were found out, assumed or fixed"},
    {"fusion", "what was fused, and what was not and why"},
    {"lowering", "graphs to plans"},
    {"codegen", "generated kernels and their compiler"},
    {"executor", "sizes that are met for the first time, memory"},
    {"dynamic", "variants of a program, sizes that became symbolic"},
};
constexpr Name kArtifacts[kNumLogArtifacts] = {
    {"graph", "the module before and after a pipeline"},
    {"pass_graphs", "the module after each pass that changed it"},
    {"guards", "the guards of each variant that is compiled"},
    {"recompiles", "why a variant was compiled"},
    {"plan", "plans that graphs were lowered to"},
    {"output_code", "generated C++"},
    {"perf_hints", "optimisations that were missed, and why"},
};

constexpr uint64_t kDebugAndWorse = 0xf;
constexpr uint64_t kInfoAndWorse = 0xe;
constexpr uint64_t kErrors = 0x8;

int Find(absl::Span<const Name> names, absl::string_view name) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

absl::Status Unknown(absl::string_view word) {
  std::vector<absl::string_view> close;
  for (const auto& names : {absl::MakeConstSpan(kComponents), absl::MakeConstSpan(kArtifacts)}) {
    for (const Name& n : names) {
      if (!word.empty() && n.name[0] == word[0]) close.push_back(n.name);
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "logs: \"", word, "\" is no component or artifact",
      close.empty() ? "" : absl::StrCat("; did you mean ", absl::StrJoin(close, " or ")),
      "? \"help\" lists them"));
}

absl::Status Apply(absl::string_view word, uint64_t* state) {
  uint64_t level = kInfoAndWorse;
  absl::string_view name = word;
  const bool debug = absl::ConsumePrefix(&name, "+");
  const bool quiet = !debug && absl::ConsumePrefix(&name, "-");
  if (debug) level = kDebugAndWorse;
  if (quiet) level = kErrors;
  const int artifact = Find(kArtifacts, name);
  if (artifact >= 0) {
    const uint64_t bit = uint64_t{1} << (4 * kNumLogComponents + artifact);
    *state = quiet ? *state & ~bit : *state | bit;
    return absl::OkStatus();
  }
  const int component = Find(kComponents, name);
  if (component < 0 && name != "all") return Unknown(word);
  for (int i = 0; i < kNumLogComponents; ++i) {
    if (component >= 0 && component != i) continue;
    *state = (*state & ~(kDebugAndWorse << 4 * i)) | level << 4 * i;
  }
  return absl::OkStatus();
}

absl::Mutex& SinkMutex() {
  static absl::Mutex& mutex = *new absl::Mutex;
  return mutex;
}
std::function<void(absl::string_view)>& Sink() {
  static auto& sink = *new std::function<void(absl::string_view)>;
  return sink;
}

void Write(char severity, absl::string_view name, absl::string_view text) {
  const std::string prefix =
      absl::StrFormat("%c%s %6d [%s] ", severity,
                      absl::FormatTime("%m%d %H:%M:%E6S", absl::Now(), absl::LocalTimeZone()),
                      static_cast<int>(syscall(SYS_gettid)), name);
  absl::MutexLock lock(&SinkMutex());
  for (absl::string_view line : absl::StrSplit(absl::StripSuffix(text, "\n"), '\n')) {
    const std::string whole = absl::StrCat(prefix, line);
    if (Sink()) {
      Sink()(whole);
    } else {
      std::fprintf(stderr, "%s\n", whole.c_str());
    }
  }
}

}  // namespace

absl::Status SetLogs(absl::string_view settings) {
  uint64_t state = 0;
  for (absl::string_view word : absl::StrSplit(settings, ',', absl::SkipWhitespace())) {
    WEFT_RETURN_IF_ERROR(Apply(absl::StripAsciiWhitespace(word), &state));
  }
  internal::log_state.store(state, std::memory_order_relaxed);
  return absl::OkStatus();
}

std::string LogsHelp() {
  std::string text =
      "Comma-separated: NAME for info and worse, +NAME also for debug lines, -NAME for\n"
      "errors alone; \"all\" is every component. An artifact is printed when it is named.\n\n"
      "Components:\n";
  for (const Name& n : kComponents) absl::StrAppendFormat(&text, "  %-12s %s\n", n.name, n.doc);
  absl::StrAppend(&text, "Artifacts:\n");
  for (const Name& n : kArtifacts) absl::StrAppendFormat(&text, "  %-12s %s\n", n.name, n.doc);
  return text;
}

void SetLogSink(std::function<void(absl::string_view line)> sink) {
  absl::MutexLock lock(&SinkMutex());
  Sink() = std::move(sink);
}

void Log(LogComponent component, LogSeverity severity, absl::string_view text) {
  if (!IsLogged(component, severity)) return;
  Write("DIWE"[static_cast<int>(severity)], kComponents[static_cast<int>(component)].name, text);
}

void Log(LogArtifact artifact, absl::string_view text) {
  if (!IsLogged(artifact)) return;
  Write('I', kArtifacts[static_cast<int>(artifact)].name, text);
}

}  // namespace weft
