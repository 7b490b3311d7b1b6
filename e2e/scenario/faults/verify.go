package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"time"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
)

const (
	watchFile   = "/run/watch.jsonl"
	quietFor    = 10 * time.Minute // a healthy cluster gives no finding for so long
	foundWithin = 90 * time.Second // unless a fault says more
	wellWithin  = 4 * time.Minute  // after a fault was mended
)

// verifyEdits make the lab's airgap.yaml one of three control-plane hosts and a
// worker.
func verifyEdits() []string {
	return []string{
		`  version: "1.36.3"`, `  version: "1.36.3"` + "\n  controlPlaneEndpoint: " + netip.AddrPortFrom(scenario.Vip, 6443).String(),
		"  - {name: node2, address: 10.88.0.12, roles: [worker]}\n", `  - {name: node2, address: 10.88.0.12, roles: [control-plane]}
  - {name: node3, address: 10.88.0.13, roles: [control-plane]}
  - {name: node4, address: 10.88.0.14, roles: [worker]}
ssh:
  identityFile: ~/.ssh/bank
`,
	}
}

// Verify watches one cluster while it is broken in every way that verification
// knows, one after the other: the right rule names each, and it is well again
// after each. Then nothing is found for ten minutes.
func Verify(ctx context.Context, e *scenario.Env) error {
	stick := filepath.Join(e.Work, "stick")
	return e.Bank(ctx, 4, func(l *lab.Lab) error {
		first := l.Machines[0]
		stop, err := l.Balance(ctx, scenario.Vip, 6443, l.Machines[:3]...)
		if err != nil {
			return err
		}
		defer stop() // it ends with this process at the latest
		w := &Onlooker{E: e, M: first}
		parts := []scenario.Part{
			{Title: "survey", Run: func() error { return e.Survey(ctx, l.Machines...) }},
			{Title: "bundle", Run: func() error { return e.MakeBundle(ctx, stick, verifyEdits()...) }},
			{Title: "keys for the first host", Run: func() error { return e.LetIn(ctx, first, l.Machines[1:]...) }},
			{Title: "one command, four servers", Run: func() error { return installFour(ctx, e, first, stick) }},
			{Title: "an image of the site's own", Run: func() error {
				return errors.Join(scenario.Pushers(ctx, e, l.Machines[:3]...), scenario.PushOwn(ctx, e, first, l.Machines[3], "1"), scenario.OnAll(ctx, e, "1", l.Machines[:3]...),
					e.Script(ctx, first, scenario.Kubectl+"run own --image="+first.Addr().String()+":5000/team/hello:1", scenario.Kubectl+"wait --for=condition=Ready pod/own --timeout=120s"))
			}},
			{Title: "a baseline", Run: func() error { return saveBaseline(ctx, e, first) }},
			{Title: "somebody watches", Run: func() error { return w.Start(ctx) }},
		}
		for _, f := range faults(e, l) {
			parts = append(parts, scenario.Part{Title: f.name, Run: func() error { return w.Finds(ctx, f) }})
		}
		parts = append(parts,
			scenario.Part{Title: "each was named", Run: func() error { return errors.Join(w.Missed...) }},
			scenario.Part{Title: "ten minutes of health", Run: func() error { return w.quiet(ctx, quietFor) }},
			scenario.Part{Title: "the watch ends with its verdict", Run: func() error { return w.End(ctx) }},
			scenario.Part{Title: "compared with the baseline", Run: func() error { return compareBaseline(ctx, e, first) }},
			scenario.Part{Title: "verify", Run: func() error { return e.Verified(ctx, first) }})
		return e.InOrder(parts)
	})
}

func installFour(ctx context.Context, e *scenario.Env, first lab.Machine, stick string) error {
	if err := e.Begin(ctx, first, stick); err != nil {
		return err
	}
	r, err := e.On(ctx, first, "", scenario.FleetInstall()...)
	if err != nil {
		return err
	}
	return r.Want("install", 0, "the cluster is verified: 4 nodes")
}

func saveBaseline(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	_, err := e.Must(ctx, m, nil, "airgap", "verify", scenario.LabSkips, "--baseline", "save", "/root/before.json")
	return err
}

// compareBaseline: containers restarted meanwhile, since some were killed, and
// nothing else is new.
func compareBaseline(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	r, err := e.On(ctx, m, "", "airgap", "verify", scenario.LabSkips, "--baseline", "compare", "/root/before.json")
	if err != nil {
		return err
	}
	if err := r.Want("verify against the baseline", 4, "since the baseline", "kube-apiserver"); err != nil {
		return err
	}
	for line := range strings.Lines(r.Stdout) {
		if strings.HasPrefix(line, "broken") && !strings.Contains(line, "restart") {
			return fmt.Errorf("something else is broken than restarts: %s", r.Stdout)
		}
	}
	return nil
}

