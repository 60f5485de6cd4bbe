// SPDX-License-Identifier: Apache-2.0

// Calls functions with types of the library for stackcam inspect, and prints each call with its
// arguments as JSON, one a line: {"name": …, "args": […]}
#include <array>
#include <cstdio>
#include <deque>
#include <forward_list>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

using std::string;

struct point {
	int x, y;
	string label;
};

struct empty {
};

/* -- values as JSON, as inspect shows them ----------------------------------------------------- */

template <typename T> struct json;

template <typename T> static void put(T const &value)
{
	json<T>::put(value);
}

static void quote(std::string_view text)
{
	std::putchar('"');
	for (unsigned char c : text)
		if (c == '"' || c == '\\')
			std::printf("\\%c", c);
		else if (c < ' ')
			std::printf("\\u%04x", c);
		else
			std::putchar(c);
	std::putchar('"');
}

template <typename List> static void put_list(List const &list)
{
	const char *before = "[";

	for (auto const &one : list) {
		std::fputs(before, stdout);
		put<typename List::value_type>(one);
		before = ", ";
	}
	std::fputs(*before == '[' ? "[]" : "]", stdout);
}

/* An object, if the keys can be its names. */
template <typename Map> static void put_map(Map const &map)
{
	const char *before = "{";

	for (auto const &[key, value] : map) {
		std::fputs(before, stdout);
		if constexpr (std::is_same_v<decltype(key), const string>)
			quote(key);
		else
			quote(std::to_string(key));
		std::fputs(": ", stdout);
		put(value);
		before = ", ";
	}
	std::fputs(*before == '{' ? "{}" : "}", stdout);
}

template <typename T>
requires std::is_integral_v<T>
struct json<T> {
	static void put(T value)
	{
		if constexpr (std::is_same_v<T, bool>)
			std::fputs(value ? "true" : "false", stdout);
		else
			std::printf("%s", std::to_string(value).c_str());
	}
};
template <> struct json<double> {
	static void put(double value)
	{
		std::printf("%.17g", value);
	}
};
template <> struct json<string> {
	static void put(string const &value)
	{
		quote(value);
	}
};
template <> struct json<std::string_view> {
	static void put(std::string_view value)
	{
		quote(value);
	}
};
template <> struct json<point> {
	static void put(point const &value)
	{
		std::printf("{\"x\": %d, \"y\": %d, \"label\": ", value.x, value.y);
		quote(value.label);
		std::putchar('}');
	}
};
template <> struct json<empty> {
	static void put(empty)
	{
		std::fputs("{}", stdout);
	}
};
template <> struct json<std::monostate> {
	static void put(std::monostate)
	{
		std::fputs("\"monostate\"", stdout);
	}
};
template <typename T> struct json<std::vector<T>> {
	static void put(std::vector<T> const &value)
	{
		put_list(value);
	}
};
template <typename T> struct json<std::deque<T>> {
	static void put(std::deque<T> const &value)
	{
		put_list(value);
	}
};
template <typename T> struct json<std::list<T>> {
	static void put(std::list<T> const &value)
	{
		put_list(value);
	}
};
template <typename T> struct json<std::forward_list<T>> {
	static void put(std::forward_list<T> const &value)
	{
		put_list(value);
	}
};
template <typename T> struct json<std::set<T>> {
	static void put(std::set<T> const &value)
	{
		put_list(value);
	}
};
template <typename T> struct json<std::unordered_set<T>> {
	static void put(std::unordered_set<T> const &value)
	{
		put_list(value);
	}
};
template <typename T, size_t N> struct json<std::array<T, N>> {
	static void put(std::array<T, N> const &value)
	{
		put_list(value);
	}
};
template <typename T, size_t N> struct json<std::span<T, N>> {
	static void put(std::span<T, N> value)
	{
		put_list(value);
	}
};
template <typename K, typename V> struct json<std::map<K, V>> {
	static void put(std::map<K, V> const &value)
	{
		put_map(value);
	}
};
template <typename K, typename V> struct json<std::unordered_map<K, V>> {
	static void put(std::unordered_map<K, V> const &value)
	{
		put_map(value);
	}
};
template <typename A, typename B> struct json<std::pair<A, B>> {
	static void put(std::pair<A, B> const &value)
	{
		std::fputs("{\"first\": ", stdout);
		::put(value.first);
		std::fputs(", \"second\": ", stdout);
		::put(value.second);
		std::putchar('}');
	}
};
template <typename... T> struct json<std::tuple<T...>> {
	static void put(std::tuple<T...> const &value)
	{
		const char *before = "";

		std::putchar('[');
		std::apply(
			[&before](auto const &...one) {
				((std::fputs(before, stdout), before = ", ", ::put(one)), ...);
			},
			value);
		std::putchar(']');
	}
};
template <typename T> struct json<std::optional<T>> {
	static void put(std::optional<T> const &value)
	{
		value ? ::put(*value) : (void)std::fputs("null", stdout);
	}
};
template <typename T> struct json<std::unique_ptr<T>> {
	static void put(std::unique_ptr<T> const &value)
	{
		value ? ::put(*value) : (void)std::fputs("null", stdout);
	}
};
template <typename T> struct json<std::shared_ptr<T>> {
	static void put(std::shared_ptr<T> const &value)
	{
		value ? ::put(*value) : (void)std::fputs("null", stdout);
	}
};
template <typename T> struct json<std::weak_ptr<T>> {
	static void put(std::weak_ptr<T> const &value)
	{
		::put(value.lock());
	}
};
template <typename T> static const char *name_of;
template <> const char *name_of<int> = "int";
template <> const char *name_of<double> = "double";
template <> const char *name_of<string> = "string";
template <> const char *name_of<point> = "point";
template <> const char *name_of<std::vector<string>> = "vector";
template <typename... T> struct json<std::variant<T...>> {
	static void put(std::variant<T...> const &value)
	{
		auto put_one = []<typename One>(One const &one) {
			if constexpr (std::is_same_v<One, std::monostate>) {
				::put(one);
			} else {
				std::printf("{\"%s\": ", name_of<One>);
				::put(one);
				std::putchar('}');
			}
		};

		value.valueless_by_exception() ? (void)std::fputs("null", stdout)
					       : std::visit(put_one, value);
	}
};
/* What it calls, and not what it is: the test knows it. */
template <typename R, typename... T> struct json<std::function<R(T...)>> {
	static void put(std::function<R(T...)> const &value)
	{
		auto *known = value.template target<R (*)(T...)>();

		std::fputs(!value ? "null" : known ? "\"twice\"" : "\"lambda\"", stdout);
	}
};

