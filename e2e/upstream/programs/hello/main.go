// Hello is the lab's application: it answers every request on :8080 with the
// name of the pod that served it, so that a test sees where its traffic went.
package main

import (
	"fmt"
	"net/http"
	"os"
	"time"
)

func main() {
	name, err := os.Hostname()
	if err != nil {
		name = "unknown"
	}
	server := &http.Server{
		Addr:              ":8080",
		ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, "hello from %s\n", name)
		}),
	}
	fmt.Fprintln(os.Stderr, "hello:", server.ListenAndServe())
	os.Exit(1)
}
