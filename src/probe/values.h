/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_VALUES_H
#define PROBE_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/map.h"
#include "base/vec.h"
#include "symbol/symbols.h"

/*
 * The parameters and results of functions: their types, and where they are at the address at which
 * a probe is set. DWARF is hostile input: a child process that can do nothing else reads it
 * (values_read.c), and what it says is checked here before it is used.
 *
 * At a function's first instruction, values are where the calling convention puts them. DWARF says
 * it of optimised code; of code that is not, it says where they will be a few instructions later,
 * and the convention says where they are now (abi_sysv.c). Of Go, which has one of its own
 * (abi_go.c), DWARF is only compared with it.
 */

#define VALUES_PIECES_MAX 9
#define VALUES_TYPES_MAX  65536u
#define VALUES_NAME_MAX	  512u
#define VALUES_SITES_MAX  4096u
#define VALUES_LINES_MAX  16u

enum value_kind {
	VALUE_VOID,
	VALUE_INT,
	VALUE_UINT,
	VALUE_BOOL,
	VALUE_CHAR, /* one byte of text; signed or not is in flags */
	VALUE_FLOAT,
	VALUE_COMPLEX,
	VALUE_ENUM,
	VALUE_POINTER,
	VALUE_REFERENCE, /* C++ */
	VALUE_STRUCT,
	VALUE_UNION,
	VALUE_ARRAY,
	VALUE_FUNCTION,
	VALUE_UNKNOWN,
	/*
	 * Rust: an enumeration with values. target and count are the discriminant's type and
	 * offset; its members are read by values_variant().
	 */
	VALUE_VARIANT,
	/* Go */
	VALUE_GO_STRING,
	VALUE_GO_SLICE,
	VALUE_GO_MAP,
	VALUE_GO_CHAN,
	VALUE_GO_INTERFACE, /* with methods: the first word leads to a table with the type */
	VALUE_GO_ANY,	    /* without */
	VALUE_KINDS
};

#define VALUE_FLAG_SIGNED	1u
#define VALUE_FLAG_BY_REFERENCE 2u /* C++: a copy is passed by its address */
#define VALUE_FLAG_UNCLEAR	4u /* C++: it is not known whether it is */
#define VALUE_FLAG_MEMBER_FN	8u
#define VALUE_FLAG_CUT		16u /* not all members were read */
#define VALUE_FLAG_LIBRARY	32u /* of a structure: of the language's own library */

#define VALUE_NO_TYPE		UINT32_MAX

struct value_member {
	const char *name;
	uint64_t offset; /* of an enumerator, its value */
	uint32_t type;	 /* VALUE_NO_TYPE: of an enumerator */
	uint8_t bits;	 /* of a bit field; 0: it is none */
	uint8_t bit_at;
	/* C++: of a base class. Of variants: offset is the discriminant of the next member */
	bool is_base;
};

struct value_type {
	enum value_kind kind;
	const char *name;
	const char *bare;  /* of a structure: without typedefs and qualifiers */
	const char *brief; /* of one of the library: without what is in "<" and ">" */
	uint64_t size;
	uint32_t target; /* what it points to, or consists of; VALUE_NO_TYPE: not known */
	uint64_t count;	 /* of elements of an array */
	uint32_t flags;
	uint32_t first_member, members;
	uint64_t runtime_type; /* Go: the address of its description; 0: none */
	/* of a structure, what stands for the parameters of a template, where a view needs them */
	uint32_t first_argument, arguments;
};

struct value_argument {
	uint32_t type;	/* VALUE_NO_TYPE: it is a number */
	int64_t number; /* of any other type than integers: 0 */
};

/* A part of a structure that its shape finds in it (shapes.h). */
struct value_part {
	uint64_t offset;
	uint32_t type;
};

/* A part of a value in a register. */
struct value_piece {
	uint16_t offset, size; /* in the value */
	uint8_t reg;	       /* DWARF's number; VALUE_REGISTER_FLOAT */
};
#define VALUE_REGISTER_FLOAT 255
/* Of AT_POINTER: the address at which the caller wants the result, as it was passed. */
#define VALUE_REGISTER_RESULT 17
/* Of AT_POINTER: the address of the probe itself. */
#define VALUE_REGISTER_IP 18

