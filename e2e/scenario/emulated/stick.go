package emulated

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
	"airgap.dev/airgap/e2e/scenario/badinput"
)

// PulledStore takes a FAT32 stick away in the middle of the copy into a store, and
// cuts the power in the middle of it, and right behind it: the store opens each time,
// the copy goes on, and is the stick's in the end. Then the power of a node is cut in
// the middle of a pull, and right behind one: the pods run, and what they have is what
// was pushed.
func PulledStore(ctx context.Context, e *scenario.Env) error {
	stick := filepath.Join(e.Work, "stick")
	return e.BankOf(ctx, []lab.Kind{lab.KindContainer, lab.KindEmulated}, func(l *lab.Lab) error {
		first, worker := l.Machines[0], l.Machines[1]
		return e.InOrder([]scenario.Part{
			{Title: "cgroup v2", Run: func() error { return e.Script(ctx, worker, "test $(stat -fc %T /sys/fs/cgroup) = cgroup2fs") }},
			{Title: "survey", Run: func() error { return e.Survey(ctx, l.Machines...) }},
			{Title: "bundle", Run: func() error { return e.MakeBundle(ctx, stick) }},
			{Title: "the program, from the stick", Run: func() error { return errors.Join(e.Begin(ctx, first, stick), e.Begin(ctx, worker, stick)) }},
			{Title: "the stick is pulled during the copy", Run: func() error { return pulledImport(ctx, e, worker, stick) }},
			{Title: "the power is cut during the copy", Run: func() error {
				return errors.Join(cutWhile(ctx, e, worker, storeHas(150), importCommand...), opens(ctx, e, worker, "no bundle in the store"))
			}},
			{Title: "the copy goes on", Run: func() error { return importAgain(ctx, e, worker, stick) }},
			{Title: "the power is cut right behind it", Run: func() error {
				return errors.Join(worker.Kill(ctx), worker.Start(ctx), opens(ctx, e, worker, "bank"))
			}},
			{Title: "the copy is the stick's", Run: func() error { return sameBytes(ctx, e, worker, stick) }},
			{Title: "install", Run: func() error { return e.InstallOnce(ctx, first) }},
			{Title: "join", Run: func() error { return scenario.JoinOne(ctx, e, first, worker) }},
			{Title: "two images of the site's own", Run: func() error {
				return errors.Join(scenario.Pushers(ctx, e, first), scenario.PushBig(ctx, e, first, first, 2))
			}},
			{Title: "the power is cut during a pull", Run: func() error { return cutPull(ctx, e, l, 1, "reason=Pulling", "sleep 5") }},
			{Title: "the power is cut right behind a pull", Run: func() error { return cutPull(ctx, e, l, 2, "reason=Pulled", "true") }},
			{Title: "verify", Run: func() error {
				_, err := e.Must(ctx, first, nil, "airgap", "verify", scenario.LabSkips, "--timeout", "10m") // its processor is slow
				return err
			}},
		})
	})
}

var importCommand = []string{"airgap", "registry", "import", lab.StickPath + "/bank"}

// storeHas waits until so much of the bundle is in the store, MiB.
func storeHas(size int) string {
	return fmt.Sprintf(`timeout 300 sh -c 'until [ "$(du -sm /var/lib/airgap/store 2>/dev/null | cut -f1)" -ge %d ] 2>/dev/null; do sleep 0.2; done'`, size)
}

func pulledImport(ctx context.Context, e *scenario.Env, m lab.Machine, stick string) error {
	r, err := pulledWhile(ctx, e, m, storeHas(60), importCommand...)
	if err == nil {
		err = r.Want("import from a stick that is pulled", 1, badinput.LastPart, "input/output error")
	}
	return errors.Join(err, opens(ctx, e, m, "no bundle in the store"), m.AttachStick(ctx, stick))
}

