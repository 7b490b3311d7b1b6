package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/status"
	"airgap.dev/airgap/cluster/verification"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/internal/ui/uitest"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/verify/result"
)

// TestForeignTextIsEscaped: every kind of output escapes text from other hosts.
func TestForeignTextIsEscaped(t *testing.T) {
	report := result.Report{
		About: result.About{Cluster: uitest.Evil, Server: uitest.Evil, By: uitest.Evil}, Began: time.Unix(0, 0),
		Rules:    []result.RuleResult{{ID: "nodes-ready", Title: "Nodes are ready", Outcome: result.Broken}},
		Findings: []result.Finding{{Rule: "nodes-ready", Object: "Node " + uitest.Evil, Saw: uitest.Evil, Want: uitest.Evil, Fix: uitest.Evil}},
	}
	checked := preflight.Reports{{Host: uitest.Evil, System: uitest.Evil, Kernel: uitest.Evil, Worst: preflight.Fail,
		Results: []preflight.Entry{{ID: "swap", Title: uitest.Evil, Result: preflight.Result{Status: preflight.Fail, Found: uitest.Evil, Want: uitest.Evil, Fix: uitest.Evil}}}}}
	screen := &status.Status{Host: uitest.Evil, Registry: uitest.Evil, Problems: []string{uitest.Evil}, Lags: []registry.Lag{{Peer: uitest.Evil, Error: uitest.Evil}}, Next: []string{uitest.Evil}}
	ran := host.CommandError{Argv: []string{"ssh", "w1"}, Err: errors.New("exit status 1"), Tail: uitest.Evil}
	for name, prints := range map[string]func(a *app) error{
		"verify":    func(a *app) error { _ = a.finishVerdict(verification.Outcome{Report: report}, nil); return nil },
		"preflight": func(a *app) error { _ = a.show(hostcheck.AllFailed(checked, uitest.Evil)); return nil },
		"status":    func(a *app) error { return a.print(screen, screen.Write) },
		"error":     func(a *app) error { a.report(advice.Add(&ran, "%s", uitest.Evil)); return nil },
		"progress":  func(a *app) error { a.newProgress().Say("%s", uitest.Evil); a.endProgress(); return nil },
		"log":       func(a *app) error { _, err := io.WriteString(a.stderr, uitest.Evil+"\n"); return err },
	} {
		for _, format := range []string{asText, asJSON, asYAML, asJUnit, asHTML} {
			var out, errs bytes.Buffer
			a, results := newApp(strings.NewReader(""), &out, &errs)
			a.output, a.progress = format, string(ui.Auto)
			if err := errors.Join(prints(a), results.end()); err != nil {
				t.Errorf("%s as %s: %v", name, format, err)
			}
			shown := out.String() + errs.String()
			if !strings.Contains(shown, "52;c;AA") || !strings.Contains(shown, "노드") || uitest.ActsOn(shown) {
				t.Errorf("%s as %s: %q", name, format, shown)
			}
		}
	}
}

// TestBarsEscapeForeignText: progress bars use escape sequences, but none from foreign text.
func TestBarsEscapeForeignText(t *testing.T) {
	tty := uitest.New(t)
	p := ui.New(ui.NewEscaper(tty.File), ui.Auto)
	p.Say("said %s", uitest.Evil)
	task := p.Task("task "+uitest.Evil, 1, false)
	task.Add(1)
	task.End(nil)
	h := p.Host("host " + uitest.Evil)
	h.Step(1, 2, "step "+uitest.Evil)
	h.Now("now " + uitest.Evil)
	h.End(errors.New(uitest.Evil))
	p.Close()
	tty.Await(t, "FAILED")
	tty.Screen()
	for _, bad := range []string{"\x1b]", "\x07", "\x1b[2J", "\u009b", "\u202e", "\rfine", "\xff"} {
		if strings.Contains(tty.Text(), bad) {
			t.Errorf("the terminal gets %q:\n%q", bad, tty.Text())
		}
	}
	for _, want := range []string{"said x", "task x", "host x"} {
		if !strings.Contains(tty.Text(), want+`\u001b]52`) {
			t.Errorf("%q is not shown:\n%q", want, tty.Text())
		}
	}
}
