// Opens a compiled model without a compiler, and runs it on ones:
//
//   open_file FILE.weftb|FILE.so
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "weft/api/runtime/runtime.h"

namespace {

// Ones for an input, with this size for each that is open.
weft::HostTensor OnesFor(const weft::Type& type, int64_t size) {
  std::vector<int64_t> dims;
  for (const weft::SymInt dim : type.dims()) {
    dims.push_back(dim.is_constant() ? dim.value() : size);
  }
  weft::HostTensor tensor(type.dtype(), dims);
  if (weft::IsFloat(type.dtype())) {
    tensor.WriteDoubles(std::vector<double>(static_cast<size_t>(tensor.numel()), 1));
  } else {
    tensor.WriteInts(std::vector<int64_t>(static_cast<size_t>(tensor.numel()), 1));
  }
  return tensor;
}

absl::Status Run(const std::string& path) {
  weft::RuntimeProgramOptions options;
  options.threads = 2;
  WEFT_ASSIGN_OR_RETURN(const weft::RuntimeProgram program,
                        weft::RuntimeProgram::Open(path, options));
  std::vector<weft::HostTensor> inputs;
  for (const weft::RuntimeProgram::Input& input : program.inputs()) {
    inputs.push_back(OnesFor(input.type, 2));
  }
  std::vector<weft::HostTensor> written;
  WEFT_ASSIGN_OR_RETURN(const std::vector<weft::HostTensor> outputs, program.Run(inputs, &written));
  for (const weft::HostTensor& output : outputs) {
    std::printf("%s\n", output.type().ToString().c_str());
  }
  for (size_t i = 0; i < written.size(); ++i) {
    if (written[i].valid()) std::printf("wrote %s\n", program.inputs()[i].name.c_str());
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: open_file FILE.weftb|FILE.so\n");
    return 2;
  }
  const absl::Status status = Run(argv[1]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "open_file: %s\n", std::string(status.message()).c_str());
  return 1;
}
