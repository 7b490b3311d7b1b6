package prefix_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle/prefix"
)

// TestLog: the last record of a path counts, after the text that was there before, and a cut line is ignored.
func TestLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mark")
	if err := os.WriteFile(path, []byte(`{"name":"bank"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func() (*prefix.Log, *os.File) {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		return prefix.Read(f, text, int64(len(`{"name":"bank"}`))), f
	}
	l, f := open()
	for n := range int64(3) {
		if err := l.Add("a", (n+1)<<20, []byte{byte(n)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Add("small", 5, nil); err != nil {
		t.Fatal(err)
	}
	f.Close()
	cut, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cut.WriteString("\n{\"path\":\"b\",\"byt"); err != nil {
		t.Fatal(err)
	}
	cut.Close()
	l, f = open()
	if r := l.Of("a", 10<<20); r.Bytes != 3<<20 || r.SHA256 != "02" {
		t.Errorf("%+v", r)
	}
	for path, size := range map[string]int64{"a": 3 << 20, "b": 1 << 30, "small": 100, "none": 1 << 30} {
		if r := l.Of(path, size); r.Bytes != 0 {
			t.Errorf("%s: %+v", path, r)
		}
	}
	if err := l.Add("b", 2<<20, []byte{9}); err != nil {
		t.Fatal(err)
	}
	f.Close()
	l, f = open()
	defer f.Close()
	if a, b := l.Of("a", 1<<30), l.Of("b", 1<<30); a.Bytes != 3<<20 || b.Bytes != 2<<20 {
		t.Errorf("%+v, %+v", a, b)
	}
}

// TestReader: the rest is asked for only after the bytes on the disk are verified.
func TestReader(t *testing.T) {
	sum := func(text string) []byte { s := sha256.Sum256([]byte(text)); return s[:] }
	record := func(text string) prefix.Record {
		l := prefix.Read(discard{}, nil, 0)
		if err := l.Add("x", prefix.Least, sum(text)); err != nil {
			t.Fatal(err)
		}
		return l.Of("x", 1<<30)
	}
	first := strings.Repeat("a", prefix.Least)
	for name, tc := range map[string]struct {
		disk  string
		wrong bool
	}{
		"the same bytes": {first, false},
		"other bytes":    {strings.Repeat("b", prefix.Least), true},
		"fewer bytes":    {first[:100], true},
	} {
		opened := false
		r := prefix.NewReader(strings.NewReader(tc.disk), record(first), func() (io.ReadCloser, error) {
			opened = true
			return io.NopCloser(strings.NewReader("rest")), nil
		})
		got, err := io.ReadAll(r)
		if _, wrong := errors.AsType[*prefix.DiffersError](err); wrong != tc.wrong || opened == tc.wrong || !wrong && !bytes.Equal(got, []byte(first+"rest")) {
			t.Errorf("%s: %d bytes, opened %t: %v", name, len(got), opened, err)
		}
		r.Close()
	}
}

type discard struct{}

func (discard) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }
