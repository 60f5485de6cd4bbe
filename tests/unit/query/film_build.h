/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_QUERY_FILM_BUILD_H
#define TESTS_UNIT_QUERY_FILM_BUILD_H

#include "film/reader.h"
#include "film/writer.h"

/*
 * Small films for tests, written to a temporary file and read back. Any failure ends the
 * program. The film begins at FILM_BUILD_START, which is 2026-01-02 03:04:05 UTC.
 */
#define FILM_BUILD_START 1000000000000ull

struct film_build {
	struct film_writer *w;
	uint32_t event;
	uint64_t end;
	uint8_t build; /* first byte of the build ids of images */
	char path[64];
	struct {
		char name[32];
		uint32_t id;
	} images[16];
	struct {
		uint32_t pid, id;
	} processes[16];
};

void film_build_begin(struct film_build *b, const char *event, const char *unit);

/* One without an event, that begins at start; it ends there, too, unless end is set. */
void film_build_empty(struct film_build *b, uint64_t start);

/* The writer remembers no more things than that: what comes again later is in the film twice. */
void film_build_forget(struct film_build *b, size_t known);

uint32_t film_build_thread(struct film_build *b, uint32_t pid, const char *process, uint32_t tid,
			   const char *thread);

/*
 * A frame by a short text:
 *
 *	name		a function of /usr/bin/server
 *	lib!name	a function of /usr/lib/lib
 *	k!name		a function of the kernel
 *	jit!name	a function without a file
 *	py!name		a function of Python
 *	java!name	a method of Java
 *	label!k=v	a label
 *	lib!+1234	an address (hexadecimal) without a name
 *	lib!+1234-1200	the same, in a function that begins at 1200
 *	[…]		a mark
 *	name@file:12	with its line; several lines of one function are several frames
 *	outer>inner	inner was inlined into outer; both may have a line
 */
uint32_t film_build_frame(struct film_build *b, const char *text);

/* A frame of /usr/bin/server called exactly that. */
uint32_t film_build_raw_frame(struct film_build *b, const char *name);

/*
 * Frames by such texts with ';' between them, root first; '?' before one marks it as guessed, '~'
 * as interpreter's.
 */
uint32_t film_build_stack(struct film_build *b, const char *text);

void film_build_sample(struct film_build *b, uint64_t ms, uint32_t thread, const char *stack,
		       uint64_t value);

/* A call of a function; start and end are ns since the film's start. */
struct film_build_call {
	const char *function; /* as film_build_frame() takes it */
	uint16_t depth;
	uint64_t start, end, waited;
	uint32_t flags, lane;
	uint32_t thread; /* 0: the one that film_build_calls() got */
};

/* In the order in which they ended; the event must be "calls". */
void film_build_calls(struct film_build *b, uint32_t thread, const struct film_build_call *calls,
		      size_t count);

/* What tracing a function costs. */
void film_build_cost(struct film_build *b, const char *function, uint32_t own, uint32_t outer);

/* Ends the film and opens it. */
struct film *film_build_open(struct film_build *b);

/*
 * A film of one thread of "app" (100) and its worker, 100 us long: main() 0-100 us with parse()
 * twice, read() within the second, and work() on the worker.
 */
struct film *film_build_small_calls(void);

/* The same as sums of --summary. */
struct film *film_build_small_sums(void);

/*
 * Waits of a worker of "web" (10) for two locks, which begin a film of that event; the caller ends
 * it. For 0x1000 it waits 5000 ns, which "web" ends, and 300 ns in two parts, which the other
 * thread (11) ends; for 0x2000 30 ns, which the other thread ends too.
 */
void film_build_locks(struct film_build *b, const char *other);

/* A film of a web server and its database: seven samples, whose values add up to 51. */
struct film *film_build_small(void);

#endif
