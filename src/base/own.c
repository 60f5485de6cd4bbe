// SPDX-License-Identifier: Apache-2.0
#include "base/own.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static double cpu_seconds(int whose)
{
	struct rusage use;

	if (getrusage(whose, &use))
		return 0;
	return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
	       (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

double own_cpu_seconds(void)
{
	return cpu_seconds(RUSAGE_SELF);
}

double own_helpers_cpu_seconds(void)
{
	return cpu_seconds(RUSAGE_CHILDREN);
}

/* The second number of /proc/self/statm, in pages. */
uint64_t own_rss_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long long size, resident = 0;

	if (file && fscanf(file, "%llu %llu", &size, &resident) != 2)
		resident = 0;
	if (file)
		fclose(file);
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}
