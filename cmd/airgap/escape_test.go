package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/internal/ui/uitest"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/verify"
)

// evil is what another host's stderr, a pod's log or a node's name may have.
const evil = "x\x1b]52;c;AA\x07\x1b[2J\u009b2J\u202e\rfine \xff노드"

// actsOn finds what a terminal would act upon.
func actsOn(shown string) bool {
	return !utf8.ValidString(shown) || strings.ContainsFunc(shown, func(r rune) bool {
		return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r))
	})
}

// TestForeignTextIsEscaped: whatever prints it.
func TestForeignTextIsEscaped(t *testing.T) {
	report := verify.Report{
		About: verify.About{Cluster: evil, Server: evil, By: evil}, Began: time.Unix(0, 0),
		Rules:    []verify.RuleResult{{ID: "nodes-ready", Title: "Nodes are ready", Outcome: verify.Broken}},
		Findings: []verify.Finding{{Rule: "nodes-ready", Object: "Node " + evil, Saw: evil, Want: evil, Fix: evil}},
	}
	checked := preflight.Reports{{Host: evil, System: evil, Kernel: evil, Worst: preflight.Fail,
		Results: []preflight.Entry{{ID: "swap", Title: evil, Result: preflight.Result{Status: preflight.Fail, Found: evil, Want: evil, Fix: evil}}}}}
	screen := &status{Host: evil, Registry: evil, Problems: []string{evil}, Lags: []registry.Lag{{Peer: evil, Error: evil}}, Next: []string{evil}}
	ran := host.CommandError{Argv: []string{"ssh", "w1"}, Err: errors.New("exit status 1"), Tail: evil}
	for name, prints := range map[string]func(a *app) error{
		"verify":    func(a *app) error { _ = a.showVerdict(report); return nil },
		"preflight": func(a *app) error { _ = a.show(a.showAll(checked, evil)); return nil },
		"status":    func(a *app) error { return a.print(screen, screen.write) },
		"error":     func(a *app) error { a.report(advice.Add(&ran, "%s", evil)); return nil },
		"progress":  func(a *app) error { a.newProgress().Say("%s", evil); a.endProgress(); return nil },
		"log":       func(a *app) error { _, err := io.WriteString(a.stderr, evil+"\n"); return err },
	} {
		for _, format := range []string{asText, asJSON, asYAML, asJUnit, asHTML} {
			var out, errs bytes.Buffer
			a, results := newApp(strings.NewReader(""), &out, &errs)
			a.output, a.progress = format, string(ui.Auto)
			if err := errors.Join(prints(a), results.end()); err != nil {
				t.Errorf("%s as %s: %v", name, format, err)
			}
			shown := out.String() + errs.String()
			if !strings.Contains(shown, "52;c;AA") || !strings.Contains(shown, "노드") || actsOn(shown) {
				t.Errorf("%s as %s: %q", name, format, shown)
			}
		}
	}
}

// TestBarsEscapeForeignText: bars move the cursor by their own sequences, and have none of the text's.
func TestBarsEscapeForeignText(t *testing.T) {
	tty := uitest.New(t)
	p := ui.New(ui.NewEscaper(tty.File), ui.Auto)
	p.Say("said %s", evil)
	task := p.Task("task "+evil, 1, false)
	task.Add(1)
	task.End(nil)
	h := p.Host("host " + evil)
	h.Step(1, 2, "step "+evil)
	h.Now("now " + evil)
	h.End(errors.New(evil))
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
