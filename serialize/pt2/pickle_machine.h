// The stack machine of pickle.h.
#ifndef WEFT_SERIALIZE_PT2_PICKLE_MACHINE_H_
#define WEFT_SERIALIZE_PT2_PICKLE_MACHINE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "serialize/pt2/pickle.h"

namespace weft::pt2 {

struct PickleValue {
  enum class Kind {
    kNone,
    kBool,     // integer
    kInt,      // integer
    kFloat,    // Parsed but unused.
    kString,   // text
    kTuple,    // items
    kList,     // items
    kDict,     // items: alternating keys and values
    kGlobal,   // text: "module name"
    kStorage,  // text: its key; dtype, if it has one.
    kTensor,   // integer: its index in the list of tensors
  };
  Kind kind = Kind::kNone;
  int64_t integer = 0;
  absl::string_view text;
  std::vector<int> items;  // Indices in the list of values.
  std::optional<DType> dtype;
};

// The stack machine. After an error all steps do nothing.
class PickleMachine {
 public:
  PickleMachine(absl::string_view bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  absl::Status Run();
  absl::StatusOr<std::vector<std::pair<std::string, PickledTensor>>> Result();

 private:
  using Ids = std::vector<int>;  // Indices in the list of values.
  using Kind = PickleValue::Kind;

  // --- Bytes.
  void Fail(absl::string_view what);
  void Refuse(absl::string_view what);
  absl::string_view Take(size_t n);
  uint8_t Byte();
  // Little-endian.
  int64_t Number(size_t n, bool is_signed);
  absl::string_view Line();

  // --- The stack.
  void Push(PickleValue v);
  void Push(Kind kind, int64_t integer = 0);
  // The index of the value on top; -1 after an error.
  int Pop();
  Ids PopToMark();
  PickleValue* Top(Kind kind);

  void Step(uint8_t op);
  void StepNumber(uint8_t op);
  void StepContainer(uint8_t op);
  void StepMemo(uint8_t op);
  void Extend(Kind kind, const Ids& items);
  void PushString(size_t length);
  void PushTuple(Ids items);
  void Memoize(int64_t index);
  void Recall(int64_t index);
  void Global();
  void Reduce();
  void Build();
  void PersistentId();
  void RebuildTensor(const Ids& arguments, bool typed);
  std::vector<int64_t> Ints(int id);

  absl::string_view bytes_;
  const std::string& file_;
  size_t next_ = 0;
  size_t at_ = 0;  // Offset of the opcode.
  bool stopped_ = false;
  absl::Status status_;
  std::vector<PickleValue> values_;
  std::vector<PickledTensor> tensors_;
  std::vector<int> stack_;
  std::vector<size_t> marks_;  // Stack heights.
  absl::flat_hash_map<int64_t, int> memo_;
};

}  // namespace weft::pt2

#endif  // WEFT_SERIALIZE_PT2_PICKLE_MACHINE_H_
