// SPDX-License-Identifier: Apache-2.0
// GrowableArray: a vector for code that also runs inside the observed program.
// There, std::vector is out of the question: it allocates from the program's
// heap and drags in exceptions. Memory comes from a Source with two static
// functions, so that the runtime can plug in its own mapping of pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

#include "base/check.h"

namespace deadheat {

// The process's heap, for offline use. Running out of it is fatal there.
struct HeapSource {
  static void* allocate(std::size_t bytes) {
    void* memory = std::malloc(bytes);
    DEADHEAT_CHECK(memory != nullptr);
    return memory;
  }
  static void release(void* memory, std::size_t /*bytes*/) { std::free(memory); }
};

template <class T, class Source = HeapSource>
class GrowableArray {
 public:
  GrowableArray() = default;
  GrowableArray(const GrowableArray& other) { assign(other); }
  GrowableArray(GrowableArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  GrowableArray& operator=(const GrowableArray& other) {
    if (this != &other) assign(other);
    return *this;
  }
  GrowableArray& operator=(GrowableArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  ~GrowableArray() { reset(); }

  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] std::uint32_t capacity() const { return capacity_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] T& operator[](std::uint32_t index) { return data_[index]; }
  [[nodiscard]] const T& operator[](std::uint32_t index) const { return data_[index]; }
  [[nodiscard]] T* begin() { return data_; }
  [[nodiscard]] T* end() { return data_ + size_; }
  [[nodiscard]] const T* begin() const { return data_; }
  [[nodiscard]] const T* end() const { return data_ + size_; }

  // Grows or shrinks; new elements are T{}.
  void resize(std::uint32_t size) {
    reserve(size);
    while (size_ < size) new (data_ + size_++) T{};
    while (size_ > size) data_[--size_].~T();
  }
  T& push_back(T value) {
    if (size_ == capacity_) reserve(size_ + 1);
    return *new (data_ + size_++) T(std::move(value));
  }
  void pop_back() { data_[--size_].~T(); }
  // Inserts before `index`.
  void insert(std::uint32_t index, T value) {
    push_back(std::move(value));
    for (std::uint32_t at = size_ - 1; at > index; --at) std::swap(data_[at], data_[at - 1]);
  }
  // Removes the element at `index`, keeping the order of the others.
  void erase(std::uint32_t index) {
    for (std::uint32_t at = index; at + 1 < size_; ++at) data_[at] = std::move(data_[at + 1]);
    resize(size_ - 1);
  }
  // Forgets the elements and keeps the memory.
  void clear() { resize(0); }
  // Gives the memory back.
  void reset() {
    clear();
    if (data_ != nullptr) Source::release(data_, capacity_ * sizeof(T));
    data_ = nullptr;
    capacity_ = 0;
  }

 private:
  void assign(const GrowableArray& other) {
    if (size_ > other.size_) resize(other.size_);
    reserve(other.size_);
    for (std::uint32_t at = 0; at < size_; ++at) data_[at] = other.data_[at];
    while (size_ < other.size_) {
      new (data_ + size_) T(other.data_[size_]);
      ++size_;
    }
  }
  void reserve(std::uint32_t wanted) {
    if (wanted <= capacity_) return;
    std::uint32_t capacity = capacity_ == 0 ? 4 : capacity_ * 2;
    if (capacity < wanted) capacity = wanted;
    T* data = static_cast<T*>(Source::allocate(capacity * sizeof(T)));
    for (std::uint32_t at = 0; at < size_; ++at) {
      new (data + at) T(std::move(data_[at]));
      data_[at].~T();
    }
    if (data_ != nullptr) Source::release(data_, capacity_ * sizeof(T));
    data_ = data;
    capacity_ = capacity;
  }

  T* data_ = nullptr;
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = 0;
};

}  // namespace deadheat
