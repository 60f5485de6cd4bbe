// SPDX-License-Identifier: Apache-2.0
/*
 * C++ exceptions: thrown through 1 to 10 frames, some with destructors; caught in the middle and
 * thrown again; thrown while a destructor's caller calls on; caught by a function that goes on
 * calling. A return probe on any frame between throw and catch would end the program.
 */
#include <stdexcept>

#include "calls.h"

COUNTED(thrower);
COUNTED(passes);
COUNTED(catches);
COUNTED(rethrows);
COUNTED(leaves);
COUNTED(cleans);
COUNTED(nested);
COUNTED(after);
COUNTED(ends);

struct guard {
	explicit guard(unsigned long value) : value(value)
	{
	}
	KEPT ~guard();
	unsigned long value;
};

KEPT static void cleans_up(unsigned long value)
{
	CALLED(cleans);
	calls_add(value);
}

guard::~guard()
{
	CALLED(ends);
	cleans_up(value);
	NO_TAIL_CALL();
}

KEPT static void thrower(int value)
{
	CALLED(thrower);
	throw std::runtime_error(std::to_string(value));
}

KEPT static void passes(int depth, int value)
{
	CALLED(passes);
	if (depth <= 1) {
		thrower(value);
	} else if (depth & 1) {
		guard here(static_cast<unsigned long>(depth));
		passes(depth - 1, value);
	} else {
		passes(depth - 1, value);
	}
	NO_TAIL_CALL();
}

KEPT static void after(int value)
{
	CALLED(after);
	calls_add(static_cast<unsigned long>(value));
}

KEPT static void catches(int depth, int value)
{
	CALLED(catches);
	try {
		passes(depth, value);
	} catch (const std::exception &problem) {
		after(std::stoi(problem.what()));
	}
	after(depth);
	NO_TAIL_CALL();
}

KEPT static void rethrows(int depth, int value)
{
	CALLED(rethrows);
	try {
		passes(depth, value);
	} catch (const std::runtime_error &) {
		after(-1);
		throw;
	}
}

/* Two frames catch the same exception, one behind the other. */
KEPT static void nested(int depth, int value)
{
	CALLED(nested);
	try {
		rethrows(depth, value);
	} catch (const std::exception &problem) {
		catches(2, value + 1);
		after(std::stoi(problem.what()));
	}
}

/* What is not caught here goes through leaves() by another type. */
KEPT static void leaves(int value)
{
	CALLED(leaves);
	try {
		passes(3, value);
	} catch (const std::logic_error &) {
		after(-100);
	}
}

int main()
{
	for (int round = 0; round < 5; round++) {
		for (int depth = 1; depth <= 10; depth++)
			catches(depth, depth * 3 + round);
		nested(4, round);
		try {
			leaves(round);
		} catch (...) {
			after(1000);
		}
	}
	TELL(thrower);
	TELL(passes);
	TELL(catches);
	TELL(rethrows);
	TELL(leaves);
	TELL(nested);
	TELL(after);
	TELL_AS(cleans, "cleans_up");
	TELL_AS(ends, "guard::~guard");
	return calls_end();
}
