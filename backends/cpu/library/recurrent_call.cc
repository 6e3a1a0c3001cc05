// One direction of some sequences is a task. Tasks run side by side where there are enough
// sequences; else all threads share the units of one task, and meet after each step.
//
// A task multiplies the inputs of many time steps at once, then takes these steps one by one.
#include "backends/cpu/library/recurrent_call.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "backends/cpu/threads/parallel.h"
#include "base/align.h"

namespace weft::cpu {
namespace {

constexpr int64_t kInputFloats = int64_t{1} << 18;  // Of products of inputs that are kept at once.
constexpr int64_t kLeastRows = 8;                   // Fewer sequences are not split among tasks.

int64_t Aligned(int64_t floats) { return AlignUp(floats, int64_t{16}); }

// Hands out parts of the scratch memory; without memory it only counts.
class Floats {
 public:
  explicit Floats(float* memory) : memory_(memory) {}
  float* Take(int64_t floats) {
    float* at = memory_ == nullptr ? nullptr : memory_ + used_;
    used_ += Aligned(floats);
    return at;
  }
  int64_t used() const { return used_; }

 private:
  float* const memory_;
  int64_t used_ = 0;
};

// What all tasks of one direction read.
struct Direction {
  const float* w = nullptr;
  const float* w_end = nullptr;
  std::vector<const float*> r;
  const float* bias = nullptr;        // [blocks, gates, lanes]
  const float* state_bias = nullptr;  // [state_row], of a GRU's last gate.
  const float* peepholes = nullptr;
};

// Sequences [first, first + rows) of one direction.
struct Task {
  int64_t direction = 0;
  int64_t first = 0;
  int64_t rows = 0;
  float* h[2] = {nullptr, nullptr};
  float* c = nullptr;
  float* update = nullptr;
  float* kept = nullptr;
  float* products = nullptr;
  float* inputs = nullptr;  // A copy, if the elements of x lie apart.
  // Of the inputs of a chunk's sequences, in x and in the copy.
  std::vector<int64_t> from, offsets;
};

// One of those that share a task.
struct Member : public TeamMember {
  float* tile = nullptr;
};

class RecurrentCall : public LibraryCall {
 public:
  RecurrentCall(RecurrentShape shape, int threads)
      : s_(std::move(shape)),
        threads_(threads),
        lanes_(s_.table->lanes),
        blocks_((s_.hidden + lanes_ - 1) / lanes_),
        state_row_(blocks_ * lanes_),
        x_row_(state_row_ * s_.gates),
        zeros_(s_.input) {
    ChooseTasks();
    const int64_t rows = std::max<int64_t>(most_rows_, 1);
    chunk_ = std::min(s_.length, std::max<int64_t>(1, kInputFloats / (rows * x_row_)));
    copies_ = s_.input > 1 && s_.x.strides[2] != 1;
    for (const int64_t stride : s_.x.strides) copies_ = copies_ || stride < 0;
    for (Task& task : tasks_) FindOffsets(&task);
    Floats count(nullptr);
    Place(count);
    floats_ = count.used();
  }

  int64_t scratch_bytes() const override { return floats_ * 4; }
  std::string name() const override { return s_.name; }

  absl::Status Run(const CallMemory& memory) override {
    if (s_.lengths >= 0) {
      const auto* lengths = static_cast<const int32_t*>(memory.args[s_.lengths]);
      for (int64_t b = 0; b < s_.batch; ++b) {
        if (lengths[b] >= 0 && lengths[b] <= s_.length) continue;
        return absl::UnimplementedError("a length that no sequence has");
      }
    }
    Floats floats(static_cast<float*>(memory.scratch));
    Place(floats);
    for (int64_t d = 0; d < s_.directions; ++d) Prepare(memory, d, &directions_[d]);
    if (shares_) {
      RunMeetingTeam(threads_, [&](const TeamMember& member) {
        for (const Task& task : tasks_) RunTask(memory, task, {member, tiles_[member.index]});
      });
    } else {
      const auto n = static_cast<int64_t>(tasks_.size());
      ForEachNext(std::min<int64_t>(threads_, n), n, [&](int64_t t, const TeamMember& member) {
        RunTask(memory, tasks_[t], {TeamMember(), tiles_[member.index]});
      });
    }
    return absl::OkStatus();
  }

