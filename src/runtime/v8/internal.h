/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_V8_INTERNAL_H
#define RUNTIME_V8_INTERNAL_H

#include "base/map.h"
#include "base/vec.h"
#include "bpf/runtime/v8/abi.h"
#include "runtime/runtime.h"
#include "runtime/v8/wasm_names.h"

/*
 * What the files of this runtime share. V8's objects are at even addresses; a pointer to one has
 * the lowest bit set, a small integer ("Smi") is a word of which the upper half is its value and
 * the lowest bit clear. The first word of an object points to its Map, which has a number for its
 * type.
 */

/*
 * Offsets into objects and numbers of types of one version: published by the image, or known of the
 * version.
 */
struct v8_facts {
	uint32_t major, minor;

	/* Places of the image, as virtual addresses. */
	uint64_t builtins_at,
		builtins_size_at; /* variables: where the builtins are, and their size */
	/* a variable that tells whether addresses of the image are right */
	uint64_t witness_at;
	uint32_t witness;

	uint32_t map_type; /* Map: its number of the type */
	uint32_t type_shared, type_script, type_debug_info, type_scope_info, type_bytecode,
		type_fixed_array;
	uint32_t type_oddball; /* undefined, say */
	uint32_t type_places;  /* of tables of places */
	uint32_t
		/* of what may be changed, which such tables may not be in later versions */
		type_bytes;
	uint32_t type_code;

	uint32_t frame_types, frame_entry, frame_construct_entry, frame_wasm;
	uint32_t frame_regexp; /* 0: not marked */
	uint32_t function_shared;

	uint32_t shared_data, shared_name, shared_script, shared_numbers;
	uint32_t scope_first; /* words before the names of a ScopeInfo's variables */
	uint32_t scope_locals;
	/* of more variables than that the names are in a table of their own */
	uint32_t scope_names_max;
	/* the type of a module's, where that has the count of its own variables before the names */
	uint32_t scope_counted;
	bool scope_position_first; /* the position stands before the names, not behind */
	bool scope_flags_plain;	   /* flags are a number, not a small integer */
	uint32_t uncompiled_start;

	uint32_t script_source, script_name, script_first_line;

	uint32_t string_length, string_chars, cons_first, cons_second, thin_actual, sliced_parent,
		sliced_offset, external_data;
	uint32_t array_length, array_data;
	uint32_t bytecode_positions, bytecode_data;
	bool places_flagged; /* in tables of places, offsets have two flags and no sign */

	/* Code: where its instructions are, how many, what else belongs to them. */
	/* instructions are an object of their own, which begins with two words */
	bool code_is_apart;
	uint32_t code_start, code_size, code_flags, code_deoptimization, code_positions;
	uint32_t code_head; /* bytes before the instructions in the object that holds them */
	uint32_t
		/* the number of Sparkplug's kind of code; those of optimized code are larger */
		kind_baseline;
	/* Places in an optimized code's data. */
	uint32_t deopt_literals, deopt_shared, deopt_inlining;
	bool shared_is_wrapped; /* in one more object */

	/* WebAssembly; 0: not known. */
	uint32_t type_wasm_module; /* WasmModuleObject */
	uint32_t
		/* what a function of JavaScript that leads into it has as data */
		type_wasm_exported;
	uint32_t frame_from_wasm; /* a call of JavaScript */
	struct v8_wasm_facts {
		/* from a frame's instance to its WasmModuleObject: one step or two (0: one) */
		uint32_t module[2];
		uint32_t script;       /* of that one */
		uint32_t bytes, codes; /* NativeModule: the binary, the codes by their addresses */
		uint32_t size, function; /* WasmCode: of its instructions; its function's number */
	} wasm;
};

/* Facts of an image. null: it is refused, with why filled. */
struct v8_facts *v8_facts_open(const struct image *image, struct budget *budget, struct fail *why);

/* Where lines of a script begin. */
struct v8_script {
	uint64_t source; /* pointer to the text that they were counted in */
	uint32_t length;
	vec(uint32_t) ends; /* of all lines but the last one, as places in the text */
};

/* A module of WebAssembly. */
struct v8_wasm_module {
	uint64_t native, bytes; /* where it and its binary are */
	char *script;		/* what V8 calls its script, or null */
	struct wasm_names names;
};

/* What is known of a process. */
struct v8_state {
	uint64_t bias; /* what the process added to the image's addresses */
	uint32_t builtins_size;
	struct map by_script;
	vec(struct v8_script) scripts;
	size_t lines;	   /* in all of them */
	uint64_t code_map; /* the Map of objects with instructions, once one was found */
	vec(struct v8_wasm_module) modules;
};

void v8_scripts_forget(struct v8_state *state);

/* How the kernel side finds a function's name. */
struct v8_scope_layout v8_facts_scope(const struct v8_facts *facts);

