// SPDX-License-Identifier: Apache-2.0
#include "query/explain/gpu.h"

#include <errno.h>
#include <stdlib.h>

#include "base/text.h"
#include "show/explain.h"
#include "show/words.h"

enum {
	LAUNCHERS_SHOWN = 4,
	COPIES_SHOWN = 6,
	FRAMES_SHOWN = 5,
	DEPTH_SHOWN = 4,
};

struct gpu_text {
	const struct explain_gpu *gpu;
	const struct film *film;
	struct explainer *e; /* null: the film has no lives of threads */
	FILE *out;
};

/* What each kind is. */
static const char *const kind_words[EXPLAIN_GPU_KINDS] = {
	"kernels ran",
	"copies, while no kernel ran",
	"gaps shorter than 20 us between kernels or copies",
	"launched, but not begun",
	"idle, because the CPU did not launch",
	"before the first kernel or copy",
	"after the last kernel or copy",
	"unknown: records were lost, or it is not known which thread launched, or what it did",
};

static const char *name_of(const struct film *film, uint32_t frame)
{
	const char *name = film->functions[film->frames[frame].function].name;

	return frame && *name ? name : "[kernel without a name]";
}

static void process_words(const struct film *film, uint32_t process, struct buf *words)
{
	buf_put_text(words, film->processes[process].comm);
	buf_printf(words, " (%u)", film->processes[process].pid);
}

static void thread_words(const struct film *film, uint32_t thread, struct buf *words)
{
	buf_put_text(words, film->threads[thread].comm);
	buf_printf(words, " (%u)", film->threads[thread].tid);
}

/* "cuMemcpyDtoH_v2 < download < step": the innermost functions of a launch. */
static void stack_words(const struct gpu_text *t, uint32_t stack, struct buf *words)
{
	const struct film *film = t->film;
	unsigned int shown = 0;

	for (; stack && shown < FRAMES_SHOWN; stack = film->stacks[stack].parent) {
		const struct film_frame *frame = &film->frames[film->stacks[stack].frame];
		const char *name = film->functions[frame->function].name;

		if (!frame->function || !*name || frame->kind == FILM_FRAME_KERNEL ||
		    t->gpu->images[frame->image])
			continue;
		buf_put_text(words, shown++ ? " < " : "");
		buf_put_text(words, name);
	}
	if (!shown)
		buf_put_text(words, "a stack that is not known");
}

/* -- the sentence ------------------------------------------------------------------------------ */

/* The longest part of what the thread did, and of what that was a wait for, and so on. */
static void cause_words(const struct gpu_text *t, const struct explain_gpu_launcher *launcher,
			struct buf *words)
{
	const struct explanation *x = &launcher->x;
	uint32_t at = x->first;
	char time[32];

	buf_put_text(words, "mostly because ");
	thread_words(t->film, launcher->thread, words);
	buf_put_text(words, " did not launch the next one");
	if (!launcher->is_known || !at) {
		buf_put_text(words, "; what it did is not known: record with "
				    "'-e gpu-lanes,threads,on-cpu'");
		return;
	}
	buf_put_text(words, ": it was, longest, ");
	for (unsigned int depth = 0; at && depth < DEPTH_SHOWN; depth++) {
		const struct explain_part *part = &x->parts.at[at - 1];

		/* of a wait that is followed, what most was spent with */
		if (depth && part->duration * 2 < x->parts.at[part->parent - 1].duration)
			break;
		words_value(time, sizeof(time), "ns", part->duration);
		buf_put_text(words, depth ? ", which spent most of that " : "");
		explain_part_words(t->e, part, words);
		buf_printf(words, " (%s)", time);
		at = part->first;
	}
}

/* Before and behind all work only where there is nothing else. */
static enum explain_gpu_kind most_of(const struct explain_gpu_device *device,
				     enum explain_gpu_kind first)
{
	enum explain_gpu_kind most = first;

	for (unsigned int kind = first; kind < EXPLAIN_GPU_KINDS; kind++)
		if (device->ns[kind] > device->ns[most] && kind != EXPLAIN_GPU_BEFORE &&
		    kind != EXPLAIN_GPU_AFTER)
			most = (enum explain_gpu_kind)kind;
	if (device->ns[most])
		return most;
	return device->ns[EXPLAIN_GPU_BEFORE] > device->ns[EXPLAIN_GPU_AFTER] ? EXPLAIN_GPU_BEFORE
									      : EXPLAIN_GPU_AFTER;
}

