// SPDX-License-Identifier: Apache-2.0
/* Processes that died of a signal: in sentences, and as JSON. */
#include "show/last_scene.h"

#include <string.h>

#include "base/text.h"
#include "show/explain.h"
#include "show/words.h"

enum {
	FRAMES_SHOWN = 5,   /* of each thread, … */
	FRAMES_MAX = 128,   /* … and in JSON */
	THREADS_SHOWN = 20, /* of a process */
	STATES_SHOWN = 3,   /* of a thread */
};

/* The stack of a thread without the mark of its death, as the explainer folds it. */
static uint32_t stack_of(const struct explainer *e, const struct scene_thread *thread)
{
	uint32_t stack = thread->stack ? e->film->stacks[thread->stack].parent : 0;

	return stack && e->stacks.fold.into ? e->stacks.fold.into[stack] : stack;
}

static void put_safe(FILE *out, const char *text)
{
	text_print_safe(out, text);
}

/* "lookup_order < work < run_worker", innermost first. */
static void put_stack(const struct explainer *e, const struct scene_thread *thread, FILE *out)
{
	uint32_t stack = stack_of(e, thread);
	char name[256];

	if (!stack)
		put_safe(out, "its stack is not known");
	for (unsigned int i = 0; stack && i < FRAMES_SHOWN; i++) {
		fputs(i ? " < " : "in ", out);
		put_safe(out, explain_stack_name(&e->stacks, stack, name, sizeof(name)));
		stack = e->stacks.paths[stack].parent;
	}
	if (stack)
		fputs(" < …", out);
}

/* The longest that was not put yet; SLICE_KINDS: there is none. */
static unsigned int longest(const struct scene_thread *thread, const bool put[SLICE_KINDS])
{
	unsigned int best = SLICE_KINDS;

	for (unsigned int kind = 0; kind < SLICE_KINDS; kind++)
		if (!put[kind] && thread->ns[kind] &&
		    (best == SLICE_KINDS || thread->ns[kind] > thread->ns[best]))
			best = kind;
	return best;
}

/* "sleep 960.000 ms, on-cpu 30.100 ms": what it did in the second before. */
static void put_second(const struct scene_thread *thread, FILE *out)
{
	bool put[SLICE_KINDS] = {false};
	char words[32];

	for (unsigned int i = 0; i < STATES_SHOWN; i++) {
		unsigned int kind = longest(thread, put);

		if (kind == SLICE_KINDS) {
			if (!i)
				fputs("nothing is known", out);
			return;
		}
		put[kind] = true;
		words_value(words, sizeof(words), "ns", thread->ns[kind]);
		fprintf(out, "%s%s %s", i ? ", " : "", slice_kind_name(kind), words);
	}
}

static void put_thread(const struct explainer *e, const struct scene_thread *thread, FILE *out)
{
	const struct film_thread *of = &e->film->threads[thread->thread];
	char name[64];

	text_make_safe(name, sizeof(name), of->comm);
	fprintf(out, "    %-15s %7u  ", name, of->tid);
	put_second(thread, out);
	fputs(";\n                             ", out);
	put_stack(e, thread, out);
	fputc('\n', out);
}

static void put_scene(const struct explainer *e, const struct scene *scene, FILE *out)
{
	const struct scene_thread *first = &scene->threads.at[0];
	const struct film_process *process = &e->film->processes[scene->process];
	char words[128], wall[64];
	struct buf thread = {0};

	last_scene_words(e->film, first, words, sizeof(words));
	film_rfc3339(&e->film->info, scene->time, wall, sizeof(wall));
	put_safe(out, process->comm);
	fprintf(out, " (%u) died of ", process->pid);
	put_safe(out, words);
	if (first->is_own) {
		explain_thread_words(e, first->thread, first->thread, &thread);
		buf_put_u8(&thread, 0);
		fputs(" in thread ", out);
		put_safe(out, thread.failed ? "" : (const char *)thread.at);
		buf_free(&thread);
	}
	fprintf(out, ", at %s:\n    ", wall);
	put_stack(e, first, out);
	fputs("\n  What its threads did in the second before, and where they were at the end:\n",
	      out);
	for (size_t i = 0; i < scene->threads.count && i < THREADS_SHOWN; i++)
		put_thread(e, &scene->threads.at[i], out);
	if (scene->threads.count > THREADS_SHOWN)
		fprintf(out, "    and %zu threads more\n", scene->threads.count - THREADS_SHOWN);
	fputc('\n', out);
}

void show_last_scenes(struct explainer *e, const struct last_scenes *scenes, FILE *out)
{
	vec_foreach (&scenes->all, scene)
		put_scene(e, scene, out);
}

static void put_thread_json(struct json *j, const struct explainer *e,
			    const struct scene_thread *thread)
{
	const struct film_thread *of = &e->film->threads[thread->thread];
	uint32_t stack = stack_of(e, thread);
	char name[256];

	json_open(j, NULL, '{');
	json_u64(j, "tid", of->tid);
	json_text(j, "comm", of->comm);
	json_bool(j, "own", thread->is_own);
	json_open(j, "states", '{');
	for (unsigned int kind = 0; kind < SLICE_KINDS; kind++)
		if (thread->ns[kind])
			json_u64(j, slice_kind_name(kind), thread->ns[kind]);
	json_close(j, '}');
	json_open(j, "stack", '[');
	for (unsigned int i = 0; stack && i < FRAMES_MAX; i++) {
		json_text(j, NULL, explain_stack_name(&e->stacks, stack, name, sizeof(name)));
		stack = e->stacks.paths[stack].parent;
	}
	json_close(j, ']');
	json_close(j, '}');
}

void put_last_scenes(struct json *j, struct explainer *e, const struct last_scenes *scenes)
{
	char words[128], wall[64];

	json_open(j, "deaths", '[');
	vec_foreach (&scenes->all, scene) {
		const struct film_process *process = &e->film->processes[scene->process];

		last_scene_words(e->film, &scene->threads.at[0], words, sizeof(words));
		film_rfc3339(&e->film->info, scene->time, wall, sizeof(wall));
		json_open(j, NULL, '{');
		json_u64(j, "pid", process->pid);
		json_text(j, "process", process->comm);
		json_text(j, "time", wall);
		json_text(j, "signal", words);
		json_open(j, "threads", '[');
		vec_foreach (&scene->threads, thread)
			put_thread_json(j, e, thread);
		json_close(j, ']');
		json_close(j, '}');
	}
	json_close(j, ']');
}
