// Files of torch.save: a dict of tensors over storages of floats, in the opcodes
// that PyTorch writes.
#ifndef WEFT_TESTS_SERIALIZE_PT2_SAVED_WRITER_H_
#define WEFT_TESTS_SERIALIZE_PT2_SAVED_WRITER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace weft::pt2 {

struct SavedTensor {
  std::string name;
  std::string storage;  // Its key.
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  int64_t offset = 0;
  bool parameter = false;
};

// The pickle alone.
std::string PickleOf(const std::vector<SavedTensor>& tensors);
// The archive around a pickle.
std::string SavedFile(const std::string& pickle,
                      const std::map<std::string, std::vector<float>>& storages);

}  // namespace weft::pt2

#endif  // WEFT_TESTS_SERIALIZE_PT2_SAVED_WRITER_H_
