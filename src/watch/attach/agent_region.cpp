// SPDX-License-Identifier: Apache-2.0
#include "watch/attach/agent_region.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "watch/site_table.h"

namespace deadheat::watch {
namespace {

constexpr std::uint64_t kAgentStack = 128 << 10;
constexpr std::uint64_t kStateSize = 8;  // at least that of agent/sites.h
constexpr std::size_t kMarkAt = 64;      // in the stub's page

struct RegionMark {
  char text[16] = {'d', 'e', 'a', 'd', 'h', 'e', 'a', 't', ' ', 'a', 'g', 'e', 'n', 't', 0, 0};
  std::uint64_t version = kAttachVersion;
  AgentPlace place;
};

std::uint64_t whole_pages(std::uint64_t size) { return (size + kRegionPage - 1) / kRegionPage * kRegionPage; }

bool is_same(pid_t process, std::uint64_t start) {
  return process != 0 && start != 0 && start_time_of(process) == start;
}

}  // namespace

RegionLayout lay_out_region(std::uint64_t image, std::size_t threads, std::size_t calls, std::size_t table) {
  RegionLayout layout;
  layout.stub = whole_pages(image);
  layout.block = layout.stub + kRegionPage;
  layout.threads = layout.block + whole_pages(sizeof(AttachBlock));
  layout.calls = layout.threads + whole_pages(threads * sizeof(AttachThread));
  layout.table = layout.calls + whole_pages(calls * sizeof(AttachCall));
  layout.scratch = layout.table + whole_pages(table);
  layout.scratch_size = whole_pages(table / sizeof(Site) * kStateSize + kRegionPage);
  layout.stack_end = layout.scratch + layout.scratch_size + kAgentStack;
  layout.size = layout.stack_end;
  return layout;
}

std::vector<std::byte> make_stub_page(const AgentPlace& place, std::uint64_t entry) {
  // The code that the new thread finds after the system call that made it.
  std::vector<std::uint8_t> code = {0x0f, 0x05,              // syscall
                                    0x85, 0xc0, 0x75, 0x18,  // test %eax, %eax; jnz past the end
                                    0x31, 0xed};             // xor %ebp, %ebp
  const auto add_load = [&](std::uint8_t which, std::uint64_t value) {
    code.insert(code.end(), {0x48, which});
    for (int at = 0; at < 8; ++at) code.push_back(static_cast<std::uint8_t>(value >> 8 * at));
  };
  add_load(0xbf, place.block);            // to %rdi
  add_load(0xb8, entry);                  // to %rax
  code.insert(code.end(), {0xff, 0xe0});  // jmp *%rax
  std::vector<std::byte> page(kRegionPage);
  std::memcpy(page.data(), code.data(), code.size());
  RegionMark mark;
  mark.place = place;
  static_assert(kMarkAt + sizeof mark <= kRegionPage);
  std::memcpy(page.data() + kMarkAt, &mark, sizeof mark);
  return page;
}

std::vector<AgentPlace> agents_in(const TracedProcess& target, const std::vector<TargetMapping>& mappings) {
  std::vector<AgentPlace> found;
  for (const TargetMapping& mapping : mappings) {
    const bool may_be_stub = mapping.is_executable && !mapping.is_writable && mapping.path.empty() &&
                             mapping.end - mapping.begin == kRegionPage;
    if (!may_be_stub) continue;
    const RegionMark expected;
    RegionMark mark;
    if (!target.read(mapping.begin + kMarkAt, std::as_writable_bytes(std::span(&mark, 1)))) continue;
    if (std::memcmp(mark.text, expected.text, sizeof mark.text) != 0) continue;
    if (mark.version == kAttachVersion) found.push_back(mark.place);
  }
  return found;
}

std::uint64_t start_time_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  const std::string line{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(line.substr(name_end + 1));
  std::string state;
  fields >> state;
  if (state == "Z" || state == "X") return 0;
  std::string field;
  for (int number = 4; number <= 22; ++number) fields >> field;
  return std::strtoull(field.c_str(), nullptr, 10);
}

AgentOwner describe_owner(pid_t process, pid_t watcher) {
  AgentOwner owner;
  owner.process = process;
  owner.watcher = watcher;
  owner.watcher_start = start_time_of(watcher);
  owner.keeper = getpid();
  owner.keeper_start = start_time_of(owner.keeper);
  std::snprintf(owner.command, sizeof owner.command, "%s", command_of(watcher).c_str());
  return owner;
}

bool watcher_lives(const AgentOwner& owner) { return is_same(owner.watcher, owner.watcher_start); }

bool keeper_lives(const AgentOwner& owner) { return is_same(owner.keeper, owner.keeper_start); }

}  // namespace deadheat::watch
