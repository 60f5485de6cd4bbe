// SPDX-License-Identifier: Apache-2.0
#include "attach/perf_events.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int perf_events_add(struct perf_events *events, struct perf_event_attr *attr,
		    const struct bpf_program *program, unsigned int cpu)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC), err;
	struct bpf_link *link;

	if (fd < 0)
		return -errno;
	link = bpf_program__attach_perf_event(program, fd);
	if (!link) {
		err = -errno;
		close(fd);
		return err;
	}
	/* libbpf has started it; nothing is ready for samples yet */
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	if (vec_push(&events->all, (struct perf_event){fd, link}))
		return 0;
	bpf_link__destroy(link);
	return -ENOMEM;
}

int perf_events_start(const struct perf_events *events, struct fail *why)
{
	vec_foreach (&events->all, event)
		if (ioctl(event->fd, PERF_EVENT_IOC_ENABLE, 0))
			return fail_errno(why, -errno, NULL, "cannot start sampling");
	return 0;
}

void perf_events_free(struct perf_events *events)
{
	vec_foreach (&events->all, event)
		bpf_link__destroy(event->link);
	vec_free(&events->all);
}
