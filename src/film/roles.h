/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_ROLES_H
#define FILM_ROLES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "film/task_kinds.h"

/*
 * What functions of programs, of runtimes and of the kernel mean for those that call them. The
 * recorder knows such functions (src/runtime/, resolve/function_roles.c) and writes its table into
 * the film, as the row "roles" of the table meta: for each a line "ROLE KIND GLOB", with the number
 * of its frames' kind, or `*` for any, and for its name a pattern as of fnmatch(3), which ends with
 * the line; or, behind a tab, with another one for the path of its source file. KIND is 0 if the
 * pattern is for the name of a thread, "file" for the last part of an image's path, "script" for
 * the path of a source. A reader of the film knows no function by its name.
 */
enum film_role {
	FILM_ROLE_RECLAIM,	 /* frees memory, as there is too little */
	FILM_ROLE_RECLAIM_GROUP, /* the same, since a control group is at its limit */
	FILM_ROLE_SWAP_OUT,	 /* writes memory to swap */
	FILM_ROLE_SWAP_IN,	 /* reads it from there */
	FILM_ROLE_FUSE,		 /* asks the daemon of a FUSE file system, and awaits its answer */
	FILM_ROLE_ROW_LOCK,	 /* of a database: waits for a lock of a row */
	FILM_ROLE_TABLE_LOCK,	 /* for one of a table, or of what describes it */
	FILM_ROLE_CLIENT_READ,	 /* reads the next command of a client */
	FILM_ROLE_CLIENT_WRITE,	 /* sends an answer to a client */
	FILM_ROLE_SLEEP,	 /* sleeps as long as its caller wants it to */
	FILM_ROLE_SAFEPOINT,	 /* of a Java VM: stops all threads, and awaits those that run */
	FILM_ROLE_FAULT,	 /* brings in a page, or makes room for one */
	FILM_ROLE_DISK,		 /* waits for a block device */
	FILM_ROLE_TIMED_WAIT,	 /* sleeps by a condition that nothing signals */
	FILM_ROLE_AWAITS,	 /* awaits a condition, and no lock */
	/* takes the next piece of work, and does none: a condition that it awaits is for work */
	FILM_ROLE_GETS_WORK,
	/* takes work and does it: what it awaits itself is for work, not what it calls does */
	FILM_ROLE_WORK_LOOP,
	/* the same, but what awaits has no name: what calls no function of its language is idle */
	FILM_ROLE_BARE_WORK_LOOP,
	/* of the endpoint of a request, a mark: its answer comes once there is work */
	FILM_ROLE_FOR_WORK,
	/*
	 * of a language's library or its runtime, not of the program: says little of what it does
	 */
	FILM_ROLE_LIBRARY,
	FILM_ROLE_PROGRAM,  /* though by another pattern it is of a library */
	FILM_ROLE_RECORDER, /* the recorder put it into the program */
	/* runs tasks that share its thread: plus an enum film_task_kind */
	FILM_ROLE_RUNS,
	FILM_ROLES = FILM_ROLE_RUNS + FILM_TASK_KINDS
};

#define FILM_ROLES_ROW "roles"

/* In the place of a frame's kind. */
#define FILM_ROLES_OF_THREAD 0
#define FILM_ROLES_OF_ANY    0x10000u
#define FILM_ROLES_OF_FILE   0x10001u
#define FILM_ROLES_OF_SCRIPT 0x10002u

/* A row of a table of such functions; one without a role's pattern (glob null) ends it. */
struct film_role_row {
	enum film_role role;
	unsigned int kind; /* enum film_frame_kind, or FILM_ROLES_OF_… */
	const char *glob;
	const char *file; /* null: any */
};

/* Lines that a film may have, and bytes of a pattern: each name is compared. */
#define FILM_ROLE_LINES_MAX 512
#define FILM_ROLE_GLOB_MAX  128

/* A line that was read. */
struct film_role_line {
	enum film_role role;
	unsigned int kind;
	char glob[FILM_ROLE_GLOB_MAX], file[FILM_ROLE_GLOB_MAX]; /* file "": any */
};

/* Appends the row as a line. */
void film_role_put(struct buf *text, const struct film_role_row *row);

/*
 * Reads a line of `length` bytes, without its end. False: it is of a later version, or a pattern
 * takes too long to compare.
 */
bool film_role_parse(const char *text, size_t length, struct film_role_line *line);

/* "reclaim" … */
const char *film_role_name(enum film_role role);

/* FILM_ROLES: a later version's. */
enum film_role film_role_named(const char *name, size_t length);

/*
 * Lines of the roles that films of earlier versions do not have: those of roles of which the film
 * has no line hold for it.
 */
extern const char film_roles_before[];

#endif
