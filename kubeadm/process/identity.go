package process

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Identity distinguishes a process of Kubernetes from others with its name.
//
// A process chooses its arguments, and with them its name. It does not choose which
// program the kernel runs, and only root chooses another user. A pod may run any program as
// any user, also in the host's network, but it stays in the cgroup of its pod.
type Identity struct {
	Program string // the last part of /proc/PID/exe
	User    int64  // all four of its user IDs: of a setuid program one is the caller's
	Static  bool   // in a static pod; otherwise in no pod
}

// is compares the process at /proc/PID, dir, with the identity. A process that has
// ended, or cannot be read, does not match.
func (i Identity) is(files fs.FS, dir string) bool {
	exe, err := fs.ReadLink(files, dir+"/exe")
	if err != nil || path.Base(strings.TrimSuffix(exe, " (deleted)")) != i.Program { // deleted: by an upgrade of its package
		return false
	}
	status, err := fs.ReadFile(files, dir+"/status")
	if err != nil || !runsAsUser(string(status), i.User) {
		return false
	}
	groups, err := fs.ReadFile(files, dir+"/cgroup")
	if err != nil {
		return false
	}
	pods := podsOf(string(groups))
	if !i.Static {
		return len(pods) == 0
	}
	return len(pods) > 0 && !slices.ContainsFunc(pods, fromAPI)
}

// runsAsUser reads "Uid:", real, effective, saved and that of the file system, tabs
// between them, of /proc/PID/status.
func runsAsUser(status string, user int64) bool {
	for line := range strings.Lines(status) {
		if ids, is := strings.CutPrefix(line, "Uid:"); is {
			want := strconv.FormatInt(user, 10)
			return slices.Equal(strings.Fields(ids), []string{want, want, want, want})
		}
	}
	return false
}

// podGroup is the cgroup of a pod: "podUID" with the driver cgroupfs, and
// "kubepods-burstable-podUID.slice" with that of systemd, where the UID has _ for -.
var podGroup = regexp.MustCompile(`(?:^|-)pod([0-9a-f][0-9a-f_-]{15,})(?:\.slice)?$`)

// podsOf are the UIDs of the pods that a process is in, by the lines of
// /proc/PID/cgroup: one, or one for each hierarchy of version 1. A pod that may make
// cgroups makes them below its own, so the first of a path counts.
func podsOf(groups string) []string {
	var uids []string
	for line := range strings.Lines(groups) {
		for element := range strings.SplitSeq(strings.TrimSpace(line), "/") {
			if match := podGroup.FindStringSubmatch(element); match != nil {
				uids = append(uids, match[1])
				break
			}
		}
	}
	return uids
}

// fromAPI reports whether the API server gave a pod its UID, an RFC 4122 one with
// its dashes. The kubelet gives a static pod a hash of its manifest, which has none
// (pkg/kubelet/config/common.go).
func fromAPI(uid string) bool { return strings.ContainsAny(uid, "-_") }
