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
	quietFor    = 10 * time.Minute // time without a finding in a healthy cluster
	foundWithin = 90 * time.Second // time until a finding, unless the fault has its own
	wellWithin  = 4 * time.Minute  // time until the cluster is healthy after a repair
)

// verifyEdits returns the edits that give the lab's airgap.yaml three control-plane hosts
// and a worker.
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

// Verify watches a cluster and injects each fault, one at a time. The right rule must name
// each fault, and the cluster must be healthy after each repair. Then verify must find
// nothing for ten minutes.
func Verify(ctx context.Context, e *scenario.Env) error {
	stick := filepath.Join(e.Work, "stick")
	return e.WithServers(ctx, 4, func(l *lab.Lab) error {
		first := l.Machines[0]
		stop, err := l.Balance(ctx, scenario.Vip, 6443, l.Machines[:3]...)
		if err != nil {
			return err
		}
		defer stop() // the balancer ends with this process at the latest
		w := &Watch{E: e, M: first}
		parts := []scenario.Part{
			{Title: "survey", Run: func() error { return e.Survey(ctx, l.Machines...) }},
			{Title: "bundle", Run: func() error { return e.MakeBundle(ctx, stick, verifyEdits()...) }},
			{Title: "keys for the first host", Run: func() error { return e.AuthorizeKeys(ctx, first, l.Machines[1:]...) }},
			{Title: "one command, four servers", Run: func() error { return installFour(ctx, e, first, stick) }},
			{Title: "an image of the site", Run: func() error {
				return errors.Join(scenario.Pushers(ctx, e, l.Machines[:3]...), scenario.PushOwn(ctx, e, first, l.Machines[3], "1"), scenario.OnAll(ctx, e, "1", l.Machines[:3]...),
					e.Script(ctx, first, scenario.Kubectl+"run own --image="+first.Addr().String()+":5000/team/hello:1", scenario.Kubectl+"wait --for=condition=Ready pod/own --timeout=120s"))
			}},
			{Title: "a baseline", Run: func() error { return saveBaseline(ctx, e, first) }},
			{Title: "verify --watch starts", Run: func() error { return w.Start(ctx) }},
		}
		for _, f := range faults(e, l) {
			parts = append(parts, scenario.Part{Title: f.name, Run: func() error { return w.Finds(ctx, f) }})
		}
		parts = append(parts,
			scenario.Part{Title: "each was named", Run: func() error { return errors.Join(w.Missed...) }},
			scenario.Part{Title: "ten minutes of health", Run: func() error { return w.quiet(ctx, quietFor) }},
			scenario.Part{Title: "the watch ends with its result", Run: func() error { return w.End(ctx) }},
			scenario.Part{Title: "compared with the baseline", Run: func() error { return compareBaseline(ctx, e, first) }},
			scenario.Part{Title: "verify", Run: func() error { return e.Verified(ctx, first) }})
		return e.InOrder(parts)
	})
}

func installFour(ctx context.Context, e *scenario.Env, first lab.Machine, stick string) error {
	if err := e.InstallProgram(ctx, first, stick); err != nil {
		return err
	}
	r, err := e.On(ctx, first, "", scenario.InstallOverSSH()...)
	if err != nil {
		return err
	}
	return r.Want("install", 0, "the cluster is verified: 4 nodes")
}

func saveBaseline(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	_, err := e.Must(ctx, m, nil, "airgap", "verify", scenario.LabSkips, "--baseline", "save", "/root/before.json")
	return err
}

// compareBaseline checks that restarts of containers are the only new findings: some faults
// kill containers.
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
			return fmt.Errorf("got a finding other than restarts: %s", r.Stdout)
		}
	}
	return nil
}

// event is a line of `airgap verify --watch --output json`.
type event struct {
	Event, Rule, Object, Saw, Fix string
}

// Watch is a running `airgap verify --watch`. Start must be called first.
type Watch struct {
	E    *scenario.Env
	M    lab.Machine
	read int // lines of its output that were read

	Missed []error // one for each fault that verify did not name; Finds continues with the next
}

// Start runs verify --watch on the server until End, and waits until the cluster is healthy.
func (w *Watch) Start(ctx context.Context) error {
	watch := "airgap verify " + scenario.LabSkips + " --watch --output json --progress plain"
	if err := w.E.Script(ctx, w.M, "setsid sh -c 'echo $$ >/run/watch.pid; exec "+watch+"' >"+watchFile+" 2>/run/watch.said </dev/null &"); err != nil {
		return err
	}
	_, err := w.await(ctx, wellWithin, func(v event) bool { return v.Event == "healthy" })
	return err
}

// End ends the watch as Ctrl-C does, and waits for its result.
func (w *Watch) End(ctx context.Context) error {
	if err := w.E.Script(ctx, w.M, "kill -INT $(cat /run/watch.pid)"); err != nil {
		return err
	}
	_, err := w.await(ctx, time.Minute, func(v event) bool { return v.Event == "result" })
	return err
}

// newEvents returns the events since the last call.
func (w *Watch) newEvents(ctx context.Context) ([]event, error) {
	text, err := lab.Output(ctx, w.M, "tail", "-n", fmt.Sprintf("+%d", w.read+1), watchFile)
	if err != nil {
		return nil, err
	}
	var all []event
	for line := range strings.Lines(text) {
		var v event
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			return nil, fmt.Errorf("read line %q of the watch: %w", line, err)
		}
		all = append(all, v)
		w.read++
	}
	return all, nil
}

// await reads events until one of them is the expected one. The error lists the other events.
func (w *Watch) await(ctx context.Context, limit time.Duration, is func(event) bool) (event, error) {
	var others []string
	for began := time.Now(); time.Since(began) < limit; time.Sleep(500 * time.Millisecond) {
		events, err := w.newEvents(ctx)
		if err != nil {
			return event{}, err
		}
		for i, v := range events {
			if is(v) {
				w.read -= len(events) - i - 1 // the next call reads the others
				return v, nil
			}
			others = append(others, fmt.Sprintf("%s %s: %s: %s", v.Event, v.Rule, v.Object, v.Saw))
		}
	}
	return event{}, fmt.Errorf("no such event within %s; got instead:\n  %s", limit, strings.Join(others, "\n  "))
}

// quiet checks that no event comes for some time.
func (w *Watch) quiet(ctx context.Context, wait time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(wait):
	}
	events, err := w.newEvents(ctx)
	if err == nil && len(events) > 0 {
		err = fmt.Errorf("got the events %+v of a healthy cluster, want none", events)
	}
	return err
}

// Finds injects a fault, waits until the rule names it, repairs it, and waits until the
// cluster is healthy. A fault that verify does not name is added to Missed.
func (w *Watch) Finds(ctx context.Context, f Fault) error {
	if err := f.inject(ctx); err != nil {
		return fmt.Errorf("inject the fault: %w", err)
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
		err = errors.New("the finding has no fix")
	}
	if err != nil {
		err = fmt.Errorf("%s: rule %s, object %q, saw %q: %w", f.name, f.rule, f.object, f.saw, err)
		fmt.Fprintln(w.E.Log, err)
		w.Missed = append(w.Missed, err)
	} else {
		fmt.Fprintf(w.E.Log, "%s: after %.1f s: %s: %s: %s\n", f.name, time.Since(began).Seconds(), found.Rule, found.Object, found.Saw)
	}
	if err := f.repair(ctx); err != nil {
		return err
	}
	if _, err := w.await(ctx, wellWithin, func(v event) bool { return v.Event == "healthy" }); err != nil {
		return fmt.Errorf("wait for a healthy cluster: %w", err)
	}
	return nil
}
