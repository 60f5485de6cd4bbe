// SPDX-License-Identifier: Apache-2.0
/*
 * Programs that are slow for a reason that is known: "cases SECONDS CASE [FILE]". In each the
 * thread "handler" is the one that is slow, and what makes it slow has a telling name.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

#include "program.h"

static pthread_mutex_t orders_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t stock_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_filled = PTHREAD_COND_INITIALIZER;
static pthread_cond_t job_done = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t both_hold;
static unsigned int queued, done;
static int file = -1, peer = -1;
static const char *path;

static void start(const char *name, void *(*body)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, body, NULL))
		exit(1);
	pthread_setname_np(thread, name);
}

static void sleep_ms(long ms)
{
	const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

static bool is_over(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > program_end.tv_sec ||
	       (now.tv_sec == program_end.tv_sec && now.tv_nsec > program_end.tv_nsec);
}

/* A lock that is held long: by a thread that writes its log under it. */

KEPT static void flush_log(void)
{
	pthread_mutex_lock(&orders_lock);
	sleep_ms(80);
	pthread_mutex_unlock(&orders_lock);
}

static void *flusher(void *unused)
{
	while (!is_over()) {
		flush_log();
		sleep_ms(20);
	}
	return unused;
}

KEPT static void take_order(void)
{
	pthread_mutex_lock(&orders_lock);
	spin(MILLISECOND);
	pthread_mutex_unlock(&orders_lock);
}

static void *lock_handler(void *unused)
{
	while (!is_over()) {
		take_order();
		sleep_ms(1);
	}
	return unused;
}

static void run_lock(void)
{
	start("flusher", flusher);
	start("handler", lock_handler);
}

/* Its own code is slow. */

KEPT static void parse_order(void)
{
	spin(20 * MILLISECOND);
	NO_TAIL_CALL();
}

KEPT static void price_order(void)
{
	spin(2 * MILLISECOND);
	NO_TAIL_CALL();
}

static void *burn_handler(void *unused)
{
	while (!is_over()) {
		parse_order();
		price_order();
		sleep_ms(2);
	}
	return unused;
}

static void run_burn(void)
{
	start("handler", burn_handler);
}

/* Two threads that hold what the other one waits for. */

KEPT static void sell(void)
{
	pthread_mutex_lock(&orders_lock);
	pthread_barrier_wait(&both_hold);
	pthread_mutex_lock(&stock_lock);
	NO_TAIL_CALL();
}

KEPT static void restock(void)
{
	pthread_mutex_lock(&stock_lock);
	pthread_barrier_wait(&both_hold);
	pthread_mutex_lock(&orders_lock);
	NO_TAIL_CALL();
}

static void *seller(void *unused)
{
	sell();
	return unused;
}

static void *restocker(void *unused)
{
	restock();
	return unused;
}

static void run_deadlock(void)
{
	pthread_barrier_init(&both_hold, NULL, 2);
	start("handler", seller);
	start("restocker", restocker);
}

/* A pool with too few threads: jobs of others are in front. */

KEPT static void serve_job(void)
{
	spin(5 * MILLISECOND);
	NO_TAIL_CALL();
}

static void *pool_worker(void *unused)
{
	while (!is_over()) {
		pthread_mutex_lock(&queue_lock);
		while (!queued)
			pthread_cond_wait(&queue_filled, &queue_lock);
		queued--;
		pthread_mutex_unlock(&queue_lock);
		serve_job();
		pthread_mutex_lock(&queue_lock);
		done++;
		pthread_cond_broadcast(&job_done);
		pthread_mutex_unlock(&queue_lock);
	}
	return unused;
}

/* Jobs are done in their order: that with the number of those that were there before. */
KEPT static void submit_and_wait(void)
{
	unsigned int number;

	pthread_mutex_lock(&queue_lock);
	number = done + ++queued;
	pthread_cond_signal(&queue_filled);
	while (done < number && !is_over())
		pthread_cond_wait(&job_done, &queue_lock);
	pthread_mutex_unlock(&queue_lock);
}

static void *pool_handler(void *unused)
{
	while (!is_over())
		submit_and_wait();
	return unused;
}

static void run_pool(void)
{
	start("pool-1", pool_worker);
	for (int i = 0; i < 4; i++)
		start("handler", pool_handler);
}

/* A file that is slow to reach the disk. */

KEPT static void save_order(void)
{
	static char block[1 << 20];

	for (int i = 0; i < 16; i++) {
		memset(block, i + (int)time(NULL), sizeof(block));
		if (pwrite(file, block, sizeof(block), (off_t)i * (off_t)sizeof(block)) < 0)
			exit(1);
	}
	fsync(file);
	NO_TAIL_CALL();
}

static void *disk_handler(void *unused)
{
	while (!is_over())
		save_order();
	return unused;
}

static void run_fsync(void)
{
	file = open(path, O_CREAT | O_RDWR, 0644);
	if (file < 0)
		exit(1);
	start("handler", disk_handler);
}

/* A service that it asks is slow. */

KEPT static void find_order(int client)
{
	char question;

	while (read(client, &question, 1) == 1) {
		sleep_ms(50);
		if (write(client, &question, 1) != 1)
			break;
	}
	exit(0);
}

KEPT static void ask_downstream(void)
{
	char answer = 1;

	if (write(peer, &answer, 1) != 1 || read(peer, &answer, 1) != 1)
		exit(1);
}

static void *downstream_handler(void *unused)
{
	while (!is_over())
		ask_downstream();
	return unused;
}

