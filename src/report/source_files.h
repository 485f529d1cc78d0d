// SPDX-License-Identifier: Apache-2.0
// SourceFiles: the lines around a place in the code, for reports that show them.
//
// Paths come from debug information, which may come from anywhere: only regular files
// are read, never more than 16 MiB of one, and never a device or a pipe that would not end.
// Each file is read once and kept.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace deadheat {

// Where sources are whose paths in the debug information lead elsewhere: built on another machine, or with
// -ffile-prefix-map. A path that begins with `from`, as whole names of directories, is read below `to`. For all of the
// process.
struct SourcePlace {
  std::string from;
  std::string to;
};
// "FROM=TO"; nothing if that is not what the text says.
[[nodiscard]] std::optional<SourcePlace> parse_source_place(std::string_view text);
void add_source_place(SourcePlace place);
// The path to read. The last place that fits counts.
[[nodiscard]] std::string where_source_is(const std::string& path);

struct Snippet {
  std::string file;
  std::uint32_t line = 0;        // that it is about
  std::uint32_t first_line = 0;  // number of lines[0]
  std::vector<std::string> lines;
  bool is_newer = false;  // than the module: what was compiled may have been another text
};

class SourceFiles {
 public:
  // At most `context` lines before and after. Nothing when the file is not here or has no
  // such line. `module` is the file that the line was compiled into; may be empty.
  [[nodiscard]] std::optional<Snippet> around(const std::string& file, std::uint32_t line, std::uint32_t context,
                                              const std::string& module);

 private:
  struct File {
    std::vector<std::string> lines;  // empty: cannot be read
    std::int64_t changed = 0;        // seconds since 1970
  };
  const File& file(const std::string& path);
  std::int64_t change_time(const std::string& path);

  std::map<std::string, File> files_;
  std::map<std::string, std::int64_t> times_;
};

// Whether a file is part of the system rather than of the user's program: /usr/include and the
// like, and the runtime libraries' own sources.
[[nodiscard]] bool is_system_source(std::string_view file);

}  // namespace deadheat
