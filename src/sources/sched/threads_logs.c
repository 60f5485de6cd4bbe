// SPDX-License-Identifier: Apache-2.0
#include "sources/sched/threads_logs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/probes.skel.h"

/*
 * All logs together, and the least and the most words of one: 200,000 switches a second on a CPU
 * take 12 MB a second, and logs are read four times in it.
 */
#define LOGS_BYTES  (64u << 20)
#define WORDS_LEAST (8u << 10)
#define WORDS_MOST  (1u << 20)

struct reader {
	struct threads_log *log;
	const uint64_t *words;
	uint64_t seen; /* up to where there are records, when last looked at */
	uint64_t at;   /* up to where they are taken */
	uint64_t time; /* of the first one; UINT64_MAX: there is none */
};

struct threads_logs {
	void *area;
	size_t size;
	uint64_t mask;
	uint64_t damaged;
	unsigned int count, at; /* at: the one that is read */
	uint64_t others;	/* the earliest time in the others, when last looked at: */
	uint64_t until;		/* for what is up to there */
	struct reader readers[];
};

void threads_logs_prepare(struct probes *probes, unsigned int cpus, uint32_t most)
{
	uint32_t words = WORDS_MOST;

	while (words > WORDS_LEAST && (uint64_t)words * sizeof(uint64_t) * cpus > LOGS_BYTES)
		words /= 2;
	while (words > WORDS_LEAST && most && words * sizeof(uint64_t) > most)
		words /= 2;
	probes->rodata->threads_log_mask = words - 1;
	bpf_map__set_max_entries(probes->maps.sched_logs, cpus);
	bpf_map__set_value_size(probes->maps.sched_logs,
				(uint32_t)(sizeof(struct threads_log) + words * sizeof(uint64_t)));
}

int threads_logs_in(void *area, size_t size, unsigned int count, struct threads_logs **result)
{
	struct threads_logs *logs = calloc(1, sizeof(*logs) + count * sizeof(logs->readers[0]));
	uint64_t words = 1;
	size_t each = size / count;

	*result = logs;
	if (!logs)
		return -ENOMEM;
	while (words * 2 <= (each - sizeof(struct threads_log)) / sizeof(uint64_t))
		words *= 2;
	logs->area = area;
	logs->size = size;
	logs->mask = words - 1;
	logs->count = count;
	for (unsigned int i = 0; i < count; i++) {
		struct reader *reader = &logs->readers[i];

		reader->log = (struct threads_log *)((uint8_t *)area + i * each);
		reader->words = (const uint64_t *)(reader->log + 1);
		reader->time = UINT64_MAX;
	}
	return 0;
}

int threads_logs_new(struct probes *probes, struct threads_logs **result, struct fail *why)
{
	const struct bpf_map *map = probes->maps.sched_logs;
	size_t size = (size_t)bpf_map__value_size(map) * bpf_map__max_entries(map);
	void *area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
	int err;

	*result = NULL;
	if (area == MAP_FAILED)
		return fail_errno(why, -errno, NULL, "cannot read the logs of switches");
	err = threads_logs_in(area, size, bpf_map__max_entries(map), result);
	if (!err)
		return 0;
	munmap(area, size);
	return fail_errno(why, err, NULL, "cannot record switches");
}

void threads_logs_free(struct threads_logs *logs)
{
	if (logs)
		munmap(logs->area, logs->size);
	free(logs);
}

/*
 * Releases the room of what was read. Not with each record: the CPU that writes the log reads
 * that word each time, and would have to fetch it from here.
 */
static void release(struct reader *reader)
{
	__atomic_store_n(&reader->log->tail, reader->at, __ATOMIC_RELEASE);
}

