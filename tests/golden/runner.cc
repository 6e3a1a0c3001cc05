// For each case: the input parses, verifies, and prints and parses back; the pipeline runs, and its
// result verifies and equals the expected one; a second run changes nothing; two runs from the text
// give the same bytes; and both graphs compute the same on seeded inputs, for several values of the
// symbols.
#include "tests/golden/runner.h"

#include <fstream>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "api/backends.h"
#include "base/status_macros.h"
#include "graph/ir/module.h"
#include "graph/ops/registry.h"
#include "graph/text/text.h"
#include "graph/verify/verifier.h"
#include "passes/engine/pass_manager.h"
#include "passes/pipelines.h"
#include "tests/golden/semantics.h"

namespace weft::golden {
namespace {

constexpr absl::string_view kSeparator = "// -----";
constexpr absl::string_view kExpect = "// expect";
constexpr absl::string_view kPass = "// pass:";
constexpr absl::string_view kInputsAfter = "// inputs: after";
constexpr absl::string_view kError = "// error:";
constexpr absl::string_view kContract = "// contract:";
constexpr absl::string_view kTarget = "// target:";

bool IsNote(absl::string_view line) {
  return absl::StartsWith(line, "// counters:") || absl::StartsWith(line, "// remark:");
}

absl::Status At(const File& file, const Case& test, absl::string_view what,
                absl::string_view message) {
  return absl::InternalError(
      absl::StrCat(file.path, ":", test.line, ": @", test.name, ": ", what, ": ", message));
}

std::string FunctionName(absl::string_view text) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::ConsumePrefix(&line, "func @")) continue;
    return std::string(line.substr(0, line.find('(')));
  }
  return "";
}

Case ParseCase(const std::vector<absl::string_view>& lines, int line) {
  Case test;
  test.line = line;
  std::string* target = &test.input;
  for (absl::string_view text : lines) {
    if (absl::StartsWith(text, kExpect)) {
      test.has_expectation = true;
      target = &test.expected;
    } else if (test.has_expectation && IsNote(text)) {
      test.notes.emplace_back(text);
    } else if (!target->empty() || !text.empty()) {
      absl::StrAppend(target, text, "\n");
    }
  }
  test.name = FunctionName(test.input);
  return test;
}

absl::StatusOr<std::unique_ptr<Module>> Parse(const std::string& text) {
  WEFT_ASSIGN_OR_RETURN(auto module, ParseModule(text, ops::Registry()));
  WEFT_RETURN_IF_ERROR(Verify(*module));
  return module;
}

// The text, read and printed.
absl::StatusOr<std::string> Normalized(const std::string& text) {
  WEFT_ASSIGN_OR_RETURN(auto module, Parse(text));
  return PrintModule(*module);
}

struct Outcome {
  std::unique_ptr<Module> module;
  std::string text;
  PipelineReport report;
  std::vector<Remark> remarks;
  NumericContract fired = NumericContract::kBitExact;
};

absl::Status RunPipeline(const File& file, Outcome* outcome) {
  WEFT_ASSIGN_OR_RETURN(Pipeline parsed, Pipeline::Parse(file.pipeline, BuiltinPasses()));
  PassContext::Options options;
  options.admitted = file.contract;
  options.target = file.target;
  options.strict = true;
  options.remarks = true;
  PassContext context(options);
  outcome->report = PipelineReport();
  WEFT_RETURN_IF_ERROR(
      PassManager(std::move(parsed)).Run(*outcome->module, context, &outcome->report));
  for (const PassReport& pass : outcome->report.passes) {
    outcome->fired = std::max(outcome->fired, pass.fired);
  }
  outcome->remarks = context.TakeRemarks();
  outcome->text = PrintModule(*outcome->module);
  return Verify(*outcome->module);
}

absl::StatusOr<Outcome> Transform(const File& file, const std::string& text) {
  Outcome outcome;
  WEFT_ASSIGN_OR_RETURN(outcome.module, Parse(text));
  WEFT_RETURN_IF_ERROR(RunPipeline(file, &outcome));
  return outcome;
}

bool Changed(const PipelineReport& report) {
  for (const PassReport& pass : report.passes) {
    if (pass.changed) return true;
  }
  return false;
}

