/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_SOURCE_H
#define SOURCES_SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/fail.h"
#include "bpf/capture/abi.h"
#include "process/command.h"
#include "sources/happening.h"
#include "attach/rings.h"
#include "resolve/samples.h"
#include "film/events.h"
#include "film/writer.h"
#include "process/image.h"
#include "process/select.h"
#include "process/targets.h"

/*
 * A source of events consists of probes (bpf/NAME/) and of a struct source_type, which handles
 * their records. It is a row in CAPTURE_SOURCES (bpf/capture/abi.h). The camera calls the functions
 * of all sources that are on, and treats all of them alike. The functions:
 *
 *	make		before anything is loaded: checks the settings
 *	command		a command will be recorded: adds variables to its environment
 *	prepare		before loading: disables unneeded programs and maps, sets constants
 *	attach		programs are loaded; there is no film yet, so no probe may fire
 *	start		the film exists, and has its events; probes fire from here on
 *	records		handle records of their kinds, which come in order of time
 *	processes,	handle events of target processes, in the same order of time
 *	images
 *	drained		all records up to a time were handled: reads what comes in other ways
 *	tick		about once a second
 *	closing		the film is about to end, maybe with a successor; probes still fire:
 *			reports what is open up to now
 *	turn		the next film has begun, and has its events
 *	detach		detaches its probes; the last records are handled after this
 *	finish		writes what is still open at the end
 *	free		always called last, whichever calls came before
 *
 * Each of them may be null.
 */
struct btf;
struct far_files;
struct probes;

/* Most options of one source. */
#define SOURCE_OPTIONS_MAX 4

/* A source's option, for all verbs that record. */
struct source_option {
	const char *name;     /* long option: "frequency" */
	char letter;	      /* short option; 0: none */
	bool is_time;	      /* values are times in ns; else plain numbers */
	const char *argument; /* "HZ"; null: no argument, and the option sets the value 1 */
	const char *help;
	uint64_t least, most, usual;
};

/* An event of a source. A table of them ends with one without how. */
struct source_event {
	enum event_id id;
	const char *how; /* what triggers its samples, as the film says it: "uprobes" */
};

/* Most events of one source. */
#define SOURCE_EVENTS_MAX 5

/* The settings of a source. */
struct source_settings {
	bool on;
	/* requested events, a bit for each in the order of source_type.events; 0: all */
	uint32_t events;
	uint64_t values[SOURCE_OPTIONS_MAX]; /* of its options, in their order */
	void *given; /* a setting without an option; owned by the caller; may be null */
	/* what command() opened for the command, which attach() takes over; 0: nothing */
	int descriptor;
};

/* What the camera provides to all sources. */
struct source_host {
	const struct selection *selection;
	struct far_files *far; /* opens files of targets */
	bool kernel_only, user_only;
	bool live; /* the film is read while it grows: report open intervals before they end */
	uint32_t ring_limit; /* most bytes of each ring, and log of switches; 0: no limit */
	struct happening_listener listener;
	struct happening_limits limits; /* thresholds of what the listener gets */
	/* reports at the start what this kernel cannot record; null: do not report */
	void (*say)(void *context, const char *words);
	void *say_context;
	struct probes *probes;	 /* opened; loaded from attach on */
	const struct btf *types; /* the kernel's types, for prepare; null: not readable */
	/* capture_until of bpf/capture/maps.h, from attach on; see source_now() */
	const volatile unsigned long long *until;
	/* process whose waits are recorded only after it executed its command; 0: none */
	pid_t command;
	/* from start on: time at which the first film began; 0: not yet */
	uint64_t since;
	struct rings *rings;	  /* from attach on */
	struct samples *samples;  /* from start on */
	struct film_writer *film; /* from start on; another one after each turn */
};

/* A source of a recording. */
struct source {
	const struct source_type *type; /* null: the source is off */
	const struct source_host *host;
	const struct source_settings *settings;
	void *state; /* owned by the source */
	/* the film's ids of its events, in their order; 0: not recorded */
	uint32_t events[SOURCE_EVENTS_MAX];
	uint32_t event; /* the first of them that is recorded; 0: none, or there is no film yet */
	uint64_t last;	/* time of its last record; 0: none yet */
	/* records of processes that ended before the filter could decide on them */
	uint64_t undecidable;
	uint64_t damaged; /* records that were left out: they are not what their kind has */
};

/*
 * The present time in ns, or the end of the recording if that is earlier: no time in a film is
 * later.
 */
static inline uint64_t source_now(const struct source *source)
{
	const uint64_t until = source->host->until ? *source->host->until : 0;
	const uint64_t now = clock_ns();

	return until && until < now ? until : now;
}

/* A kind of a source's records. A table of them ends with kind 0. */
struct source_record {
	uint32_t kind;	/* CAPTURE_KIND() */
	uint32_t least; /* bytes; a record with less is damaged */
	/*
	 * Of a struct capture_record. handover: the last one from the same ring, whose memory the
	 * source may change; null: none.
	 */
	void (*with_stack)(struct source *source, const struct capture_record *record,
			   const struct capture_handover *handover);
	/* Of any other, or where its stack does not matter; it begins with a capture_head. */
	void (*handle)(struct source *source, const void *record);
	/*
	 * What it reports was before its time: it counts also where that is shortly after the
	 * recording's end, to which its program in the kernel sets it back (capture_now()).
	 */
	bool is_of_past;
};

#define SOURCE_RECORD_WITH_STACK(kind, f)                            \
	{                                                            \
		kind, sizeof(struct capture_record), .with_stack = f \
	}
#define SOURCE_RECORD(kind, type, f)                   \
	{                                              \
		kind, sizeof(struct type), .handle = f \
	}
