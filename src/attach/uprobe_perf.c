// SPDX-License-Identifier: Apache-2.0
#include "attach/uprobe_perf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>

#define EVENT_FOLDER "/sys/bus/event_source/devices/uprobe/"

static int read_number(const char *path, const char *format, unsigned int *number)
{
	FILE *f = fopen(path, "re");
	int n;

	if (!f)
		return -errno;
	n = fscanf(f, format, number);
	fclose(f);
	return n == 1 ? 0 : -EIO;
}

int uprobe_perf_find(struct uprobe_perf *perf)
{
	unsigned int type = 0, bit = 0;
	int err = read_number(EVENT_FOLDER "type", "%u", &type);

	if (!err)
		err = read_number(EVENT_FOLDER "format/retprobe", "config:%u", &bit);
	if (!err && bit > 63)
		err = -EIO;
	if (err)
		return err;
	perf->type = type;
	perf->return_bit = 1ull << bit;
	return 0;
}

int uprobe_perf_attach(const struct uprobe_perf *perf, int program, const char *path, pid_t pid,
		       uint64_t offset, uint64_t counter, uint64_t cookie, bool at_return)
{
	LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event.bpf_cookie = cookie);
	struct perf_event_attr attr = {
		.type = perf->type,
		.size = sizeof(attr),
		/* ref_ctr_offset: the upper half (kernel/trace/trace_event_perf.c) */
		.config = (at_return ? perf->return_bit : 0) | counter << 32,
		.config1 = (uintptr_t)path,
		.config2 = offset,
	};
	/*
	 * a program runs on any CPU on which the place is hit; the number is only to be a valid one
	 */
	int event = (int)syscall(SYS_perf_event_open, &attr, pid ? pid : -1, pid ? -1 : 0, -1,
				 PERF_FLAG_FD_CLOEXEC);
	int link, err;

	if (event < 0)
		return -errno;
	link = bpf_link_create(program, event, BPF_PERF_EVENT, &options);
	err = link < 0 ? -errno : 0;
	/* the link holds it */
	close(event);
	return err ? err : link;
}
