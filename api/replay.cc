#include "api/replay.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "api/verify_level.h"
#include "api/version.h"
#include "base/annotate.h"
#include "base/output_file.h"
#include "base/shell_quote.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/module.h"
#include "graph/target/target_text.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"

namespace weft {
namespace {

constexpr absl::string_view kFirstLine = "// weft replay";
constexpr int64_t kSmallNodes = 2000;
constexpr int64_t kSmallBytes = 1 << 20;

// False if the value is not valid for the key. Unknown keys are ignored.
bool SetField(absl::string_view key, absl::string_view value, Replay* replay) {
  if (key == "reason") replay->reason = std::string(value);
  if (key == "passes") replay->passes = std::string(value);
  if (key == "plugin") replay->plugins.emplace_back(value);
  if (key == "rules") replay->rules = std::string(value);
  if (key == "verify") {
    replay->verify = std::string(value);
    return ParseVerifyLevel(value).has_value();
  }
  if (key == "seed") return absl::SimpleAtoi(value, &replay->seed);
  if (key == "rewrite_limit") {
    return absl::SimpleAtoi(value, &replay->context.rewrite_limit);
  }
  if (key == "budget") return absl::SimpleAtoi(value, &replay->context.budget);
  if (key == "strict") return absl::SimpleAtob(value, &replay->context.strict);
  if (key == "target") {
    auto target = ParseTarget(value);
    if (target.ok()) replay->context.target = *std::move(target);
    return target.ok();
  }
  if (key == "admitted") {
    const auto contract = ParseNumericContract(value);
    replay->context.admitted = contract;
    return contract.has_value();
  }
  return true;
}

// The command that replays the file at `path`, with the required plugins.
std::string ReplayCommand(const Replay& replay, absl::string_view path) {
  std::string command = absl::StrCat("opt --replay=", ShellQuote(path));
  for (const std::string& plugin : replay.plugins) {
    absl::StrAppend(&command, " --load=", ShellQuote(plugin));
  }
  return command;
}

std::string OneLine(absl::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

}  // namespace

std::string ReplayHead(const Replay& replay, absl::string_view path) {
  const auto& context = replay.context;
  std::string sources;
  for (const std::string& plugin : replay.plugins) {
    absl::StrAppend(&sources, "\n// plugin: ", plugin);
  }
  if (!replay.rules.empty()) absl::StrAppend(&sources, "\n// rules: ", replay.rules);
  if (!context.target.name.empty()) {
    // Written on one line, which is possible because the text has no comments.
    absl::StrAppend(
        &sources, "\n// target: ", absl::StrReplaceAll(PrintTarget(context.target), {{"\n", " "}}));
  }
  const std::string admitted =
      context.admitted ? absl::StrCat("\n// admitted: ", NumericContractName(*context.admitted))
                       : "";
  return absl::StrCat(
      kFirstLine, "\n// version: ", kVersion, "\n// reason: ", OneLine(replay.reason),
      "\n// passes: ", replay.passes, "\n// verify: ", replay.verify, "\n// seed: ", replay.seed,
      admitted, "\n// strict: ", context.strict ? "true" : "false",
      "\n// rewrite_limit: ", context.rewrite_limit, "\n// budget: ", context.budget, sources,
      "\n// command: ", OneLine(ReplayCommand(replay, path)), "\n");
}

absl::StatusOr<Replay> ParseReplayHead(absl::string_view text) {
  Replay replay;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (++number == 1) {
      if (line == kFirstLine) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("line 1: a replay file begins with \"", kFirstLine, "\""));
    }
    if (!absl::ConsumePrefix(&line, "// ")) break;
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(line, absl::MaxSplits(": ", 1));
    if (!SetField(field.first, field.second, &replay)) {
      return absl::InvalidArgumentError(absl::StrCat("line ", number, ": bad value of ",
                                                     field.first, ": \"", field.second, "\""));
    }
  }
  return replay;
}

absl::StatusOr<Replay> LoadReplay(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
  std::ostringstream text;
  std::string line;
  while (std::getline(file, line) && absl::StartsWith(line, "//")) text << line << '\n';
  if (text.str().empty()) text << line;
  auto replay = ParseReplayHead(text.str());
  if (replay.ok()) return replay;
  return Annotate(replay.status(), path);
}

ReplayRecorder::~ReplayRecorder() {
  if (options_.crashes && !options_.folder.empty()) ArmCrashFile(nullptr);
}

bool ReplayRecorder::IsSmall(const Module& module) const {
  if (module.num_nodes() > kSmallNodes) return false;
  int64_t bytes = 0;
  for (int i = 0; i < module.constants().size(); ++i) {
    bytes += module.constants().tensor(i).bytes();
  }
  return bytes <= kSmallBytes;
}

bool ReplayRecorder::KeepBody(const Module& module) {
  if (!options_.any_size && !IsSmall(module)) return false;
  if (stale_) file_.body = PrintModule(module);
  stale_ = false;
  return true;
}

Replay ReplayRecorder::ReplayOf(const std::string& passes, const PassContext& context) const {
  Replay replay = base_;
  replay.passes = passes;
  int64_t& limit = replay.context.rewrite_limit;
  if (limit >= 0) limit -= context.num_rewrites();
  return replay;
}

std::string ReplayRecorder::PathOf(const std::string& path) const {
  return absl::StrCat(options_.folder, "/replay.", path, ".weft");
}

void ReplayRecorder::BeforePass(const PassReport& report, const Module& module,
                                const PassContext& context) {
  if (options_.folder.empty()) return;
  if (options_.crashes) ArmCrashFile(nullptr);
  running_ = true;
  kept_ = KeepBody(module);
  if (!kept_) return;
  current_ = ReplayOf(report.text, context);
  current_.reason = absl::StrCat("crash in ", report.path);
  file_.path = PathOf(report.path);
  file_.head = ReplayHead(current_, file_.path);
  file_.message = absl::StrCat("crash in ", report.path,
                               "; replay: ", ReplayCommand(current_, file_.path), "\n");
  if (options_.crashes) ArmCrashFile(&file_);
}

void ReplayRecorder::AfterPass(const PassReport& report) {
  running_ = false;
  if (report.changed) stale_ = true;
}

void ReplayRecorder::BeforeFixpoint(const std::string& path, const std::string& text,
                                    const Module& module, const PassContext& context) {
  Record record;
  if (!options_.folder.empty()) {
    if (options_.crashes) ArmCrashFile(nullptr);
    if (KeepBody(module)) record = {ReplayOf(text, context), PathOf(path), file_.body};
  }
  fixpoints_.push_back(std::move(record));
}

absl::Status ReplayRecorder::Failed(const absl::Status& status) {
  if (options_.folder.empty()) return status;
  if (running_) return Write(status, {current_, file_.path, kept_ ? file_.body : ""});
  return fixpoints_.empty() ? status : Write(status, fixpoints_.back());
}

absl::Status ReplayRecorder::Write(const absl::Status& status, Record record) {
  if (record.body.empty()) {
    return absl::Status(status.code(),
                        absl::StrCat(status.message(),
                                     "\nreplay: --replay-dir=DIR writes a file that runs the "
                                     "pass again"));
  }
  record.replay.reason = std::string(status.message());
  const absl::Status written =
      WriteFile(record.path, absl::StrCat(ReplayHead(record.replay, record.path), record.body));
  const std::string how =
      written.ok() ? ReplayCommand(record.replay, record.path) : std::string(written.message());
  return absl::Status(status.code(), absl::StrCat(status.message(), "\nreplay: ", how));
}

}  // namespace weft
