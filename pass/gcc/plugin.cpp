// SPDX-License-Identifier: Apache-2.0
// A plugin for g++ 12 that calls the runtime for what -fsanitize=thread leaves out.
// Its pass comes behind gcc's own: at the end of the pipeline without optimisation, before
// the loops are changed with it.
#include "source_accesses.h"
#include "version.h"

int plugin_is_GPL_compatible;

// Another compiler than the one whose headers were here goes on without us.
int plugin_init(plugin_name_args* plugin, plugin_gcc_version* version) {
  if (!deadheat::gcc_pass::is_known_version(*version)) return 0;
  deadheat::gcc_pass::register_pass(plugin->base_name);
  return 0;
}
