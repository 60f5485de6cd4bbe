// SPDX-License-Identifier: Apache-2.0
/* Types of the library, and some that are not, though they look like it. */
#include <array>
#include <functional>
#include <list>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

namespace mine
{
template <typename T> struct vector {
	T *_M_start, *_M_finish;
};
} // namespace mine

struct both {
	int a;
	long b;
};

#define KEEP(name) __asm__ volatile("" : : "r"(&(name)) : "memory")

extern "C" void choices(std::variant<int, std::string, both> const &v,
			std::tuple<char, double, int> const &t);
extern "C" void lists(std::list<both> const &l, std::map<int, std::string> const &m,
		      std::vector<bool> const &b, std::span<int, 7> const &s);
extern "C" void others(mine::vector<int> const &v, std::function<int(int)> const &f);

void choices(std::variant<int, std::string, both> const &v, std::tuple<char, double, int> const &t)
{
	KEEP(v);
	KEEP(t);
}

void lists(std::list<both> const &l, std::map<int, std::string> const &m,
	   std::vector<bool> const &b, std::span<int, 7> const &s)
{
	KEEP(l);
	KEEP(m);
	KEEP(b);
	KEEP(s);
}

void others(mine::vector<int> const &v, std::function<int(int)> const &f)
{
	KEEP(v);
	KEEP(f);
}

int main()
{
	std::array<int, 7> seven = {};

	choices("text", {'a', 1.5, 2});
	lists({}, {}, {}, seven);
	others({}, nullptr);
	return 0;
}
