// Package attack plays the attacks of the threat table on a running cluster.
package attack

import (
	"context"
	"path/filepath"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
)

// target is the attacked cluster: one control-plane host and two workers. The second
// worker joins after the attacks on joining.
type target struct {
	first, worker, second lab.Machine
	stick                 string // the bundle's directory on the connected host
}

// Attack plays the attacks of the threat table in docs/security.md on a running
// cluster. The scenario fails when an attack succeeds. It also fails when airgap refuses
// an attack without a message in the journal, in the command's error or in verify.
func Attack(ctx context.Context, e *scenario.Env) error {
	stick := filepath.Join(e.Work, "stick")
	return e.WithServers(ctx, 3, func(l *lab.Lab) error {
		t := target{first: l.Machines[0], worker: l.Machines[1], second: l.Machines[2], stick: stick}
		parts := []scenario.Part{
			{Title: "survey", Run: func() error { return e.Survey(ctx, l.Machines...) }},
			{Title: "bundle", Run: func() error { return e.MakeBundle(ctx, stick, append(secondWorker(), "    - "+tools+"\n", "")...) }},
			{Title: "the program, from the stick", Run: func() error { return e.InstallProgram(ctx, t.first, stick) }},
			{Title: "install", Run: func() error { return e.InstallOnce(ctx, t.first) }},
			{Title: "join of the first worker", Run: func() error { return e.Join(ctx, t.first, t.worker, stick) }},
		}
		parts = append(parts, attackJoin(ctx, e, t)...)
		parts = append(parts, scenario.Part{Title: "join of the second worker", Run: func() error { return e.Join(ctx, t.first, t.second, stick) }})
		parts = append(parts, attackStick(ctx, e, t)...)
		parts = append(parts, attackRegistry(ctx, e, t)...)
		parts = append(parts, attackCluster(ctx, e, t)...)
		parts = append(parts, attackSupply(ctx, e, t)...)
		parts = append(parts, attackHost(ctx, e, t)...)
		parts = append(parts, attackRollback(ctx, e, t, l)...)
		parts = append(parts, scenario.Part{Title: "the cluster is healthy after all attacks", Run: func() error { return e.Verified(ctx, t.first) }})
		return e.InOrder(parts)
	})
}

// secondWorker adds node3 to the lab's airgap.yaml.
func secondWorker() []string {
	const worker = "  - {name: node2, address: 10.88.0.12, roles: [worker]}\n"
	return []string{worker, worker + "  - {name: node3, address: 10.88.0.13, roles: [worker]}\n"}
}
