// SPDX-License-Identifier: Apache-2.0
/*
 * Launches kernels on a device that cuda_driver.c stands for, as often as its first argument says,
 * in as many threads as the second one says, from functions with a tag of their own each. At the
 * end it prints what they took, ns, by tag.
 */
#include <inttypes.h>
#include <pthread.h>

#include "cuda_driver.h"
#include "program.h"

enum tag {
	FORWARD,
	BACKWARD,
	REPLAY,
	TAGS,
};

static const struct driver_kernel saxpy = {"_Z5saxpyPfPKffi", 20000}, reduce = {"reduce", 7000};
static const struct driver_graph graph = {3, {&saxpy, &reduce, &reduce}};
static int rounds;

static void launch(const struct driver_kernel *kernel)
{
	if (cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL))
		exit(1);
}

KEPT static void forward(void)
{
	driver_tag(FORWARD);
	launch(&saxpy);
	launch(&saxpy);
	NO_TAIL_CALL();
}

KEPT static void backward(void)
{
	driver_tag(BACKWARD);
	launch(&saxpy);
	launch(&reduce);
	NO_TAIL_CALL();
}

KEPT static void replay(void)
{
	driver_tag(REPLAY);
	if (cuGraphLaunch(&graph, NULL))
		exit(1);
	NO_TAIL_CALL();
}

static void *work(void *unused)
{
	for (int i = 0; i < rounds; i++) {
		forward();
		backward();
		replay();
	}
	return unused;
}

int main(int argc, char **argv)
{
	int count = argc > 2 ? atoi(argv[2]) : 1;
	struct driver_truth truth;
	pthread_t threads[64];

	rounds = argc > 1 ? atoi(argv[1]) : 1;
	if (count < 1 || count > 64 || cuInit(0))
		return 1;
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			return 1;
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	driver_truth_of(&truth);
	for (int i = 0; i < TAGS; i++)
		printf("%" PRIu64 " ", truth.kernels_ns[i]);
	printf("\n");
	return 0;
}
