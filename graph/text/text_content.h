// The text form of modules whose large constants lie elsewhere, by content id:
//
//   constants {
//     @c0 "fc.weight" : f32[128, 64] = content 0x8c1f2e90a4b7d365
//   }
//
// All else is as in text.h. Such text parses back where the tensors are given.
#ifndef WEFT_GRAPH_TEXT_TEXT_CONTENT_H_
#define WEFT_GRAPH_TEXT_TEXT_CONTENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/tensor/type.h"
#include "graph/text/text.h"

namespace weft {

class HostTensor;

struct ContentText {
  struct Constant {
    uint64_t id = 0;  // HostTensor::Fingerprint.
    int index = 0;    // Index in the module's store.
  };
  std::string text;
  std::vector<Constant> constants;  // Those that the text mentions by id, in its order.
};

// Reads the data of the large constants to compute their ids. `options.constants` is not used.
ContentText PrintModuleByContent(const Module& module, const PrintOptions& options = {});

// The constant with a content id and a type, which is static; an invalid tensor if there is none.
using ContentSource = absl::FunctionRef<HostTensor(uint64_t id, Type type)>;

// ParseModule() for this form. A constant that is missing, or that has another type or content, is
// an error at its place in the text.
absl::StatusOr<std::unique_ptr<Module>> ParseModuleByContent(absl::string_view text,
                                                             const OpRegistry& registry,
                                                             ContentSource source,
                                                             absl::string_view filename = "<text>");

}  // namespace weft

#endif  // WEFT_GRAPH_TEXT_TEXT_CONTENT_H_
