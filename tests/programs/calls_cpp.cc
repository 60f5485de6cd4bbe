// SPDX-License-Identifier: Apache-2.0
/*
 * C++ that has long names: templates, lambdas, virtual calls, operators, namespaces, constructors.
 */
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "calls.h"

COUNTED(area_square);
COUNTED(area_circle);
COUNTED(twice_int);
COUNTED(twice_string);
COUNTED(constructor);
COUNTED(operator_plus);
COUNTED(inner);
COUNTED(call);

namespace shapes
{
struct shape {
	virtual ~shape() = default;
	virtual long area() const = 0;
};

struct square : shape {
	KEPT explicit square(long side);
	KEPT long area() const override;
	long side;
};

struct circle : shape {
	KEPT long area() const override;
};

square::square(long side) : side(side)
{
	CALLED(constructor);
}

long square::area() const
{
	CALLED(area_square);
	return side * side;
}

long circle::area() const
{
	CALLED(area_circle);
	return 3;
}

struct point {
	long x, y;
	KEPT point operator+(const point &other) const;
};

point point::operator+(const point &other) const
{
	CALLED(operator_plus);
	return {x + other.x, y + other.y};
}
} // namespace shapes

template <class T> struct count_of;
template <> struct count_of<long> {
	static void up()
	{
		CALLED(twice_int);
	}
};
template <> struct count_of<std::string> {
	static void up()
	{
		CALLED(twice_string);
	}
};

template <class T> KEPT T twice(const T &value)
{
	count_of<T>::up();
	return value + value;
}

namespace
{
KEPT long inner(long value)
{
	CALLED(inner);
	return value - 1;
}
} // namespace

KEPT static long call_it(const std::function<long(long)> &function, long value)
{
	CALLED(call);
	return function(value) + 1;
}

int main()
{
	std::vector<std::unique_ptr<shapes::shape>> all;
	shapes::point sum{1, 2};
	long shift = 5;

	for (long i = 0; i < 10; i++) {
		if (i % 3)
			all.push_back(std::make_unique<shapes::square>(i));
		else
			all.push_back(std::make_unique<shapes::circle>());
	}
	for (const auto &shape : all)
		calls_add(static_cast<unsigned long>(shape->area()));
	for (long i = 0; i < 6; i++) {
		calls_add(static_cast<unsigned long>(twice(i)));
		calls_add(twice(std::to_string(i)).size());
		sum = sum + shapes::point{i, 1};
		calls_add(static_cast<unsigned long>(
			call_it([shift](long value) { return inner(value) + shift; }, i)));
	}
	calls_add(static_cast<unsigned long>(sum.x + sum.y));
	TELL_AS(area_square, "shapes::square::area");
	TELL_AS(area_circle, "shapes::circle::area");
	TELL_AS(constructor, "shapes::square::square");
	TELL_AS(operator_plus, "shapes::point::operator+");
	TELL_AS(call, "call_it");
	TELL_AS(inner, "(anonymous namespace)::inner");
	TELL_AS(twice_int, "twice<long>");
	TELL_AS(twice_string, "twice<std::__cxx11::basic_string<char, std::char_traits<char>, "
			      "std::allocator<char> > >");
	return calls_end();
}
