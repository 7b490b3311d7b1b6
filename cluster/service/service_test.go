package service

import (
	"bytes"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
)

// TestAlive: systemd's watchdog hears of each turn, and where there is none
// nothing is said.
func TestAlive(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	listener, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var said bytes.Buffer
	say := func(format string, args ...any) { fmt.Fprintf(&said, format+"\n", args...) }
	for _, at := range []string{"", socket, socket + ".none"} {
		t.Setenv("NOTIFY_SOCKET", at)
		notify("WATCHDOG=1", say)
	}
	heard := make([]byte, 64)
	n, err := listener.Read(heard)
	if err != nil || string(heard[:n]) != "WATCHDOG=1" || strings.Count(said.String(), "tell systemd WATCHDOG=1: ") != 1 {
		t.Errorf("heard %q, %v; said %q", heard[:n], err, &said)
	}
}
