// SPDX-License-Identifier: Apache-2.0
/*
 * Types of C++: libstdc++'s (its headers in bits/, and variant, tuple, optional, span), and those
 * of libc++ that have the same shape.
 */
#include "probe/shapes.h"

/* A node of libstdc++ is pointers, and then the value. */
#define WORDS(n) (8 * (n))

static const struct shape_row rows[] = {
	{"basic_string<char,", SHAPE_TEXT, .pointer = "_M_p", .length = "_M_string_length"},
	/* clang relies on the library's own debug information for what is in _M_dataplus */
	{"basic_string<char,", SHAPE_TEXT, .pointer = "_M_dataplus", .length = "_M_string_length",
	 .flags = SHAPE_OPAQUE},
	{"basic_string_view<char,", SHAPE_TEXT, .pointer = "_M_str", .length = "_M_len"},
	/* of other characters: their numbers */
	{"basic_string<", SHAPE_LIST, .pointer = "_M_p", .length = "_M_string_length"},
	{"basic_string_view<", SHAPE_LIST, .pointer = "_M_str", .length = "_M_len"},
	{"path", SHAPE_VALUE, .value = "_M_pathname"},

	{"vector<bool", SHAPE_BITS, .pointer = "_M_start._M_p", .first = "_M_start._M_offset",
	 .end = "_M_finish._M_p", .length = "_M_finish._M_offset"},
	{"vector<", SHAPE_LIST, .pointer = "_M_start", .length = "_M_finish",
	 .flags = SHAPE_LENGTH_IS_END},
	{"initializer_list<", SHAPE_LIST, .pointer = "_M_array", .length = "_M_len"},
	{"span<", SHAPE_LIST, .pointer = "_M_ptr", .length = "_M_extent_value", .arguments_of = ""},
	/* its length is the second argument */
	{"span<", SHAPE_LIST, .pointer = "_M_ptr", .arguments_of = ""},
	{"array<", SHAPE_VALUE, .value = "_M_elems"},
	{"deque<", SHAPE_BLOCKS, .pointer = "_M_start._M_cur", .length = "_M_start._M_last",
	 .first = "_M_start._M_node", .end = "_M_finish._M_cur", .room = "_M_finish._M_first",
	 .last = "_M_finish._M_node", .flags = SHAPE_LENGTH_IS_END},
	{"list<", SHAPE_CHAIN, .pointer = "_M_next", .length = "_M_size", .arguments_of = "",
	 .element = 1, .behind = WORDS(2)},
	{"forward_list<", SHAPE_CHAIN, .pointer = "_M_next", .arguments_of = "", .element = 1,
	 .behind = WORDS(1)},
	{"stack<", SHAPE_VALUE, .value = "c"},
	{"queue<", SHAPE_VALUE, .value = "c"},
	{"priority_queue<", SHAPE_VALUE, .value = "c"},

	{"map<", SHAPE_TREE, .pointer = "_M_left", .length = "_M_node_count",
	 .arguments_of = "_Rb_tree<", .element = 2, .behind = WORDS(4), .next = WORDS(2),
	 .above = WORDS(1), .flags = SHAPE_PAIRS},
	{"multimap<", SHAPE_TREE, .pointer = "_M_left", .length = "_M_node_count",
	 .arguments_of = "_Rb_tree<", .element = 2, .behind = WORDS(4), .next = WORDS(2),
	 .above = WORDS(1), .flags = SHAPE_PAIRS},
	{"set<", SHAPE_TREE, .pointer = "_M_left", .length = "_M_node_count",
	 .arguments_of = "_Rb_tree<", .element = 2, .behind = WORDS(4), .next = WORDS(2),
	 .above = WORDS(1)},
	{"multiset<", SHAPE_TREE, .pointer = "_M_left", .length = "_M_node_count",
	 .arguments_of = "_Rb_tree<", .element = 2, .behind = WORDS(4), .next = WORDS(2),
	 .above = WORDS(1)},
	{"unordered_map<", SHAPE_CHAIN, .pointer = "_M_before_begin._M_nxt",
	 .length = "_M_element_count", .arguments_of = "_Hashtable<", .element = 2,
	 .behind = WORDS(1), .flags = SHAPE_PAIRS},
	{"unordered_multimap<", SHAPE_CHAIN, .pointer = "_M_before_begin._M_nxt",
	 .length = "_M_element_count", .arguments_of = "_Hashtable<", .element = 2,
	 .behind = WORDS(1), .flags = SHAPE_PAIRS},
	{"unordered_set<", SHAPE_CHAIN, .pointer = "_M_before_begin._M_nxt",
	 .length = "_M_element_count", .arguments_of = "_Hashtable<", .element = 2,
	 .behind = WORDS(1)},
	{"unordered_multiset<", SHAPE_CHAIN, .pointer = "_M_before_begin._M_nxt",
	 .length = "_M_element_count", .arguments_of = "_Hashtable<", .element = 2,
	 .behind = WORDS(1)},

	/* what deletes the object can be a pointer, too */
	{"unique_ptr<", SHAPE_POINTER, .pointer = "_Head_base<0._M_head_impl", .arguments_of = ""},
	{"shared_ptr<", SHAPE_POINTER, .pointer = "_M_ptr", .arguments_of = ""},
	{"weak_ptr<", SHAPE_WEAK, .pointer = "_M_ptr", .first = "_M_refcount._M_pi",
	 .value = "_M_use_count", .arguments_of = ""},
	{"reference_wrapper<", SHAPE_POINTER, .pointer = "_M_data"},
	{"optional<", SHAPE_OPTIONAL, .value = "_M_value", .length = "_M_engaged"},
	{"variant<", SHAPE_CHOICE, .value = "_M_u", .length = "_M_index", .arguments_of = ""},
	{"tuple<", SHAPE_TUPLE},
	{"function<", SHAPE_FUNCTION, .pointer = "_M_manager", .first = "_M_invoker",
	 .value = "_M_functor"},
	{"atomic<", SHAPE_VALUE, .value = "_M_i"},

	/* libc++ of LLVM 14: string, vector, __tree, __hash_table, variant … */
	{"basic_string<char,", SHAPE_TEXT, .pointer = "__l.__data_", .length = "__l.__size_",
	 .value = "__s.__data_", .flags = SHAPE_SHORT},
	{"basic_string_view<char,", SHAPE_TEXT, .pointer = "__data", .length = "__size"},
	{"basic_string_view<char,", SHAPE_TEXT, .pointer = "__data_", .length = "__size_"},
	{"vector<bool", SHAPE_BITS, .pointer = "__begin_", .length = "__size_"},
	{"vector<", SHAPE_LIST, .pointer = "__begin_", .length = "__end_",
	 .flags = SHAPE_LENGTH_IS_END},
	{"span<", SHAPE_LIST, .pointer = "__data", .length = "__size", .arguments_of = ""},
	{"span<", SHAPE_LIST, .pointer = "__data", .arguments_of = ""},
	{"span<", SHAPE_LIST, .pointer = "__data_", .length = "__size_", .arguments_of = ""},
	{"span<", SHAPE_LIST, .pointer = "__data_", .arguments_of = ""},
	{"array<", SHAPE_VALUE, .value = "__elems_"},
	{"list<", SHAPE_CHAIN, .pointer = "__end_.__next_", .length = "__size_alloc_.__value_",
	 .arguments_of = "", .element = 1, .behind = WORDS(2), .next = WORDS(1)},
	{"forward_list<", SHAPE_CHAIN, .pointer = "__before_begin_.__next_", .arguments_of = "",
	 .element = 1, .behind = WORDS(1)},
	/* of the last word before the value, a byte is used */
	{"map<", SHAPE_TREE, .pointer = "__begin_node_", .length = "__pair3_.__value_",
	 .arguments_of = "__tree<", .element = 1, .behind = WORDS(3) + 1, .above = WORDS(2),
	 .flags = SHAPE_PAIRS},
	{"multimap<", SHAPE_TREE, .pointer = "__begin_node_", .length = "__pair3_.__value_",
	 .arguments_of = "__tree<", .element = 1, .behind = WORDS(3) + 1, .above = WORDS(2),
	 .flags = SHAPE_PAIRS},
	{"set<", SHAPE_TREE, .pointer = "__begin_node_", .length = "__pair3_.__value_",
	 .arguments_of = "__tree<", .element = 1, .behind = WORDS(3) + 1, .above = WORDS(2)},
	{"multiset<", SHAPE_TREE, .pointer = "__begin_node_", .length = "__pair3_.__value_",
	 .arguments_of = "__tree<", .element = 1, .behind = WORDS(3) + 1, .above = WORDS(2)},
	{"unordered_map<", SHAPE_CHAIN, .pointer = "__p1_.__next_", .length = "__p2_.__value_",
	 .arguments_of = "__hash_table<", .element = 1, .behind = WORDS(2), .flags = SHAPE_PAIRS},
	{"unordered_set<", SHAPE_CHAIN, .pointer = "__p1_.__next_", .length = "__p2_.__value_",
	 .arguments_of = "__hash_table<", .element = 1, .behind = WORDS(2)},
	{"unique_ptr<", SHAPE_POINTER, .pointer = "__ptr_.__value_", .arguments_of = ""},
	{"shared_ptr<", SHAPE_POINTER, .pointer = "__ptr_", .arguments_of = ""},
	{"optional<", SHAPE_OPTIONAL, .value = "__val_", .length = "__engaged_"},
	{"variant<", SHAPE_CHOICE, .value = "__data", .length = "__index", .arguments_of = ""},
};

const struct shape_table shapes_cpp = {rows, sizeof(rows) / sizeof(rows[0])};
