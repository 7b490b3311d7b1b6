package main

import (
	"io"
	"os"
	"strings"
	"testing"
)

// TestALogOnAFullDiskStopsNothing: what another host says is read to its end, or its
// connection would be taken for lost.
func TestALogOnAFullDiskStopsNothing(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	log := &hostLog{file: full}
	defer log.Close()
	if n, err := io.Copy(struct{ io.Writer }{log}, strings.NewReader("node2: joined\n")); n != 14 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
}
