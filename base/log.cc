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

// The list of all topics. Its head is initialised before any of them is made.
class LogTopics {
 public:
  static LogTopic* Push(LogTopic* topic) { return std::exchange(head_, topic); }

  // All topics, sorted by name.
  static std::vector<LogTopic*> All() {
    std::vector<LogTopic*> all;
    for (LogTopic* topic = head_; topic != nullptr; topic = topic->next_) all.push_back(topic);
    std::sort(all.begin(), all.end(), [](const LogTopic* a, const LogTopic* b) {
      return absl::string_view(a->name()) < b->name();
    });
    return all;
  }

  static void Set(LogTopic* topic, uint8_t severities) {
    topic->severities_.store(severities, std::memory_order_relaxed);
  }

 private:
  static LogTopic* head_;
};

LogTopic* LogTopics::head_ = nullptr;

LogTopic::LogTopic(const char* name, const char* doc, bool is_artifact)
    : name_(name), doc_(doc), is_artifact_(is_artifact), next_(LogTopics::Push(this)) {}

namespace {

constexpr uint8_t kDebugAndWorse = 0xf;
constexpr uint8_t kInfoAndWorse = 0xe;
constexpr uint8_t kErrors = 0x8;

// The severities of each topic that settings turn on.
using Settings = std::vector<std::pair<LogTopic*, uint8_t>>;

absl::Status Unknown(absl::string_view word, const Settings& settings) {
  std::vector<absl::string_view> close;
  for (const auto& [topic, unused] : settings) {
    const absl::string_view name = topic->name();
    const bool listed = !close.empty() && close.back() == name;
    if (!word.empty() && name[0] == word[0] && !listed) close.push_back(name);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "logs: \"", word, "\" is no component or artifact",
      close.empty() ? ";" : absl::StrCat("; did you mean ", absl::StrJoin(close, " or "), "?"),
      " \"help\" lists them"));
}

absl::Status Apply(absl::string_view word, Settings* settings) {
  absl::string_view name = word;
  const bool debug = absl::ConsumePrefix(&name, "+");
  const bool quiet = !debug && absl::ConsumePrefix(&name, "-");
  const uint8_t level = debug ? kDebugAndWorse : quiet ? kErrors : kInfoAndWorse;
  bool found = name == "all";
  for (auto& [topic, severities] : *settings) {
    const bool named = name == topic->name();
    if (!named && (name != "all" || topic->is_artifact())) continue;
    found = true;
    severities = !topic->is_artifact() ? level : quiet ? 0 : kInfoAndWorse;
  }
  return found ? absl::OkStatus() : Unknown(word, *settings);
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

absl::Status SetLogs(absl::string_view text) {
  Settings settings;
  for (LogTopic* topic : LogTopics::All()) settings.emplace_back(topic, 0);
  for (absl::string_view word : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    WEFT_RETURN_IF_ERROR(Apply(absl::StripAsciiWhitespace(word), &settings));
  }
  for (const auto& [topic, severities] : settings) LogTopics::Set(topic, severities);
  return absl::OkStatus();
}

std::string LogsHelp() {
  std::string text =
      "Comma-separated: NAME for info and worse, +NAME also for debug lines, -NAME for\n"
      "errors alone; \"all\" is every component. An artifact is printed when it is named.\n\n"
      "Components:\n";
  std::string artifacts = "Artifacts:\n";
  absl::string_view last;
  for (const LogTopic* topic : LogTopics::All()) {
    if (last == topic->name()) continue;
    last = topic->name();
    absl::StrAppendFormat(topic->is_artifact() ? &artifacts : &text, "  %-12s %s\n", topic->name(),
                          topic->doc());
  }
  return text + artifacts;
}

void SetLogSink(std::function<void(absl::string_view line)> sink) {
  absl::MutexLock lock(&SinkMutex());
  Sink() = std::move(sink);
}

void Log(const LogComponent& component, LogSeverity severity, absl::string_view text) {
  if (!component.IsLogged(severity)) return;
  Write("DIWE"[static_cast<int>(severity)], component.name(), text);
}

void Log(const LogArtifact& artifact, absl::string_view text) {
  if (!artifact.IsLogged()) return;
  Write('I', artifact.name(), text);
}

}  // namespace weft
