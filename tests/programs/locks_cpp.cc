// SPDX-License-Identifier: Apache-2.0
/*
 * Threads that wait for locks of which it is known who holds them: as locks.c, for C++. Prints
 * KIND WAITER HOLDER for each; HOLDER 0: it is no lock.
 */
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <functional>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

static const std::chrono::milliseconds held(20);

static std::mutex plain;
static std::recursive_mutex recursive;
static std::timed_mutex timed;
static std::shared_mutex shared;
static std::mutex of_condition;
static std::condition_variable condition;
static bool happened;

static bool waits(pid_t tid)
{
	char path[64], text[8] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", static_cast<int>(tid));
	f = fopen(path, "r");
	if (!f)
		return false;
	if (!fgets(text, sizeof(text), f))
		*text = 0;
	fclose(f);
	return !strncmp(text, "202 ", 4);
}

/* What a thread does, as "hold-KIND" or "wait-KIND"; returns its number. */
using Part = std::function<void(const std::function<void()> &)>;

static void plant(const std::string &kind, bool is_lock, Part hold, std::function<void()> wait)
{
	std::promise<void> is_held;
	std::promise<pid_t> waiter;
	pid_t numbers[2] = {0, 0};
	std::thread holder([&] {
		pthread_setname_np(pthread_self(), ("hold-" + kind).c_str());
		numbers[0] = static_cast<pid_t>(syscall(SYS_gettid));
		hold([&] {
			is_held.set_value();
			pid_t tid = waiter.get_future().get();
			while (!waits(tid))
				std::this_thread::yield();
			std::this_thread::sleep_for(held);
		});
	});
	std::thread other([&] {
		pthread_setname_np(pthread_self(), ("wait-" + kind).c_str());
		numbers[1] = static_cast<pid_t>(syscall(SYS_gettid));
		is_held.get_future().get();
		waiter.set_value(numbers[1]);
		wait();
	});

	holder.join();
	other.join();
	printf("%s %d %d\n", kind.c_str(), static_cast<int>(numbers[1]),
	       is_lock ? static_cast<int>(numbers[0]) : 0);
}

template <typename Lock> static void plant_lock(const std::string &kind, Lock &lock)
{
	plant(
		kind, true,
		[&](const std::function<void()> &while_held) {
			std::lock_guard<Lock> guard(lock);
			while_held();
		},
		[&] { std::lock_guard<Lock> guard(lock); });
}

int main()
{
	plant_lock("mutex", plain);
	plant_lock("recursive", recursive);
	plant(
		"timed", true,
		[](const std::function<void()> &while_held) {
			std::lock_guard<std::timed_mutex> guard(timed);
			while_held();
		},
		[] {
			if (timed.try_lock_for(std::chrono::seconds(100)))
				timed.unlock();
		});
	plant(
		"shared", true,
		[](const std::function<void()> &while_held) {
			std::unique_lock<std::shared_mutex> guard(shared);
			while_held();
		},
		[] { std::shared_lock<std::shared_mutex> guard(shared); });
	plant(
		"condition", false,
		[](const std::function<void()> &while_held) {
			while_held();
			std::lock_guard<std::mutex> guard(of_condition);
			happened = true;
			condition.notify_all();
		},
		[] {
			std::unique_lock<std::mutex> guard(of_condition);
			condition.wait(guard, [] { return happened; });
		});
	return 0;
}
