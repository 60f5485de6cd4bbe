// SPDX-License-Identifier: Apache-2.0
/*
 * Captures a graph from two places, of which the first one's kernels take 70 % of the time, and
 * replays it as often as its first argument says, in as many threads as the second one says. At the
 * end it prints what the kernels of each place took, ns. The
 * third argument:
 *
 *	renews	makes a graph that can be launched for each replay, and destroys it afterwards
 *	keeps	the same, and does not destroy it
 *	wide	the graph has many kernels
 *
 * "asked" instead of all of that: it does what each line of its input says, and answers with a
 * line:
 *
 *	capture		another graph, after which the one before is not replayed any more
 *	replay N	N times
 *
 * In the end it prints the same.
 */
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "cuda_driver.h"
#include "program.h"

enum tag {
	FORWARD,
	BACKWARD,
};

static const struct driver_kernel gemm = {"gemm", 7000}, norm = {"norm", 3000};
static struct driver_graph *captured, *copy;
static int rounds, renews, keeps, pairs = 1;

static void launch(const struct driver_kernel *kernel)
{
	if (cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL))
		exit(1);
}

KEPT static void forward(void)
{
	driver_tag(FORWARD);
	for (int i = 0; i < pairs; i++)
		launch(&gemm);
	NO_TAIL_CALL();
}

KEPT static void backward(void)
{
	driver_tag(BACKWARD);
	for (int i = 0; i < pairs; i++)
		launch(&norm);
	NO_TAIL_CALL();
}

static void make(struct driver_graph **graph)
{
	if (cuGraphInstantiateWithFlags(graph, captured, 0))
		exit(1);
}

KEPT static void capture(void)
{
	struct driver_graph *first;

	if (cuStreamBeginCapture_v2(NULL, 0))
		exit(1);
	forward();
	backward();
	if (cuStreamEndCapture(NULL, &captured))
		exit(1);
	make(&copy);
	/* of a copy: its nodes are copies of copies */
	first = captured;
	captured = copy;
	make(&copy);
	captured = first;
}

KEPT static void replay(void)
{
	struct driver_graph *graph = copy;

	if (renews || keeps)
		make(&graph);
	if (cuGraphLaunch(graph, NULL))
		exit(1);
	if (renews && cuGraphExecDestroy(graph))
		exit(1);
	NO_TAIL_CALL();
}

static void *work(void *unused)
{
	for (int i = 0; i < rounds; i++)
		replay();
	return unused;
}

static void answer(void)
{
	char line[64];

	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (!strncmp(line, "capture", 7))
			capture();
		for (int i = !strncmp(line, "replay ", 7) ? atoi(line + 7) : 0; i > 0; i--)
			replay();
		puts("done");
		fflush(stdout);
	}
}

static void print_truth(void)
{
	struct driver_truth truth;

	driver_truth_of(&truth);
	printf("%" PRIu64 " %" PRIu64 "\n", truth.captured_ns[FORWARD],
	       truth.captured_ns[BACKWARD]);
}

int main(int argc, char **argv)
{
	int count = argc > 2 ? atoi(argv[2]) : 1;
	const char *how = argc > 3 ? argv[3] : "";
	pthread_t threads[64];

	if (argc > 1 && !strcmp(argv[1], "asked")) {
		if (cuInit(0))
			return 1;
		answer();
		print_truth();
		return 0;
	}
	rounds = argc > 1 ? atoi(argv[1]) : 1;
	renews = !strcmp(how, "renews");
	keeps = !strcmp(how, "keeps");
	if (!strcmp(how, "wide"))
		pairs = DRIVER_NODES / 2;
	if (count < 1 || count > 64 || cuInit(0))
		return 1;
	capture();
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			return 1;
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	print_truth();
	return 0;
}
