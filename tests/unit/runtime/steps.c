// SPDX-License-Identifier: Apache-2.0
/*
 * Walks the stack of a thread at each instruction: of a process that runs, its busiest thread goes
 * on one by one, while the others stand still. Prints each stack that differs from the one before,
 * innermost frame last, with how many instructions it stayed and where that began; the stack itself
 * is without the place in the innermost native frame.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "stored_walk.h"
#include "traced.h"

struct stepper {
	struct traced traced;
	struct targets *targets;
	struct stored_thread thread;
	pid_t pid, tid;
	struct buf last; /* the stack as it was, with a zero byte */
	unsigned long stayed;
	uint64_t began; /* at that pc */
};

static int read_memory(void *context, void *to, size_t size, uint64_t address)
{
	const struct stepper *stepper = context;

	return runtime_read_process((void *)(intptr_t)stepper->pid, to, size, address);
}

static uint32_t suspects_of(void *context, const struct image *image)
{
	uint32_t places, suspects = 0;
	struct budget budget;
	size_t i;

	(void)context;
	runtime_budget(&budget);
	places = image->kind == IMAGE_FILE ? runtime_suspects(image, &budget) : 0;
	for (i = 0; runtime_types[i]; i++)
		if (places >> i & 1)
			suspects |= 1u << runtime_types[i]->id;
	return suspects;
}

static void table_of(void *context, const struct image *image, struct unwind_pool *pool,
		     struct unwind_rules *rules, struct unwind_table *table)
{
	(void)context;
	if (image->memory)
		unwind_table_of_memory(image->memory, image->memory_size, pool, rules, table, NULL);
	else if (image->fd >= 0 && image->is_elf)
		unwind_table_of_file(image->fd, pool, rules, table, NULL);
}

/* Prints the last stack; its lines are innermost first. */
static void print(struct stepper *stepper)
{
	char *text = (char *)stepper->last.at, *line;

	if (!stepper->stayed)
		return;
	printf("%lu\t0x%" PRIx64, stepper->stayed, stepper->began);
	text[strlen(text) - 1] = 0;
	while ((line = strrchr(text, '\n'))) {
		printf("\t%s", line + 1);
		*line = 0;
	}
	printf("\t%s\n", text);
}

/*
 * Takes the place of the innermost native frame out of the text, so that it changes with the frames
 * only.
 */
static void drop_place(struct buf *text)
{
	char *line = (char *)text->at, *plus, *end;

	while (strncmp(line, "native ", 7) != 0) {
		line = strchr(line, '\n');
		if (!line++)
			return;
	}
	plus = strchr(line, '+');
	end = strchr(line, '\n');
	if (!plus || plus > end)
		return;
	memmove(plus, end, strlen(end) + 1);
	text->count -= (size_t)(end - plus);
}

static void take(struct stepper *stepper, struct stored_walk *walk, struct stored_stack *stack)
{
	stack->text.count = 0;
	stored_take(walk);
	drop_place(&stack->text);
	if (stepper->stayed && !strcmp((char *)stepper->last.at, (char *)stack->text.at)) {
		stepper->stayed++;
		return;
	}
	print(stepper);
	stepper->last.count = 0;
	buf_put(&stepper->last, stack->text.at, stack->text.count);
	stepper->stayed = 1;
	stepper->began = stepper->thread.pc;
}

/* One instruction; signals are passed on. False: the thread is gone. */
static bool step(const struct stepper *stepper)
{
	int status, signal = 0;

	do {
		if (ptrace(PTRACE_SINGLESTEP, stepper->tid, NULL, (void *)(intptr_t)signal) ||
		    waitpid(stepper->tid, &status, __WALL) != stepper->tid || !WIFSTOPPED(status))
			return false;
		signal = WSTOPSIG(status);
	} while (signal != SIGTRAP);
	return true;
}

static int run(struct stepper *stepper, unsigned long count)
{
	struct stored_stack *stack = calloc(1, sizeof(*stack));
	struct stored_source source = {
		.thread = &stepper->thread,
		.memory = {read_memory, stepper},
		.context = stepper,
		.suspects = suspects_of,
		.table = table_of,
	};
	static const struct targets_listener nobody = {0};
	struct stored_walk *walk = NULL;
	int err = stack ? targets_new(&nobody, &stepper->targets) : -ENOMEM;

	if (!err)
		source.process = targets_find(stepper->targets, stepper->pid);
	if (!err)
		err = source.process ? stored_open(&source, stack, &walk) : -ESRCH;
	for (; !err && count; count--) {
		if (!step(stepper) || !traced_registers(&stepper->thread, stepper->tid))
			err = -ESRCH;
		else
			take(stepper, walk, stack);
	}
	print(stepper);
	stored_close(walk);
	if (stack)
		buf_free(&stack->text);
	free(stack);
	return err;
}

int main(int argc, char **argv)
{
	struct stepper stepper = {0};
	int err = -ESRCH;

	if (argc != 3) {
		fputs("usage: steps PID INSTRUCTIONS\n", stderr);
		return 2;
	}
	stepper.pid = atoi(argv[1]);
	stepper.tid = traced_busiest(stepper.pid);
	if (traced_stop(&stepper.traced, stepper.pid))
		err = run(&stepper, strtoul(argv[2], NULL, 10));
	if (stepper.targets)
		targets_free(stepper.targets);
	traced_let_go(&stepper.traced);
	buf_free(&stepper.last);
	if (err)
		fprintf(stderr, "steps: %s\n", strerror(-err));
	return err ? 1 : 0;
}
