package settings

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/sysctld"
)

// SysctlFile is where Sysctls has the parameters set at boot. Files that sort
// after it win.
const SysctlFile = "/etc/sysctl.d/90-airgap.conf"

const forwardingKey = "net.ipv4.ip_forward"

const sysctlUndo = host.UndoDir + "/sysctl.json"

// Sysctl is one kernel parameter that a node needs. One that is a floor is only ever
// raised.
type Sysctl struct {
	Key   string
	Value int
	Floor bool
}

// NodeSysctls are all that Sysctls sets, and has set at every boot.
func NodeSysctls() []Sysctl {
	return append([]Sysctl{
		{Key: forwardingKey, Value: 1},
		{Key: "net.ipv4.conf.default.forwarding", Value: 1}, // the interfaces of pods copy it
		{Key: "net.bridge.bridge-nf-call-iptables", Value: 1},
		{Key: "net.bridge.bridge-nf-call-ip6tables", Value: 1},
		{Key: "fs.inotify.max_user_instances", Value: 8192, Floor: true},
		{Key: "fs.inotify.max_user_watches", Value: 524288, Floor: true},
	}, kubeletSettings()...)
}

// kubeletSettings returns the parameters that the kubelet requires: with protectKernelDefaults it
// does not set them.
func kubeletSettings() []Sysctl {
	return []Sysctl{
		{Key: "vm.overcommit_memory", Value: 1},
		{Key: "vm.panic_on_oom", Value: 0},
		{Key: "kernel.panic", Value: 10},
		{Key: "kernel.panic_on_oops", Value: 1},
		{Key: "kernel.keys.root_maxkeys", Value: 1000000},
		{Key: "kernel.keys.root_maxbytes", Value: 25000000},
	}
}

// KubeletSysctls are the kernel parameters that the kubelet insists on, with
// their values as /proc/sys has them.
func KubeletSysctls() map[string]string {
	values := map[string]string{}
	for _, s := range kubeletSettings() {
		values[s.Key] = strconv.Itoa(s.Value)
	}
	return values
}

// touched returns the parameters that other components set for the cluster, alone or
// together with one of ours: the step records and restores them, too.
func touched() []string {
	return []string{
		// the kernel, when net.ipv4.ip_forward changes
		"net.ipv4.conf.all.accept_redirects",
		// kube-proxy
		"net.ipv4.conf.all.route_localnet", "net.netfilter.nf_conntrack_max",
		"net.netfilter.nf_conntrack_tcp_timeout_established", "net.netfilter.nf_conntrack_tcp_timeout_close_wait",
		// Cilium's agent; kernel.unprivileged_bpf_disabled, which it also sets, cannot be reset
		"net.ipv4.conf.all.rp_filter", "net.ipv4.fib_multipath_use_neigh", "net.core.bpf_jit_enable", "kernel.timer_migration",
	}
}

func (s Sysctl) holds(have int) bool { return have == s.Value || s.Floor && have > s.Value }

// Sysctls sets the kernel parameters of a node, now and at every boot, and
// reads them back. The values from before are kept for the undo.
func Sysctls(m host.Machine) step.Step {
	return step.Step{
		Name: "sysctls", Title: "Set kernel parameters",
		Done: func(context.Context) (bool, error) { return sysctlsHold(m) },
		Plan: func(context.Context) ([]string, error) { return planSysctls(m) },
		Run:  func(context.Context) error { return setSysctls(m) },
		Undo: func(context.Context) error { return restoreSysctls(m) },
	}
}

func sysctlsHold(m host.Machine) (bool, error) {
	want := map[string]int{}
	for _, s := range NodeSysctls() {
		have, err := readSysctl(m, s.Key)
		if err != nil {
			return false, host.IgnoreMissing(err) // br_netfilter is possibly not loaded yet
		}
		if !s.holds(have) {
			return false, nil
		}
		want[s.Key] = have
	}
	off, err := linksOff(m)
	if err != nil || len(off) > 0 {
		return false, err
	}
	text, err := sysctlText(m, want)
	if err != nil {
		return false, err
	}
	return host.FileMatches(m.Path(SysctlFile), text, 0o644)
}

