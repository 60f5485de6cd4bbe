// SPDX-License-Identifier: Apache-2.0
#include "query/explain/gpu.h"

#include <errno.h>

#include "film/events.h"
#include "query/reasons.h"
#include "show/explain.h"
#include "show/json_film.h"

struct gpu_writer {
	struct json j;
	const struct explain_gpu *gpu;
	const struct film *film;
	struct explainer *e;
	int err;
};

static void put_launchers(struct gpu_writer *w, const struct explain_gpu_device *device)
{
	json_open(&w->j, "threads", '[');
	vec_foreach (&device->launchers, launcher) {
		const struct film_thread *thread = &w->film->threads[launcher->thread];

		json_open(&w->j, NULL, '{');
		json_u64(&w->j, "pid", w->film->processes[thread->process].pid);
		json_u64(&w->j, "tid", thread->tid);
		json_text(&w->j, "comm", thread->comm);
		json_u64(&w->j, "duration", launcher->ns);
		json_u64(&w->j, "guessed", launcher->guessed);
		json_u64(&w->j, "gaps", launcher->spans.count);
		json_bool(&w->j, "known", launcher->is_known);
		if (launcher->is_known && show_explain_parts_json(&w->j, w->e, &launcher->x))
			w->err = -ENOMEM;
		json_close(&w->j, '}');
	}
	json_close(&w->j, ']');
}

static void put_stack(struct gpu_writer *w, uint32_t stack)
{
	const struct film *film = w->film;

	json_open(&w->j, "stack", '[');
	for (; stack; stack = film->stacks[stack].parent)
		json_text(&w->j, NULL,
			  film->functions[film->frames[film->stacks[stack].frame].function].name);
	json_close(&w->j, ']');
}

static void put_copies(struct gpu_writer *w, const struct explain_gpu_device *device)
{
	json_open(&w->j, "copies", '[');
	vec_foreach (&device->copies, copies) {
		json_open(&w->j, NULL, '{');
		json_text(&w->j, "name",
			  w->film->functions[w->film->frames[copies->name].function].name);
		json_u64(&w->j, "duration", copies->ns);
		json_u64(&w->j, "count", copies->count);
		put_stack(w, copies->stack);
		json_close(&w->j, '}');
	}
	json_close(&w->j, ']');
}

static void put_device(struct gpu_writer *w, const struct explain_gpu_device *device)
{
	const struct film_process *process = &w->film->processes[device->process];
	struct buf words = {0};

	json_open(&w->j, NULL, '{');
	json_u64(&w->j, "pid", process->pid);
	json_text(&w->j, "comm", process->comm);
	json_u64(&w->j, "device", device->device);
	json_u64(&w->j, "duration", w->gpu->to - w->gpu->from);
	explain_gpu_sentence(w->gpu, device, w->film, w->e, &words);
	buf_put_u8(&words, 0);
	if (words.failed)
		w->err = -ENOMEM;
	else
		json_text(&w->j, "words", (const char *)words.at);
	buf_free(&words);
	json_open(&w->j, "parts", '{');
	for (unsigned int kind = 0; kind < EXPLAIN_GPU_KINDS; kind++)
		json_u64(&w->j, explain_gpu_kind_name((enum explain_gpu_kind)kind),
			 device->ns[kind]);
	json_close(&w->j, '}');
	json_u64(&w->j, "kernels", device->kernels);
	json_u64(&w->j, "kernels_ns", device->kernels_ns);
	json_u64(&w->j, "copied", device->copies_count);
	json_u64(&w->j, "without_stack", device->unsampled);
	put_copies(w, device);
	put_launchers(w, device);
	json_close(&w->j, '}');
}

int show_explain_gpu_json(const struct explain_gpu *gpu, const struct film *film,
			  struct explainer *e, FILE *out, struct fail *why)
{
	struct gpu_writer w = {.j = {.out = out}, .gpu = gpu, .film = film, .e = e};
	const uint32_t event = film_find_event(film, event_type(EVENT_GPU_LANES)->name);
	struct view_reasons losses = {0};

	if (view_count_losses(&losses, film, event, e ? e->event : 0))
		return fail_errno(why, -ENOMEM, NULL, "cannot explain GPUs");
	json_open(&w.j, NULL, '{');
	json_put_film(&w.j, film, gpu->from, gpu->to);
	json_put_reasons(&w.j, "loss", &losses);
	json_open(&w.j, "devices", '[');
	vec_foreach (&gpu->devices, device)
		put_device(&w, device);
	json_close(&w.j, ']');
	json_close(&w.j, '}');
	fputc('\n', out);
	view_free_reasons(&losses);
	return w.err ? fail_errno(why, w.err, NULL, "cannot explain GPUs") : 0;
}
