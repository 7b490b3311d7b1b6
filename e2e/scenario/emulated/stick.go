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

// StickPulled pulls a FAT32 stick during the copy into a store, and cuts the power during
// the copy and directly after it. Each time the store must open and the copy must continue,
// and in the end it must equal the stick. Then the scenario cuts the power of a node during
// an image pull, and directly after one. The pods must run with the bytes that were pushed.
func StickPulled(ctx context.Context, e *scenario.Env) error {
	stick := filepath.Join(e.Work, "stick")
	return e.WithServersOf(ctx, []lab.Kind{lab.KindContainer, lab.KindEmulated}, func(l *lab.Lab) error {
		first, worker := l.Machines[0], l.Machines[1]
		return e.InOrder([]scenario.Part{
			{Title: "cgroup v2", Run: func() error { return e.Script(ctx, worker, "test $(stat -fc %T /sys/fs/cgroup) = cgroup2fs") }},
			{Title: "survey", Run: func() error { return e.Survey(ctx, l.Machines...) }},
			{Title: "bundle", Run: func() error { return e.MakeBundle(ctx, stick) }},
			{Title: "the program, from the stick", Run: func() error {
				return errors.Join(e.InstallProgram(ctx, first, stick), e.InstallProgram(ctx, worker, stick))
			}},
			{Title: "the stick is pulled during the copy", Run: func() error { return pulledImport(ctx, e, worker, stick) }},
			{Title: "the power is cut during the copy", Run: func() error {
				return errors.Join(cutWhile(ctx, e, worker, storeHas(150), importCommand...), opens(ctx, e, worker, "no bundle in the store"))
			}},
			{Title: "the copy continues", Run: func() error { return importAgain(ctx, e, worker, stick) }},
			{Title: "the power is cut directly after the copy", Run: func() error {
				return errors.Join(worker.Kill(ctx), worker.Start(ctx), opens(ctx, e, worker, "bank"))
			}},
			{Title: "the copy equals the stick", Run: func() error { return sameBytes(ctx, e, worker, stick) }},
			{Title: "install", Run: func() error { return e.InstallOnce(ctx, first) }},
			{Title: "join", Run: func() error { return scenario.JoinOne(ctx, e, first, worker) }},
			{Title: "two images of the site", Run: func() error {
				return errors.Join(scenario.Pushers(ctx, e, first), scenario.PushBig(ctx, e, first, first, 2))
			}},
			{Title: "the power is cut during a pull", Run: func() error { return cutPull(ctx, e, l, 1, "reason=Pulling", "sleep 5") }},
			{Title: "the power is cut directly after a pull", Run: func() error { return cutPull(ctx, e, l, 2, "reason=Pulled", "true") }},
			{Title: "verify", Run: func() error {
				_, err := e.Must(ctx, first, nil, "airgap", "verify", scenario.LabSkips, "--timeout", "10m") // its processor is slow
				return err
			}},
		})
	})
}

var importCommand = []string{"airgap", "registry", "import", lab.StickPath + "/bank"}

// storeHas returns a shell line that waits until the store has size MiB.
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

// opens checks that the store opens, and that the registry reports its content as content.
func opens(ctx context.Context, e *scenario.Env, m lab.Machine, content string) error {
	_, err := e.Must(ctx, m, []string{content}, "airgap", "registry", "status")
	return err
}

// cutWhile cuts the power during a command, as soon as the shell script when succeeds, and
// starts the server again.
func cutWhile(ctx context.Context, e *scenario.Env, m lab.Machine, when string, args ...string) error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = e.On(ctx, m, "", args...) // it fails when the power is cut
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

// sameBytes checks that the store's files equal the stick's, and that another import
// changes nothing.
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

// cutPull cuts the power of the second server soon after an event of a pod. The server
// pulls the pod's image through a slow network. In the end the pod must run with the bytes
// that were pushed.
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
	// The server also runs hello in the pods of earlier calls.
	got, err := lab.Output(ctx, worker, "sh", "-c", "for p in $(pgrep -x hello); do sha256sum /proc/$p/root/big; done | cut -d ' ' -f 1")
	if err != nil {
		return err
	}
	if !strings.Contains(got, strings.TrimSpace(want)) {
		return fmt.Errorf("%s has the SHA-256 sums %s, want that of the pushed image: %s", pod, got, want)
	}
	return e.Script(ctx, first, scenario.Kubectl+"delete pod "+pod+" --now")
}
