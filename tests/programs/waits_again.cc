// SPDX-License-Identifier: Apache-2.0
/* A wait with a timeout that begins anew until another thread has done its work. */
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <pthread.h>
#include <thread>

static std::mutex mutex;
static std::condition_variable changed;
static bool done;

__attribute__((noinline)) static void render()
{
	std::this_thread::sleep_for(std::chrono::milliseconds(1100));
	std::lock_guard<std::mutex> guard(mutex);
	done = true;
	changed.notify_one();
}

__attribute__((noinline)) static void wait_for_render()
{
	std::unique_lock<std::mutex> lock(mutex);

	while (!done)
		changed.wait_for(lock, std::chrono::milliseconds(250));
}

int main()
{
	std::thread renderer([] {
		pthread_setname_np(pthread_self(), "renderer");
		render();
	});
	std::thread handler([] {
		pthread_setname_np(pthread_self(), "handler");
		wait_for_render();
	});

	handler.join();
	renderer.join();
}
