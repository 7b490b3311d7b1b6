package settings

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/sysctld"
)

// NetworkLimitsFile has the parameters of NetworkLimitsStep for the next boot.
const NetworkLimitsFile = "/etc/sysctl.d/90-airgap-network.conf"

const (
	networkLimitsUndo = host.UndoDir + "/sysctl-network.json"
	reservedPorts     = "net.ipv4.ip_local_reserved_ports"
	neighbours        = "net.ipv4.neigh.default.gc_thresh"
)

// NetworkLimits describes the cluster to a host's kernel: how many neighbours the host has, and
// which ports are no ports for outgoing connections.
type NetworkLimits struct {
	Nodes, PodsPerNode int
	Ports              []Port // of Listens
}

// Neighbours are the sizes of the kernel's neighbour table, which all network namespaces of a host
// share (arp(7)): the size below which no entry is removed, the one that it may exceed only for
// five seconds, and the largest. A pod has entries for its host and for pods on the same bridge,
// and its host has one for it: 16 for each pod. Four for each node are the node, its tunnel, and
// both while an address changes. The proportions are those of the kernel's defaults.
func (l NetworkLimits) Neighbours() []Sysctl {
	most := 1024 // the kernel's default
	for most < 16*l.PodsPerNode+4*l.Nodes && most < 1<<20 {
		most *= 2
	}
	return []Sysctl{{Key: neighbours + "1", Value: most / 8, Floor: true}, {Key: neighbours + "2", Value: most / 2, Floor: true}, {Key: neighbours + "3", Value: most, Floor: true}}
}

// NetworkLimitsStep reserves the cluster's ports and raises the limits of the neighbour table, now
// and at every boot. It keeps higher limits, and the ports that the site reserves.
func NetworkLimitsStep(m host.Machine, l NetworkLimits) step.Step {
	return step.Step{
		Name: "network-limits", Title: "Reserve the cluster's ports and size the neighbour table",
		Done: func(context.Context) (bool, error) {
			changed, text, err := l.wanted(m)
			if err != nil || len(changed) > 0 {
				return false, err
			}
			return host.FileMatches(m.Path(NetworkLimitsFile), text, 0o644)
		},
		Plan: func(context.Context) ([]string, error) {
			changed, text, err := l.wanted(m)
			if err != nil {
				return nil, err
			}
			var changes []string
			for _, c := range changed {
				changes = append(changes, strings.TrimSpace(c.key+" "+c.have)+" → "+c.want)
			}
			file, err := host.PlanFiles(map[string][]byte{m.Path(NetworkLimitsFile): text}, 0o644)
			return append(changes, file...), err
		},
		Run:  func(context.Context) error { return l.set(m) },
		Undo: func(context.Context) error { return restoreNetworkLimits(m) },
	}
}

// change is a parameter that has another value.
type change struct{ key, have, want string }

// wanted returns the parameters to change, and the text of the file. A kernel without a parameter
// needs no value: the neighbour table belongs to the host, not to a container.
func (l NetworkLimits) wanted(m host.Machine) (changed []change, text []byte, err error) {
	file := bytes.NewBufferString("# Written by airgap for Kubernetes.\n")
	note := func(key, have, want string) {
		if have != want {
			changed = append(changed, change{key, have, want})
		}
		fmt.Fprintf(file, "%s = %s\n", key, want)
	}
	for _, s := range l.Neighbours() {
		have, err := readSysctl(m, s.Key)
		if host.IgnoreMissing(err) != nil {
			return nil, nil, fmt.Errorf("read kernel parameter %s: %w", s.Key, err)
		}
		if err == nil {
			note(s.Key, strconv.Itoa(have), strconv.Itoa(max(have, s.Value)))
		}
	}
	have, err := readText(m, reservedPorts)
	if host.IgnoreMissing(err) != nil {
		return nil, nil, err
	}
	if err == nil {
		want, err := l.reserved(m, have)
		if err != nil {
			return nil, nil, err
		}
		note(reservedPorts, have, want)
	}
	return changed, file.Bytes(), nil
}

// reserved is the list of the cluster's ports, of those that are reserved now, and of those that
// the site's files reserve at the next boot: airgap's file takes the place of theirs.
func (l NetworkLimits) reserved(m host.Machine, now string) (string, error) {
	ports := map[int]bool{}
	for _, p := range l.Ports {
		for port := p.First; port <= p.Last; port++ {
			ports[port] = true
		}
	}
	lists := []string{now}
	for _, pattern := range []string{"/usr/lib/sysctl.d/*.conf", "/usr/local/lib/sysctl.d/*.conf", "/run/sysctl.d/*.conf", "/etc/sysctl.d/*.conf", "/etc/sysctl.conf"} {
		files, err := filepath.Glob(m.Path(pattern))
		if err != nil {
			return "", err
		}
		for _, file := range files {
			if file == m.Path(NetworkLimitsFile) {
				continue
			}
			text, err := os.ReadFile(file)
			if host.IgnoreMissing(err) != nil {
				return "", err
			}
			lists = append(lists, reservedIn(string(text)))
		}
	}
	for _, list := range lists {
		if err := addPorts(ports, list); err != nil {
			return "", err
		}
	}
	return portRanges(ports), nil
}

