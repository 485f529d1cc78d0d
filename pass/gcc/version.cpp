// SPDX-License-Identifier: Apache-2.0
#include "version.h"

#include "plugin-version.h"

namespace deadheat::gcc_pass {

bool is_known_version(const plugin_gcc_version& version) {
  return strcmp(version.basever, gcc_version.basever) == 0 &&
         strcmp(version.configuration_arguments, gcc_version.configuration_arguments) == 0;
}

}  // namespace deadheat::gcc_pass
