// The constants of a .weftb file that a text asks for.
#ifndef WEFT_SERIALIZE_FLAT_WEFTB_CONSTANTS_H_
#define WEFT_SERIALIZE_FLAT_WEFTB_CONSTANTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "graph/tensor/tensor.h"

namespace weft {

class WeftbFile;

class WeftbConstants {
 public:
  // The file outlives this object.
  explicit WeftbConstants(const WeftbFile& file) : file_(file) {}

  // For parsers: the constant as the file has it; invalid if the file has none or it is malformed.
  HostTensor Find(uint64_t id);
  // OK unless a constant that was asked for is malformed.
  const absl::Status& status() const { return status_; }

  // The name of a constant for messages; "" if it has none.
  using NameOf = absl::FunctionRef<std::string(const HostTensor&)>;
  // Reads the data of all constants that Find gave; an error that names the file and the constant
  // if the content of one has another id.
  absl::Status CheckContents(NameOf name) const;

 private:
  const WeftbFile& file_;
  absl::Status status_;
  std::vector<uint64_t> ids_;
  std::vector<HostTensor> found_;  // By place in `ids_`.
  absl::flat_hash_map<uint64_t, size_t> places_;
};

}  // namespace weft

#endif  // WEFT_SERIALIZE_FLAT_WEFTB_CONSTANTS_H_
