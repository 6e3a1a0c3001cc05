// make_model: writes a model of examples/models to a file.
#include <iostream>
#include <string>
#include <vector>

#include "api/model_io.h"
#include "examples/models/models.h"
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
  int64_t seed = 0;
  int64_t opset = 17;
};

FlagSet MakeFlags(Options* o) {
  FlagSet flags("make_model", "--model=NAME --out=FILE [flags]",
                "Writes a model with weights from a seed to a .onnx or .weft "
                "file.\n\n"
                "  make_model --model=bert --out=bert.onnx\n"
                "  make_model --model=gpt2 --small --out=gpt2.weft\n"
                "  make_model --list");
  flags.String("model", &o->model, "NAME", "Which one; --list shows them");
  flags.String("out", &o->out, "FILE", "Where it goes");
  flags.Repeated("size", &o->sizes, "NAME=SIZE,...",
                 "These symbols become constants of that size");
  flags.Bool("static", &o->static_sizes,
             "So do all others, with their usual sizes");
  flags.Bool("small", &o->small, "Few, narrow layers");
  flags.Int("seed", &o->seed, "N", "Of the weights. Default: 0");
  flags.Int("opset", &o->opset, "N", "Of ONNX, 17 to 21. Default: 17");
  flags.Bool("list", &o->list, "Print the names and what they are");
  return flags;
}

absl::StatusOr<int> Run(const Options& o,
                        const std::vector<std::string>& positional) {
  if (o.list) {
    std::cout << models::DescribeModels();
    return kExitOk;
  }
  if (o.model.empty() || o.out.empty() || !positional.empty()) {
    return absl::InvalidArgumentError(
        "expected --model=NAME and --out=FILE; --help shows how");
  }
  models::ModelOptions options;
  auto sizes = ParseSizes("size", o.sizes);
  if (!sizes.ok()) return sizes.status();
  options.sizes = *std::move(sizes);
  options.static_sizes = o.static_sizes;
  options.small = o.small;
  options.seed = static_cast<uint64_t>(o.seed);
  auto model = models::BuildModel(o.model, options);
  if (!model.ok()) return model.status();
  const absl::Status status =
      SaveModel(*model->module, ResolvePath(o.out), static_cast<int>(o.opset));
  if (!status.ok()) return status;
  return kExitOk;
}

}  // namespace
}  // namespace weft::tools

int main(int argc, char** argv) {
  return weft::tools::ToolMain(argc, argv, weft::tools::MakeFlags,
                               weft::tools::Run);
}
