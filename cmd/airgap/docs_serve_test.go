package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestDocsServed: until Ctrl-C, a browser gets the documentation in the selected language, each
// language by its file name, and nothing else.
func TestDocsServed(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	cmd := rootCommand(&app{stdout: write, stderr: io.Discard})
	cmd.SetArgs([]string{"docs", "--language", "ko"})
	ended := make(chan error, 1)
	go func() {
		err := cmd.ExecuteContext(ctx)
		write.CloseWithError(err) // ends the wait for the address
		ended <- err
	}()
	url, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url = strings.TrimSpace(url)
	for path, want := range map[string]string{"": `<html lang="ko">`, "docs.html": `<html lang="en">`, "docs.ko.html": `<html lang="ko">`, "design.md": "404"} {
		answer, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || !strings.Contains(string(page), want) {
			t.Errorf("GET /%s: %s, without %q, %v", path, answer.Status, want, err)
		}
		if policy := answer.Header.Get("Content-Security-Policy"); want != "404" && !strings.HasPrefix(policy, "default-src 'none'") {
			t.Errorf("GET /%s: policy %q", path, policy)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Ctrl-C: %v", err)
	}
}
