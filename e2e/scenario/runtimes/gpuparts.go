package runtimes

import (
	"context"
	_ "embed"
	"errors"
	"path/filepath"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
)

//go:embed gpuparts.yaml
var gpuPartsYAML string

// gpuParts is a worker whose two H100 are divided into two parts each (MIG): pods ask for
// a part by its kind, a power cut undoes the parts, and a reset makes the cards whole.
func gpuParts(ctx context.Context, e *scenario.Env) error {
	stick := filepath.Join(e.Work, "parts")
	return e.BankOf(ctx, []lab.Kind{lab.KindContainer, lab.KindHopper}, func(l *lab.Lab) error {
		first, worker := l.Machines[0], l.Machines[1]
		return e.InOrder([]scenario.Part{
			{Title: "survey", Run: func() error { return e.Survey(ctx, l.Machines...) }},
			{Title: "bundle for cards in parts", Run: func() error {
				edits := gpuEdits(`{devicePlugin: "0.19.0", mig: {strategy: mixed, profiles: [3g.40gb, 3g.40gb]}}`)
				edits[1] = "  - {name: node2, address: 10.88.0.12, roles: [worker, gpu]}\n"
				return e.MakeBundle(ctx, stick, edits...)
			}},
			{Title: "the program, from the stick", Run: func() error { return e.Begin(ctx, first, stick) }},
			{Title: "install", Run: func() error { return e.InstallOnce(ctx, first) }},
			{Title: "join", Run: func() error { return e.Join(ctx, first, worker, stick) }},
			{Title: "parts are offered, and a pod has one", Run: func() error { return partsGiven(ctx, e, first, worker) }},
			{Title: "verify", Run: func() error { return e.Verified(ctx, first) }},
			{Title: "a power cut", Run: func() error { return partsAgain(ctx, e, first, worker) }},
			{Title: "verify again", Run: func() error { return e.Verified(ctx, first) }},
			{Title: "reset", Run: func() error { return wholeAgain(ctx, e, worker) }},
		})
	})
}

// parts waits until the node has that many parts of this kind to give.
func parts(m lab.Machine, kind, number string) string {
	return scenario.Kubectl + "wait node " + m.Name() + ` --for=jsonpath='{.status.allocatable.nvidia\.com/mig-` + kind + `}'=` + number + " --timeout=120s"
}

// divided is what a host shows of two cards in two parts each: a device for each GPU
// instance, and one for its compute instance.
const divided = "test $(ls /dev/nvidia-caps | wc -l) = 8"

// partsGiven has a pod ask for a part: it finds its card, and the two devices that open
// just that part.
func partsGiven(ctx context.Context, e *scenario.Env, first, worker lab.Machine) error {
	if err := errors.Join(
		e.Script(ctx, worker, "systemctl is-active --quiet airgap-mig airgap-cdi", divided),
		e.Script(ctx, first, parts(worker, `3g\.40gb`, "4")),
	); err != nil {
		return err
	}
	r, err := e.On(ctx, first, gpuPartsYAML, "sh", "-c", scenario.Kubectl+"apply -f -")
	if err != nil {
		return err
	}
	if err := r.Want("apply a pod", 0); err != nil {
		return err
	}
	return e.Script(ctx, first, scenario.Kubectl+"rollout status deploy/part --timeout=120s", inPart)
}

// inPart is a line for the shell of the first host. A second card would be a second word,
// which test does not take.
const inPart = scenario.Kubectl + "exec deploy/part -- sh -c 'card=$(echo /dev/nvidia[0-9]); set -- /dev/nvidia-caps/*; test -c $card && test $# = 2 && test -c $1 && test -c $2'"

// partsAgain wants the parts to be back after a power cut, before a pod asks for one. The
// API server shows node and pod as they were until the kubelet has looked.
func partsAgain(ctx context.Context, e *scenario.Env, first, worker lab.Machine) error {
	if err := errors.Join(worker.Kill(ctx), worker.Start(ctx)); err != nil {
		return err
	}
	return errors.Join(e.Script(ctx, worker, "systemctl is-active --quiet airgap-mig", divided),
		e.Script(ctx, first, scenario.Kubectl+"wait node "+worker.Name()+" --for=condition=Ready --timeout=120s", parts(worker, `3g\.40gb`, "4"),
			scenario.Kubectl+"rollout status deploy/part --timeout=120s", scenario.Soon(inPart)))
}

// wholeAgain: the driver stays loaded after a reset, and says that no card is divided.
func wholeAgain(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	if _, err := e.Must(ctx, m, []string{"undone: "}, "airgap", "reset", "--yes", "--wipe-data"); err != nil {
		return err
	}
	return e.Script(ctx, m, "grep -qx '[*].mig 0 0' /proc/driver/nvidia/stub", "! grep -q '[*].parts' /proc/driver/nvidia/stub", "! ls /dev/nvidia-caps 2>/dev/null",
		"! systemctl is-enabled --quiet airgap-mig", "! ls /etc/sysconfig/airgap-mig 2>/dev/null")
}
