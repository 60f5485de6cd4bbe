// SPDX-License-Identifier: Apache-2.0
/*
 * go-wait, go-queue and go-idle: why goroutines do not run. bpf/lanes/goroutines.bpf.c tells of
 * each wait that was long enough, and of a stack for each period of shorter ones; here they become
 * waits of the film, with the reason that Go's runtime gives on top of the stack. What goes on is
 * in goroutines_open.c.
 */
#include "sources/lanes/goroutines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "sources/loss_counts.h"
#include "sources/source.h"
#include "attach/uprobes.h"
#include "sources/sched/wait_rows.h"
#include "film/events.h"
#include "film/go_reasons.h"
#include "bpf/probes.skel.h"

/* A stack in a film for so much waiting that is too short to be told of one by one, ns. */
#define PERIOD_NS 10000000ull

/* Stacks a second, on each CPU. */
#define RATE 1000

/* The most stacks that are kept until those whom they made ready run. */
#define READIERS_MAX 65536

static unsigned int needs(const struct source *source)
{
	(void)source;
	return SOURCE_STACKS | SOURCE_RUNTIMES | SOURCE_IMAGES | SOURCE_RESTING;
}

static unsigned int rate(const struct source *source)
{
	(void)source;
	return RATE;
}

static uint32_t ring_bytes(const struct source *source, unsigned int cpus)
{
	/* each turn is reported */
	return goroutines_lanes_wanted(source) ? rings_bytes_for_calls(cpus)
					       : rings_bytes_for_samples(rate(source), cpus);
}

static void prepare(struct source *source)
{
	struct probes *probes = source->host->probes;

	probes->rodata->goroutines_min_wait = source->settings->values[0];
	probes->rodata->goroutines_stack_interval = SECOND_NS / RATE;
	probes->rodata->goroutines_period = PERIOD_NS;
	probes->rodata->goroutines_lanes = goroutines_lanes_wanted(source);
	probed_files_prepare(probes->progs.goroutines_site);
}

static int attach(struct source *source, struct fail *why)
{
	const struct source_host *host = source->host;
	struct goroutines *goroutines = source->state = calloc(1, sizeof(*goroutines));
	int err;

	if (!goroutines || waiting_new(READIERS_MAX, &goroutines->readiers) ||
	    (goroutines_lanes_wanted(source) && goroutines_lanes_new(source)))
		return fail_errno(why, -ENOMEM, NULL, "cannot record waits of goroutines");
	goroutines->states = bpf_map__fd(host->probes->maps.goroutines_states);
	goroutines->min_wait = source->settings->values[0];
	err = probed_images_new(goroutines->film.lives ? &goroutines_lanes_kind
						       : &goroutines_waits_kind,
				host->probes->progs.goroutines_site,
				bpf_map__fd(host->probes->maps.goroutines_images),
				!host->selection->whole_machine, &goroutines->images);
	return err ? fail_errno(why, err, NULL, "cannot record waits of goroutines") : 0;
}

/* Those of waits come together. */
static bool has_event(const struct source *source, unsigned int event)
{
	return event == GOROUTINES_LANES ? goroutines_lanes_wanted(source)
					 : source->settings->events != 1u << GOROUTINES_LANES;
}

static void begin_film(struct source *source)
{
	struct goroutines *goroutines = source->state;

	goroutines_lanes_turn(source);
	/* their places are the film's */
	waiting_empty(goroutines->readiers, NULL, NULL);
	goroutines_open_forget(goroutines);
}

static int start(struct source *source, struct fail *why)
{
	struct goroutines *goroutines = source->state;

	(void)why;
	begin_film(source);
	goroutines->has_started = true;
	return 0;
}

/* -- rows -------------------------------------------------------------------------------------- */

void goroutines_add(struct source *source, enum goroutines_event event,
		    const struct film_wait *like, uint64_t end, uint64_t time)
{
	if (source->events[event])
		wait_rows_add(source, source->events[event], like, end, time);
}

void goroutines_add_short(struct source *source, enum goroutines_event event,
			  const struct film_wait *like, uint64_t end, uint64_t time, uint32_t count)
{
	if (source->events[event])
		wait_rows_add_short(source, source->events[event], like, end, time, count);
}

