// SPDX-License-Identifier: Apache-2.0
/*
 * Lives of some processes, in any order of events: each takes eight bytes. What is known must hold
 * together after each of them, and nothing may be left at the end.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "process/targets.h"

/* Numbers that no process can have: nothing is read from /proc. */
#define FIRST_PID 5000000
#define PIDS	  8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct heard {
	int images, processes;
};

static void check(int holds)
{
	if (!holds)
		abort();
}

static void image_new(void *context, struct image *image)
{
	((struct heard *)context)->images += image != NULL;
}

static void image_gone(void *context, struct image *image)
{
	check(!image->users);
	((struct heard *)context)->images--;
}

static void process_new(void *context, struct process *process, const struct process *parent)
{
	check(process != parent);
	((struct heard *)context)->processes++;
}

static void process_gone(void *context, struct process *process)
{
	check(process->pid >= FIRST_PID);
	((struct heard *)context)->processes--;
}

static void mappings_replaced(void *context, struct process *process, uint64_t time, uint64_t start,
			      uint64_t end)
{
	(void)context;
	(void)process;
	(void)time;
	check(start < end);
}

static void check_process(const struct process *p)
{
	for (size_t i = 0; i < p->mapping_count; i++) {
		const struct mapping *m = &p->mappings[i];

		check(m->start < m->end && m->image && m->image->users);
		check(i == 0 || p->mappings[i - 1].end <= m->start);
		check(process_mapping(p, m->start) == m && process_mapping(p, m->end - 1) == m);
	}
}

static struct target_event event_of(const uint8_t *b, uint64_t time)
{
	static const char *const paths[] = {"/no/a", "/no/b", "//anon", "[heap]", "[vsyscall]"};
	struct target_event e = {
		.kind = (enum target_event_kind)(b[0] % 5 + 1),
		.time = time,
		.pid = FIRST_PID + b[1] % PIDS,
		.tid = FIRST_PID + (b[2] & 1 ? b[1] : b[2] >> 1) % PIDS,
		.parent_pid = FIRST_PID + b[3] % PIDS,
		.parent_tid = FIRST_PID + b[4] % PIDS,
		.start = b[5] * 0x1000ull,
		.length = (b[6] % 16) * 0x1000ull,
		.offset = (b[6] >> 4) * 0x1000ull,
		.path = paths[b[7] % 5],
	};

	e.inode = b[7] % 5 < 2 ? 1 + b[7] % 5u : 0;
	e.comm[0] = (char)('a' + b[7] % 26);
	if (e.kind == TARGET_FORK && !(b[2] & 1))
		e.parent_pid = e.pid;
	return e;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct heard heard = {0};
	struct targets_listener listener = {
		.context = &heard,
		.image_new = image_new,
		.image_gone = image_gone,
		.process_new = process_new,
		.process_gone = process_gone,
		.mappings_replaced = mappings_replaced,
	};
	struct targets *targets;
	uint64_t time = 1;

	if (targets_new(&listener, &targets))
		return 0;
	for (; size >= 8; data += 8, size -= 8) {
		struct target_event event = event_of(data, time);
		struct process *p;

		/* some come late */
		time += data[0] >> 4 ? data[0] >> 4 : (uint64_t)-1;
		if (data[0] == 255)
			targets_forget_before(targets, time);
		if (data[0] == 254)
			targets_distrust_all(targets);
		if (data[0] == 253)
			targets_find(targets, event.pid);
		if (data[0] == 252)
			targets_ignore_strangers(targets, data[1] & 1);
		targets_handle(targets, &event);
		p = targets_known(targets, event.pid);
		if (p)
			check_process(p);
		check((uint64_t)heard.processes == targets_counts(targets).processes);
		check((uint32_t)heard.images == targets_counts(targets).images);
	}
	targets_free(targets);
	check(!heard.images && !heard.processes);
	return 0;
}
