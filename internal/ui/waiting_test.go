package ui_test

import (
	"bytes"
	"strings"
	"sync/atomic"
	"testing"

	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/internal/ui/uitest"
)

// TestWaiting: on a terminal the text changes in its line, until stop. Elsewhere nothing is shown.
func TestWaiting(t *testing.T) {
	tty := uitest.New(t)
	var of atomic.Value
	of.Store("1 of 2")
	p := ui.New(tty.File, ui.Auto)
	stop, live := ui.Waiting(p, func() string { return of.Load().(string) + "; waiting for node2\x1b[2J" })
	tty.Await(t, "1 of 2; waiting for node2\\u001b[2J")
	of.Store("2 of 2")
	tty.Await(t, "2 of 2; waiting")
	stop()
	p.Close()
	if left := tty.Screen(); !live || strings.Contains(left, "waiting") {
		t.Errorf("live: %t; the screen has %q", live, left)
	}
	var w bytes.Buffer
	for _, format := range []ui.Format{ui.Auto, ui.Plain, ui.JSON} {
		p := ui.New(&w, format)
		stop, live := ui.Waiting(p, func() string { return "text" })
		stop()
		p.Close()
		if live || w.Len() > 0 {
			t.Errorf("%s: live: %t, %q", format, live, &w)
		}
	}
}
