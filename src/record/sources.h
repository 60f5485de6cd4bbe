/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_SOURCES_H
#define RECORD_SOURCES_H

#include "sources/source.h"
#include "film/event_list.h"

/* Which sources are on, and their settings, by enum capture_source. */
struct sources_settings {
	struct source_settings at[CAPTURE_SOURCE_COUNT];
};

/* The default settings: all sources off, all options at their defaults. */
struct sources_settings sources_settings_usual(void);

/* Turns on the source of an event. False: no source has that event. */
bool sources_turn_on(struct sources_settings *settings, const char *event);
/*
 * The same for all events of a list; each of them must have a source (film/events.c:
 * is_recordable).
 */
void sources_turn_on_list(struct sources_settings *settings, const struct event_list *list);

/*
 * Sets an option from the user's text; null if the option has no argument. Returns 0, or -EINVAL
 * with *why filled: "-F takes a number from 1 to 10000, not 'x'"; -ENOENT: no source has that
 * option.
 */
int sources_set(struct sources_settings *settings, const char *option, const char *text,
		struct fail *why);

/* Sets an option to a value, which must be within its limits. */
void sources_set_value(struct sources_settings *settings, const char *option, uint64_t value);

/* The value of an option; 0 if no source has it. */
uint64_t sources_value(const struct sources_settings *settings, const char *option);

/* Calls each() for each option of each source, for --help and getopt_long(). */
void sources_each_option(void (*each)(void *context, const struct source_option *option),
			 void *context);

/* Collects what the sources that are on add to the environment of the recorded command. */
int sources_command(struct sources_settings *settings, struct command_environment *environment,
		    struct fail *why);

/*
 * The sources of a recording. The functions below call the function of that name of each source
 * that is on; sources/source.h describes them.
 */
struct sources {
	struct source_host host;
	struct sources_settings settings;
	struct source at[CAPTURE_SOURCE_COUNT];
};

#define sources_foreach(sources, source)                                                           \
	for (struct source *source = (sources)->at; source < (sources)->at + CAPTURE_SOURCE_COUNT; \
	     source++)                                                                             \
		if (source->type)

/* host and settings are copied. */
int sources_make(struct sources *sources, const struct source_host *host,
		 const struct sources_settings *settings, struct fail *why);
/*
 * All sources that this machine supports, with default options and no selection: to try their
 * programs, load and free them.
 */
void sources_make_possible(struct sources *sources, const struct source_host *host);
/* The name of a source, with which its programs begin: "on_cpu"; "all" of CAPTURE_SOURCE_NONE. */
const char *sources_name(enum capture_source number);
/*
 * How often the kernel skipped a source's program because it was already running on that CPU: for a
 * thread that was preempted there (Linux 7), or for one that the program interrupted.
 * CAPTURE_SOURCE_NONE: the programs that all sources share.
 */
uint64_t sources_skipped(const struct sources *sources, enum capture_source number);
/* ns that all programs ran while the kernel measured it (BPF_ENABLE_STATS). */
uint64_t sources_run_ns(const struct sources *sources);
unsigned int sources_needs(const struct sources *sources);
/*
 * Appends to names, which has room for max, the prefixes of libraries that must be probed before
 * they run, and adds to *count. Returns false if any library must.
 */
bool sources_libraries(const struct sources *sources, const char **names, size_t max,
		       size_t *count);
unsigned int sources_rate(const struct sources *sources);
/* Size of each CPU's ring in bytes, for a number of CPUs. */
uint32_t sources_ring_bytes(const struct sources *sources, unsigned int cpus);
/*
 * Sets the share of a ring, in bytes, that each source may fill, by its number. False: only one
 * source is on, and it may fill the ring.
 */
bool sources_ring_shares(const struct sources *sources, unsigned int cpus,
			 uint32_t shares[CAPTURE_SOURCE_COUNT]);
/* Also disables the programs of sources that are off. cpus: as for the rings. */
void sources_prepare(struct sources *sources, unsigned int cpus);

/*
 * The source that is on and owns the program or map with that name, which begins with the source's
 * name; null: none.
 */
struct source *sources_owner(struct sources *sources, const char *name);
/* Formats the requested events of a source: "lock, off-cpu". */
void source_event_names(const struct source *source, char *to, size_t size);
/*
 * Turns off a source, before sources_attach(). False: it is the only one that is on, and stays on.
 */
bool sources_leave_out(struct sources *sources, struct source *refused);

int sources_attach(struct sources *sources, struct fail *why);
int sources_start(struct sources *sources, struct fail *why);
void sources_handle(struct sources *sources, const struct capture_head *head,
		    const struct capture_handover *handover);
void sources_drained(struct sources *sources, uint64_t now);
void sources_tick(struct sources *sources, uint64_t now);
void sources_closing(struct sources *sources);
void sources_leave(struct sources *sources, uint64_t now);
void sources_turn(struct sources *sources, struct film_writer *film);
void sources_detach(struct sources *sources);
void sources_finish(struct sources *sources, uint64_t now);
void sources_free(struct sources *sources);
void sources_program(struct sources *sources, pid_t pid, const char *path);
void sources_executed(struct sources *sources, pid_t pid);
/* images.arrived of each, before any process is held */
void sources_image_early(struct sources *sources, pid_t pid, const struct image *image);
void sources_process_gone(struct sources *sources, pid_t pid);
void sources_process_ended(struct sources *sources, pid_t pid);

/*
 * The film's id of the first source's first event, for losses that belong to no source. 0: no
 * source has one yet.
 */
uint32_t sources_event(const struct sources *sources);

#endif
