// SPDX-License-Identifier: Apache-2.0
#include "show/threads.h"

#include <errno.h>

#include "show/json_film.h"
#include "show/words.h"

static int put_frame(struct json *j, struct thread_dump *dump, const struct film_stack *stack)
{
	uint32_t count = 0, i;
	const struct label_use *uses = frame_labels_of(&dump->frames, stack->frame, &count);

	if (!uses)
		return -ENOMEM;
	for (i = count; i-- > 0;) {
		const struct label *label = &dump->labels.all.at[uses[i].label];

		json_open(j, NULL, '{');
		json_text(j, "name", label->name);
		json_text(j, "image", label->image);
		json_text(j, "kind", film_frame_kind_name(label->kind));
		if (*label->file) {
			json_text(j, "file", label->file);
			json_u64(j, "line", label->line);
		}
		if (uses[i].inlined)
			json_bool(j, "inlined", true);
		if (stack->how == FILM_HOW_FRAME_POINTER)
			json_bool(j, "guess", true);
		json_close(j, '}');
	}
	return 0;
}

/* As /proc/PID/status has it, but for "O", which is on a CPU. */
static void put_state(struct json *j, const struct thread_state *state)
{
	char letter[2] = {(char)state->state, 0};

	json_text(j, "state", letter);
	if (state->state == FILM_WAIT_RUNS)
		json_text(j, "wait", "running");
	else
		json_text(j, "wait", wait_class_name(state->class));
	if (*state->call)
		json_text(j, "call", state->call);
	if (state->number)
		json_u64(j, "call_number", state->number - 1u);
	if (state->since)
		json_u64(j, "waited", state->since);
}

static void put_wait(struct json *j, const struct film *film, const struct thread_wait *wait)
{
	const struct film_thread *holder = &film->threads[wait->holder];
	const struct film_process *peer = &film->processes[wait->peer];

	if (wait->object)
		json_text(j, "object", wait->object);
	if (wait->holder) {
		json_open(j, "holder", '{');
		json_u64(j, "tid", holder->tid);
		json_text(j, "comm", holder->comm);
		json_close(j, '}');
	}
	if (wait->is_dead)
		json_bool(j, "deadlock", true);
	if (wait->peer) {
		json_open(j, "peer", '{');
		json_u64(j, "pid", peer->pid);
		json_text(j, "comm", peer->comm);
		json_close(j, '}');
	}
}

static int put_thread(struct json *j, struct thread_dump *dump, const struct thread_state *state)
{
	const struct film_thread *thread = &dump->film->threads[state->thread];
	const struct film_process *process = &dump->film->processes[state->process];
	char time[64];
	int err = 0;

	json_open(j, NULL, '{');
	json_u64(j, "pid", process->pid);
	json_text(j, "process", process->comm);
	json_u64(j, "tid", thread->tid);
	json_text(j, "comm", thread->comm);
	film_rfc3339(&dump->film->info, state->time, time, sizeof(time));
	json_text(j, "time", time);
	put_state(j, state);
	put_wait(j, dump->film, &state->wait);
	json_open(j, "stack", '[');
	for (uint32_t at = state->stack; !err && at; at = dump->paths[at].parent)
		err = put_frame(j, dump, &dump->paths[at]);
	json_close(j, ']');
	json_close(j, '}');
	return err;
}

int show_threads_json(struct thread_dump *dump, FILE *out)
{
	struct json j = {.out = out};
	int err = 0;

	json_open(&j, NULL, '{');
	json_put_film(&j, dump->film, dump->from, dump->to);
	json_put_reasons(&j, "loss", &dump->losses);
	json_open(&j, "threads", '[');
	for (size_t i = 0; !err && i < dump->count; i++)
		err = put_thread(&j, dump, &dump->threads[i]);
	json_close(&j, ']');
	json_close(&j, '}');
	fputc('\n', out);
	return err;
}
