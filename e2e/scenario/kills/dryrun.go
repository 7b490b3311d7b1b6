package kills

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
)

// dryRunPlan is the output of `--dry-run --output json`.
type dryRunPlan struct {
	Preflight struct{ Worst string }
	Hosts     []struct {
		Node, Command string
		Asked         bool
		UpToDate      int
		Steps         []struct {
			Step    string
			Changes []string
		}
	}
}

// dryRun does a dry run, and checks that it changes nothing on the host: no file, no
// lock, no journal, no directory.
func dryRun(ctx context.Context, e *scenario.Env, m lab.Machine, args ...string) (dryRunPlan, error) {
	var p dryRunPlan
	before, err := scenario.LivePicture(ctx, e, m)
	if err != nil {
		return p, err
	}
	args = append([]string{"airgap"}, append(args, "--dry-run")...)
	text, err := e.Must(ctx, m, []string{"nothing was changed"}, args...)
	if err != nil {
		return p, err
	}
	fmt.Fprint(e.Log, text.Stdout)
	r, err := e.Must(ctx, m, nil, append(args, "--output", "json")...)
	if err != nil {
		return p, err
	}
	now, err := scenario.LivePicture(ctx, e, m)
	if err != nil {
		return p, err
	}
	if err := scenario.Equal(e, now, before, m.Name()+" after a dry run", scenario.Alive()...); err != nil {
		return p, err
	}
	err = json.Unmarshal([]byte(r.Stdout), &p)
	return p, err
}

// dryRunBare checks that the dry run on a bare host lists changes of each kind, and the
// command of the other host.
func dryRunBare(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	p, err := dryRun(ctx, e, m, "install", scenario.LabSkips, lab.StickPath+"/bank")
	if err != nil {
		return err
	}
	here := p.Hosts[0]
	if !here.Asked || here.Node != "node1" || len(here.Steps) < 10 {
		return fmt.Errorf("the dry run reports %+v for this host", here)
	}
	changes := map[string][]string{}
	for _, s := range here.Steps {
		changes[s.Step] = s.Changes
	}
	for step, want := range map[string]string{
		"packages": "install kubelet-0:1.36.3-150500.1.1.x86_64",
		"sysctls":  "write /etc/sysctl.d/90-airgap.conf (new)",
		"mirror":   "write /etc/containerd/certs.d/_default/hosts.toml (new)",
		"runtime":  "start containerd.service",
		"kubeadm":  "kubeadm init: Kubernetes v1.36.3, API server at 10.88.0.11:6443",
		"network":  "apply Namespace kube-flannel",
	} {
		if !slices.Contains(changes[step], want) {
			return fmt.Errorf("the dry run has no change %[2]q in step %[1]s: %[3]q", step, want, changes[step])
		}
	}
	if len(p.Hosts) != 2 || p.Hosts[1].Asked || p.Hosts[1].Command != "join" || len(p.Hosts[1].Steps) == 0 {
		return fmt.Errorf("the dry run reports %+v for the other hosts", p.Hosts[1:])
	}
	return nil
}

// dryRunDone checks that the dry run on a finished host lists no step.
func dryRunDone(ctx context.Context, e *scenario.Env, m lab.Machine, args ...string) error {
	p, err := dryRun(ctx, e, m, args...)
	if err == nil && (len(p.Hosts[0].Steps) != 0 || p.Hosts[0].UpToDate == 0) {
		err = fmt.Errorf("the dry run on a finished host reports %+v, want no steps", p.Hosts[0])
	}
	return err
}
