// SPDX-License-Identifier: Apache-2.0
/*
 * Launches kernels on a device that cuda_driver.c stands for, as often as its first argument says,
 * in as many threads as the second one says, from functions with a tag of their own each. At the
 * end it prints what they took, ns, by tag. The third argument:
 *
 *	names	as many launches of kernels with NAMES names in turn, and of no others
 *	copies	as many copies of all kinds, and no kernels; what they copied is printed, too
 *	forks	a child ends as the program does, before it
 *	leaves	the program ends without what is due at its end
 *	lingers	the same, when another buffer of records has been handed over
 */
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>

#include "cuda_driver.h"
#include "program.h"

enum tag {
	FORWARD,
	BACKWARD,
	REPLAY,
	TAGS,
};

static const struct driver_kernel saxpy = {"_Z5saxpyPfPKffi", 20000}, reduce = {"reduce", 7000};
static const struct driver_graph graph = {.count = 3, .kernels = {&saxpy, &reduce, &reduce}};
static int rounds;

#define NAMES 200
static struct driver_kernel named[NAMES];

static void make_names(void)
{
	static char names[NAMES][16];

	for (int i = 0; i < NAMES; i++) {
		snprintf(names[i], sizeof(names[i]), "kernel_%d", i);
		named[i] = (struct driver_kernel){names[i], 100};
	}
}

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

KEPT static void upload(void)
{
	static char pageable[4096];

	driver_tag(FORWARD);
	if (cuMemcpyHtoDAsync_v2(0x1000, pageable, sizeof(pageable), NULL))
		exit(1);
	NO_TAIL_CALL();
}

KEPT static void download(void)
{
	static char pinned[1000];

	driver_tag(BACKWARD);
	if (cuMemcpyDtoH_v2(pinned, 0x1000, sizeof(pinned)))
		exit(1);
	NO_TAIL_CALL();
}

KEPT static void spread(void)
{
	driver_tag(REPLAY);
	if (cuMemcpyPeerAsync(0x1000, NULL, 0x2000, NULL, 500, NULL) ||
	    cuMemsetD8Async(0x1000, 0, 300, NULL))
		exit(1);
	NO_TAIL_CALL();
}

static void *copy(void *unused)
{
	for (int i = 0; i < rounds; i++) {
		upload();
		download();
		spread();
	}
	return unused;
}

static void *work_by_names(void *unused)
{
	driver_tag(FORWARD);
	for (int i = 0; i < rounds; i++)
		launch(&named[i % NAMES]);
	return unused;
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

static void await_records(void)
{
	const struct timespec pause = {0, 10000000};
	struct driver_truth truth;
	uint64_t before;

	driver_truth_of(&truth);
	before = truth.handed_over;
	for (int i = 0; i < 3000 && truth.handed_over == before; i++) {
		nanosleep(&pause, NULL);
		driver_truth_of(&truth);
	}
}

int main(int argc, char **argv)
{
	int count = argc > 2 ? atoi(argv[2]) : 1;
	const char *how = argc > 3 ? argv[3] : "";
	void *(*to_do)(void *) = !strcmp(how, "names")	  ? work_by_names
				 : !strcmp(how, "copies") ? copy
							  : work;
	struct driver_truth truth;
	pthread_t threads[64];

	rounds = argc > 1 ? atoi(argv[1]) : 1;
	if (count < 1 || count > 64 || cuInit(0))
		return 1;
	make_names();
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, to_do, NULL))
			return 1;
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	driver_truth_of(&truth);
	for (int i = 0; i < TAGS; i++)
		printf("%" PRIu64 " ", truth.kernels_ns[i]);
	for (int i = 0; i < TAGS && to_do == copy; i++)
		printf("%" PRIu64 " ", truth.copied[i]);
	printf("\n");
	fflush(stdout);
	if (!strcmp(how, "forks") && fork())
		wait(NULL);
	if (!strcmp(how, "lingers"))
		await_records();
	if (!strcmp(how, "leaves") || !strcmp(how, "lingers"))
		_exit(0);
	return 0;
}