#define SOURCE_RECORD_OF_PAST(kind, type, f)                               \
	{                                                                  \
		kind, sizeof(struct type), .handle = f, .is_of_past = true \
	}

/* What a source needs from the camera. */
enum source_needs {
	SOURCE_STACKS = 1, /* track mappings, because it records user stacks */
	/* hold programs, and libraries that they map, until its probes are attached */
	SOURCE_IMAGES = 2,
	/* record the process of a command also before it executes the command */
	SOURCE_BEFORE_EXEC = 4,
	/* it records stacks of sleeping threads, and therefore soon of all processes */
	SOURCE_RESTING = 8,
	/* report all process events of a command's process and its children */
	SOURCE_PROCESSES = 16,
	/*
	 * its programs walk the stacks of all runtimes from the first event on (walkers.h), also in
	 * processes that start later
	 */
	SOURCE_RUNTIMES = 32,
};

/* What a source did with a file that a target maps. */
enum source_image {
	SOURCE_IMAGE_PROBED = 1, /* it attached probes for this process */
	SOURCE_IMAGE_EACH = 2,	 /* each process that maps the file needs probes of its own */
};

/* What a source does as processes of targets come and go. */
struct source_processes {
	/* A target has executed this program. */
	void (*program)(struct source *source, pid_t pid, const char *path);
	/*
	 * A thread other than the first has executed a program, and thereby became the first
	 * thread.
	 */
	void (*executed)(struct source *source, pid_t pid);
	/* A process has ended, or has executed another program. */
	void (*gone)(struct source *source, pid_t pid);
	/* A process has ended. */
	void (*ended)(struct source *source, pid_t pid);
};

/* What a source does with the files that targets map. */
struct source_images {
	/*
	 * With SOURCE_IMAGES: prefixes of the names of libraries that must be probed before they
	 * run, ending with null. Other libraries are probed as soon as they are noticed. Null: any
	 * library must.
	 */
	const char *const *libraries;
	/*
	 * A target maps a file, maybe not for the first time. Returns a set of enum source_image.
	 */
	unsigned int (*arrived)(struct source *source, pid_t pid, const struct image *image);
	/* A loss: a file ran without probes for ran_ns (0: not known) before arrived(). */
	void (*missed)(struct source *source, const char *path, uint64_t ran_ns);
	/*
	 * Whether a file has probes. If not, unprobed() is called with the name of the process that
	 * ran it: another loss. Null: a file without probes is not a loss.
	 */
	bool (*has_probes)(const struct source *source, dev_t device, ino_t inode);
	void (*unprobed)(struct source *source, const char *comm);
};

/* The verbs of a source's own life, and its two interfaces to targets. */
struct source_type {
	/* they share its losses; null: no name turns it on, and it adds events by itself */
	const struct source_event *events;
	const char *with; /* event of another source that turns this source on, too; null: none */
	const struct source_option *options; /* ending with one without a name; null: none */

	const struct source_record *records; /* null: it has none */
	/* Whether a film has an event of this index; null: those requested. */
	bool (*has_event)(const struct source *source, unsigned int event);
	/* Changes what a film says of its events; null: nothing. */
	void (*describe)(const struct source *source, struct film_event *event);
	int (*command)(struct source_settings *settings, struct command_environment *environment,
		       struct fail *why);
	int (*make)(struct source *source, struct fail *why);
	unsigned int (*needs)(const struct source *source); /* a set of enum source_needs */
	/* samples per second and CPU; null: not known */
	unsigned int (*rate)(const struct source *source);
	/* for each CPU's ring; null: as many as the samples of its rate need */
	uint32_t (*ring_bytes)(const struct source *source, unsigned int cpus);
	void (*prepare)(struct source *source);
	int (*attach)(struct source *source, struct fail *why);
	int (*start)(struct source *source, struct fail *why);
	void (*drained)(struct source *source, uint64_t now);
	void (*tick)(struct source *source, uint64_t now);
	void (*closing)(struct source *source);
	/* After closing(), if another film follows: writes what is open into the present film. */
	void (*leave)(struct source *source, uint64_t now);
	void (*turn)(struct source *source);
	void (*detach)(struct source *source);
	void (*finish)(struct source *source, uint64_t now);
	void (*free)(struct source *source);

	struct source_processes processes;
	struct source_images images;
};

/* Whether an event was requested. event is its index in source_type.events. */
static inline bool source_wants(const struct source *source, unsigned int event)
{
	return !source->settings->events || source->settings->events >> event & 1;
}

/* Adds the events of a source to the film that begins, and sets source->events and its first. */
void source_add_events(struct source *source);

/* Has a record of the source's handled, by its kind. */
void source_handle(struct source *source, const struct capture_head *head,
		   const struct capture_handover *handover);

/* A source_record.handle(): of records that have nothing but their time. */
void source_ignore(struct source *source, const void *record);

/* A film has the processes that were selected by number even if no record of them comes. */
void source_follow_selected(struct source *source);

/*
 * Whether a record's process is selected. A process that ended before this could be decided is
 * counted in undecidable.
 */
bool source_is_meant(struct source *source, const struct capture_identity *identity);

/*
 * The film's row for the first thread of a process; 0: the film is full, or the process is not
 * known. context is the struct source.
 */
uint32_t source_first_thread(void *context, uint32_t pid);

/* As samples_mark(); context is the struct source. */
static inline uint32_t source_mark(void *context, const char *words)
{
	const struct source *source = context;

	return samples_mark(source->host->samples, words);
}

/* The same for a file on a disk; disk "": not known. */
static inline uint32_t source_mark_at(void *context, const char *words, const char *disk)
{
	const struct source *source = context;

	return samples_mark_at(source->host->samples, words, disk);
}

#endif
