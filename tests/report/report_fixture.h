// SPDX-License-Identifier: Apache-2.0
// A race in a small bank, with every field of a finding set, for the tests of
// the report writers.
#pragma once

#include "model/dictionary.h"
#include "model/finding.h"
#include "report/analysis.h"

namespace deadheat::report_fixture {

inline constexpr ThreadId kMain{1};
inline constexpr ThreadId kTeller{2};
inline constexpr SyncId kAuditLock{0x51};
inline constexpr SyncId kUnnamedLock{0x7f01};
inline constexpr Address kAccounts = 0x601040;

// Sites: 1 transfer, 2 deposit, 3 the call of deposit, 4 the start of the thread, 5 a module only.
inline Dictionary make_dictionary() {
  Dictionary dictionary;
  dictionary.sites.add({"transfer", "/home/bank/bank.cpp", 31, "", 0});
  dictionary.sites.add({"deposit", "/home/bank/bank.cpp", 42, "", 0});
  dictionary.sites.add({"serve_customers", "/home/bank/bank.cpp", 60, "", 0});
  dictionary.sites.add({"main", "/home/bank/main.cpp", 7, "", 0});
  dictionary.sites.add({"", "", 0, "/usr/lib/libledger.so", 0x1f});
  dictionary.ranges[kAccounts] = {64, "accounts"};
  dictionary.syncs[kAuditLock] = "audit_lock";
  dictionary.threads[kTeller] = "teller";
  return dictionary;
}

// transfer in main, unlocked, then deposit in the teller under the audit lock.
inline Finding make_finding() {
  Finding finding;
  finding.kind = RaceKind::kWriteWrite;
  finding.earlier = {kMain, 9, AccessKind::kWrite, 8, SiteId{1}, {}, {}};
  finding.later = {kTeller,
                   4,
                   AccessKind::kWrite,
                   8,
                   SiteId{2},
                   {SiteId{4}, SiteId{3}},
                   {{kAuditLock, LockMode::kExclusive}, {kUnnamedLock, LockMode::kShared}}};
  finding.address = kAccounts + 8;
  finding.size = 8;
  finding.event_index = 1203;
  finding.occurrences = 5021;
  return finding;
}

inline Analysis make_analysis() {
  Analysis analysis;
  analysis.tool_version = "0.1.0";
  analysis.trace_path = "bank.trace";
  analysis.detector_name = "fasttrack";
  analysis.event_count = 1204113;
  analysis.access_count = 1204000;
  analysis.thread_count = 2;
  analysis.findings = {make_finding()};
  analysis.counters = {{"read same epoch", 17}, {"write exclusive", 4000}};
  analysis.dictionary = make_dictionary();
  return analysis;
}

}  // namespace deadheat::report_fixture
