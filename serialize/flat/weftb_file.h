// Reads .weftb files (weftb_format.h).
//
// The file is mapped, and its description checked whole when it is opened: FlatBuffers' verifier,
// then what that does not check (weftb_check.h). Texts and machine code are checked against their
// hashes when they are asked for. Constants are views of the mapping; those who read modules
// (weftb_module.h) and plans (weftb_plan.h) check them against their content ids. The file must not
// be changed while it is in use: a process that reads behind the end of a file that has become
// shorter is ended by the system.
#ifndef WEFT_SERIALIZE_FLAT_WEFTB_FILE_H_
#define WEFT_SERIALIZE_FLAT_WEFTB_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/tensor/dtype.h"

namespace weft {

class HostBuffer;
class HostTensor;
class MappedMemory;

// The contents of a checked description. Strings and spans lie in the file.
struct WeftbContents {
  struct Segment {
    int64_t offset = 0;
    int64_t bytes = 0;
    uint64_t hash = 0;
  };
  struct Constant {
    uint64_t id = 0;
    DType dtype = DType::kF32;
    absl::Span<const int64_t> dims;
    int64_t offset = 0;  // In the file.
    int64_t bytes = 0;
  };
  struct Target {
    absl::string_view name, text;
    absl::string_view instruction_set;  // "" if it is not known.
  };
  struct Plan {
    absl::string_view function;
    int target = 0;
    int segment = 0;
  };
  struct Packed {
    uint64_t weight = 0;  // Ids of constants.
    uint64_t packed = 0;
    absl::string_view layout, instruction_set;
  };
  struct Code {
    int plan = 0;
    int segment = 0;
    absl::string_view format;
  };
  struct State {
    int plan = 0;
    int input = 0;
    uint64_t constant = 0;  // Id.
  };
  struct Check {
    absl::string_view product, instruction_set;
    std::vector<absl::string_view> runs;
    uint64_t seed = 0;
    double rtol = 0;
    double atol = 0;
    double largest_error = 0;
  };
  uint16_t minor = 0;  // The minor version that the file was written in.
  absl::string_view producer, pipeline;
  uint64_t source_hash = 0;
  std::vector<Segment> segments;
  std::vector<Constant> constants;
  int graph = -1;  // Index of a segment; -1: none.
  std::vector<Target> targets;
  std::vector<Plan> plans;
  std::vector<Packed> packed;
  std::vector<Code> codes;
  std::vector<State> states;
  std::vector<Check> checks;
};

class WeftbFile {
 public:
  // Errors name the file. InvalidArgument for bytes that are not a valid file, Unimplemented for
  // one of another major version.
  static absl::StatusOr<std::shared_ptr<const WeftbFile>> Open(const std::string& path);
  // The same for bytes that the file and its constants keep; `name` stands for the path.
  // `is_mapped`: they are a part of a mapped file that nobody writes to, so pages of constants that
  // have become others can be given back to the system.
  static absl::StatusOr<std::shared_ptr<const WeftbFile>> View(std::shared_ptr<HostBuffer> bytes,
                                                               const std::string& name,
                                                               bool is_mapped = false);
  // The same for bytes in memory, which are copied.
  static absl::StatusOr<std::shared_ptr<const WeftbFile>> Parse(absl::string_view bytes,
                                                                const std::string& name);
  ~WeftbFile();

  const std::string& name() const { return name_; }
  const WeftbContents& contents() const { return contents_; }

  // The text in a segment, as long as this object lives; an error if its hash differs.
  absl::StatusOr<absl::string_view> Text(int segment) const;
  // The same for the machine code of the plan with that index in a format; NotFound if it has none.
  absl::StatusOr<absl::string_view> Code(int plan, absl::string_view format) const;
  // The constant with this content id, which keeps the mapping alive. NotFound if there is none;
  // InvalidArgument for a bool that is neither 0 nor 1. The content is not checked against the id.
  absl::StatusOr<HostTensor> Constant(uint64_t id) const;
  // Reads everything: OK if all texts, codes and constants have their hashes and ids.
  absl::Status CheckAll() const;

 private:
  WeftbFile(std::string name, std::shared_ptr<HostBuffer> bytes);
  absl::Status Check();
  // `what` the segment holds.
  absl::StatusOr<absl::string_view> Hashed(int segment, absl::string_view what) const;

  const std::string name_;
  const std::shared_ptr<HostBuffer> bytes_;
  std::shared_ptr<MappedMemory> mapping_;  // Null for bytes in memory.
  WeftbContents contents_;
  absl::flat_hash_map<uint64_t, size_t> by_id_;
};

}  // namespace weft

#endif  // WEFT_SERIALIZE_FLAT_WEFTB_FILE_H_
