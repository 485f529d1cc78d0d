// SPDX-License-Identifier: Apache-2.0
// The runtime is told of a list of lanes by __deadheat_lanes (src/runtime/abi_lanes.cpp): the
// mask and the indexes in memory, and what they look like in one number.
#include <string_view>

#include "accesses.h"
#include "lane_shape.h"
#include "source_accesses.h"

namespace deadheat::gcc_pass {

namespace {

constexpr std::string_view kPrefix = "__builtin_ia32_";

unsigned lanes_of(tree type) { return static_cast<unsigned>(TYPE_VECTOR_SUBPARTS(type).to_constant()); }
unsigned lane_size(tree type) { return static_cast<unsigned>(int_size_in_bytes(TREE_TYPE(type))); }
bool is_vector(tree type) { return TREE_CODE(type) == VECTOR_TYPE; }

bool has(std::string_view name, std::string_view part) { return name.find(part) != std::string_view::npos; }

bool is_masked_by_bits(std::string_view name) { return name.ends_with("_mask") || name.ends_with("_maskz"); }

// pmovqb512mem_mask: the second letter behind "pmov", "pmovs" or "pmovus" is the size that is stored.
unsigned narrowed_size(std::string_view name) {
  const char letter = name[name.find_first_of("0123456789") - 1];
  return letter == 'b' ? 1 : letter == 'w' ? 2 : 4;
}

struct Lanes {
  LaneShape shape;
  tree base = NULL_TREE;
  tree indexes = NULL_TREE;
  tree mask = NULL_TREE;
};

void tell_of_mask(Lanes& lanes, tree mask) {
  lanes.mask = mask;
  lanes.shape.mask_size = is_vector(TREE_TYPE(mask)) ? lane_size(TREE_TYPE(mask)) : LaneShape::kMaskOfBits;
}

void tell_of_elements(Lanes& lanes, tree type) {
  lanes.shape.count = is_vector(type) ? lanes_of(type) : 1;
  lanes.shape.size = is_vector(type) ? lane_size(type) : static_cast<unsigned>(int_size_in_bytes(type));
}

void call_runtime(gimple_stmt_iterator at, const Lanes& lanes) {
  Insertion insertion(at);
  const tree none = build_int_cst(ptr_type_node, 0);
  const tree indexes = lanes.indexes == NULL_TREE ? none : insertion.in_memory(lanes.indexes);
  const tree mask = insertion.in_memory(lanes.mask);
  const tree number = long_unsigned_type_node;
  insertion.call(hook("__deadheat_lanes", void_type_node, {ptr_type_node, ptr_type_node, ptr_type_node, number}),
                 {lanes.base, indexes, mask, build_int_cst(number, static_cast<HOST_WIDE_INT>(lanes.shape.number()))});
  insertion.before();
}

void check_whole(gimple_stmt_iterator at, Kind kind, tree address, HOST_WIDE_INT size) {
  Insertion insertion(at);
  insertion.check(kind, address, build_int_cst(size_type_node, size));
  insertion.before();
}

// gather(old, base, indexes, mask, scale); scatter(base, mask, indexes, values, scale)
void check_list(gcall& call, gimple_stmt_iterator at, Kind kind) {
  if (gimple_call_num_args(&call) != 5) return;
  const bool writes = kind == Kind::kWrite;
  Lanes lanes;
  lanes.base = gimple_call_arg(&call, writes ? 0 : 1);
  lanes.indexes = gimple_call_arg(&call, 2);
  const tree elements = TREE_TYPE(gimple_call_arg(&call, writes ? 3 : 0));
  const tree scale = gimple_call_arg(&call, 4);
  const tree index_type = TREE_TYPE(lanes.indexes);
  if (!is_vector(elements) || !is_vector(index_type) || !tree_fits_uhwi_p(scale)) return;
  tell_of_elements(lanes, elements);
  lanes.shape.count = MIN(lanes.shape.count, lanes_of(index_type));
  lanes.shape.index_size = lane_size(index_type);
  lanes.shape.scale = static_cast<unsigned>(tree_to_uhwi(scale));
  lanes.shape.writes = writes;
  tell_of_mask(lanes, gimple_call_arg(&call, writes ? 1 : 3));
  call_runtime(at, lanes);
}

// maskload(address, mask), maskstore(address, mask, values); with masks of bits: load(address, old, mask),
// store(address, values, mask)
void check_masked(gcall& call, gimple_stmt_iterator at, std::string_view name) {
  Lanes lanes;
  const unsigned count = gimple_call_num_args(&call);
  const bool by_bits = is_masked_by_bits(name);
  if (count != (by_bits || has(name, "store") ? 3U : 2U)) return;
  lanes.base = gimple_call_arg(&call, 0);
  lanes.shape.writes = has(name, "store") || has(name, "mem");
  lanes.shape.is_packed = has(name, "expand") || has(name, "compress");
  const tree mask = gimple_call_arg(&call, by_bits ? 2 : 1);
  tell_of_elements(lanes, TREE_TYPE(by_bits ? gimple_call_arg(&call, 1) : mask));
  for (const char* const scalar : {"loadss", "loadsd", "loadsh", "storess", "storesd", "storesh"}) {
    if (by_bits && name.starts_with(scalar)) lanes.shape.count = 1;
  }
  if (name.starts_with("pmov")) lanes.shape.size = narrowed_size(name);
  tell_of_mask(lanes, mask);
  call_runtime(at, lanes);
}

}  // namespace

void check_vector_intrinsic(gcall& call, gimple_stmt_iterator at) {
  std::string_view name = IDENTIFIER_POINTER(DECL_NAME(gimple_call_fndecl(&call)));
  if (!name.starts_with(kPrefix)) return;
  name.remove_prefix(kPrefix.size());
  const unsigned count = gimple_call_num_args(&call);
  if (count == 0) return;
  const tree first = gimple_call_arg(&call, 0);
  const bool points = POINTER_TYPE_P(TREE_TYPE(first));
  const tree result = TREE_TYPE(TREE_TYPE(gimple_call_fndecl(&call)));
  if (name.starts_with("gather")) return check_list(call, at, Kind::kRead);
  if (name.starts_with("scatter")) return check_list(call, at, Kind::kWrite);
  if (points && (name.starts_with("maskload") || name.starts_with("maskstore"))) return check_masked(call, at, name);
  if (points && is_masked_by_bits(name) && (has(name, "load") || has(name, "store") || has(name, "mem")))
    return check_masked(call, at, name);
  if (points && (name.starts_with("lddqu") || name.starts_with("movntdqa")))
    return check_whole(at, Kind::kRead, first, int_size_in_bytes(result));
  if (points && name.starts_with("movnt") && count == 2)
    return check_whole(at, Kind::kWrite, first, int_size_in_bytes(TREE_TYPE(gimple_call_arg(&call, 1))));
  if (points && name.starts_with("vbroadcast")) {
    const HOST_WIDE_INT size = has(name, "128") ? 16 : int_size_in_bytes(TREE_TYPE(result));
    return check_whole(at, Kind::kRead, first, size);
  }
  if (points && (name == "storehps" || name == "storelps" || name == "storehpd" || name == "storelpd"))
    return check_whole(at, Kind::kWrite, first, 8);
  if (count == 2 && (name == "loadhps" || name == "loadlps" || name == "loadhpd" || name == "loadlpd"))
    return check_whole(at, Kind::kRead, gimple_call_arg(&call, 1), 8);
  if (count == 3 && name == "maskmovdqu") {
    Lanes lanes;
    lanes.base = gimple_call_arg(&call, 2);
    lanes.shape.writes = true;
    tell_of_elements(lanes, TREE_TYPE(first));
    tell_of_mask(lanes, gimple_call_arg(&call, 1));
    call_runtime(at, lanes);
  }
}

}  // namespace deadheat::gcc_pass
