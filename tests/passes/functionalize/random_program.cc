#include "tests/passes/functionalize/random_program.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include "base/check.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/value.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "tests/passes/functionalize/mutable_interpreter.h"

namespace weft {
namespace {

using Dims = std::vector<int64_t>;

constexpr int kMaxSteps = 30;
constexpr int64_t kMaxElements = 96;
constexpr int kMaxRank = 4;
constexpr int kMaxDepth = 2;  // Of nested graphs.

int64_t Product(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<int64_t>());
}

// A value and where it lies.
struct Item {
  Value* value = nullptr;
  Layout layout;
  bool may_write = true;  // No view on the way shows an element twice.
  int storage = 0;
};

class Generator {
 public:
  Generator(Graph* graph, std::mt19937* random, int depth = 0)
      : graph_(graph), builder_(graph, nullptr, Unfolded()), random_(*random), depth_(depth) {}

  std::vector<HostTensor> Run() {
    constexpr DType kDTypes[] = {DType::kI32, DType::kF32, DType::kI8};
    dtype_ = kDTypes[Draw(3)];
    std::vector<HostTensor> inputs;
    for (int i = 1 + Draw(3); i > 0; --i) inputs.push_back(AddInput());
    // Inputs that share memory are views of one.
    for (int i = Draw(3) == 0 ? 2 : 0; i > 0; --i) AddStrided(items_[0]);
    for (int i = 1 + Draw(kMaxSteps); i > 0; --i) Step();
    std::vector<Value*> outputs;
    for (int i = Draw(4); i >= 0; --i) outputs.push_back(Pick().value);
    graph_->SetOutputs(outputs);
    WEFT_CHECK(builder_.status().ok()) << builder_.status().ToString();
    return inputs;
  }

 private:
  static Builder::Options Unfolded() {
    Builder::Options options;
    options.fold = false;
    return options;
  }
  int Draw(int n) { return static_cast<int>(random_() % n); }

  HostTensor AddInput() {
    Dims dims;
    for (int i = Draw(4); i > 0; --i) dims.push_back(1 + Draw(4));
    std::vector<SymInt> sizes(dims.begin(), dims.end());
    Item item;
    item.value = graph_->AddInput(Type::Tensor(dtype_, sizes));
    item.layout = {dims, ContiguousStrides(dims), 0};
    AddOwner(item);
    HostTensor tensor(dtype_, dims);
    std::vector<int64_t> values(tensor.numel());
    for (int64_t& v : values) v = Draw(100) - 50;
    tensor.WriteInts(values);
    return tensor;
  }

  // In memory that nothing else here is in.
  void AddOwner(Item item) {
    item.storage = num_storages_++;
    items_.push_back(item);
  }

  // New ones more often than old ones.
  Item Pick() {
    const int n = static_cast<int>(items_.size());
    const int window = Draw(2) == 0 ? std::min(n, 4) : n;
    return items_[n - 1 - Draw(window)];
  }
  Item* PickWritable() {
    for (int i = 0; i < 8; ++i) {
      const int n = static_cast<int>(items_.size());
      const int window = Draw(2) == 0 ? std::min(n, 4) : n;
      Item* item = &items_[n - 1 - Draw(window)];
      if (item->may_write) return item;
    }
    return nullptr;
  }

  // A result in memory of its own.
  Value* AddFresh(Value* value) {
    if (value == nullptr) return nullptr;
    const auto dims = *value->type().static_dims();
    if (Product(dims) > kMaxElements) return nullptr;
    Item item;
    item.value = value;
    item.layout = {dims, ContiguousStrides(dims), 0};
    AddOwner(item);
    return value;
  }

  Item AddView(const OpDef& op, Item of, std::vector<NamedAttr> attrs) {
    const auto list = MakeAttrs(op, attrs);
    WEFT_CHECK(list.ok());
    auto layout = ViewLayout(op, *list, of.layout, 0);
    if (!layout) {
      // Eager code copies here, so the program says that it does.
      of.value = builder_.Op(ops::clone, {of.value});
      of.layout = {of.layout.dims, ContiguousStrides(of.layout.dims), 0};
      of.may_write = true;
      AddOwner(of);
      of = items_.back();
      layout = ViewLayout(op, *list, of.layout, 0);
    }
    const std::vector<Value*> results = builder_.Create(op, {of.value}, *list);
    WEFT_CHECK(!results.empty()) << builder_.status().ToString();
    for (size_t i = 0; i < results.size(); ++i) {
      Item item;
      item.value = results[i];
      item.layout = *ViewLayout(op, *list, of.layout, static_cast<int>(i));
      item.may_write = of.may_write && item.layout.IsInjective();
      item.storage = of.storage;
      items_.push_back(item);
    }
    return items_.back();
  }

