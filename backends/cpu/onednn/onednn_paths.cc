// Reorders operands from the layout and dtype of the caller to those of the primitive: in each run
// through scratch memory, constant weights once.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "backends/cpu/onednn/onednn_internal.h"
#include "backends/cpu/onednn/weight_facts.h"
#include "backends/cpu/threads/parallel.h"
#include "backends/runtime/host_memory.h"
#include "base/mapped_memory.h"

namespace weft::cpu {
namespace {

std::vector<int64_t> DenseStrides(const std::vector<int64_t>& dims, const std::vector<int>& order) {
  std::vector<int64_t> strides(dims.size());
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = stride;
    stride *= dims[order[i]];
  }
  return strides;
}

std::vector<int> AllDims(const DnnTensor& t) {
  std::vector<int> order(t.dims.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// A dense layout with `dim` innermost and the other dims in order.
DnnTensor Innermost(DnnTensor t, int dim) {
  std::vector<int> order = AllDims(t);
  order.erase(order.begin() + dim);
  order.push_back(dim);
  t.strides = DenseStrides(t.dims, order);
  return t;
}

// A dense layout with the dims in their present order in memory.
DnnTensor DenseAsGiven(DnnTensor t) {
  std::vector<int> order = AllDims(t);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return t.strides[a] > t.strides[b]; });
  t.strides = DenseStrides(t.dims, order);
  return t;
}

void Append(const DnnDesc& stop, DnnPath* path) {
  if (path->stops.empty() || path->stops.back() != stop) path->stops.push_back(stop);
}

}  // namespace

bool operator==(const DnnPath& a, const DnnPath& b) {
  return a.stops == b.stops && a.split_at == b.split_at && a.length == b.length &&
         a.parts == b.parts;
}

DnnTensor ReadAs(const DnnTensor& given, const DnnOperandReading& reading) {
  if (reading.given(given)) return given;
  DnnTensor t = given;
  t.dtype = reading.dtype;
  if (!reading.parts.empty()) t.dims[reading.dim] *= static_cast<int64_t>(reading.parts.size());
  return Innermost(std::move(t), reading.dim);
}

DnnPath PathOf(const DnnTensor& given, const DnnDesc& inner) {
  DnnPath path;
  Append(DescOf(given), &path);
  Append(inner, &path);
  return path;
}

DnnPath PathOf(const DnnTensor& given, const DnnDesc& inner, const DnnOperandReading& reading) {
  if (reading.given(given)) return PathOf(given, inner);
  DnnPath path;
  Append(DescOf(given), &path);
  const DnnDesc read = DescOf(ReadAs(given, reading));
  if (!reading.parts.empty()) {
    Append(DescOf(Innermost(given, reading.dim)), &path);
    path.split_at = static_cast<int>(path.stops.size());
    path.length = reading.length;
    path.parts = reading.parts;
    Append(read, &path);
  } else {
    // Reorders that convert and pack at once are slow, so this uses two.
    DnnTensor rounded = DenseAsGiven(given);
    rounded.dtype = reading.dtype;
    Append(inner == read ? read : DescOf(rounded), &path);
  }
  Append(inner, &path);
  return path;
}

std::vector<DnnMove> MovesOf(const DnnPath& path) {
  const dnnl::engine& engine = TheDnnMachine().engine;
  std::vector<DnnMove> moves;
  for (size_t i = 1; i < path.stops.size(); ++i) {
    DnnMove move;
    move.from = dnnl::memory(path.stops[i - 1], engine, nullptr);
    move.to = dnnl::memory(path.stops[i], engine, nullptr);
    if (static_cast<int>(i) == path.split_at) {
      move.split = path.length;
      move.parts = path.parts;
    } else {
      move.reorder = dnnl::reorder(move.from, move.to);
    }
    moves.push_back(std::move(move));
  }
  return moves;
}