/* What the outer frames, at most that many, of the stack that was resolved last tell of work. */
static uint32_t code_of_stack(struct source *source, pid_t pid, uint32_t number,
			      const struct go_waits *waits, uint32_t most)
{
	const struct goroutines *goroutines = source->state;
	const struct process *process = samples_process(source->host->samples, pid);
	uint32_t count, code = 0;
	const uint64_t *words = samples_last_words(source->host->samples, &count);

	for (uint32_t i = count > most ? count - most : 0; process && i < count; i++) {
		uint64_t at = words[i] & ~UNWIND_GUESS;
		const struct mapping *mapping;

		if (words[i] & UNWIND_IS_RUNTIME) {
			i++;
			continue;
		}
		mapping = process_mapping(process, at);
		if (mapping && probed_files_is(&goroutines->images->files, number, mapping->image))
			code |= go_waits_code(waits, at - mapping->bias);
	}
	return code;
}

/*
 * In how many outer frames a goroutine's own code shows that it waits for new work. What waits for
 * other things, waits for them also where it has no work; for a channel, only the function that it
 * began with, below runtime.goexit, tells, as such waits are many.
 */
static uint32_t frames_of_work(enum film_go_reason reason)
{
	if (reason == FILM_GO_IO || reason == FILM_GO_SELECT)
		return UINT32_MAX;
	return reason == FILM_GO_CHAN_RECEIVE ? 2 : 0;
}

struct goroutines_rows goroutines_rows(struct source *source, pid_t pid,
				       const struct goroutines_wait *wait,
				       const struct samples_place *place)
{
	struct goroutines *goroutines = source->state;
	const struct go_waits *waits = probed_images_facts(goroutines->images, wait->image);
	const char *words = waits ? go_waits_reason(waits, wait->turn.reason) : "";
	enum film_go_reason reason = go_reason_of(words);
	struct goroutines_rows rows = {.event = GOROUTINES_WAITS};
	char frame[GO_REASON_TEXT_MAX + 2];
	uint32_t frames;

	rows.wait = rows.ready = (struct film_wait){
		.thread = place->thread,
		.stack = place->stack,
		.arguments = {wait->turn.number, wait->g},
		.count = 1,
		.flags = wait->is_before ? FILM_WAIT_BEFORE : 0,
	};
	rows.ready.state = FILM_WAIT_READY;
	rows.wait.state = FILM_WAIT_GOROUTINE;
	rows.wait.call = (uint16_t)(reason + 1);
	if (*words) {
		snprintf(frame, sizeof(frame), "[%s]", words);
		rows.wait.stack = samples_words(source->host->samples, place->stack, frame);
	} else {
		/* what was only ready has none */
		goroutines->unnamed +=
			wait->reports & GOROUTINES_REPORTS_WAIT || wait->short_waited;
	}
	frames = frames_of_work(reason);
	if (reason == FILM_GO_IDLE ||
	    (frames && go_waits_is_idle(code_of_stack(source, pid, wait->image, waits, frames))))
		rows.event = GOROUTINES_IDLE;
	return rows;
}

/* -- records ----------------------------------------------------------------------------------- */

/* What is behind a record's frames; null: the record is damaged. */
static const struct goroutines_wait *wait_of(const struct capture_record *record)
{
	size_t frames = (size_t)record->user_frames + record->kernel_frames;
	size_t behind = sizeof(*record) + frames * sizeof(uint64_t);

	if (record->head.size != behind + sizeof(struct goroutines_wait))
		return NULL;
	return (const struct goroutines_wait *)((const uint64_t *)(record + 1) + frames);
}

static void handle_readier(struct source *source, const struct capture_record *record,
			   const struct capture_handover *handover)
{
	struct goroutines *goroutines = source->state;
	struct waiting_half half = {
		.pid = record->identity.pid,
		.key = record->identity.key,
		.place = samples_resolve(source->host->samples, record, handover),
	};

	waiting_put(goroutines->readiers, &half);
}

static void find_readier(struct source *source, pid_t pid, const struct goroutines_wait *wait,
			 struct film_wait *row)
{
	struct goroutines *goroutines = source->state;
	struct waiting_half half;

	if (!wait->turn.readier_thread)
		return;
	row->context = FILM_WAIT_BY_THREAD;
	if (!wait->has_readier_stack) {
		row->waker = samples_other_thread(source->host->samples, pid,
						  (pid_t)wait->turn.readier_thread, 0,
						  wait->readier_comm);
	} else if (waiting_pop(goroutines->readiers, (uint32_t)pid,
			       goroutines_readier_key(wait->g, wait->turn.woken), &half)) {
		row->waker = half.place.thread;
		row->waker_stack = half.place.stack;
	} else {
		goroutines->readiers_missed++;
	}
}

