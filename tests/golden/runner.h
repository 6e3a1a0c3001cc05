// Golden tests of passes: .weft files with small functions, each followed by the expected result of
// the pass.
//
//   // pass: canonicalize
//
//   // Why this is so.
//   func @drops_double_negation(%x: f32[4]) -> f32[4] { ... }
//   // expect
//   func @drops_double_negation(%x: f32[4]) -> f32[4] { ... }
//   // -----
//   func @keeps_single_negation(%x: f32[4]) -> f32[4] { ... }
//   // expect unchanged
//
// Lines `// -----` separate cases; each is a separate module. `// pass:` is a pipeline; before it,
// `// contract: reassociating` may admit more rules than the default, `// target: cpu` compiles for
// a target, `// inputs: after` draws the inputs for the result's signature, for a pass that adds or
// removes inputs, and `// error: 0.5` is the largest difference of two floats, for a pass that
// quantizes. A case may have `// counters: rule.x=1, merged=2` and `// remark: <part of a remark>`
// below its `// expect` line.
#ifndef WEFT_TESTS_GOLDEN_RUNNER_H_
#define WEFT_TESTS_GOLDEN_RUNNER_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/target/target.h"
#include "passes/engine/pass_context.h"

namespace weft::golden {

struct Case {
  std::string name;      // Of its first function.
  int line = 0;          // In the file, where the case begins.
  std::string input;     // With the comments in front.
  std::string expected;  // Module text; empty for `unchanged`.
  bool has_expectation = false;
  std::vector<std::string> notes;  // `// counters:` and `// remark:` lines.
};

struct File {
  std::string path;
  std::string header;  // Up to and including the `// pass:` line.
  std::string pipeline;
  std::optional<NumericContract> contract;
  Target target;
  bool inputs_after = false;
  double max_error = 0;  // 0: by contract.
  std::vector<Case> cases;
};

absl::StatusOr<File> ReadFile(const std::string& path);

// Everything the head of runner.cc lists. The error says what went wrong, at
// file:line.
absl::Status RunCase(const File& file, const Case& test);
// The counters of the run, for questions about all cases.
absl::StatusOr<std::vector<std::string>> CountersOf(const File& file, const Case& test);

// The text of the file with the expectations that the pass gives now.
absl::StatusOr<std::string> Bless(const File& file);

}  // namespace weft::golden

#endif  // WEFT_TESTS_GOLDEN_RUNNER_H_
