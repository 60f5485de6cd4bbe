// SPDX-License-Identifier: Apache-2.0
#include "query/states.h"

#include <stdlib.h>

#include "base/json.h"
#include "base/text.h"
#include "query/lock_words.h"
#include "show/json_film.h"
#include "show/machine.h"
#include "show/slices.h"
#include "show/words.h"

/* The most objects in a text, and in JSON. */
enum {
	OBJECTS_SHOWN = 20,
	OBJECTS_TOLD = 10000
};

/* The most holders of a lock, in either. */
enum {
	HOLDERS_SHOWN = 3,
	HOLDERS_TOLD = 100
};

static void put_number(FILE *out, uint64_t count)
{
	char words[32];

	words_value(words, sizeof(words), "count", count);
	fprintf(out, " %12s", words);
}

static void put_time(FILE *out, uint64_t ns)
{
	char words[32];

	words_value(words, sizeof(words), "ns", ns);
	fprintf(out, " %12s", words);
}

static void put_quantile(FILE *out, const struct state *state, unsigned int of_thousand)
{
	char words[32];

	text_quantile(words, sizeof(words), state_quantile(state, of_thousand), state->longest);
	fprintf(out, " %12s", words);
}

static void put_rows(const struct film *film, const struct state_list *list, FILE *out)
{
	char words[64], safe[256];

	vec_foreach (&list->states, state) {
		state_words(film, state, words, sizeof(words));
		text_make_safe(safe, sizeof(safe), words);
		fprintf(out, "  %-22s", safe);
		put_number(out, state->times.count);
		put_time(out, state->total);
		fprintf(out, " %6.2f%%", words_percent(state->total, list->life));
		put_quantile(out, state, 500);
		put_quantile(out, state, 990);
		put_time(out, state->longest);
		fputc('\n', out);
	}
}

static void put_life(const struct state_list *list, FILE *out)
{
	char words[32];

	words_value(words, sizeof(words), "ns", list->life);
	fprintf(out, ", %s\n", words);
}

static const char *noun_of(const struct states *states)
{
	return slices_lane(states->film, states->event);
}

/* Whether tasks of that kind share the threads of a process. */
static bool is_unlinked(const struct states *states, const struct state_list *list,
			unsigned int kind)
{
	return !states->are_lanes && states->unlinked.of_process[list->process] >> kind & 1;
}

static void put_unlinked(const struct states *states, const struct state_list *list, FILE *out)
{
	for (unsigned int kind = 0; kind < FILM_TASK_KINDS; kind++) {
		const char *lanes = film_task_kind_event(kind);

		if (!is_unlinked(states, list, kind))
			continue;
		fprintf(out, "  not linked: which of its %s a thread ran is not known",
			film_task_kind_text(kind));
		if (lanes)
			fprintf(out, "; 'record -e threads,%s' records it", lanes);
		fputc('\n', out);
	}
}

static void put_process(const struct states *states, const struct state_list *list, FILE *out)
{
	const struct film *film = states->film;
	const struct film_process *process = &film->processes[list->process];

	fputs("\nprocess ", out);
	text_print_safe(out, process->comm);
	fprintf(out, " (%u), %llu %s%s", process->pid, (unsigned long long)list->threads,
		noun_of(states), list->threads == 1 ? "" : "s");
	put_life(list, out);
	put_unlinked(states, list, out);
	put_rows(film, list, out);
}

static void put_thread(const struct states *states, const struct state_list *list, FILE *out)
{
	const struct film *film = states->film;
	const struct film_thread *thread = &film->threads[list->thread];

	fputs(states->are_lanes ? "\n" : "\nthread ", out);
	text_print_safe(out, thread->comm);
	/* the name of a goroutine is its number, and a task has one of its own */
	if (!states->are_lanes)
		fprintf(out, " (%u)", thread->tid);
	put_life(list, out);
	put_rows(film, list, out);
}

