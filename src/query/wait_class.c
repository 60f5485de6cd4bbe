// SPDX-License-Identifier: Apache-2.0
#include "query/wait_class.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/idle_stacks.h"

/* Functions that tell what a wait is for: of the kernel after any system call, ... */
static const struct teller {
	const char *glob;
	enum wait_frames has;
} tellers[] = {
	{"handle_mm_fault", WAIT_HAS_FAULT}, {"exc_page_fault", WAIT_HAS_FAULT},
	{"do_swap_page", WAIT_HAS_FAULT},    {"try_to_free_*pages", WAIT_HAS_FAULT},
	{"shrink_node*", WAIT_HAS_FAULT},    {"io_schedule*", WAIT_HAS_DISK},
	{"submit_bio*", WAIT_HAS_DISK},	     {"blk_mq_*", WAIT_HAS_DISK},
	{"__wait_on_buffer", WAIT_HAS_DISK}, {"folio_wait_*", WAIT_HAS_DISK},
	{"jbd2_*", WAIT_HAS_DISK},
};

/* ... and native ones of a language's runtime in a call that waits for a time. */
static const struct teller native_tellers[] = {
	{"JVM_Sleep*", WAIT_HAS_SLEEP}, /* HotSpot: Thread.sleep() */
	{"rb_f_sleep", WAIT_HAS_SLEEP}, /* Ruby, where its libruby has symbols */
};

static uint8_t find(const struct teller *all, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!fnmatch(all[i].glob, name, 0))
			return (uint8_t)all[i].has;
	return 0;
}

static uint8_t what_tells(const struct film *film, const struct film_frame *frame)
{
	const char *name = film->functions[frame->function].name;

	if (frame->kind == FILM_FRAME_KERNEL)
		return find(tellers, sizeof(tellers) / sizeof(tellers[0]), name);
	if (frame->kind == FILM_FRAME_NATIVE)
		return find(native_tellers, sizeof(native_tellers) / sizeof(native_tellers[0]),
			    name);
	return 0;
}

int wait_classes_init(struct wait_classes *classes, const struct film *film)
{
	uint8_t *frames = calloc(film->frame_count + 1ull, 1);

	*classes = (struct wait_classes){.film = film, .decider.arch = film->info.arch};
	classes->frames = calloc(film->stack_count + 1ull, 1);
	if (!frames || !classes->frames) {
		free(frames);
		return -ENOMEM;
	}
	for (uint32_t i = 1; i < film->frame_count; i++)
		frames[i] = what_tells(film, &film->frames[i]);
	/* a parent comes before its children */
	for (uint32_t i = 1; i < film->stack_count; i++)
		classes->frames[i] =
			classes->frames[film->stacks[i].parent] | frames[film->stacks[i].frame];
	free(frames);
	return idle_stacks_find(film, classes->frames);
}

void wait_classes_free(struct wait_classes *classes)
{
	free(classes->frames);
	wait_decider_free(&classes->decider);
	*classes = (struct wait_classes){0};
}

enum wait_class wait_class_of(struct wait_classes *classes, const struct film_waits *waits,
			      size_t i)
{
	const struct film_wait wait = {
		.call = (uint16_t)waits->call[i],
		.state = (uint8_t)waits->state[i],
		.descriptor = (uint8_t)waits->descriptor[i],
		.arguments = {waits->arguments[0][i], waits->arguments[1][i],
			      waits->arguments[2][i], waits->arguments[3][i]},
		.flags = waits->flags[i],
	};

	return wait_decide(&classes->decider, &wait, classes->frames[waits->stack[i]]);
}

/* The innermost function of the kernel, "": there is none. */
static const char *kernel_function(const struct film *film, uint32_t stack)
{
	const struct film_frame *frame = &film->frames[film->stacks[stack].frame];

	return stack && frame->kind == FILM_FRAME_KERNEL ? film->functions[frame->function].name
							 : "";
}

void wait_words(const struct film *film, enum wait_class class, uint32_t nr, uint32_t stack,
		char *words, size_t size)
{
	const char *call = wait_call_name(film->info.arch, 0, nr);
	const char *function = kernel_function(film, stack);
	char number[32];

	if (class != WAIT_OTHER) {
		snprintf(words, size, "%s", wait_class_name(class));
		return;
	}
	if (!*call)
		call = "no system call";
	else if (*call == '?') {
		snprintf(number, sizeof(number), "system call %u", nr - 1);
		call = number;
	}
	snprintf(words, size, "%s%s%s", call, *function ? ", " : "", function);
}

void wait_class_words(struct wait_classes *classes, const struct film_waits *waits, size_t i,
		      char *words, size_t size)
{
	enum wait_class class = wait_class_of(classes, waits, i);
	uint8_t state = (uint8_t)waits->state[i];

	if (state == FILM_WAIT_GOROUTINE && class == WAIT_OTHER) {
		snprintf(words, size, "%s", wait_call_name("", state, waits->call[i]));
		return;
	}
	wait_words(classes->film, class, waits->call[i], waits->stack[i], words, size);
}
