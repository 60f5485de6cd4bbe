// SPDX-License-Identifier: Apache-2.0
/*
 * Types of Rust's library: alloc, core, std, and hashbrown, whose tables std has. Members have
 * other orders, and are in more or fewer wrappers, in each version of the compiler.
 */
#include "probe/shapes.h"

/* RcBox and ArcInner of what has no size of its own are two counters, and then the value. */
#define COUNTERS 16

static const struct shape_row rows[] = {
	{"&str", SHAPE_TEXT, .pointer = "data_ptr", .length = "length", .flags = SHAPE_ANYWHERE},
	{"&mut str", SHAPE_TEXT, .pointer = "data_ptr", .length = "length",
	 .flags = SHAPE_ANYWHERE},
	{"&[", SHAPE_LIST, .pointer = "data_ptr", .length = "length", .flags = SHAPE_ANYWHERE},
	{"&mut [", SHAPE_LIST, .pointer = "data_ptr", .length = "length", .flags = SHAPE_ANYWHERE},
	{"alloc::boxed::Box<[", SHAPE_LIST, .pointer = "data_ptr", .length = "length",
	 .flags = SHAPE_ANYWHERE},
	{"alloc::boxed::Box<str", SHAPE_TEXT, .pointer = "data_ptr", .length = "length",
	 .flags = SHAPE_ANYWHERE},

	{"String", SHAPE_TEXT, .pointer = "pointer", .length = "len"},
	{"PathBuf", SHAPE_TEXT, .pointer = "pointer", .length = "len"},
	{"OsString", SHAPE_TEXT, .pointer = "pointer", .length = "len"},
	{"Vec<", SHAPE_LIST, .pointer = "pointer", .length = "len", .arguments_of = "",
	 .element = 1},
	{"VecDeque<", SHAPE_RING, .pointer = "pointer", .length = "len", .first = "head",
	 .room = "cap", .arguments_of = "", .element = 1},
	/* before Rust 1.67 */
	{"VecDeque<", SHAPE_RING, .pointer = "pointer", .length = "head", .first = "tail",
	 .room = "cap", .arguments_of = "", .element = 1, .flags = SHAPE_LENGTH_IS_END},

	{"LinkedList<", SHAPE_CHAIN, .pointer = "head.pointer", .length = "len", .arguments_of = "",
	 .element = 1, .flags = SHAPE_NODE},

	{"HashMap<", SHAPE_TABLE, .pointer = "ctrl.pointer", .length = "items",
	 .room = "bucket_mask", .arguments_of = "RawTable<", .element = 1, .flags = SHAPE_PAIRS},
	{"HashSet<", SHAPE_TABLE, .pointer = "ctrl.pointer", .length = "items",
	 .room = "bucket_mask", .arguments_of = "RawTable<", .element = 1},
	{"BTreeMap<", SHAPE_BTREE, .pointer = "node.pointer", .length = "length", .first = "height",
	 .arguments_of = "", .element = 1, .flags = SHAPE_PAIRS},
	{"BTreeSet<", SHAPE_BTREE, .pointer = "node.pointer", .length = "length", .first = "height",
	 .arguments_of = "BTreeMap<", .element = 1},

	{"Rc<str", SHAPE_TEXT, .pointer = "data_ptr", .length = "length", .behind = COUNTERS},
	{"Arc<str", SHAPE_TEXT, .pointer = "data_ptr", .length = "length", .behind = COUNTERS},
	{"Rc<", SHAPE_POINTER, .pointer = "pointer", .flags = SHAPE_BEHIND},
	{"Arc<", SHAPE_POINTER, .pointer = "pointer", .flags = SHAPE_BEHIND},

	{"Weak<", SHAPE_WEAK, .pointer = "pointer", .first = "pointer", .value = "strong",
	 .flags = SHAPE_BEHIND},

	{"Cell<", SHAPE_VALUE, .value = "value"},
	{"RefCell<", SHAPE_VALUE, .value = "value"},
	{"UnsafeCell<", SHAPE_VALUE, .value = "value"},
	{"ManuallyDrop<", SHAPE_VALUE, .value = "value"},
	{"Mutex<", SHAPE_VALUE, .value = "data"},
	{"RwLock<", SHAPE_VALUE, .value = "data"},
	{"Wrapping<", SHAPE_VALUE, .value = "__0"},
	{"Atomic*", SHAPE_VALUE, .value = "v"},
};

const struct shape_table shapes_rust = {rows, sizeof(rows) / sizeof(rows[0])};
