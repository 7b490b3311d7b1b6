package scenario

import (
	"context"
	"path/filepath"

	"airgap.dev/airgap/e2e/lab"
)

// A target is the cluster that an attacker meets: one control-plane host and two
// workers. The second worker joins after the attacks on joining.
type target struct {
	first, worker, second lab.Machine
	stick                 string // the bundle's directory on the connected side
}

// attack plays the attacks of the threat table in docs/security.md on a running
// cluster. An attack that succeeds fails the scenario, and so does one that is
// refused without a word in the journal, in the command's error or in verify.
func attack(ctx context.Context, e *Env) error {
	stick := filepath.Join(e.Work, "stick")
	return e.Bank(ctx, 3, func(l *lab.Lab) error {
		t := target{first: l.Machines[0], worker: l.Machines[1], second: l.Machines[2], stick: stick}
		parts := []part{
			{"survey", func() error { return e.survey(ctx, l.Machines...) }},
			{"bundle", func() error { return e.makeBundle(ctx, stick, append(secondWorker(), "    - "+tools+"\n", "")...) }},
			{"the program, from the stick", func() error { return e.begin(ctx, t.first, stick) }},
			{"install", func() error { return e.installOnce(ctx, t.first) }},
			{"join of the first worker", func() error { return e.join(ctx, t.first, t.worker, stick) }},
		}
		parts = append(parts, attackJoin(ctx, e, t)...)
		parts = append(parts, part{"join of the second worker", func() error { return e.join(ctx, t.first, t.second, stick) }})
		parts = append(parts, attackStick(ctx, e, t)...)
		parts = append(parts, attackRegistry(ctx, e, t)...)
		parts = append(parts, attackCluster(ctx, e, t)...)
		parts = append(parts, attackSupply(ctx, e, t)...)
		parts = append(parts, attackHost(ctx, e, t)...)
		parts = append(parts, attackRollback(ctx, e, t, l)...)
		parts = append(parts, part{"the cluster is healthy after all of it", func() error { return e.verified(ctx, t.first) }})
		return e.inOrder(parts)
	})
}

// secondWorker adds node3 to the lab's airgap.yaml.
func secondWorker() []string {
	const worker = "  - {name: node2, address: 10.88.0.12, roles: [worker]}\n"
	return []string{worker, worker + "  - {name: node3, address: 10.88.0.13, roles: [worker]}\n"}
}