  void AddStrided(const Item& of) {
    const int64_t n = Product(of.layout.dims);
    const int64_t first = Draw(static_cast<int>(n));
    const int64_t step = 1 + Draw(2);
    const int64_t most = (n - 1 - first) / step + 1;
    Dims size = {1 + Draw(static_cast<int>(most))};
    Dims stride = {step};
    if (size[0] % 2 == 0) {
      size = {2, size[0] / 2};
      stride = Draw(2) == 0 ? Dims{size[1] * step, step} : Dims{step, 2 * step};
    } else if (Draw(4) == 0) {
      size.push_back(3);
      stride.push_back(0);
    }
    AddView(ops::as_strided, of, {{"size", size}, {"stride", stride}, {"storage_offset", first}});
  }

  void Step() {
    if (depth_ < kMaxDepth && Draw(12) == 0) return AddControlFlow();
    switch (Draw(10)) {
      case 0:
      case 1:
      case 2:
        AddSomeView();
        break;
      case 3:
        Read();
        break;
      case 4:
        WriteOverlap();
        break;
      case 5:
        WriteByIndex();
        break;
      default:
        Write();
    }
  }

  void AddSomeView() {
    const Item of = Pick();
    const Dims& dims = of.layout.dims;
    const int rank = static_cast<int>(dims.size());
    const int d = rank == 0 ? 0 : Draw(rank);
    const int kind = Draw(9);
    if (kind == 0) {
      AddView(ops::reshape, of, {{"size", OtherSize(dims)}});
    } else if (kind == 1 && rank < kMaxRank) {
      Dims size = dims;
      size.insert(size.begin(), 1 + Draw(2));
      for (int64_t& s : size) s = s == 1 ? 1 + Draw(3) : s;
      if (Product(size) > kMaxElements) return;
      AddView(ops::expand, of, {{"size", size}});
    } else if (kind == 2 && Product(dims) > 0) {
      AddStrided(of);
    } else if (rank == 0) {
      return;
    } else if (kind == 3) {
      Dims order(rank);
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), random_);
      AddView(ops::permute, of, {{"dims", order}});
    } else if (kind == 4 && dims[d] > 0) {
      AddView(ops::select, of, {{"dim", d}, {"index", Draw(dims[d]) - (Draw(2) ? dims[d] : 0)}});
    } else if (kind == 5 && rank >= 2) {
      AddView(ops::diagonal, of, {{"offset", Draw(3) - 1}, {"dim1", d}, {"dim2", (d + 1) % rank}});
    } else if (kind == 6 && rank < kMaxRank && dims[d] > 0) {
      AddView(ops::unfold, of,
              {{"dimension", d}, {"size", 1 + Draw(dims[d])}, {"step", 1 + Draw(3)}});
    } else if (kind == 7) {
      const int64_t first = Draw(static_cast<int>(dims[d] + 1));
      AddView(ops::split_with_sizes, of,
              {{"dim", d}, {"split_sizes", Dims{first, 0, dims[d] - first}}});
    } else {
      AddSlice(of, d, Draw(3) - 1, Draw(6), 1 + Draw(2));
    }
  }

  Item AddSlice(const Item& of, int d, int64_t start, int64_t end, int64_t step) {
    return AddView(ops::slice, of, {{"dim", d}, {"start", start}, {"end", end}, {"step", step}});
  }

  Dims OtherSize(const Dims& dims) {
    const int64_t n = Product(dims);
    switch (Draw(4)) {
      case 0:
        return {n};
      case 1:
        if (n % 2 == 0) return {2, n / 2};
        return {1, n};
      case 2:
        if (n % 2 == 0) return {n / 2, 1, 2};
        return {n, 1};
      default: {
        Dims size = dims;
        if (size.size() < kMaxRank) size.insert(size.begin() + Draw(size.size() + 1), 1);
        return size;
      }
    }
  }

  // A value computed from `x`, of its dims.
  Value* Compute(const Item& x) {
    switch (Draw(4)) {
      case 0:
        return builder_.Op(ops::neg, {x.value});
      case 1:
        return builder_.Op(ops::add, {x.value, x.value});
      case 2: {
        const Item y = Pick();
        if (y.layout.dims != x.layout.dims) break;
        return builder_.Op(ops::sub, {x.value, y.value});
      }
      default:
        break;
    }
    return builder_.Op(ops::add, {x.value, builder_.Scalar(dtype_, 1)});
  }

  void Read() {
    const Item x = Pick();
    switch (Draw(4)) {
      case 0:
        AddFresh(builder_.Op(ops::clone, {x.value}));
        break;
      case 1:
        if (x.layout.dims.empty()) break;
        if (2 * Product(x.layout.dims) > kMaxElements) break;
        AddFresh(builder_.Op(ops::cat, {x.value, x.value}));
        break;
      default:
        AddFresh(Compute(x));
    }
  }

  void AddWritten(const Item& target, Value* result) {
    if (Draw(2) == 0) return;
    Item item = target;
    item.value = result;
    items_.push_back(item);
  }

  void Write() {
    const Item* picked = PickWritable();
    if (picked == nullptr) return;
    const Item target = *picked;
    Value* src = nullptr;
    const Item other = Pick();
    if (Draw(3) == 0 && Fits(other.layout.dims, target.layout.dims)) {
      src = other.value;
    } else if (Draw(4) == 0) {
      src = builder_.Scalar(dtype_, Draw(9));
    } else {
      src = Compute(target);
    }
    AddWritten(target, builder_.Op(ops::copy_, {target.value, src}));
  }

  static bool Fits(const Dims& src, const Dims& dims) {
    if (src.size() > dims.size()) return false;
    const size_t grown = dims.size() - src.size();
    for (size_t i = 0; i < src.size(); ++i) {
      if (src[i] != 1 && src[i] != dims[grown + i]) return false;
    }
    return true;
  }

  // x[1:] = x[:-1], and the other way round.
  void WriteOverlap() {
    const Item* picked = PickWritable();
    if (picked == nullptr || picked->layout.dims.empty()) return;
    const Item x = *picked;
    const int d = Draw(static_cast<int>(x.layout.dims.size()));
    const int64_t n = x.layout.dims[d];
    if (n < 2) return;
    Item high = AddSlice(x, d, 1, n, 1);
    Item low = AddSlice(x, d, 0, n - 1, 1);
    if (Draw(2) == 0) std::swap(high, low);
    AddWritten(high, builder_.Op(ops::copy_, {high.value, low.value}));
  }

  // index_put: a value that takes x's place, or the write itself.
  void WriteByIndex() {
    const Item* picked = PickWritable();
    if (picked == nullptr || picked->layout.dims.empty()) return;
    const Item x = *picked;
    const int64_t n = x.layout.dims[0];
    if (n == 0) return;
    const int64_t count = 1 + Draw(3);
    Dims index(count);
    for (int64_t& i : index) i = Draw(static_cast<int>(n));
    Value* indices = builder_.Constant(HostTensor::FromInts(DType::kI64, {count, 1}, index));
    std::vector<SymInt> size(x.layout.dims.begin(), x.layout.dims.end());
    size[0] = count;
    Value* updates =
        builder_.Op(ops::expand, {builder_.Scalar(dtype_, Draw(50))}, {{"size", size}});
    const char* reduce = Draw(2) == 0 ? "none" : "add";
    const bool direct = Draw(2) == 0;
    Value* result = builder_.Op(direct ? ops::scatter_nd_ : ops::scatter_nd,
                                {x.value, indices, updates}, {{"reduce", reduce}});
    if (!direct) result = builder_.Op(ops::copy_, {x.value, result});
    AddWritten(x, result);
  }

  // --- Control flow: its nested graphs write what they capture.

  // Operands in separate memory.
  std::vector<Item> PickOperands() {
    std::vector<Item> operands;
    for (int i = 0; i < 6 && operands.size() < 3; ++i) {
      const Item item = Pick();
      const auto shares = [&](const Item& o) { return o.storage == item.storage; };
      if (std::none_of(operands.begin(), operands.end(), shares)) operands.push_back(item);
    }
    return operands;
  }

  void AddControlFlow() {
    const std::vector<Item> operands = PickOperands();
    const int kind = Draw(3);
    if (kind == 0) return AddCond(operands);
    if (kind == 1) return AddLoop(operands);
    if (operands.size() >= 2 && !operands[1].layout.dims.empty()) AddScan(operands);
  }

  // A generator for a nested graph.
  Generator Nested(Graph* graph) {
    Generator nested(graph, &random_, depth_ + 1);
    nested.dtype_ = dtype_;
    return nested;
  }
  // The memory of `item`, which is outside.
  void AddCaptured(const Item& item) {
    Item inner = item;
    inner.value = graph_->AddInput(item.value->type());
    AddOwner(inner);
  }
  // A value that nothing may write.
  void AddGiven(const Dims& dims) {
    Item item;
    item.value =
        graph_->AddInput(Type::Tensor(dtype_, std::vector<SymInt>(dims.begin(), dims.end())));
    item.layout = {dims, ContiguousStrides(dims), 0};
    item.may_write = false;
    AddOwner(item);
  }
  void AddBody(std::vector<Value*> outputs, int num_computed) {
    for (int i = 1 + Draw(6); i > 0; --i) Step();
    for (int i = 0; i < num_computed; ++i) outputs.push_back(Compute(items_[i]));
    graph_->SetOutputs(outputs);
    WEFT_CHECK(builder_.status().ok()) << builder_.status().ToString();
  }

  std::unique_ptr<Graph> NewGraph(const char* name) {
    return std::make_unique<Graph>(&graph_->module(), name);
  }

  void AddNode(const OpDef& op, const std::vector<Value*>& operands,
               const std::vector<NamedAttr>& attrs, std::vector<std::unique_ptr<Graph>> regions) {
    const auto results = builder_.Ops(op, operands, attrs, std::move(regions));
    WEFT_CHECK(builder_.status().ok()) << builder_.status().ToString();
    for (Value* result : results) AddFresh(result);
  }

  void AddCond(const std::vector<Item>& operands) {
    const int outputs = Draw(static_cast<int>(operands.size()) + 1);
    std::vector<Value*> values = {builder_.Scalar(DType::kBool, Draw(2))};
    for (const Item& item : operands) values.push_back(item.value);
    std::vector<std::unique_ptr<Graph>> regions;
    for (const char* name : {"then_graph", "else_graph"}) {
      regions.push_back(NewGraph(name));
      Generator body = Nested(regions.back().get());
      for (const Item& item : operands) body.AddCaptured(item);
      body.AddBody({}, outputs);
    }
    AddNode(ops::cond, values, {}, std::move(regions));
  }

  void AddLoop(const std::vector<Item>& operands) {
    std::vector<std::unique_ptr<Graph>> regions;
    regions.push_back(NewGraph("body"));
    Graph& graph = *regions[0];
    Generator body = Nested(&graph);
    graph.AddInput(Type::Scalar(DType::kI64));
    Value* go_on = graph.AddInput(Type::Scalar(DType::kBool));
    body.AddGiven(operands[0].layout.dims);
    for (size_t i = 1; i < operands.size(); ++i) body.AddCaptured(operands[i]);
    body.AddBody({go_on}, 1);
    std::vector<Value*> values = {builder_.Scalar(DType::kI64, Draw(4)),
                                  builder_.Scalar(DType::kBool, Draw(6) != 0)};
    for (const Item& item : operands) values.push_back(item.value);
    AddNode(ops::loop, values, {{"num_carried", 1}}, std::move(regions));
  }

  void AddScan(const std::vector<Item>& operands) {
    std::vector<std::unique_ptr<Graph>> regions;
    regions.push_back(NewGraph("body"));
    Generator body = Nested(regions[0].get());
    body.AddGiven(operands[0].layout.dims);
    Dims slice = operands[1].layout.dims;
    slice.erase(slice.begin());
    body.AddGiven(slice);
    for (size_t i = 2; i < operands.size(); ++i) body.AddCaptured(operands[i]);
    body.AddBody({}, 1 + Draw(2));
    std::vector<Value*> values;
    for (const Item& item : operands) values.push_back(item.value);
    AddNode(ops::scan, values, {{"num_carried", 1}, {"num_scanned", 1}}, std::move(regions));
  }

  Graph* graph_;
  Builder builder_;
  std::mt19937& random_;
  const int depth_;
  DType dtype_ = DType::kF32;
  int num_storages_ = 0;
  std::vector<Item> items_;
};

}  // namespace

RandomProgram MakeRandomProgram(uint32_t seed) {
  RandomProgram program;
  program.module = std::make_unique<Module>(ops::Registry());
  std::mt19937 random(seed);
  program.inputs = Generator(program.module->AddFunction("main"), &random).Run();
  return program;
}

}  // namespace weft
