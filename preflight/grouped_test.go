package preflight

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/internal/outlier"
)

// hundredHosts has 100 hosts with 75 checks. Two have swap, each has another amount of free room, and one has an old kernel.
func hundredHosts() Reports {
	var all Reports
	for i := 1; i <= 100; i++ {
		r := Report{Host: fmt.Sprintf("node%03d", i), System: "Rocky Linux 9.6", Kernel: "5.14.0-570", Worst: Warn}
		r.Traits = []outlier.Trait{{Name: "kernel", Value: "5.14.0-570"}, {Name: "MTU", Value: "1500"}}
		for n := range 73 {
			r.Results = append(r.Results, entry(fmt.Sprintf("check%02d", n), Pass, "fine"))
		}
		room := Entry{ID: "room", Title: "The disk has room", Result: Result{Warn, fmt.Sprintf("%d GB free", i/20), "20 GB", "add a disk"}}
		swap := Entry{ID: "swap", Title: "Swap is off", Result: Result{Status: Pass, Found: "none"}}
		if i == 17 || i == 44 {
			r.Worst = Fail
			swap.Result = Result{Fail, "/dev/dm-1\n/dev/dm-2", "no active swap", "swapoff -a"}
		}
		if i == 60 {
			r.Kernel, r.Traits[0].Value = "5.14.0-503", "5.14.0-503"
		}
		r.Results = append(r.Results, room, swap)
		all = append(all, r)
	}
	return all
}

// TestTextOfManyHosts: the text fits on a terminal of 24 rows, the failures are at its end, and hosts that differ are named.
func TestTextOfManyHosts(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, hundredHosts().Text(&b))
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	assert.LessOrEqual(t, len(lines), 22, "the prompt needs a row: %s", &b)
	assert.Contains(t, b.String(), "note   kernel: 5.14.0-570 on 99 hosts\n       but 5.14.0-503 on node060\n")
	assert.NotContains(t, b.String(), "MTU", "all hosts have the same")
	assert.Contains(t, b.String(), "3 other findings", "of the six about room")
	golden(t, "hundred-hosts.txt", hundredHosts().Text)
	assert.Equal(t, strings.Split(`FAIL   swap: Swap is off
       found  /dev/dm-1
              /dev/dm-2
       on     node[017,044] (2 of 100)
       want   no active swap
       fix    swapoff -a
98 of 100 hosts pass, 7398 of 7500 results passed; not ready: node[017,044]`, "\n"), lines[len(lines)-7:])
}

// TestTextOfOneHost: one report has a line for each check.
func TestTextOfOneHost(t *testing.T) {
	one := hundredHosts()[:1]
	var both, alone bytes.Buffer
	require.NoError(t, one.Text(&both))
	require.NoError(t, one[0].Text(&alone))
	assert.Equal(t, alone.String(), both.String())
}
