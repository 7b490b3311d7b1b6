package main

import (
	"airgap.dev/airgap/cluster/service"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/kubeadm/jointoken"
	"airgap.dev/airgap/registry"
)

// foreignDir is a directory on a server that a user other than root can change, and that a program
// of root uses.
type foreignDir struct {
	Dir   string
	Owner string
	Unit  string // the unit that gives the directory to that user; "": the system
	Root  string // the action of root there, and why a link of that user is harmless
	Test  string // the test with traps by that user
	// OpenedIn are the source files that open it with host.OpenOwned.
	OpenedIn []string
}

// foreignDirs returns all of them: root uses no other directory that another user can change.
func foreignDirs() []foreignDir {
	return []foreignDir{
		{
			Dir: site.PushedDir, Owner: site.ServiceGroup, Unit: registry.UnitName,
			Root: "rollback writes blobs, prune reads them and garbage-collect deletes them: host.Owned, which follows no link out of it and " +
				"changes owners by descriptor; reset --wipe-data deletes: host.RemoveTree",
			Test:     "TestKeepPushedFollowsNoLink",
			OpenedIn: []string{"registry/files/files.go", "registry/garbage.go", "registry/keep.go"},
		},
		{
			Dir: service.ApproverDir, Owner: "airgap-approver", Unit: jointoken.ApproverUnit,
			Root:     "join-approver --credential writes the certificate before the program of that user starts: host.Owned; systemd creates and removes the directory",
			Test:     "TestApproverCredentialFollowsNoLink",
			OpenedIn: []string{"cluster/service/approver.go"},
		},
		{
			Dir: "/tmp", Owner: "every user",
			Root: "scratch: a private directory by mkdtemp; an older one is removed if a lock on the open directory shows that root owns it",
			Test: "TestScratch",
		},
		{Dir: "/var/tmp", Owner: "every user", Root: "remote.RunWith: a private directory by mktemp, mode 0700", Test: "TestRunWithFiles"},
		{
			Dir: "/var/lib/kubelet/pods", Owner: "pods' users, in their volumes",
			Root: "reset deletes: host.RemoveTree, which follows no link and crosses no mount",
			Test: "TestRemoveTree",
		},
		{
			Dir: "/proc/PID/root", Owner: "a static pod",
			Root:     "compliance reads the files in its arguments: host.Owned, which follows no link out of it and does not wait for a FIFO",
			Test:     "TestNamedFiles",
			OpenedIn: []string{"kubeadm/node/process.go"},
		},
		{
			Dir: "~/.ssh", Owner: "the user who calls sudo",
			Root: "install reads keys and known_hosts with the permissions of that user (host.AsOwner), and writes nothing",
			Test: "TestKnownHostsAsTheirUser",
		},
	}
}