// event is a line of `airgap verify --watch --output json`.
type event struct {
	Event, Rule, Object, Saw, Fix string
}

// Onlooker is a verification that goes on, and how far it was read.
type Onlooker struct {
	E    *scenario.Env
	M    lab.Machine
	read int

	Missed []error // faults that nobody named; the others are tried nevertheless
}

// Start runs verify --watch on the server until end.
func (w *Onlooker) Start(ctx context.Context) error {
	watch := "airgap verify " + scenario.LabSkips + " --watch --output json --progress plain"
	if err := w.E.Script(ctx, w.M, "setsid sh -c 'echo $$ >/run/watch.pid; exec "+watch+"' >"+watchFile+" 2>/run/watch.said </dev/null &"); err != nil {
		return err
	}
	_, err := w.await(ctx, wellWithin, func(v event) bool { return v.Event == "well" })
	return err
}

// End ends the watch as Ctrl-C does, and wants a good verdict.
func (w *Onlooker) End(ctx context.Context) error {
	if err := w.E.Script(ctx, w.M, "kill -INT $(cat /run/watch.pid)"); err != nil {
		return err
	}
	_, err := w.await(ctx, time.Minute, func(v event) bool { return v.Event == "verdict" })
	return err
}

// news are the events since the last call.
func (w *Onlooker) news(ctx context.Context) ([]event, error) {
	text, err := lab.Output(ctx, w.M, "tail", "-n", fmt.Sprintf("+%d", w.read+1), watchFile)
	if err != nil {
		return nil, err
	}
	var all []event
	for line := range strings.Lines(text) {
		var v event
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			return nil, fmt.Errorf("the watch said %q: %w", line, err)
		}
		all = append(all, v)
		w.read++
	}
	return all, nil
}

// await reads until an event is the one. The error has all that came instead.
func (w *Onlooker) await(ctx context.Context, limit time.Duration, is func(event) bool) (event, error) {
	var heard []string
	for began := time.Now(); time.Since(began) < limit; time.Sleep(500 * time.Millisecond) {
		events, err := w.news(ctx)
		if err != nil {
			return event{}, err
		}
		for i, v := range events {
			if is(v) {
				w.read -= len(events) - i - 1 // the others are for whoever comes next
				return v, nil
			}
			heard = append(heard, fmt.Sprintf("%s %s: %s: %s", v.Event, v.Rule, v.Object, v.Saw))
		}
	}
	return event{}, fmt.Errorf("not within %s; heard instead:\n  %s", limit, strings.Join(heard, "\n  "))
}

// quiet wants no event at all.
func (w *Onlooker) quiet(ctx context.Context, wait time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(wait):
	}
	events, err := w.news(ctx)
	if err == nil && len(events) > 0 {
		err = fmt.Errorf("nothing is broken, and verify says %+v", events)
	}
	return err
}

// Finds breaks something, waits until the rule names it, mends it, and waits
// until everything is well.
func (w *Onlooker) Finds(ctx context.Context, f Fault) error {
	if err := f.inject(ctx); err != nil {
		return fmt.Errorf("break it: %w", err)
	}
	began := time.Now()
	limit := foundWithin
	if f.within > 0 {
		limit = f.within
	}
	found, err := w.await(ctx, limit, func(v event) bool {
		return (v.Event == "broken" || v.Event == "changed") && v.Rule == f.rule && strings.Contains(v.Object, f.object) && strings.Contains(v.Saw, f.saw)
	})
	if err == nil && found.Fix == "" {
		err = errors.New("it does not say what to do")
	}
	if err != nil {
		err = fmt.Errorf("%s: rule %s, object %q, saw %q: %w", f.name, f.rule, f.object, f.saw, err)
		fmt.Fprintln(w.E.Log, err)
		w.Missed = append(w.Missed, err)
	} else {
		fmt.Fprintf(w.E.Log, "%s: after %.1f s: %s: %s: %s\n", f.name, time.Since(began).Seconds(), found.Rule, found.Object, found.Saw)
	}
	if err := f.mend(ctx); err != nil {
		return err
	}
	if _, err := w.await(ctx, wellWithin, func(v event) bool { return v.Event == "well" }); err != nil {
		return fmt.Errorf("well again: %w", err)
	}
	return nil
}
