// Log lines by component, and artifacts: whole texts (a graph, guards, generated code)
// that are printed only when a setting names them. Each layer defines its own, at
// namespace scope. Settings are PyTorch's TORCH_LOGS:
//
//   +fusion,-shapes,guards
//
// `name` is info and worse, `+name` also debug lines, `-name` errors alone; "all" stands
// for every component. An artifact is on or off. Lines go to stderr in the form of absl
// logging:
//
//   I1121 16:20:00.123456   4711 [fusion] fuse_vertical: ...
//
// All of them are off at first; a line that is off costs one load and one branch.
#ifndef WEFT_BASE_LOG_H_
#define WEFT_BASE_LOG_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace weft {

enum class LogSeverity : uint8_t { kDebug, kInfo, kWarning, kError };

// A name that settings turn on and off. Topics are objects with static storage: they are listed
// when the program starts and never leave the list. Layers that do not know each other may have
// topics of one name, which are turned on together and shown once.
class LogTopic {
 public:
  LogTopic(const LogTopic&) = delete;
  LogTopic& operator=(const LogTopic&) = delete;

  const char* name() const { return name_; }
  // The topic's line in LogsHelp().
  const char* doc() const { return doc_; }
  bool is_artifact() const { return is_artifact_; }

 protected:
  LogTopic(const char* name, const char* doc, bool is_artifact);
  // Bit s is set when lines of severity s are printed.
  bool IsOn(LogSeverity severity) const {
    return ABSL_PREDICT_FALSE(
        (severities_.load(std::memory_order_relaxed) >> static_cast<int>(severity) & 1) != 0);
  }

 private:
  friend class LogTopics;

  const char* const name_;
  const char* const doc_;
  const bool is_artifact_;
  std::atomic<uint8_t> severities_{0};
  LogTopic* const next_;
};

class LogComponent : public LogTopic {
 public:
  LogComponent(const char* name, const char* doc) : LogTopic(name, doc, false) {}
  // True if a line of this severity is printed; a test for work that only the line uses.
  bool IsLogged(LogSeverity severity = LogSeverity::kInfo) const { return IsOn(severity); }
};

class LogArtifact : public LogTopic {
 public:
  LogArtifact(const char* name, const char* doc) : LogTopic(name, doc, true) {}
  bool IsLogged() const { return IsOn(LogSeverity::kInfo); }
};

// Replaces the settings; empty text turns everything off. A word that names neither a component nor
// an artifact is InvalidArgument, and the message lists names that are similar.
absl::Status SetLogs(absl::string_view settings);
// The components and artifacts that are linked in, one a line, by name.
std::string LogsHelp();

// Replaces the receiver of log lines; stderr by default. Lines have no newline at the end. The sink
// is called from any thread, one line at a time.
void SetLogSink(std::function<void(absl::string_view line)> sink);

// Does nothing if the severity is off. Each line of a text of several lines gets the prefix.
void Log(const LogComponent& component, LogSeverity severity, absl::string_view text);
inline void Log(const LogComponent& component, absl::string_view text) {
  Log(component, LogSeverity::kInfo, text);
}
void Log(const LogArtifact& artifact, absl::string_view text);

}  // namespace weft

#endif  // WEFT_BASE_LOG_H_
