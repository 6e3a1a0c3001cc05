#include "serialize/pt2/weights.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/annotate.h"
#include "base/status_macros.h"
#include "graph/tensor/tensor.h"
#include "serialize/pt2/pickle.h"

namespace weft::pt2 {
namespace {

// Limit of a tensor whose elements are not stored one by one.
constexpr int64_t kMaxUnstoredBytes = int64_t{1} << 28;

absl::string_view Text(const HostBuffer& buffer) {
  return {reinterpret_cast<const char*>(buffer.data()), static_cast<size_t>(buffer.size())};
}

absl::Status In(const std::string& name, const absl::Status& status) {
  return Annotate(status, absl::StrCat("tensor \"", name, "\""));
}

// Sizes, strides or an offset; the weights of a program are never symbolic.
absl::StatusOr<std::vector<int64_t>> Constants(const std::vector<SizeExpr>& exprs) {
  std::vector<int64_t> values;
  for (const SizeExpr& e : exprs) {
    if (!e.value || *e.value < 0) {
      return absl::InvalidArgumentError("a size, stride or offset is symbolic or negative");
    }
    values.push_back(*e.value);
  }
  return values;
}

// The bytes with an alignment that `dtype` allows: entries that are not aligned are copied, bools
// become 0 or 1.
std::shared_ptr<HostBuffer> Aligned(std::shared_ptr<HostBuffer> buffer, DType dtype) {
  const auto address = reinterpret_cast<uintptr_t>(buffer->data());
  const size_t unit = std::max(DTypeBits(dtype) / 8, 1);
  const uint8_t* bytes = buffer->data();
  const int64_t n = buffer->size();
  const bool is_bool = dtype == DType::kBool;
  const bool clean = !is_bool || std::all_of(bytes, bytes + n, [](uint8_t b) { return b <= 1; });
  if (address % std::min<size_t>(unit, 8) == 0 && clean) return buffer;
  auto copy = HostBuffer::Allocate(n);
  if (n > 0) std::memcpy(copy->data(), bytes, static_cast<size_t>(n));
  for (int64_t i = 0; is_bool && i < n; ++i) {
    copy->data()[i] = copy->data()[i] != 0;
  }
  return copy;
}

TensorMeta MetaOf(const PickledTensor& tensor) {
  const auto sizes = [](const std::vector<int64_t>& values) {
    std::vector<SizeExpr> exprs(values.size());
    for (size_t i = 0; i < values.size(); ++i) exprs[i].value = values[i];
    return exprs;
  };
  TensorMeta meta;
  meta.dtype = tensor.dtype;
  meta.sizes = sizes(tensor.sizes);
  meta.strides = sizes(tensor.strides);
  meta.storage_offset.value = tensor.offset;
  return meta;
}

}  // namespace

absl::StatusOr<Weights> Weights::Open(ZipArchive* archive, const std::string& root,
                                      const std::string& name, const JsonLimits& limits,
                                      const ZipLimits& zip_limits) {
  Weights weights;
  weights.archive_ = archive;
  for (const char* folder : {"data/weights/", "data/constants/"}) {
    WEFT_RETURN_IF_ERROR(weights.ReadTables(root + folder, name, limits));
    const std::string saved = absl::StrCat(root, folder, name, ".pt");
    if (archive->Has(saved)) {
      WEFT_RETURN_IF_ERROR(weights.ReadSaved(saved, zip_limits));
    }
  }
  weights.Index();
  return weights;
}

// The first versions named these archives as if they were JSON.
absl::StatusOr<Weights> Weights::OpenOld(ZipArchive* archive, const std::string& root,
                                         const ZipLimits& zip_limits) {
  Weights weights;
  weights.archive_ = archive;
  for (const char* stem : {"serialized_state_dict", "serialized_constants"}) {
    for (const char* ending : {".pt", ".json"}) {
      const std::string file = absl::StrCat(root, stem, ending);
      if (!archive->Has(file)) continue;
      WEFT_RETURN_IF_ERROR(weights.ReadSaved(file, zip_limits));
      break;
    }
  }
  weights.Index();
  return weights;
}

void Weights::Index() {
  for (const auto& [tensor, entry] : entries_) by_file_[entry.file].push_back(tensor);
}

// The text between the program's name and the extension differs between versions.
absl::Status Weights::ReadTables(const std::string& folder, const std::string& name,
                                 const JsonLimits& limits) {
  for (const std::string& file : archive_->names()) {
    if (!absl::StartsWith(file, absl::StrCat(folder, name, "_")) ||
        !absl::EndsWith(file, "_config.json")) {
      continue;
    }
    WEFT_ASSIGN_OR_RETURN(const auto bytes, archive_->Read(file));
    WEFT_ASSIGN_OR_RETURN(auto payloads, ParsePayloads(Text(*bytes), file, limits));
    for (auto& [tensor, payload] : payloads) {
      std::string storage = folder + payload.path;
      entries_.emplace(tensor, Entry{std::move(payload), storage, archive_, storage});
    }
  }
  return absl::OkStatus();
}

// Storage `key` is entry data/<key> beside data.pkl.
absl::Status Weights::ReadSaved(const std::string& file, const ZipLimits& limits) {
  WEFT_ASSIGN_OR_RETURN(auto bytes, archive_->Read(file));
  auto opened = ZipArchive::Open(std::move(bytes), limits);
  if (!opened.ok()) return Annotate(opened.status(), file);
  saved_.push_back(std::make_unique<ZipArchive>(*std::move(opened)));
  ZipArchive* archive = saved_.back().get();
  std::string root;
  for (const std::string& name : archive->names()) {
    absl::string_view stem = name;
    if (absl::ConsumeSuffix(&stem, "data.pkl")) root = std::string(stem);
  }
  auto pickle = archive->Read(root + "data.pkl");
  if (!pickle.ok()) return Annotate(pickle.status(), file);
  if (archive->Has(root + "byteorder")) {
    WEFT_ASSIGN_OR_RETURN(const auto order, archive->Read(root + "byteorder"));
    if (Text(*order) != "little") {
      return Annotate(
          absl::UnimplementedError("bytes are in another order than the little-endian one"), file);
    }
  }
  WEFT_ASSIGN_OR_RETURN(auto tensors,
                        ReadPickledTensors(Text(**pickle), absl::StrCat(file, "/data.pkl")));
  for (auto& [name, tensor] : tensors) {
    Entry entry;
    entry.archive = archive;
    entry.entry = absl::StrCat(root, "data/", tensor.storage);
    entry.file = absl::StrCat(file, "/", entry.entry);
    entry.payload.meta = MetaOf(tensor);
    entries_.emplace(name, std::move(entry));
  }
  return absl::OkStatus();
}

std::vector<std::string> Weights::SharedWith(const std::string& name) const {
  std::vector<std::string> others;
  const auto entry = entries_.find(name);
  if (entry == entries_.end()) return others;
  for (const std::string& other : by_file_.at(entry->second.file)) {
    if (other != name) others.push_back(other);
  }
  return others;
}

absl::StatusOr<std::shared_ptr<HostBuffer>> Weights::Storage(const Entry& entry, DType dtype) {
  const std::pair<std::string, DType> key(entry.file, dtype);
  const auto known = storages_.find(key);
  if (known != storages_.end()) return known->second;
  WEFT_ASSIGN_OR_RETURN(auto bytes, entry.archive->Read(entry.entry));
  return storages_[key] = Aligned(std::move(bytes), dtype);
}

absl::StatusOr<HostTensor> Weights::Load(const std::string& name) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    return absl::NotFoundError(
        absl::StrCat("the tables of weights and constants have no \"", name, "\""));
  }
  const Payload& payload = found->second.payload;
  if (payload.pickled || !payload.meta) {
    return In(name, absl::UnimplementedError("it is stored as a pickle, which is not read"));
  }
  const TensorMeta& meta = *payload.meta;
  if (!meta.dtype || !meta.strided) {
    return In(name, absl::UnimplementedError(absl::StrCat(DTypeNumberName(meta.dtype_number),
                                                          meta.strided ? "" : ", not strided,",
                                                          " is not supported")));
  }
  const auto dims = Constants(meta.sizes);
  if (!dims.ok()) return In(name, dims.status());
  const auto strides = Constants(meta.strides);
  if (!strides.ok()) return In(name, strides.status());
  const auto offset = Constants({meta.storage_offset});
  if (!offset.ok()) return In(name, offset.status());
  if (dims->size() != strides->size()) {
    return In(name, absl::InvalidArgumentError("its sizes and strides differ in number"));
  }
  auto storage = Storage(found->second, *meta.dtype);
  if (!storage.ok()) return In(name, storage.status());
  const auto numel = CheckedNumel(*dims);
  // An entry without bytes is an empty tensor, or one of zeros.
  if (numel && (*numel == 0 || (*storage)->size() == 0)) {
    auto zeros = HostTensor::Allocate(*meta.dtype, *dims, kMaxUnstoredBytes);
    return zeros.ok() ? zeros : In(name, zeros.status());
  }
  auto tensor = HostTensor::View(*storage, *meta.dtype, *dims, *strides, (*offset)[0]);
  if (!tensor.ok()) return In(name, tensor.status());
  // Elements that share bytes may not fit in memory as separate ones.
  if (tensor->bytes() > std::max((*storage)->size(), kMaxUnstoredBytes)) {
    return In(name, absl::ResourceExhaustedError(absl::StrCat(
                        "its elements take ", tensor->bytes(), " bytes and are stored as ",
                        (*storage)->size(), "; the limit is ", kMaxUnstoredBytes)));
  }
  return tensor;
}

}  // namespace weft::pt2
