// SPDX-License-Identifier: Apache-2.0
#include "watch/site_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <functional>

#include "support/temp_path.h"

namespace deadheat::watch {
namespace {

Site site_at(std::uint32_t offset) { return {.offset = offset, .base = 3, .length = 2, .size = 4, .flags = kReads}; }

const std::vector<ModuleSites> kModules = {{"/bin/program", 1000, {site_at(10), site_at(20)}},
                                           {"/lib/empty.so", 1, {}},
                                           {"/lib/other.so", 2000, {site_at(5)}}};

std::vector<std::byte> formatted() { return format_site_table(kModules).value(); }

TEST(SiteFile, ReadsWhatItWrote) {
  const std::string path = temp_path("table.sites");
  ASSERT_TRUE(write_site_table(path, kModules).ok());
  const auto read = read_site_table(path);
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read.value().size(), kModules.size());
  for (std::size_t index = 0; index < kModules.size(); ++index) {
    const ModuleSites& one = read.value()[index];
    const ModuleSites& other = kModules[index];
    EXPECT_EQ(one.path, other.path);
    EXPECT_EQ(one.file_size, other.file_size);
    ASSERT_EQ(one.sites.size(), other.sites.size());
    if (!one.sites.empty()) {
      EXPECT_EQ(std::memcmp(one.sites.data(), other.sites.data(), one.sites.size() * sizeof(Site)), 0);
    }
  }
  std::filesystem::remove(path);
}

TEST(SiteFile, SaysWhatCannotBeOpened) {
  EXPECT_EQ(read_site_table("/nowhere/x").error().message,
            "cannot open site table '/nowhere/x': No such file or directory");
  EXPECT_EQ(write_site_table("/nowhere/x", kModules).error().message,
            "cannot write site table '/nowhere/x': No such file or directory");
}

TEST(SiteFile, RefusesEveryOtherLength) {
  std::vector<std::byte> bytes = formatted();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(parse_site_table(std::span(bytes).first(size)).ok()) << size;
  }
  bytes.push_back({});
  EXPECT_EQ(parse_site_table(bytes).error().message, "it has 833 bytes and should have 832");
}

TEST(SiteFile, RefusesAnotherVersion) {
  std::vector<std::byte> bytes = formatted();
  bytes[4] = std::byte{9};
  EXPECT_EQ(parse_site_table(bytes).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(parse_site_table(bytes).error().message, "version 9, this program knows 1");
}

// The error after the last site was changed.
std::string error_after(const std::function<void(Site&)>& change) {
  std::vector<std::byte> bytes = formatted();
  Site site;
  std::byte* place = bytes.data() + bytes.size() - sizeof site;
  std::memcpy(&site, place, sizeof site);
  change(site);
  std::memcpy(place, &site, sizeof site);
  const auto parsed = parse_site_table(bytes);
  return parsed.ok() ? std::string{} : parsed.error().message;
}

TEST(SiteFile, ChecksEverySite) {
  const std::string where = "module '/lib/other.so': its site 0 has ";
  EXPECT_EQ(error_after([](Site&) {}), "");
  EXPECT_EQ(error_after([](Site& site) { site.length = 0; }), where + "an impossible length");
  EXPECT_EQ(error_after([](Site& site) { site.length = 16; }), where + "an impossible length");
  EXPECT_EQ(error_after([](Site& site) { site.size = 65; }), where + "an impossible size");
  EXPECT_EQ(error_after([](Site& site) { site.flags = 16 | kReads; }), where + "unknown flags");
  EXPECT_EQ(error_after([](Site& site) { site.flags = kStackSite; }), where + "no access");
  EXPECT_EQ(error_after([](Site& site) { site.base = 16; }), where + "no such base register");
  EXPECT_EQ(error_after([](Site& site) { site.index = 4; }), where + "no such index register");
  EXPECT_EQ(error_after([](Site& site) { site.index = kInstructionPointer; }), where + "no such index register");
  EXPECT_EQ(error_after([](Site& site) { site.scale = 3; }), where + "no such scale");
  EXPECT_EQ(error_after([](Site& site) { site.reserved = 1; }), where + "something in a reserved place");
}

TEST(SiteFile, RefusesSitesInDisorder) {
  const std::vector<ModuleSites> modules = {{"/x", 1, {site_at(10), site_at(10)}}};
  EXPECT_EQ(format_site_table(modules).error().message, "module '/x': its site 1 is not in order");
}

TEST(SiteFile, RefusesPathsThatDoNotFit) {
  const std::vector<ModuleSites> longest = {{std::string(239, 'x'), 1, {}}};
  const std::vector<ModuleSites> longer = {{std::string(240, 'x'), 1, {}}};
  EXPECT_TRUE(format_site_table(longest).ok());
  EXPECT_EQ(parse_site_table(format_site_table(longest).value()).value().front().path.size(), 239U);
  EXPECT_EQ(format_site_table(longer).error().code, ErrorCode::kInvalid);
  EXPECT_FALSE(format_site_table(std::vector<ModuleSites>(1)).ok());
}

TEST(SiteFile, RefusesModulesThatShareSites) {
  std::vector<std::byte> bytes = formatted();
  const std::uint32_t zero = 0;
  std::memcpy(bytes.data() + sizeof(SiteTableHeader) + 2 * sizeof(SiteModule) + offsetof(SiteModule, first_site), &zero,
              sizeof zero);
  EXPECT_EQ(parse_site_table(bytes).error().message, "the sites of its module 2 are not where they belong");
}

}  // namespace
}  // namespace deadheat::watch