enum value_place {
	VALUE_NOWHERE,	  /* optimised out */
	VALUE_REGISTERS,  /* in pieces */
	VALUE_MEMORY,	  /* at CFA + displacement */
	VALUE_AT_POINTER, /* at the address in a register + displacement */
	VALUE_HOME,	  /* in the function's own frame, but not yet */
	VALUE_ODD,	  /* an expression that is not understood */
	VALUE_NOT_KNOWN,  /* the convention is not known well enough */
	/* of variables: */
	VALUE_BEHIND,	/* at the address that memory at reg + displacement holds, + behind */
	VALUE_STATIC,	/* at the address `displacement` of the image */
	VALUE_CONSTANT, /* it is the displacement */
	VALUE_SUM,	/* it is what the register holds, + displacement */
	VALUE_NOT_YET,	/* it is declared there, or further down */
	VALUE_LATE, /* at the address in a register, but DWARF says so only behind the prologue */
	VALUE_PLACES
};
/* Of BEHIND and SUM: the canonical frame address; of SUM: an address of the image. */
#define VALUE_REGISTER_CFA   16
#define VALUE_REGISTER_IMAGE 17

struct value_param {
	const char *name;
	uint32_t type;
	bool is_result;
	enum value_place place;
	uint8_t reg; /* of AT_POINTER, BEHIND, SUM */
	int64_t displacement, behind;
	bool is_address; /* of HOME: what will be there is the address of the value */
	/* in memory, of optimised code: it may not have been stored there yet */
	bool may_be_old;
	unsigned int count;
	struct value_piece piece[VALUES_PIECES_MAX];
};

enum value_language {
	VALUE_LANGUAGE_C,
	VALUE_LANGUAGE_CPP,
	VALUE_LANGUAGE_GO,
	VALUE_LANGUAGE_RUST,
	VALUE_LANGUAGE_OTHER,
	VALUE_LANGUAGES
};

/* A function that was asked for. */
struct value_function {
	bool is_known; /* DWARF has it */
	enum value_language language;
	bool is_external;  /* callers are not all known, so that the convention is kept */
	bool is_optimised; /* some values are where only DWARF knows */
	bool is_changed;   /* the compiler has changed what it takes or returns */
	bool keeps_result; /* at attach, rdi holds what the caller has put there */
	bool is_mangled;   /* it has the name of a function that only its own language calls */
	uint32_t rust;	   /* of the compiler's version, 1.x; 0: it is another one */
	uint64_t attach; /* where the probe goes; the function's address, or behind its prologue */
	uint8_t cfa_register; /* there */
	int32_t cfa_offset;
	uint32_t first_param, params;
};

/* A line of the source. */
struct values_line {
	const char *file; /* as it is, or the end of its path: "src/orders.c" */
	uint32_t number;
};

/* A place at which the code of a line that was asked for begins. */
struct value_site {
	uint32_t line; /* which one */
	enum value_language language;
	bool is_refused;      /* the instruction cannot be probed */
	bool is_optimised;    /* variables can have the values of a statement before or behind */
	const char *file;     /* as DWARF has it */
	const char *function; /* the one whose source it is; "": not known */
	const char *into;     /* the one that it is inlined into; "": none */
	uint64_t address;     /* where the probe goes */
	bool has_cfa;
	uint8_t cfa_register; /* there */
	int32_t cfa_offset;
	uint32_t first_param, params; /* the variables in scope, parameters first */
};

/* What there is of a line that was asked for. */
struct value_near {
	uint32_t line;
	bool has_file;		/* a file of that name has code */
	uint32_t before, after; /* the nearest lines with code; 0: none */
};

struct values {
	struct value_function *functions; /* one for each address that was asked for */
	size_t function_count;
	vec(struct value_site) sites; /* by line, then by address */
	vec(struct value_near) near;
	vec(struct value_param) params;
	vec(struct value_type) types;
	vec(struct value_member) members;
	vec(struct value_argument) arguments;
	vec(struct value_part) parts;
	struct value_shape *shapes; /* by type (shapes.h) */
	struct buf text;	    /* what the strings point into */
	struct map runtime_types;   /* Go: numbers of types, by their runtime_type */
	size_t cut;		    /* types that were left out: too many */
};

