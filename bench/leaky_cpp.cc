// SPDX-License-Identifier: Apache-2.0
/* leaky_cpp cycle|map: see bench/leaks. */
#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <unistd.h>

#define KEPT __attribute__((noinline, noclone))

struct Node {
	std::shared_ptr<Node> other;
	std::array<char, 1000> bytes{};
};

/* Two that hold each other. */
static void KEPT planted_cycle()
{
	for (int i = 0; i < 30; i++) {
		auto one = std::make_shared<Node>(), two = std::make_shared<Node>();
		one->other = two;
		two->other = one;
	}
}

/* Sessions that never end. */
static void KEPT planted_map(int step)
{
	static std::map<std::string, std::string> sessions;
	for (int i = 0; i < 60; i++)
		sessions["session " + std::to_string(step * 60 + i)] = std::string(1000, 'x');
}

static std::vector<std::string> KEPT cache_at_start()
{
	std::vector<std::string> cache;
	for (int i = 0; i < 30000; i++)
		cache.push_back(std::string(1000, 'c'));
	return cache;
}

static void KEPT window(int step)
{
	static std::array<std::vector<std::string>, 100> slots;
	slots[step % 100].clear();
	for (int i = 0; i < 50; i++)
		slots[step % 100].push_back(std::string(10000, 'w'));
}

static void KEPT churn()
{
	for (int i = 0; i < 500; i++) {
		std::string text(100 + i * 7, 't');
		__asm__ volatile("" : : "r"(text.data()) : "memory");
	}
}

int main(int argc, char **argv)
{
	auto cache = cache_at_start();
	for (int step = 0; step < 600; step++) {
		churn();
		window(step);
		if (argc > 1 && std::string(argv[1]) == "cycle")
			planted_cycle();
		else
			planted_map(step);
		usleep(10000);
	}
	/* what is held is held to the end */
	_exit(cache.empty());
}
