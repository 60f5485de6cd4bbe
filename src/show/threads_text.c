// SPDX-License-Identifier: Apache-2.0
#include "show/threads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "show/words.h"

/* Threads that are named one by one where several have the same stack. */
#define NAMED_MAX 8

/* What is known of a time to within some ms is not shown more precisely. */
#define PRECISE_NS 10000000ull

static void put_duration(FILE *out, uint64_t ns)
{
	uint64_t seconds = ns / 1000000000u;
	char words[32];

	if (ns < PRECISE_NS) {
		fputs("less than 10 ms", out);
	} else if (seconds < 1) {
		fprintf(out, "%u ms", (unsigned int)(ns / PRECISE_NS * 10));
	} else if (seconds < 60) {
		fprintf(out, "%u.%02u s", (unsigned int)seconds,
			(unsigned int)(ns % 1000000000u / PRECISE_NS));
	} else if (seconds < 86400) {
		fprintf(out, "%u:%02u:%02u h", (unsigned int)(seconds / 3600),
			(unsigned int)(seconds / 60 % 60), (unsigned int)(seconds % 60));
	} else {
		text_count(words, sizeof(words), seconds / 86400);
		fprintf(out, "%s day%s", words, text_plural(seconds / 86400));
	}
}

/* How long the threads [from, to) have waited: the shortest and the longest time. */
static void put_times(FILE *out, const struct thread_state *threads, size_t count)
{
	uint64_t shortest = UINT64_MAX, longest = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t since = threads[i].since;

		shortest = since < shortest ? since : shortest;
		longest = since > longest ? since : longest;
	}
	if (!longest)
		return;
	fputs(", for ", out);
	/* of one of them it is not known */
	if (!shortest)
		fputs("up to ", out);
	else if (longest - shortest >= PRECISE_NS) {
		put_duration(out, shortest);
		fputs(" to ", out);
	}
	put_duration(out, longest);
}

static void put_thread(FILE *out, const struct film *film, uint32_t id)
{
	const struct film_thread *thread = &film->threads[id];

	text_print_safe(out, *thread->comm ? thread->comm : "?");
	fprintf(out, " (%u)", thread->tid);
}

/* How many of them wait for the same as the first of them. */
static size_t count_same(const struct thread_state *threads, size_t count)
{
	size_t same = 0;

	for (size_t i = 0; i < count; i++) {
		const char *object = threads[i].wait.object;

		same += object && !strcmp(object, threads->wait.object);
	}
	return same;
}

/* ", for mutex guard in app, held by flusher (412)" */
static void put_wait(FILE *out, const struct film *film, const struct thread_state *threads,
		     size_t count)
{
	const struct thread_wait *wait = &threads->wait;
	const struct film_process *peer = &film->processes[wait->peer];

	if (!wait->object)
		return;
	fputs(", for ", out);
	text_print_safe(out, wait->object);
	if (count_same(threads, count) < count)
		fputs(" and others like it", out);
	if (wait->holder) {
		fputs(", held by ", out);
		put_thread(out, film, wait->holder);
	}
	if (wait->is_dead)
		fputs(": a deadlock, as that one waits for this thread", out);
	if (wait->peer) {
		fputs(", with ", out);
		text_print_safe(out, *peer->comm ? peer->comm : "?");
		fprintf(out, " (%u) at its other end", peer->pid);
	}
}

