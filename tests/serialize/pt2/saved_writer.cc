#include "tests/serialize/pt2/saved_writer.h"

#include "tests/serialize/pt2/zip_writer.h"

namespace weft::pt2 {
namespace {

std::string Text(const std::string& s) {
  const size_t n = s.size();
  std::string out = "X";
  for (int i = 0; i < 4; ++i) out += static_cast<char>(n >> (8 * i));
  return out + s;
}

std::string Int(int64_t v) {
  std::string out;
  if (v >= 0 && v < 256) {
    out = "K";
    out += static_cast<char>(v);
    return out;
  }
  out = "J";
  for (int i = 0; i < 4; ++i) out += static_cast<char>(v >> (8 * i));
  return out;
}

std::string Tuple(const std::vector<int64_t>& values) {
  std::string out = "(";
  for (int64_t v : values) out += Int(v);
  return out + "t";
}

constexpr char kOrderedDict[] = "ccollections\nOrderedDict\n)R";

std::string TensorOf(const SavedTensor& t) {
  const std::string storage = "(" + Text("storage") + "ctorch\nFloatStorage\n" + Text(t.storage) +
                              Text("cpu") + Int(0) + "tQ";
  const std::string tensor = "ctorch._utils\n_rebuild_tensor_v2\n(" + storage + Int(t.offset) +
                             Tuple(t.sizes) + Tuple(t.strides) + "\x89" + kOrderedDict + "tR";
  if (!t.parameter) return tensor;
  return "ctorch._utils\n_rebuild_parameter\n" + tensor + "\x88" + kOrderedDict + "\x87R";
}

}  // namespace

std::string PickleOf(const std::vector<SavedTensor>& tensors) {
  std::string out = std::string("\x80\x02") + kOrderedDict + "(";
  for (const SavedTensor& t : tensors) out += Text(t.name) + TensorOf(t);
  return out + "u.";
}

std::string SavedFile(const std::string& pickle,
                      const std::map<std::string, std::vector<float>>& storages) {
  ZipWriter zip;
  zip.Add("archive/data.pkl", pickle);
  zip.Add("archive/byteorder", "little");
  for (const auto& [key, floats] : storages) {
    zip.Add("archive/data/" + key, std::string(reinterpret_cast<const char*>(floats.data()),
                                               floats.size() * sizeof(float)));
  }
  zip.Add("archive/version", "3\n");
  return zip.Finish();
}

}  // namespace weft::pt2
