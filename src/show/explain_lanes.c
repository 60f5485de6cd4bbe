// SPDX-License-Identifier: Apache-2.0
#include "show/explain_lanes.h"

#include "base/text.h"
#include "show/words.h"

enum {
	WAITS_SHOWN = 6,
	FRAMES_SHOWN = 5,
	FRAMES_MAX = 64
};

static void put_ns(FILE *out, uint64_t ns)
{
	char words[32];

	words_value(words, sizeof(words), "ns", ns);
	fprintf(out, "%12s ", words);
}

/* From the program's own function outwards, "write_report < serve < …". */
static void put_stack(struct explainer *e, uint32_t stack, FILE *out)
{
	uint32_t at = explain_stack_own(&e->stacks, stack);
	char name[256];

	for (unsigned int i = 0; at && i < FRAMES_SHOWN; i++) {
		fputs(i ? " < " : "", out);
		text_print_safe(out, explain_stack_name(&e->stacks, at, name, sizeof(name)));
		at = e->stacks.paths[at].parent;
	}
	if (at)
		fputs(" < …", out);
}

static void put_wait(struct explainer *e, const struct lane_wait *wait, FILE *out)
{
	uint32_t own = explain_stack_own(&e->stacks, wait->stack);
	char words[256];

	put_ns(out, wait->total);
	lane_wait_text(e->film, (enum wait_class)wait->class, wait->stack, words, sizeof(words));
	fputs(wait->class == WAIT_SLEEP ? "sleeping in " : "waiting in ", out);
	explain_stack_name(&e->stacks, own, words, sizeof(words));
	text_print_safe(out, *words ? words : NAME_UNKNOWN);
	if (wait->class != WAIT_SLEEP) {
		fputs(" for ", out);
		lane_wait_text(e->film, (enum wait_class)wait->class, wait->stack, words,
			       sizeof(words));
		text_print_safe(out, words);
	}
	text_count(words, sizeof(words), wait->count);
	fprintf(out, " (%s time%s, at most ", words, text_plural(wait->count));
	words_value(words, sizeof(words), "ns", wait->longest);
	fprintf(out, "%s)", words);
	if (wait->class != WAIT_SLEEP && explain_stack_own(&e->stacks, wait->waker_stack)) {
		fputs(", until a wake in ", out);
		put_stack(e, wait->waker_stack, out);
	}
	fputc('\n', out);
}

static void put_process(struct explainer *e, const struct explain_lanes *lanes, uint32_t process,
			FILE *out)
{
	uint64_t rest = 0, left = 0;
	unsigned int shown = 0;

	fputs("\nGoroutines of ", out);
	text_print_safe(out, e->film->processes[process].comm);
	fprintf(out, " (%u), together:\n", e->film->processes[process].pid);
	vec_foreach (&lanes->all, wait) {
		if (wait->process != process)
			continue;
		if (shown < WAITS_SHOWN) {
			put_wait(e, wait, out);
			shown++;
		} else {
			rest += wait->total;
			left++;
		}
	}
	if (!left)
		return;
	put_ns(out, rest);
	fprintf(out, "in %llu other part%s\n", (unsigned long long)left, left == 1 ? "" : "s");
}

/* Whether a thread of the process is explained, or is on the path of one; without any all are. */
static bool is_related(const struct explainer *e, const struct explain_answer *answer,
		       uint32_t process)
{
	const struct film_thread *threads = e->film->threads;

	for (size_t i = 0; i < answer->count; i++)
		vec_foreach (&answer->all[i].parts, part)
			if (threads[part->thread].process == process ||
			    threads[part->waker].process == process)
				return true;
	return !answer->count;
}

void show_explain_lanes(struct explainer *e, const struct explain_lanes *lanes,
			const struct explain_answer *answer, bool related, FILE *out)
{
	for (size_t i = 0; i < lanes->all.count; i++) {
		size_t first = 0;

		while (lanes->all.at[first].process != lanes->all.at[i].process)
			first++;
		if (first == i && is_related(e, answer, lanes->all.at[i].process) == related)
			put_process(e, lanes, lanes->all.at[i].process, out);
	}
}

static void put_frames(struct json *j, struct explainer *e, const char *key, uint32_t stack)
{
	uint32_t at = explain_stack_own(&e->stacks, stack);
	char name[256];

	json_open(j, key, '[');
	for (unsigned int i = 0; at && i < FRAMES_MAX; i++) {
		json_text(j, NULL, explain_stack_name(&e->stacks, at, name, sizeof(name)));
		at = e->stacks.paths[at].parent;
	}
	json_close(j, ']');
}

void put_explain_lanes(struct json *j, struct explainer *e, const struct explain_lanes *lanes)
{
	char words[256];

	json_open(j, "goroutines", '[');
	vec_foreach (&lanes->all, wait) {
		json_open(j, NULL, '{');
		json_u64(j, "pid", e->film->processes[wait->process].pid);
		json_text(j, "kind", wait_class_name((enum wait_class)wait->class));
		lane_wait_text(e->film, (enum wait_class)wait->class, wait->stack, words,
			       sizeof(words));
		json_text(j, "object", words);
		json_u64(j, "duration", wait->total);
		json_u64(j, "count", wait->count);
		json_u64(j, "longest", wait->longest);
		put_frames(j, e, "stack", wait->stack);
		put_frames(j, e, "waker_stack", wait->waker_stack);
		json_close(j, '}');
	}
	json_close(j, ']');
}
