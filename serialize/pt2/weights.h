// The tensors of an archive: parameters, buffers and constants by qualified name, as views of the
// file.
//
// They are listed in JSON tables next to their storages, or, in archives from before PyTorch 2.8,
// in files of torch.save: archives within the archive, whose pickles describe views of storages.
#ifndef WEFT_SERIALIZE_PT2_WEIGHTS_H_
#define WEFT_SERIALIZE_PT2_WEIGHTS_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/host_buffer.h"
#include "serialize/pt2/exported_program.h"
#include "serialize/pt2/zip_archive.h"

namespace weft {
class HostTensor;
}  // namespace weft

namespace weft::pt2 {

class Weights {
 public:
  // Reads the tables of program `name` below `root`. `archive` outlives this object.
  static absl::StatusOr<Weights> Open(ZipArchive* archive, const std::string& root,
                                      const std::string& name, const JsonLimits& limits,
                                      const ZipLimits& zip_limits);
  // The same for an archive from before 2.8: the files of torch.save below `root`.
  static absl::StatusOr<Weights> OpenOld(ZipArchive* archive, const std::string& root,
                                         const ZipLimits& zip_limits);

  // A parameter, buffer or constant. Tensors over one storage share its bytes.
  absl::StatusOr<HostTensor> Load(const std::string& name);
  // The names of the other tensors over the storage of `name`.
  std::vector<std::string> SharedWith(const std::string& name) const;

 private:
  struct Entry {
    Payload payload;
    std::string file;  // Unique name of its storage.
    ZipArchive* archive = nullptr;
    std::string entry;  // Entry of the storage in `archive`.
  };
  absl::Status ReadTables(const std::string& folder, const std::string& name,
                          const JsonLimits& limits);
  absl::Status ReadSaved(const std::string& file, const ZipLimits& limits);
  void Index();
  // The storage, with an alignment that `dtype` allows.
  absl::StatusOr<std::shared_ptr<HostBuffer>> Storage(const Entry& entry, DType dtype);

  ZipArchive* archive_ = nullptr;
  std::vector<std::unique_ptr<ZipArchive>> saved_;  // Nested archives.
  std::map<std::string, Entry> entries_;
  std::map<std::string, std::vector<std::string>> by_file_;
  std::map<std::pair<std::string, DType>, std::shared_ptr<HostBuffer>> storages_;
};

}  // namespace weft::pt2

#endif  // WEFT_SERIALIZE_PT2_WEIGHTS_H_
