// SPDX-License-Identifier: Apache-2.0
#include "process/otel_context.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "process/procfs.h"

#define SIGNATURE "OTEL_CTX"
#define VERSION	  2
/* Of a process with more mappings, the rest is not searched. */
#define MAPS_BYTES_MAX (4u << 20)
/* How often a context is read again that changes meanwhile. */
#define TRIES 4

struct header {
	char signature[8];
	uint32_t version, size;
	uint64_t published, payload;
};
_Static_assert(sizeof(struct header) == 32, "as OTEP 4719 has it");

/* Of a mapping, what reading it takes: its range, and where it comes from. */
struct found {
	uint64_t start, end;
	dev_t device; /* 0: of no file */
};

static bool begins_with(const char *text, const char *beginning)
{
	return !strncmp(text, beginning, strlen(beginning));
}

static bool is_context(const struct procfs_mapping *m, uint64_t address)
{
	(void)address;
	return begins_with(m->path, "/memfd:" SIGNATURE) ||
	       begins_with(m->path, "[anon:" SIGNATURE "]") ||
	       begins_with(m->path, "[anon_shmem:" SIGNATURE "]");
}

static bool has_address(const struct procfs_mapping *m, uint64_t address)
{
	return m->start <= address && address < m->end;
}

/* The first readable mapping of a process that fits. 0, -ENOENT or another negative errno. */
static int find(pid_t pid, bool (*fits)(const struct procfs_mapping *m, uint64_t address),
		uint64_t address, struct found *found)
{
	struct buf text = {0};
	int err = procfs_read(pid, "maps", MAPS_BYTES_MAX, &text);
	char *rest = (char *)text.at, *line;

	err = err == -EFBIG || !err ? -ENOENT : err;
	while (err == -ENOENT && !text.failed && (line = strsep(&rest, "\n"))) {
		struct procfs_mapping m;

		if (!procfs_parse_mapping(line, &m) || !m.readable || !fits(&m, address))
			continue;
		*found = (struct found){m.start, m.end, m.inode ? m.device : 0};
		err = 0;
	}
	buf_free(&text);
	return err;
}

/* What a file system that hangs would have to bring is read by the helper. */
static int read_mapping(const struct process *process, const struct found *from, void *to,
			size_t size, uint64_t address)
{
	struct process reading = *process;

	if (address < from->start || address >= from->end || size > from->end - address)
		return -EBADMSG;
	if (from->device && reading.far)
		reading.far_device = from->device;
	return process_read(&reading, to, size, address);
}

/* Where it may be: behind the header, or in other memory. */
static int read_payload(const struct process *process, const struct found *context,
			const struct header *header, void *to)
{
	struct found at = *context;
	int err = 0;

	if (header->payload < context->start || header->payload >= context->end)
		err = find(process->pid, has_address, header->payload, &at);
	return err ? -EBADMSG : read_mapping(process, &at, to, header->size, header->payload);
}

static bool is_header(const struct header *header)
{
	return !memcmp(header->signature, SIGNATURE, sizeof(header->signature)) &&
	       header->version == VERSION && header->size && header->size <= OTEL_PAYLOAD_MAX;
}

/* -EAGAIN: it has changed meanwhile. */
static int read_once(const struct process *process, const struct found *context, uint8_t *payload,
		     size_t *size)
{
	struct header header, after;
	int err = read_mapping(process, context, &header, sizeof(header), context->start);

	if (err)
		return err;
	/* its program is about to write it */
	if (!header.signature[0])
		return -ENOENT;
	if (!is_header(&header))
		return -EBADMSG;
	err = header.published ? read_payload(process, context, &header, payload) : -EAGAIN;
	if (!err)
		err = read_mapping(process, context, &after, sizeof(after), context->start);
	if (!err && memcmp(&header, &after, sizeof(header)))
		err = -EAGAIN;
	*size = header.size;
	return err;
}

int otel_context_read(const struct process *process, uint8_t payload[OTEL_PAYLOAD_MAX],
		      size_t *size)
{
	struct found context;
	int err = find(process->pid, is_context, 0, &context);

	if (err)
		return err;
	err = -EAGAIN;
	for (int i = 0; i < TRIES && err == -EAGAIN; i++)
		err = read_once(process, &context, payload, size);
	return err;
}
