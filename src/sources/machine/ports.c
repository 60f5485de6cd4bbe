// SPDX-License-Identifier: Apache-2.0
#include "sources/machine/ports.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "process/procfs.h"

/* The most entries of a folder that are looked at, and bytes of a file with a number. */
#define ENTRIES_MAX 256
#define NUMBER_MAX  64

/* Data is counted in words (InfiniBand Architecture Specification, PortCounters). */
#define WORD 4

static bool read_counter(const char *port, const char *name, uint64_t *value)
{
	struct buf text = {0};
	char path[512], *end = NULL;
	bool is_read;

	snprintf(path, sizeof(path), "%.400s/counters/%s", port, name);
	is_read = !procfs_read_file(path, NUMBER_MAX, &text);
	if (is_read)
		*value = strtoull((const char *)text.at, &end, 10);
	is_read = is_read && end != (const char *)text.at;
	buf_free(&text);
	return is_read;
}

static void read_direction(const char *port, const char *object, enum film_gauge_kind kind,
			   const struct machine_to *to)
{
	const bool is_sent = kind == FILM_GAUGE_NET_SENT;
	struct machine_value value = {.kind = kind, .object = object};

	if (!read_counter(port, is_sent ? "port_xmit_data" : "port_rcv_data", &value.value))
		return;
	value.value *= WORD;
	(void)read_counter(port, is_sent ? "port_xmit_packets" : "port_rcv_packets", &value.count);
	to->emit(to->context, &value);
}

/* Calls each() for the entries of a folder; device: the one that it belongs to, or null. */
static void each_entry(const char *folder, const char *device,
		       void (*each)(const char *path, const char *device, const char *name,
				    const struct machine_to *to),
		       const struct machine_to *to)
{
	DIR *directory = opendir(folder);
	const struct dirent *entry;
	char path[400];

	for (int i = 0; directory && i < ENTRIES_MAX && (entry = readdir(directory)); i++) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%.300s/%.64s", folder, entry->d_name);
		each(path, device, entry->d_name, to);
	}
	if (directory)
		closedir(directory);
}

static void read_port(const char *path, const char *device, const char *name,
		      const struct machine_to *to)
{
	char object[136];

	snprintf(object, sizeof(object), "%.64s/%.64s", device, name);
	read_direction(path, object, FILM_GAUGE_NET_RECEIVED, to);
	read_direction(path, object, FILM_GAUGE_NET_SENT, to);
}

static void read_device(const char *path, const char *device, const char *name,
			const struct machine_to *to)
{
	char ports[400];

	(void)device;
	snprintf(ports, sizeof(ports), "%.380s/ports", path);
	each_entry(ports, name, read_port, to);
}

void machine_read_ports(const char *folder, const struct machine_to *to)
{
	each_entry(folder, NULL, read_device, to);
}
