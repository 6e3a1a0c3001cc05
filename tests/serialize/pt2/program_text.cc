#include "tests/serialize/pt2/program_text.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/serialize/pt2/zip_writer.h"

namespace weft::pt2 {
namespace {

std::string Size(const std::string& text) {
  const bool number = std::all_of(
      text.begin(), text.end(), [](char c) { return std::isdigit(static_cast<unsigned char>(c)); });
  if (number) return absl::StrCat("{\"as_int\":", text, "}");
  return absl::StrCat("{\"as_expr\":{\"expr_str\":\"", text, "\",\"hint\":{\"as_int\":4}}}");
}

std::string List(const std::vector<std::string>& items) {
  return absl::StrCat("[", absl::StrJoin(items, ","), "]");
}

std::string Meta(int dtype, const std::vector<std::string>& sizes,
                 const std::vector<std::string>& strides, int64_t offset) {
  std::vector<std::string> all;
  for (const std::string& s : sizes) all.push_back(Size(s));
  std::vector<std::string> steps;
  for (const std::string& s : strides) steps.push_back(Size(s));
  return absl::StrCat("{\"dtype\":", dtype, ",\"sizes\":", List(all), ",\"strides\":", List(steps),
                      ",\"storage_offset\":{\"as_int\":", offset,
                      "},\"requires_grad\":false,\"layout\":7,"
                      "\"device\":{\"type\":\"cpu\",\"index\":null}}");
}

std::vector<std::string> Numbers(const std::vector<int64_t>& values) {
  std::vector<std::string> texts;
  for (int64_t v : values) texts.push_back(absl::StrCat(v));
  return texts;
}

std::string Spec(const TestProgram::Weight& w) {
  const std::string key =
      w.kind == "tensor_constant" ? "tensor_constant_name" : absl::StrCat(w.kind, "_name");
  return absl::StrCat("{\"", w.kind, "\":{\"arg\":{\"name\":\"", w.name, "\"},\"", key, "\":\"",
                      w.target, "\",\"persistent\":true}}");
}

}  // namespace

std::string TestProgram::T(const std::string& name) {
  return absl::StrCat("{\"as_tensor\":{\"name\":\"", name, "\"}}");
}

std::string TestProgram::Node(const std::string& target,
                              const std::vector<std::pair<std::string, std::string>>& inputs,
                              const std::vector<std::string>& outputs) {
  std::vector<std::string> args;
  for (const auto& [name, arg] : inputs) {
    args.push_back(absl::StrCat("{\"name\":\"", name, "\",\"arg\":", arg, ",\"kind\":1}"));
  }
  return absl::StrCat("{\"target\":\"", target, "\",\"inputs\":", List(args),
                      ",\"outputs\":", List(outputs), ",\"metadata\":{}}");
}

std::string TestProgram::Json() const {
  std::vector<std::string> graph_inputs, input_specs, tensors, results, specs;
  const auto add = [&](const std::string& name, const std::string& meta) {
    tensors.push_back(absl::StrCat("\"", name, "\":", meta));
  };
  for (const Weight& w : weights) {
    graph_inputs.push_back(T(w.name));
    input_specs.push_back(Spec(w));
    add(w.name, Meta(7, Numbers(w.sizes), Numbers(w.strides), w.offset));
  }
  for (const Tensor& t : inputs) {
    graph_inputs.push_back(T(t.name));
    input_specs.push_back(absl::StrCat("{\"user_input\":{\"arg\":", T(t.name), "}}"));
    add(t.name, Meta(t.dtype, t.sizes, t.sizes, 0));
  }
  for (const Tensor& t : values) {
    add(t.name, Meta(t.dtype, t.sizes, t.sizes, 0));
  }
  for (const std::string& name : outputs) {
    results.push_back(T(name));
    specs.push_back(absl::StrCat("{\"user_output\":{\"arg\":", T(name), "}}"));
  }
  return absl::StrCat("{\"graph_module\":{\"graph\":{\"inputs\":", List(graph_inputs),
                      ",\"outputs\":", List(results), ",\"nodes\":", List(nodes),
                      ",\"tensor_values\":{", absl::StrJoin(tensors, ","),
                      "},\"sym_int_values\":{},\"is_single_tensor_return\":false},"
                      "\"signature\":{\"input_specs\":",
                      List(input_specs),
                      ",\"output_specs\":", List(output_specs.empty() ? specs : output_specs),
                      "},\"module_call_graph\":[]},\"opset_version\":{\"aten\":10},"
                      "\"range_constraints\":",
                      ranges, extra, ",\"schema_version\":{\"major\":8,\"minor\":20}}");
}

std::string TestProgram::Archive() const {
  ZipWriter zip;
  const std::string root = "program/";
  zip.Add(root + "archive_format", "pt2");
  zip.Add(root + "archive_version", "0");
  zip.Add(root + "byteorder", "little");
  std::vector<std::string> parameters, constants;
  for (const Weight& w : weights) {
    const bool constant = w.kind == "tensor_constant";
    (constant ? constants : parameters)
        .push_back(absl::StrCat("\"", w.target, "\":{\"path_name\":\"", w.file,
                                "\",\"is_param\":true,\"use_pickle\":false,\"tensor_meta\":",
                                Meta(7, Numbers(w.sizes), Numbers(w.strides), w.offset), "}"));
  }
  zip.Add(root + "data/weights/model_weights_config.json",
          absl::StrCat("{\"config\":{", absl::StrJoin(parameters, ","), "}}"));
  zip.Add(root + "data/constants/model_constants_config.json",
          absl::StrCat("{\"config\":{", absl::StrJoin(constants, ","), "}}"));
  for (const auto& [file, floats] : storages) {
    std::string bytes(reinterpret_cast<const char*>(floats.data()), floats.size() * sizeof(float));
    zip.Add(root + file, bytes);
  }
  zip.Add(root + "models/model.json", Json());
  return zip.Finish();
}

}  // namespace weft::pt2