/* What is asked for. */
struct values_wanted {
	bool is_go;
	const uint64_t *addresses; /* of functions, sorted, each once */
	size_t count;
	const struct values_line *lines;
	size_t line_count;
};

/*
 * Reads what is to be known of functions and lines. *values needs values_free() in any case.
 * Returns 0; -ENOENT: there is no DWARF; or another negative errno with *why filled.
 */
int values_of_image(struct symbols *symbols, const struct symbol_image *image,
		    const struct values_wanted *wanted, struct values *values, struct fail *why);
void values_free(struct values *values);

/*
 * Parses what the child has said, when that many functions and lines were asked for: for
 * values_of_image(), and for tests of what it could say.
 */
int values_parse(struct values *values, size_t functions, size_t lines, struct fail *why);

static inline const struct value_type *values_type(const struct values *values, uint32_t type)
{
	return type < values->types.count ? &values->types.at[type] : NULL;
}

/* Go: the type whose description is at an address of the image; VALUE_NO_TYPE: not known. */
uint32_t values_by_runtime_type(const struct values *values, uint64_t address);

/*
 * Whether it is a structure or a union without a name within another one, as C has them: its
 * members are those of the one around.
 */
bool values_is_unnamed(const struct values *values, const struct value_member *member);

/* A member of a structure by its name, or null. */
const struct value_member *values_member(const struct values *values, const struct value_type *type,
					 const char *name);

/* A variant, and the discriminant that chooses it; without one, it is chosen if no other is. */
struct value_variant {
	const struct value_member *member;
	bool has_value;
	uint64_t value;
};

/* The variant at *i, which goes on to the next one. False: there is none left. */
bool values_variant(const struct values *values, const struct value_type *type, uint32_t *i,
		    struct value_variant *variant);

/*
 * -- conventions: put the places of a function's parameters (or results) ------------------------
 */

/* What is known of a function of Go but for its DWARF. */
struct abi_go {
	const char *name;
	uint32_t minor; /* of the version, 1.x */
	bool has_registers;
	int64_t width; /* bytes on the caller's stack that Go's table says; -1: it does not */
};

/* At first, the places are those that DWARF says for the function's first instruction. */
void abi_go_params(const struct values *values, struct value_param *params, size_t count,
		   const struct abi_go *go);
void abi_sysv_params(const struct values *values, const struct value_function *function,
		     struct value_param *params, size_t count);
void abi_sysv_result(const struct values *values, const struct value_function *function,
		     struct value_param *result);
void abi_rust_result(const struct values *values, const struct value_function *function,
		     struct value_param *result);

/* -- in the child ------------------------------------------------------------------------------ */

struct values_question {
	int main_fd, fd, alternate_fd;
	struct values_wanted wanted;
};

/* A work of sandbox_run(); context: a struct values_question. */
void values_read(void *context, int pipe, int err);

/* Of a function. */
enum values_function_flag {
	VALUES_EXTERNAL = 1,
	VALUES_OPTIMISED = 2,
	VALUES_CHANGED = 4,
	VALUES_MANGLED = 8,
	VALUES_KEEPS_RESULT = 16,
};

/* Of a place of a line. */
enum values_site_flag {
	VALUES_SITE_REFUSED = 1,
	VALUES_SITE_HAS_CFA = 2,
	VALUES_SITE_OPTIMISED = 4,
};

/* What it says: numbers are ULEB128, texts end with a zero byte. */
enum values_said {
	/* kind size target+1 count flags runtime name bare brief members {name …} arguments {…} */
	VALUES_SAID_TYPE = 1,
	/* index language flags version attach cfa_register cfa_offset params {…} */
	VALUES_SAID_FUNCTION,
	VALUES_SAID_END, /* errno, types cut */
	/* line language flags file function into address cfa_register cfa_offset params {…} */
	VALUES_SAID_SITE,
	VALUES_SAID_NEAR, /* line has_file before after */
};

#endif
