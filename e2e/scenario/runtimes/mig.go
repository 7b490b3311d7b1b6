package runtimes

import (
	"context"
	_ "embed"
	"errors"
	"path/filepath"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
)

//go:embed mig.yaml
var migYAML string

// gpuMIG divides two H100 of a worker into two MIG instances each. Pods request an instance by
// its profile. A power cut removes the instances, and airgap must create them again. A reset
// must disable MIG.
func gpuMIG(ctx context.Context, e *scenario.Env) error {
	stick := filepath.Join(e.Work, "parts")
	return e.WithServersOf(ctx, []lab.Kind{lab.KindContainer, lab.KindHopper}, func(l *lab.Lab) error {
		first, worker := l.Machines[0], l.Machines[1]
		return e.InOrder([]scenario.Part{
			{Title: "survey", Run: func() error { return e.Survey(ctx, l.Machines...) }},
			{Title: "bundle with MIG profiles", Run: func() error {
				edits := gpuEdits(`{devicePlugin: "0.19.0", mig: {strategy: mixed, profiles: [3g.40gb, 3g.40gb]}}`)
				edits[1] = "  - {name: node2, address: 10.88.0.12, roles: [worker, gpu]}\n"
				return e.MakeBundle(ctx, stick, edits...)
			}},
			{Title: "the program, from the stick", Run: func() error { return e.InstallProgram(ctx, first, stick) }},
			{Title: "install", Run: func() error { return e.InstallOnce(ctx, first) }},
			{Title: "join", Run: func() error { return e.Join(ctx, first, worker, stick) }},
			{Title: "MIG instances are offered, and a pod has one", Run: func() error { return instanceUsed(ctx, e, first, worker) }},
			{Title: "verify", Run: func() error { return e.Verified(ctx, first) }},
			{Title: "a power cut", Run: func() error { return instancesRestored(ctx, e, first, worker) }},
			{Title: "verify again", Run: func() error { return e.Verified(ctx, first) }},
			{Title: "reset", Run: func() error { return migDisabled(ctx, e, worker) }},
		})
	})
}

// instances returns a shell line that waits until the node offers a number of MIG instances with
// this profile.
func instances(m lab.Machine, profile, number string) string {
	return scenario.Kubectl + "wait node " + m.Name() + ` --for=jsonpath='{.status.allocatable.nvidia\.com/mig-` + profile + `}'=` + number + " --timeout=120s"
}

// divided checks the devices of a host with two GPUs of two MIG instances each: one device for
// each GPU instance, and one for its compute instance.
const divided = "test $(ls /dev/nvidia-caps | wc -l) = 8"

// instanceUsed checks that a pod which requests a MIG instance gets its GPU, and only the two
// devices of that instance.
func instanceUsed(ctx context.Context, e *scenario.Env, first, worker lab.Machine) error {
	if err := errors.Join(
		e.Script(ctx, worker, "systemctl is-active --quiet airgap-mig airgap-cdi", divided),
		e.Script(ctx, first, instances(worker, `3g\.40gb`, "4")),
	); err != nil {
		return err
	}
	r, err := e.On(ctx, first, migYAML, "sh", "-c", scenario.Kubectl+"apply -f -")
	if err != nil {
		return err
	}
	if err := r.Want("apply a pod", 0); err != nil {
		return err
	}
	return e.Script(ctx, first, scenario.Kubectl+"rollout status deploy/part --timeout=120s", inInstance)
}

// inInstance checks the devices of the pod. With a second GPU, test would fail because of a second
// argument.
const inInstance = scenario.Kubectl + "exec deploy/part -- sh -c 'gpu=$(echo /dev/nvidia[0-9]); set -- /dev/nvidia-caps/*; test -c $gpu && test $# = 2 && test -c $1 && test -c $2'"

// instancesRestored checks that the MIG instances exist again after a power cut, before a pod
// requests one. The API server shows the old state of node and pod until the kubelet reports.
func instancesRestored(ctx context.Context, e *scenario.Env, first, worker lab.Machine) error {
	if err := errors.Join(worker.Kill(ctx), worker.Start(ctx)); err != nil {
		return err
	}
	return errors.Join(e.Script(ctx, worker, "systemctl is-active --quiet airgap-mig", divided),
		e.Script(ctx, first, scenario.Kubectl+"wait node "+worker.Name()+" --for=condition=Ready --timeout=120s", instances(worker, `3g\.40gb`, "4"),
			scenario.Kubectl+"rollout status deploy/part --timeout=120s", scenario.Retry(inInstance)))
}

// migDisabled resets the host. The driver stays loaded, and must report MIG disabled on all GPUs.
func migDisabled(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	if _, err := e.Must(ctx, m, []string{"undone: "}, "airgap", "reset", "--yes", "--wipe-data"); err != nil {
		return err
	}
	return e.Script(ctx, m, "grep -qx '[*].mig 0 0' /proc/driver/nvidia/stub", "! grep -q '[*].parts' /proc/driver/nvidia/stub", "! ls /dev/nvidia-caps 2>/dev/null",
		"! systemctl is-enabled --quiet airgap-mig", "! ls /etc/sysconfig/airgap-mig 2>/dev/null")
}