static void reason_words(const struct gpu_text *t, const struct explain_gpu_device *device,
			 struct buf *words)
{
	uint64_t works = device->kernels + device->copies_count;
	char time[32];

	switch (most_of(device, EXPLAIN_GPU_COPIES)) {
	case EXPLAIN_GPU_COPIES:
		buf_put_text(words, "mostly because kernels waited for copies, longest ");
		buf_put_text(words, name_of(t->film, device->copies.at[0].name));
		buf_put_text(words, ", by ");
		stack_words(t, device->copies.at[0].stack, words);
		break;
	case EXPLAIN_GPU_SHORT:
		words_value(time, sizeof(time), "ns",
			    device->kernels ? device->kernels_ns / device->kernels : 0);
		buf_printf(words,
			   "mostly because kernels are too short for what a launch takes: %llu "
			   "of %s on average, with %llu gaps between them",
			   (unsigned long long)device->kernels, time,
			   (unsigned long long)device->shorts);
		break;
	case EXPLAIN_GPU_LAUNCHED:
		words_value(time, sizeof(time), "ns", device->longest_launched);
		buf_printf(words,
			   "mostly because what was launched did not begin (for at most %s): it "
			   "waited for the launch itself, or for other work",
			   time);
		break;
	case EXPLAIN_GPU_CPU:
		cause_words(t, &device->launchers.at[0], words);
		break;
	case EXPLAIN_GPU_BEFORE:
		buf_put_text(words, "mostly because nothing had been launched yet");
		break;
	case EXPLAIN_GPU_AFTER:
		buf_printf(words,
			   "mostly because nothing followed the last of %llu kernels and copies",
			   (unsigned long long)works);
		break;
	default:
		buf_put_text(words, "mostly for reasons that are not known");
		break;
	}
}

void explain_gpu_sentence(const struct explain_gpu *gpu, const struct explain_gpu_device *device,
			  const struct film *film, struct explainer *e, struct buf *words)
{
	const struct gpu_text t = {gpu, film, e, NULL};
	uint64_t whole = gpu->to - gpu->from, idle = whole - device->ns[EXPLAIN_GPU_KERNELS];

	buf_printf(words, "GPU %u of ", device->device);
	process_words(film, device->process, words);
	buf_printf(words, " ran no kernel for %.0f %% of the time", words_percent(idle, whole));
	if (idle) {
		buf_put_text(words, ", ");
		reason_words(&t, device, words);
	}
	buf_put_u8(words, '.');
	idle = device->ns[EXPLAIN_GPU_BEFORE] + device->ns[EXPLAIN_GPU_AFTER];
	if (idle * 10 > whole)
		buf_printf(words,
			   " %.0f %% of the time is before its first and after its last kernel or "
			   "copy.",
			   words_percent(idle, whole));
}

/* -- the whole --------------------------------------------------------------------------------- */

static void put_row(const struct gpu_text *t, unsigned int depth, uint64_t ns)
{
	char time[32];

	words_value(time, sizeof(time), "ns", ns);
	fprintf(t->out, "%*s%12s ", (int)depth * 4, "", time);
}

/* Appends words, harmless, and a newline, and empties them. */
static int put_line(const struct gpu_text *t, struct buf *words)
{
	buf_put_u8(words, 0);
	if (words->failed)
		return -ENOMEM;
	text_print_safe(t->out, (const char *)words->at);
	fputc('\n', t->out);
	words->count = 0;
	return 0;
}

static int put_launchers(const struct gpu_text *t, const struct explain_gpu_device *device)
{
	struct buf words = {0};
	uint64_t rest = 0;
	int err = 0;

	for (size_t i = 0; !err && i < device->launchers.count; i++) {
		const struct explain_gpu_launcher *launcher = &device->launchers.at[i];

		if (i >= LAUNCHERS_SHOWN) {
			rest += launcher->ns;
			continue;
		}
		put_row(t, 1, launcher->ns);
		buf_put_text(&words, "until ");
		thread_words(t->film, launcher->thread, &words);
		buf_put_text(&words, launcher->is_known
					     ? " launched the next, which spent"
					     : " launched the next; what it did is not "
					       "in the film ('record -e threads,on-cpu')");
		err = put_line(t, &words);
		if (!err && launcher->is_known)
			err = show_explain_parts(t->e, &launcher->x, 2, t->out);
	}
	if (!err && rest) {
		put_row(t, 1, rest);
		fprintf(t->out, "until %zu other threads did\n",
			device->launchers.count - LAUNCHERS_SHOWN);
	}
	buf_free(&words);
	return err;
}

