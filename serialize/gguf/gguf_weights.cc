#include "serialize/gguf/gguf_weights.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/annotate.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/constant_store.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ir/value.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/quant.h"
#include "graph/ops/shape.h"

namespace weft {
namespace {

// The text that the `*` of a pattern stands for; "" where it has none, nullopt where it does not
// fit.
std::optional<absl::string_view> Fit(absl::string_view pattern, absl::string_view name) {
  const size_t star = pattern.find('*');
  if (star == pattern.npos) {
    return pattern == name ? std::optional<absl::string_view>("") : std::nullopt;
  }
  const absl::string_view head = pattern.substr(0, star), tail = pattern.substr(star + 1);
  if (name.size() < head.size() + tail.size()) return std::nullopt;
  if (!absl::StartsWith(name, head) || !absl::EndsWith(name, tail)) return std::nullopt;
  return name.substr(head.size(), name.size() - head.size() - tail.size());
}

std::string Filled(absl::string_view pattern, absl::string_view text) {
  const size_t star = pattern.find('*');
  if (star == pattern.npos) return std::string(pattern);
  return absl::StrCat(pattern.substr(0, star), text, pattern.substr(star + 1));
}

class Loader {
 public:
  Loader(const GgufFile& file, const std::vector<WeightName>& names, Module& module)
      : file_(file), names_(names), module_(module), graph_(*module.main()) {
    for (int i = 0; i < graph_.num_inputs(); ++i) {
      const InputInfo& info = graph_.input_info(i);
      inputs_[info.name] = i;
      if (!info.param.empty()) inputs_[info.param] = i;
    }
    for (int input : graph_.write_backs()) written_.insert(input);
  }

  absl::StatusOr<LoadedWeights> Run() {
    std::vector<bool> used(names_.size(), false);
    for (const GgufTensor& tensor : file_.tensors) {
      std::string parameter = tensor.name;
      for (size_t i = 0; i < names_.size(); ++i) {
        const auto text = Fit(names_[i].tensor, tensor.name);
        if (!text) continue;
        parameter = Filled(names_[i].parameter, *text);
        used[i] = true;
        if (inputs_.count(parameter) == 0) return Unknown(tensor, parameter);
        break;
      }
      const absl::Status set = Set(tensor, parameter);
      if (!set.ok()) return Annotate(set, absl::StrCat("tensor '", tensor.name, "'"));
    }
    for (size_t i = 0; i < used.size(); ++i) {
      if (used[i]) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("the name '", names_[i].tensor, "' fits no tensor that is left"));
    }
    if (result_.parameters == 0) {
      return absl::InvalidArgumentError("no tensor of the file has the name of a parameter");
    }
    DropReplaced();
    return std::move(result_);
  }

 private:
  static absl::Status Unknown(const GgufTensor& tensor, const std::string& parameter) {
    return absl::NotFoundError(absl::StrCat("tensor '", tensor.name, "' is to be '", parameter,
                                            "', which is no input of the module"));
  }

  absl::Status Set(const GgufTensor& tensor, const std::string& parameter) {
    const auto it = inputs_.find(parameter);
    if (it == inputs_.end()) {
      result_.unused.push_back(tensor.name);
      return absl::OkStatus();
    }
    const int input = it->second;
    if (!set_.insert(input).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("a second tensor for the parameter '", parameter, "'"));
    }
    const Type type = graph_.input(input)->type();
    if (!type.is_tensor() || !IsFloat(type.dtype()) || IsStorageFloat(type.dtype())) {
      return absl::InvalidArgumentError(
          absl::StrCat("the parameter '", parameter, "' is ", type.ToString(), ", not of floats"));
    }
    if (type.static_dims() != tensor.dims) {
      return absl::InvalidArgumentError(absl::StrCat("it is ", ToString(ToSymInts(tensor.dims)),
                                                     ", but the parameter '", parameter, "' is ",
                                                     type.ToString()));
    }
    WEFT_ASSIGN_OR_RETURN(const GgufWeight weight, LoadGguf(file_, tensor));
    ++result_.parameters;
    if (!weight.scales.valid()) return SetInitial(input, weight.values, type.dtype());
    return Replace(input, weight, type.dtype());
  }

