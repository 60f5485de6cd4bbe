// SPDX-License-Identifier: Apache-2.0
/*
 * What programs publish of their threads (OpenTelemetry's OTEP 4947, "Thread Context", in
 * oteps/profiles/4947-thread-ctx.md of its specification): trace, span and attributes of the work
 * that a thread does now become labels of its samples. The kernel side (bpf/runtime/otel/otel.h)
 * reads a thread's record; here is where a process has it, and how its attributes are called.
 *
 * Not a runtime, but like one: found by what an image exports, known by process, read by the
 * kernel, named here.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "bpf/runtime/otel/abi.h"
#include "process/otel_context.h"
#include "process/tls_variable.h"
#include "runtime/otel/keys.h"
#include "runtime/runtime.h"

/*
 * Names are read again for attributes that have none, at first after that time, and then after
 * pauses that double as long as no name comes to it.
 */
#define PAUSE_FIRST_NS (SECOND_NS / 10)
#define PAUSE_MOST_NS  (64 * SECOND_NS)

struct otel_state {
	struct otel_keys keys;
	uint64_t again; /* when names may be read again, by clock_ns() */
	uint64_t pause; /* up to that moment */
};

static const char *const exports[] = {"otel_thread_ctx_v1", NULL};

static void *otel_open(const struct image *image, struct budget *budget, struct fail *why)
{
	struct tls_variable *variable = calloc(1, sizeof(*variable));

	(void)budget; /* what is read of the file is bounded by itself */
	if (!variable)
		return NULL;
	tls_variable_find(image, exports, 1, variable);
	if (variable->model)
		return variable;
	fail(why, -ENOTSUP, NULL, "%s is not a pointer in thread-local storage", exports[0]);
	free(variable);
	return NULL;
}

static void otel_close(void *facts)
{
	free(facts);
}

static void read_keys(const struct process *process, struct otel_state *state)
{
	struct otel_keys *fresh = malloc(sizeof(*fresh));
	uint8_t *payload = malloc(OTEL_PAYLOAD_MAX);
	size_t size = 0;

	state->pause = state->pause ? 2 * state->pause : PAUSE_FIRST_NS;
	/* they are only ever added to: what was known stays true, if it cannot be read now */
	if (fresh && payload && !process->end && !otel_context_read(process, payload, &size) &&
	    !otel_keys_parse(payload, size, fresh)) {
		if (fresh->count > state->keys.count)
			state->pause = PAUSE_FIRST_NS;
		state->keys = *fresh;
	}
	if (state->pause > PAUSE_MOST_NS)
		state->pause = PAUSE_MOST_NS;
	state->again = clock_ns() + state->pause;
	free(payload);
	free(fresh);
}

static int otel_attach(const struct runtime_at *at, void *data, void **state, struct fail *why)
{
	struct otel_state *known = *state;
	struct otel_data *to = data;

	*state = NULL;
	if (!known)
		known = calloc(1, sizeof(*known));
	if (!known)
		return fail_errno(why, -ENOMEM, NULL, "its facts could not be kept");
	*state = known;
	if (tls_variable_place(at->facts, at->memory.read, at->memory.context, at->process,
			       at->mapping->bias, &to->place))
		return -EAGAIN;
	read_keys(at->process, known);
	return 0;
}

static void otel_detach(void *state)
{
	free(state);
}

static void put_id(const char *key, const uint8_t *id, size_t size, char *text, size_t room)
{
	size_t used = strlen(text);

	used += (size_t)snprintf(text + used, room - used, "%s%s=", used ? "," : "", key);
	for (size_t i = 0; i < size && used + 2 < room; i++, used += 2)
		snprintf(text + used, room - used, "%02x", id[i]);
}

/* "key=value,key=value": the attributes, then trace_id and span_id. */
static int otel_name(const struct runtime_at *at, void *of, const uint64_t words[2],
		     struct runtime_names *names)
{
	static const uint8_t none[24];
	char text[OTEL_TEXT_MAX + 128];
	struct otel_state *state = of;
	struct otel_kept kept;
	size_t unknown, size;

	(void)words;
	if (!at->kept)
		return -ENOENT;
	memcpy(&kept, at->kept, sizeof(kept));
	size = kept.head.size < OTEL_ATTRIBUTES_MAX ? kept.head.size : OTEL_ATTRIBUTES_MAX;
	otel_labels_format(&state->keys, kept.attributes, size, text, &unknown);
	if (unknown && clock_ns() >= state->again) {
		read_keys(at->process, state);
		otel_labels_format(&state->keys, kept.attributes, size, text, &unknown);
	}
	if (kept.head.size > OTEL_ATTRIBUTES_MAX && *text)
		strcat(text, ",…");
	if (memcmp(kept.head.ids, none, sizeof(none)) != 0) {
		const uint8_t *ids = (const uint8_t *)kept.head.ids;

		put_id("trace_id", ids, 16, text, sizeof(text));
		put_id("span_id", ids + 16, 8, text, sizeof(text));
	}
	if (!*text)
		return -ENODATA;
	runtime_names_add(names, text, NULL, 0);
	return 0;
}

_Static_assert(sizeof(struct otel_kept) <= UNWIND_KEPT_BYTES, "room for a record");
_Static_assert(sizeof(struct otel_data) <= UNWIND_DATA_BYTES, "room for a process's data");

const struct runtime_type runtime_otel = {
	.name = "otel",
	.id = UNWIND_RUNTIME_OTEL,
	.frame_kind = FILM_FRAME_LABEL,
	.labels_threads = true,
	.keeps = true,
	.exports = exports,
	.open = otel_open,
	.close = otel_close,
	.attach = otel_attach,
	.detach = otel_detach,
	.name_of = otel_name,
};
