// SPDX-License-Identifier: Apache-2.0
// Programs without locks and without races: `watch_lockfree WHAT SECONDS [MICROSECONDS]`, WHAT one of ring, publish,
// ping-pong, seqlock, hazard. Everything that threads share is atomic or handed over by something atomic. Prints "ok"
// if nothing was lost on the way. With MICROSECONDS threads that have got hold of something wait so long before they
// look at it, as one does that is stopped by `deadheat watch`: that must not change the outcome.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

std::atomic<bool> stop{false};
bool goes_on() { return !stop.load(std::memory_order_relaxed); }
void spend(int amount) {
  for (int at = 0; at < amount; ++at) __asm__ volatile("");
}

std::chrono::microseconds lingering{0};
// Before the access to what was got.
void linger() {
  if (lingering.count() != 0) std::this_thread::sleep_for(lingering);
}

template <class... Work>
void run(double seconds, Work... work) {
  std::vector<std::thread> threads;
  (threads.emplace_back(work), ...);
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  stop.store(true, std::memory_order_relaxed);
  for (std::thread& thread : threads) thread.join();
}

// One producer, one consumer.
bool ring(double seconds) {
  constexpr unsigned kSize = 64;
  static std::uint64_t cells[kSize];
  static std::atomic<unsigned> head{0};
  static std::atomic<unsigned> tail{0};
  static std::uint64_t sent = 0;
  static std::uint64_t received = 0;
  run(
      seconds,
      [] {
        for (std::uint64_t value = 1; goes_on(); ++value) {
          const unsigned at = head.load(std::memory_order_relaxed);
          while (at - tail.load(std::memory_order_acquire) == kSize) {
            if (!goes_on()) return;
          }
          linger();
          cells[at % kSize] = value;
          sent += value;
          head.store(at + 1, std::memory_order_release);
        }
      },
      [] {
        for (;;) {
          const unsigned at = tail.load(std::memory_order_relaxed);
          if (head.load(std::memory_order_acquire) == at) {
            if (!goes_on()) return;
            continue;
          }
          linger();
          received += cells[at % kSize];
          tail.store(at + 1, std::memory_order_release);
        }
      });
  while (tail != head) received += cells[tail++ % kSize];
  return sent == received;
}

struct Message {
  std::uint64_t number;
  std::uint64_t square;
};

bool publish(double seconds) {
  static std::atomic<Message*> latest{nullptr};
  static std::atomic<bool> is_wrong{false};
  static std::vector<Message> all(1 << 20);  // readers may look at any of them until they end
  const auto read = [] {
    while (goes_on()) {
      const Message* const message = latest.load(std::memory_order_acquire);
      linger();
      if (message != nullptr && message->number * message->number != message->square) is_wrong = true;
      spend(50);
    }
  };
  run(
      seconds,
      [] {
        for (std::size_t number = 0; goes_on() && number < all.size(); ++number) {
          all[number] = {number, number * number};
          latest.store(&all[number], std::memory_order_release);
          spend(20000);
        }
      },
      read, read);
  return !is_wrong;
}

bool ping_pong(double seconds) {
  static std::atomic<int> turn{0};
  static std::uint64_t data = 0;
  static std::uint64_t rounds[2] = {};
  const auto play = [](int side) {
    while (goes_on()) {
      if (turn.load(std::memory_order_acquire) != side) continue;
      linger();
      for (int times = 0; times < 8; ++times) ++data;
      rounds[side] += 8;
      spend(300);
      turn.store(1 - side, std::memory_order_release);
    }
  };
  run(seconds, [play] { play(0); }, [play] { play(1); });
  return data == rounds[0] + rounds[1];
}

// Readers may read while it is written, so the data are atomic, too.
bool seqlock(double seconds) {
  static std::atomic<unsigned> version{0};
  static std::atomic<std::uint64_t> one{0};
  static std::atomic<std::uint64_t> other{0};
  static std::atomic<bool> is_wrong{false};
  const auto read = [] {
    while (goes_on()) {
      const unsigned before = version.load(std::memory_order_acquire);
      const std::uint64_t a = one.load(std::memory_order_relaxed);
      linger();
      const std::uint64_t b = other.load(std::memory_order_relaxed);
      std::atomic_thread_fence(std::memory_order_acquire);
      if (before % 2 == 0 && version.load(std::memory_order_relaxed) == before && a != b) is_wrong = true;
    }
  };
  run(
      seconds,
      [] {
        for (std::uint64_t value = 1; goes_on(); ++value) {
          const unsigned before = version.load(std::memory_order_relaxed);
          version.store(before + 1, std::memory_order_relaxed);
          std::atomic_thread_fence(std::memory_order_release);
          one.store(value, std::memory_order_relaxed);
          other.store(value, std::memory_order_relaxed);
          version.store(before + 2, std::memory_order_release);
          spend(200);
        }
      },
      read, read);
  return !is_wrong;
}

// A list whose head one thread replaces; readers say by hazard pointers what they look at.
bool hazard(double seconds) {
  struct Node {
    std::uint64_t value;
    std::uint64_t twice;
  };
  static std::atomic<Node*> head{new Node{1, 2}};
  static std::atomic<Node*> hazards[2] = {};
  static std::atomic<bool> is_wrong{false};
  // When the program ends a reader may still be about to look at one of them: only hazards say that a node is free,
  // or that the readers have been joined.
  static std::vector<Node*> retired;
  const auto read = [](int number) {
    while (goes_on()) {
      Node* node = head.load(std::memory_order_acquire);
      for (;;) {
        hazards[number].store(node, std::memory_order_seq_cst);
        Node* const now = head.load(std::memory_order_seq_cst);
        if (now == node) break;
        node = now;
      }
      linger();
      if (2 * node->value != node->twice) is_wrong = true;
      hazards[number].store(nullptr, std::memory_order_release);
      spend(100);
    }
  };
  run(
      seconds,
      [] {
        for (std::uint64_t value = 2; goes_on(); ++value) {
          retired.push_back(head.exchange(new Node{value, 2 * value}, std::memory_order_seq_cst));
          std::erase_if(retired, [](Node* node) {
            for (const auto& used : hazards) {
              if (used.load(std::memory_order_seq_cst) == node) return false;
            }
            delete node;
            return true;
          });
          spend(500);
        }
      },
      [read] { read(0); }, [read] { read(1); });
  for (Node* node : retired) delete node;
  return !is_wrong;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3 && count != 4) return 2;
  const char* const what = arguments[1];
  const double seconds = std::atof(arguments[2]);
  if (count == 4) lingering = std::chrono::microseconds(std::atoi(arguments[3]));
  struct {
    const char* name;
    bool (*function)(double);
  } const all[] = {
      {"ring", ring}, {"publish", publish}, {"ping-pong", ping_pong}, {"seqlock", seqlock}, {"hazard", hazard}};
  for (const auto& program : all) {
    if (std::strcmp(what, program.name) != 0) continue;
    const bool is_right = program.function(seconds);
    std::puts(is_right ? "ok" : "wrong");
    return is_right ? 0 : 1;
  }
  return 2;
}
