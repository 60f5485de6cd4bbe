/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_CAMERA_H
#define RECORD_CAMERA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "sources/happening.h"
#include "film/writer.h"
#include "resolve/samples.h"
#include "symbol/symbols.h"
#include "process/select.h"

/*
 * The recorder: loads the probes, attaches them, drains what they find, and gives it to a film.
 *
 *	camera_new()	loads and attaches; nothing fires yet
 *	camera_start()	probes fire from here on
 *	camera_drain()	whenever camera_fd() is readable, and a few times a second
 *	camera_stop()	probes are off, all rings drained, all frames named
 *
 * All probes hang on descriptors of this process: however it ends, they end with it.
 */
struct camera;
struct sources_settings;

struct camera_options {
	const struct selection *selection;
	const struct sources_settings *sources; /* which are on (record/sources.h); copied */
	bool kernel_only, user_only;
	bool verbose;	 /* what is said of programs that the kernel refuses has its words, too */
	bool loads_once; /* no program can be loaded once the camera is made */
	bool names_soon; /* the film is looked at while it grows: names follow within seconds */
	uint64_t tables_limit; /* bytes of unwind tables; 0: the default */
	uint32_t ring_limit;   /* bytes of each ring at most; 0: as many as the sources want */
	struct symbol_options symbols;
	struct happening_listener listener;
	struct happening_limits limits; /* of what the listener gets */
	/*
	 * What is to be said while it records: that files are not read, say. The thread that
	 * records calls it; may be null. The words may hold hostile names.
	 */
	void (*say)(void *context, const char *words);
	void *say_context;
	bool quiet; /* what is merely not recorded here, as of the kernel, is not said */
};

int camera_new(const struct camera_options *options, struct camera **camera, struct fail *why);
void camera_free(struct camera *camera);

/* film: where to; stays the caller's, and must outlive the camera's last call. */
int camera_start(struct camera *camera, struct film_writer *film, struct fail *why);

/* Films a process (and its children, if the selection says so) that was made for it. */
int camera_add_process(struct camera *camera, pid_t pid, struct fail *why);

/*
 * Before camera_start(): a process will execute that command, whose files are read as far as that
 * must be early. argv must live as long.
 */
void camera_expect(struct camera *camera, char *const *argv);

/* To be called now and then, after camera_drain(), while that process begins. */
void camera_follow_begin(struct camera *camera);

int camera_fd(const struct camera *camera);
int camera_drain(struct camera *camera, struct fail *why);

/*
 * After camera_new(): what happens after that moment, of clock_ns(), is not recorded. The earliest
 * one counts. From any thread; camera_stop() is to follow.
 */
void camera_end_at(struct camera *camera, uint64_t time);

/*
 * Awaits the probes that have begun on all CPUs, and that each CPU has switched: threads that have
 * just ended leave theirs. That takes some ms.
 */
void camera_await_probes(void);
int camera_stop(struct camera *camera, struct fail *why);

/* When its first film began, of clock_ns(). */
uint64_t camera_begun(const struct camera *camera);

/* The end of what its film has, ns of clock_ns(): that of camera_end_at(), or when it stopped. */
uint64_t camera_stopped(const struct camera *camera);

/*
 * Goes on with another film, without losing a sample: what happened until then, which *turned
 * becomes (ns of clock_ns()), is in the one before, named, and that is the caller's again; what
 * comes later is in the other one, which begins then. Losses are of the film in whose time they
 * came. Only with sources that can turn. After an error it goes on with that film, too: words for
 * what of the one before may be missing.
 */
int camera_turn(struct camera *camera, struct film_writer *film, uint64_t *turned,
		struct fail *why);

/* Counts samples that were lost outside of the camera, as a total since its start. */
void camera_loss(struct camera *camera, const char *words, uint64_t samples);

/* Lets the calling thread record before others run: one that waits for a CPU loses samples. */
void camera_raise_priority(void);

struct camera_statistics {
	uint64_t samples;      /* in the film */
	uint64_t rows;	       /* of them: without a stack of their own, as requests */
	uint64_t complete;     /* of the others: stack to its root */
	uint64_t handed_over;  /* of them: finished in user space */
	uint64_t lost;	       /* samples that did not get into the film */
	uint64_t other_losses; /* all other losses that the film has: parts of stacks, tables … */
	uint64_t unseen_ms;    /* for how long probes were out, to keep to a budget */
	char refusal
		/* a language runtime whose frames are not looked for, and why; "" */
		[SAMPLES_REFUSAL_MAX];
	uint64_t table_bytes, ring_bytes;
	unsigned int tables, rules;
	uint64_t run_ns;       /* that its programs ran in the kernel, as far as it times them */
	uint64_t held;	       /* times that a process waited for its probes, */
	uint64_t held_longest; /* and for how long at most, ns */
};
void camera_statistics(const struct camera *camera, struct camera_statistics *statistics);

/*
 * How many file systems of targets do not answer, as it was known a second ago, and since when the
 * first of them does not (ns of clock_ns()).
 */
size_t camera_hung(const struct camera *camera, uint64_t *since);

#endif
