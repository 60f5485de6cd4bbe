// SPDX-License-Identifier: Apache-2.0
// One goroutine computes on the only P; requests wait for it.
package main

import (
	"fmt"
	"net"
	"net/http"
	"runtime"
	"time"
)

var sink uint64

//go:noinline
func grind(until time.Time) {
	for time.Now().Before(until) {
		for i := uint64(0); i < 1000000; i++ {
			sink += i * i
		}
	}
}

func main() {
	runtime.GOMAXPROCS(1)
	go func() {
		for {
			grind(time.Now().Add(time.Second))
		}
	}()
	http.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		for i := 0; i < 5; i++ {
			runtime.Gosched()
		}
		fmt.Fprint(w, "ok")
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Addr().(*net.TCPAddr).Port)
	fmt.Println("ready")
	http.Serve(l, nil)
}
