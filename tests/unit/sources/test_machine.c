// SPDX-License-Identifier: Apache-2.0
/* What files of /proc say of the machine, and which rows that makes. */
#include "../prelude.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/vec.h"
#include "sources/machine/disks.h"
#include "sources/machine/ports.h"
#include "sources/machine/read.h"
#include "sources/machine/series.h"

#define MS 1000000ull

struct taken {
	vec(struct machine_value) all;
	char names[64][32]; /* of their objects */
};

static void take(void *context, const struct machine_value *value)
{
	struct taken *taken = context;

	assert_true(taken->all.count < 64);
	snprintf(taken->names[taken->all.count], sizeof(taken->names[0]), "%s", value->object);
	assert_true(vec_push(&taken->all, *value));
}

static bool is_any_disk(void *context, const char *name)
{
	(void)context;
	return strcmp(name, "vda1");
}

/* The only value of a kind and an object. */
static struct machine_value value_of(const struct taken *taken, enum film_gauge_kind kind,
				     const char *object)
{
	struct machine_value found = {0};
	int count = 0;

	for (size_t i = 0; i < taken->all.count; i++)
		if (taken->all.at[i].kind == kind && !strcmp(taken->names[i], object)) {
			found = taken->all.at[i];
			count++;
		}
	assert_int_equal(count, 1);
	return found;
}

static void reads_cpus(void **state)
{
	char text[] = "cpu  10 2 30 400 5 6 7 8 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\nintr 5 1 2\n"
		      "procs_running 3\nprocs_blocked 1\n";
	struct taken taken = {0};
	const struct machine_to to = {take, &taken};

	(void)state;
	machine_parse_stat(text, 10 * MS, &to);
	assert_int_equal(taken.all.count, 8);
	assert_int_equal(value_of(&taken, FILM_GAUGE_CPU_USER, "").value, 120 * MS);
	assert_int_equal(value_of(&taken, FILM_GAUGE_CPU_SYSTEM, "").value, 300 * MS);
	assert_int_equal(value_of(&taken, FILM_GAUGE_CPU_IDLE, "").value, 4000 * MS);
	assert_int_equal(value_of(&taken, FILM_GAUGE_CPU_DISK, "").value, 50 * MS);
	assert_int_equal(value_of(&taken, FILM_GAUGE_CPU_INTERRUPTS, "").value, 130 * MS);
	assert_int_equal(value_of(&taken, FILM_GAUGE_CPU_STOLEN, "").value, 80 * MS);
	/* but not the thread that reads it */
	assert_int_equal(value_of(&taken, FILM_GAUGE_RUNNABLE, "").value, 2);
	assert_int_equal(value_of(&taken, FILM_GAUGE_BLOCKED, "").value, 1);
	vec_free(&taken.all);
}

static void reads_disks(void **state)
{
	char text[] = " 254 0 vda 100 9 2000 300 50 8 4000 500 2 600 800 1 2 3 4 5 6\n"
		      " 254 1 vda1 99 9 2000 300 50 8 4000 500 2 600 800 1 2 3 4 5 6\n"
		      "   8 0 sda 1 2 3\nnonsense\n";
	struct taken taken = {0};
	const struct machine_to to = {take, &taken};
	struct machine_value value;

	(void)state;
	machine_parse_diskstats(text, is_any_disk, &to);
	assert_int_equal(taken.all.count, 4);
	value = value_of(&taken, FILM_GAUGE_DISK_READ, "vda");
	assert_int_equal(value.value, 2000 * 512);
	assert_int_equal(value.count, 100);
	assert_int_equal(value.time, 300 * MS);
	value = value_of(&taken, FILM_GAUGE_DISK_WRITE, "vda");
	assert_int_equal(value.value, 4000 * 512);
	assert_int_equal(value.count, 50);
	assert_int_equal(value.time, 500 * MS);
	assert_int_equal(value_of(&taken, FILM_GAUGE_DISK_QUEUE, "vda").value, 2);
	assert_int_equal(value_of(&taken, FILM_GAUGE_DISK_BUSY, "vda").value, 600 * MS);
	vec_free(&taken.all);
}

