// SPDX-License-Identifier: Apache-2.0
/*
 * C++ names: outer::inner::Box<int>::turn and <double>::turn spin equally long; every round throws
 * an exception from outer::thrower through outer::passed to main.
 */
#include <stdexcept>

extern "C" {
#include "program.h"
}

namespace outer
{

namespace inner
{
template <class T> struct Box {
	T value;
	KEPT void turn(T more)
	{
		value += more;
		spin(5 * MILLISECOND);
	}
};
} // namespace inner

KEPT void thrower()
{
	spin(5 * MILLISECOND);
	throw std::runtime_error("as planned");
}

KEPT void passed()
{
	thrower();
	NO_TAIL_CALL();
}

} // namespace outer

int main(int argc, char **argv)
{
	outer::inner::Box<int> whole{0};
	outer::inner::Box<double> real{0};
	unsigned long caught = 0;

	program_begin(argc, argv);
	program_ready();
	while (!program_over()) {
		whole.turn(1);
		real.turn(1.5);
		try {
			outer::passed();
		} catch (const std::exception &) {
			caught++;
		}
	}
	return caught ? 0 : 1;
}
