// SPDX-License-Identifier: Apache-2.0
/*
 * Writes a made-up film of what threads did: "make_turns SLICES THREADS PATH". Threads run, wait
 * for all kinds of things, and wake each other. The same arguments always make the same film.
 * "make_turns sample PATH": a small one, whose truth tests/e2e/test_timeline.py knows.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/text.h"
#include "film/events.h"
#include "film/writer.h"

#define START 1000000000000ull
#define WALL  1767322845000000000ull /* of START, ns since 1970 */
#define MS    1000000ull

/* linux/unistd.h of x86-64, and 1: as rows have them */
enum {
	CALL_READ = 0 + 1,
	CALL_POLL = 7 + 1,
	CALL_NANOSLEEP = 35 + 1,
	CALL_RECVFROM = 45 + 1,
	CALL_FSYNC = 74 + 1,
	CALL_FUTEX = 202 + 1,
};

enum {
	THREADS_OF_PROCESS = 16,
	STACKS = 64,
	SLICES_PER_TURN = 3,
	TURNS_PER_COMMIT = 200000
};

struct maker {
	struct film_writer *w;
	uint32_t event, image;
	uint32_t stacks[STACKS];
	uint64_t random;
	uint64_t end; /* of the film */
};

static uint64_t number(struct maker *m, uint64_t below)
{
	return hash_u64(m->random++) % below;
}

static uint32_t make_stack(struct maker *m, uint32_t parent, uint64_t address, const char *text)
{
	struct film_name name = {text, "", 0};
	uint32_t frame = film_frame(m->w, m->image, FILM_FRAME_NATIVE, address);

	film_name_frame(m->w, frame, &name, 1);
	return film_stack(m->w, parent, frame, FILM_HOW_EXACT);
}

static uint32_t make_process(struct maker *m, uint32_t pid, const char *comm, const char *command)
{
	return film_add_process(m->w, &(struct film_process){.pid = pid,
							     .start = START,
							     .comm = comm,
							     .command = command,
							     .exe = "/usr/bin/server",
							     .cgroup = "",
							     .container = ""});
}

static uint32_t make_thread(struct maker *m, uint32_t process, uint32_t tid, const char *name)
{
	return film_add_thread(m->w, &(struct film_thread){process, tid, START, name});
}

static int begin(struct maker *m, const char *path, struct fail *why)
{
	struct film_info info = {
		.version = STACKCAM_VERSION,
		.hostname = "made-up",
		.kernel = "6.1.0",
		.arch = "x86_64",
		.command = "make_turns",
		.cpus = 2,
		.start = START,
		.wall_offset = (int64_t)(WALL - START),
	};
	int err = film_create(path, &info, &m->w, why);

	if (err)
		return err;
	m->event = film_add_event(
		m->w, &(struct film_event){event_type(EVENT_THREADS)->name, "ns", "sched", 0});
	m->image = film_add_image(
		m->w, &(struct film_image){.kind = FILM_IMAGE_FILE, .path = "/usr/bin/server"});
	return 0;
}

/* What it waits for: mostly a lock or a socket, now and then anything. */
static void choose_wait(struct maker *m, struct film_turn *turn)
{
	static const struct {
		uint16_t call;
		uint8_t state, descriptor;
		uint32_t flags, longest; /* us */
	} waits[] = {
		{CALL_FUTEX, FILM_WAIT_SLEEPS, FILM_FD_NONE, 0, 400},
		{CALL_RECVFROM, FILM_WAIT_SLEEPS, FILM_FD_SOCKET, 0, 800},
		{CALL_READ, FILM_WAIT_SLEEPS, FILM_FD_PIPE, 0, 300},
		{CALL_FSYNC, FILM_WAIT_BLOCKED, FILM_FD_FILE, FILM_WAIT_IOWAIT, 4000},
		{CALL_POLL, FILM_WAIT_SLEEPS, FILM_FD_NONE, 0, 2000},
		{CALL_NANOSLEEP, FILM_WAIT_SLEEPS, FILM_FD_NONE, 0, 9000},
	};
	size_t kind = number(m, 8) % (sizeof(waits) / sizeof(waits[0]));

	turn->call = waits[kind].call;
	turn->state = waits[kind].state;
	turn->descriptor = waits[kind].descriptor;
	turn->flags = waits[kind].flags;
	turn->waited = 1000 + number(m, waits[kind].longest * 1000ull);
	turn->context = number(m, 4) ? FILM_WAIT_BY_THREAD : FILM_WAIT_BY_INTERRUPT;
	turn->arguments[0] = kind ? number(m, 64) : 0x7f0000000000 + number(m, 32) * 64;
}

struct thread {
	uint32_t id;
	uint64_t end;
};

static void add_turn(struct maker *m, struct thread *t, const struct thread *all, uint64_t threads)
{
	struct film_turn turn = {.thread = t->id,
				 .ran = 2000 + number(m, 60000),
				 .ready = 500 + number(m, 20000),
				 .cpu = (uint16_t)number(m, 2)};

	if (number(m, 8)) {
		choose_wait(m, &turn);
		turn.stack = m->stacks[number(m, STACKS)];
		turn.waker = all[number(m, threads)].id;
	} else {
		turn.state = FILM_WAIT_READY;
	}
	turn.end = t->end += turn.ran + turn.waited + turn.ready;
	m->end = turn.end > m->end ? turn.end : m->end;
	film_turn(m->w, m->event, &turn);
}

