// SPDX-License-Identifier: Apache-2.0
// Measures the brightness of camera frames with a pool of workers.
//
// Each frame is cut into bands. The caller measures the first band, the workers
// measure the others, and when all are counted as finished the frame is freed. The
// count is released by the workers and acquired by the caller, so that their last
// reads of a frame happen before it is freed:
//
//   deadheat c++ -O1 -g -pthread fixed.cpp -o fixed && deadheat run ./fixed
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

constexpr std::size_t kBands = 4;
constexpr std::size_t kBandSize = 64 * 1024;

struct Frame {
  std::uint8_t pixels[kBands * kBandSize];
};

std::uint64_t brightness_of_band(const Frame& frame, std::size_t band) {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < kBandSize; ++at) sum += frame.pixels[band * kBandSize + at];
  return sum;
}

struct Job {
  const Frame* frame = nullptr;  // null: stop working
  std::size_t band = 0;
};

class BrightnessMeter {
 public:
  BrightnessMeter() {
    for (std::size_t worker = 1; worker < kBands; ++worker) workers_.emplace_back([this] { work(); });
  }

  ~BrightnessMeter() {
    submit(std::vector<Job>(workers_.size()));
    for (std::thread& worker : workers_) worker.join();
  }

  std::uint64_t measure(const Frame& frame) {
    finished_.store(0, std::memory_order_relaxed);
    sum_.store(0, std::memory_order_relaxed);
    std::vector<Job> jobs;
    for (std::size_t band = 1; band < kBands; ++band) jobs.push_back({&frame, band});
    submit(jobs);
    const std::uint64_t own = brightness_of_band(frame, 0);
    while (finished_.load(std::memory_order_acquire) < kBands - 1) std::this_thread::yield();
    return own + sum_.load(std::memory_order_relaxed);
  }

 private:
  void submit(const std::vector<Job>& jobs) {
    const std::lock_guard<std::mutex> lock(mutex_);
    queue_.insert(queue_.end(), jobs.begin(), jobs.end());
    changed_.notify_all();
  }

  Job next() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return !queue_.empty(); });
    const Job job = queue_.front();
    queue_.pop_front();
    return job;
  }

  void work() {
    for (Job job = next(); job.frame != nullptr; job = next()) {
      sum_.fetch_add(brightness_of_band(*job.frame, job.band), std::memory_order_relaxed);
      finished_.fetch_add(1, std::memory_order_release);
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> queue_;
  std::atomic<std::uint64_t> sum_{0};
  std::atomic<std::size_t> finished_{0};
  std::vector<std::thread> workers_;
};

std::unique_ptr<Frame> capture(std::uint8_t light) {
  auto frame = std::make_unique<Frame>();
  for (std::uint8_t& pixel : frame->pixels) pixel = light;
  return frame;
}

int main() {
  BrightnessMeter meter;
  for (std::uint8_t number = 1; number <= 8; ++number) {
    const std::unique_ptr<Frame> frame = capture(number);
    const std::uint64_t sum = meter.measure(*frame);
    std::printf("frame %d: average brightness %.1f\n", number, static_cast<double>(sum) / sizeof frame->pixels);
  }
}
