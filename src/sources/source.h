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
 * A source of events: a file of probes (bpf/NAME/), and one of this type for what becomes of
 * their records. It is a row in CAPTURE_SOURCES (bpf/capture/abi.h); the camera calls the verbs of
 * those that are on, and knows no other difference between them.
 *
 *	make		before anything is loaded: checks its settings
 *	command		a command is to be filmed: what its environment must have
 *	prepare		programs and maps that it does not need are left out, constants are set
 *	attach		programs are loaded; no film is there yet, and nothing may fire
 *	start		a film is there: adds its events; from here on probes fire
 *	take		each record of its kinds, in order of time
 *	image_new …	what happens to targets meanwhile, in the same order
 *	drained		all records up to a time were given: takes what it has besides, in other
 *			ways
 *	tick		about once a second
 *	closing		the film is about to end, or to be turned; probes still fire: tells what
 *			goes on up to now
 *	turn		another film: adds its events to it
 *	detach		nothing fires any more; the last records are still to be taken
 *	finish		what is still open at the end
 *	free		always, after anything that came before
 *
 * Any of them may be null.
 */
struct btf;
struct far_files;
struct probes;

/* The most options of one source. */
#define SOURCE_OPTIONS_MAX 4

/* What a source has to be told: an option of the verbs that record. */
struct source_option {
	const char *name;     /* of the long option: "frequency" */
	char letter;	      /* of the short one; 0: none */
	bool is_time;	      /* in ns; else a number */
	const char *argument; /* "HZ"; null: none, and the value is 1 where it stands */
	const char *help;
	uint64_t least, most, usual;
};

/* What a source is given. */
struct source_settings {
	bool on;
	uint32_t
		/* a bit for each of its events that was asked for, in their order; 0: all */
		events;
	uint64_t values[SOURCE_OPTIONS_MAX]; /* of its options, in their order */
	void *given; /* what no option can say, made by the caller, whose it stays; may be null */
};

/* What all sources work with; the camera's. */
struct source_host {
	const struct selection *selection;
	struct far_files *far; /* opens files of targets */
	bool kernel_only, user_only;
	bool live; /* the film is looked at while it grows: what goes on is reported as it does */
	uint32_t ring_limit; /* bytes of each ring; 0: any */
	struct happening_listener listener;
	struct happening_limits limits; /* of what it gets */
	/* says at the start what is not recorded here, as of the kernel; null: not to be said */
	void (*say)(void *context, const char *words);
	void *say_context;
	struct probes *probes;	 /* open; from attach on loaded */
	const struct btf *types; /* of the kernel, for prepare; null: they cannot be read */
	/* capture_until of bpf/capture/maps.h, from attach on; see source_now() */
	const volatile unsigned long long *until;
	pid_t command;		  /* whose waits count from when it executes; 0: none */
	uint64_t since;		  /* from start on: when the first film began; 0: it will begin */
	struct rings *rings;	  /* from attach on, */
	struct samples *samples;  /* from start on, */
	struct film_writer *film; /* and another one from turn on */
};

/* The most events of a source that share what it loses, besides the first. */
#define SOURCE_ALSO_MAX 2

/* A source that is on. */
struct source {
	const struct source_type *type; /* null: it is not */
	const struct source_host *host;
	const struct source_settings *settings;
	void *state;	/* its own */
	uint32_t event; /* of the film: the first of its events, of which its losses are */
	uint32_t also[SOURCE_ALSO_MAX]; /* the others, which these befall, too; 0 ends them */
	uint64_t undecidable; /* records of processes that were gone before they could be told */
};

/* The time, and of a recording that is over, its end: nothing in a film is later than that. */
static inline uint64_t source_now(const struct source *source)
{
	const uint64_t until = source->host->until ? *source->host->until : 0;
	const uint64_t now = clock_ns();

	return until && until < now ? until : now;
}

/* What the camera must do for it. */
enum source_needs {
	SOURCE_STACKS = 1, /* follow what is mapped: it takes user stacks */
	SOURCE_IMAGES =
		/*
		 * hold programs, and libraries that they map, until it has set its probes into them
		 */
		2,
	/* of a command that is started, also what its process does before it runs it */
	SOURCE_BEFORE_EXEC = 4,
	/* it takes stacks of threads that do not run, and so of all processes soon */
	SOURCE_RESTING = 8,
	/* hear of a command's process, and its children, in all that they do */
	SOURCE_PROCESSES = 16,
	/*
	 * its programs walk stacks of all runtimes from the first event on (walkers.h), also of
	 * targets that come later
	 */
	SOURCE_RUNTIMES = 32,
};

