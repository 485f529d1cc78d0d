// SPDX-License-Identifier: Apache-2.0
#include "program_text.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <vector>

#include "statements.h"

namespace deadheat::random_programs {

namespace {

constexpr int kMutexes = 3;
constexpr int kReadWriteLocks = 1;
constexpr int kSemaphores = 2;
constexpr int kFlags = 3;
constexpr int kLargeCount = 8192;  // longs: 64 KiB, shadow of large blocks

// How a lock is held in the forced order. A lock is never asked for while it is not to be had.
struct Holding {
  int writer = -1;
  std::vector<int> readers;
};

class ProgramWriter {
 public:
  ProgramWriter(std::uint32_t seed, bool machine_has_avx2)
      : dice_(seed), uses_avx2_(machine_has_avx2 && dice_.one_in(3)), threads_(2 + dice_.below(3)) {}

  ProgramText write() {
    make_objects();
    const int steps = 16 + dice_.below(24);
    for (int step = 0; step < steps; ++step) write_step(dice_.below(threads_));
    give_up_locks();
    return {text(), uses_avx2_};
  }

 private:
  void add(Shape shape, std::string type, const char* prefix, int count) {
    const int guard = dice_.one_in(3) ? -1 : dice_.below(kMutexes + kReadWriteLocks);
    objects_.push_back({shape, std::move(type), fmt::format("{}_{}", prefix, objects_.size()), count, guard, false});
  }

  void make_objects() {
    static constexpr std::array kScalars = {"char",   "short",       "int",           "long",  "float",
                                            "double", "long double", "unsigned char", "_Bool", "volatile int"};
    static constexpr std::array kWide = {"Vector4", "Vector8", "__int128", "_Complex double", "_Complex float"};
    static constexpr std::array kElements = {"char", "short", "int", "long", "float", "double"};
    static constexpr std::array kStructs = {"struct Small", "struct Medium", "struct Large"};
    for (int i = 0; i < 4; ++i) add(Shape::kScalar, dice_.pick(kScalars), "scalar", 1);
    for (int i = 0; i < 2; ++i) add(Shape::kVector, dice_.pick(kWide), "wide", 1);
    for (int i = 0; i < 3; ++i) add(Shape::kArray, dice_.pick(kElements), "array", 8 + dice_.below(120));
    add(Shape::kPoints, "struct Point", "points", 4 + dice_.below(20));
    for (int i = 0; i < 2; ++i) add(Shape::kStruct, dice_.pick(kStructs), "structure", 1);
    add(Shape::kPacked, "struct Packed", "packed", 1);
    add(Shape::kUnion, "union Overlaid", "overlaid", 1);
    add(Shape::kFields, "struct Fields", "fields", 1);
    for (int i = 0; i < 2; ++i) add(Shape::kBytes, "char", "bytes", 64 + dice_.below(100));
    add(Shape::kHeap, "long", "heap", 3 + dice_.below(60));
    if (dice_.one_in(2)) add(Shape::kLargeHeap, "long", "large", kLargeCount);
  }

  [[nodiscard]] bool may_write(int thread, int guard) const {
    return guard < 0 || holdings_[static_cast<std::size_t>(guard)].writer == thread;
  }

  void write_step(int thread) {
    if (dice_.one_in(2) && write_synchronisation(thread)) return;
    write_body(thread);
  }

  // False: the operation that was picked is not possible now.
  bool write_synchronisation(int thread) {
    switch (dice_.below(6)) {
      case 0:
      case 1:
        return write_lock(thread);
      case 2:
        return write_flag(thread);
      case 3: {
        const int semaphore = dice_.below(kSemaphores);
        int& tokens = tokens_[static_cast<std::size_t>(semaphore)];
        const bool posts = tokens == 0 || dice_.one_in(2);
        tokens += posts ? 1 : -1;
        add_step(thread, fmt::format("{}(semaphore_{});", posts ? "POST" : "WAIT", semaphore));
        return true;
      }
      default:
        return write_lock(thread);
    }
  }