// setSysctls writes the values from before first: a cut later must not lose
// them, and a second run must not take ours for theirs.
func setSysctls(m host.Machine) error {
	before, want := map[string]int{}, map[string]int{}
	for _, key := range touched() {
		if have, err := readSysctl(m, key); err == nil { // not every kernel has all of them
			before[key] = have
		}
	}
	for _, s := range NodeSysctls() {
		have, err := readSysctl(m, s.Key)
		if err != nil {
			return fmt.Errorf("read kernel parameter %s: %w", s.Key, err)
		}
		before[s.Key], want[s.Key] = have, have
		if !s.holds(have) {
			want[s.Key] = s.Value
		}
	}
	if err := keepSysctls(m, before); err != nil {
		return err
	}
	text, err := sysctlText(m, want)
	if err != nil {
		return err
	}
	if err := host.WriteFile(m.Path(SysctlFile), text, 0o644); err != nil {
		return err
	}
	if err := writeSysctls(m, want, ourKeys()...); err != nil {
		return err
	}
	return switchLinksOn(m)
}

// keepSysctls keeps the values from before for the undo. Values that an earlier run kept stay.
func keepSysctls(m host.Machine, before map[string]int) error {
	kept, err := host.ReadJSON[map[string]int](m.Path(sysctlUndo))
	if host.IgnoreMissing(err) != nil {
		return err
	}
	if err := addLinks(m, before); err != nil {
		return err
	}
	maps.Copy(before, kept)
	if maps.Equal(before, kept) {
		return nil
	}
	return host.WriteJSON(m.Path(sysctlUndo), before)
}

func ourKeys() []string {
	var keys []string
	for _, s := range NodeSysctls() {
		keys = append(keys, s.Key)
	}
	return keys
}

func restoreSysctls(m host.Machine) error {
	before, err := host.ReadJSON[map[string]int](m.Path(sysctlUndo))
	if err != nil {
		return err
	}
	// Ours first: the kernel changes others along with them.
	if err := writeSysctls(m, before, ourKeys()...); err != nil {
		return err
	}
	if err := writeSysctls(m, before, slices.Sorted(maps.Keys(before))...); err != nil {
		return err
	}
	return errors.Join(host.Remove(m.Path(SysctlFile)), host.Remove(m.Path(sysctlUndo)))
}

// sysctlText has two more lines for forwarding. Another file can set net.ipv4.ip_forward by its other
// name, and systemd-sysctl applies both in the order of their changes. A glob in an earlier file would
// switch forwarding off for each new interface.
func sysctlText(m host.Machine, values map[string]int) ([]byte, error) {
	text := bytes.NewBufferString("# Written by airgap for Kubernetes.\n")
	for _, s := range NodeSysctls() {
		fmt.Fprintf(text, "%s = %d\n", s.Key, values[s.Key])
	}
	fmt.Fprintf(text, "# The other name of %s, and interfaces that are created later.\nnet.ipv4.conf.all.forwarding = 1\n", forwardingKey)
	globs, err := sysctld.KnowsGlobs(os.DirFS(m.Path("/")))
	if globs {
		fmt.Fprintf(text, "net.ipv4.conf.*.forwarding = 1\n")
	}
	return text.Bytes(), err
}

func sysctlPath(m host.Machine, key string) string { return m.Path("/proc/sys/" + sysctld.Path(key)) }

func readSysctl(m host.Machine, key string) (int, error) {
	text, err := os.ReadFile(sysctlPath(m, key))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// writeSysctls sets the keys that have a value and differ from it.
func writeSysctls(m host.Machine, values map[string]int, keys ...string) error {
	for _, key := range keys {
		value, known := values[key]
		have, err := readSysctl(m, key)
		if !known || errors.Is(err, fs.ErrNotExist) || err == nil && have == value {
			continue // a parameter goes with its module
		}
		if err := os.WriteFile(sysctlPath(m, key), []byte(strconv.Itoa(value)), 0o644); err != nil {
			return fmt.Errorf("set kernel parameter %s: %w", key, err)
		}
	}
	return nil
}

// planSysctls lists a parameter of a module that is not loaded yet without its
// old value.
func planSysctls(m host.Machine) ([]string, error) {
	var changes []string
	want := map[string]int{}
	for _, s := range NodeSysctls() {
		have, err := readSysctl(m, s.Key)
		switch {
		case host.IgnoreMissing(err) != nil:
			return changes, err
		case err != nil:
			want[s.Key] = s.Value
			changes = append(changes, fmt.Sprintf("%s → %d", s.Key, s.Value))
		case s.holds(have):
			want[s.Key] = have
		default:
			want[s.Key] = s.Value
			changes = append(changes, fmt.Sprintf("%s %d → %d", s.Key, have, s.Value))
		}
	}
	links, err := planLinks(m)
	if err != nil {
		return changes, err
	}
	text, err := sysctlText(m, want)
	if err != nil {
		return changes, err
	}
	file, err := host.PlanFiles(map[string][]byte{m.Path(SysctlFile): text}, 0o644)
	return slices.Concat(changes, links, file), err
}
