// Any bytes as a torch.export archive: a module or a status, never a crash. The
// same bytes also stand for the program's text alone, and for a pickle, so that
// mutations of these need no right checksums.
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "graph/ir/module.h"
#include "serialize/pt2/exported_program.h"
#include "serialize/pt2/pickle.h"
#include "serialize/pt2/pt2.h"
#include "serialize/pt2/sympy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weft::Pt2ImportOptions options;
  options.max_entries = 1000;
  options.max_inflated_bytes = 1 << 20;
  options.max_json_bytes = 1 << 20;
  options.max_nodes = 1000;
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  weft::ImportPt2Bytes(bytes, options).status().IgnoreError();
  weft::pt2::ParseExportedProgram(bytes, "fuzz").status().IgnoreError();
  weft::pt2::ReadPickledTensors(bytes, "fuzz").status().IgnoreError();
  weft::pt2::ParseSympy(bytes,
                        [](absl::string_view name) {
                          return absl::StatusOr<weft::SymInt>(weft::SymInt::Symbol("s0"));
                        })
      .status()
      .IgnoreError();
  return 0;
}
