// SPDX-License-Identifier: Apache-2.0
#include "film/gauges.h"

#define FLOW(its_group, its_name, its_unit, its_title, ...)                                 \
	{                                                                                   \
		.group = its_group, .name = its_name, .unit = its_unit, .title = its_title, \
		##__VA_ARGS__                                                               \
	}
/* A time that the kernel adds up up to 2 s late (PSI_FREQ in its kernel/sched/psi.c). */
#define PRESSURE(name, title) FLOW("pressure", name, "ns", title, .lags = true)
#define LEVEL(group, name, unit, title, ...) \
	FLOW(group, name, unit, title, .is_level = true, ##__VA_ARGS__)

/* To add a gauge: its kind in gauges.h, and a row here. */
static const struct gauge_type types[FILM_GAUGE_KINDS] = {
	[FILM_GAUGE_NOTE] = FLOW("note", "note", "count", "what is not known"),

	[FILM_GAUGE_CPU_USER] = FLOW("cpu", "user", "ns", "CPUs in user code"),
	[FILM_GAUGE_CPU_SYSTEM] = FLOW("cpu", "system", "ns", "CPUs in the kernel"),
	[FILM_GAUGE_CPU_INTERRUPTS] = FLOW("cpu", "interrupts", "ns", "CPUs in interrupts"),
	[FILM_GAUGE_CPU_STOLEN] =
		FLOW("cpu", "stolen", "ns", "CPUs that the hypervisor gave to others"),
	[FILM_GAUGE_CPU_DISK] = FLOW("cpu", "disk", "ns", "idle CPUs whose threads wait for disks"),
	[FILM_GAUGE_CPU_IDLE] = FLOW("cpu", "idle", "ns", "idle CPUs"),

	[FILM_GAUGE_RUNNABLE] =
		LEVEL("run-queue", "runnable", "count", "threads that run or could run"),
	[FILM_GAUGE_BLOCKED] =
		LEVEL("run-queue", "blocked", "count", "threads that wait for disks"),

	[FILM_GAUGE_DISK_READ] = FLOW("disk", "read", "bytes", "bytes read from a disk",
				      .count = "requests", .has_times = true),
	[FILM_GAUGE_DISK_WRITE] = FLOW("disk", "write", "bytes", "bytes written to a disk",
				       .count = "requests", .has_times = true),
	[FILM_GAUGE_DISK_QUEUE] =
		LEVEL("disk", "queue", "count", "requests that a disk has not answered"),
	[FILM_GAUGE_DISK_BUSY] = FLOW("disk", "busy", "ns", "time in which a disk had requests"),
	[FILM_GAUGE_DISK_READ_BY] = FLOW("disk", "read-by", "bytes", "bytes that a thread read",
					 .count = "requests", .has_times = true),
	[FILM_GAUGE_DISK_WRITE_BY] = FLOW("disk", "write-by", "bytes", "bytes that a thread wrote",
					  .count = "requests", .has_times = true),

	[FILM_GAUGE_NET_RECEIVED] = FLOW("network", "received", "bytes",
					 "bytes received by an interface", .count = "packets"),
	[FILM_GAUGE_NET_SENT] =
		FLOW("network", "sent", "bytes", "bytes sent by an interface", .count = "packets"),
	[FILM_GAUGE_NET_RETRANSMITS] =
		FLOW("network", "retransmits", "count", "segments of TCP that were sent again",
		     .count = "segments sent"),
	[FILM_GAUGE_NET_RTT] =
		LEVEL("network", "rtt", "ns", "round-trip time of TCP, the median of connections",
		      .count = "connections", .has_times = true),

	[FILM_GAUGE_PRESSURE_CPU] = PRESSURE("cpu", "time in which some thread waited for a CPU"),
	[FILM_GAUGE_PRESSURE_DISK] =
		PRESSURE("disk", "time in which some thread waited for a disk"),
	[FILM_GAUGE_PRESSURE_DISK_ALL] =
		PRESSURE("disk-all", "time in which all threads waited for a disk"),
	[FILM_GAUGE_PRESSURE_MEMORY] =
		PRESSURE("memory", "time in which some thread waited for memory"),
	[FILM_GAUGE_PRESSURE_MEMORY_ALL] =
		PRESSURE("memory-all", "time in which all threads waited for memory"),

	[FILM_GAUGE_MEMORY_AVAILABLE] =
		LEVEL("memory", "available", "bytes", "memory that programs could have"),
	[FILM_GAUGE_MEMORY_FREE] = LEVEL("memory", "free", "bytes", "memory in no use"),
	[FILM_GAUGE_MEMORY_FILES] = LEVEL("memory", "files", "bytes", "memory that holds files"),
	[FILM_GAUGE_MEMORY_RECLAIMED] =
		FLOW("memory", "reclaimed", "bytes", "memory that the kernel took back"),
	[FILM_GAUGE_MEMORY_DIRECT] = FLOW("memory", "direct-reclaim", "count",
					  "times that a thread had to take memory back itself"),
	[FILM_GAUGE_SWAPPED_IN] = FLOW("memory", "swap-in", "bytes", "bytes read from swap"),
	[FILM_GAUGE_SWAPPED_OUT] = FLOW("memory", "swap-out", "bytes", "bytes written to swap"),
	[FILM_GAUGE_MAJOR_FAULTS] =
		FLOW("memory", "major-faults", "count", "page faults that read from a disk"),
	[FILM_GAUGE_GROUP_LIMIT] =
		LEVEL("memory", "group-limit", "bytes",
		      "limit of a control group that has nearly as much memory as it may"),
};

const struct gauge_type *film_gauge_type(unsigned int kind)
{
	return kind < FILM_GAUGE_KINDS ? &types[kind] : NULL;
}
