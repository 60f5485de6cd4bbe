/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_SOURCES_H
#define RECORD_SOURCES_H

#include "sources/source.h"
#include "film/events.h"

/* Which sources are to be on, and what they are given: by enum capture_source. */
struct sources_settings {
	struct source_settings at[CAPTURE_SOURCE_COUNT];
};

/* All are off, and their options are as they usually are. */
struct sources_settings sources_settings_usual(void);

/* The source of an event of that name is to be on. False: no source has that event. */
bool sources_turn_on(struct sources_settings *settings, const char *event);
/*
 * The same for each event of a list; each event of the list has a source (film/events.c:
 * is_recordable).
 */
void sources_turn_on_list(struct sources_settings *settings, const struct event_list *list);

/*
 * Sets an option to what a user wrote; text: null, if it takes no argument. Returns 0, or -EINVAL
 * with *why filled: "-F takes a number from 1 to 10000, not 'x'"; -ENOENT: no source has an option
 * of that name.
 */
int sources_set(struct sources_settings *settings, const char *option, const char *text,
		struct fail *why);

/* Sets an option to a value within its limits. */
void sources_set_value(struct sources_settings *settings, const char *option, uint64_t value);

/* The value of an option; of one that no source has: 0. */
uint64_t sources_value(const struct sources_settings *settings, const char *option);

/* Calls each() for each option of each source, for help, and for getopt_long(). */
void sources_each_option(void (*each)(void *context, const struct source_option *option),
			 void *context);

/* What those that are on add to the environment of the command that is filmed. */
int sources_command(const struct sources_settings *settings,
		    struct command_environment *environment, struct fail *why);

/* Those that are on. The loops over them; what each verb is about says sources/source.h. */
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
 * All that this machine allows, with usual options and nothing chosen, so that its programs can be
 * tried: it is loaded, and freed.
 */
void sources_make_possible(struct sources *sources, const struct source_host *host);
/*
 * How often the kernel did not run a program of a source as it ran already on that CPU: of a thread
 * that was preempted there (Linux 7), or of one that the program has interrupted.
 * CAPTURE_SOURCE_NONE: of the programs that belong to all sources.
 */
uint64_t sources_skipped(const struct sources *sources, enum capture_source number);
/* ns that all programs have run, of the time in which the kernel timed them (BPF_ENABLE_STATS). */
uint64_t sources_run_ns(const struct sources *sources);
unsigned int sources_needs(const struct sources *sources);
/*
 * Adds what the names of libraries begin with that must be probed before they run, with at most max
 * names, to *names. Returns false where any library must.
 */
bool sources_libraries(const struct sources *sources, const char **names, size_t max,
		       size_t *count);
unsigned int sources_rate(const struct sources *sources);
/* Bytes of each CPU's ring, on that many CPUs. */
uint32_t sources_ring_bytes(const struct sources *sources, unsigned int cpus);
/*
 * Bytes of the ring that each source may fill, by its number. False: there is but one, and it may
 * fill it.
 */
bool sources_ring_shares(const struct sources *sources, unsigned int cpus,
			 uint32_t shares[CAPTURE_SOURCE_COUNT]);
/* Also leaves out the others. cpus: as for the rings. */
void sources_prepare(struct sources *sources, unsigned int cpus);

/*
 * The source that is on and has a program or map of that name (its own name comes first in theirs);
 * null: it belongs to none of them.
 */
struct source *sources_owner(struct sources *sources, const char *name);
/* Its events that were asked for: "lock, off-cpu". */
void source_event_names(const struct source *source, char *to, size_t size);
/* Before they are attached: one is off from here on. False: no other one is on; nothing is done. */
bool sources_leave_out(struct sources *sources, struct source *refused);

int sources_attach(struct sources *sources, struct fail *why);
int sources_start(struct sources *sources, struct fail *why);
void sources_take(struct sources *sources, const struct capture_head *head,
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
/* before any is held */
void sources_image_early(struct sources *sources, pid_t pid, const struct image *image);
void sources_process_gone(struct sources *sources, pid_t pid);
void sources_process_ended(struct sources *sources, pid_t pid);

/* The first event of the first of them: of what is lost, and no source's. 0: none has one yet. */
uint32_t sources_event(const struct sources *sources);

#endif
