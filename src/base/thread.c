// SPDX-License-Identifier: Apache-2.0
#include "base/thread.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

int thread_spawn(pthread_t *thread, void *(*run)(void *context), void *context)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = -pthread_create(thread, NULL, run, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

#define CPUS_MAX 8192u

/* Walks a list such as "0-3,8". */
static int each_of(const char *list, int (*emit)(void *context, unsigned int cpu, struct fail *why),
		   void *context, struct fail *why)
{
	while (*list >= '0' && *list <= '9') {
		char *end;
		unsigned long first = strtoul(list, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (; first <= last && first < CPUS_MAX; first++) {
			int err = emit(context, (unsigned int)first, why);

			if (err)
				return err;
		}
		list = *end == ',' ? end + 1 : end;
	}
	return 0;
}

int cpus_each_online(int (*emit)(void *context, unsigned int cpu, struct fail *why), void *context,
		     struct fail *why)
{
	static const char path[] = "/sys/devices/system/cpu/online";
	FILE *file = fopen(path, "re");
	char *list = NULL;
	size_t room = 0;
	int err = 0;

	if (!file || getline(&list, &room, file) < 0)
		err = fail_errno(why, errno ? -errno : -EIO, "mount /sys", "cannot read %s", path);
	else
		err = each_of(list, emit, context, why);
	if (file)
		fclose(file);
	free(list);
	return err;
}

unsigned int cpus_usable(unsigned int most)
{
	unsigned int cpus = most;
	cpu_set_t set;

	/* fails where there are more CPUs than a set has room for */
	if (!sched_getaffinity(0, sizeof(set), &set))
		cpus = (unsigned int)CPU_COUNT(&set);
	return cpus < most ? cpus : most;
}
