// SPDX-License-Identifier: Apache-2.0
#include "report/describe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/report_fixture.h"

namespace deadheat {
namespace {

using report_fixture::kAccounts;
using report_fixture::kAuditLock;
using report_fixture::kMain;
using report_fixture::kTeller;
using report_fixture::make_dictionary;
using report_fixture::make_finding;

TEST(DescribeTest, NumbersAreGroupedByThousands) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(123456), "123,456");
  EXPECT_EQ(grouped(18446744073709551615ULL), "18,446,744,073,709,551,615");
}

TEST(DescribeTest, OnlyOneIsSingular) {
  EXPECT_EQ(counted(0, "race"), "0 races");
  EXPECT_EQ(counted(1, "race"), "1 race");
  EXPECT_EQ(counted(1000, "race"), "1,000 races");
}

TEST(DescribeTest, AccessSaysKindAndSize) {
  RacingAccess access;
  access.kind = AccessKind::kAtomicWrite;
  access.size = 4;
  EXPECT_EQ(describe_access(access), "atomic write of 4 bytes");
  access.kind = AccessKind::kRead;
  access.size = 1;
  EXPECT_EQ(describe_access(access), "read of 1 byte");
  access.kind = AccessKind::kFree;
  access.size = 0;
  EXPECT_EQ(describe_access(access), "free");
}

TEST(DescribeTest, NamelessThingsAreNumbered) {
  const Dictionary dictionary = make_dictionary();
  EXPECT_EQ(describe_thread(kTeller, dictionary), "thread 2 (teller)");
  EXPECT_EQ(describe_thread(kMain, dictionary), "thread 1");
  EXPECT_EQ(describe_lock({kAuditLock, LockMode::kShared}, dictionary), "audit_lock (shared)");
  EXPECT_EQ(describe_lock({SyncId{0xabc}, LockMode::kExclusive}, dictionary), "lock 0xabc");
}

TEST(DescribeTest, AddressIsNamedUpToTheLastByteOfItsRange) {
  const Dictionary dictionary = make_dictionary();
  EXPECT_EQ(describe_address(kAccounts, dictionary), "accounts");
  EXPECT_EQ(describe_address(kAccounts + 63, dictionary), "accounts + 63");
  EXPECT_EQ(describe_address(kAccounts + 64, dictionary), "0x601080");
  EXPECT_EQ(describe_address(kAccounts - 1, dictionary), "0x60103f");
  EXPECT_EQ(describe_address(kAccounts, Dictionary{}), "0x601040");
}

TEST(DescribeTest, SiteWithoutFunctionShowsItsModule) {
  const Dictionary dictionary = make_dictionary();
  EXPECT_EQ(describe_function(dictionary.sites[SiteId{1}]), "transfer");
  EXPECT_EQ(describe_place(dictionary.sites[SiteId{1}]), "/home/bank/bank.cpp:31");
  EXPECT_EQ(describe_function(dictionary.sites[SiteId{5}]), "libledger.so+0x1f");
  EXPECT_EQ(describe_place(dictionary.sites[SiteId{5}]), "");
  EXPECT_EQ(describe_function(dictionary.sites[SiteId::kUnknown]), "(unknown function)");
  EXPECT_EQ(describe_place(dictionary.sites[SiteId::kUnknown]), "");
  EXPECT_EQ(describe_place(Site{.function = {}, .file = {}, .line = 12, .module = {}, .offset = 0}), "line 12");
}

TEST(DescribeTest, StackBeginsAtTheAccessAndEndsAtTheOutermostCall) {
  EXPECT_EQ(stack_of(make_finding().later), (std::vector<SiteId>{SiteId{2}, SiteId{3}, SiteId{4}}));
}

TEST(DescribeTest, ExplanationTellsWhichSideLacksTheLock) {
  const Dictionary dictionary = make_dictionary();
  Finding finding = make_finding();
  EXPECT_EQ(explain(finding, dictionary),
            "nothing orders the two accesses; the earlier access holds no lock, the later one audit_lock, lock 0x7f01 "
            "(shared)");
  finding.later.locks.clear();
  EXPECT_EQ(explain(finding, dictionary), "nothing orders the two accesses; neither holds a lock");
  finding.earlier.locks = {{kAuditLock, LockMode::kExclusive}};
  EXPECT_EQ(explain(finding, dictionary),
            "nothing orders the two accesses; the later access holds no lock, the earlier one audit_lock");
  finding.later.locks = {{SyncId{0xabc}, LockMode::kExclusive}};
  EXPECT_EQ(explain(finding, dictionary),
            "nothing orders the two accesses; they have no lock in common: the earlier access holds audit_lock, the "
            "later one lock 0xabc");
}

TEST(DescribeTest, ExplanationNamesTheLockThatIsOnlyShared) {
  Finding finding = make_finding();
  finding.earlier.locks = finding.later.locks = {{kAuditLock, LockMode::kShared}};
  EXPECT_EQ(explain(finding, make_dictionary()),
            "nothing orders the two accesses; both hold audit_lock, but only as readers");
}

TEST(DescribeTest, ExplanationNamesALibraryThatMayOrder) {
  Dictionary dictionary = make_dictionary();
  Finding finding = make_finding();
  finding.later.site =
      dictionary.sites.add({"QObject::event", "", 0, "/usr/lib/x86_64-linux-gnu/libQt5Core.so.5", 0x1f});
  EXPECT_THAT(explain(finding, dictionary),
              testing::EndsWith("ordered perhaps inside libQt5Core.so.5, which was not built with detection"));
}

TEST(DescribeTest, ExplanationOfFreeSaysWhichSideFrees) {
  Finding finding = make_finding();
  finding.kind = RaceKind::kUseFree;
  finding.later.kind = AccessKind::kFree;
  EXPECT_EQ(explain(finding, make_dictionary()),
            "nothing makes the free wait for the earlier access: thread 1 is neither joined nor waited for; the "
            "earlier access holds no lock, the later one audit_lock, lock 0x7f01 (shared)");
}

TEST(DescribeTest, ControlCharactersOfATraceDoNotReachTheTerminal) {
  EXPECT_EQ(printable("plain \xc3\xa9t\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
            "plain \xc3\xa9t\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
  EXPECT_EQ(printable("\x1b[2J\n\x7f"), "\\x1b[2J\\x0a\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b") << "U+009B starts a control sequence as ESC [ does";
}

TEST(DescribeTest, BrokenUtf8IsShownByteByByte) {
  EXPECT_EQ(printable("a\xff"), "a\\xff");
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82") << "cut short";
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf") << "overlong";
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "surrogate";
}

}  // namespace
}  // namespace deadheat