/* ", held by flusher (1851) for 80.12%": of a lock, who held it while others waited for it. */
static void put_holders(const struct states *states, const struct state_object *object, FILE *out)
{
	const struct state_holder *all = states->objects.holders.at;
	unsigned int rows = 0, more = 0;

	for (uint32_t at = object->held; at; at = all[at - 1].next) {
		const struct film_thread *thread = &states->film->threads[all[at - 1].thread];
		const char *sure = lock_sure_words(all[at - 1].sure);

		if (++rows > HOLDERS_SHOWN) {
			more++;
			continue;
		}
		fputs(rows == 1 ? ", held by " : ", ", out);
		text_print_safe(out, thread->comm);
		fprintf(out, " (%u, %s) for %.2f%%", thread->tid, sure,
			words_percent(all[at - 1].total, object->total));
	}
	if (more)
		fprintf(out, " and %u more", more);
}

/* What was waited for the longest, and how many others there are; not waits without an object. */
static void put_objects(const struct states *states, FILE *out)
{
	unsigned int rows = 0;
	char words[4096], state[64];

	vec_foreach (&states->objects.all, object) {
		const struct film_process *process = &states->film->processes[object->process];
		enum object_known known = slice_object(states->film, &object->like,
						       &object->evidence, words, sizeof(words));

		if (known == OBJECT_NONE)
			continue;
		if (!rows)
			fprintf(out, "\n  %-22s %12s %12s %12s  %s\n", "Waits", "Count", "Total",
				"Longest", "For");
		if (++rows > OBJECTS_SHOWN)
			continue;
		state_words_of(states->film, object, state, sizeof(state));
		fprintf(out, "  %-22s", state);
		put_number(out, object->count);
		put_time(out, object->total);
		put_time(out, object->longest);
		fputs("  ", out);
		if (known == OBJECT_UNKNOWN)
			fputs("not known: ", out);
		text_print_safe(out, words);
		fputs(", ", out);
		text_print_safe(out, process->comm);
		fprintf(out, " (%u)", process->pid);
		put_holders(states, object, out);
		fputc('\n', out);
	}
	if (rows > OBJECTS_SHOWN)
		fprintf(out, "  and %u more\n", rows - OBJECTS_SHOWN);
}

static void put_text(const struct states *states, FILE *out)
{
	char words[32];

	words_value(words, sizeof(words), "count", states->slices);
	fprintf(out, "%llu %s%s of %zu process%s, %s slices",
		(unsigned long long)states->all.threads, noun_of(states),
		states->all.threads == 1 ? "" : "s", states->processes.count,
		states->processes.count == 1 ? "" : "es", words);
	put_life(&states->all, out);
	fprintf(out, "  %-22s %12s %12s %7s %12s %12s %12s\n", "State", "Count", "Total", "Share",
		"p50", "p99", "Longest");
	put_rows(states->film, &states->all, out);
	put_objects(states, out);
	vec_foreach (&states->processes, process) {
		put_process(states, process, out);
		/* of a process with one thread, the thread has the same */
		vec_foreach (&states->threads, thread)
			if (process->threads > 1 && thread->process == process->process)
				put_thread(states, thread, out);
	}
}

int show_states(struct film *film, const struct question *q, FILE *out, uint64_t *told,
		struct fail *why)
{
	uint32_t event = q->event ? film_find_event(film, q->event) : slices_event(film);
	struct states states;
	int err = states_make(film, event, &q->filter, &states, why);

	*told = states.slices;
	if (!err && states.slices) {
		put_text(&states, out);
		err = show_machine_part(film, q, out, why);
	}
	states_free(&states);
	return err;
}

