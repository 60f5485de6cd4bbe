// SPDX-License-Identifier: Apache-2.0
/*
 * Lets a device idle that cuda_driver.c stands for: steps of a kernel and of what keeps the CPU
 * from launching the next one, as the first argument names it; the second one: how many steps; the
 * third one: a file that it may write. At the end it prints, ns, what the kernels of the first
 * device took.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "cuda_driver.h"
#include "program.h"

#define STEP_MS	      60
#define SECOND_STREAM DRIVER_SECOND_DEVICE

static const struct driver_kernel gemm = {"gemm", 2000000}, tiny = {"tiny", 300},
				  beside = {"beside", STEP_MS * 1000000};
static const char *path;
static uint64_t kernels_ns;

static void launch(const struct driver_kernel *kernel, uintptr_t stream)
{
	if (cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, (void *)stream, NULL, NULL))
		exit(1);
	kernels_ns += stream < SECOND_STREAM ? kernel->ns : 0;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* -- between the steps ------------------------------------------------------------------------- */

KEPT static void decode(void)
{
	spin(STEP_MS * MILLISECOND);
	NO_TAIL_CALL();
}

static void nothing(void)
{
}

/* Kernels that are shorter than what their launches take. */
KEPT static void launch_tiny(void)
{
	for (int i = 0; i < 20000; i++)
		launch(&tiny, 1);
	NO_TAIL_CALL();
}

KEPT static void download(void)
{
	static char to[1];

	cuMemcpyDtoH_v2(to, 0x1000, (size_t)STEP_MS * 10000000);
	NO_TAIL_CALL();
}

KEPT static void pause_between(void)
{
	const struct timespec pause = {0, STEP_MS * 1000000};

	nanosleep(&pause, NULL);
	NO_TAIL_CALL();
}

KEPT static void save(void)
{
	static char block[1 << 20];
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (file < 0)
		fail(path);
	for (int i = 0; i < 16; i++)
		if (write(file, block, sizeof(block)) < 0 || fsync(file))
			fail(path);
	close(file);
	NO_TAIL_CALL();
}

KEPT static void await_second_device(void)
{
	launch(&beside, SECOND_STREAM);
	cuStreamSynchronize((void *)SECOND_STREAM);
	NO_TAIL_CALL();
}

KEPT static void run_tool(void)
{
	pid_t child = fork();

	if (!child) {
		decode();
		_exit(0);
	}
	if (child < 0 || waitpid(child, NULL, 0) < 0)
		fail("fork");
	NO_TAIL_CALL();
}

/* -- a thread that loads data ------------------------------------------------------------------ */

static pthread_mutex_t data_lock = PTHREAD_MUTEX_INITIALIZER,
		       queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_moved = PTHREAD_COND_INITIALIZER;
static int wanted, done;

static void *load_with_lock(void *unused)
{
	for (;;) {
		pthread_mutex_lock(&data_lock);
		__atomic_store_n(&done, 1, __ATOMIC_RELEASE);
		decode();
		pthread_mutex_unlock(&data_lock);
		/* the next step asks for it */
		while (__atomic_load_n(&done, __ATOMIC_ACQUIRE))
			usleep(500);
	}
	return unused;
}

KEPT static void await_lock(void)
{
	while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE))
		usleep(500);
	pthread_mutex_lock(&data_lock);
	pthread_mutex_unlock(&data_lock);
	__atomic_store_n(&done, 0, __ATOMIC_RELEASE);
	NO_TAIL_CALL();
}

static void *load_for_queue(void *unused)
{
	pthread_mutex_lock(&queue_lock);
	for (;;) {
		while (done == wanted)
			pthread_cond_wait(&queue_moved, &queue_lock);
		pthread_mutex_unlock(&queue_lock);
		decode();
		pthread_mutex_lock(&queue_lock);
		done++;
		pthread_cond_broadcast(&queue_moved);
	}
	return unused;
}

KEPT static void await_queue(void)
{
	pthread_mutex_lock(&queue_lock);
	wanted++;
	pthread_cond_broadcast(&queue_moved);
	while (done < wanted)
		pthread_cond_wait(&queue_moved, &queue_lock);
	pthread_mutex_unlock(&queue_lock);
	NO_TAIL_CALL();
}

static void start_loader(void *(*run)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, NULL) || pthread_setname_np(thread, "loader"))
		exit(1);
}

static void start_with_lock(void)
{
	start_loader(load_with_lock);
}

static void start_for_queue(void)
{
	start_loader(load_for_queue);
}

/* -- other processes --------------------------------------------------------------------------- */

static int ask, answer;
static pid_t helper;

static void end_helper(void)
{
	if (helper > 0)
		kill(helper, SIGKILL);
}

/* A child that answers each byte, when it has done that. */
static void start_helper(int from, int to, void (*before)(void))
{
	char byte;

	helper = fork();
	if (helper < 0)
		fail("fork");
	if (helper) {
		atexit(end_helper);
		return;
	}
	while (read(from, &byte, 1) == 1) {
		before();
		if (write(to, &byte, 1) != 1)
			break;
	}
	_exit(0);
}

static void start_worker(void)
{
	int there[2], back[2];

	if (pipe(there) || pipe(back))
		fail("pipe");
	start_helper(there[0], back[1], decode);
	ask = there[1];
	answer = back[0];
}

/* Over TCP of the loopback interface: the storage is slow. */
static void start_storage(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM, 0), server;

	ask = answer = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (void *)&at, size) || listen(listener, 1) ||
	    getsockname(listener, (void *)&at, &size) || connect(ask, (void *)&at, size))
		fail("socket");
	server = accept(listener, NULL, NULL);
	start_helper(server, server, pause_between);
}

KEPT static void await_helper(void)
{
	char byte = 1;

	if (write(ask, &byte, 1) != 1 || read(answer, &byte, 1) != 1)
		fail("helper");
	NO_TAIL_CALL();
}

/* Both on one CPU. */
static void start_hog(void)
{
	cpu_set_t one;
	int cpu = sched_getcpu();

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		fail("sched_setaffinity");
	helper = fork();
	if (helper < 0)
		fail("fork");
	while (!helper)
		spin(MILLISECOND);
	atexit(end_helper);
}

/* ---------------------------------------------------------------------------------------------- */

static const struct cause {
	const char *name;
	void (*start)(void), (*between)(void);
} causes[] = {
	{"tiny", nothing, launch_tiny},
	{"copy", nothing, download},
	{"compute", nothing, decode},
	{"sleep", nothing, pause_between},
	{"disk", nothing, save},
	{"device", nothing, await_second_device},
	{"tool", nothing, run_tool},
	{"lock", start_with_lock, await_lock},
	{"queue", start_for_queue, await_queue},
	{"worker", start_worker, await_helper},
	{"storage", start_storage, await_helper},
	{"hog", start_hog, decode},
	{"late", nothing, nothing},
};

int main(int argc, char **argv)
{
	const struct cause *cause = NULL;

	for (size_t i = 0; argc > 2 && i < sizeof(causes) / sizeof(causes[0]); i++)
		if (!strcmp(causes[i].name, argv[1]))
			cause = &causes[i];
	if (!cause)
		return 2;
	path = argc > 3 ? argv[3] : "/dev/null";
	/* before there are threads */
	cause->start();
	if (cuInit(0))
		return 1;
	for (int i = 0; i < atoi(argv[2]); i++) {
		launch(&gemm, 1);
		cuStreamSynchronize((void *)1);
		cause->between();
	}
	launch(&gemm, 1);
	cuStreamSynchronize((void *)1);
	printf("%" PRIu64 "\n", kernels_ns);
	return 0;
}
