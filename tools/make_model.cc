// make_model: writes a model of examples/models to a file.
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/model_io.h"
#include "base/status_macros.h"
#include "examples/models/models.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "tools/common/cli.h"
#include "tools/common/flags.h"
#include "tools/common/sizes.h"

namespace weft::tools {
namespace {

struct Options {
  std::string model;
  std::string out;
  std::vector<std::string> sizes;
  bool static_sizes = false;
  bool small = false;
  bool list = false;
  bool written_attention = false;
  bool write_back = false;
  std::string inputs;
  std::vector<std::string> input_sizes;
  int64_t seed = 0;
  int64_t opset = FirstOnnxOpset();
};

FlagSet MakeFlags(Options* o) {
  FlagSet flags("make_model", "--model=NAME -o FILE [flags]",
                "Writes a model with weights from a seed to a .onnx or .weft "
                "file.\n\n"
                "  make_model --model=bert -o bert.onnx\n"
                "  make_model --model=gpt2 --small -o gpt2.weft\n"
                "  make_model --list");
  flags.String("model", &o->model, "NAME", "Name of the model; --list shows all");
  flags.String("o", &o->out, "FILE", "Output file");
  flags.Alias("out", "o");
  flags.Repeated("size", &o->sizes, "NAME=SIZE,...", "Make symbols constants of these sizes");
  flags.Bool("static", &o->static_sizes,
             "Make all other symbols constants too, with their usual sizes");
  flags.Bool("small", &o->small, "Few, narrow layers");
  flags.Bool("written-attention", &o->written_attention,
             "Write attention as small ops, as exporters do");
  flags.Bool("write-back", &o->write_back, "Write updated state to its inputs (.weft files alone)");
  flags.Int("seed", &o->seed, "N", "Seed of weights and inputs. Default: 0");
  flags.IntBetween("opset", &o->opset, FirstOnnxOpset(), LastOnnxOpset(), "N",
                   absl::StrCat("ONNX opset, ", FirstOnnxOpset(), " to ", LastOnnxOpset(),
                                ". Default: ", FirstOnnxOpset()));
  flags.String("inputs", &o->inputs, "DIR", "Also write inputs for a run to DIR/<name>.npy");
  flags.Repeated("input-size", &o->input_sizes, "NAME=SIZE,...",
                 "Sizes of symbols in these inputs. Default: the usual ones");
  flags.Bool("list", &o->list, "Print the names with descriptions");
  return flags;
}

absl::Status WriteInputs(const Options& o, const models::Model& model) {
  WEFT_ASSIGN_OR_RETURN(auto sizes, ParseSizes("input-size", o.input_sizes));
  WEFT_ASSIGN_OR_RETURN(auto inputs,
                        models::MakeInputs(model, sizes, static_cast<uint64_t>(o.seed)));
  const std::string folder = ResolvePath(o.inputs);
  absl::Status status = MakeFolder(folder);
  const Graph& graph = *model.module->main();
  for (size_t i = 0; i < inputs.size() && status.ok(); ++i) {
    const std::string& name = graph.input_info(static_cast<int>(i)).name;
    status = SaveTensor(absl::StrCat(folder, "/", name, ".npy"), inputs[i]);
  }
  return status;
}

absl::StatusOr<int> Run(const Options& o, const std::vector<std::string>& positional) {
  if (o.list) {
    std::cout << models::DescribeModels();
    return kExitOk;
  }
  if (o.model.empty() || o.out.empty() || !positional.empty()) {
    return absl::InvalidArgumentError("expected --model=NAME and --out=FILE; --help shows how");
  }
  models::ModelOptions options;
  WEFT_ASSIGN_OR_RETURN(options.sizes, ParseSizes("size", o.sizes));
  options.static_sizes = o.static_sizes;
  options.small = o.small;
  options.written_attention = o.written_attention;
  options.write_back = o.write_back;
  options.seed = static_cast<uint64_t>(o.seed);
  WEFT_ASSIGN_OR_RETURN(auto model, models::BuildModel(o.model, options));
  SaveOptions save;
  save.opset = static_cast<int>(o.opset);
  WEFT_RETURN_IF_ERROR(SaveModel(*model.module, ResolvePath(o.out), save));
  if (!o.inputs.empty()) WEFT_RETURN_IF_ERROR(WriteInputs(o, model));
  return kExitOk;
}

}  // namespace
}  // namespace weft::tools

int main(int argc, char** argv) {
  return weft::tools::ToolMain(argc, argv, weft::tools::MakeFlags, weft::tools::Run);
}
