// Package scenarios lists all scenarios of the lab.
package scenarios

import (
	"airgap.dev/airgap/e2e/scenario"
	"airgap.dev/airgap/e2e/scenario/attack"
	"airgap.dev/airgap/e2e/scenario/badinput"
	"airgap.dev/airgap/e2e/scenario/certs"
	"airgap.dev/airgap/e2e/scenario/clients"
	"airgap.dev/airgap/e2e/scenario/emulated"
	"airgap.dev/airgap/e2e/scenario/faults"
	"airgap.dev/airgap/e2e/scenario/fleet"
	"airgap.dev/airgap/e2e/scenario/gates"
	"airgap.dev/airgap/e2e/scenario/kills"
	"airgap.dev/airgap/e2e/scenario/members"
	"airgap.dev/airgap/e2e/scenario/runtimes"
	"airgap.dev/airgap/e2e/scenario/upgrade"
)

// All lists the scenarios in their order of execution.
func All() []scenario.Scenario {
	return []scenario.Scenario{
		{Name: "journey", Title: "bundle, two servers without a route out, cluster, verify", Run: scenario.Journey, Needs: nil},
		{Name: "badinput", Title: "every wrong input gives a clear error and changes nothing", Run: badinput.BadInput, Needs: []scenario.Need{scenario.NeedUpstream}},
		{Name: "gates", Title: "proxies, gates and media between upstream and the servers: sixty trials, each survived or with the guilty one named", Run: gates.Gates, Needs: []scenario.Need{scenario.NeedUpstream}},
		{Name: "clients", Title: "crane, oras, regctl, skopeo, podman, Docker and ctr pull from the registry, copy out of it and push to it", Run: clients.Clients, Needs: []scenario.Need{scenario.NeedUpstream}},
		{Name: "conformance", Title: "the distribution specification's tests on pushed repositories and on a bundle's, and on registry:3", Run: clients.Conformance, Needs: []scenario.Need{scenario.NeedUpstream}},
		{Name: "ctrl-c", Title: "Ctrl-C in every step; the same command continues", Run: badinput.CtrlC, Needs: nil},
		{Name: "onetrip", Title: "a frozen server with 600 packages gets only the missing ones, from its own dnf", Run: scenario.OneTrip, Needs: []scenario.Need{scenario.NeedUpstream, scenario.NeedThrowaway}},
		{Name: "reset", Title: "after reset, a host is the same as before install, byte for byte", Run: scenario.Reset, Needs: []scenario.Need{scenario.NeedUpstream, scenario.NeedThrowaway}},
		{Name: "gc", Title: "the disk is full, the kubelet deletes images, and pods pull them again", Run: scenario.Gc, Needs: []scenario.Need{scenario.NeedUpstream, scenario.NeedDisk}},
		{Name: "crio", Title: "CRI-O as the runtime, next to an existing podman that does not change; reset", Run: runtimes.CRIO, Needs: []scenario.Need{scenario.NeedUpstream, scenario.NeedPower, scenario.NeedThrowaway}},
		{Name: "containerd1", Title: "Kubernetes 1.35 on containerd 1.7, with its different configuration and pins", Run: runtimes.Containerd1, Needs: []scenario.Need{scenario.NeedUpstream}},
		{Name: "upgrade", Title: "Kubernetes 1.35 to 1.36 and containerd 1.7 to 2.3 on five servers, with kill -9, under a workload that loses no request beyond its budget", Run: upgrade.Upgrade, Needs: []scenario.Need{scenario.NeedUpstream, scenario.NeedNetwork, scenario.NeedMore}},
		{Name: "rollback", Title: "an upgrade that is killed in each of its phases is rolled back; then it completes", Run: upgrade.Rollback, Needs: []scenario.Need{scenario.NeedUpstream}},
		{Name: "minors", Title: "Kubernetes 1.35 to 1.36 to 1.37, not two minors at once, and rollback of the last one", Run: upgrade.Minors, Needs: []scenario.Need{scenario.NeedUpstream}},
		{Name: "conflict", Title: "each runtime, from archive and package, next to an existing podman that does not change; refused next to Docker's packages", Run: runtimes.Conflict, Needs: []scenario.Need{scenario.NeedUpstream, scenario.NeedThrowaway}},
		{Name: "gpu", Title: "workers with GPUs: driver by RPM and by NVIDIA's installer, pods with a GPU or a MIG instance, a GPU that fails", Run: runtimes.GPU, Needs: []scenario.Need{scenario.NeedCards, scenario.NeedUpstream, scenario.NeedPower}},
		{Name: "network", Title: "seventy faults of a network between hosts: each one is named with its hosts and its team; no finding without a fault; pods use a path that works", Run: scenario.Network, Needs: []scenario.Need{scenario.NeedNetwork, scenario.NeedMore}},
		{Name: "verify", Title: "two dozen faults: the right rule reports each one while verify --watch runs; no report without a fault", Run: faults.Verify, Needs: []scenario.Need{scenario.NeedUpstream, scenario.NeedNetwork, scenario.NeedMore}},
		{Name: "existing", Title: "the images go to the site's existing registry, and the servers pull from it", Run: runtimes.ExistingRegistry, Needs: []scenario.Need{scenario.NeedNetwork}},
		{Name: "ha", Title: "three control-plane hosts behind a load balancer: power cuts of each one, also the first; a cold start", Run: scenario.Ha, Needs: []scenario.Need{scenario.NeedPower, scenario.NeedNetwork, scenario.NeedMore}},
		{Name: "restore", Title: "restore of a lost cluster from a backup; damaged backups are refused", Run: members.RestoreAll, Needs: []scenario.Need{scenario.NeedUpstream, scenario.NeedFresh}},
		{Name: "restoreha", Title: "the second of three control-plane hosts is restored from the first one's backup, and the others join it", Run: members.RestoreOnOtherHost, Needs: []scenario.Need{scenario.NeedNetwork, scenario.NeedFresh, scenario.NeedMore}},
		{Name: "grow", Title: "hosts are added, replaced and removed, also control-plane hosts, with checks of etcd's members", Run: members.Grow, Needs: []scenario.Need{scenario.NeedPower, scenario.NeedNetwork, scenario.NeedMore}},
		{Name: "crash", Title: "kill -9 at random moments and after every step, power cuts: the cluster is the same", Run: kills.Crash, Needs: []scenario.Need{scenario.NeedPower, scenario.NeedUpstream}},
		{Name: "ssh", Title: "one command installs four servers through SSH, despite problems on the other hosts", Run: scenario.ThroughSSH, Needs: []scenario.Need{scenario.NeedPower, scenario.NeedThrowaway, scenario.NeedMore}},
		{Name: "fleet", Title: "one command, nine servers: a hung sudo, a hung home, wrong passwords, a full disk, a jump host, a power cut, a lost operator, a second one: the healthy servers are installed, and the others after their repair", Run: fleet.Fleet, Needs: []scenario.Need{scenario.NeedPower, scenario.NeedNetwork, scenario.NeedThrowaway, scenario.NeedMore}},
		{Name: "fleet-upgrade", Title: "the first of three control-plane hosts is lost in the middle of an upgrade, and another one continues it", Run: upgrade.LostFirst, Needs: []scenario.Need{scenario.NeedPower, scenario.NeedUpstream, scenario.NeedNetwork, scenario.NeedMore}},
		{Name: "hosts", Title: "journey and ctrl-c through plain SSH, on two servers that are not the lab's: killed, cleaned up, completed", Run: scenario.OnHosts, Needs: []scenario.Need{scenario.NeedFresh}},
		{Name: "oddhosts", Title: "tcsh, umask 077, a Korean locale, hidepid=2, noexec on /tmp, a symbolic link, 1,000 mounts and one that does not answer: two servers are surveyed, installed and reset", Run: scenario.OddHosts, Needs: []scenario.Need{scenario.NeedThrowaway}},
		{Name: "baseline", Title: "encryption at rest with rotation, audit log, modes and flags of the CIS benchmark", Run: scenario.Baseline, Needs: []scenario.Need{scenario.NeedUpstream, scenario.NeedThrowaway}},
		{Name: "attack", Title: "the attacks of the threat table, on a running cluster: each one is refused and reported", Run: attack.Attack, Needs: []scenario.Need{scenario.NeedUpstream, scenario.NeedThrowaway, scenario.NeedMore}},
		{Name: "certs", Title: "certificates listed, renewed, with kill -9; one that expires soon is reported; etcd's CA is rotated", Run: certs.Certs, Needs: []scenario.Need{scenario.NeedUpstream}},
		{Name: "certs-ha", Title: "certificates of three control-plane hosts renewed, and each CA rotated, behind a load balancer", Run: certs.HA, Needs: []scenario.Need{scenario.NeedNetwork, scenario.NeedMore}},
		{Name: "stick", Title: "a stick that is removed, power cuts during the copy and during a pull: the store opens and is complete", Run: emulated.StickPulled, Needs: []scenario.Need{scenario.NeedEmulated}},
		{Name: "sticks", Title: "bundles on FAT32 and exFAT: little overhead in bytes; one stick is removed", Run: emulated.Sticks, Needs: []scenario.Need{scenario.NeedEmulated}},
		{Name: "ownworker", Title: "an emulated worker: a clock that is wrong by hours or days, swap, a power cut, reset", Run: emulated.Worker, Needs: []scenario.Need{scenario.NeedEmulated}},
		{Name: "nextboot", Title: "an emulated server with eleven traps of the next boot: preflight names each one before the reboot; etcd does not start without its volume", Run: emulated.NextBoot, Needs: []scenario.Need{scenario.NeedEmulated}},
		{Name: "cgroupv2", Title: "an emulated server, product defaults: reboot, different cgroup drivers, an upgrade with a power cut in the middle", Run: emulated.CgroupV2, Needs: []scenario.Need{scenario.NeedEmulated}},
		{Name: "ownkernel", Title: "an emulated server, product defaults, a removed stick, a power cut", Run: emulated.Server, Needs: []scenario.Need{scenario.NeedEmulated}},
	}
}
