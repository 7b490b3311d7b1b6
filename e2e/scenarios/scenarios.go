// Package scenarios lists all scenarios of the lab.
package scenarios

import (
	"airgap.dev/airgap/e2e/scenario"
	"airgap.dev/airgap/e2e/scenario/attack"
	"airgap.dev/airgap/e2e/scenario/badinput"
	"airgap.dev/airgap/e2e/scenario/certs"
	"airgap.dev/airgap/e2e/scenario/emulated"
	"airgap.dev/airgap/e2e/scenario/faults"
	"airgap.dev/airgap/e2e/scenario/kills"
	"airgap.dev/airgap/e2e/scenario/members"
	"airgap.dev/airgap/e2e/scenario/runtimes"
	"airgap.dev/airgap/e2e/scenario/upgrade"
)

// All lists the scenarios in the order in which they are run.
func All() []scenario.Scenario {
	return []scenario.Scenario{
		{Name: "journey", Title: "bundle, two servers without a route, cluster, verdict", Run: scenario.Journey, Needs: nil},
		{Name: "badinput", Title: "every wrong input gives a clear error and changes nothing", Run: badinput.BadInput, Needs: []scenario.Need{scenario.NeedUpstream}},
		{Name: "ctrl-c", Title: "Ctrl-C in every step, and the same command goes on", Run: badinput.CtrlC, Needs: nil},
		{Name: "onetrip", Title: "a frozen server of 600 packages gets just what it lacks, by its own dnf", Run: scenario.OneTrip, Needs: []scenario.Need{scenario.NeedUpstream, scenario.NeedThrowaway}},
		{Name: "reset", Title: "a host after reset is the host before install, byte for byte", Run: scenario.Reset, Needs: []scenario.Need{scenario.NeedUpstream, scenario.NeedThrowaway}},
		{Name: "gc", Title: "a full disk, the kubelet deletes images, and all of them come back", Run: scenario.Gc, Needs: []scenario.Need{scenario.NeedUpstream, scenario.NeedDisk}},
		{Name: "crio", Title: "CRI-O as the runtime, beside a podman that stays as it is; reset", Run: runtimes.Crio, Needs: []scenario.Need{scenario.NeedUpstream, scenario.NeedPower, scenario.NeedThrowaway}},
		{Name: "containerd1", Title: "Kubernetes 1.35 on containerd 1.7, whose configuration and pins are other ones", Run: runtimes.Containerd1, Needs: []scenario.Need{scenario.NeedUpstream}},
		{Name: "upgrade", Title: "Kubernetes 1.35 to 1.36 and containerd 1.7 to 2.3 on five servers, killed on the way, under a workload that loses no request beyond its budget", Run: upgrade.Upgrade, Needs: []scenario.Need{scenario.NeedUpstream, scenario.NeedNetwork, scenario.NeedMore}},
		{Name: "rollback", Title: "an upgrade that is killed in each of its phases is taken back; then it goes all the way", Run: upgrade.Rollback, Needs: []scenario.Need{scenario.NeedUpstream}},
		{Name: "minors", Title: "Kubernetes 1.35 to 1.36 to 1.37, not two minors at once, and back from the last", Run: upgrade.Minors, Needs: []scenario.Need{scenario.NeedUpstream}},
		{Name: "conflict", Title: "each runtime, from archive and package, beside a podman that stays as it is; not beside Docker's", Run: runtimes.Conflict, Needs: []scenario.Need{scenario.NeedUpstream, scenario.NeedThrowaway}},
		{Name: "gpu", Title: "workers with cards: driver by RPM and by NVIDIA's installer, pods that have a card or a part of one, a card that fails", Run: runtimes.Gpu, Needs: []scenario.Need{scenario.NeedCards, scenario.NeedUpstream, scenario.NeedPower}},
		{Name: "network", Title: "packets that the network between the servers loses are named; the pods take a way that is left", Run: scenario.Network, Needs: []scenario.Need{scenario.NeedNetwork, scenario.NeedMore}},
		{Name: "verify", Title: "two dozen faults, each named by the right rule while somebody watches; none where nothing is broken", Run: faults.Verify, Needs: []scenario.Need{scenario.NeedUpstream, scenario.NeedNetwork, scenario.NeedMore}},
		{Name: "existing", Title: "a registry that the site has already is filled, and the servers pull from there", Run: runtimes.Existing, Needs: []scenario.Need{scenario.NeedNetwork}},
		{Name: "ha", Title: "three control-plane hosts behind a balancer: any one dies, the first too; a cold start", Run: scenario.Ha, Needs: []scenario.Need{scenario.NeedPower, scenario.NeedNetwork, scenario.NeedMore}},
		{Name: "restore", Title: "a cluster that is lost with its hosts comes back from a backup; damaged backups are refused", Run: members.RestoreAll, Needs: []scenario.Need{scenario.NeedUpstream, scenario.NeedFresh}},
		{Name: "restoreha", Title: "of three control-plane hosts the second is restored, from the first one's backup, and the others join it", Run: members.RestoreElsewhere, Needs: []scenario.Need{scenario.NeedNetwork, scenario.NeedFresh, scenario.NeedMore}},
		{Name: "grow", Title: "hosts are added, replaced and removed, control-plane hosts too, while somebody counts etcd's members", Run: members.Grow, Needs: []scenario.Need{scenario.NeedPower, scenario.NeedNetwork, scenario.NeedMore}},
		{Name: "crash", Title: "kill -9 at random moments and after every step, power cuts: the same cluster", Run: kills.Crash, Needs: []scenario.Need{scenario.NeedPower, scenario.NeedUpstream}},
		{Name: "ssh", Title: "one command does four servers through SSH, whatever stands in the way", Run: scenario.ThroughSSH, Needs: []scenario.Need{scenario.NeedPower, scenario.NeedThrowaway, scenario.NeedMore}},
		{Name: "hosts", Title: "journey and ctrl-c once more, through plain SSH, on two servers that are nobody's: killed, taken back, done", Run: scenario.OnHosts, Needs: []scenario.Need{scenario.NeedFresh}},
		{Name: "baseline", Title: "encryption at rest with rotation, audit log, modes and flags of the CIS benchmark", Run: scenario.Baseline, Needs: []scenario.Need{scenario.NeedUpstream, scenario.NeedThrowaway}},
		{Name: "attack", Title: "the attacks of the threat table, on a running cluster: each is refused and named", Run: attack.Attack, Needs: []scenario.Need{scenario.NeedUpstream, scenario.NeedThrowaway, scenario.NeedMore}},
		{Name: "certs", Title: "certificates listed, renewed, killed on the way; one that ends soon is named; etcd's authority replaced", Run: certs.Certs, Needs: []scenario.Need{scenario.NeedUpstream}},
		{Name: "certs-ha", Title: "certificates of three control-plane hosts renewed, and each authority replaced, behind a balancer", Run: certs.HA, Needs: []scenario.Need{scenario.NeedNetwork, scenario.NeedMore}},
		{Name: "stick", Title: "a stick that is pulled, power cuts during the copy and during a pull: the store opens, and all is there", Run: emulated.PulledStore, Needs: []scenario.Need{scenario.NeedEmulated}},
		{Name: "sticks", Title: "bundles on FAT32 and exFAT: hardly more bytes than they have; one is pulled", Run: emulated.Sticks, Needs: []scenario.Need{scenario.NeedEmulated}},
		{Name: "ownworker", Title: "an emulated worker: a clock that is hours or days off, swap, a power cut, reset", Run: emulated.OwnWorker, Needs: []scenario.Need{scenario.NeedEmulated}},
		{Name: "cgroupv2", Title: "an emulated server, product defaults: reboot, cgroup drivers that drift apart, an upgrade with a power cut in the middle", Run: emulated.CgroupV2, Needs: []scenario.Need{scenario.NeedEmulated}},
		{Name: "ownkernel", Title: "an emulated server, product defaults, a pulled stick, a power cut", Run: emulated.OwnKernel, Needs: []scenario.Need{scenario.NeedEmulated}},
	}
}
