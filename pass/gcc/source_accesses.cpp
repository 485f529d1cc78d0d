// SPDX-License-Identifier: Apache-2.0
#include "source_accesses.h"

namespace deadheat::gcc_pass {

namespace {

constexpr pass_data kAboutPass = {GIMPLE_PASS, "deadheat", OPTGROUP_NONE,  TV_NONE, PROP_ssa | PROP_cfg, 0,
                                  0,           0,          TODO_update_ssa};

void visit(gimple_stmt_iterator at) {
  gimple* const statement = gsi_stmt(at);
  if (auto* const assembly = dyn_cast<gasm*>(statement)) return check_assembly(*assembly, at);
  auto* const call = dyn_cast<gcall*>(statement);
  if (call == nullptr || gimple_call_internal_p(call)) return;
  const tree callee = gimple_call_fndecl(call);
  if (callee != NULL_TREE && fndecl_built_in_p(callee, BUILT_IN_MD)) return check_vector_intrinsic(*call, at);
  if (callee != NULL_TREE && fndecl_built_in_p(callee, BUILT_IN_NORMAL)) return check_memory_function(*call, at);
  check_values(*call, at);
}

class SourceAccesses : public gimple_opt_pass {
 public:
  explicit SourceAccesses(gcc::context* context) : gimple_opt_pass(kAboutPass, context) {}

  bool gate(function* /*unused*/) final { return sanitize_flags_p(SANITIZE_THREAD); }
  opt_pass* clone() final { return new SourceAccesses(m_ctxt); }

  unsigned int execute(function* checked) final {
    auto_vec<gimple*> statements;
    basic_block block = nullptr;
    FOR_EACH_BB_FN(block, checked) {
      for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
        gimple* const statement = gsi_stmt(at);
        if (is_gimple_call(statement) || gimple_code(statement) == GIMPLE_ASM) statements.safe_push(statement);
      }
    }
    for (gimple* const statement : statements) visit(gsi_for_stmt(statement));
    gsi_commit_edge_inserts();
    return 0;
  }
};

void add_behind(const char* plugin_name, const char* name) {
  register_pass_info info{};
  info.pass = new SourceAccesses(g);
  info.reference_pass_name = name;
  info.ref_pass_instance_number = 0;  // each
  info.pos_op = PASS_POS_INSERT_AFTER;
  register_callback(plugin_name, PLUGIN_PASS_MANAGER_SETUP, nullptr, &info);
}

}  // namespace

void register_pass(const char* plugin_name) {
  add_behind(plugin_name, "tsan");   // with optimisation
  add_behind(plugin_name, "tsan0");  // without
}

}  // namespace deadheat::gcc_pass
