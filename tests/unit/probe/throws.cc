// SPDX-License-Identifier: Apache-2.0
#include <ucontext.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace ns
{
int leaf(int a);
int throws(int a);
int passes(int a);
int safe(const char *s);

__attribute__((noinline)) int leaf(int a)
{
	return a * 5 + 2;
}

__attribute__((noinline)) int throws(int a)
{
	if (a > 3)
		throw std::runtime_error(std::to_string(a));
	return a;
}

__attribute__((noinline)) int passes(int a)
{
	std::vector<int> v(static_cast<std::size_t>(a) + 1, a);

	return throws(a) + v.back();
}

__attribute__((noinline)) int safe(const char *s)
{
	return leaf(std::atoi(s)) + 1;
}
} // namespace ns

int main(int argc, char **argv)
{
	try {
		return ns::passes(argc) + ns::safe(argv[0]);
	} catch (const std::exception &) {
		return 1;
	}
}

/* never called: that the image imports it is enough */
int switches(ucontext_t *from, ucontext_t *to)
{
	return swapcontext(from, to);
}