static void handle_wait(struct source *source, const struct capture_record *record,
			const struct capture_handover *handover)
{
	const struct goroutines_wait *wait = wait_of(record);
	struct goroutines *goroutines = source->state;
	pid_t pid = (pid_t)record->identity.pid;
	struct goroutines_rows rows;
	struct samples_place place;
	uint64_t told, waited, ready;

	source->damaged += !wait;
	if (!wait || !source_is_meant(source, &record->identity))
		return;
	/* of one that went on, a part stands in the film already */
	told = goroutines_open_close(goroutines, pid, wait->g, wait->turn.out);
	told = told > wait->turn.out ? told : wait->turn.out;
	waited = wait->turn.woken > told ? wait->turn.woken - told : 0;
	told = wait->turn.woken > told ? wait->turn.woken : told;
	ready = wait->in > told ? wait->in - told : 0;
	place = samples_resolve(source->host->samples, record, handover);
	if (wait->turn.flags)
		goroutines_lanes_add(source, pid, wait, record->has_user ? place.stack : 0);
	if (!wait->reports && !wait->short_waited && !wait->short_ready)
		return;
	rows = goroutines_rows(source, pid, wait, &place);
	find_readier(source, pid, wait, &rows.wait);
	goroutines_add(source, rows.event, &rows.wait, wait->turn.woken,
		       wait->reports & GOROUTINES_REPORTS_WAIT ? waited : 0);
	goroutines_add(source, GOROUTINES_QUEUE, &rows.ready, wait->in,
		       wait->reports & GOROUTINES_REPORTS_READY ? ready : 0);
	goroutines_add_short(source, rows.event, &rows.wait, record->head.time, wait->short_waited,
			     wait->short_waits);
	goroutines_add_short(source, GOROUTINES_QUEUE, &rows.ready, record->head.time,
			     wait->short_ready, wait->short_readies);
}

/* -- the lives of processes -------------------------------------------------------------------- */

static unsigned int image_new(struct source *source, pid_t pid, const struct image *image)
{
	struct goroutines *goroutines = source->state;
	unsigned int what;

	if (!goroutines)
		return 0;
	probed_images_meet(goroutines->images, pid, image, &what);
	if (probed_images_has(goroutines->images, pid))
		goroutines->looks = 2;
	return what;
}

static void image_missed(struct source *source, const char *path, uint64_t ran_ns)
{
	struct goroutines *goroutines = source->state;

	(void)path;
	(void)ran_ns;
	/* of what ran before the recording, waits are marked as such */
	goroutines->late += goroutines->has_started;
}

static void process_ended(struct source *source, pid_t pid)
{
	struct goroutines *goroutines = source->state;

	if (!goroutines || !probed_images_has(goroutines->images, pid))
		return;
	probed_images_ended(goroutines->images, pid);
	if (goroutines->has_started)
		goroutines_open_ended(source, pid);
}

/* -- ticks and ends ---------------------------------------------------------------------------- */

/* What user space has lost; the kernel's side is counted with that of other sources. */
static void report_losses(struct source *source)
{
	const struct goroutines *goroutines = source->state;
	const struct lane_lives *lives = goroutines->film.lives;
	const struct lane_lives_counts lanes =
		lives ? lane_lives_counts(lives) : (struct lane_lives_counts){0};
	const struct loss_count losses[] = {
		{"stack with which a goroutine was made ready not known: its record was lost, or "
		 "is of the film before",
		 goroutines->readiers_missed},
		{"reason of a goroutine's wait not known", goroutines->unnamed},
		{"programs of Go that ran for a moment before their goroutines were watched",
		 goroutines->late},
		{"waits of goroutines that go on: too many, or their program runs another one",
		 goroutines->open_lost},
		{"time of a goroutine not known: its records were lost", lanes.holes},
		{"goroutine not followed: too many of them, or no memory", lanes.refused},
	};

	loss_counts_emit_all(source->host->film, source->event, losses);
	probed_refused_report(&goroutines->images->refused, source->host->film, source->event,
			      "goroutines of a program not watched");
}

static void closing(struct source *source)
{
	goroutines_open_report_last(source);
	report_losses(source);
}

static void tick(struct source *source, uint64_t now)
{
	struct goroutines *goroutines = source->state;

	/* so that what waits since before is known if its process ends meanwhile */
	if (goroutines->looks && goroutines->has_started) {
		goroutines_open_report_before(source);
		goroutines->looks--;
	}
	if (source->host->live && !goroutines->film.lives)
		goroutines_open_tick(source, now);
	report_losses(source);
}

