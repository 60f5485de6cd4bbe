/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_CAMERA_H
#define RECORD_CAMERA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "sources/happening.h"
#include "film/loss_table.h"
#include "film/writer.h"
#include "resolve/samples.h"
#include "symbol/symbols.h"
#include "process/select.h"

/*
 * The recorder: loads and attaches the probes, drains their records and writes them to a film.
 *
 *	camera_new()	loads and attaches; nothing fires yet
 *	camera_start()	probes fire from here on
 *	camera_drain()	whenever camera_fd() is readable, and a few times a second
 *	camera_stop()	probes are off, all rings drained, all frames named
 *
 * Probes live as long as this process's descriptors: they end with it, however it ends.
 */
struct camera;
struct sources_settings;

struct camera_options {
	const struct selection *selection;
	/* which sources are on (record/sources.h); copied */
	const struct sources_settings *sources;
	bool kernel_only, user_only;
	/* messages about programs that the kernel refuses include the verifier's */
	bool verbose;
	bool loads_once;       /* no program can be loaded after camera_new() */
	bool names_soon;       /* the film is read while it grows: name frames within seconds */
	uint64_t tables_limit; /* bytes of unwind tables; 0: the default */
	uint32_t ring_limit;   /* most bytes of each ring; 0: as many as the sources want */
	struct symbol_options symbols;
	struct happening_listener listener;
	struct happening_limits limits; /* thresholds of what the listener gets */
	/*
	 * Reports messages during the recording, e.g. that a file is not read. The recording thread
	 * calls it. May be null. The message may contain hostile names.
	 */
	void (*say)(void *context, const char *words);
	void *say_context;
	bool quiet; /* do not report what this kernel cannot record */
};

int camera_new(const struct camera_options *options, struct camera **camera, struct fail *why);
void camera_free(struct camera *camera);

/*
 * Starts recording into film, which the caller owns; it must outlive the last call for the camera.
 */
int camera_start(struct camera *camera, struct film_writer *film, struct fail *why);

/* Adds a process that was started for the recording (and its children, if selected). */
int camera_add_process(struct camera *camera, pid_t pid, struct fail *why);

/*
 * Call it before camera_start() if a process will execute that command: reads those of its files
 * that must be known early. argv must live until camera_start() returns.
 */
void camera_expect(struct camera *camera, char *const *argv);

/* Call it now and then, after camera_drain(), while that process starts. */
void camera_follow_begin(struct camera *camera);

int camera_fd(const struct camera *camera);
int camera_drain(struct camera *camera, struct fail *why);

/*
 * Sets the end of the recording, a time of clock_ns(): later events are not recorded. Of several
 * calls the earliest time counts. Call it after camera_new(), from any thread; camera_stop() must
 * follow.
 */
void camera_end_at(struct camera *camera, uint64_t time);

/*
 * Waits until all running probes have returned and each CPU has switched threads, so that threads
 * that just ended have left it. Takes some ms.
 */
void camera_await_probes(void);
int camera_stop(struct camera *camera, struct fail *why);

/* When the first film began, by clock_ns(). */
uint64_t camera_begun(const struct camera *camera);

/*
 * The end of the recorded time, by clock_ns(): that of camera_end_at(), or when the camera stopped.
 */
uint64_t camera_stopped(const struct camera *camera);

/*
 * Continues with another film, without losing a sample. *turned becomes the time of the change, by
 * clock_ns(): earlier events are in the previous film, whose frames are all named and which the
 * caller may close now; later ones are in the new film. Losses belong to the film in whose time
 * they occurred. All sources must support it. After an error the camera continues with the new
 * film, too, but some frames of the previous one may be unnamed.
 */
int camera_turn(struct camera *camera, struct film_writer *film, uint64_t *turned,
		struct fail *why);

/* Sets the count of samples that were lost outside of the camera: the total since its start. */
void camera_loss(struct camera *camera, const char *words, uint64_t samples);

/*
 * Raises the priority of the calling thread, which records: if it waits for a CPU, samples are
 * lost.
 */
void camera_raise_priority(void);

struct camera_statistics {
	uint64_t samples;      /* in the film */
	uint64_t rows;	       /* of samples: rows without a stack, such as requests */
	uint64_t complete;     /* of the others: with a stack up to its root */
	uint64_t handed_over;  /* stacks that user space finished */
	uint64_t lost;	       /* samples that are not in the film */
	uint64_t other_losses; /* all other losses in the film: parts of stacks, tables … */
	uint64_t unseen_ms;    /* ms during which probes were detached to stay within a budget */
	/* a language runtime that is not walked, and why; "": none */
	char refusal[SAMPLES_REFUSAL_MAX];
	uint64_t table_bytes, ring_bytes;
	unsigned int tables, rules;
	/* ns that its programs ran in the kernel, as far as the kernel measures it */
	uint64_t run_ns;
	uint64_t held;	       /* number of times that a process was held for its probes */
	uint64_t held_longest; /* ns of the longest hold */
	const struct loss_table *losses; /* lives as long as the camera, until the next call */
};
void camera_statistics(struct camera *camera, struct camera_statistics *statistics);

/*
 * The number of targets' file systems that hang, as of at most a second ago. *since becomes the
 * time since which the first of them hangs, by clock_ns().
 */
size_t camera_hung(const struct camera *camera, uint64_t *since);

#endif