static void reads_the_network(void **state)
{
	char devices[] = "Inter-|   Receive            |  Transmit\n face |bytes  packets\n"
			 "    lo:    10 1 0 0 0 0 0 0  20 2 0 0 0 0 0 0\n"
			 "eth0:1:5000 50 0 0 0 0 0 0 6000 60 0 0 0 0 0 0\n  bad: 1 2\n";
	char snmp[] = "Ip: A B\nIp: 1 2\nTcp: RtoAlgorithm MaxConn OutSegs RetransSegs\n"
		      "Tcp: 1 -1 900 7\nUdp: X\nUdp: 1\n";
	struct taken taken = {0};
	const struct machine_to to = {take, &taken};
	struct machine_value value;

	(void)state;
	machine_parse_interfaces(devices, &to);
	machine_parse_snmp(snmp, &to);
	assert_int_equal(taken.all.count, 5);
	value = value_of(&taken, FILM_GAUGE_NET_RECEIVED, "eth0:1");
	assert_int_equal(value.value, 5000);
	assert_int_equal(value.count, 50);
	assert_int_equal(value_of(&taken, FILM_GAUGE_NET_SENT, "eth0:1").value, 6000);
	assert_int_equal(value_of(&taken, FILM_GAUGE_NET_SENT, "lo").count, 2);
	value = value_of(&taken, FILM_GAUGE_NET_RETRANSMITS, "");
	assert_int_equal(value.value, 7);
	assert_int_equal(value.count, 900);
	vec_free(&taken.all);
}

static void put_number(const char *folder, const char *name, const char *number)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(number, file);
	fclose(file);
}

static void make_folders(const char *top, char counters[128])
{
	static const char *const parts[] = {"mlx5_0", "mlx5_0/ports", "mlx5_0/ports/1",
					    "mlx5_0/ports/2", "mlx5_0/ports/1/counters"};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		snprintf(counters, 128, "%s/%s", top, parts[i]);
		assert_int_equal(mkdir(counters, 0700), 0);
	}
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