static void put_states(struct json *j, const struct film *film, const struct state_list *list)
{
	char words[64];

	json_u64(j, "life", list->life);
	json_open(j, "states", '[');
	vec_foreach (&list->states, state) {
		state_words(film, state, words, sizeof(words));
		json_open(j, NULL, '{');
		json_text(j, "state", words);
		json_bool(j, "wait", slice_is_wait(state->kind));
		json_u64(j, "count", state->times.count);
		json_u64(j, "total", state->total);
		json_u64(j, "p50", state_quantile(state, 500));
		json_u64(j, "p99", state_quantile(state, 990));
		json_u64(j, "longest", state->longest);
		json_u64(j, "parts", state->parts);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_json_thread(struct json *j, const struct film *film, const struct state_list *list)
{
	const struct film_thread *thread = &film->threads[list->thread];

	json_open(j, NULL, '{');
	json_u64(j, "pid", film->processes[list->process].pid);
	json_u64(j, "tid", thread->tid);
	json_text(j, "comm", thread->comm);
	put_states(j, film, list);
	json_close(j, '}');
}

static void put_json_process(struct json *j, const struct states *states,
			     const struct state_list *list)
{
	const struct film *film = states->film;

	json_open(j, NULL, '{');
	json_u64(j, "pid", film->processes[list->process].pid);
	json_text(j, "comm", film->processes[list->process].comm);
	json_u64(j, "threads", list->threads);
	json_put_unlinked(j, states->are_lanes ? 0 : states->unlinked.of_process[list->process]);
	put_states(j, film, list);
	json_close(j, '}');
}

static void put_json_holders(struct json *j, const struct states *states,
			     const struct state_object *object)
{
	const struct state_holder *all = states->objects.holders.at;
	const struct film *film = states->film;
	unsigned int rows = 0;

	json_open(j, "holders", '[');
	for (uint32_t at = object->held; at && rows < HOLDERS_TOLD; at = all[at - 1].next) {
		const struct state_holder *holder = &all[at - 1];
		const struct film_thread *thread = &film->threads[holder->thread];

		rows++;
		json_open(j, NULL, '{');
		json_u64(j, "pid", film->processes[thread->process].pid);
		json_u64(j, "tid", thread->tid);
		json_text(j, "comm", thread->comm);
		json_text(j, "sure", lock_sure_words(holder->sure));
		json_u64(j, "count", holder->count);
		json_u64(j, "total", holder->total);
		json_u64(j, "longest", holder->longest);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_json_objects(struct json *j, const struct states *states)
{
	size_t count = states->objects.all.count;
	char words[4096], state[64];

	json_open(j, "objects", '[');
	for (size_t i = 0; i < count && i < OBJECTS_TOLD; i++) {
		const struct state_object *object = &states->objects.all.at[i];
		enum object_known known = slice_object(states->film, &object->like,
						       &object->evidence, words, sizeof(words));

		json_open(j, NULL, '{');
		json_u64(j, "pid", states->film->processes[object->process].pid);
		state_words_of(states->film, object, state, sizeof(state));
		json_text(j, "state", state);
		json_text(j, "object", known == OBJECT_KNOWN ? words : "");
		json_text(j, "unknown", known == OBJECT_UNKNOWN ? words : "");
		json_u64(j, "count", object->count);
		json_u64(j, "total", object->total);
		json_u64(j, "longest", object->longest);
		put_json_holders(j, states, object);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_u64(j, "objects_left",
		 states->objects.left + (count > OBJECTS_TOLD ? count - OBJECTS_TOLD : 0));
}

static int put_json(const struct states *states, const struct question *q, FILE *out,
		    struct fail *why)
{
	struct json j = {.out = out};
	int err;

	json_open(&j, NULL, '{');
	json_put_film(&j, states->film, states->from, states->to);
	json_put_reasons(&j, "loss", &states->losses);
	json_u64(&j, "slices", states->slices);
	json_open(&j, "all", '{');
	put_states(&j, states->film, &states->all);
	json_close(&j, '}');
	put_json_objects(&j, states);
	json_open(&j, "processes", '[');
	vec_foreach (&states->processes, list)
		put_json_process(&j, states, list);
	json_close(&j, ']');
	json_open(&j, "threads", '[');
	vec_foreach (&states->threads, list)
		put_json_thread(&j, states->film, list);
	json_close(&j, ']');
	err = json_put_machine_of(&j, states->film, q, why);
	json_close(&j, '}');
	fputc('\n', out);
	return err;
}

int show_states_json(struct film *film, const struct question *q, FILE *out, uint64_t *told,
		     struct fail *why)
{
	uint32_t event = q->event ? film_find_event(film, q->event) : slices_event(film);
	struct states states;
	int err = states_make(film, event, &q->filter, &states, why);

	*told = states.slices;
	if (!err)
		err = put_json(&states, q, out, why);
	states_free(&states);
	return err;
}