 private:
  void ChooseTasks() {
    const int64_t per_direction = (threads_ + s_.directions - 1) / s_.directions;
    const bool enough = threads_ == 1 || s_.batch / per_direction >= kLeastRows ||
                        (per_direction == 1 && s_.directions == threads_);
    shares_ = !enough;
    const int64_t slices = enough ? per_direction : 1;
    for (int64_t d = 0; d < s_.directions; ++d) {
      for (int64_t i = 0; i < slices; ++i) {
        Task task;
        task.direction = d;
        task.first = s_.batch * i / slices;
        task.rows = s_.batch * (i + 1) / slices - task.first;
        most_rows_ = std::max(most_rows_, task.rows);
        if (task.rows > 0) tasks_.push_back(task);
      }
    }
  }

  void FindOffsets(Task* task) const {
    for (int64_t i = 0; i < chunk_ * task->rows; ++i) {
      task->from.push_back(i / task->rows * s_.x.strides[0] + i % task->rows * s_.x.strides[1]);
      task->offsets.push_back(copies_ ? i * s_.input : task->from.back());
    }
  }

  // Gives the directions, the tasks and the threads their parts of the scratch memory.
  void Place(Floats& floats) {
    directions_.resize(s_.directions);
    tiles_.resize(threads_);
    for (Direction& d : directions_) {
      if (s_.w.packed.empty()) d.w = floats.Take(s_.w.packing.floats());
      d.r.resize(s_.r.size());
      for (size_t i = 0; i < s_.r.size(); ++i) {
        if (s_.r[i].packed.empty()) d.r[i] = floats.Take(s_.r[i].packing.floats());
      }
      d.bias = floats.Take(x_row_);
      d.state_bias = floats.Take(state_row_);
      if (s_.peepholes >= 0) d.peepholes = floats.Take(3 * state_row_);
    }
    for (Task& task : tasks_) {
      const int64_t states = task.rows * state_row_;
      for (float*& h : task.h) h = floats.Take(states);
      if (s_.kind == RecurrentKind::kLstm) task.c = floats.Take(states);
      if (s_.r.size() > 1) {
        task.update = floats.Take(states);
        task.kept = floats.Take(states);
      }
      task.products = floats.Take(chunk_ * task.rows * x_row_);
      if (copies_) task.inputs = floats.Take(chunk_ * task.rows * s_.input);
    }
    for (float*& tile : tiles_) {
      tile = floats.Take(std::max(most_rows_ * kRecurrentGates * lanes_, kGemmScratchFloats));
    }
  }

  const float* Packed(const CallMemory& memory, const RecurrentMatrix& m, int64_t d,
                      const float* scratch) const {
    if (!m.packed.empty()) return reinterpret_cast<const float*>(m.packed[d]->data());
    const auto* from = static_cast<const float*>(memory.args[m.slot]);
    PackGates(m.packing, from + d * m.rows * m.packing.depth, const_cast<float*>(scratch));
    return scratch;
  }

