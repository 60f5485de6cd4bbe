// SPDX-License-Identifier: Apache-2.0
#include "take.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/buf.h"
#include "server/sender.h"

/* In memory, where there is such a folder: thousands of films are made, each safe on its disk. */
static const char *const folders[] = {"/dev/shm/stackcam-push-XXXXXX", "/tmp/stackcam-push-XXXXXX"};

/* What request_…() and sender_add_film() are about; one request at a time. */
static struct {
	const struct query *query;
	const char *type;
	struct pushed *pushed;
	unsigned int names;
} now;

const char *request_header(const struct http_request *request, const char *name)
{
	(void)request;
	return strcasecmp(name, "content-type") ? NULL : now.type;
}

const char *request_parameter(const struct http_request *request, const char *name)
{
	(void)request;
	for (const struct query *q = now.query; q && q->name; q++)
		if (!strcmp(q->name, name))
			return q->value;
	return NULL;
}

void request_spool_name(const struct http_request *request, char *to, size_t size)
{
	snprintf(to, size, "%s/%u", request->spool, now.names++);
}

int sender_add_film(const struct http_request *request, const char *path,
		    struct store_sender *sender, bool *again, struct fail *why)
{
	struct pushed *p = now.pushed;

	(void)request;
	*again = false;
	if (p->err)
		return fail_errno(why, p->err, NULL, "cannot take it");
	if (p->count == sizeof(p->films) / sizeof(p->films[0]) ||
	    film_open(path, &p->films[p->count], why))
		abort();
	snprintf(p->hosts[p->count], sizeof(p->hosts[0]), "%s", sender->host);
	p->count++;
	unlink(path);
	return 0;
}

void pushed_free(struct pushed *pushed)
{
	for (size_t i = 0; i < pushed->count; i++)
		film_free(pushed->films[i]);
	*pushed = (struct pushed){0};
}

int push_to(route_function *route, const struct query *query, const char *type, const void *body,
	    size_t size, struct pushed *pushed, struct fail *why)
{
	char folder[64];
	struct answer answer = {.status = 200};
	struct http_request request = {
		.method = "POST", .spool = folder, .body = body, .body_size = size};
	int err;

	now.query = query;
	now.type = type;
	now.pushed = pushed;
	strcpy(folder, folders[0]);
	if (!mkdtemp(folder) && !mkdtemp(strcpy(folder, folders[1])))
		abort();
	*why = (struct fail){0};
	err = route(&request, &answer, why);
	/* nothing may be left behind, after any push */
	if (rmdir(folder)) {
		fprintf(stderr, "%s is not empty\n", folder);
		abort();
	}
	return err;
}

uint8_t *vector_read(const char *name, size_t *size)
{
	uint8_t *bytes = malloc(1 << 20);
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", getenv("STACKCAM_VECTORS"), name);
	file = fopen(path, "re");
	if (!file || !bytes) {
		perror(path);
		abort();
	}
	*size = fread(bytes, 1, 1 << 20, file);
	fclose(file);
	return bytes;
}

struct asked {
	struct film *film;
	const char *stack;
	uint64_t samples, total;
};

static void put_stack(const struct film *film, uint32_t stack, struct buf *to)
{
	const struct film_frame *frame;

	if (!stack)
		return;
	put_stack(film, film->stacks[stack].parent, to);
	if (to->count)
		buf_put_u8(to, ';');
	frame = &film->frames[film->stacks[stack].frame];
	buf_put_text(to, frame->function ? film->functions[frame->function].name : "?");
}

static int add(void *context, const struct film_samples *samples)
{
	struct asked *asked = context;

	for (size_t i = 0; i < samples->count; i++) {
		struct buf text = {0};
		bool is = true;

		put_stack(asked->film, samples->stack[i], &text);
		buf_put_u8(&text, 0);
		if (asked->stack)
			is = !strcmp((const char *)text.at, asked->stack);
		buf_free(&text);
		asked->samples += is;
		asked->total += is ? samples->value[i] : 0;
	}
	return 0;
}

static struct asked ask(struct film *film, const char *event, const char *stack)
{
	struct asked asked = {film, stack, 0, 0};
	uint32_t id = film_find_event(film, event);
	struct fail why;

	if (id && film_each_samples(film, id, 0, UINT64_MAX, add, &asked, &why)) {
		fail_print(&why);
		abort();
	}
	return asked;
}

uint64_t event_total(struct film *film, const char *event, uint64_t *samples)
{
	struct asked asked = ask(film, event, NULL);

	if (samples)
		*samples = asked.samples;
	return asked.total;
}

uint64_t stack_total(struct film *film, const char *event, const char *stack)
{
	return ask(film, event, stack).total;
}
