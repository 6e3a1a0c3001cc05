#include "backends/cuda/emulate/activities.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstring>
#include <set>
#include <utility>

namespace weft::cuda::emulate {
namespace {

// Records have sizes that are not those of the declarations, as a newer library's would.
constexpr size_t kAppended = 24;

std::vector<uint64_t>& ExternalIds() {
  thread_local std::vector<uint64_t> ids;
  return ids;
}

std::string Padded(const void* record, size_t bytes) {
  std::string text(static_cast<const char*>(record), bytes);
  text.resize((bytes + kAppended + 7) / 8 * 8, '\x5a');
  // Readers step over records by their sizes, which the first word of each buffer entry holds.
  const uint64_t size = text.size();
  return std::string(reinterpret_cast<const char*>(&size), sizeof size) + text;
}

template <typename Record>
std::string BytesOf(const Record& record) {
  return std::string(reinterpret_cast<const char*>(&record), sizeof record);
}

// 0 for no record.
uint32_t KindOf(const std::string& record) {
  uint32_t kind = 0;
  if (record.size() >= sizeof kind) std::memcpy(&kind, record.data(), sizeof kind);
  return kind;
}

template <typename Record, typename Change>
void EditAs(std::string* bytes, Change change) {
  Record record;
  std::memcpy(&record, bytes->data(), sizeof record);
  change(record);
  *bytes = BytesOf(record);
}

template <typename Change>
void Edit(std::string* record, Change change) {
  switch (KindOf(*record)) {
    case kCuptiKernel:
      return EditAs<CuptiKernelRecord>(record, change);
    case kCuptiCopy:
      return EditAs<CuptiCopyRecord>(record, change);
    case kCuptiFill:
      return EditAs<CuptiFillRecord>(record, change);
    default:
      return;
  }
}

}  // namespace

uint64_t NowNanos() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

std::string KernelRecord(const std::string& name, const std::array<unsigned, 3>& grid,
                         const std::array<unsigned, 3>& block, unsigned dynamic_bytes) {
  // Names outlive their modules, as readers of records may be late.
  static auto& names = *new std::set<std::string>;
  static std::mutex mutex;
  CuptiKernelRecord record = {};
  record.kind = kCuptiKernel;
  record.registers = kRegisters;
  record.context = 1;
  for (int i = 0; i < 3; ++i) {
    record.grid[i] = static_cast<int32_t>(grid[i]);
    record.block[i] = static_cast<int32_t>(block[i]);
  }
  record.dynamic_shared = static_cast<int32_t>(dynamic_bytes);
  const std::lock_guard<std::mutex> lock(mutex);
  record.name = names.insert(name).first->c_str();
  return BytesOf(record);
}

std::string CopyRecord(uint8_t kind, uint8_t from, uint8_t to, size_t bytes) {
  CuptiCopyRecord record = {};
  record.kind = kCuptiCopy;
  record.copy_kind = kind;
  record.from_kind = from;
  record.to_kind = to;
  record.bytes = bytes;
  record.context = 1;
  return BytesOf(record);
}

std::string FillRecord(unsigned char value, size_t bytes) {
  CuptiFillRecord record = {};
  record.kind = kCuptiFill;
  record.value = value;
  record.bytes = bytes;
  record.memory_kind = kOnDevice;
  record.context = 1;
  return BytesOf(record);
}

void SetSubmission(std::string* record, uint32_t stream, uint32_t correlation) {
  Edit(record, [&](auto& fields) {
    fields.stream = stream;
    fields.correlation = correlation;
  });
}

void SetTimes(std::string* record, uint64_t begin, uint64_t end) {
  Edit(record, [&](auto& fields) {
    fields.start = begin;
    fields.end = end;
  });
}

Activities& Activities::Get() {
  static auto& activities = *new Activities;
  return activities;
}

bool Activities::IsEnabled(uint32_t kind) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = enabled_.find(kind);
  return it != enabled_.end() && it->second;
}

void Activities::SetEnabled(uint32_t kind, bool enabled) {
  const std::lock_guard<std::mutex> lock(mutex_);
  enabled_[kind] = enabled;
}

void Activities::SetCallbacks(CuptiBufferRequested requested, CuptiBufferCompleted completed) {
  const std::lock_guard<std::mutex> lock(mutex_);
  requested_ = requested;
  completed_ = completed;
}

uint32_t Activities::BeginCall(const char* name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const uint32_t number =
      numbers_.emplace(name, static_cast<uint32_t>(numbers_.size()) + 1).first->second;
  const uint32_t correlation = ++next_correlation_;
  calls_[correlation] = {number, NowNanos()};
  return correlation;
}

void Activities::EndCall(uint32_t correlation) {
  Call call;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    call = calls_[correlation];
    calls_.erase(correlation);
  }
  if (IsEnabled(kCuptiExternal) && !ExternalIds().empty()) {
    CuptiExternalRecord external = {};
    external.kind = kCuptiExternal;
    external.external_kind = kCuptiCustomCorrelation;
    external.external = ExternalIds().back();
    external.correlation = correlation;
    Add(&external, sizeof external);
  }
  if (!IsEnabled(kCuptiDriverCall)) return;
  CuptiCallRecord record = {};
  record.kind = kCuptiDriverCall;
  record.number = call.number;
  record.start = call.begin;
  record.end = NowNanos();
  record.process = static_cast<uint32_t>(getpid());
  record.thread = static_cast<uint32_t>(syscall(SYS_gettid));
  record.correlation = correlation;
  Add(&record, sizeof record);
}

const char* Activities::NameOf(uint32_t number) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [name, known] : numbers_) {
    if (known == number) return name.c_str();
  }
  return nullptr;
}

void Activities::Push(uint64_t external) { ExternalIds().push_back(external); }

bool Activities::Pop(uint64_t* last) {
  if (ExternalIds().empty()) return false;
  *last = ExternalIds().back();
  ExternalIds().pop_back();
  return true;
}

void Activities::AddWork(const std::string& record) {
  if (IsEnabled(KindOf(record))) Add(record.data(), record.size());
}

CallScope::CallScope(const char* name, uint32_t* current) : current_(current) {
  Activities& activities = Activities::Get();
  const bool recorded = activities.IsEnabled(kCuptiDriverCall);
  *current_ = recorded ? activities.BeginCall(name) : 0;
}

CallScope::~CallScope() {
  if (*current_ != 0) Activities::Get().EndCall(*current_);
  *current_ = 0;
}

void Activities::Add(const void* record, size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  records_.push_back(Padded(record, bytes));
}

void Activities::Flush() {
  std::vector<std::string> records;
  CuptiBufferRequested requested = nullptr;
  CuptiBufferCompleted completed = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    records.swap(records_);
    // A kind that only a newer library has.
    constexpr uint32_t kUnknown[] = {1000, 0};
    if (!records.empty()) records.insert(records.begin(), Padded(kUnknown, sizeof kUnknown));
    requested = requested_;
    completed = completed_;
  }
  if (requested == nullptr || completed == nullptr) return;
  size_t next = 0;
  while (next < records.size()) {
    uint8_t* buffer = nullptr;
    size_t size = 0;
    size_t most = 0;
    requested(&buffer, &size, &most);
    if (buffer == nullptr) return;
    size_t used = 0;
    while (next < records.size() && used + records[next].size() <= size) {
      std::memcpy(buffer + used, records[next].data(), records[next].size());
      used += records[next++].size();
    }
    completed(nullptr, 0, buffer, size, used);
    if (used == 0) return;  // The buffer is too small for a record.
  }
}

}  // namespace weft::cuda::emulate
