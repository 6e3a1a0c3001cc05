// Writes resnet.onnx and transformer.onnx into a folder:
//
//   bazel run //examples/exported:make_models -- "$PWD/examples"

#include <cstdio>
#include <fstream>
#include <string>

#include "examples/exported/models.h"

namespace {

bool Write(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) std::fprintf(stderr, "%s: cannot be written\n", path.c_str());
  return file.good();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_models FOLDER\n");
    return 2;
  }
  const std::string folder = argv[1];
  const bool written = Write(folder + "/resnet.onnx", weft::examples::ResNetModel()) &&
                       Write(folder + "/transformer.onnx", weft::examples::TransformerModel());
  return written ? 0 : 1;
}