  void Prepare(const CallMemory& memory, int64_t d, Direction* to) const {
    to->w = Packed(memory, s_.w, d, to->w);
    to->w_end = to->w + s_.w.packing.floats();
    for (size_t i = 0; i < s_.r.size(); ++i) to->r[i] = Packed(memory, s_.r[i], d, to->r[i]);
    float* bias = const_cast<float*>(to->bias);
    float* state_bias = const_cast<float*>(to->state_bias);
    std::fill(bias, bias + x_row_, 0.0f);
    std::fill(state_bias, state_bias + state_row_, 0.0f);
    const int64_t rows = s_.gates * s_.hidden;
    if (s_.bias >= 0) {
      const auto* from = static_cast<const float*>(memory.args[s_.bias]) + d * 2 * rows;
      const bool is_gru = s_.gates == 3;
      for (int64_t row = 0; row < rows; ++row) {
        const int64_t gate = row / s_.hidden;
        const int64_t unit = row % s_.hidden;
        const bool apart = is_gru && gate == 2;
        bias[(unit / lanes_ * s_.gates + gate) * lanes_ + unit % lanes_] =
            from[row] + (apart ? 0.0f : from[rows + row]);
        if (apart) state_bias[unit] = from[rows + row];
      }
    }
    if (s_.peepholes < 0) return;
    float* peepholes = const_cast<float*>(to->peepholes);
    std::fill(peepholes, peepholes + 3 * state_row_, 0.0f);
    const auto* from = static_cast<const float*>(memory.args[s_.peepholes]) + d * 3 * s_.hidden;
    for (int64_t g = 0; g < 3; ++g) {
      std::copy(from + g * s_.hidden, from + (g + 1) * s_.hidden, peepholes + g * state_row_);
    }
  }

  bool IsReverse(const Task& task) const { return s_.reverse || task.direction == 1; }

  void RunTask(const CallMemory& memory, const Task& task, const Member& member) const {
    const Direction& direction = directions_[task.direction];
    if (member.index == 0) {
      LoadState(memory, s_.initial_h, task, task.h[0]);
      if (task.c != nullptr) LoadState(memory, s_.initial_c, task, task.c);
    }
    for (int64_t i = 0; i < s_.length; i += chunk_) {
      const int64_t steps = std::min(chunk_, s_.length - i);
      // The first time of the chunk.
      const int64_t time = IsReverse(task) ? s_.length - i - steps : i;
      MultiplyInputs(memory, direction, task, member, time, steps);
      member.Meet();
      for (int64_t j = 0; j < steps; ++j) {
        const int64_t at = IsReverse(task) ? steps - 1 - j : j;
        RunStep(memory, direction, task, member, time + at, at, (i + j) % 2);
      }
    }
    member.Meet();
    if (member.index != 0) return;
    StoreState(memory, s_.y_h, 1, task, task.h[s_.length % 2]);
    if (task.c != nullptr) StoreState(memory, s_.y_c, 2, task, task.c);
  }

  void LoadState(const CallMemory& memory, const RecurrentView& view, const Task& task,
                 float* to) const {
    std::fill(to, to + task.rows * state_row_, 0.0f);
    if (view.slot < 0) return;
    const float* from = static_cast<const float*>(memory.args[view.slot]) +
                        task.direction * view.strides[0] + task.first * view.strides[1];
    for (int64_t row = 0; row < task.rows; ++row) {
      for (int64_t j = 0; j < s_.hidden; ++j) {
        to[row * state_row_ + j] = from[row * view.strides[1] + j * view.strides[2]];
      }
    }
  }

  void StoreState(const CallMemory& memory, const RecurrentView& view, int result, const Task& task,
                  const float* from) const {
    if (view.slot < 0) return;
    float* to = static_cast<float*>(memory.results[result]) + task.direction * view.strides[0] +
                task.first * view.strides[1];
    for (int64_t row = 0; row < task.rows; ++row) {
      for (int64_t j = 0; j < s_.hidden; ++j) {
        to[row * view.strides[1] + j * view.strides[2]] = from[row * state_row_ + j];
      }
    }
  }