  absl::Status SetInitial(int input, const HostTensor& values, DType dtype) {
    if (!IsFloat(values.dtype())) {
      return absl::InvalidArgumentError(absl::StrCat("it holds ", DTypeName(values.dtype())));
    }
    HostTensor converted = values;
    if (values.dtype() != dtype) {
      WEFT_ASSIGN_OR_RETURN(converted, HostTensor::Allocate(dtype, values.dims()));
      converted.WriteDoubles(values.ReadDoubles());
    }
    graph_.input_info(input).initial = module_.constants().Add(converted);
    return absl::OkStatus();
  }

  absl::Status Replace(int input, const GgufWeight& weight, DType dtype) {
    if (written_.count(input) != 0) {
      return absl::InvalidArgumentError(
          "its parameter is written, which numbers in blocks cannot be");
    }
    Builder b(&graph_, graph_.first_node());
    Value* made =
        weight.offsets.valid()
            ? WithOffsets(b, weight, dtype)
            : ops::BuildDequantizeLinear(b, b.Constant(weight.values), b.Constant(weight.scales),
                                         nullptr, dtype, weight.values.rank() - 1, weight.block);
    WEFT_RETURN_IF_ERROR(b.status());
    graph_.input(input)->ReplaceAllUsesWith(made);
    replaced_.insert(input);
    ++result_.quantized;
    return absl::OkStatus();
  }

  // Groups along a dim of their own are multiplied and added to, and then joined.
  static Value* WithOffsets(Builder& b, const GgufWeight& weight, DType dtype) {
    std::vector<int64_t> heads(weight.scales.dims().begin(), weight.scales.dims().end());
    std::vector<int64_t> dims = heads, shape(dims.size(), 1);
    heads.push_back(1);
    dims.push_back(weight.block);
    shape.push_back(-1);
    Value* made = ops::BuildDequantizeLinear(b, b.Constant(weight.values.Reshaped(dims)),
                                             b.Constant(weight.scales.Reshaped(heads)), nullptr,
                                             DType::kF32, 1, 0, shape);
    made = b.Op(ops::add, {made, b.Constant(weight.offsets.Reshaped(heads))});
    if (dtype != DType::kF32) made = b.Op(ops::convert, {made}, {{"dtype", dtype}});
    return b.Op(ops::reshape, {made}, {{"size", ToSymInts(weight.values.dims())}});
  }

  void DropReplaced() {
    if (replaced_.empty()) return;
    std::vector<int> kept;
    for (int i = 0; i < graph_.num_inputs(); ++i) {
      if (replaced_.count(i) == 0) kept.push_back(i);
    }
    graph_.KeepInputs(kept);
  }

  const GgufFile& file_;
  const std::vector<WeightName>& names_;
  Module& module_;
  Graph& graph_;
  std::map<std::string, int, std::less<>> inputs_;
  std::set<int> set_, replaced_, written_;
  LoadedWeights result_;
};

}  // namespace

absl::StatusOr<std::vector<WeightName>> ParseWeightNames(absl::string_view text) {
  std::vector<WeightName> names;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const size_t equals = line.find('=');
    WeightName row;
    if (equals != line.npos) {
      row.tensor = std::string(absl::StripAsciiWhitespace(line.substr(0, equals)));
      row.parameter = std::string(absl::StripAsciiWhitespace(line.substr(equals + 1)));
    }
    if (row.tensor.empty() || row.parameter.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, ": a row is TENSOR = PARAMETER"));
    }
    const auto stars = [](absl::string_view name) {
      return std::count(name.begin(), name.end(), '*');
    };
    if (stars(row.tensor) > 1 || stars(row.parameter) > stars(row.tensor)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "line ", number, ": a name has one `*`, and the parameter's only with the tensor's"));
    }
    names.push_back(std::move(row));
  }
  return names;
}

absl::StatusOr<LoadedWeights> SetWeights(const GgufFile& file, const std::vector<WeightName>& names,
                                         Module& module) {
  if (module.main() == nullptr) {
    return absl::InvalidArgumentError("the module has no function @main");
  }
  return Loader(file, names, module).Run();
}

}  // namespace weft
