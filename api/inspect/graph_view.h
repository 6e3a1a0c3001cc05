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

class GraphRecorder {
 public:
  // `title` heads the picture: the model's file.
  explicit GraphRecorder(std::string title);
  ~GraphRecorder();

  // The module as it is before the passes. ResourceExhausted when it is too large for
  // a picture, here and after passes.
  absl::Status Start(const Module& module);
  // Has the passes of a run recorded with their remarks; after Start, and with the
  // recorder outliving the run. Passes pay a copy of what they changed.
  void Record(CompileOptions* options);
  // Time and bytes of the kernels of a trace, whose events name the source nodes that they
  // stand for (serialize/html/kernel_times.h): Chrome's JSON or Weft's Perfetto form, each
  // also compressed. Errors name the file. `progress` is called now and then with the bytes
  // that were read, and the file's size.
  using FileProgress = std::function<void(int64_t done, int64_t total)>;
  absl::Status AddTrace(const std::string& path, const FileProgress& progress = nullptr);

  // The error of the source nodes `names`, joined by ',', as the ratio of signal to noise in dB:
  // the picture colours nodes by it in place of time. NaN is left out. Not with AddTrace().
  void AddError(const std::string& names, double sqnr_db);

  // The same bytes for the same module, pipeline and trace.
  std::string Html() const;
  // Of the module as it was last.
  std::string ModelExplorer() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft

#endif  // WEFT_API_INSPECT_GRAPH_VIEW_H_
