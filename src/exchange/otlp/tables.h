/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXCHANGE_OTLP_TABLES_H
#define EXCHANGE_OTLP_TABLES_H

#include "base/protobuf.h"
#include "base/vec.h"
#include "exchange/import.h"

/*
 * The dictionary of a request of OTLP (otlp_reader.h): the tables that its profiles refer to by
 * index, where 0 is none. Messages that are kept as bytes lie in the request.
 */

struct otlp_attribute {
	const char *key, *text; /* never null */
	uint64_t number;
};

struct otlp_mapping {
	uint64_t start, offset, file;
	struct bytes attributes;
};

struct otlp_function {
	uint64_t name, system_name, file;
};

struct otlp_line {
	uint64_t function;
	uint32_t number;
};

struct otlp_location {
	uint64_t mapping, address;
	uint32_t first_line, lines;
	uint32_t frame; /* of the film that is made; 0: not yet */
	struct bytes attributes;
};

struct otlp_stack {
	struct bytes locations; /* numbers, leaf first */
	uint32_t id;		/* of the film that is made; 0: not yet */
};

/* Rows of each table. */
#define OTLP_ROWS_MAX (1 << 20)

struct otlp_tables {
	vec(char *) strings; /* those of the table come first */
	size_t string_count;
	vec(struct otlp_attribute) attributes;
	vec(struct otlp_mapping) mappings;
	vec(struct otlp_function) functions;
	vec(struct otlp_location) locations;
	vec(struct otlp_line) lines;
	vec(struct otlp_stack) stacks;
	bool too_many, no_memory, damaged; /* what was met while reading */
	struct import *film;		   /* that is made */
};

/* Adds an item to a table, or says that it is full or there is no memory. */
#define OTLP_ADD(t, table, max, flags, ...)                   \
	do {                                                  \
		if ((t)->table.count >= (max))                \
			(flags)->too_many = true;             \
		else if (!vec_push(&(t)->table, __VA_ARGS__)) \
			(flags)->no_memory = true;            \
	} while (0)

/* Reads the dictionary; what is wrong with it the flags say. */
void otlp_tables_read(struct otlp_tables *t, struct bytes dictionary);
void otlp_tables_free(struct otlp_tables *t);

/* The text of that index; "" for 0 and what there is not. */
const char *otlp_string(const struct otlp_tables *t, uint64_t index);

/* KeyValueAndUnit of the dictionary, and KeyValue, whose key may also be a text. */
struct otlp_attribute otlp_read_attribute(struct otlp_tables *t, struct bytes message,
					  bool in_dictionary);

/*
 * A repeated number whose items came one by one cannot be kept in place: none of the known encoders
 * does so. field: as it was read.
 */
static inline void otlp_keep_numbers(const struct proto_field *field, struct bytes *numbers)
{
	if (field->wire == PROTO_BYTES)
		*numbers = field->bytes;
}

/* From now on frames and stacks are made for that film. */
void otlp_tables_begin(struct otlp_tables *t, struct import *film);

/* The stack of the film for one of the table; 0: no frame is known. */
uint32_t otlp_stack(struct otlp_tables *t, uint64_t index);

#endif