/* What all that reads objects needs. */
struct v8_reader {
	const struct runtime_at *at;
	const struct v8_facts *facts;
	struct v8_state *state;
};

static inline bool v8_is_pointer(uint64_t word)
{
	return word & 1;
}

static inline bool v8_is_small(uint64_t word)
{
	return !(uint32_t)word;
}

/*
 * The word at offset `offset` of the object that `pointer` points to. 0 or -EFAULT, -ESRCH, -ESTALE
 * (no pointer).
 */
int v8_read_word(const struct v8_reader *r, uint64_t *word, uint64_t pointer, uint32_t offset);
int v8_read_u32(const struct v8_reader *r, uint32_t *number, uint64_t pointer, uint32_t offset);
/* The number of the type of an object. */
int v8_type_of(const struct v8_reader *r, uint32_t *type, uint64_t pointer);
/* -ESTALE: it is of another type. */
int v8_expect(const struct v8_reader *r, uint64_t pointer, uint32_t type);

/* Characters of a string that lie in one piece. */
struct v8_characters {
	uint64_t at;
	uint32_t length;
	bool wide; /* two bytes each (UTF-16), not one (Latin-1) */
};

/* 0; -ENOTSUP: it is made of several pieces; -ESTALE: it is not a string. */
int v8_string_characters(const struct v8_reader *r, uint64_t string, struct v8_characters *c);
/* A string as UTF-8, cut to size. 0 or as above. */
int v8_string_text(const struct v8_reader *r, uint64_t string, char *to, size_t size);

/* A function of the source: the SharedFunctionInfo. */
struct v8_shared {
	uint64_t pointer;
	uint64_t data, name, script; /* as it has them */
	__u64 scope[V8_SCOPE_WORDS]; /* what name refers to begins so, if v8_has_scope() */
	uint32_t checksum;
	uint32_t start, end; /* its places in the source; UINT32_MAX: not known */
	char function[512];
};

/* Reads a function, given the pointer. 0; -ESTALE: there is none. */
int v8_shared_read(const struct v8_reader *r, uint64_t pointer, struct v8_shared *shared);
/*
 * Its name, "(anonymous)" if it has none, and where it begins. 0; -ESTALE: what should tell that is
 * something else.
 */
int v8_shared_name(const struct v8_reader *r, struct v8_shared *shared);
/* 0; -ESTALE: it is not what it was any more. */
int v8_shared_check(const struct v8_reader *r, const struct v8_shared *shared);
/* The line of a place in the source of its script; 0: not known. */
uint32_t v8_shared_line(const struct v8_reader *r, const struct v8_shared *shared, uint32_t place);
/* Appends it to the names, at that line. The first one names the image. */
void v8_shared_add(const struct v8_reader *r, const struct v8_shared *shared, uint32_t line,
		   struct runtime_names *names);

/* An entry of a table of places. */
struct v8_place {
	uint32_t at;	  /* in the source */
	int32_t inlining; /* of the functions that were inlined, which one; -1: none of them */
	bool found;
};

/*
 * Places around an offset into the code: the last entry at or before it, the first one behind it,
 * and how many the table has. False: it cannot be read.
 */
struct v8_places {
	struct v8_place before, behind;
	uint32_t count;
	uint32_t
		/*
		 * bytes between the two places of the table that lie nearest to each other;
		 * UINT32_MAX: one
		 */
		nearest;
};

bool v8_places_of(const struct v8_reader *r, uint64_t table, uint32_t offset,
		  struct v8_places *places);
/* One that stands alone. */
void v8_place_unpack(uint64_t packed, struct v8_place *place);

/*
 * The place in the source of an offset into a function's bytecode, as frames have it; UINT32_MAX:
 * not known.
 */
uint32_t v8_bytecode_place(const struct v8_reader *r, uint64_t bytecode, uint32_t offset);
/* The bytecode of a function; 0: it has none. */
uint64_t v8_shared_bytecode(const struct v8_reader *r, const struct v8_shared *shared);

/*
 * Appends what runs at an address of code that V8 made for a function: the functions inlined there,
 * as far as they are known, and the function itself. 0; -ENOENT: nothing can be inlined in such
 * code, and nothing was appended; -ESTALE: the code, or what it says of inlined functions, is gone.
 */
int v8_code_add(const struct v8_reader *r, uint64_t address, const struct v8_shared *shared,
		bool is_leaf, struct runtime_names *names);

/*
 * Appends the function of WebAssembly that has code at an address. instance: pointer to the object
 * that the frame has, or 0. 0; -ENOENT: no module that is known has code there.
 */
int v8_wasm_add(const struct v8_reader *r, uint64_t address, uint64_t instance,
		struct runtime_names *names);

/* Frees what is known of modules. */
void v8_wasm_forget(struct v8_state *state);

/* What its functions mean (film/roles.h). */
extern const struct film_role_row v8_roles[];

#endif
