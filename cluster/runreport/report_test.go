package runreport

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

func at(minute int) time.Time { return time.Date(2026, 11, 29, 22, minute, 0, 0, time.UTC) }

// journal has a run of an older version, a failed install, its second run, which a power cut interrupts, and a reset.
func journal() []step.Entry {
	kim := &step.Invocation{Command: "airgap install", User: "kim as root", From: "10.0.0.9", Host: "node1", Program: "1.4"}
	return []step.Entry{
		{Time: at(1), Step: "swap", Event: step.Began}, {Time: at(2), Step: "swap", Event: step.Ended},
		{Time: at(10), Event: step.RunBegan, Command: kim},
		{Time: at(10), Step: "modules", Title: "Load kernel modules", Event: step.Began, Changes: []string{"write /etc/modules-load.d/airgap.conf (new)"}},
		{Time: at(11), Step: "modules", Event: step.Ended},
		{Time: at(11), Step: "packages", Title: "Install packages", Event: step.Began, Changes: []string{"install containerd.io-2.1.4"}},
		{Time: at(12), Step: "packages", Event: step.Broke, Error: "no room"},
		{Time: at(12), Event: step.RunEnded, Error: "step packages: no room"},
		{Time: at(20), Event: step.RunBegan, Command: kim},
		{Time: at(20), Step: "packages", Title: "Install packages", Event: step.Began},
		{Time: at(30), Event: step.RunBegan, Command: &step.Invocation{Command: "airgap reset", User: "root"}},
		{Time: at(31), Step: "packages", Event: step.Undone}, {Time: at(32), Step: "modules", Event: step.Undone},
		{Time: at(32), Event: step.RunEnded},
	}
}

func TestRunsOf(t *testing.T) {
	runs := runsOf(journal())
	var got []string
	for _, r := range runs {
		line := r.Command + " by " + r.User + ": " + r.Result
		for _, s := range r.Steps {
			line += ", " + s.Step + " " + s.Result
		}
		got = append(got, line)
	}
	assert.Equal(t, []string{
		" by " + unknownUser + ": interrupted, swap done",
		"airgap install by kim as root: failed, modules done, packages failed",
		"airgap install by kim as root: interrupted, packages interrupted",
		"airgap reset by root: done, packages undone, modules undone",
	}, got)
	assert.Equal(t, "step packages: no room", runs[1].Error)
	assert.Equal(t, at(12), runs[1].Ended)
	assert.Equal(t, []string{"install containerd.io-2.1.4"}, runs[1].Steps[1].Changes)
}

// TestSeveralListsOfSteps: one process is one run, and another process with the same command is another.
func TestSeveralListsOfSteps(t *testing.T) {
	began := func(minute, pid int) step.Entry {
		return step.Entry{Time: at(minute), Event: step.RunBegan, Command: &step.Invocation{Command: "airgap upgrade", PID: pid}}
	}
	end := func(minute int) step.Entry { return step.Entry{Time: at(minute), Event: step.RunEnded} }
	runs := runsOf([]step.Entry{began(1, 7), end(2), began(3, 7), end(4), began(5, 8), end(6)})
	if assert.Len(t, runs, 2) {
		assert.Equal(t, []time.Time{at(1), at(4)}, []time.Time{runs[0].Began, runs[0].Ended})
		assert.Equal(t, Done, runs[0].Result)
	}
}

// TestActions: a removal has steps in it, and a command without a lock runs at the same time.
func TestActions(t *testing.T) {
	remove := &step.Invocation{Command: "airgap remove", User: "kim", PID: 7}
	passwd := &step.Invocation{Command: "airgap registry passwd", User: "lee", PID: 9}
	runs := runsOf([]step.Entry{
		{Time: at(1), Event: step.RunBegan, Command: remove, PID: 7},
		{Time: at(1), Event: step.ActionBegan, Step: "remove-node", Title: "Remove w1 from the cluster", Changes: []string{"drain the node"}, PID: 7},
		{Time: at(2), Event: step.RunBegan, Command: remove, PID: 7},
		{Time: at(2), Event: step.Began, Step: "firewalld", PID: 7},
		{Time: at(3), Event: step.RunBegan, Command: passwd, PID: 9},
		{Time: at(3), Event: step.ActionBegan, Step: "registry-user", PID: 9}, {Time: at(3), Event: step.ActionEnded, Step: "registry-user", PID: 9},
		{Time: at(3), Event: step.RunEnded, PID: 9},
		{Time: at(4), Event: step.Ended, Step: "firewalld", PID: 7}, {Time: at(4), Event: step.RunEnded, PID: 7},
		{Time: at(5), Event: step.ActionEnded, Step: "remove-node", Error: "w2 does not answer", PID: 7},
		{Time: at(5), Event: step.RunEnded, Error: "w2 does not answer", PID: 7},
	})
	require.Len(t, runs, 2)
	assert.Equal(t, []string{Failed, "w2 does not answer", Done}, []string{runs[0].Result, runs[0].Error, runs[1].Result})
	require.Len(t, runs[0].Steps, 2)
	want := Step{Step: "remove-node", Title: "Remove w1 from the cluster", Began: at(1), Ended: at(5), Result: Failed}
	want.Error, want.Changes = "w2 does not answer", []string{"drain the node"}
	assert.Equal(t, want, runs[0].Steps[0])
	assert.Equal(t, Done, runs[0].Steps[1].Result)
	require.Len(t, runs[1].Steps, 1)
	assert.Equal(t, Done, runs[1].Steps[0].Result)
}

