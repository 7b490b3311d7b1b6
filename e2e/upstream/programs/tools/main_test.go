package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/none" {
			w.WriteHeader(http.StatusNotFound)
		}
		fmt.Fprint(w, "body")
	}))
	defer server.Close()
	for _, tc := range []struct {
		args   []string
		status int
		stdout string
	}{
		{[]string{"get", server.URL}, 0, "body"},
		{[]string{"get", server.URL + "/none"}, 1, "body"},
		{[]string{"sleep", "1ms"}, 0, ""},
		{[]string{"sleep", "long"}, 2, ""},
		{[]string{"resolve", "127.0.0.1"}, 0, "127.0.0.1\n"},
		{nil, 2, ""},
	} {
		var stdout, stderr strings.Builder
		status := run(context.Background(), tc.args, &stdout, &stderr)
		if status != tc.status || stdout.String() != tc.stdout {
			t.Errorf("tools %v: got %d, %q, %q; want %d, %q", tc.args, status, stdout.String(), stderr.String(), tc.status, tc.stdout)
		}
		if (status == 0) != (stderr.Len() == 0) {
			t.Errorf("tools %v: got status %d and stderr %q", tc.args, status, stderr.String())
		}
	}
}