/* What those that are alike do. */
static void put_state(FILE *out, const struct film *film, const struct thread_state *threads,
		      size_t count)
{
	static const char *const words[] = {
		[FILM_WAIT_RUNS] = "running",	 [FILM_WAIT_READY] = "ready, waits for a CPU",
		[FILM_WAIT_STOPPED] = "stopped", [FILM_WAIT_TRACED] = "stopped by a debugger",
		[FILM_WAIT_FROZEN] = "frozen",
	};
	const struct thread_state *first = threads;

	bool is_stopped = first->state != FILM_WAIT_FROZEN || first->class == WAIT_STOPPED;

	if (is_stopped && first->state < sizeof(words) / sizeof(words[0]) && words[first->state]) {
		fputs(words[first->state], out);
	} else {
		fprintf(out, "%swaits: %s", first->state == FILM_WAIT_BLOCKED ? "blocked, " : "",
			wait_class_name(first->class));
		if (*first->call)
			fprintf(out, " (%s)", first->call);
		else if (first->number)
			fprintf(out, " (system call %u)", first->number - 1u);
	}
	put_times(out, threads, count);
	put_wait(out, film, threads, count);
}

static void put_names(FILE *out, const struct thread_dump *dump, const struct thread_state *threads,
		      size_t count)
{
	char words[32];

	if (count > 1) {
		text_count(words, sizeof(words), count);
		fprintf(out, "%s threads: ", words);
	}
	for (size_t i = 0; i < count && i < NAMED_MAX; i++) {
		if (i)
			fputs(", ", out);
		put_thread(out, dump->film, threads[i].thread);
	}
	if (count > NAMED_MAX) {
		text_count(words, sizeof(words), count - NAMED_MAX);
		fprintf(out, " and %s more", words);
	}
}

static int put_frame(FILE *out, struct thread_dump *dump, const struct film_stack *stack)
{
	uint32_t count = 0, i;
	const struct label_use *uses = frame_labels_of(&dump->frames, stack->frame, &count);

	if (!uses)
		return -ENOMEM;
	for (i = count; i-- > 0;) {
		const struct label *label = &dump->labels.all.at[uses[i].label];
		const char *image = name_of_image(label->image);
		char *name = words_function(label->name, label->file, label->line,
					    stack->how == FILM_HOW_FRAME_POINTER ? " ?" : "", 0);

		if (!name)
			return -ENOMEM;
		fprintf(out, "      %s%s", name, uses[i].inlined ? " (inlined)" : "");
		free(name);
		if (*image) {
			fprintf(out, "  %s", *image == '[' ? "" : "[");
			text_print_safe(out, image);
			fputs(*image == '[' ? "" : "]", out);
		}
		fputc('\n', out);
	}
	return 0;
}

/* Innermost first. */
static int put_stack(FILE *out, struct thread_dump *dump, const struct thread_state *state)
{
	int err = 0;

	if (!state->stack)
		fputs(state->state == FILM_WAIT_RUNS ? "      [no stack: no sample of its CPU came "
						       "while it was looked at]\n"
						     : "      [no stack]\n",
		      out);
	for (uint32_t at = state->stack; !err && at; at = dump->paths[at].parent)
		err = put_frame(out, dump, &dump->paths[at]);
	return err;
}

static void put_process(FILE *out, const struct thread_dump *dump, size_t first)
{
	const struct film_process *process = &dump->film->processes[dump->threads[first].process];
	size_t count = 0;
	char words[32];

	while (first + count < dump->count &&
	       dump->threads[first + count].process == dump->threads[first].process)
		count++;
	text_count(words, sizeof(words), count);
	fprintf(out, "%s%u ", first ? "\n" : "", process->pid);
	text_print_safe(out, *process->comm ? process->comm : "?");
	fprintf(out, ": %s thread%s\n", words, text_plural(count));
}

int show_threads_text(struct thread_dump *dump, bool each, FILE *out)
{
	size_t i = 0, count;
	int err = 0;

	for (; !err && i < dump->count; i += count) {
		const struct thread_state *first = &dump->threads[i];

		if (!i || first->process != first[-1].process)
			put_process(out, dump, i);
		for (count = 1; !each && i + count < dump->count; count++)
			if (first[count].group != first->group)
				break;
		fputs("\n  ", out);
		put_names(out, dump, first, count);
		fputs("\n    ", out);
		put_state(out, dump->film, first, count);
		fputc('\n', out);
		err = put_stack(out, dump, first);
	}
	return err;
}
