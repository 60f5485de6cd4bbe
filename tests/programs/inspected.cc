// SPDX-License-Identifier: Apache-2.0

// Calls functions for stackcam inspect: texts, lists, overloads, exceptions; without an argument,
// until it is ended.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

struct order {
	int id;
	std::string customer, password;
	std::vector<int> lines;
};

volatile long sink;

int parse(int number);
int parse(std::string const &text);
int show(order const &o, std::string_view tag, std::vector<std::string> const &names,
	 std::unique_ptr<order> own, std::optional<int> some);
int held(std::map<std::string, int> const &ages, std::set<long> const &numbers,
	 std::multimap<int, order> const &orders);
int throws(int n);
int catches(int n);
extern "C" long count(long n, const char *name);

__attribute__((noinline)) int parse(int number)
{
	sink++;
	return number + 1;
}

__attribute__((noinline)) int parse(std::string const &text)
{
	sink++;
	return static_cast<int>(text.size());
}

__attribute__((noinline)) int show(order const &o, std::string_view tag,
				   std::vector<std::string> const &names,
				   std::unique_ptr<order> own, std::optional<int> some)
{
	sink++;
	return o.id + static_cast<int>(tag.size() + names.size()) + own->id + some.value_or(0);
}

__attribute__((noinline)) int held(std::map<std::string, int> const &ages,
				   std::set<long> const &numbers,
				   std::multimap<int, order> const &orders)
{
	sink++;
	return static_cast<int>(ages.size() + numbers.size() + orders.size());
}

__attribute__((noinline)) int throws(int n)
{
	if (n % 2 == 0)
		throw n;
	return n;
}

__attribute__((noinline)) int catches(int n)
{
	try {
		return throws(n);
	} catch (int) {
		return -1;
	}
}

extern "C" __attribute__((noinline)) long count(long n, const char *name)
{
	sink += name[0];
	return n + 1;
}

/* ROUNDS: of all functions; without: count() is called by two threads until the end. */
int main(int argc, char **argv)
{
	if (argc < 2) {
		auto loop = [] {
			for (long n = 0;; n++)
				count(n, "name");
		};
		std::thread other(loop);
		loop();
	}
	for (int i = 0; i < std::atoi(argv[1]); i++) {
		order o{i, "customer of some length", "hidden", {1, 2, i}};

		sink += parse(i);
		sink += parse("text" + std::to_string(i));
		sink += show(o, "tag", {"one", "two"}, std::make_unique<order>(o),
			     i % 2 ? std::optional<int>(i) : std::nullopt);
		std::set<long> numbers;
		for (long number = 0; number < 20; number++)
			numbers.insert(number);
		sink += held({{"bob", 2}, {"ann", i}, {"cy", 3}}, numbers,
			     {{5, o}, {5, {7, "another", "hidden", {}}}});
		catches(i);
		count(i, i % 2 ? "odd" : "even");
	}
	std::puts("done");
	return 0;
}
