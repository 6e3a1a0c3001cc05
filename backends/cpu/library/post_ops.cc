// The functions of oneDNN that compute ops of epilogues.
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "backends/cpu/library/library_internal.h"
#include "graph/ir/attr.h"
#include "graph/ir/op_schema.h"

namespace weft::cpu {
namespace {

struct PlainFunction {
  const char* op;
  DnnFunction function;
  float alpha = 0;
};

// Ops without attributes that the function depends on.
constexpr PlainFunction kPlain[] = {
    {"relu", DnnFunction::kRelu},
    {"tanh", DnnFunction::kTanh},
    {"sigmoid", DnnFunction::kSigmoid},
    {"silu", DnnFunction::kSwish, 1},
    {"hardswish", DnnFunction::kHardSwish},
    {"abs", DnnFunction::kAbs},
    {"exp", DnnFunction::kExp},
    {"sqrt", DnnFunction::kSqrt},
    {"add", DnnFunction::kAdd},
    {"sub", DnnFunction::kSub},
    {"mul", DnnFunction::kMul},
    {"div", DnnFunction::kDiv},
    {"maximum", DnnFunction::kMaximum},
    {"minimum", DnnFunction::kMinimum},
};

// Null if there is no such attribute, or none of that type.
template <typename T>
const T* FindAttr(const Epilogue& epilogue, absl::string_view name) {
  const int i = epilogue.schema->FindAttr(name);
  const bool found = i >= 0 && epilogue.attrs != nullptr && i < epilogue.attrs->size();
  return found ? (*epilogue.attrs)[i].get_if<T>() : nullptr;
}

DnnPostOp Function(DnnFunction function, double alpha = 0, double beta = 0) {
  DnnPostOp post;
  post.function = function;
  post.alpha = static_cast<float>(alpha);
  post.beta = static_cast<float>(beta);
  return post;
}

}  // namespace

DnnPostOp PostOpOf(const Epilogue& epilogue) {
  if (epilogue.schema == nullptr) return {};
  const absl::string_view op = epilogue.schema->name;
  if (op == "div" && FindAttr<std::string>(epilogue, "rounding_mode") != nullptr) return {};
  for (const PlainFunction& plain : kPlain) {
    if (op == plain.op) return Function(plain.function, plain.alpha);
  }
  if (op == "leaky_relu") {
    const double* slope = FindAttr<double>(epilogue, "negative_slope");
    return slope == nullptr ? DnnPostOp() : Function(DnnFunction::kRelu, *slope);
  }
  if (op == "hardtanh") {
    const double* least = FindAttr<double>(epilogue, "min_val");
    const double* most = FindAttr<double>(epilogue, "max_val");
    if (least == nullptr || most == nullptr) return {};
    return Function(DnnFunction::kClip, *least, *most);
  }
  if (op == "gelu") {
    const std::string* how = FindAttr<std::string>(epilogue, "approximate");
    if (how == nullptr) return {};
    return Function(*how == "tanh" ? DnnFunction::kGeluTanh : DnnFunction::kGeluErf);
  }
  return {};
}

}  // namespace weft::cpu