namespace {

void Split(const DnnMove& move) {
  const DnnDesc from = move.from.get_desc();
  const bool floats = from.data_type() == dnnl::memory::data_type::f32;
  const int64_t elements = static_cast<int64_t>(from.get_size()) / 4;
  const int64_t n = move.split;
  const int64_t parts = static_cast<int64_t>(move.parts.size());
  const char* in = static_cast<const char*>(move.from.get_data_handle());
  char* out = static_cast<char*>(move.to.get_data_handle());
  const int64_t rows = elements / n;
  ForEach(elements > 1 << 14 ? ScopeThreads() : 1, rows, [&](int64_t row, const TeamMember&) {
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t at = (row * parts + part) * n;
      if (floats) {
        SplitF32(reinterpret_cast<const float*>(in) + row * n, n, move.parts[part],
                 reinterpret_cast<uint16_t*>(out) + at);
      } else {
        SplitI32(reinterpret_cast<const int32_t*>(in) + row * n, n, move.parts[part],
                 reinterpret_cast<uint8_t*>(out) + at);
      }
    }
  });
}

}  // namespace

void DnnMove::Run() const {
  if (split > 0) return Split(*this);
  const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from.get()}, {DNNL_ARG_TO, to.get()}};
  ExecuteDnn(reorder, args);
}

// --- Weights ------------------------------------------------------------------------

struct DnnWeights::Store {
  struct Entry {
    DnnPath path;
    dnnl::memory memory;
  };
  absl::flat_hash_map<int64_t, std::vector<Entry>> entries;
  WeightFacts facts;
  int64_t bytes = 0;
  HeldMemory held;  // For the profiler.
};

DnnWeights::DnnWeights() : store_(std::make_unique<Store>()) {}
DnnWeights::~DnnWeights() = default;
int64_t DnnWeights::bytes() const { return store_->bytes; }

namespace {

dnnl::memory NewWeights(const DnnDesc& desc) {
  dnnl::memory made(desc, TheDnnMachine().engine);
  UseLargePages(made.get_data_handle(), static_cast<int64_t>(desc.get_size()));
  return made;
}

}  // namespace

dnnl::memory Pack(const DnnConstant& constant, const DnnPath& path) {
  auto& entries = constant.weights->store()->entries[constant.key];
  for (const auto& entry : entries) {
    if (entry.path == path) return entry.memory;
  }
  DnnMachine& machine = TheDnnMachine();
  const void* given = constant.load ? constant.load() : constant.data;
  dnnl::memory last(path.stops[0], machine.engine, const_cast<void*>(given));
  for (DnnMove& move : MovesOf(path)) {
    move.from = last;
    move.to = NewWeights(move.to.get_desc());
    move.Run();
    machine.stream.wait();
    last = move.to;
  }
  if (path.stops.size() == 1) {
    last = NewWeights(path.stops[0]);
    std::memcpy(last.get_data_handle(), given, path.stops[0].get_size());
  }
  if (!constant.load) ReleaseMappedPages(given, static_cast<int64_t>(path.stops[0].get_size()));
  DnnWeights::Store& store = *constant.weights->store();
  const auto bytes = static_cast<int64_t>(last.get_desc().get_size());
  store.bytes += bytes;
  store.held.Add(last.get_data_handle(), bytes, profiler::MemoryCategory::kParameter);
  entries.push_back({path, last});
  return last;
}

const DnnDesc* PackedLayout(const DnnConstant& constant, const DnnDesc& from,
                            const DnnOperandReading& reading) {
  if (constant.weights == nullptr) return nullptr;
  const auto& store = *constant.weights->store();
  const auto it = store.entries.find(constant.key);
  if (it == store.entries.end()) return nullptr;
  for (const auto& entry : it->second) {
    const DnnDesc& last = entry.path.stops.back();
    const bool same = entry.path.stops.front() == from && entry.path.parts == reading.parts &&
                      last.data_type() == DnnTypeOf(reading.dtype);
    if (same) return &last;
  }
  return nullptr;
}

int64_t DnnWeights::PartKey(int64_t key, int64_t at) { return store_->facts.PartKey(key, at); }

std::pair<int32_t, int32_t> DnnWeights::Range(int64_t key, const void* data, int64_t elements) {
  return store_->facts.Range(key, data, elements);
}

}  // namespace weft::cpu
