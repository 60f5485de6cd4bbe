/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_DEBUG_SERVER_H
#define HOST_DEBUG_SERVER_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/fail.h"
#include "film/reader.h"
#include "symbol/debug_file.h"

/*
 * Debug files of builds from debuginfod servers (symbol/debuginfod.h), one at a time: a file of at
 * most DEBUG_SERVER_FILE_MAX, in at most five minutes, into the folder "debuginfod" of a store,
 * whose oldest files are removed when all take more than DEBUG_SERVER_CACHE_MAX. A build that no
 * server has is asked for again after a day. While no server can be reached none is asked, for five
 * seconds after the first failure, and then twice as long each time, up to ten minutes; the log
 * has a line when that begins, and one when it ends.
 */
struct debug_server;

#define DEBUG_SERVER_FILE_MAX  UINT64_C(512000000)
#define DEBUG_SERVER_CACHE_MAX UINT64_C(1000000000)

/* Whether they are URLs, "URL[,URL...]", of http or https: 0, or -EINVAL with *why filled. */
int debug_server_check_urls(const char *urls, struct fail *why);

/* Settings of this process: to be called once, while it has one thread. 0 or a negative errno. */
int debug_server_settings(const char *urls, const char *store, struct fail *why);

/* stop: ends the transfer that runs; the caller's. 0 or a negative errno with *why filled. */
int debug_server_new(const char *store, const atomic_bool *stop, struct debug_server **server,
		     struct fail *why);
void debug_server_free(struct debug_server *server); /* null is allowed */

/*
 * Fetches the debug file of a build, or else the program itself: 0, and *found is to be closed; or
 * a negative errno, -EAGAIN: not now. Of one thread, as the next two.
 */
int debug_server_fetch(struct debug_server *server, const struct film_image *image,
		       struct debug_file *found);
/* What became of a file that was fetched: whether it had names. */
void debug_server_used(struct debug_server *server, bool has_names);
/*
 * When the first of those that were left out since this was called last may be asked for, in ns of
 * the monotonic clock; UINT64_MAX: none was.
 */
uint64_t debug_server_again(struct debug_server *server);

/* What became of builds that were asked for. */
enum debug_server_outcome {
	DEBUG_SERVER_NAMED,
	DEBUG_SERVER_NAMELESS,	  /* the file has no names */
	DEBUG_SERVER_MISSING,	  /* no server has it */
	DEBUG_SERVER_TOO_LARGE,	  /* than DEBUG_SERVER_FILE_MAX */
	DEBUG_SERVER_OTHER_BUILD, /* what came is another file, or no program */
	DEBUG_SERVER_AWAY,	  /* the servers could not be asked */
	DEBUG_SERVER_OUTCOMES
};
const char *debug_server_outcome_name(enum debug_server_outcome outcome);

struct debug_server_state {
	uint64_t builds[DEBUG_SERVER_OUTCOMES]; /* since the start */
	uint64_t cache_bytes, cache_removed;	/* removed: files, since the start */
	bool works; /* false: the last time servers could not be asked */
};
/* From any thread. */
void debug_server_state(struct debug_server *server, struct debug_server_state *state);

/*
 * Removes the oldest files below a folder (FOLDER/BUILD/FILE) until they have at most bytes_max
 * bytes, and are at most files_max. *bytes: what is left; *removed grows.
 */
void debug_server_trim(const char *folder, uint64_t bytes_max, uint64_t files_max, uint64_t *bytes,
		       uint64_t *removed);

#endif
