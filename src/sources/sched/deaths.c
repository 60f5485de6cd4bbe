// SPDX-License-Identifier: Apache-2.0
/*
 * deaths: the last scene of a process that dies of a signal. Each of its threads has a sample, of
 * its last stack, with the signal as the last frame of the thread that was delivered it.
 */
#include "sources/source.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "base/text.h"
#include "bpf/sched/deaths_abi.h"
#include "sources/sched/oom_words.h"
#include "film/events.h"
#include "bpf/probes.skel.h"

/* Threads of one process that die at once: its ring has room for this many. */
#define AT_ONCE 1000

struct deaths {
	struct bpf_link *link, *senders; /* senders: null: they are not known */
	pid_t last;			 /* the process whose end was reported last */
};

static unsigned int needs(const struct source *source)
{
	(void)source;
	/* there is no second chance: the tables of a process must be there before */
	return SOURCE_STACKS | SOURCE_RUNTIMES | SOURCE_BEFORE_EXEC | SOURCE_RESTING;
}

static unsigned int rate(const struct source *source)
{
	(void)source;
	return AT_ONCE;
}

static int attach(struct source *source, struct fail *why)
{
	source->state = calloc(1, sizeof(struct deaths));
	return source->state ? 0 : fail_errno(why, -ENOMEM, NULL, "cannot record deaths");
}

static int start(struct source *source, struct fail *why)
{
	struct deaths *deaths = source->state;

	deaths->senders = bpf_program__attach(source->host->probes->progs.deaths_generated);
	deaths->link = bpf_program__attach(source->host->probes->progs.deaths_signal);
	return deaths->link
		       ? 0
		       : fail_errno(why, -errno, "see 'stackcam doctor'", "cannot record deaths");
}

/* What the process had that was killed for memory; false: it was not, or the record is damaged. */
static bool oom_of(const struct capture_record *record, struct happening_oom *to)
{
	size_t frames = (size_t)record->user_frames + record->kernel_frames;
	const uint64_t *words = (const uint64_t *)(record + 1);
	struct deaths_oom oom;

	if (!(record->identity.key & DEATHS_OOM) ||
	    record->head.size != sizeof(*record) + frames * sizeof(*words) + sizeof(oom))
		return false;
	memcpy(&oom, words + frames, sizeof(oom));
	*to = (struct happening_oom){
		.anonymous = oom.anonymous,
		.files = oom.files,
		.shared = oom.shared,
		.swapped = oom.swapped,
		.limit = oom.limit,
		.used = oom.used,
	};
	memcpy(to->group, oom.group, sizeof(to->group) - 1);
	return true;
}

/* " (timeout)"; nothing where the sender's name is not known, or it is the process itself. */
static void put_sender(const struct capture_record *record, char *to, size_t size)
{
	size_t frames = (size_t)record->user_frames + record->kernel_frames;
	const uint64_t *words = (const uint64_t *)(record + 1);
	char name[DEATHS_NAME + 1] = "";

	*to = 0;
	if (!(record->identity.key & DEATHS_SENDER_NAMED) ||
	    record->identity.value == record->identity.pid ||
	    record->head.size != sizeof(*record) + frames * sizeof(*words) + DEATHS_NAME)
		return;
	memcpy(name, words + frames, DEATHS_NAME);
	snprintf(to, size, " (%s)", name);
}

static void put_oom(const struct happening_oom *oom, const char *signal, char *to, size_t size)
{
	char words[256];

	oom_words(oom, words, sizeof(words));
	snprintf(to, size, "[its process dies: %s, %s]", signal, words);
}

/* The words that stand on the stack as its last frame. */
static void put_words(const struct capture_record *record, char *to, size_t size)
{
	const struct capture_identity *identity = &record->identity;
	int number = (int)(identity->key & DEATHS_SIGNAL);
	struct happening_oom oom;
	char name[32], sender[DEATHS_NAME + 8], by[64] = "";

	text_signal(number, name, sizeof(name));
	put_sender(record, sender, sizeof(sender));
	/* that the process sent it to itself, its other threads need not say */
	if (identity->key & DEATHS_HAS_SENDER &&
	    (identity->key & DEATHS_OWN || identity->value != identity->pid))
		snprintf(by, sizeof(by), ", sent by process %" PRIu64 "%s",
			 (uint64_t)identity->value, sender);
	if (oom_of(record, &oom))
		put_oom(&oom, name, to, size);
	else if (!(identity->key & DEATHS_OWN))
		snprintf(to, size, "[its process dies: %s%s]", name, by);
	else if (identity->key & DEATHS_HAS_ADDRESS)
		snprintf(to, size, "[%s at 0x%" PRIx64 "]", name, (uint64_t)identity->value);
	else
		snprintf(to, size, "[%s%s]", name, by);
}

/*
 * Notifies of a process once: with the thread that its first record is of, of SIGPIPE with the one
 * that wrote.
 */
static void notify_listener(struct source *source, const struct capture_record *record)
{
	const struct capture_identity *identity = &record->identity;
	const struct happening_listener *listener = &source->host->listener;
	const struct process *process =
		samples_process(source->host->samples, (pid_t)identity->pid);
	struct deaths *deaths = source->state;
	struct happening_oom oom;
	struct happening happening = {
		.kind = HAPPENING_DEATH,
		.oom = oom_of(record, &oom) ? &oom : NULL,
		.time = record->head.time,
		.pid = (pid_t)identity->pid,
		.tid = (pid_t)identity->tid,
		.signal = (int)(identity->key & DEATHS_SIGNAL),
		.is_own = identity->key & DEATHS_OWN,
		.of_pipe = identity->key & DEATHS_PIPE,
		.has_address = identity->key & DEATHS_HAS_ADDRESS,
		.address = identity->value,
		.sender = identity->key & DEATHS_HAS_SENDER ? (pid_t)identity->value : 0,
	};

	if (!listener->happened || deaths->last == happening.pid ||
	    (happening.signal == SIGPIPE && !happening.is_own))
		return;
	deaths->last = happening.pid;
	memcpy(happening.thread, identity->comm, sizeof(happening.thread));
	happening.thread[sizeof(happening.thread) - 1] = 0;
	snprintf(happening.process, sizeof(happening.process), "%s",
		 process ? process->comm : happening.thread);
	listener->happened(listener->context, &happening);
}

static void handle_death(struct source *source, const struct capture_record *record,
			 const struct capture_handover *handover)
{
	const struct capture_identity *identity = &record->identity;
	struct samples_place place;
	char words[320];

	if (!source_is_meant(source, identity))
		return;
	place = samples_resolve(source->host->samples, record, handover);
	put_words(record, words, sizeof(words));
	place.stack = samples_words(source->host->samples, place.stack, words);
	samples_add(source->host->samples, source->event, record->head.time, &place, 1);
	notify_listener(source, record);
}

static void detach(struct source *source)
{
	struct deaths *deaths = source->state;

	if (!deaths)
		return;
	bpf_link__destroy(deaths->link);
	bpf_link__destroy(deaths->senders);
	deaths->link = deaths->senders = NULL;
}

static void free_state(struct source *source)
{
	detach(source);
	free(source->state);
}

static const struct source_record records[] = {
	SOURCE_RECORD_WITH_STACK(DEATHS_THREAD, handle_death),
	{0},
};

static const struct source_event events[] = {{EVENT_DEATHS, "signals"}, {0}};

const struct source_type source_deaths = {
	.events = events,
	.needs = needs,
	.rate = rate,
	.attach = attach,
	.start = start,
	.records = records,
	.detach = detach,
	.free = free_state,
};