/* Data in words of four bytes; the second port has no counters. */
static void reads_ports(void **state)
{
	char top[] = "/tmp/ports-XXXXXX", counters[128];
	struct taken taken = {0};
	const struct machine_to to = {take, &taken};

	(void)state;
	assert_non_null(mkdtemp(top));
	make_folders(top, counters);
	put_number(counters, "port_xmit_data", "1000\n");
	put_number(counters, "port_xmit_packets", "7\n");
	put_number(counters, "port_rcv_data", "nonsense\n");
	machine_read_ports(top, &to);
	assert_int_equal(taken.all.count, 1);
	assert_int_equal(value_of(&taken, FILM_GAUGE_NET_SENT, "mlx5_0/1").value, 4000);
	assert_int_equal(value_of(&taken, FILM_GAUGE_NET_SENT, "mlx5_0/1").count, 7);
	machine_read_ports("/nowhere", &to);
	assert_int_equal(taken.all.count, 1);
	assert_int_equal(nftw(top, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
	vec_free(&taken.all);
}

static void reads_memory_and_pressure(void **state)
{
	char memory[] = "MemTotal: 1000 kB\nMemFree:   300 kB\nMemAvailable: 500 kB\n"
			"Buffers: 10 kB\nCached: 90 kB\nSwapCached: 7 kB\n";
	char vmstat[] = "nr_free_pages 5\npgsteal_kswapd 3\npgsteal_direct 2\npgsteal_anon 9\n"
			"pswpin 1\npswpout 4\nallocstall_normal 6\nallocstall_movable 1\n"
			"pgmajfault 8\nallocstall_x 1\n";
	char pressure[] = "some avg10=1.00 avg60=0.00 avg300=0.00 total=2000\n"
			  "full avg10=0.00 avg60=0.00 avg300=0.00 total=500\n";
	char cpu[] = "some avg10=1.00 avg60=0.00 avg300=0.00 total=7\nfull avg10=0 total=1\n";
	struct taken taken = {0};
	const struct machine_to to = {take, &taken};

	(void)state;
	machine_parse_meminfo(memory, &to);
	machine_parse_vmstat(vmstat, 4096, &to);
	machine_parse_pressure(pressure, FILM_GAUGE_PRESSURE_DISK, FILM_GAUGE_PRESSURE_DISK_ALL,
			       &to);
	machine_parse_pressure(cpu, FILM_GAUGE_PRESSURE_CPU, FILM_GAUGE_NOTE, &to);
	assert_int_equal(taken.all.count, 11);
	assert_int_equal(value_of(&taken, FILM_GAUGE_MEMORY_FREE, "").value, 300 * 1024);
	assert_int_equal(value_of(&taken, FILM_GAUGE_MEMORY_AVAILABLE, "").value, 500 * 1024);
	assert_int_equal(value_of(&taken, FILM_GAUGE_MEMORY_FILES, "").value, 100 * 1024);
	assert_int_equal(value_of(&taken, FILM_GAUGE_MEMORY_RECLAIMED, "").value, 5 * 4096);
	assert_int_equal(value_of(&taken, FILM_GAUGE_SWAPPED_IN, "").value, 4096);
	assert_int_equal(value_of(&taken, FILM_GAUGE_SWAPPED_OUT, "").value, 4 * 4096);
	assert_int_equal(value_of(&taken, FILM_GAUGE_MEMORY_DIRECT, "").value, 7);
	assert_int_equal(value_of(&taken, FILM_GAUGE_MAJOR_FAULTS, "").value, 8);
	assert_int_equal(value_of(&taken, FILM_GAUGE_PRESSURE_DISK, "").value, 2 * MS);
	assert_int_equal(value_of(&taken, FILM_GAUGE_PRESSURE_DISK_ALL, "").value, MS / 2);
	assert_int_equal(value_of(&taken, FILM_GAUGE_PRESSURE_CPU, "").value, 7000);
	vec_free(&taken.all);
}

static void takes_no_nonsense(void **state)
{
	static const char *const texts[] = {"",		  "\n",
					    ":",	  "cpu",
					    "cpu 1 2 3",  "a b c d e f",
					    "Tcp:\nTcp:", "some total=",
					    "x:1",	  " 1 2 3 4 5 6 7 8 9"};
	struct taken taken = {0};
	const struct machine_to to = {take, &taken};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		for (int file = 0; file < 7; file++) {
			char *text = strdup(texts[i]);

			switch (file) {
			case 0:
				machine_parse_stat(text, 1, &to);
				break;
			case 1:
				machine_parse_diskstats(text, is_any_disk, &to);
				break;
			case 2:
				machine_parse_interfaces(text, &to);
				break;
			case 3:
				machine_parse_snmp(text, &to);
				break;
			case 4:
				machine_parse_meminfo(text, &to);
				break;
			case 5:
				machine_parse_vmstat(text, 1, &to);
				break;
			default:
				machine_parse_pressure(text, 1, 2, &to);
			}
			free(text);
		}
	}
	assert_int_equal(taken.all.count, 0);
	vec_free(&taken.all);
}

struct written {
	vec(struct film_gauge) all;
	uint32_t objects;
};

static uint32_t row(void *context, const char *words)
{
	struct written *written = context;

	assert_true(*words);
	return ++written->objects;
}

static void write_one(void *context, const struct film_gauge *gauge)
{
	struct written *written = context;

	assert_true(vec_push(&written->all, *gauge));
}

static void give(struct machine_series *series, uint64_t now, const struct machine_value *values,
		 size_t count)
{
	machine_series_begin(series, now);
	for (size_t i = 0; i < count; i++)
		machine_series_add(series, &values[i]);
	machine_series_end(series);
}

static void makes_sums_into_growth(void **state)
{
	struct written written = {0};
	const struct machine_series_to to = {row, write_one, &written};
	struct machine_series *series = machine_series_new(&to);
	struct machine_value read = {.kind = FILM_GAUGE_DISK_READ, .object = "vda"};
	const uint64_t values[] = {1000, 1000, 1500, 1500, 1500, 1200, 1300};

	(void)state;
	for (size_t i = 0; i < 7; i++) {
		read.value = values[i];
		read.count = values[i] / 100;
		give(series, (i + 1) * 100 * MS, &read, 1);
	}
	machine_series_flush(series);
	/* nothing until it first read; then 500, two times nothing, a fall, and 100 */
	assert_int_equal(written.all.count, 3);
	assert_int_equal(written.all.at[0].value, 500);
	assert_int_equal(written.all.at[0].count, 5);
	assert_int_equal(written.all.at[0].end, 300 * MS);
	assert_int_equal(written.all.at[0].duration, 100 * MS);
	assert_int_equal(written.all.at[1].value, 0);
	assert_int_equal(written.all.at[1].end, 600 * MS);
	assert_int_equal(written.all.at[1].duration, 300 * MS);
	assert_int_equal(written.all.at[2].value, 100);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(written.all.at[i].object, 1);
	assert_int_equal(machine_series_refused(series), 0);
	machine_series_free(series);
	vec_free(&written.all);
}

/* The kernel adds up pressure late: of 150 ms in 100 ms some were before. */
static void spreads_what_lags(void **state)
{
	struct written written = {0};
	const struct machine_series_to to = {row, write_one, &written};
	struct machine_series *series = machine_series_new(&to);
	struct machine_value read = {.kind = FILM_GAUGE_PRESSURE_CPU, .object = ""};
	const uint64_t values[] = {1000 * MS, 1010 * MS, 1160 * MS, 1190 * MS, 1191 * MS};
	const uint64_t grown[] = {10 * MS, 100 * MS, 80 * MS, 1 * MS};

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		read.value = values[i];
		give(series, (i + 1) * 100 * MS, &read, 1);
	}
	machine_series_flush(series);
	assert_int_equal(written.all.count, sizeof(grown) / sizeof(*grown));
	for (size_t i = 0; i < sizeof(grown) / sizeof(*grown); i++)
		assert_int_equal(written.all.at[i].value, grown[i]);
	machine_series_free(series);
	vec_free(&written.all);
}

