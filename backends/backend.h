// The interface of backends: each says what its device can do and which settings it has, and makes
// executables.
//
// The registry is the one place that knows which backends there are. Tools take the names of
// targets, flags and default pipelines from it.
#ifndef WEFT_BACKENDS_BACKEND_H_
#define WEFT_BACKENDS_BACKEND_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/target/target.h"

namespace weft {

class Graph;
class HostTensor;
class StepObserver;

struct Plan;  // lowering/plan.h

// Settings of a backend by name ("threads"), as text. Those that are left out have their defaults.
using BackendOptions = std::map<std::string, std::string, std::less<>>;

// A setting that a backend has.
struct BackendOption {
  enum class Kind {
    kInt,     // From `least` to `most`.
    kChoice,  // One of those in `value`.
    kSwitch,  // "true" or "false".
    kText,
  };
  std::string name;  // Of the flag, and the key in BackendOptions: "f32-precision".
  Kind kind = Kind::kText;
  std::string value;          // What help calls the value: "N"; the choices: "native|avx2|avx512".
  std::string default_value;  // May be empty.
  std::string help;           // One sentence or more, without the default.
  int64_t least = 0;
  int64_t most = 0;

  // InvalidArgument says what the option takes; `shown` is its name in the message, as "--threads".
  absl::Status CheckValue(absl::string_view value, absl::string_view shown) const;
};

// Counts of an executable's life by name: "steps", "arena_bytes", "code_us" (microseconds).
using Counters = std::map<std::string, int64_t, std::less<>>;
// 0 for a counter that is not there.
int64_t CounterOf(const Counters& counters, absl::string_view name);

// A compiled program.
class Executable {
 public:
  virtual ~Executable() = default;

  // Runs on one tensor for each input. `outputs`: what the program returns, without write-backs.
  // `written`: one tensor for each input, invalid where nothing was written to it. Of inputs that
  // are marked in `donated` the caller has no use for the value after the run, and what is written
  // may lie in the input's own memory; it is then invalid in `written`. Errors that depend on the
  // inputs leave them as they were. Safe to call from several threads.
  virtual absl::Status Run(absl::Span<const HostTensor> inputs, const std::vector<bool>& donated,
                           std::vector<HostTensor>* outputs, std::vector<HostTensor>* written) = 0;

  // Returns once all code is compiled, with the error when that failed and an interpreter goes on.
  virtual absl::Status WaitForCode() { return absl::OkStatus(); }

  virtual Counters counters() const { return {}; }
};

// Hooks for checks of a backend; with the defaults the executable is an ordinary one.
struct ExecutableHooks {
  // Called between the steps of the plan; outlives the executable.
  StepObserver* observer = nullptr;
  // Red zones around every buffer, and poison in those that no step has written yet.
  bool guard_memory = false;
};

class Backend {
 public:
  virtual ~Backend() = default;

  // Its name is the backend's.
  virtual const Target& target() const = 0;
  // The pipeline that prepares a model for the target.
  virtual std::string default_pipeline() const = 0;
  virtual absl::Span<const BackendOption> options() const { return {}; }
  // False for a backend that runs graphs as they are: Compile ignores the plan.
  virtual bool runs_plans() const { return true; }

  // `graph`, which the plan is made from, and its module outlive the executable. The options have
  // been checked (CheckOptions); InvalidArgument for what this machine does not have.
  virtual absl::StatusOr<std::unique_ptr<Executable>> Compile(
      const Graph& graph, Plan plan, const BackendOptions& options,
      const ExecutableHooks& hooks = {}) const = 0;

  const std::string& name() const { return target().name; }
};

// InvalidArgument names an option that the backend does not have, and lists those that it has; or
// says what an option takes.
absl::Status CheckOptions(const Backend& backend, const BackendOptions& options);
// The value that was set, or the default. CHECK-fails for a name that is not an option.
const std::string& OptionOf(const Backend& backend, const BackendOptions& options,
                            absl::string_view name);

// Copies share the backends.
class BackendRegistry {
 public:
  // AlreadyExists for a second backend of that name.
  absl::Status Add(std::shared_ptr<const Backend> backend);
  // InvalidArgument lists the targets for another name.
  absl::StatusOr<const Backend*> Find(absl::string_view name) const;
  // In the order in which they were added.
  const std::vector<std::shared_ptr<const Backend>>& all() const { return backends_; }

 private:
  std::vector<std::shared_ptr<const Backend>> backends_;
};

}  // namespace weft

#endif  // WEFT_BACKENDS_BACKEND_H_
