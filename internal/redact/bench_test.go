package redact

import (
	_ "embed"
	"io"
	"strings"
	"testing"
)

//go:embed testdata/bundle.log
var bundleLog string

// BenchmarkBundle is a support bundle's 20 MB: lines as kubelet, runtime, kernel, dnf and the API
// server write them, settings, and a few secrets.
func BenchmarkBundle(b *testing.B) {
	text := strings.Repeat(bundleLog, (20<<20)/len(bundleLog)+1)
	var book Book
	for i := range 50 {
		book.Add([]byte(strings.Repeat("secret", 30) + strings.Repeat("x", i)))
	}
	r := New(&book)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		w := r.Writer(io.Discard)
		_, _ = io.WriteString(w, text)
		_ = w.Close()
	}
}
