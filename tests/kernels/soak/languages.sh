#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# languages.sh SECONDS: programs in Go, Python (asyncio, uvloop) and Java beside one another, each of which compares what it does.
# Prints what each ended with, and its last line.
waits_go-stripped "$1" >go.txt 2>&1 &
go=$!
python3 /usr/inject/echoes.py asyncio "$1" >asyncio.txt 2>&1 &
asyncio=$!
python3 /usr/inject/echoes.py uvloop "$1" >uvloop.txt 2>&1 &
uvloop=$!
/usr/java/bin/java -Xmx64m -cp /usr/java Churns "$1" >java.txt 2>&1 &
java=$!
for name in go asyncio uvloop java; do
	eval "wait \$$name"
	echo "$name $? $(tail -n 1 $name.txt)"
done