/* Looks at the first record of a log. */
static void look(const struct threads_logs *logs, struct reader *reader)
{
	if (reader->at == reader->seen) {
		release(reader);
		reader->seen = __atomic_load_n(&reader->log->head, __ATOMIC_ACQUIRE);
	} else if (reader->at - reader->log->tail >= WORDS_LEAST / 8) {
		release(reader);
	}
	reader->time = reader->at == reader->seen
			       ? UINT64_MAX
			       : reader->words[reader->at & logs->mask] & ~THREADS_IS_WAKING;
}

/* The log with the earliest record, and the earliest time of the others. */
static void choose(struct threads_logs *logs)
{
	logs->others = UINT64_MAX;
	for (unsigned int i = 0; i < logs->count; i++) {
		look(logs, &logs->readers[i]);
		if (i && logs->readers[i].time < logs->readers[logs->at].time) {
			logs->others = logs->readers[logs->at].time;
			logs->at = i;
		} else if (i && logs->readers[i].time < logs->others) {
			logs->others = logs->readers[i].time;
		} else if (!i) {
			logs->at = 0;
		}
	}
}

static uint64_t word(const struct threads_logs *logs, const struct reader *reader, uint64_t at)
{
	return reader->words[(reader->at + at) & logs->mask];
}

/* How many words it takes. */
static uint64_t read_switch(const struct threads_logs *logs, const struct reader *reader,
			    struct threads_event *event)
{
	uint64_t words[THREADS_SWITCH_WORDS], used = THREADS_SWITCH_WORDS;
	uint64_t first = reader->at & logs->mask;

	if (first + THREADS_SWITCH_WORDS <= logs->mask + 1) {
		memcpy(&event->record, reader->words + first, sizeof(event->record));
	} else {
		for (uint64_t i = 0; i < THREADS_SWITCH_WORDS; i++)
			words[i] = word(logs, reader, i);
		memcpy(&event->record, words, sizeof(event->record));
	}
	event->ready = event->record.ready;
	if (event->record.flags & THREADS_ARGUMENTS)
		for (int i = 0; i < THREADS_CALL_ARGUMENTS; i++)
			event->arguments[i] = word(logs, reader, used++);
	if (event->record.flags & THREADS_NEW_OBJECT)
		event->object = (uint32_t)word(logs, reader, used++);
	if (event->record.flags & THREADS_LONG_READY)
		event->ready = word(logs, reader, used++);
	return used;
}

static uint64_t read_waking(const struct threads_logs *logs, const struct reader *reader,
			    struct threads_event *event)
{
	uint64_t second = word(logs, reader, 1);

	event->record = (struct threads_switch){.next = (uint32_t)second};
	event->object = (uint32_t)(second >> 32);
	return sizeof(struct threads_waking) / sizeof(uint64_t);
}

bool threads_logs_next(struct threads_logs *logs, uint64_t until, struct threads_event *event)
{
	struct reader *reader = &logs->readers[logs->at];
	uint64_t used;

	/* a log without a record then may have one by now that is earlier than all others */
	if (until != logs->until || reader->time == UINT64_MAX || reader->time > logs->others ||
	    reader->time > until) {
		choose(logs);
		logs->until = until;
		reader = &logs->readers[logs->at];
		if (reader->time > until)
			return false;
	}
	event->time = reader->time;
	event->cpu = (uint16_t)logs->at;
	event->is_waking = word(logs, reader, 0) & THREADS_IS_WAKING;
	used = event->is_waking ? read_waking(logs, reader, event)
				: read_switch(logs, reader, event);
	if (used > reader->seen - reader->at) {
		/* nothing but a fault of ours: what is there of this log cannot be read on */
		logs->damaged++;
		used = reader->seen - reader->at;
	}
	reader->at += used;
	look(logs, reader);
	return true;
}

uint64_t threads_logs_lost(const struct threads_logs *logs)
{
	uint64_t lost = logs->damaged;

	for (unsigned int i = 0; i < logs->count; i++)
		lost += __atomic_load_n(&logs->readers[i].log->lost, __ATOMIC_RELAXED);
	return lost;
}
