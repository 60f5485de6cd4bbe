// SPDX-License-Identifier: Apache-2.0
/*
 * Waits for a device that cuda_driver.c stands for: on a CPU in cuCtxSynchronize(), and asleep in
 * cuStreamSynchronize() and cuEventSynchronize(). The second argument: rounds, instead of a time,
 * in which kernels run on streams of their own; at the end it prints what the driver has waited,
 * ns: for a stream, for all streams, for an event, and for one that is in no stream.
 */
#include <inttypes.h>

#include "cuda_driver.h"
#include "program.h"

static const struct driver_kernel gemm = {"gemm", 4000000}, reduce = {"reduce", 1000000};

KEPT static void work(void)
{
	for (int i = 0; i < 4; i++)
		cuCtxSynchronize();
	cuStreamSynchronize(NULL);
	NO_TAIL_CALL();
}

static void launch(const struct driver_kernel *kernel, uintptr_t stream)
{
	if (cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, (void *)stream, NULL, NULL))
		exit(1);
}

KEPT static void await_stream(void)
{
	driver_tag(0);
	launch(&gemm, 5);
	launch(&reduce, 5);
	cuStreamSynchronize((void *)5);
	NO_TAIL_CALL();
}

KEPT static void await_all(void)
{
	driver_tag(1);
	launch(&gemm, 6);
	cuCtxSynchronize();
	NO_TAIL_CALL();
}

/* The event stays behind the kernel, although the stream has more to do. */
KEPT static void await_event(void)
{
	driver_tag(2);
	launch(&gemm, 8);
	cuEventRecord((void *)3, (void *)8);
	launch(&reduce, 8);
	cuEventSynchronize((void *)3);
	NO_TAIL_CALL();
}

/* The copy waits, for what the stream has to do before. */
KEPT static void download(void)
{
	static char to[1000];

	launch(&gemm, 0);
	cuMemcpyDtoH_v2(to, 0x1000, sizeof(to));
	NO_TAIL_CALL();
}

/* Nothing has put that event into a stream. */
KEPT static void await_unknown(void)
{
	driver_tag(3);
	cuEventSynchronize((void *)4);
	NO_TAIL_CALL();
}

int main(int argc, char **argv)
{
	struct driver_truth truth;

	program_begin(argc, argv);
	if (argc > 2 && cuInit(0))
		return 1;
	program_ready();
	for (int i = 0; argc > 2 && i < atoi(argv[2]); i++) {
		await_stream();
		await_all();
		await_event();
		await_unknown();
		download();
	}
	while (argc <= 2 && !program_over())
		work();
	driver_truth_of(&truth);
	if (argc > 2)
		printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", truth.waited_ns[0],
		       truth.waited_ns[1], truth.waited_ns[2], truth.waited_ns[3]);
	return 0;
}
