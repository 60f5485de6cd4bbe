// SPDX-License-Identifier: Apache-2.0
/* How explain --gpu divides a device's time: each ns belongs to one kind. */
#include "../prelude.h"

#include "film/events.h"
#include "film_build.h"
#include "query/explain/gpu.h"

#define US   1000ull
#define FROM FILM_BUILD_START
#define LAST 1000 /* us: the film ends */

static struct film_build build;
static uint32_t launcher, other, kernel, copy;

static void begin(void)
{
	build = (struct film_build){0};
	film_build_begin(&build, event_type(EVENT_GPU_LANES)->name, "count");
	launcher = film_build_thread(&build, 10, "train", 11, "launcher");
	other = film_build_thread(&build, 20, "serve", 20, "serve");
	kernel = film_build_frame(&build, "[gemm]");
	copy = film_build_frame(&build, "[copy host to device]");
	build.end = FROM + LAST * US;
}

/* On device 0, in us since the film's begin; launched: so long before it began; 0: not known. */
static struct film_work work(uint64_t from, uint64_t to, uint64_t launched)
{
	return (struct film_work){
		.end = FROM + to * US,
		.duration = (to - from) * US,
		.launched = launched * US,
		.thread = launcher,
		.name = kernel,
		.stream = 7,
		.flags = launched ? 0 : FILM_WORK_UNSAMPLED,
	};
}

static void put(struct film_work row, uint32_t flags)
{
	row.flags |= flags;
	row.name = row.flags & FILM_WORK_COPY ? copy : row.name;
	film_work(build.w, build.event, &row);
}

/* The devices of a film from one us to another; the parts of each add up to that. */
static struct explain_gpu ask(struct film *film, uint64_t from, uint64_t to)
{
	const struct filter filter = {.from = {.kind = WHEN_SINCE_START, .ns = from * US},
				      .to = {.kind = WHEN_SINCE_START, .ns = to * US}};
	struct explain_gpu gpu;
	struct fail why = {0};

	assert_int_equal(explain_gpu_make(&gpu, film, NULL, &filter, &why), 0);
	assert_int_equal(gpu.to - gpu.from, (to - from) * US);
	vec_foreach (&gpu.devices, device) {
		uint64_t sum = 0;

		for (int kind = 0; kind < EXPLAIN_GPU_KINDS; kind++)
			sum += device->ns[kind];
		assert_int_equal(sum, gpu.to - gpu.from);
	}
	return gpu;
}

/* us of each kind, of one device. */
struct parts {
	uint64_t kernels, copies, shorts, launched, not_launched, before, after, unknown;
};

static void check(const struct explain_gpu_device *device, struct parts us)
{
	assert_int_equal(device->ns[EXPLAIN_GPU_KERNELS], us.kernels * US);
	assert_int_equal(device->ns[EXPLAIN_GPU_COPIES], us.copies * US);
	assert_int_equal(device->ns[EXPLAIN_GPU_SHORT], us.shorts * US);
	assert_int_equal(device->ns[EXPLAIN_GPU_LAUNCHED], us.launched * US);
	assert_int_equal(device->ns[EXPLAIN_GPU_CPU], us.not_launched * US);
	assert_int_equal(device->ns[EXPLAIN_GPU_BEFORE], us.before * US);
	assert_int_equal(device->ns[EXPLAIN_GPU_AFTER], us.after * US);
	assert_int_equal(device->ns[EXPLAIN_GPU_UNKNOWN], us.unknown * US);
}

static void close_all(struct explain_gpu *gpu, struct film *film)
{
	explain_gpu_free(gpu);
	film_free(film);
}

static void works_at_once_count_once(void **state)
{
	struct explain_gpu gpu;
	struct film *film;

	(void)state;
	begin();
	put(work(100, 300, 10), 0);
	put(work(200, 400, 10), 0);
	put(work(250, 260, 10), 0);
	/* of the first copy, what is beside kernels; of the second one, what is beside the first */
	put(work(350, 450, 10), FILM_WORK_COPY);
	put(work(420, 470, 10), FILM_WORK_COPY);
	put(work(430, 440, 10), FILM_WORK_COPY);
	film = film_build_open(&build);
	gpu = ask(film, 0, LAST);
	assert_int_equal(gpu.devices.count, 1);
	check(&gpu.devices.at[0],
	      (struct parts){.kernels = 300, .copies = 70, .before = 100, .after = LAST - 470});
	assert_int_equal(gpu.devices.at[0].kernels, 3);
	assert_int_equal(gpu.devices.at[0].kernels_ns, 410 * US);
	assert_int_equal(gpu.devices.at[0].copies_count, 3);
	assert_int_equal(gpu.devices.at[0].copies.count, 1);
	assert_int_equal(gpu.devices.at[0].copies.at[0].ns, 70 * US);
	assert_int_equal(gpu.devices.at[0].copies.at[0].count, 2);
	close_all(&gpu, film);
}

