// SPDX-License-Identifier: Apache-2.0
/* Time on a CPU, or ready for one, in words. */
#include "film/names.h"
#include "show/explain.h"
#include "show/words.h"

void explain_put_ns(struct buf *words, uint64_t ns)
{
	char text[32];

	words_value(text, sizeof(text), "ns", ns);
	buf_put_text(words, text);
}

/* How many functions of a part are named: those that took a tenth of its time each. */
static size_t named_functions(const struct explain_part *part)
{
	size_t count = 0;

	while (count < EXPLAIN_NAMED && part->functions[count].samples &&
	       part->functions[count].samples * 10 >= part->samples)
		count++;
	return count;
}

/* " below import_order": of libraries' functions, if all of them have the same one. */
static void caller_words(struct explainer *e, const struct explain_part *part, size_t count,
			 struct buf *words)
{
	char name[256];
	uint32_t caller = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t its = explain_stack_caller(&e->stacks, part->functions[i].stack);

		if (!its || (caller && explain_stack_function(&e->stacks, its) !=
					       explain_stack_function(&e->stacks, caller)))
			return;
		caller = its;
	}
	if (caller)
		buf_printf(words, "%s below %s", count > 1 ? ", all" : "",
			   explain_stack_name(&e->stacks, caller, name, sizeof(name)));
}

/* ", about 14 ms in parse_order": a part of the time in proportion to the samples. */
void explain_function_words(struct explainer *e, const struct explain_part *part, struct buf *words)
{
	size_t count = named_functions(part);
	const char *library;
	char name[256];

	for (size_t i = 0; i < count; i++) {
		const struct explain_function *function = &part->functions[i];

		buf_put_text(words, i ? ", " : ", about ");
		explain_put_ns(words, (uint64_t)((__int128)part->duration * function->samples /
						 part->samples));
		explain_stack_name(&e->stacks, function->stack, name, sizeof(name));
		buf_printf(words, " in %s", *name ? name : NAME_UNKNOWN);
		library = explain_stack_library(&e->stacks, function->stack);
		if (library)
			buf_printf(words, " (%.64s)", library);
	}
	caller_words(e, part, count, words);
}

const struct explain_limit *explain_reclaim_limit(const struct explainer *e,
						  const struct explain_part *part)
{
	uint32_t process = e->film->threads[part->thread].process;

	return part->is_reclaim && part->for_group * 2 > part->reclaiming
		       ? explain_limit_of(&e->limits, e->film->processes[process].cgroup)
		       : NULL;
}

/* ", as control group /system.slice/app is at its limit of 512 MB", if that is known */
static void group_words(const struct explainer *e, const struct explain_part *part,
			struct buf *words)
{
	const struct film_process *of = &e->film->processes[e->film->threads[part->thread].process];
	const struct explain_limit *limit = explain_reclaim_limit(e, part);
	const char *group = limit ? limit->group : of->cgroup;
	char bytes[32];

	buf_printf(words, ", as control group %s is at its limit", *group ? group : NAME_UNKNOWN);
	if (limit) {
		words_value(bytes, sizeof(bytes), "bytes", limit->bytes);
		buf_printf(words, " of %s", bytes);
	}
}

/* Of time on a CPU in which the kernel freed memory for what a function had asked for. */
void explain_reclaim_words(struct explainer *e, const struct explain_part *part, struct buf *words)
{
	buf_put_text(words, "on CPU in the kernel, which freed memory (reclaim)");
	explain_function_words(e, part, words);
	if (part->swapping * 10 >= part->reclaiming) {
		buf_put_text(words, "; ");
		explain_put_ns(words, (uint64_t)((__int128)part->duration * part->swapping /
						 part->reclaiming));
		buf_put_text(words, " for memory that went to swap, or came back");
	}
	if (part->for_group * 2 > part->reclaiming)
		group_words(e, part, words);
}

/* ", behind flusher (12) for 3 ms": what ran meanwhile; false: it is not known. */
static bool behind_words(const struct explainer *e, const struct explain_part *part,
			 const char *first, struct buf *words)
{
	size_t count = 0;

	for (; count < EXPLAIN_NAMED && part->behind[count].ns; count++) {
		if (part->behind[count].ns * 10 < part->duration)
			break;
		buf_put_text(words, count ? ", " : first);
		explain_thread_words(e, part->behind[count].thread, part->thread, words);
		if (part->behind[count].ns * 10 < part->duration * 9) {
			buf_put_text(words, " for ");
			explain_put_ns(words, part->behind[count].ns);
		}
	}
	return count;
}

void explain_ready_words(const struct explainer *e, const struct explain_part *part,
			 const struct slice *slice, struct buf *words)
{
	buf_put_text(words, "ready but not running");
	if (histories_is_lane(&e->histories, slice->thread)) {
		buf_put_text(words, ": no thread had begun to work for it");
		if (behind_words(e, part, ", while threads worked for ", words))
			buf_put_text(words, " of its process");
		return;
	}
	if (explain_is_throttled(part)) {
		buf_put_text(words, ", most likely held back by the CPU limit of its control "
				    "group: it could run again once in 100 ms");
		return;
	}
	if (behind_words(e, part, ", behind ", words))
		buf_printf(words, " on core %u", slice->cpu);
	if (part->beside * 2 > part->duration && part->longest > 1000000)
		buf_put_text(words, e->is_whole_machine
					    ? ", while no thread ran there: a CPU limit of its "
					      "control group may have held it back"
					    : "; of other processes the film does not know (record "
					      "with -a)");
}