static void drained(struct source *source, uint64_t now)
{
	const struct goroutines *goroutines = source->state;

	if (goroutines && goroutines->film.lives && goroutines->has_started)
		goroutines_open_lanes(source, now);
}

static void detach(struct source *source)
{
	struct goroutines *goroutines = source->state;

	if (goroutines)
		probed_images_detach(goroutines->images);
}

static void finish(struct source *source, uint64_t now)
{
	goroutines_open_finish(source, now);
	report_losses(source);
}

static void free_state(struct source *source)
{
	struct goroutines *goroutines = source->state;

	if (goroutines) {
		probed_images_free(goroutines->images);
		waiting_free(goroutines->readiers);
		goroutines_open_forget(goroutines);
		lane_film_free(&goroutines->film);
		map_free(&goroutines->found);
	}
	free(goroutines);
}

static const struct source_record records[] = {
	SOURCE_RECORD_WITH_STACK(GOROUTINES_WAIT, handle_wait),
	SOURCE_RECORD_WITH_STACK(GOROUTINES_READIER, handle_readier),
	{0},
};

static const struct source_event events[] = {
	[GOROUTINES_WAITS] = {EVENT_GO_WAIT, "uprobes"},
	[GOROUTINES_QUEUE] = {EVENT_GO_QUEUE, "uprobes"},
	[GOROUTINES_IDLE] = {EVENT_GO_IDLE, "uprobes"},
	[GOROUTINES_LANES] = {EVENT_GO_LANES, "uprobes"},
	{0},
};

static const char *const libraries[] = {NULL};

static const struct source_option options[] = {
	{"go-min-wait", 0, true, "TIME",
	 "of go-wait: the shortest wait that has a stack of its own (default 50us)", 0, 1000000000,
	 50000},
	{0},
};

const struct source_type source_goroutines = {
	.events = events,
	.has_event = has_event,
	.images.libraries = libraries,
	.options = options,
	.needs = needs,
	.rate = rate,
	.ring_bytes = ring_bytes,
	.prepare = prepare,
	.attach = attach,
	.start = start,
	.records = records,
	.drained = drained,
	.tick = tick,
	.closing = closing,
	.turn = begin_film,
	.detach = detach,
	.finish = finish,
	.images.arrived = image_new,
	.images.missed = image_missed,
	.processes.ended = process_ended,
	.free = free_state,
};

static int add_places(struct probed_look *look, bool lanes)
{
	const uint64_t *offsets = ((const struct go_waits *)look->facts)->places;

	for (uint32_t i = 0; i < (lanes ? GOROUTINES_PLACES : GOROUTINES_PLACES_OF_WAITS); i++) {
		/* ready() calls runqput() */
		if (!offsets[i] || (i == GOROUTINES_READY && lanes && offsets[GOROUTINES_RUNQPUT]))
			continue;
		if (!probed_look_add(look, offsets[i], look->number,
				     GOROUTINES_COOKIE(look->number, i), false))
			return -ENOMEM;
	}
	return 0;
}

static void free_facts(void *facts)
{
	go_waits_free(facts);
}

static int look(struct probed_look *look, bool lanes, struct fail *why)
{
	struct go_waits *waits = look->facts;
	int err = go_waits_of(waits, look->image, why);

	/* what cannot be read is not known to be Go's */
	if (err)
		return err == -ENOTSUP ? err : -ENOENT;
	if (add_places(look, lanes)) {
		go_waits_free(waits);
		return fail(why, -ENOMEM, NULL, "out of memory");
	}
	waits->image.since = clock_ns();
	return 0;
}

/* A goroutine may have gone on as they were set: nothing has told. */
static void probed(void *facts)
{
	((struct go_waits *)facts)->image.since = clock_ns();
}

static int look_for_waits(struct probed_look *its, struct fail *why)
{
	return look(its, false, why);
}

static int look_for_lanes(struct probed_look *its, struct fail *why)
{
	return look(its, true, why);
}

#define KIND(how)                                                                                 \
	{                                                                                         \
		.size = sizeof(struct go_waits), .most = GOROUTINES_IMAGES_MAX,                   \
		.too_many = "too many programs of Go", .keep = true, .look = (how),               \
		.probed = probed, .free = free_facts, .shared = offsetof(struct go_waits, image), \
	}

const struct probed_kind goroutines_waits_kind = KIND(look_for_waits);
const struct probed_kind goroutines_lanes_kind = KIND(look_for_lanes);
