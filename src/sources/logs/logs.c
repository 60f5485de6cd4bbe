// SPDX-License-Identifier: Apache-2.0
/*
 * logs: the lines that threads write to standard output and error, to files called *.log, and to
 * the sockets of the journal and of syslog. bpf/logs/logs.bpf.c hands over what is written;
 * lines.c makes that into lines. They are filmed only where the caller asks for them: what
 * programs log may be secret.
 */
#include "sources/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "base/clock.h"
#include "bpf/logs/abi.h"
#include "sources/logs/lines.h"
#include "sources/loss_counts.h"
#include "sources/sched/objects.h"
#include "film/events.h"
#include "bpf/probes.skel.h"

#define RING_BYTES (4u << 20)
#define RATE_USUAL (1u << 20)
#define RATE_MAX   (1u << 30)

struct logs {
	struct bpf_link *link;
	struct logs_lines *lines;
	struct objects *objects;
	uint64_t number; /* of the last line */
};

static unsigned int needs(const struct source *source)
{
	(void)source;
	return SOURCE_BEFORE_EXEC;
}

static uint32_t ring_bytes(const struct source *source, unsigned int cpus)
{
	(void)source;
	(void)cpus;
	return RING_BYTES;
}

static void prepare(struct source *source)
{
	source->host->probes->rodata->logs_rate = source->settings->values[0];
}

static void write_line(void *context, const struct logs_line *line)
{
	struct source *source = context;
	const struct source_host *host = source->host;
	struct logs *logs = source->state;
	struct film_log parts[FILM_LOG_PARTS];
	size_t count = 0;

	/* the clock only rises, also from one film of this machine to the next */
	logs->number = line->time > logs->number ? line->time : logs->number + 1;
	for (size_t at = 0; at < line->bytes && count < FILM_LOG_PARTS; count++) {
		size_t left = line->bytes - at, bytes = left < FILM_LOG_TEXT ? left : FILM_LOG_TEXT;

		parts[count] = (struct film_log){
			.time = line->time,
			.number = logs->number,
			.size = line->size < UINT32_MAX ? (uint32_t)line->size : UINT32_MAX,
			.part = (uint16_t)count,
			.bytes = (uint8_t)bytes,
			.kind = line->kind,
			.level = line->level,
			.flags = line->flags,
		};
		memcpy(parts[count].text, line->text + at, bytes);
		at += bytes;
	}
	parts[0].thread = samples_thread(host->samples, &line->identity);
	parts[0].stream = line->object ? objects_row(logs->objects, line->object) : 0;
	for (size_t i = 1; i < count; i++) {
		parts[i].thread = parts[0].thread;
		parts[i].stream = parts[0].stream;
	}
	film_log(host->film, source->event, parts, count);
	samples_count_row(host->samples);
}

static int attach(struct source *source, struct fail *why)
{
	struct logs *logs = source->state = calloc(1, sizeof(*logs));
	const struct logs_lines_to to = {write_line, source};
	const struct objects_to objects_to = {source_mark_at, source};

	if (logs) {
		logs->lines = logs_lines_new(&to);
		logs->objects = objects_new(&objects_to);
	}
	return logs && logs->lines && logs->objects
		       ? 0
		       : fail_errno(why, -ENOMEM, NULL, "cannot record logs");
}

static int start(struct source *source, struct fail *why)
{
	struct logs *logs = source->state;

	logs->link = bpf_program__attach(source->host->probes->progs.logs_written);
	return logs->link ? 0
			  : fail_errno(why, -errno, "see 'stackcam doctor'", "cannot record logs");
}

static void handle_written(struct source *source, const void *of)
{
	const struct logs_record *record = of;
	struct logs *logs = source->state;

	if (record->copied > record->head.size - sizeof(*record) ||
	    record->offset > record->length || record->copied > record->length - record->offset ||
	    !record->kind || record->kind >= FILM_LOG_KINDS) {
		source->damaged++;
		return;
	}
	/* lines of processes that are not meant are never in a film */
	if (source_is_meant(source, &record->identity))
		logs_lines_add(logs->lines, record);
}

static void handle_object(struct source *source, const void *of)
{
	const struct capture_record *record = of;
	struct logs *logs = source->state;

	objects_add(logs->objects, (const void *)(record + 1), record->head.size - sizeof(*record));
}

static void report_losses(struct source *source)
{
	const struct logs *logs = source->state;
	struct logs_lines_counts counts = logs_lines_counts(logs->lines);
	const struct loss_count losses[] = {
		{"logs: bytes of lines that are longer than 16 KiB", counts.cut},
		{"logs: bytes that were not read from the memory of their program", counts.unread},
		{"logs: calls that wrote no text: left out", counts.data},
		{"logs: calls without room for what they wrote", counts.refused},
		{"logs: name of a file not known: its record is damaged, or there was no memory",
		 objects_lost(logs->objects)},
	};

	loss_counts_emit_all(source->host->film, source->event, losses);
}

static void tick(struct source *source, uint64_t now)
{
	struct logs *logs = source->state;

	logs_lines_flush(logs->lines, now - SECOND_NS);
	report_losses(source);
}

static void turn(struct source *source)
{
	struct logs *logs = source->state;

	objects_turn(logs->objects);
}

static void detach(struct source *source)
{
	struct logs *logs = source->state;

	if (logs)
		bpf_link__destroy(logs->link);
	if (logs)
		logs->link = NULL;
}

static void finish(struct source *source, uint64_t now)
{
	struct logs *logs = source->state;

	(void)now;
	logs_lines_flush(logs->lines, UINT64_MAX);
	report_losses(source);
}

static void free_state(struct source *source)
{
	struct logs *logs = source->state;

	detach(source);
	if (logs) {
		logs_lines_free(logs->lines);
		objects_free(logs->objects);
	}
	free(logs);
}

static const struct source_record records[] = {
	SOURCE_RECORD(LOGS_WRITTEN, logs_record, handle_written),
	SOURCE_RECORD(LOGS_OBJECT, capture_record, handle_object),
	{0},
};

static const struct source_event events[] = {{EVENT_LOGS, "writes"}, {0}};

static const struct source_option options[] = {
	{
		.name = "logs-rate",
		.argument = "BYTES",
		.help = "of logs: at most this many bytes a second on each CPU (default 1048576; "
			"0: no limit)",
		.least = 0,
		.most = RATE_MAX,
		.usual = RATE_USUAL,
	},
	{0},
};

const struct source_type source_logs = {
	.events = events,
	.needs = needs,
	.options = options,
	.ring_bytes = ring_bytes,
	.prepare = prepare,
	.attach = attach,
	.start = start,
	.records = records,
	.tick = tick,
	.closing = report_losses,
	.turn = turn,
	.detach = detach,
	.finish = finish,
	.free = free_state,
};