static void keeps_levels_as_long_as_they_stay(void **state)
{
	struct written written = {0};
	const struct machine_series_to to = {row, write_one, &written};
	struct machine_series *series = machine_series_new(&to);
	struct machine_value values[] = {{.kind = FILM_GAUGE_RUNNABLE, .object = ""},
					 {.kind = FILM_GAUGE_DISK_QUEUE, .object = "vda"}};
	uint64_t covered = 0;

	(void)state;
	for (size_t i = 0; i < 31; i++) {
		values[0].value = i < 20 ? 4 : 2;
		/* the device is taken out, and put in again */
		give(series, (i + 1) * 100 * MS, values, i < 10 || i > 15 ? 2 : 1);
	}
	machine_series_turn(series);
	give(series, 3200 * MS, values, 1);
	machine_series_flush(series);
	/* of at most a second each, without a gap; what was not written before the turn is lost */
	vec_foreach (&written.all, gauge) {
		assert_true(gauge->duration <= 1000 * MS);
		if (gauge->kind == FILM_GAUGE_RUNNABLE) {
			assert_int_equal(gauge->value, gauge->end <= 2000 * MS ? 4 : 2);
			covered += gauge->duration;
		}
	}
	assert_int_equal(covered, 3000 * MS);
	/* a queue of nothing, of a device that did nothing, takes no room */
	vec_foreach (&written.all, gauge)
		assert_int_equal(gauge->kind, FILM_GAUGE_RUNNABLE);
	machine_series_free(series);
	vec_free(&written.all);
}

static void refuses_too_many(void **state)
{
	struct written written = {0};
	const struct machine_series_to to = {row, write_one, &written};
	struct machine_series *series = machine_series_new(&to);
	char name[40];

	(void)state;
	machine_series_begin(series, 100 * MS);
	for (int i = 0; i < 5000; i++) {
		const struct machine_value value = {.kind = FILM_GAUGE_DISK_READ, .object = name};

		snprintf(name, sizeof(name), "disk%d", i);
		machine_series_add(series, &value);
	}
	machine_series_end(series);
	assert_int_equal(machine_series_refused(series), 5000 - 4096);
	machine_series_free(series);
	vec_free(&written.all);
}

static void adds_up_requests_by_thread(void **state)
{
	struct machine_disks disks = {0};
	struct written written = {0};

	(void)state;
	machine_disks_add(&disks, 1, 7, false, 4096, 10);
	machine_disks_add(&disks, 1, 7, false, 4096, 30);
	machine_disks_add(&disks, 1, 7, true, 512, 5);
	machine_disks_add(&disks, 2, 7, true, 512, 6);
	machine_disks_add(&disks, 1, 8, false, 100, 7);
	machine_disks_write(&disks, 1000, 1500, write_one, &written);
	assert_int_equal(written.all.count, 4);
	assert_int_equal(written.all.at[0].value, 8192);
	assert_int_equal(written.all.at[0].count, 2);
	assert_int_equal(written.all.at[0].time, 40);
	assert_int_equal(written.all.at[0].longest, 30);
	assert_int_equal(written.all.at[0].end, 1500);
	assert_int_equal(written.all.at[0].duration, 500);
	assert_int_equal(written.all.at[1].kind, FILM_GAUGE_DISK_WRITE_BY);
	/* and they are forgotten */
	machine_disks_write(&disks, 1500, 2000, write_one, &written);
	assert_int_equal(written.all.count, 4);
	machine_disks_free(&disks);
	vec_free(&written.all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_cpus),
		cmocka_unit_test(reads_disks),
		cmocka_unit_test(reads_the_network),
		cmocka_unit_test(reads_ports),
		cmocka_unit_test(reads_memory_and_pressure),
		cmocka_unit_test(takes_no_nonsense),
		cmocka_unit_test(makes_sums_into_growth),
		cmocka_unit_test(spreads_what_lags),
		cmocka_unit_test(keeps_levels_as_long_as_they_stay),
		cmocka_unit_test(refuses_too_many),
		cmocka_unit_test(adds_up_requests_by_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
