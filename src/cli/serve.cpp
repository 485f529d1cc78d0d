// SPDX-License-Identifier: Apache-2.0
// `deadheat serve`: the page of races, live from the store.
#include <fmt/format.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/messages.h"
#include "cli/store_writer.h"
#include "report/describe.h"
#include "serve/access_policy.h"
#include "serve/http_server.h"
#include "serve/race_service.h"
#include "store/store.h"

namespace deadheat {

namespace {

struct ServeOptions {
  std::string listen = "127.0.0.1:8470";
  StoreOptions store;
  std::string token;
  std::string token_file;
  std::vector<std::string> host_names;
  bool read_only = false;
};

constexpr char kServeFooter[] = R"(Shows the races that all runs have written to the store, in a browser: list with
filters, source, stacks, timeline, memory and history of each race, and what sampling
found and cost. The page follows the store while runs write to it. Resolve, ignore and
reopen races there, unless --read-only.

Everybody who can reach the port can read: on loopback all users of this machine. Any
other address needs a token of at least 16 characters; open the page once with ?token=.
The connection is not encrypted: elsewhere than on a network that you trust, use a tunnel
(ssh -L 8470:127.0.0.1:8470 HOST) or a proxy with TLS in front.

Examples:
  deadheat serve
  deadheat serve --listen 9000 --store postgresql://races@db.example/races
  head -c 24 /dev/urandom | base64 > token
  deadheat serve --listen 0.0.0.0:8470 --token-file token --host build.example

Ctrl-C or SIGTERM ends it.
Exit codes: 0 ended; 1 failure; 2 bad usage.)";

// The store; opened again when its server went away and came back.
class StoreSource : public RaceSource {
 public:
  StoreSource(Store store, std::string address, bool is_read_only)
      : store_(std::move(store)), address_(std::move(address)), is_read_only_(is_read_only) {}

  [[nodiscard]] std::string place() const override { return store_.place(); }
  Result<std::vector<RaceRow>> races() override {
    return tried([](Store& store) { return store.races({}); });
  }
  Result<RaceDetails> race(std::string_view fingerprint) override {
    return tried([fingerprint](Store& store) { return store.race(fingerprint); });
  }
  Result<std::vector<RunRow>> runs(std::size_t limit) override {
    return tried([limit](Store& store) { return store.runs(limit); });
  }
  Result<std::uint64_t> change_count() override {
    return tried([](Store& store) { return store.change_count(); });
  }
  [[nodiscard]] bool may_write() const override { return !is_read_only_; }
  Status set_state(std::string_view fingerprint, RaceState state, const std::string& note) override {
    return tried([&](Store& store) { return store.set_state(fingerprint, state, note); });
  }

 private:
  template <class Question>
  auto tried(const Question& question) -> decltype(question(std::declval<Store&>())) {
    auto answer = question(store_);
    if (answer.ok() || answer.error().code != ErrorCode::kIo) return answer;
    auto reopened = Store::open(address_, StoreAccess::kRead);
    if (!reopened.ok()) return answer;
    store_ = std::move(reopened).value();
    return question(store_);
  }

  Store store_;
  std::string address_;  // with the password, if it has one
  bool is_read_only_;
};

// Readable when the user wants an end.
Result<int> ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  const int descriptor = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (descriptor < 0) return Error{ErrorCode::kIo, "cannot watch signals: " + system_message(errno)};
  return descriptor;
}

// Errors: kIo, kInvalid.
Result<std::string> token_of(const ServeOptions& options) {
  std::string token = options.token;
  if (!options.token_file.empty()) {
    std::ifstream file(options.token_file);
    if (!std::getline(file, token)) {
      return Error{ErrorCode::kIo, fmt::format("cannot read a token from '{}'", options.token_file)};
    }
  }
  const auto is_odd = [](char c) { return c <= ' ' || c > '~' || c == ';' || c == ',' || c == '"' || c == '\\'; };
  if (std::ranges::any_of(token, is_odd)) {
    return Error{ErrorCode::kInvalid,
                 "a token consists of letters, digits and signs, without spaces, ',', ';', '\"' or '\\'"};
  }
  if (!token.empty() && token.size() < kShortestToken) {
    return Error{ErrorCode::kInvalid, fmt::format("the token is too short: {} characters at least", kShortestToken)};
  }
  return token;
}

std::string address_words(const ListenAddress& address, std::uint16_t port) {
  const bool is_six = address.host.find(':') != std::string::npos;
  return is_six ? fmt::format("http://[{}]:{}/", address.host, port) : fmt::format("http://{}:{}/", address.host, port);
}

ExitCode refused(const Error& error, ExitCode code) {
  print_error(error.message);
  return code;
}

ExitCode serve(const ServeOptions& options) {
  const auto address = parse_listen_address(options.listen);
  if (!address.ok()) return refused(address.error(), ExitCode::kUsage);
  auto token = token_of(options);
  if (!token.ok()) return refused(token.error(), ExitCode::kUsage);
  if (!address.value().is_loopback && token.value().empty()) {
    return refused(
        {ErrorCode::kInvalid,
         fmt::format("'{}' can be reached from other machines: give a --token or --token-file", options.listen)},
        ExitCode::kUsage);
  }
  // One may look before the first run; but a name that is misspelt is not a new store.
  const bool is_default = place_of_store(options.store) == kDefaultStore;
  auto store = open_store(options.store, is_default && !options.read_only ? StoreAccess::kWrite : StoreAccess::kRead);
  if (!store.ok()) return refused(store.error(), ExitCode::kFailure);
  const auto stop = ending_signals();
  if (!stop.ok()) return refused(stop.error(), ExitCode::kFailure);
  auto server = HttpServer::open(address.value());
  if (!server.ok()) return refused(server.error(), ExitCode::kFailure);
  StoreSource source(std::move(store).value(), place_of_store(options.store).value_or(""), options.read_only);
  const bool needs_token = !token.value().empty();
  RaceService service(source, {std::move(token).value(), options.host_names});
  print_note(fmt::format("races of '{}' at {}{}; Ctrl-C ends it", printable(source.place()),
                         address_words(address.value(), server.value()->port()), needs_token ? "?token=..." : ""));
  const Status status = server.value()->run(service, stop.value());
  ::close(stop.value());
  return status.ok() ? ExitCode::kSuccess : refused(status.error(), ExitCode::kFailure);
}

}  // namespace

void add_serve_command(CLI::App& app, ExitCode& result) {
  auto options = std::make_shared<ServeOptions>();
  CLI::App* command = app.add_subcommand("serve", "Show the races of the store in a browser, live");
  command->footer(kServeFooter);
  add_store_option(*command, options->store);
  command->add_option("--listen", options->listen, "Where to listen (default 127.0.0.1:8470); port 0: any free one")
      ->option_text("ADDRESS:PORT");
  CLI::Option* given = command->add_option("--token", options->token, "What a browser must know to be answered");
  given->option_text("TOKEN")->envname("DEADHEAT_TOKEN");
  command
      ->add_option("--token-file", options->token_file,
                   "The same, from the first line of a file: other users do not see it")
      ->option_text("FILE");
  command
      ->add_option("--host", options->host_names,
                   "A name of this machine that browsers use; addresses and localhost always work")
      ->allow_extra_args(false)
      ->option_text("NAME");
  command->add_flag("--read-only", options->read_only, "Nobody changes the state of a race here");
  command->callback([options, &result] { result = serve(*options); });
}

}  // namespace deadheat
