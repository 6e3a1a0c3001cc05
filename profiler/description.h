// Properties of an op or kernel that are known before it runs. They are registered once, so that an
// event carries only an id.
#ifndef WEFT_PROFILER_DESCRIPTION_H_
#define WEFT_PROFILER_DESCRIPTION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weft::profiler {

// 0: no description.
using DescriptionId = uint32_t;

// One operand or result, in the format of Kineto's `Input ...` lists.
struct TensorDescription {
  std::string type;  // "float", "long int", "Scalar", "ScalarList", "" ...
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;
  std::string value;  // Value of a scalar or of a list of integers; else empty.
};

// All fields are optional; -1 and empty mean unknown.
struct Description {
  std::vector<TensorDescription> inputs;
  std::vector<TensorDescription> outputs;
  int64_t flops = -1;
  int64_t bytes = -1;  // Bytes read and written by one run.
  int threads = -1;
  std::string kernel;                                    // "interpreter", "generated", "onednn" ...
  std::vector<std::pair<std::string, int64_t>> symbols;  // Sizes that are symbolic in the program.
  // The source nodes of the work, and the rules that transformed them.
  std::vector<std::string> provenance;
  std::vector<std::string> rules;
  // Further facts, as of a kernel's launch: key, which is written as it is, and JSON value.
  std::vector<std::pair<std::string, std::string>> facts;
};

// Owns a registered description. The id stays valid until the handle is destroyed and the session
// that is recording then has ended; after that it may be reused.
class DescriptionHandle {
 public:
  DescriptionHandle() = default;
  explicit DescriptionHandle(Description description);
  DescriptionHandle(DescriptionHandle&& other) noexcept : id_(std::exchange(other.id_, 0)) {}
  DescriptionHandle& operator=(DescriptionHandle&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~DescriptionHandle();

  DescriptionId id() const { return id_; }

 private:
  DescriptionId id_ = 0;
};

// For descriptions that are known only at run time: equal descriptions have one id, which is valid
// until the session that is recording ends. Returns 0 outside of sessions.
DescriptionId InternDescription(Description description);

namespace internal {
// Null for 0 and for an unused id.
std::shared_ptr<const Description> FindDescription(DescriptionId id);
// Ids stay valid from HoldDescriptions() to ReleaseDescriptions().
void HoldDescriptions();
void ReleaseDescriptions();
int64_t NumDescriptions();
}  // namespace internal

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_DESCRIPTION_H_
