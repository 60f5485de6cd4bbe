#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hostile.sh PLAIN OUT: copies the program PLAIN to OUT and gives its functions names that do harm to
# whoever shows them unescaped.
set -eu

escape=$(printf '\033')
objcopy \
	--redefine-sym "hostile_terminal=${escape}[31mred${escape}]0;title$(printf '\007\200\r')" \
	--redefine-sym "hostile_html=</script><script>alert(1)</script><img src=x onerror=\"alert('2')\">&amp;]]>" \
	--redefine-sym "hostile_folded=$(printf 'a;b 999\nnext;line 777\t%%s%%n')" \
	"$1" "$2"