/* -- what is called ---------------------------------------------------------------------------- */

template <typename... T>
static void call(const char *name, void (*function)(T const &...),
		 std::type_identity_t<T> const &...value)
{
	const char *before = "";

	std::printf("{\"name\": \"%s\", \"args\": [", name);
	((std::fputs(before, stdout), before = ", ", put<T>(value)), ...);
	std::puts("]}");
	function(value...);
}
#define CALL(function, ...) call(#function, function, __VA_ARGS__)
/* All that is passed is read, for all that the compiler knows. */
template <typename... T> static void read(T const &...value)
{
	(([&value] { __asm__ volatile("" : : "r"(&value) : "memory"); }()), ...);
}
#define TAKES extern "C" __attribute__((noinline)) void

TAKES variants(std::variant<std::monostate, int, string, std::vector<string>, point> const &v,
	       std::variant<int, double> const &w)
{
	read(v, w);
}

TAKES tuples(std::tuple<int, string, double> const &t, std::pair<string, int> const &p,
	     std::tuple<empty, int> const &e, std::tuple<> const &none)
{
	read(t, p, e, none);
}

TAKES optionals(std::optional<int> const &o, std::optional<string> const &s,
		std::optional<point> const &p)
{
	read(o, s, p);
}

TAKES spans(std::span<int> const &s, std::span<int, 3> const &fixed, std::array<string, 2> const &a,
	    std::string_view const &v)
{
	read(s, fixed, a, v);
}

TAKES bits(std::vector<bool> const &b, empty const &e)
{
	read(b, e);
}

TAKES functions(std::function<int(int)> const &f, std::function<int(int)> const &g,
		std::function<int(int)> const &none)
{
	read(f, g, none);
}

TAKES pointers(std::unique_ptr<point> const &u, std::shared_ptr<string> const &s,
	       std::shared_ptr<int> const &none)
{
	read(u, s, none);
}

TAKES weak(std::weak_ptr<string> const &w, std::weak_ptr<string> const &gone)
{
	read(w, gone);
}

/* Objects, of which the address of a copy is passed, in registers and on the stack. */
extern "C" __attribute__((noinline)) void values(string s, std::vector<int> v, std::optional<int> o,
						 std::unique_ptr<point> u, std::shared_ptr<int> p,
						 std::tuple<int, long> t, int n, string last)
{
	read(s, v, o, u, p, t, n, last);
}