// opens wants the store to open and to hold what it should.
func opens(ctx context.Context, e *scenario.Env, m lab.Machine, holds string) error {
	_, err := e.Must(ctx, m, []string{holds}, "airgap", "registry", "status")
	return err
}

// cutWhile cuts the power while a command runs, when a shell's lines have ended
// well, and switches the server on again.
func cutWhile(ctx context.Context, e *scenario.Env, m lab.Machine, when string, args ...string) error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = e.On(ctx, m, "", args...) // it ends with the machine
	}()
	if _, err := e.Must(ctx, m, nil, "sh", "-c", when); err != nil {
		return err
	}
	if err := m.Kill(ctx); err != nil {
		return err
	}
	<-ended
	return m.Start(ctx)
}

func importAgain(ctx context.Context, e *scenario.Env, m lab.Machine, stick string) error {
	if err := m.AttachStick(ctx, stick); err != nil {
		return err
	}
	_, err := e.Must(ctx, m, []string{"bank is in the store"}, importCommand...)
	return err
}

// sameBytes compares the store's files with the stick's, and wants an import to find
// nothing to do.
func sameBytes(ctx context.Context, e *scenario.Env, m lab.Machine, stick string) error {
	if err := m.AttachStick(ctx, stick); err != nil {
		return err
	}
	if err := e.Script(ctx, m,
		"cd /var/lib/airgap/store/bank && ls bundle.tar.000 bundle.json SHA256SUMS SHA256SUMS.sig >/dev/null && for f in *; do cmp $f "+lab.StickPath+"/bank/$f || exit 1; done",
		"for f in "+lab.StickPath+"/bank/bundle.*; do test -e /var/lib/airgap/store/bank/$(basename $f) || exit 1; done"); err != nil {
		return err
	}
	_, err := e.Must(ctx, m, []string{"every byte of it is right; nothing changed"}, importCommand...)
	return err
}

// cutPull cuts the power of the second server soon after an event of a pod whose
// image it pulls through a slow network. It runs in the end, with what was pushed.
func cutPull(ctx context.Context, e *scenario.Env, l *lab.Lab, n int, event, soon string) error {
	first, worker := l.Machines[0], l.Machines[1]
	if err := l.Slow(ctx, first, "8mbit"); err != nil { // 12 MB take 12 s
		return err
	}
	pod := fmt.Sprintf("big%d", n)
	text := fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec:\n  nodeName: %s\n  containers: [{name: hello, image: '%s:5000/team/hello:%[1]s'}]\n", pod, worker.Name(), first.Addr())
	const until = `for i in $(seq 1200); do ` + scenario.Kubectl + `get events --field-selector involvedObject.name=$0,$1 -o name | grep -q event && break; sleep 0.1; done; $2`
	r, err := e.On(ctx, first, text, "sh", "-c", scenario.Kubectl+"create --validate=false -f - && "+until, pod, event, soon)
	if err == nil {
		err = r.Want("create the pod", 0)
	}
	if err = errors.Join(err, worker.Kill(ctx)); err != nil {
		return err
	}
	if err := worker.Start(ctx); err != nil {
		return err
	}
	if err := e.Script(ctx, first, scenario.Kubectl+"wait pod "+pod+" --for=condition=Ready --timeout=15m"); err != nil {
		return err
	}
	want, err := lab.Output(ctx, first, "cat", "/run/"+pod+".sum")
	if err != nil {
		return err
	}
	// hello runs in as many pods as were started so far.
	got, err := lab.Output(ctx, worker, "sh", "-c", "for p in $(pgrep -x hello); do sha256sum /proc/$p/root/big; done | cut -d ' ' -f 1")
	if err != nil {
		return err
	}
	if !strings.Contains(got, strings.TrimSpace(want)) {
		return fmt.Errorf("%s has other bytes than were pushed: %s, want %s", pod, got, want)
	}
	return e.Script(ctx, first, scenario.Kubectl+"delete pod "+pod+" --now")
}
