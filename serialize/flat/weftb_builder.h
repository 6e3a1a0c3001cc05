// Writes .weftb files (weftb_format.h).
#ifndef WEFT_SERIALIZE_FLAT_WEFTB_BUILDER_H_
#define WEFT_SERIALIZE_FLAT_WEFTB_BUILDER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/tensor/tensor.h"

namespace weft {

class WeftbFile;

// Collects the contents of a file. Equal contents, added in the same order, give equal bytes.
class WeftbBuilder {
 public:
  // The contents of a file without its machine code, and what was compared of it. All hashes and
  // ids are checked.
  static absl::StatusOr<WeftbBuilder> WithoutCode(const WeftbFile& file);

  // What the file says of its origin; see weftb.fbs.
  std::string producer;
  std::string pipeline;
  uint64_t source_hash = 0;
  // Comparisons with the source.
  struct Check {
    std::string product, instruction_set;
    std::vector<std::string> runs;
    uint64_t seed = 0;
    double rtol = 0;
    double atol = 0;
    double largest_error = 0;
  };
  std::vector<Check> checks;

  // The text of the module; without a call the file has none.
  void SetGraph(std::string text) { graph_ = std::move(text); }
  // `id` is the tensor's content id. Does nothing if the tensor is there already; InvalidArgument
  // if another tensor has this id.
  absl::Status AddConstant(uint64_t id, const HostTensor& tensor);
  // Adds a copy of the constant with content id `weight`, which is added as well, that has another
  // layout, for plans of the target. If there is one of this layout, that one serves.
  absl::Status AddPacked(uint64_t weight, absl::string_view layout, const HostTensor& packed,
                         int target);
  // Index of the target. Targets that are equal in all are one.
  int AddTarget(absl::string_view name, absl::string_view text,
                absl::string_view instruction_set = "");
  // AlreadyExists if the function has a plan for the target.
  absl::Status AddPlan(absl::string_view function, int target, std::string text);

  // Adds the initial value of an input of such a plan, which is added as a constant;
  // AlreadyExists if the input has one.
  absl::Status AddState(absl::string_view function, int target, int input, const HostTensor& value);

  // Adds machine code of the kernels of such a plan; AlreadyExists if it has some of this format.
  absl::Status AddCode(absl::string_view function, int target, absl::string_view format,
                       std::string code);

  // Writes the file whole or not at all (base/output_file.h).
  absl::Status Write(const std::string& path) const;
  // The bytes of the file.
  absl::StatusOr<std::string> Bytes() const;

 private:
  struct Constant {
    uint64_t id = 0;
    HostTensor tensor;  // Dense.
  };
  struct Target {
    std::string name, text, instruction_set;
  };
  struct Plan {
    std::string function;
    int target = 0;
    std::string text;
  };
  struct Packed {
    uint64_t weight = 0;
    uint64_t packed = 0;
    std::string layout;
    std::string instruction_set;
  };
  struct Code {
    int plan = 0;
    std::string format, bytes;
  };
  struct State {
    int plan = 0;
    int input = 0;
    uint64_t constant = 0;
  };
  struct Layout;

  // The index of the plan, which has been added.
  int IndexOf(absl::string_view function, int target) const;

  // The contents of the segments before that of the constants.
  std::vector<absl::string_view> Texts() const;
  Layout MakeLayout(int64_t meta_bytes) const;
  absl::Status CheckLimits() const;
  std::string MakeMeta(const Layout& layout) const;
  // Gives the parts of the file in ascending order to `put`; the gaps between them are zeros.
  absl::Status Emit(
      absl::FunctionRef<absl::Status(int64_t offset, absl::string_view bytes)> put) const;

  std::optional<std::string> graph_;
  std::vector<Constant> constants_;
  absl::flat_hash_map<uint64_t, size_t> by_id_;
  std::vector<Target> targets_;
  std::vector<Plan> plans_;
  std::vector<Packed> packed_;
  std::vector<Code> codes_;
  std::vector<State> states_;
};

}  // namespace weft

#endif  // WEFT_SERIALIZE_FLAT_WEFTB_BUILDER_H_
