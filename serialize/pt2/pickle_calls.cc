// The names and calls that a pickle may contain.
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "serialize/pt2/pickle_machine.h"

namespace weft::pt2 {
namespace {

struct NamedType {
  const char* name;
  DType dtype;
};

// Storage types such as "torch FloatStorage".
constexpr NamedType kStorages[] = {
    {"FloatStorage", DType::kF32},        {"DoubleStorage", DType::kF64},
    {"HalfStorage", DType::kF16},         {"BFloat16Storage", DType::kBF16},
    {"LongStorage", DType::kI64},         {"IntStorage", DType::kI32},
    {"ShortStorage", DType::kI16},        {"CharStorage", DType::kI8},
    {"ByteStorage", DType::kU8},          {"BoolStorage", DType::kBool},
    {"ComplexFloatStorage", DType::kC64}, {"ComplexDoubleStorage", DType::kC128},
};

// Dtypes such as "torch uint16", for storages without a type.
constexpr NamedType kTypes[] = {
    {"uint16", DType::kU16},
    {"uint32", DType::kU32},
    {"uint64", DType::kU64},
    {"float8_e4m3fn", DType::kF8E4M3},
    {"float8_e5m2", DType::kF8E5M2},
    {"float8_e4m3fnuz", DType::kF8E4M3FNUZ},
    {"float8_e5m2fnuz", DType::kF8E5M2FNUZ},
    {"float8_e8m0fnu", DType::kF8E8M0},
    {"complex32", DType::kC32},
};

template <size_t n>
std::optional<DType> FindType(const NamedType (&types)[n], absl::string_view name) {
  for (const NamedType& t : types) {
    if (name == t.name) return t.dtype;
  }
  return std::nullopt;
}

constexpr char kStorageV2[] = "torch._utils _rebuild_tensor_v2";
constexpr char kStorageV3[] = "torch._utils _rebuild_tensor_v3";
constexpr char kParameter[] = "torch._utils _rebuild_parameter";
constexpr char kOrderedDict[] = "collections OrderedDict";
constexpr char kUntyped[] = "torch.storage UntypedStorage";

}  // namespace

void PickleMachine::Global() {
  const size_t begin = next_;
  const absl::string_view module = Line();
  const absl::string_view name = Line();
  if (!status_.ok()) return;
  PickleValue v;
  v.kind = Kind::kGlobal;
  // One text for both lines, with the line break as a blank in messages.
  v.text = bytes_.substr(begin, next_ - 1 - begin);
  const auto is = [&](absl::string_view known) {
    const size_t blank = known.find(' ');
    return module == known.substr(0, blank) && name == known.substr(blank + 1);
  };
  for (const char* known : {kStorageV2, kStorageV3, kParameter, kOrderedDict, kUntyped}) {
    if (!is(known)) continue;
    v.text = known;
    return Push(std::move(v));
  }
  if (module == "torch") {
    v.dtype = FindType(kStorages, name);
    if (!v.dtype) v.dtype = FindType(kTypes, name);
    if (v.dtype) return Push(std::move(v));
  }
  Refuse(absl::StrCat("it asks for ", module, ".", name, ", which is none of PyTorch's tensors"));
}

// Arguments: ("storage", type, key, device, number of elements).
void PickleMachine::PersistentId() {
  const int id = Pop();
  if (id < 0) return;
  if (values_[id].kind != Kind::kTuple || values_[id].items.size() != 5) {
    return Fail("a persistent id is no storage");
  }
  const Ids items = values_[id].items;
  if (values_[items[0]].kind != Kind::kString || values_[items[0]].text != "storage" ||
      values_[items[1]].kind != Kind::kGlobal || values_[items[2]].kind != Kind::kString) {
    return Fail("a persistent id is no storage");
  }
  const PickleValue& type = values_[items[1]];
  if (!type.dtype && type.text != kUntyped) return Fail("a storage has no type");
  PickleValue v;
  v.kind = Kind::kStorage;
  v.text = values_[items[2]].text;
  v.dtype = type.dtype;
  Push(std::move(v));
}

std::vector<int64_t> PickleMachine::Ints(int id) {
  std::vector<int64_t> ints;
  constexpr size_t kMostDims = 16;
  if (values_[id].kind != Kind::kTuple || values_[id].items.size() > kMostDims) {
    Fail("sizes or strides are no tuple, or too long a one");
    return ints;
  }
  for (int item : values_[id].items) {
    if (values_[item].kind != Kind::kInt) Fail("a size or stride is no integer");
    ints.push_back(values_[item].integer);
  }
  return ints;
}

// Arguments: (storage, offset, sizes, strides, requires_grad, hooks), and in the third version the
// type.
void PickleMachine::RebuildTensor(const Ids& arguments, bool typed) {
  const size_t least = typed ? 7 : 6;
  if (arguments.size() < least || values_[arguments[0]].kind != Kind::kStorage ||
      values_[arguments[1]].kind != Kind::kInt) {
    return Fail("the arguments are not those of a tensor");
  }
  const std::optional<DType> dtype =
      typed ? values_[arguments[6]].dtype : values_[arguments[0]].dtype;
  if (!dtype) return Fail("the tensor has no type");
  PickledTensor tensor;
  tensor.storage = std::string(values_[arguments[0]].text);
  tensor.dtype = *dtype;
  tensor.offset = values_[arguments[1]].integer;
  tensor.sizes = Ints(arguments[2]);
  tensor.strides = Ints(arguments[3]);
  tensors_.push_back(std::move(tensor));
  Push(Kind::kTensor, static_cast<int64_t>(tensors_.size()) - 1);
}

// A call: its result is computed here, without running it.
void PickleMachine::Reduce() {
  const int arguments = Pop();
  const int function = Pop();
  if (!status_.ok()) return;
  if (values_[function].kind != Kind::kGlobal || values_[arguments].kind != Kind::kTuple) {
    return Fail("what is called is no function");
  }
  const absl::string_view name = values_[function].text;
  constexpr size_t kMostArguments = 8;
  if (values_[arguments].items.size() > kMostArguments) return Fail("a call has many arguments");
  const Ids items = values_[arguments].items;
  if (name == kOrderedDict && items.empty()) return Push(Kind::kDict);
  if (name == kStorageV2 || name == kStorageV3) return RebuildTensor(items, name == kStorageV3);
  if (name == kParameter && !items.empty() && values_[items[0]].kind == Kind::kTensor) {
    return stack_.push_back(items[0]);
  }
  Fail(absl::StrCat("a call of ", name, " with these arguments is not understood"));
}

// Attributes of a dict, as in a module's state.
void PickleMachine::Build() {
  if (Pop() < 0) return;
  Top(Kind::kDict);
}

}  // namespace weft::pt2