static int put_copies(const struct gpu_text *t, const struct explain_gpu_device *device)
{
	struct buf words = {0};
	uint64_t rest = 0;
	int err = 0;

	for (size_t i = 0; !err && i < device->copies.count; i++) {
		const struct explain_gpu_copies *copies = &device->copies.at[i];

		if (i >= COPIES_SHOWN) {
			rest += copies->ns;
			continue;
		}
		put_row(t, 1, copies->ns);
		buf_put_text(&words, name_of(t->film, copies->name));
		buf_printf(&words, ", %llu of them, by ", (unsigned long long)copies->count);
		stack_words(t, copies->stack, &words);
		err = put_line(t, &words);
	}
	if (!err && rest) {
		put_row(t, 1, rest);
		fputs("other copies\n", t->out);
	}
	buf_free(&words);
	return err;
}

/* What is a guess, or not known, and why. */
static void put_doubts(const struct gpu_text *t, const struct explain_gpu_device *device)
{
	uint64_t guessed = 0;
	char time[32];

	vec_foreach (&device->launchers, launcher)
		guessed += launcher->guessed;
	if (device->unsampled)
		fprintf(t->out,
			"Of %llu kernels and copies, %llu have no stack: of more than about 1,000 "
			"launches a second, a sample has one",
			(unsigned long long)device->kernels + device->copies_count,
			(unsigned long long)device->unsampled);
	if (guessed) {
		words_value(time, sizeof(time), "ns", guessed);
		fprintf(t->out,
			"; for %s before such, it is a guess which thread was to launch: the one "
			"of the next launch with a stack",
			time);
	}
	if (device->unsampled)
		fputs(".\n", t->out);
}

static int put_device(const struct gpu_text *t, const struct explain_gpu_device *device)
{
	uint64_t whole = t->gpu->to - t->gpu->from;
	bool is_put[EXPLAIN_GPU_KINDS] = {false};
	struct buf words = {0};
	char time[32];
	int err;

	explain_gpu_sentence(t->gpu, device, t->film, t->e, &words);
	err = put_line(t, &words);
	words_value(time, sizeof(time), "ns", whole);
	if (!err)
		fprintf(t->out, "%12s, of which\n", time);
	for (unsigned int i = 0; !err && i < EXPLAIN_GPU_KINDS; i++) {
		unsigned int most = 0;

		while (most < EXPLAIN_GPU_KINDS - 1 && is_put[most])
			most++;
		for (unsigned int kind = most; kind < EXPLAIN_GPU_KINDS; kind++)
			if (!is_put[kind] && device->ns[kind] > device->ns[most])
				most = kind;
		is_put[most] = true;
		if (!device->ns[most])
			continue;
		put_row(t, 0, device->ns[most]);
		fprintf(t->out, "(%.1f %%) %s\n", words_percent(device->ns[most], whole),
			kind_words[most]);
		if (most == EXPLAIN_GPU_COPIES)
			err = put_copies(t, device);
		else if (most == EXPLAIN_GPU_CPU)
			err = put_launchers(t, device);
	}
	if (!err)
		put_doubts(t, device);
	buf_free(&words);
	return err;
}

int show_explain_gpu(const struct explain_gpu *gpu, const struct film *film, struct explainer *e,
		     FILE *out, struct fail *why)
{
	const struct gpu_text t = {gpu, film, e, out};
	int err = 0;

	vec_foreach (&gpu->devices, device) {
		if (err)
			break;
		if (device != gpu->devices.at)
			fputc('\n', out);
		err = put_device(&t, device);
	}
	if (!err && gpu->devices.count > 1)
		fputs("\nEach process numbers its devices itself: two of these may be one.\n", out);
	return err ? fail_errno(why, err, NULL, "cannot explain GPUs") : 0;
}