// A `// counters: a=1, b=2` or `// remark: text` line.
absl::Status CheckNote(absl::string_view note, const Outcome& outcome) {
  if (absl::ConsumePrefix(&note, "// remark:")) {
    note = absl::StripAsciiWhitespace(note);
    std::vector<std::string> remarks;
    for (const Remark& remark : outcome.remarks) {
      remarks.push_back(remark.ToString());
      if (absl::StrContains(remarks.back(), note)) return absl::OkStatus();
    }
    return absl::InternalError(absl::StrCat("no remark has \"", note, "\"; there are:\n  ",
                                            absl::StrJoin(remarks, "\n  ")));
  }
  absl::ConsumePrefix(&note, "// counters:");
  for (absl::string_view entry : absl::StrSplit(note, ',')) {
    const std::vector<absl::string_view> parts =
        absl::StrSplit(absl::StripAsciiWhitespace(entry), '=');
    if (parts.size() != 2) return absl::InternalError("not `name=number`");
    const int64_t got = outcome.report.Counter(parts[0]);
    if (absl::StrCat(got) == parts[1]) continue;
    return absl::InternalError(
        absl::StrCat(parts[0], " is ", got, "\n", outcome.report.ToString()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<File> ReadFile(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  File file;
  file.path = path;
  std::vector<absl::string_view> lines;
  int number = 0, first = 0;
  const auto finish = [&] {
    Case test = ParseCase(lines, first);
    if (!test.name.empty()) file.cases.push_back(std::move(test));
    lines.clear();
  };
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (file.pipeline.empty()) {
      absl::StrAppend(&file.header, line, "\n");
      if (absl::ConsumePrefix(&line, kContract)) {
        line = absl::StripAsciiWhitespace(line);
        file.contract = ParseNumericContract(line);
        if (!file.contract) {
          return absl::InvalidArgumentError(absl::StrCat(path, ": unknown contract ", line));
        }
      }
      if (absl::ConsumePrefix(&line, kTarget)) {
        WEFT_ASSIGN_OR_RETURN(const Backend* backend,
                              BuiltinBackends().Find(absl::StripAsciiWhitespace(line)));
        file.target = backend->target();
      }
      file.inputs_after |= line == kInputsAfter;
      if (absl::ConsumePrefix(&line, kError) && !absl::SimpleAtod(line, &file.max_error)) {
        return absl::InvalidArgumentError(absl::StrCat(path, ": no number: ", line));
      }
      if (absl::ConsumePrefix(&line, kPass)) {
        file.pipeline = std::string(absl::StripAsciiWhitespace(line));
      }
      continue;
    }
    if (line == kSeparator) {
      finish();
      continue;
    }
    if (lines.empty()) first = number;
    lines.push_back(line);
  }
  finish();
  if (file.cases.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": no `// pass:` line or no function"));
  }
  return file;
}

absl::Status RunCase(const File& file, const Case& test) {
  if (!test.has_expectation) {
    return At(file, test, "expectation", "missing; run //tests/golden:bless");
  }
  auto input = Normalized(test.input);
  if (!input.ok()) return At(file, test, "input", input.status().message());
  auto again = Normalized(*input);
  if (!again.ok() || *again != *input) {
    return At(file, test, "print and parse back",
              again.ok() ? *again : std::string(again.status().message()));
  }
  auto outcome = Transform(file, test.input);
  if (!outcome.ok()) {
    return At(file, test, file.pipeline, outcome.status().message());
  }
  auto expected = test.expected.empty() ? input : Normalized(test.expected);
  if (!expected.ok()) {
    return At(file, test, "expectation", expected.status().message());
  }
  if (outcome->text != *expected) {
    return At(file, test, "result", absl::StrCat("expected\n", *expected, "got\n", outcome->text));
  }
  for (const std::string& note : test.notes) {
    absl::Status status = CheckNote(note, *outcome);
    if (!status.ok()) return At(file, test, note, status.message());
  }
  auto twin = Transform(file, test.input);
  if (!twin.ok() || twin->text != outcome->text) {
    return At(file, test, "second compilation", "gives another text");
  }
  absl::Status status = RunPipeline(file, &*twin);
  if (!status.ok() || Changed(twin->report)) {
    return At(file, test, "second run",
              status.ok() ? absl::StrCat("changes something\n", twin->report.ToString(), twin->text)
                          : std::string(status.message()));
  }
  auto before = Parse(test.input);
  const Module& inputs = file.inputs_after ? *outcome->module : **before;
  status = CheckSameResults(**before, *outcome->module, outcome->fired, inputs, file.max_error);
  if (!status.ok()) return At(file, test, "semantics", status.message());
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> CountersOf(const File& file, const Case& test) {
  WEFT_ASSIGN_OR_RETURN(const Outcome outcome, Transform(file, test.input));
  std::vector<std::string> names;
  for (const PassReport& pass : outcome.report.passes) {
    for (const auto& [name, n] : pass.counters) names.push_back(name);
  }
  return names;
}

absl::StatusOr<std::string> Bless(const File& file) {
  std::string text = file.header;
  for (const Case& test : file.cases) {
    if (&test != &file.cases.front()) absl::StrAppend(&text, kSeparator, "\n");
    auto input = Normalized(test.input);
    if (!input.ok()) return At(file, test, "input", input.status().message());
    auto outcome = Transform(file, test.input);
    if (!outcome.ok()) {
      return At(file, test, file.pipeline, outcome.status().message());
    }
    std::string body = test.input;
    while (absl::EndsWith(body, "\n\n")) body.pop_back();
    const bool unchanged = outcome->text == *input;
    absl::StrAppend(&text, &test == &file.cases.front() ? "\n" : "", body, kExpect,
                    unchanged ? " unchanged" : "", "\n");
    for (const std::string& note : test.notes) {
      absl::StrAppend(&text, note, "\n");
    }
    if (!unchanged) absl::StrAppend(&text, outcome->text);
  }
  return text;
}

}  // namespace weft::golden