TAKES nested(std::vector<std::vector<int>> const &v, std::map<int, std::vector<int>> const &m,
	     std::vector<std::variant<int, string>> const &c,
	     std::list<std::tuple<string, bool>> const &l)
{
	read(v, m, c, l);
}

TAKES lists(std::list<int> const &l, std::list<string> const &s, std::forward_list<int> const &f)
{
	read(l, s, f);
}

TAKES deques(std::deque<int> const &d, std::deque<string> const &s, std::deque<int> const &none)
{
	read(d, s, none);
}

TAKES trees(std::map<string, int> const &m, std::set<int> const &s,
	    std::map<int, string> const &none)
{
	read(m, s, none);
}

TAKES hashes(std::unordered_map<string, int> const &m, std::unordered_map<int, string> const &n,
	     std::unordered_set<long> const &s)
{
	read(m, n, s);
}

static int twice(int n)
{
	return 2 * n;
}

static string name(int n)
{
	return n % 2 ? "n" + std::to_string(n)
		     : "a name of some length, number " + std::to_string(n);
}

static void call_all(int n)
{
	std::variant<std::monostate, int, string, std::vector<string>, point> v;
	std::variant<int, double> w = n;
	std::list<int> l;
	std::list<string> ls;
	std::forward_list<int> f;
	std::deque<int> d, none;
	std::deque<string> ds;
	std::map<string, int> m;
	std::set<int> s;
	std::unordered_map<string, int> um;
	std::unordered_map<int, string> un;
	std::unordered_set<long> us;
	std::vector<bool> b;
	std::vector<int> numbers;

	switch (n % 5) {
	case 1:
		v = n;
		break;
	case 2:
		v = name(n);
		break;
	case 3:
		v = std::vector<string>{"one", name(n), "a \"quoted\" \\ one\n"};
		break;
	case 4:
		v = point{n, -n, name(n)};
		break;
	}
	if (n % 2)
		w = n + 0.5;
	CALL(variants, v, w);
	CALL(tuples, {n, name(n), n / 4.0}, {name(n + 1), n}, {empty(), n}, {});
	CALL(optionals, n % 2 ? std::optional<int>(n) : std::nullopt,
	     n % 3 ? std::optional<string>(name(n)) : std::nullopt,
	     n % 4 ? std::optional<point>(point{n, 2, name(n)}) : std::nullopt);
	for (int i = 0; i < n; i++) {
		numbers.push_back(i * i);
		b.push_back(i % 3 == 0);
		l.push_back(i + n);
		ls.push_back(name(i));
		f.push_front(i);
		d.push_back(i);
		ds.push_front(name(i));
		m[name(i)] = i;
		s.insert(i * 7 % 31);
		um[name(i)] = i;
		un[i] = name(i);
		us.insert(i * 1000L);
	}
	std::array<int, 3> three = {n, n + 1, n + 2};
	CALL(spans, numbers, three, {name(n), "b"}, "view");
	CALL(bits, b, empty());
	CALL(
		functions, twice, [n](int k) { return n + k; }, nullptr);
	CALL(pointers, std::unique_ptr<point>(new point{n, 1, name(n)}),
	     std::make_shared<string>(name(n)), nullptr);
	auto owned = std::make_shared<string>(name(n));
	std::weak_ptr<string> gone = std::make_shared<string>(name(n + 1));
	CALL(weak, owned, gone);
	std::printf("{\"name\": \"values\", \"args\": [");
	put(name(n));
	std::printf(", [%d, 2], %d, ", n, n);
	put(point{n, 3, name(n)});
	std::printf(", %d, [%d, 7], %d, ", n, n, n);
	put(name(n + 1));
	std::puts("]}");
	values(name(n), {n, 2}, n, std::unique_ptr<point>(new point{n, 3, name(n)}),
	       std::make_shared<int>(n), {n, 7}, n, name(n + 1));
	CALL(nested, {{1, n}, {}, {3}}, {{n, {2, 3}}, {n + 1, {}}}, {n, name(n)},
	     {{name(n), n % 2}, {"b", true}});
	CALL(lists, l, ls, f);
	CALL(deques, d, ds, none);
	CALL(trees, m, s, {});
	CALL(hashes, um, un, us);
}

int main()
{
	for (int n : {0, 1, 2, 3, 4, 7, 13, 16, 20, 70})
		call_all(n);
	return 0;
}
