// SPDX-License-Identifier: Apache-2.0
// A server whose work is known: heavy, medium and light as 7 : 2 : 1. Its goroutines have labels; it makes
// garbage, and stacks that grow: go_server SECONDS [FILE for Go's own profile].
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime/pprof"
	"strconv"
	"sync"
	"time"
)

//go:noinline
func spin(n int) (sum uint64) {
	for i := 0; i < n; i++ {
		sum = sum*6364136223846793005 + uint64(i)
	}
	return
}

//go:noinline
func heavy(unit int) uint64 { return spin(7*unit) + 1 }

//go:noinline
func medium(unit int) uint64 { return spin(2*unit) + 1 }

//go:noinline
func light(unit int) uint64 { return spin(unit) + 1 }

//go:noinline
func garbage() (n int) {
	var keep [][]byte
	for i := 0; i < 50; i++ {
		keep = append(keep, make([]byte, 100+i*10))
	}
	return len(keep)
}

//go:noinline
func deep(n int) int {
	var room [64]int
	if n == 0 {
		return len(room)
	}
	room[n%64] = deep(n - 1)
	return room[n%64] + 1
}

const unit = 200000

func work(w http.ResponseWriter, r *http.Request) {
	pprof.Do(r.Context(), pprof.Labels("path", r.URL.Path, "tenant", "blue"), func(context.Context) {
		sum := heavy(unit) + medium(unit) + light(unit)
		fmt.Fprintln(w, sum, garbage())
		done := make(chan int)
		go func() { done <- deep(300) }()
		<-done
	})
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	http.HandleFunc("/work", work)
	go http.Serve(listener, nil)
	if len(os.Args) > 2 {
		f, _ := os.Create(os.Args[2])
		pprof.StartCPUProfile(f)
		defer pprof.StopCPUProfile()
	}
	url := "http://" + listener.Addr().String() + "/work"
	end := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	var wait sync.WaitGroup
	for i := 0; i < 4; i++ {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for time.Now().Before(end) {
				answer, err := http.Get(url)
				if err != nil {
					panic(err)
				}
				io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
			}
		}()
	}
	wait.Wait()
}