  // Products of the inputs of times [time, time + steps) with the weights, and the biases.
  void MultiplyInputs(const CallMemory& memory, const Direction& direction, const Task& task,
                      const Member& member, int64_t time, int64_t steps) const {
    const float* x = static_cast<const float*>(memory.args[s_.x.slot]) + time * s_.x.strides[0] +
                     task.first * s_.x.strides[1];
    const int64_t rows = steps * task.rows;
    for (int64_t i = copies_ ? member.Begin(rows) : rows; i < member.End(rows); ++i) {
      for (int64_t k = 0; k < s_.input; ++k) {
        task.inputs[i * s_.input + k] = x[task.from[i] + k * s_.x.strides[2]];
      }
    }
    if (copies_) member.Meet();
    GemmPanel panel;
    panel.x = copies_ ? task.inputs : x;
    panel.offsets = task.offsets.data();
    panel.depth = s_.input;
    panel.zeros = zeros_.data();
    panel.rows = rows;
    panel.end = direction.w_end;
    panel.y_row = x_row_;
    panel.least = -std::numeric_limits<float>::infinity();
    panel.most = std::numeric_limits<float>::infinity();
    const int64_t each = s_.w.packing.per_panel;
    const int64_t vectors = s_.w.packing.vectors();
    const int64_t panels = (vectors + each - 1) / each;
    for (int64_t p = member.Begin(panels); p < member.End(panels); ++p) {
      const int64_t column = p * each * lanes_;
      panel.weights = direction.w + column * s_.input;
      panel.vectors = static_cast<int>(std::min(each, vectors - p * each));
      panel.columns = panel.vectors * lanes_;
      panel.bias = direction.bias + column;
      panel.y = task.products + column;
      s_.gemm->run(panel, member.tile);
    }
  }

  // The step at time `time`, whose products are number `at`; h is in task.h[from] before it.
  void RunStep(const CallMemory& memory, const Direction& direction, const Task& task,
               const Member& member, int64_t time, int64_t at, int64_t from) const {
    RecurrentStep step = s_.steps[task.direction];
    step.rows = task.rows;
    step.hidden = s_.hidden;
    step.state_row = state_row_;
    step.first = member.Begin(blocks_);
    step.last = member.End(blocks_);
    step.weights = direction.r[0];
    step.x = task.products + at * task.rows * x_row_;
    step.x_row = x_row_;
    step.state_bias = direction.state_bias;
    step.peepholes = direction.peepholes;
    step.h = task.h[from];
    step.h_after = task.h[1 - from];
    step.c = task.c;
    step.update = task.update;
    step.kept = task.kept;
    if (s_.lengths >= 0) {
      step.lengths = static_cast<const int32_t*>(memory.args[s_.lengths]) + task.first;
    }
    step.time = time;
    step.tile = member.tile;
    float* y = static_cast<float*>(memory.result) + time * s_.y.strides[0] +
               task.direction * s_.y.strides[1] + task.first * s_.y.strides[2];
    const bool contiguous = s_.hidden == 1 || s_.y.strides[3] == 1;
    step.y = contiguous ? y : nullptr;
    step.y_row = s_.y.strides[2];
    s_.table->run(s_.kind, step);
    if (s_.r.size() > 1) {
      member.Meet();
      step.weights = direction.r[1];
      s_.table->run(RecurrentKind::kGruHidden, step);
    }
    if (!contiguous) StoreApart(step, y);
    member.Meet();
  }

  // Results whose elements lie apart.
  void StoreApart(const RecurrentStep& step, float* y) const {
    const int64_t end = std::min(step.last * lanes_, s_.hidden);
    for (int64_t row = 0; row < step.rows; ++row) {
      const bool runs = step.lengths == nullptr || step.time < step.lengths[row];
      for (int64_t j = step.first * lanes_; j < end; ++j) {
        y[row * s_.y.strides[2] + j * s_.y.strides[3]] =
            runs ? step.h_after[row * state_row_ + j] : 0.0f;
      }
    }
  }

  const RecurrentShape s_;
  const int threads_;
  const int64_t lanes_, blocks_, state_row_, x_row_;
  const std::vector<float> zeros_;
  std::vector<Direction> directions_;
  std::vector<Task> tasks_;
  std::vector<float*> tiles_;  // By thread.
  bool shares_ = false;        // All threads do one task after the other.
  bool copies_ = false;
  int64_t most_rows_ = 0;
  int64_t chunk_ = 0;  // Time steps whose inputs are multiplied at once.
  int64_t floats_ = 0;
};

}  // namespace

std::unique_ptr<LibraryCall> MakeRecurrentCall(RecurrentShape shape, int threads) {
  return std::make_unique<RecurrentCall>(std::move(shape), threads);
}

}  // namespace weft::cpu
