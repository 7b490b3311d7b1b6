package alike_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"airgap.dev/airgap/internal/alike"
)

// TestGroups: only the name and the address of a host may differ within a group.
func TestGroups(t *testing.T) {
	for name, c := range map[string]struct{ said, want string }{
		"the same":              {"n1=no space n2=no space", "n1,n2: no space"},
		"a name":                {"n1=log in on n1 n2=log in on n2", "n1,n2: log in on HOST"},
		"one host":              {"n1=log in on n1", "n1: log in on n1"},
		"a name in a name":      {"n1=n10 fails n2=n20 fails", "n1: n10 fails|n2: n20 fails"},
		"a pod":                 {"n1=etcd-n1 fails n2=etcd-n2 fails", "n1,n2: etcd-HOST fails"},
		"an address":            {"n1=dial 10.0.0.1:22: refused n2=dial 10.0.0.2:22: refused", "n1,n2: dial HOST:22: refused"},
		"a longer address":      {"n1=dial 10.0.0.11 n2=dial 10.0.0.21", "n1: dial 10.0.0.11|n2: dial 10.0.0.21"},
		"a free port":           {"n1=read 10.9.9.9:4711->10.0.0.1:22 n2=read 10.9.9.9:4712->10.0.0.2:22", "n1,n2: read 10.9.9.9->HOST:22"},
		"another host's name":   {"n1=ask n3 n2=ask n3", "n1,n2: ask n3"},
		"twice":                 {"n1=n1: n1 n2=n2: n2", "n1,n2: HOST: HOST"},
		"name at the end of it": {"n1=n1n1 n2=n1n1", "n1,n2: n1n1"},
		"most hosts first":      {"n1=a n2=b n3=b", "n2,n3: b|n1: a"},
	} {
		var said []alike.Said
		for i := 1; i <= 3; i++ {
			_, text, is := strings.Cut(" "+c.said, fmt.Sprintf(" n%d=", i))
			if !is {
				continue
			}
			text, _, _ = strings.Cut(text, fmt.Sprintf(" n%d=", i+1))
			said = append(said, alike.Said{Host: fmt.Sprintf("n%d", i), Address: fmt.Sprintf("10.0.0.%d", i), Text: text})
		}
		var got []string
		for _, g := range alike.Groups(said) {
			got = append(got, strings.Join(g.Hosts, ",")+": "+g.Text)
		}
		assert.Equal(t, c.want, strings.Join(got, "|"), name)
	}
}

// TestLines: 40 hosts with the same error have one line, and 40 with different ones fit on a terminal.
func TestLines(t *testing.T) {
	var same, different []alike.Said
	for i := 1; i <= 40; i++ {
		host := fmt.Sprintf("node%03d", i)
		same = append(same, alike.Said{Host: host, Text: "install airgap.rpm: " + host + ": no space\nhint: free some"})
		different = append(different, alike.Said{Host: host, Text: fmt.Sprintf("process %d hangs\nhint: end it", 1000+i)})
	}
	assert.Equal(t, []string{"  node[001-040] (40 hosts): install airgap.rpm: HOST: no space\n    hint: free some"}, alike.Lines(same, "see the logs"))
	lines := alike.Lines(different, "see the logs")
	assert.Equal(t, "  node001: process 1001 hangs\n    hint: end it", lines[0])
	assert.Equal(t, "  node[008-040] (33 hosts): 33 other problems; see the logs", lines[len(lines)-1])
	assert.LessOrEqual(t, strings.Count(strings.Join(lines, "\n"), "\n"), 20)
}
