package service

import (
	"bytes"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
)

// TestNotify: systemd's watchdog gets each message. Outside of systemd there is no message and no error.
func TestNotify(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	listener, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var lines bytes.Buffer
	say := func(format string, args ...any) { fmt.Fprintf(&lines, format+"\n", args...) }
	for _, at := range []string{"", socket, socket + ".none"} {
		t.Setenv("NOTIFY_SOCKET", at)
		notify("WATCHDOG=1", say)
	}
	message := make([]byte, 64)
	n, err := listener.Read(message)
	if err != nil || string(message[:n]) != "WATCHDOG=1" || strings.Count(lines.String(), "notify systemd of WATCHDOG=1: ") != 1 {
		t.Errorf("message %q, %v; lines %q", message[:n], err, &lines)
	}
}