// TestOrderedRuns: the run of the operator has the runs that it ordered on other hosts, once, and those have the operator.
func TestOrderedRuns(t *testing.T) {
	own := &step.Invocation{Command: "airgap install", User: "kim as root", Host: "node1", PID: 7, ID: "R1"}
	other := &step.Invocation{Command: "airgap install", User: "kim as root", Host: "node1", PID: 9, ID: "R2"}
	there := &step.Invocation{Command: "airgap join", User: "ops as root, for kim@node1", PID: 7, ID: "R3", For: host.Origin{User: "kim", Host: "node1", Run: "R1"}}
	older := &step.Invocation{Command: "airgap join", User: "ops as root", PID: 8}
	ran := func(minute int, c *step.Invocation) []step.Entry {
		return []step.Entry{{Time: at(minute), Event: step.RunBegan, Command: c, PID: c.PID}, {Time: at(minute + 1), Event: step.RunEnded, PID: c.PID}}
	}
	r := &Report{Hosts: []Host{
		{Host: "node1", Runs: runsOf(append(ran(1, own), ran(20, other)...))},
		{Host: "node2", Runs: runsOf(append(ran(3, there), ran(9, older)...))},
	}}
	r.link()
	r.link()
	want := []Ordered{{"node2", "airgap join", at(3), at(4), Done}}
	assert.Equal(t, want, r.Hosts[0].Runs[0].Others)
	for _, run := range append(r.Hosts[0].Runs[1:], r.Hosts[1].Runs...) {
		assert.Empty(t, run.Others, run.ID)
	}
	var text, page strings.Builder
	require.NoError(t, r.Write(&text))
	assert.Contains(t, text.String(), "node1: airgap install, by kim as root, 2026-11-29 22:01:00 to 22:02:00 UTC: done\n"+
		"  on node2: airgap join, 22:03:00 to 22:04:00 UTC: done\n")
	assert.Contains(t, text.String(), "node2: airgap join, by ops as root, for kim@node1, ")
	require.NoError(t, r.HTML(&page))
	assert.Contains(t, page.String(), "<li>node2: airgap join, 22:03:00 to 22:04:00 UTC: done</li>")
}

func TestChoice(t *testing.T) {
	count := func(c Choice) int { return len(c.of(runsOf(journal()))) }
	assert.Equal(t, 4, count(Choice{}))
	assert.Equal(t, 2, count(Choice{Since: at(15)}))
	assert.Equal(t, 1, count(Choice{Last: true}))
	assert.Equal(t, 0, count(Choice{Since: at(40), Last: true}))
}

func TestParseSince(t *testing.T) {
	now := at(30)
	for text, want := range map[string]time.Time{"8h": now.Add(-8 * time.Hour), "2026-11-29T22:15:00Z": at(15)} {
		got, err := ParseSince(text, now)
		assert.NoError(t, err)
		assert.True(t, got.Equal(want), "%s: %s", text, got)
	}
	if day, err := ParseSince("2026-11-29", now); assert.NoError(t, err) {
		assert.Equal(t, 29, day.Day())
	}
	for _, text := range []string{"-8h", "yesterday", "29.11.2026", "8"} {
		_, err := ParseSince(text, now)
		assert.ErrorContains(t, err, "expected a duration such as 8h", text)
	}
}

// example has the runs of the journal, and hosts without a change or without an answer.
func example() *Report {
	return &Report{Hosts: []Host{{Host: "node1", Runs: runsOf(journal())}, {Host: "node2"}, {Host: "node3", Error: "connect: timed out"}}}
}

