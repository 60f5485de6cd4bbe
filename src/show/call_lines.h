/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_CALL_LINES_H
#define SHOW_CALL_LINES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Calls as a tree of text, line by line as they happen: what 'trace' prints while it runs, and
 * 'replay' later. Calls of several threads are interleaved by time; a thread's own lines are a
 * whole tree.
 *
 *	   TID     DURATION     ON-CPU | FUNCTION CALLS
 *	 37811                         | main() {
 *	 37811    93.887 us            |   malloc@libc.so.6();
 *	 37811   117.002 us   9.100 us |   pthread_join@libc.so.6();
 *	 37811     1.402 ms 180.020 us | } // main
 *
 * (the last with the comment signs of C). A call that made no other call is one line. On-CPU time
 * is shown where it differs from the duration. "~" before a duration: the return was not seen, a
 * guess; "<": it is less than what can be measured.
 */
struct call_lines;

struct call_lines_options {
	bool no_tid, no_duration, no_on_cpu; /* columns left out */
	bool timestamps, cpu, process;	     /* columns more */
	bool flat; /* one line per event, not indented: "> main", "< main 1.402 ms" */
	bool fold; /* repeated calls as one line: "work() x 1,000 avg 2.1 us" */
	bool color;
	unsigned int max_depth; /* 0: any */
	uint64_t start;		/* timestamps count from here */
};

struct call_line {
	enum call_line_kind {
		CALL_BEGINS,
		CALL_ENDS,
		CALL_GAP, /* calls of this thread were lost here */
	} kind;
	uint64_t time;
	uint32_t pid, tid, lane;
	uint16_t depth, cpu;
	const char *comm; /* of the process */
	/*
	 * CALL_BEGINS: "a=1, b=2", harmless; null: not known. Lives until the function returns.
	 * CALL_ENDS: the same of results
	 */
	const char *values;
	const char *name; /* of the function; hostile: escaped here. Lives until call_lines_end() */
	uint64_t duration, waited; /* CALL_ENDS */
	uint64_t error; /* CALL_ENDS: ns to which duration is known; if it is less, that is shown */
	bool inferred, open; /* CALL_ENDS */
	/* whether the calls around it were still open is not known, nor who has made it */
	bool unknown;
};

int call_lines_new(FILE *out, const struct call_lines_options *options, struct call_lines **lines);

/*
 * In order of time. A call may end without having begun (it began before): it is shown as one that
 * did.
 */
int call_lines_add(struct call_lines *lines, const struct call_line *line);

/* Prints what was held back (calls that still run are shown as open), and frees. */
int call_lines_end(struct call_lines *lines);

/* "93.887 us": three decimals, four digits at most before the point; to is at least 16 bytes. */
void call_lines_time(char *to, size_t size, uint64_t ns);

#endif
