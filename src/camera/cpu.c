// SPDX-License-Identifier: Apache-2.0
#include "camera/cpu.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/cpus.h"
#include "base/vec.h"

struct cpu_event {
	int fd;
	struct bpf_link *link; /* owns fd */
};

struct cpu_source {
	const char *name;
	struct cpu_options options;
	struct perf_event_attr attr;
	struct bpf_program *program;
	vec(struct cpu_event) events;
};

static struct perf_event_attr cycles_event(const struct cpu_options *options)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.disabled = 1,
		.freq = 1,
		.sample_freq = options->frequency,
		.exclude_idle = 1,
		.exclude_kernel = options->no_kernel,
		.exclude_user = options->no_user,
		.exclude_hv = 1,
	};
}

static struct perf_event_attr clock_event(const struct cpu_options *options)
{
	struct perf_event_attr attr = cycles_event(options);

	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_CPU_CLOCK;
	/* a fixed period: the clock needs no control loop that finds it */
	attr.freq = 0;
	attr.sample_period = 1000000000u / options->frequency;
	return attr;
}

static int open_on(struct perf_event_attr *attr, int cpu)
{
	return (int)syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int attach_on(struct cpu_source *source, int cpu)
{
	int fd = open_on(&source->attr, cpu), err;
	struct bpf_link *link;

	if (fd < 0)
		return -errno;
	link = bpf_program__attach_perf_event(source->program, fd);
	if (!link) {
		err = -errno;
		close(fd);
		return err;
	}
	/* libbpf has started it; nothing is ready for samples yet */
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	if (vec_push(&source->events, (struct cpu_event){fd, link}))
		return 0;
	bpf_link__destroy(link);
	return -ENOMEM;
}

static int refuse(int err, const struct cpu_source *source, struct fail *why)
{
	if (err == -EACCES || err == -EPERM)
		return fail(why, -EPERM,
			    "run as root, or grant CAP_PERFMON and CAP_BPF ('stackcam doctor' "
			    "lists all)",
			    "cannot sample CPUs: perf_event_open is not permitted");
	if (err == -EINVAL)
		return fail(why, err, "choose a lower -F, or raise that limit",
			    "cannot sample CPUs %u times a second: the kernel's limit "
			    "kernel.perf_event_max_sample_rate is lower",
			    source->options.frequency);
	return fail_errno(why, err, "see 'stackcam doctor'", "cannot sample CPUs");
}

static int sample_cpu(void *context, unsigned int cpu, struct fail *why)
{
	struct cpu_source *source = context;
	int err = attach_on(source, (int)cpu);

	if ((err == -ENOENT || err == -EOPNOTSUPP || err == -ENXIO) && !source->events.count &&
	    source->attr.type == PERF_TYPE_HARDWARE) {
		source->name = "cpu-clock";
		source->attr = clock_event(&source->options);
		err = attach_on(source, (int)cpu);
	}
	/* it went offline since the list was read */
	if (err == -ENODEV)
		return 0;
	return err ? refuse(err, source, why) : 0;
}

int cpu_source_new(const struct cpu_options *options, struct bpf_program *program,
		   struct cpu_source **result, struct fail *why)
{
	struct cpu_source *source = calloc(1, sizeof(*source));
	int err;

	if (!source)
		return fail_errno(why, -ENOMEM, NULL, "cannot sample CPUs");
	source->options = *options;
	source->program = program;
	source->name = "cycles";
	source->attr = cycles_event(options);
	err = cpus_each_online(sample_cpu, source, why);
	if (!err && !source->events.count)
		err = refuse(-ENODEV, source, why);
	if (err)
		cpu_source_free(source);
	else
		*result = source;
	return err;
}

int cpu_source_start(struct cpu_source *source, struct fail *why)
{
	vec_foreach (&source->events, event)
		if (ioctl(event->fd, PERF_EVENT_IOC_ENABLE, 0))
			return fail_errno(why, -errno, NULL, "cannot start sampling");
	return 0;
}

void cpu_source_free(struct cpu_source *source)
{
	if (!source)
		return;
	vec_foreach (&source->events, event)
		bpf_link__destroy(event->link);
	vec_free(&source->events);
	free(source);
}

const char *cpu_source_name(const struct cpu_source *source)
{
	return source->name;
}
