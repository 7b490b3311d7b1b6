package matrix

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/preflight"
)

// Write prints one table for each kind of row. A star marks the rows that airgap.yaml
// uses.
func (m *Table) Write(w io.Writer) error {
	for i, rows := range [][][]string{m.systems(), m.kernels(), m.kubernetes(), m.containerd(), m.cards(), m.gpus(), m.drivers()} {
		if i > 0 {
			fmt.Fprintln(w)
		}
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, cells := range rows {
			fmt.Fprintln(t, strings.Join(cells, "\t"))
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, "\n* used by airgap.yaml; without a driver in airgap.yaml, airgap chooses it by the GPUs in the facts of a host")
	return err
}

func mark(used bool) string {
	if used {
		return "*"
	}
	return " "
}

func (m *Table) systems() [][]string {
	rows := [][]string{{mark(false), "SYSTEM", "KERNEL", "GLIBC", "CGROUP", "PACKET FILTER", "SOURCE"}}
	for _, s := range m.Systems {
		rows = append(rows, []string{mark(s.Used), s.OS, s.Kernel, s.Glibc, s.Cgroup, s.PacketFilter, s.Source})
	}
	return rows
}

func (m *Table) kernels() [][]string {
	rows := [][]string{{mark(false), "KERNEL", "FOR", "OLDER IS", "SOURCE"}}
	for _, k := range m.Kernels {
		older := map[bool]string{true: "refused", false: "not supported"}[k.Older == preflight.Fail]
		rows = append(rows, []string{mark(false), k.From, k.For, older, k.Source})
	}
	return rows
}

func (m *Table) kubernetes() [][]string {
	rows := [][]string{{mark(false), "KUBERNETES", "ETCD", "COREDNS", "PAUSE", "CONTAINERD FROM", "CRI-O", "CGROUP", "FIXES UNTIL", "SOURCE"}}
	for _, r := range m.Kubernetes {
		rows = append(rows, []string{mark(r.Used), r.Minor, r.Etcd, r.CoreDNS, r.Pause, strings.Join(r.Containerd, ", "), r.Minor + ".*", r.Cgroup, r.Ends, r.Source})
	}
	return rows
}

func (m *Table) containerd() [][]string {
	rows := [][]string{{mark(false), "CONTAINERD", "RUNC FROM", "CONFIG", "PAUSE", "FIXES UNTIL", "SOURCE"}}
	for _, l := range m.Containerd {
		rows = append(rows, []string{mark(l.Used), l.Line, l.Runc, strconv.Itoa(l.Config), cmp.Or(l.Pause, "-"), cmp.Or(l.Ends, "-"), l.Source})
	}
	return rows
}

// cards joins neighbouring ranges of the same architecture and source into one row.
func (m *Table) cards() [][]string {
	rows := [][]string{{mark(false), "ARCHITECTURE", "PCI DEVICE IDS", "SOURCE"}}
	for i, r := range m.Cards {
		ids := r.First.String() + "-" + r.Last.String()
		if last := rows[len(rows)-1]; i > 0 && last[1] == string(r.Architecture) && last[3] == r.Source {
			last[2] += " " + ids
			continue
		}
		rows = append(rows, []string{mark(false), string(r.Architecture), ids, r.Source})
	}
	return rows
}

func (m *Table) gpus() [][]string {
	rows := [][]string{{mark(false), "GPU", "DRIVERS BY THEIR KERNEL MODULE", "SOURCE"}}
	for _, g := range m.GPUs {
		rows = append(rows, []string{mark(false), ui.Words(g.Architectures), g.Modules(), g.Source})
	}
	return rows
}

func (m *Table) drivers() [][]string {
	rows := [][]string{{mark(false), "DRIVER", "KIND", "FIXES UNTIL", "CUDA", "SOURCE"}}
	for _, b := range m.Drivers {
		rows = append(rows, []string{mark(b.Used), strconv.Itoa(b.Number), b.Kind, b.Ends, strconv.Itoa(b.CUDA), b.Source})
	}
	return rows
}
