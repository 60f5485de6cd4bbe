// SPDX-License-Identifier: Apache-2.0

/*
 * Prints its variables, as an object of JSON, on lines that stackcam inspect shows: of methods,
 * lambdas, templates, and containers.
 */
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#define TRUTH(text, ...) std::printf("{\"place\": " text "}\n", __VA_ARGS__)

namespace shop
{

struct base {
	int key;
};

struct order : base {
	std::string name;
	std::vector<int> lines;
	std::unique_ptr<order> next;

	__attribute__((noinline)) int sum(int limit) const
	{
		int found = 0;

		for (int line : lines) {
			found += line;
			if (found > limit)
				TRUTH("\"method\", \"found\": %d, \"line\": %d", found, line);
		}
		return found;
	}
};

template <typename T> __attribute__((noinline)) T twice(T value)
{
	T more = value + value;

	TRUTH("\"template\", \"value\": %d, \"more\": %d", int(value), int(more));
	return more;
}

} // namespace shop

int main(int argc, char **argv)
{
	int n = argc > 1 ? std::atoi(argv[1]) : 3;
	long all = 0;

	for (int i = 0; i < n; i++) {
		auto next = std::make_unique<shop::order>();
		shop::order order;

		order.key = i;
		order.name = "order " + std::to_string(i);
		order.lines = {i, i + 1, i + 2};
		next->key = i + 100;
		order.next = std::move(next);
		auto add = [&](int much) {
			int sum = much + i;
			TRUTH("\"lambda\", \"much\": %d, \"sum\": %d", much, sum);
			return sum;
		};
		all += order.sum(i) + shop::twice(i) + shop::twice(static_cast<long>(i) + 1) +
		       add(7);
		TRUTH("\"main\", \"n\": %d, \"i\": %d", n, i);
	}
	return all < 0;
}
