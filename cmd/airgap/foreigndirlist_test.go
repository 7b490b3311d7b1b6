package main

import (
	"airgap.dev/airgap/cluster/service"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/kubeadm/joincode"
	"airgap.dev/airgap/registry"
)

// foreignDir is a directory on a server that another user than root can change, and in
// which a program of root's works all the same.
type foreignDir struct {
	Dir   string
	Owner string
	Unit  string // the unit that gives it to that user; "" where the system does
	Root  string // what root does there, and why a link of that user's misleads nothing
	Test  string // the test in which that user sets traps
	// OpenedIn are the files of the source that open it by host.OpenOwned.
	OpenedIn []string
}

// foreignDirs are all of them: root uses no other directory that another user can change.
func foreignDirs() []foreignDir {
	return []foreignDir{
		{
			Dir: site.PushedDir, Owner: site.ServiceGroup, Unit: registry.UnitName,
			Root:     "rollback keeps blobs there and prune reads: host.Owned, which no link leads out of and which hands files over by their descriptor; reset --wipe-data deletes: host.RemoveTree",
			Test:     "TestKeepPushedFollowsNoLink",
			OpenedIn: []string{"registry/files.go", "registry/keep.go"},
		},
		{
			Dir: service.ApproverDir, Owner: "airgap-approver", Unit: joincode.ApproverUnit,
			Root:     "join-approver --credential writes the certificate there before that user's program starts: host.Owned; systemd makes the directory and removes it",
			Test:     "TestApproverCredentialFollowsNoLink",
			OpenedIn: []string{"cluster/service/approver.go"},
		},
		{
			Dir: "/tmp", Owner: "every user",
			Root: "scratch: a directory of its own by mkdtemp; an older one is removed where a lock on the open directory shows it to be root's",
			Test: "TestScratch",
		},
		{Dir: "/var/tmp", Owner: "every user", Root: "remote.RunWith: a directory of its own by mktemp, mode 0700", Test: "TestRunWithFiles"},
		{
			Dir: "/var/lib/kubelet/pods", Owner: "pods' users, in their volumes",
			Root: "reset deletes: host.RemoveTree, which follows no link and crosses no mount",
			Test: "TestRemoveTree",
		},
		{
			Dir: "/proc/PID/root", Owner: "a static pod",
			Root:     "compliance reads the files that its arguments name: host.Owned, which no link leads out of and which waits for no FIFO",
			Test:     "TestNamedFiles",
			OpenedIn: []string{"kubeadm/node/process.go"},
		},
		{
			Dir: "~/.ssh", Owner: "the user who calls sudo",
			Root: "install reads keys and known_hosts with the rights of that user (host.AsOwner); it writes nothing there",
			Test: "TestKnownHostsAsTheirUser",
		},
	}
}