/* What has become of a file that a target maps. */
enum source_image {
	SOURCE_IMAGE_PROBED = 1, /* just now, probes were set for this process */
	SOURCE_IMAGE_EACH = 2,	 /* each process that maps it needs probes of its own */
};

struct source_type {
	const char *const
		*events; /* names, ending with a null; the first is what its losses are of */
	/*
	 * SOURCE_IMAGES: what the names of libraries begin with that it must probe before they run,
	 * ending with a null. The others it probes as soon as it learns of them. Null: any library.
	 */
	const char *const *libraries;
	const char *with; /* it is on, too, where this event of another one is; null: none */
	const struct source_option *options; /* ending with one without a name; null: it has none */

	int (*command)(const struct source_settings *settings,
		       struct command_environment *environment, struct fail *why);
	int (*make)(struct source *source, struct fail *why);
	unsigned int (*needs)(const struct source *source); /* enum source_needs */
	unsigned int (*rate)(const struct source *source); /* samples a second and CPU; null: any */
	uint32_t (*ring_bytes)(const struct source *source, unsigned int cpus); /* of each CPU */
	void (*prepare)(struct source *source);
	int (*attach)(struct source *source, struct fail *why);
	int (*start)(struct source *source, struct fail *why);
	/*
	 * handover: the last one that came by the same ring; null: none. Its memory may be changed
	 */
	void (*take)(struct source *source, const struct capture_head *head,
		     const struct capture_handover *handover);
	void (*drained)(struct source *source, uint64_t now);
	void (*tick)(struct source *source, uint64_t now);
	void (*closing)(struct source *source);
	/* Behind closing(), where another film follows: what goes on is written into this one. */
	void (*leave)(struct source *source, uint64_t now);
	void (*turn)(struct source *source);
	void (*detach)(struct source *source);
	void (*finish)(struct source *source, uint64_t now);
	void (*free)(struct source *source);

	/* A target runs this program. */
	void (*program_new)(struct source *source, pid_t pid, const char *path);
	/*
	 * Another thread than its first one has executed a program, and is the first one from now
	 * on.
	 */
	void (*executed)(struct source *source, pid_t pid);
	/* It has ended, or runs another one. */
	void (*process_gone)(struct source *source, pid_t pid);
	/* It has ended. */
	void (*process_ended)(struct source *source, pid_t pid);
	/* A target maps a file, maybe for the first time. Returns enum source_image. */
	unsigned int (*image_new)(struct source *source, pid_t pid, const struct image *image);
	/* That one had run without probes before, for so long (ns; 0: not known): a loss. */
	void (*image_missed)(struct source *source, const char *path, uint64_t ran_ns);
	/*
	 * Have its probes been set? If not, a process of that name ran it unseen: a loss, too.
	 * Null: what has none is not a loss.
	 */
	bool (*has_image)(const struct source *source, dev_t device, ino_t inode);
	void (*image_unseen)(struct source *source, const char *comm);
};

/* Whether one of its events was asked for, by its place in source_type.events. */
static inline bool source_wants(const struct source *source, unsigned int event)
{
	return !source->settings->events || source->settings->events >> event & 1;
}

/*
 * Adds those of its events to the film that were asked for. ids: all of them, in their order; how:
 * what their samples come from; of_film: becomes the film's id of each, and 0 of the others.
 */
void source_add_events(struct source *source, const enum event_id *ids, unsigned int count,
		       const char *how, uint32_t *of_film);

/* Is a record's process meant? One that cannot be told any more is counted. */
bool source_is_meant(struct source *source, const struct capture_identity *identity);

/*
 * The film's row for the first thread of a process; 0: the film is full, or the process is not
 * known. context is the source.
 */
uint32_t source_first_thread(void *context, uint32_t pid);

/* A frame that is a mark, as samples_mark(); context is the source. */
static inline uint32_t source_mark(void *context, const char *words)
{
	const struct source *source = context;

	return samples_mark(source->host->samples, words);
}

/* The same of a file on a disk; "": it is not known on which. */
static inline uint32_t source_mark_at(void *context, const char *words, const char *disk)
{
	const struct source *source = context;

	return samples_mark_at(source->host->samples, words, disk);
}

#endif