// reservedIn is the value of ip_local_reserved_ports in a file of sysctl.d(5); "" for none.
func reservedIn(text string) string {
	value := ""
	for line := range strings.Lines(text) {
		key, list, is := strings.Cut(strings.TrimSpace(line), "=")
		key = strings.ReplaceAll(strings.TrimPrefix(strings.TrimSpace(key), "-"), "/", ".")
		if is && key == reservedPorts {
			value = strings.TrimSpace(list)
		}
	}
	return value
}

// addPorts adds the ports of a list such as "5000,30000-32767".
func addPorts(ports map[int]bool, list string) error {
	for item := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
		from, to, is := strings.Cut(item, "-")
		if !is {
			to = from
		}
		first, errFirst := strconv.ParseUint(from, 10, 16)
		last, errLast := strconv.ParseUint(to, 10, 16)
		if errFirst != nil || errLast != nil || first > last {
			return fmt.Errorf("read %s: %q is not a range of ports", reservedPorts, item)
		}
		for port := first; port <= last; port++ {
			ports[int(port)] = true
		}
	}
	return nil
}

// portRanges writes ports as the kernel does: "5000,30000-32767".
func portRanges(ports map[int]bool) string {
	var sorted []int
	for port := range ports {
		sorted = append(sorted, port)
	}
	slices.Sort(sorted)
	var items []string
	for i := 0; i < len(sorted); {
		j := i
		for j+1 < len(sorted) && sorted[j+1] == sorted[j]+1 {
			j++
		}
		item := strconv.Itoa(sorted[i])
		if j > i {
			item += "-" + strconv.Itoa(sorted[j])
		}
		items = append(items, item)
		i = j + 1
	}
	return strings.Join(items, ",")
}

// set writes the values from before first, as setSysctls does.
func (l NetworkLimits) set(m host.Machine) error {
	changed, text, err := l.wanted(m)
	if err != nil {
		return err
	}
	before := map[string]string{}
	for _, c := range changed {
		before[c.key] = c.have
	}
	if err := keepLimits(m, before); err != nil {
		return err
	}
	if err := host.WriteFile(m.Path(NetworkLimitsFile), text, 0o644); err != nil {
		return err
	}
	for _, c := range changed {
		if err := writeText(m, c.key, c.want); err != nil {
			return err
		}
	}
	return nil
}

// keepLimits keeps the values from before for the undo, unless an earlier run kept some.
func keepLimits(m host.Machine, before map[string]string) error {
	if _, err := os.Stat(m.Path(networkLimitsUndo)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return host.WriteJSON(m.Path(networkLimitsUndo), before)
}

func restoreNetworkLimits(m host.Machine) error {
	before, err := host.ReadJSON[map[string]string](m.Path(networkLimitsUndo))
	if err != nil {
		return err
	}
	for key, value := range before {
		if _, err := readText(m, key); err != nil {
			continue // the kernel no longer has it
		}
		if err := writeText(m, key, value); err != nil {
			return err
		}
	}
	return errors.Join(host.Remove(m.Path(NetworkLimitsFile)), host.Remove(m.Path(networkLimitsUndo)))
}

func readText(m host.Machine, key string) (string, error) {
	text, err := os.ReadFile(sysctlPath(m, key))
	return strings.TrimSpace(string(text)), err
}

// writeText ends the value with a newline: the kernel ignores an empty write, which could not empty
// the list of ports.
func writeText(m host.Machine, key, value string) error {
	if err := os.WriteFile(sysctlPath(m, key), []byte(value+"\n"), 0o644); err != nil {
		return fmt.Errorf("set kernel parameter %s: %w", key, err)
	}
	return nil
}

// driftedLimits returns the parameters in airgap's file with a lower limit or without some of the
// ports, now or from the next boot on: a file that sorts after airgap's can set less.
func driftedLimits(m host.Machine, boot *sysctld.Boot) ([]SysctlDrift, error) {
	text, err := os.ReadFile(m.Path(NetworkLimitsFile))
	if err != nil {
		return nil, host.IgnoreMissing(err)
	}
	var drifted []SysctlDrift
	for line := range strings.Lines(string(text)) {
		key, want, is := strings.Cut(strings.TrimSpace(line), " = ")
		if !is || strings.HasPrefix(key, "#") {
			continue
		}
		have, err := readText(m, key)
		if host.IgnoreMissing(err) != nil {
			return nil, err
		}
		if least := lacks(key, have, want); least != "" {
			drifted = append(drifted, SysctlDrift{key, have, least})
			continue
		}
		set, is := boot.Of(key)
		if least := lacks(key, set.Value, want); least != "" {
			saw := "no setting for the next boot"
			if is {
				saw = atNextBoot(set)
			}
			drifted = append(drifted, SysctlDrift{key, saw, least})
		}
	}
	return drifted, nil
}

// lacks describes what a value needs: a higher limit, or more ports; "" for nothing.
func lacks(key, have, want string) string {
	if key == reservedPorts {
		if missing := withoutPorts(want, have); missing != "" {
			return "also " + missing
		}
		return ""
	}
	n, errHave := strconv.Atoi(have)
	if least, errWant := strconv.Atoi(want); errWant == nil && (errHave != nil || n < least) {
		return "at least " + want
	}
	return ""
}

// withoutPorts is the list without the ports of another one. A list that cannot be read has none.
func withoutPorts(list, other string) string {
	ports, has := map[int]bool{}, map[int]bool{}
	if addPorts(ports, list) != nil || addPorts(has, other) != nil {
		return list
	}
	for port := range has {
		delete(ports, port)
	}
	return portRanges(ports)
}