  bool write_lock(int thread) {
    const int lock = dice_.below(kMutexes + kReadWriteLocks);
    Holding& holding = holdings_[static_cast<std::size_t>(lock)];
    const bool is_mutex = lock < kMutexes;
    if (holding.writer == thread) {
      release(lock);
      return true;
    }
    if (holding.writer >= 0) return false;
    if (!is_mutex && (dice_.one_in(2) || !holding.readers.empty())) {
      for (const int reader : holding.readers) {
        if (reader == thread) {
          std::erase(holding.readers, thread);
          add_step(thread, "UNLOCK_READ(lock_0);");
          return true;
        }
      }
      holding.readers.push_back(thread);
      add_step(thread, "LOCK_READ(lock_0);");
      return true;
    }
    holding.writer = thread;
    add_step(thread, is_mutex ? fmt::format("LOCK(mutex_{});", lock) : "LOCK_WRITE(lock_0);");
    if (!dice_.one_in(4)) {
      write_body(thread);
      release(lock);
    }
    return true;
  }

  void release(int lock) {
    Holding& holding = holdings_[static_cast<std::size_t>(lock)];
    if (holding.writer >= 0) {
      add_step(holding.writer, lock < kMutexes ? fmt::format("UNLOCK(mutex_{});", lock) : "UNLOCK_WRITE(lock_0);");
    }
    holding.writer = -1;
    for (const int reader : holding.readers) add_step(reader, "UNLOCK_READ(lock_0);");
    holding.readers.clear();
  }

  void give_up_locks() {
    for (int lock = 0; lock < kMutexes + kReadWriteLocks; ++lock) release(lock);
  }

  bool write_flag(int thread) {
    static constexpr std::array kForms = {"STORE_RELEASE(flag_{0}, {1});",  "LOAD_ACQUIRE(flag_{0});",
                                          "LOAD_ACQUIRE(flag_{0});",        "ADD_ACQ_REL(flag_{0});",
                                          "ADD_RELAXED(flag_{0});",         "LOAD_RELAXED(flag_{0});",
                                          "STORE_ASSEMBLY(flag_{0}, {1});", "ADD_ASSEMBLY(flag_{0});",
                                          "EXCHANGE_ASSEMBLY(flag_{0});",   "ADD_PLAIN_ASSEMBLY(flag_{0});"};
    const int flag = dice_.below(kFlags);
    if (dice_.one_in(10)) {
      add_step(thread, fmt::format("acc += RD(flag_{});", flag));
    } else {
      add_step(thread, fmt::format(fmt::runtime(dice_.pick(kForms)), flag, 1 + dice_.below(9)));
    }
    return true;
  }

  void write_body(int thread) {
    Surroundings around;
    around.may_use_avx2 = uses_avx2_;
    std::vector<Object*> allowed;
    for (Object& object : objects_) {
      if (object.is_freed) continue;
      if (may_write(thread, object.guard) || dice_.one_in(25)) allowed.push_back(&object);
    }
    if (allowed.empty()) return;
    for (const Object* const object : allowed) around.others.push_back(object);
    std::string body;
    const int count = 1 + dice_.below(6);
    for (int at = 0; at < count; ++at) {
      Object& object = *dice_.pick(allowed);
      if (object.is_freed) continue;
      if (object.shape == Shape::kHeap && dice_.one_in(8)) {
        object.is_freed = true;
        body += fmt::format("  FREE({}, {});\n", object.name, object.count * 8);
        continue;
      }
      static constexpr std::array kWays = {"IN_LAMBDA", "IN_VIRTUAL", "IN_TRY"};
      const std::string one = statement(dice_, object, around);
      body += dice_.one_in(8) ? fmt::format("  {}({})\n", dice_.pick(kWays), one) : "  " + one + "\n";
    }
    add_step(thread, body.empty() ? ";" : body.substr(2, body.size() - 3));
  }

