package main

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/exitcode"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/internal/ui/uitest"
)

// TestResultStaysOnTheTerminal reads a bundle with progress bars on a real terminal: the result must
// be visible at the end.
func TestResultStaysOnTheTerminal(t *testing.T) {
	f := bundletest.New(t)
	public, err := bundle.MarshalPublicKey(&f.Key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(t.TempDir(), "key.pub")
	if err := host.WriteFile(key, public, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		args []string
		code int
		want []string // in this order, at the end of the screen
	}{
		"result": {[]string{"inspect", f.Dir, "--full"}, exitcode.OK, []string{"done", "every byte verified", "files "}},
		"import": {[]string{"registry", "import", f.Dir, "--store", t.TempDir()}, exitcode.OK, []string{"done", "test is in the store"}},
	} {
		t.Run(name, func(t *testing.T) {
			tty := uitest.New(t)
			if code := run(t.Context(), append(tc.args, "--require-key", key), tty.File, tty.File, tty.File); code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			screen := tty.Screen()
			if !strings.Contains(tty.Text(), "\x1b[") {
				t.Errorf("no progress bar:\n%q", tty.Text())
			}
			rest := screen
			for _, want := range tc.want {
				_, after, found := strings.Cut(rest, want)
				if !found {
					t.Fatalf("%q is not in its place:\n%s", want, screen)
				}
				rest = after
			}
		})
	}
}

// TestErrorStaysOnTheTerminal: the error is visible after a failed progress bar.
func TestErrorStaysOnTheTerminal(t *testing.T) {
	tty := uitest.New(t)
	a := &app{stdout: tty.File, stderr: tty.File, progress: "auto"}
	a.newProgress().Task("read", 5, true).End(errors.New("gone"))
	if code := a.report(errors.New("the stick is gone")); code != exitcode.Failed {
		t.Errorf("exit code %d", code)
	}
	if screen := tty.Screen(); !strings.HasSuffix(screen, "airgap: error: the stick is gone\n") {
		t.Errorf("the error is not last:\n%s", screen)
	}
}

// TestHostsStayOnTheTerminal: a line with the result of each host stays visible.
func TestHostsStayOnTheTerminal(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	tty := uitest.New(t)
	a := &app{stderr: tty.File, progress: "auto"}
	p := a.newProgress()
	good, bad := p.Host("node2"), p.Host("node3")
	good.Step(1, 2, "Install the packages")
	tty.Await(t, "Install the packages")
	bad.Now("waits for the host to come back")
	tty.Await(t, "come back")
	bad.End(errors.New("no disk\nat all"))
	good.End(nil)
	a.endProgress()
	if screen := strings.TrimSpace(tty.Screen()); screen != "1 of 2 hosts done, 1 failed\nFAILED  node3  0s  no disk\ndone    node2  0s" {
		t.Errorf("left on the screen:\n%s", screen)
	}
}

// TestTableStaysInPlace redraws a table of rules. A line above the table stays, the table does not.
func TestTableStaysInPlace(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	tty := uitest.New(t)
	a := &app{stderr: tty.File, progress: "auto"}
	p := a.newProgress()
	table := p.Table()
	table.Show("not yet", []ui.Line{{Mark: "ok", Tone: ui.Good, Name: "nodes", Text: "Nodes are Ready"}, {Mark: "broken", Tone: ui.Bad, Name: "pods", Text: "Pod a: " + strings.Repeat("long ", 50)}})
	tty.Await(t, "broken  pods   Pod a: long long")
	p.Say("node2 is gone")
	table.Show("all well", []ui.Line{{Mark: "ok", Tone: ui.Good, Name: "nodes", Text: "Nodes are Ready"}, {Mark: "ok", Tone: ui.Good, Name: "pods", Text: "Pods run"}})
	tty.Await(t, "Pods run")
	table.End()
	a.endProgress()
	if screen := tty.Screen(); screen != "node2 is gone\n" {
		t.Errorf("left on the screen:\n%s", screen)
	}
	for line := range strings.Lines(tty.Text()) {
		if shown := uitest.Movement.ReplaceAllString(strings.TrimSpace(line), ""); len([]rune(shown)) > 110 {
			t.Errorf("%d columns on a terminal of 110: %s", len(shown), shown)
		}
	}
	if strings.Contains(tty.Text(), "\x1b[32m") {
		t.Error("colors despite NO_COLOR")
	}
	for _, format := range []ui.Format{ui.Auto, ui.Bars, ui.Plain, ui.JSON} {
		if ui.New(io.Discard, format).Table() != nil {
			t.Errorf("%s draws a table without a terminal", format)
		}
	}
}