static int listen_at(struct sockaddr_in *address, int backlog)
{
	socklen_t size = sizeof(*address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	*address = (struct sockaddr_in){.sin_family = AF_INET,
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (listener < 0 || bind(listener, (struct sockaddr *)address, size) ||
	    listen(listener, backlog) || getsockname(listener, (struct sockaddr *)address, &size))
		exit(1);
	return listener;
}

static void run_downstream(void)
{
	struct sockaddr_in address;
	int listener = listen_at(&address, 8);

	if (!fork())
		find_order(accept(listener, NULL, NULL));
	peer = socket(AF_INET, SOCK_STREAM, 0);
	if (peer < 0 || connect(peer, (struct sockaddr *)&address, sizeof(address)))
		exit(1);
	printf("peer %u\n", ntohs(address.sin_port));
	start("handler", downstream_handler);
}

/* A server that takes no connections for so long that its queue is full. */

static struct sockaddr_in full;

KEPT static void connect_to_full(void)
{
	int client = socket(AF_INET, SOCK_STREAM, 0);

	connect(client, (struct sockaddr *)&full, sizeof(full));
	close(client);
}

static void *accept_handler(void *unused)
{
	connect_to_full();
	return unused;
}

static void run_accept(void)
{
	listen_at(&full, 0);
	for (int i = 0; i < 4; i++) {
		int client = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

		connect(client, (struct sockaddr *)&full, sizeof(full));
	}
	printf("peer %u\n", ntohs(full.sin_port));
	start("handler", accept_handler);
}

/* Another process is slow to write into a pipe, or never does. */

static int parts[2];

KEPT static void make_part(long ms)
{
	sleep_ms(ms);
	NO_TAIL_CALL();
}

KEPT static void take_part(void)
{
	char part;

	if (read(parts[0], &part, 1) != 1)
		exit(1);
	NO_TAIL_CALL();
}

static void *pipe_handler(void *unused)
{
	while (!is_over())
		take_part();
	return unused;
}

static void begin_pipe(long ms)
{
	if (!parts[1] && pipe(parts))
		exit(1);
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pthread_setname_np(pthread_self(), "producer");
		close(parts[0]);
		alarm((unsigned int)program_seconds + 1);
		do
			make_part(ms);
		while (write(parts[1], "", 1) == 1);
		_exit(0);
	}
	start("handler", pipe_handler);
}

static void run_pipe(void)
{
	begin_pipe(80);
}

static void run_hang(void)
{
	begin_pipe(1000000);
}

/* The same of a pipe that has a name. */
static void run_fifo(void)
{
	if (mkfifo(path, 0600) || (parts[0] = open(path, O_RDONLY | O_NONBLOCK)) < 0 ||
	    (parts[1] = open(path, O_WRONLY)) < 0 || fcntl(parts[0], F_SETFL, 0))
		exit(1);
	begin_pipe(1000000);
}

/* A service that does not answer, for which there is a timeout. */

KEPT static void ask_in_vain(void)
{
	char answer;

	if (recv(peer, &answer, 1, 0) != -1)
		exit(1);
	NO_TAIL_CALL();
}

static void *timeout_handler(void *unused)
{
	while (!is_over()) {
		ask_in_vain();
		spin(2 * MILLISECOND);
	}
	return unused;
}

static void run_timeout(void)
{
	const struct timeval time = {.tv_usec = 300000};
	struct sockaddr_in address;

	listen_at(&address, 8);
	peer = socket(AF_INET, SOCK_STREAM, 0);
	if (peer < 0 || connect(peer, (struct sockaddr *)&address, sizeof(address)) ||
	    setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)))
		exit(1);
	start("handler", timeout_handler);
}

/* It waits for its own timer. */

static int timer;

KEPT static void await_tick(void)
{
	uint64_t ticks;

	if (read(timer, &ticks, sizeof(ticks)) != sizeof(ticks))
		exit(1);
	NO_TAIL_CALL();
}

static void *timer_handler(void *unused)
{
	while (!is_over())
		await_tick();
	return unused;
}

static void run_timer(void)
{
	const struct itimerspec time = {.it_interval.tv_nsec = 50000000, .it_value.tv_nsec = 1};

	timer = timerfd_create(CLOCK_MONOTONIC, 0);
	if (timer < 0 || timerfd_settime(timer, 0, &time, NULL))
		exit(1);
	start("handler", timer_handler);
}

/* Another process wants the same CPU. */

KEPT static void make_backup(void)
{
	for (;;)
		spin(MILLISECOND);
}

static void run_neighbour(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
	for (int i = 0; i < 3; i++)
		if (!fork()) {
			pthread_setname_np(pthread_self(), "backup");
			alarm((unsigned int)program_seconds + 1);
			make_backup();
		}
	start("handler", burn_handler);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"lock", run_lock},	{"burn", run_burn},	      {"deadlock", run_deadlock},
	{"pool", run_pool},	{"fsync", run_fsync},	      {"downstream", run_downstream},
	{"accept", run_accept}, {"neighbour", run_neighbour}, {"pipe", run_pipe},
	{"hang", run_hang},	{"fifo", run_fifo},	      {"timeout", run_timeout},
	{"timer", run_timer},
};

int main(int argc, char **argv)
{
	size_t i, count = sizeof(cases) / sizeof(cases[0]);

	program_begin(argc, argv);
	path = argc > 3 ? argv[3] : "case.data";
	for (i = 0; i < count; i++)
		if (argc > 2 && !strcmp(argv[2], cases[i].name))
			break;
	if (i == count)
		return 2;
	cases[i].run();
	program_ready();
	while (!is_over())
		sleep_ms(10);
	_exit(0);
}
