package unxz

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/ulikunitz/xz"
)

func packed(t testing.TB, text string, dictionary int, block int64) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := xz.WriterConfig{DictCap: dictionary, BlockSize: block}.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func read(data []byte) (string, error) {
	r, err := NewReader(bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(r)
	if n, again := r.Read(make([]byte, 1)); err == nil && (n > 0 || !errors.Is(again, io.EOF)) {
		err = fmt.Errorf("a read after the end: %d bytes, %w", n, again)
	}
	return string(text), err
}

// TestReader reads one and several blocks, several streams, and zeros between them.
func TestReader(t *testing.T) {
	text := strings.Repeat("some package, ", 10_000)
	for name, data := range map[string][]byte{
		"one block":      packed(t, text, 1<<20, 1<<40),
		"several blocks": packed(t, text, 1<<20, 30_001),
		"two streams":    append(append(packed(t, text[:100], 1<<20, 1<<40), 0, 0, 0, 0), packed(t, text[100:], 1<<20, 30_000)...),
	} {
		got, err := read(data)
		if err != nil || got != text {
			t.Errorf("%s: %d bytes of %d, %v", name, len(got), len(text), err)
		}
		for _, cut := range []int{0, 5, 20, len(data) / 2, len(data) - 1} {
			if got, err := read(data[:cut]); err == nil && got == text {
				t.Errorf("%s: %d bytes of the file are enough", name, cut)
			}
		}
	}
	if got, err := read(packed(t, "", 1<<20, 1<<40)); err != nil || got != "" {
		t.Errorf("an empty file: %q, %v", got, err)
	}
}

// TestMemory: a block that asks for a gigabyte of memory is refused, also after others.
func TestMemory(t *testing.T) {
	small := packed(t, "small", 1<<20, 1<<40)
	large := bytes.Clone(small)
	large[12+4] = 34 // the size of the dictionary in the block header: 512 MiB
	for name, data := range map[string][]byte{"the first": large, "the second": append(small, large...)} {
		if _, err := read(data); err == nil || !strings.Contains(err.Error(), "it needs 536870912 bytes of memory") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzReader: any bytes end with an error or as content.
func FuzzReader(f *testing.F) {
	f.Add(packed(f, "text", 1<<16, 2))
	f.Fuzz(func(_ *testing.T, data []byte) {
		r, err := NewReader(bytes.NewReader(data))
		if err == nil {
			_, _ = io.Copy(io.Discard, io.LimitReader(r, 1<<20))
		}
	})
}