func TestWrite(t *testing.T) {
	var b strings.Builder
	require.NoError(t, example().Write(&b))
	assert.Contains(t, b.String(), `node1: airgap install, by kim as root from 10.0.0.9, 2026-11-29 22:10:00 to 22:12:00 UTC: failed
  22:10:00  done         modules           Load kernel modules
              write /etc/modules-load.d/airgap.conf (new)
  22:11:00  failed       packages          Install packages
              install containerd.io-2.1.4
              error: no room
`)
	assert.True(t, strings.HasSuffix(b.String(), "node2: no recorded change\nnode3: unknown: connect: timed out\n"), b.String())
}

// TestHTMLShowsForeignTextAsText: another host's report cannot add elements to the page.
func TestHTMLShowsForeignTextAsText(t *testing.T) {
	const evil = `<script>alert(1)</script>`
	r := &Report{Hosts: []Host{{Host: evil, Error: evil}, {Host: evil, Runs: []Run{{Command: evil, User: evil, From: evil, Result: evil,
		Steps: []Step{{Title: evil, Result: evil, Changes: []string{evil}, Error: evil}}, Others: []Ordered{{Host: evil, Command: evil, Result: evil}}}}}}}
	var b strings.Builder
	require.NoError(t, r.HTML(&b))
	assert.NotContains(t, b.String(), "<script")
	assert.GreaterOrEqual(t, strings.Count(b.String(), "&lt;script"), 12)
}

// TestSave: openssl accepts the signature, and the checksums cover both files.
func TestSave(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "change")
	keys := t.TempDir()
	_, err := bundle.LoadOrCreateKey(keys)
	require.NoError(t, err)
	require.NoError(t, example().save(dir, filepath.Join(keys, "airgap.key")))
	for _, command := range [][]string{
		{"openssl", "dgst", "-sha256", "-verify", "airgap.pub", "-signature", "SHA256SUMS.sig", "SHA256SUMS"},
		{"sha256sum", "--check", "--strict", "SHA256SUMS"},
	} {
		cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		assert.NoError(t, err, "%s: %s", command, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "report.json"))
	require.NoError(t, err)
	var back Report
	require.NoError(t, json.Unmarshal(text, &back))
	assert.Equal(t, "airgap install", back.Hosts[0].Runs[1].Command)
	assert.Error(t, example().save(dir, filepath.Join(keys, "airgap.key")), "an existing report is not replaced")
}

// TestWriteGroupsHosts: 100 hosts with the same steps are one entry, with the time of all of them. Only their names differ.
func TestWriteGroupsHosts(t *testing.T) {
	r := &Report{}
	for i := range 100 {
		name := fmt.Sprintf("node%03d", i+1)
		run := Run{Command: "airgap join --node " + name, User: "root", Began: at(i % 30), Ended: at(i%30 + 9), Result: Failed}
		run.Steps = []Step{{Step: "packages", Title: "Install packages", Began: at(i%30 + 1), Result: Failed, Error: name + ": no space"}}
		r.Hosts = append(r.Hosts, Host{Host: name, Runs: []Run{run}})
	}
	r.Hosts[41].Runs[0].Steps[0].Error = "disk error"
	r.Hosts[42] = Host{Host: "node043", Error: "dial node043: refused"}
	r.Hosts[43] = Host{Host: "node044", Error: "dial node044: refused"}
	var b strings.Builder
	require.NoError(t, r.Write(&b))
	assert.Equal(t, `node[001-041,045-100] (97 hosts): airgap join --node HOST, by root, 2026-11-29 22:00:00 to 22:38:00 UTC: failed
  failed       packages          Install packages
              error: HOST: no space
node042: airgap join --node node042, by root, 2026-11-29 22:11:00 to 22:20:00 UTC: failed
  22:12:00  failed       packages          Install packages
              error: disk error
node[043-044] (2 hosts): unknown: dial HOST: refused
`, b.String())
}

// TestWriteOfHostileHost: a host that is in wrong hands sends a run with the text of two runs of another host.
func TestWriteOfHostileHost(t *testing.T) {
	ran := func(command string) Run {
		return Run{Command: command, User: "root", Began: at(0), Ended: at(9), Result: Done}
	}
	r := &Report{Hosts: []Host{
		{Host: "node1", Runs: []Run{ran("airgap install"), ran("airgap verify")}},
		{Host: "node2", Runs: []Run{ran("airgap install, by root, \x01: done\n\x00: airgap verify")}},
	}}
	var b strings.Builder
	require.NoError(t, r.Write(&b))
	assert.NotContains(t, b.String(), "2 hosts")
}
