// SPDX-License-Identifier: Apache-2.0
// The destructor of a server, run while its thread may still be at work, writes a member
// before it joins. The mutex of the flag that tells the thread to stop hides it.
#include <mutex>

#include "hidden.h"

class Server {
 public:
  Server() : thread_([this] { serve(); }) {}

  ~Server() {
    usually_late();
    stop();
    state_ = 2;  // race shutdown_path
    thread_.join();
  }

 private:
  void serve() {
    state_ = 1;  // race shutdown_path
    late_if_reversed();
    const std::lock_guard guard(mutex_);
    if (!is_stopped_) ++served_;
  }

  void stop() {
    const std::lock_guard guard(mutex_);
    is_stopped_ = true;
  }

  std::mutex mutex_;
  bool is_stopped_ = false;
  int served_ = 0;
  int state_ = 0;
  std::thread thread_;  // the last: it uses the others
};

int main() { Server server; }
