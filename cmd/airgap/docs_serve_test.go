package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"airgap.dev/airgap/docs"
)

// TestDocsServed: a browser gets the book that was asked for, both by their names, and
// nothing else, until Ctrl-C.
func TestDocsServed(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	cmd := (&app{stdout: write, stderr: io.Discard}).root()
	cmd.SetArgs([]string{"docs", "--language", "ko"})
	ended := make(chan error, 1)
	go func() {
		err := cmd.ExecuteContext(ctx)
		write.CloseWithError(err) // nobody waits for an address that will not come
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

// TestSpoken goes by the first variable that is set, as libc does.
func TestSpoken(t *testing.T) {
	for of, want := range map[[3]string]docs.Language{
		{}:                                  docs.English,
		{"", "", "ko_KR.UTF-8"}:             docs.Korean,
		{"", "", "ko"}:                      docs.Korean,
		{"", "", "ko.UTF-8"}:                docs.Korean,
		{"", "", "kok_IN"}:                  docs.English, // Konkani
		{"", "", "de_DE.UTF-8"}:             docs.English,
		{"", "ko_KR.eucKR", "en_US.UTF-8"}:  docs.Korean,
		{"C", "ko_KR.UTF-8", "ko_KR.UTF-8"}: docs.English,
		{"ko_KR.UTF-8@x", "C.UTF-8", "C"}:   docs.Korean,
		{"", "C.UTF-8", "ko_KR.UTF-8"}:      docs.English,
	} {
		env := map[string]string{"LC_ALL": of[0], "LC_MESSAGES": of[1], "LANG": of[2]}
		if got := spoken(func(name string) string { return env[name] }); got != want {
			t.Errorf("%v: %s, want %s", env, got, want)
		}
	}
}
