// SPDX-License-Identifier: Apache-2.0
// Allocates and holds known amounts in functions of their own, and prints after a collection what Go's own profile says of
// each: NAME ALLOCATED HELD, in bytes; then "ready". It ends when its standard input does.
//
//	allocates_go [off | later | stops]
//
// off: the runtime takes no samples. later: neither, and it allocates after a line of its input, and says "done". stops: when
// a line of its input comes, it takes samples no more, gives back half of what small() made, allocates in leaks(), and says
// what its profile says then, by the rate that it had and, as NAME.unscaled, without one; then "done".
package main

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
)

var kept [][]byte

//go:noinline
func small() {
	for i := 0; i < 400000; i++ {
		kept = append(kept, make([]byte, 400))
	}
}

//go:noinline
func large() {
	for i := 0; i < 60; i++ {
		sink = make([]byte, 3<<20)
	}
}

//go:noinline
func leaks() {
	for i := 0; i < 100; i++ {
		kept = append(kept, make([]byte, 1<<20))
	}
}

var sink []byte

// What a record stands for, as Go's own tools scale it.
func scale(count, bytes int64, rate int) float64 {
	if count == 0 || rate <= 1 {
		return float64(bytes)
	}
	return float64(bytes) / (1 - math.Exp(-float64(bytes)/float64(count)/float64(rate)))
}

func say(suffix string, rate int) {
	runtime.GC()
	runtime.GC()
	records := make([]runtime.MemProfileRecord, 10000)
	n, _ := runtime.MemProfile(records, true)
	allocated, held := map[string]float64{}, map[string]float64{}
	for _, r := range records[:n] {
		frames := runtime.CallersFrames(r.Stack())
		for {
			frame, more := frames.Next()
			if name := strings.TrimPrefix(frame.Function, "main."); name != frame.Function && name != "main" {
				allocated[name] += scale(r.AllocObjects, r.AllocBytes, rate)
				held[name] += scale(r.InUseObjects(), r.InUseBytes(), rate)
				break
			}
			if !more {
				break
			}
		}
	}
	for name := range allocated {
		fmt.Printf("%s%s %.0f %.0f\n", name, suffix, allocated[name], held[name])
	}
}

func stop() {
	rate := runtime.MemProfileRate
	runtime.MemProfileRate = 0
	for i := 0; i < 200000; i++ {
		kept[i] = nil
	}
	leaks()
	say("", rate)
	say(".unscaled", 0)
}

func main() {
	in := bufio.NewReader(os.Stdin)
	if len(os.Args) > 1 && os.Args[1] == "stops" {
		small()
		fmt.Println("ready")
		in.ReadString('\n')
		stop()
		fmt.Println("done")
		in.ReadString('\n')
		return
	}
	if len(os.Args) > 1 {
		runtime.MemProfileRate = 0
	}
	if len(os.Args) > 1 && os.Args[1] == "later" {
		fmt.Println("ready")
		in.ReadString('\n')
		small()
		large()
		leaks()
		fmt.Println("done")
		in.ReadString('\n')
		return
	}
	small()
	large()
	leaks()
	sink = nil
	say("", runtime.MemProfileRate)
	fmt.Println("ready")
	in.ReadString('\n')
}
