// SPDX-License-Identifier: Apache-2.0
// A thread that is cancelled at any time (PTHREAD_CANCEL_ASYNCHRONOUS) in a function of C++ that g++ built.
//
// libc unwinds the stack of such a thread from wherever it is. g++ gives a function that it instruments a cleanup,
// which tells that the function is left. In a function with cleanups C++ wants each place that may be unwound to be
// listed, and lists calls only: at any other place it ends the program. Without instrumentation the function has no
// cleanups, and nothing is wanted of it. So in a thread that asked for such a cancellation a function that is left
// at a place without an entry is left without its cleanups.
//
// The linker puts this in front of libstdc++'s function (--wrap); it is an archive of its own, so that programs without
// C++ do not get it, and it knows where the real one is, static or not.
#include <unwind.h>

#include <cstdint>

namespace deadheat::runtime {

[[nodiscard]] bool is_cancelled_asynchronously();

namespace {

// How the table of call sites gives its numbers (DWARF's pointer encodings).
constexpr std::uint8_t kOmitted = 0xff;
constexpr std::uint8_t kUleb128 = 0x01;
constexpr std::uint8_t kFourBytes = 0x03;

class Table {
 public:
  explicit Table(const std::uint8_t* at) : at_(at) {}

  std::uint8_t byte() { return *at_++; }
  std::uint64_t uleb128() {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const std::uint8_t part = byte();
      value |= std::uint64_t{part & 0x7fU} << shift;
      if ((part & 0x80U) == 0) return value;
    }
  }
  std::uint64_t number(std::uint8_t encoding) {
    if (encoding == kUleb128) return uleb128();
    std::uint64_t value = 0;
    for (int shift = 0; shift < 32; shift += 8) value |= std::uint64_t{byte()} << shift;
    return value;
  }
  [[nodiscard]] const std::uint8_t* at() const { return at_; }

 private:
  const std::uint8_t* at_;
};

// Whether the function says what is to be done when it is left here. True as well if that cannot be told.
bool has_entry(_Unwind_Context* context) {
  const auto* const begin = static_cast<const std::uint8_t*>(_Unwind_GetLanguageSpecificData(context));
  if (begin == nullptr) return true;  // a function without cleanups
  Table table(begin);
  if (table.byte() != kOmitted) return true;  // landing pads elsewhere: not g++'s
  if (table.byte() != kOmitted) static_cast<void>(table.uleb128());
  const std::uint8_t encoding = table.byte();
  if (encoding != kUleb128 && encoding != kFourBytes) return true;
  const std::uint64_t size = table.uleb128();
  const std::uint8_t* const end = table.at() + size;
  int is_exact = 0;
  const std::uint64_t address = _Unwind_GetIPInfo(context, &is_exact) - (is_exact != 0 ? 0 : 1);
  const std::uint64_t place = address - _Unwind_GetRegionStart(context);
  while (table.at() < end) {
    const std::uint64_t first = table.number(encoding);
    const std::uint64_t length = table.number(encoding);
    static_cast<void>(table.number(encoding));  // where to go on
    static_cast<void>(table.uleb128());         // with what
    if (place >= first && place - first < length) return true;
    if (place < first) return false;  // they are in order
  }
  return false;
}

}  // namespace
}  // namespace deadheat::runtime

extern "C" _Unwind_Reason_Code real_personality(int version, _Unwind_Action actions, _Unwind_Exception_Class kind,
                                                _Unwind_Exception* exception,
                                                _Unwind_Context* context) __asm__("__real___gxx_personality_v0");
extern "C" __attribute__((visibility("default"))) _Unwind_Reason_Code
wrapped_personality(int version, _Unwind_Action actions, _Unwind_Exception_Class kind, _Unwind_Exception* exception,
                    _Unwind_Context* context) __asm__("__wrap___gxx_personality_v0");

_Unwind_Reason_Code wrapped_personality(int version, _Unwind_Action actions, _Unwind_Exception_Class kind,
                                        _Unwind_Exception* exception, _Unwind_Context* context) {
  using namespace deadheat::runtime;
  if ((actions & _UA_FORCE_UNWIND) != 0 && is_cancelled_asynchronously() && !has_entry(context)) {
    return _URC_CONTINUE_UNWIND;
  }
  return real_personality(version, actions, kind, exception, context);
}