static void gaps_are_of_the_next_launch(void **state)
{
	const struct explain_gpu_device *device;
	struct explain_gpu gpu;
	struct film *film;

	(void)state;
	begin();
	put(work(0, 100, 10), 0);
	/* too short for what a launch takes */
	put(work(119, 200, 10), 0);
	/* exactly as long as is not short */
	put(work(220, 300, 5), 0);
	/* launched before the gap began */
	put(work(400, 450, 250), 0);
	/* launched in it, and of which the launch is not known: the next one's thread is guessed */
	put(work(500, 550, 0), 0);
	put(work(600, 700, 20), 0);
	/* no launch behind it is known */
	put(work(760, 800, 0), 0);
	film = film_build_open(&build);
	gpu = ask(film, 0, LAST);
	device = &gpu.devices.at[0];
	check(device, (struct parts){.kernels = 501,
				     .shorts = 19,
				     .launched = 5 + 100 + 20,
				     .not_launched = 15 + 50 + 30,
				     .unknown = 60,
				     .after = 200});
	assert_int_equal(device->shorts, 1);
	assert_int_equal(device->longest_launched, 100 * US);
	assert_int_equal(device->unsampled, 2);
	assert_int_equal(device->launchers.count, 1);
	assert_int_equal(device->launchers.at[0].thread, launcher);
	assert_int_equal(device->launchers.at[0].ns, 95 * US);
	assert_int_equal(device->launchers.at[0].guessed, 50 * US);
	assert_false(device->launchers.at[0].is_known);
	close_all(&gpu, film);
}

static void idle_while_records_were_lost_is_unknown(void **state)
{
	struct explain_gpu gpu;
	struct film *film;

	(void)state;
	begin();
	/* two that overlap: before the first work, and into it */
	put(work(20, 60, 0), FILM_WORK_LOST);
	put(work(50, 120, 0), FILM_WORK_LOST);
	put(work(100, 200, 10), 0);
	/* within a gap, which begins 10 us before and ends as much behind */
	put(work(210, 290, 0), FILM_WORK_LOST);
	put(work(300, 400, 4), 0);
	/* within a kernel: it ran all the same */
	put(work(320, 380, 0), FILM_WORK_LOST);
	/* behind the last one, up to the end */
	put(work(900, LAST, 0), FILM_WORK_LOST);
	film = film_build_open(&build);
	gpu = ask(film, 0, LAST);
	check(&gpu.devices.at[0], (struct parts){.kernels = 200,
						 .launched = 4,
						 .not_launched = 10 + 6,
						 .before = 20,
						 .after = 500,
						 .unknown = 80 + 80 + 100});
	close_all(&gpu, film);
}

static void each_device_of_each_process_has_its_own(void **state)
{
	struct explain_gpu gpu;
	struct film *film;
	struct film_work row;

	(void)state;
	begin();
	put(work(100, 200, 10), 0);
	row = work(150, 400, 10);
	row.device = 1;
	put(row, 0);
	row = work(500, 600, 10);
	row.thread = other;
	put(row, 0);
	/* is none of the other process's time */
	put(work(700, 800, 0), FILM_WORK_LOST);
	film = film_build_open(&build);
	gpu = ask(film, 0, LAST);
	assert_int_equal(gpu.devices.count, 3);
	check(&gpu.devices.at[0],
	      (struct parts){.kernels = 100, .before = 100, .after = 700, .unknown = 100});
	assert_int_equal(gpu.devices.at[1].device, 1);
	check(&gpu.devices.at[1],
	      (struct parts){.kernels = 250, .before = 150, .after = 500, .unknown = 100});
	check(&gpu.devices.at[2], (struct parts){.kernels = 100, .before = 500, .after = 400});
	close_all(&gpu, film);
}

static void a_part_of_the_time_is_cut_out(void **state)
{
	struct explain_gpu gpu;
	struct film *film;

	(void)state;
	begin();
	put(work(0, 100, 10), 0);
	put(work(200, 300, 50), 0);
	put(work(400, 500, 10), 0);
	film = film_build_open(&build);
	/* from within a kernel up to within another one */
	gpu = ask(film, 250, 450);
	check(&gpu.devices.at[0],
	      (struct parts){.kernels = 100, .launched = 10, .not_launched = 90});
	explain_gpu_free(&gpu);
	/* the gap before the first one that is asked for has no more than its end */
	gpu = ask(film, 150, 250);
	check(&gpu.devices.at[0], (struct parts){.kernels = 50, .before = 50});
	close_all(&gpu, film);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(works_at_once_count_once),
		cmocka_unit_test(gaps_are_of_the_next_launch),
		cmocka_unit_test(idle_while_records_were_lost_is_unknown),
		cmocka_unit_test(each_device_of_each_process_has_its_own),
		cmocka_unit_test(a_part_of_the_time_is_cut_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
