// SPDX-License-Identifier: Apache-2.0
#include "sources/source.h"

#include "attach/filter.h"

static bool has_event(const struct source *source, unsigned int event)
{
	return source->type->has_event ? source->type->has_event(source, event)
				       : source_wants(source, event);
}

void source_add_events(struct source *source)
{
	const struct source_event *events = source->type->events;

	source->event = 0;
	for (unsigned int i = 0; events && events[i].how && i < SOURCE_EVENTS_MAX; i++) {
		struct film_event event = event_from(events[i].id, events[i].how);

		if (source->type->describe)
			source->type->describe(source, &event);
		source->events[i] =
			has_event(source, i) ? film_add_event(source->host->film, &event) : 0;
		if (!source->event)
			source->event = source->events[i];
	}
}

void source_handle(struct source *source, const struct capture_head *head,
		   const struct capture_handover *handover)
{
	const struct source_record *record = source->type->records;
	const uint64_t until = source->host && source->host->until ? *source->host->until : 0;

	while (record && record->kind && record->kind != head->kind)
		record++;
	/* it is of after the recording's end */
	if (until && head->time > until && !(record && record->is_of_past))
		return;
	source->last = until && head->time > until ? until : head->time;
	if (!record || !record->kind || head->size < record->least)
		source->damaged++;
	else if (record->with_stack)
		record->with_stack(source, (const struct capture_record *)head, handover);
	else
		record->handle(source, head);
}

void source_ignore(struct source *source, const void *record)
{
	(void)source;
	(void)record;
}

void source_follow_selected(struct source *source)
{
	const struct selection *selection = source->host->selection;

	for (size_t i = 0; i < selection->pid_count; i++)
		samples_follow(source->host->samples, selection->pids[i]);
}

bool source_is_meant(struct source *source, const struct capture_identity *identity)
{
	bool gone;

	if (!identity->undecided)
		return true;
	if (filter_decide(source->host->probes, source->host->selection, (pid_t)identity->pid,
			  identity->comm, &gone))
		return true;
	source->undecidable += gone;
	return false;
}

uint32_t source_first_thread(void *context, uint32_t pid)
{
	const struct source *source = context;
	const struct process *process = samples_process(source->host->samples, (pid_t)pid);

	return process ? samples_other_thread(source->host->samples, (pid_t)pid, (pid_t)pid,
					      process->start, process->comm)
		       : 0;
}
