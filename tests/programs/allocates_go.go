// SPDX-License-Identifier: Apache-2.0
// Allocates and holds known amounts in functions of their own, and prints after a collection what Go's own profile says of
// each: NAME ALLOCATED HELD, in bytes; then "ready". It ends when its standard input does.
//
//	allocates_go [off | later | stops]
//
// off: the runtime takes no samples. later: neither, and it allocates after a line of its input, and says "done". stops: it
// takes samples until a line of its input comes, and says "done".
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
func scale(count, bytes int64) float64 {
	if count == 0 || runtime.MemProfileRate <= 1 {
		return float64(bytes)
	}
	return float64(bytes) / (1 - math.Exp(-float64(bytes)/float64(count)/float64(runtime.MemProfileRate)))
}

func main() {
	in := bufio.NewReader(os.Stdin)
	if len(os.Args) > 1 && os.Args[1] == "stops" {
		small()
		fmt.Println("ready")
		in.ReadString('\n')
		runtime.MemProfileRate = 0
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
				allocated[name] += scale(r.AllocObjects, r.AllocBytes)
				held[name] += scale(r.InUseObjects(), r.InUseBytes())
				break
			}
			if !more {
				break
			}
		}
	}
	for name := range allocated {
		fmt.Printf("%s %.0f %.0f\n", name, allocated[name], held[name])
	}
	fmt.Println("ready")
	in.ReadString('\n')
}
