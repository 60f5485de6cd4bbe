// SPDX-License-Identifier: Apache-2.0
#include "query/wait_class.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "query/idle_stacks.h"

/* What a function on a stack says of what is awaited: of the kernel, or of a runtime. */
static uint8_t evidence_of(uint32_t roles)
{
	return (uint8_t)((roles >> FILM_ROLE_FAULT & 1 ? WAIT_HAS_FAULT : 0) |
			 (roles >> FILM_ROLE_DISK & 1 ? WAIT_HAS_DISK : 0) |
			 (roles >> FILM_ROLE_TIMED_WAIT & 1 ? WAIT_HAS_SLEEP : 0));
}

int wait_classes_init(struct wait_classes *classes, const struct film *film)
{
	const uint32_t roles = 1u << FILM_ROLE_FAULT | 1u << FILM_ROLE_DISK |
			       1u << FILM_ROLE_TIMED_WAIT | IDLE_STACKS_ROLES;
	uint32_t *frames = NULL;
	int err;

	*classes = (struct wait_classes){.film = film, .decider.arch = film->info.arch};
	classes->frames = calloc(film->stack_count + 1ull, 1);
	if (!classes->frames || roles_of_frames(film, roles, &frames))
		return -ENOMEM;
	/* a parent comes before its children */
	for (uint32_t i = 1; i < film->stack_count; i++)
		classes->frames[i] = classes->frames[film->stacks[i].parent] |
				     evidence_of(frames[film->stacks[i].frame]);
	err = idle_stacks_find(film, frames, classes->frames);
	free(frames);
	return err;
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
