// Pictures of what a pipeline does to a module: one HTML file with a snapshot after
// each pass that changed something, and Model Explorer's JSON.
#ifndef WEFT_API_INSPECT_GRAPH_VIEW_H_
#define WEFT_API_INSPECT_GRAPH_VIEW_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "api/compiler.h"

namespace weft {

class Module;
struct Target;

class GraphRecorder {
 public:
  // `title` is the heading of the picture, usually the model's file.
  explicit GraphRecorder(std::string title);
  ~GraphRecorder();

  // Takes the first snapshot, before the passes. ResourceExhausted if a module is too large for a
  // picture, here or after a pass.
  absl::Status Start(const Module& module);
  // Records the passes of a run with their remarks. Must be called after Start, and the recorder
  // must outlive the run. Each pass takes additional time for a copy of its changes.
  enum class PassTimes { kOfTrace, kMeasured };
  void Record(CompileOptions* options, PassTimes times = PassTimes::kOfTrace);
  // Adds the kernels of a trace, its timeline, and the times of the passes that it has
  // (serialize/html/trace_reader.h). Must be called before the passes run. The trace is Chrome's
  // JSON or Weft's Perfetto form, each also compressed. Errors name the file; it is one if no
  // kernel names a source node of the module that Start got. `progress` is called from time to time
  // with the bytes read and the file's size.
  using FileProgress = std::function<void(int64_t done, int64_t total)>;
  absl::Status AddTrace(const std::string& path, const FileProgress& progress = nullptr);

  // Adds the plan of the module after the passes, for the target: what its kernels run, and which
  // nodes the kernels of a trace stand for. An error if the module cannot be lowered.
  absl::Status AddPlan(const Module& module, const Target& target);

  // The error of the source nodes `names`, joined by ',', as the ratio of signal to noise in dB:
  // the picture colours nodes by it in place of time. NaN is left out. Not with AddTrace().
  void AddError(const std::string& names, double sqnr_db);

  // The same bytes for the same module, pipeline and trace, unless pass times are measured.
  std::string Html() const;
  // Model Explorer's JSON of the last snapshot.
  std::string ModelExplorer() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft

#endif  // WEFT_API_INSPECT_GRAPH_VIEW_H_
