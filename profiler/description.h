// What is known of an op or a kernel before it runs: registered once, so that an event that it
// records costs only an id.
#ifndef WEFT_PROFILER_DESCRIPTION_H_
#define WEFT_PROFILER_DESCRIPTION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weft::profiler {

// 0: none.
using DescriptionId = uint32_t;

// One operand or result, in the terms of Kineto's `Input ...` lists.
struct TensorDescription {
  std::string type;  // "float", "long int", "Scalar", "ScalarList", "" ...
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;
  std::string value;  // Of a scalar or a list of integers; else empty.
};

// Everything is optional; -1 and empty mean unknown.
struct Description {
  std::vector<TensorDescription> inputs;
  std::vector<TensorDescription> outputs;
  int64_t flops = -1;
  int64_t bytes = -1;  // Read and written by one run.
  int threads = -1;
  std::string kernel;                                    // "interpreter", "generated", "onednn" ...
  std::vector<std::pair<std::string, int64_t>> symbols;  // Sizes that are symbolic in the program.
  // The source-model nodes that the work stands for, and the rules that made it of them.
  std::vector<std::string> provenance;
  std::vector<std::string> rules;
};

// Holds a registered description. Ids of handles that are gone stay good until the session that
// is recording ends, and are given again after that.
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

// For what is known only when it runs: equal descriptions have one id, which is good until the
// session that is recording ends. 0 outside of sessions.
DescriptionId InternDescription(Description description);

namespace internal {
// Null for 0 and for an id that is not in use.
std::shared_ptr<const Description> FindDescription(DescriptionId id);
// Ids are kept from the first to the second.
void HoldDescriptions();
void ReleaseDescriptions();
int64_t NumDescriptions();
}  // namespace internal

}  // namespace weft::profiler

#endif  // WEFT_PROFILER_DESCRIPTION_H_