static int make(struct maker *m, uint64_t slices, uint64_t threads, struct fail *why)
{
	struct thread *all = calloc(threads, sizeof(*all));
	uint64_t turns = slices / SLICES_PER_TURN, next = TURNS_PER_COMMIT, now = START;
	uint32_t process = 0;
	char name[64];
	int err = 0;

	if (!all)
		return -1;
	for (uint32_t i = 0; i < STACKS; i++) {
		snprintf(name, sizeof(name), "part%u::function_%u(int)", i % 7, i);
		m->stacks[i] = make_stack(m, i ? m->stacks[i / 2] : 0, 0x1000 + i * 64ull, name);
	}
	for (uint32_t i = 0; i < threads; i++) {
		snprintf(name, sizeof(name), "server-%u", i / THREADS_OF_PROCESS);
		if (i % THREADS_OF_PROCESS == 0)
			process = make_process(m, 1000 + i, name, name);
		snprintf(name, sizeof(name), "worker-%u", i);
		all[i].id = make_thread(m, process, 1000 + i, name);
		all[i].end = START;
	}
	/* the one that is furthest behind comes next, as nearly as a film needs it */
	for (uint64_t made = 0; !err && made < turns; now += MS) {
		for (uint64_t i = 0; i < threads; i++) {
			for (; all[i].end < now && made < turns; made++)
				add_turn(m, &all[i], all, threads);
		}
		if (made < next)
			continue;
		err = film_commit(m->w, now, true, why);
		next += TURNS_PER_COMMIT;
	}
	free(all);
	return err;
}

/* A turn of the sample: in ms. */
static void put(struct maker *m, uint32_t thread, uint64_t *end, uint64_t ran, uint64_t waited,
		uint64_t ready, struct film_turn turn)
{
	turn.thread = thread;
	turn.ran = ran * MS;
	turn.waited = waited * MS;
	turn.ready = ready * MS;
	turn.end = *end += turn.unseen + turn.ran + turn.waited + turn.ready;
	film_turn(m->w, m->event, &turn);
}

/*
 * 100 ms. "server" 10/10 runs 10, waits for a lock 30 that 11 gives back, is ready 5, runs 15, is
 * preempted 5, runs 5 and sleeps 30. "worker" 10/11 runs 40, 20 are not known, and it waits for a
 * socket 40. A thread with a hostile name runs a thousand times for 50 us and waits as long.
 */
static void make_sample(struct maker *m)
{
	uint32_t server = make_process(m, 10, "server", "server -x");
	uint32_t hostile = make_process(m, 12, "\033[2J</script>\"\\\xff", "</script><b>\033[31m");
	uint32_t main_thread = make_thread(m, server, 10, "server");
	uint32_t worker = make_thread(m, server, 11, "worker");
	uint32_t odd = make_thread(m, hostile, 12, "\033[2J</script>\"\\\xff");
	uint64_t end[3] = {START, START, START};

	m->stacks[0] = make_stack(m, 0, 0x1000, "main");
	m->stacks[1] = make_stack(m, m->stacks[0], 0x2000, "</script><b>lock()");
	put(m, main_thread, &end[0], 10, 30, 5,
	    (struct film_turn){.call = CALL_FUTEX,
			       .state = FILM_WAIT_SLEEPS,
			       .cpu = 1,
			       .stack = m->stacks[1],
			       .waker = worker,
			       .flags = FILM_TURN_BEGINS | FILM_HOLDER_OWNER * FILM_TURN_SURE,
			       .arguments = {UINT64_MAX, 128, 2},
			       .lock = 0x7f0000000040,
			       .lock_kind = FILM_LOCK_MUTEX,
			       .holder = worker,
			       .context = FILM_WAIT_BY_THREAD});
	put(m, main_thread, &end[0], 15, 0, 5, (struct film_turn){.state = FILM_WAIT_READY});
	put(m, main_thread, &end[0], 5, 30, 0,
	    (struct film_turn){
		    .call = CALL_NANOSLEEP, .state = FILM_WAIT_SLEEPS, .flags = FILM_WAIT_OPEN});
	put(m, worker, &end[1], 40, 0, 0,
	    (struct film_turn){.state = FILM_WAIT_READY, .flags = FILM_TURN_BEGINS});
	put(m, worker, &end[1], 0, 40, 0,
	    (struct film_turn){.unseen = 20 * MS,
			       .call = CALL_RECVFROM,
			       .state = FILM_WAIT_SLEEPS,
			       .descriptor = FILM_FD_SOCKET,
			       .flags = FILM_WAIT_OPEN});
	for (int i = 0; i < 1000; i++) {
		struct film_turn turn = {.end = end[2] += MS / 10,
					 .ran = MS / 20,
					 .waited = MS / 20,
					 .thread = odd,
					 .call = CALL_POLL,
					 .state = FILM_WAIT_SLEEPS,
					 .flags = i ? 0 : FILM_TURN_BEGINS};

		film_turn(m->w, m->event, &turn);
	}
	film_loss(m->w, m->event, "no room in a ring", 7);
	m->end = START + 100 * MS;
}

int main(int argc, char **argv)
{
	struct maker m = {0};
	struct fail why = {0};
	uint64_t slices = 0, threads = 0;
	bool sample = argc == 3 && !strcmp(argv[1], "sample");
	int err;

	if (!sample && (argc != 4 || text_parse_u64(argv[1], 0, 1ull << 40, &slices) ||
			text_parse_u64(argv[2], 1, 100000, &threads))) {
		fprintf(stderr,
			"usage: make_turns SLICES THREADS PATH, or make_turns sample PATH\n");
		return 2;
	}
	err = begin(&m, argv[argc - 1], &why);
	if (!err) {
		if (sample)
			make_sample(&m);
		else
			err = make(&m, slices, threads, &why);
		if (film_close(m.w, m.end, &why))
			err = -1;
	}
	if (err)
		fail_print(&why);
	return err ? 1 : 0;
}