  void add_step(int thread, const std::string& body) {
    const auto step = static_cast<int>(steps_.size());
    const char* const how = dice_.one_in(2) ? "NOT_INLINED" : "inline";
    steps_.push_back(thread);
    functions_ += fmt::format("static {} void step_{}(void) {{\n  long acc = opaque({});\n  {}\n  use(acc);\n}}\n", how,
                              step, dice_.below(50), body);
  }

  [[nodiscard]] std::string declarations() const {
    std::string text;
    for (const Object& object : objects_) {
      switch (object.shape) {
        case Shape::kArray:
        case Shape::kPoints:
        case Shape::kBytes:
          text += fmt::format("{} {}[{}];\n", object.type, object.name, object.count);
          break;
        case Shape::kHeap:
        case Shape::kLargeHeap:
          text += fmt::format("{}* {};\n", object.type, object.name);
          break;
        default:
          text += fmt::format("{} {};\n", object.type, object.name);
      }
    }
    for (int at = 0; at < kMutexes; ++at)
      text += fmt::format("pthread_mutex_t mutex_{} = PTHREAD_MUTEX_INITIALIZER;\n", at);
    for (int at = 0; at < kReadWriteLocks; ++at)
      text += fmt::format("pthread_rwlock_t lock_{} = PTHREAD_RWLOCK_INITIALIZER;\n", at);
    for (int at = 0; at < kSemaphores; ++at) text += fmt::format("sem_t semaphore_{};\n", at);
    for (int at = 0; at < kFlags; ++at) text += fmt::format("int flag_{};\n", at);
    return text;
  }

  [[nodiscard]] std::string main_text() const {
    std::string text = "int main(void) {\n  pthread_t threads[8];\n";
    for (const Object& object : objects_) {
      if (object.shape != Shape::kHeap && object.shape != Shape::kLargeHeap) continue;
      text += fmt::format("  {} = (long*)calloc({}, 8);\n", object.name, object.count);
      if (object.shape == Shape::kLargeHeap)
        text += fmt::format("  ORACLE(oracle_checked_late({}, {}));\n", object.name, object.count * 8);
    }
    for (int at = 0; at < kSemaphores; ++at) text += fmt::format("  sem_init(&semaphore_{}, 0, 0);\n", at);
    for (int at = 0; at < threads_; ++at)
      text += fmt::format("  pthread_create(&threads[{0}], NULL, thread_{0}, NULL);\n", at);
    for (int at = 0; at < threads_; ++at) text += fmt::format("  pthread_join(threads[{}], NULL);\n", at);
    return text + "  return 0;\n}\n";
  }

  [[nodiscard]] std::string text() const {
    std::string text = "#include \"random_program.h\"\n" + declarations() + functions_;
    for (int thread = 0; thread < threads_; ++thread) {
      text += fmt::format("static void* thread_{}(void* unused) {{\n", thread);
      for (std::size_t step = 0; step < steps_.size(); ++step) {
        if (steps_[step] == thread) text += fmt::format("  BEGIN({0}, {1}); step_{1}(); END({1});\n", thread, step);
      }
      text += fmt::format("  scheduler_await({});\n  return unused;\n}}\n", steps_.size());
    }
    return text + main_text();
  }

  Dice dice_;
  bool uses_avx2_;
  int threads_;
  std::vector<Object> objects_;
  std::array<Holding, kMutexes + kReadWriteLocks> holdings_;
  std::array<int, kSemaphores> tokens_{};
  std::vector<int> steps_;  // whose each is
  std::string functions_;
};

}  // namespace

ProgramText random_program(std::uint32_t seed, bool machine_has_avx2) {
  return ProgramWriter(seed, machine_has_avx2).write();
}

}  // namespace deadheat::random_programs
