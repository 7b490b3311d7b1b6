package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/cluster/fleet/access"
	"airgap.dev/airgap/cluster/fleet/choice"
	"airgap.dev/airgap/cluster/owed"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/remote/sshtest"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/preflight"
)

const (
	build = "0123" // of airgap.rpm

	passes  = `{"host":"x","worst":"pass","results":[{"id":"swap","status":"pass"}]}`
	failing = `{"host":"x","worst":"fail","results":[{"id":"swap","status":"fail","found":"8 GiB of swap","fix":"swapoff -a"}]}`
)

// rack is hosts over SSH whose airgap is a script.
type rack struct {
	*Fleet

	servers []*sshtest.Server
	record  owed.File
	dir     string // a file for each host has the commands that ran there
}

// hostScript is airgap on a host. $1 is the command.
type hostScript struct{ membership, preflight, join string }

func healthy() hostScript {
	return hostScript{`echo '{"joined":false}'`, "echo '" + passes + "'", `echo '{"node":"x","changed":3}'`}
}

// rackOf returns this many hosts, node2 and so on, on which everything works.
func rackOf(t *testing.T, count int, c choice.Choice) *rack {
	t.Helper()
	key := sshtest.NewKey(t)
	r := &rack{record: owed.File(filepath.Join(t.TempDir(), "owed.json")), dir: t.TempDir()}
	for range count {
		s := sshtest.Serve(t, sshtest.AllowAll, key)
		s.Root(t)
		s.Program(t, "rpm", "echo "+build)
		r.servers = append(r.servers, s)
	}
	r.Fleet = fleetOf(t, nil, r.servers...)
	cluster := r.site.Config
	cluster.Nodes = []config.Node{{Name: "node1", Roles: []config.Role{config.ControlPlane}}}
	for i, m := range r.Members {
		m.host.HostKey = ssh.FingerprintSHA256(key.PublicKey())
		m.Node.Roles = []config.Role{config.Worker}
		cluster.Nodes = append(cluster.Nodes, m.Node)
		r.is(t, i, healthy())
	}
	r.site.Node, r.site.Index = cluster.Nodes[0], &bundle.Index{}
	r.choose(t, c)
	return r
}

// choose applies the flags as New does.
func (r *rack) choose(t *testing.T, c choice.Choice) {
	t.Helper()
	p, others, err := newPolicy(r.site, Options{Choice: c, Choosable: true})
	require.NoError(t, err)
	p.fleet, r.Policy = r.Fleet, p
	r.Members = slices.DeleteFunc(r.Members, func(m *Member) bool {
		return !slices.ContainsFunc(others, func(n config.Node) bool { return n.Name == m.Node.Name })
	})
}

// is sets the script of a host.
func (r *rack) is(t *testing.T, i int, h hostScript) {
	t.Helper()
	r.servers[i].Program(t, "airgap", fmt.Sprintf("echo $1 >>%s/%d; case $1 in membership) %s;; preflight) %s;; join) %s;; esac", r.dir, i, h.membership, h.preflight, h.join))
}

// breaks makes four hosts fail at four stages.
func (r *rack) breaks(t *testing.T) {
	t.Helper()
	r.Members[1].host.Port = 1 // node3: no process listens on it
	h := healthy()
	h.membership = "echo 'airgap: error: read /etc: input/output error' >&2; exit 1"
	r.is(t, 2, h) // node4
	h = healthy()
	h.preflight = "echo '" + failing + "'; exit 3"
	r.is(t, 3, h) // node5
	h = healthy()
	h.join = "echo 'airgap: error: step packages: no space' >&2; exit 1"
	r.is(t, 4, h) // node6
}

// install does what airgap install does with other hosts, except for the measurement of the network.
func (r *rack) install(t *testing.T) ([]Joined, error) {
	t.Helper()
	ctx := t.Context()
	if err := r.Connect(ctx); err != nil {
		return nil, err
	}
	reports, err := prepareWith(ctx, r.Fleet, tools{program: programRPM{header: build}}, ui.Discard())
	if err != nil {
		return nil, err
	}
	own := preflight.Report{Host: "node1", Worst: preflight.Pass}
	if _, goOn := r.Policy.withoutFailed(own, reports); !goOn {
		return nil, allPass(append(preflight.Reports{own}, reports...), ui.Discard())
	}
	joined := joinBy(ctx, r.Fleet, ui.Discard(), func(ctx context.Context, m *Member, _ ui.Host, result *Joined) error {
		var run RemoteRun
		if err := m.Run(ctx, &run, nil, "", "join"); err != nil {
			return err
		}
		return readResult(run.stdout.Bytes(), result)
	})
	return joined, r.Policy.Settle(ctx, r.record, owed.Join, "did not join", "run it again")
}

// owes returns the nodes of the record, with the beginning of the reason.
func (r *rack) owes(t *testing.T) map[string]string {
	t.Helper()
	debts, err := r.record.Read()
	require.NoError(t, err)
	all := map[string]string{}
	for _, d := range debts {
		assert.Equal(t, owed.Join, d.Command)
		all[d.Node] = d.Why
	}
	return all
}

func (r *rack) joins(i int) bool {
	text, _ := os.ReadFile(filepath.Join(r.dir, strconv.Itoa(i))) // none: it was asked nothing
	return strings.Contains(string(text), "join")
}

// TestGoesOnWithoutFailedHosts: four of twelve hosts fail at different stages. The rest joins, the four are owed, and the
// next run picks them up.
func TestGoesOnWithoutFailedHosts(t *testing.T) {
	t.Parallel() // it waits for a refused connection
	r := rackOf(t, 12, choice.Choice{MaxFailures: 4})
	r.breaks(t)
	port := r.Members[1].host.Port
	joined, err := r.install(t)
	incomplete, is := errors.AsType[*IncompleteError](err)
	require.True(t, is, "got %v", err)
	assert.Len(t, incomplete.Left, 4)
	for _, want := range []string{
		"4 of 12 other hosts left out, after a failure\n", "\n  node3: login failed: ", "\n  node4: preparation failed: read /etc: input/output error",
		"\n  node5: not ready: preflight failed: swap\n    swap: 8 GiB of swap; swapoff -a", "\n  node6: did not join: step packages: no space",
	} {
		assert.ErrorContains(t, err, want)
	}
	assert.Contains(t, advice.Of(err), "run the same command again: it picks these hosts up")
	done := 0
	for _, j := range joined {
		if j.Error == "" && j.Changed == 3 {
			done++
		}
	}
	assert.Equal(t, 8, done)
	owes := r.owes(t)
	assert.Len(t, owes, 4)
	assert.Contains(t, owes["node3"], "login failed: ")
	assert.Equal(t, "did not join: step packages: no space", owes["node6"])

	again := rackOf(t, 12, choice.Choice{MaxFailures: 4})
	again.record = r.record
	assert.NotEqual(t, port, again.Members[1].host.Port)
	_, err = again.install(t)
	require.NoError(t, err)
	assert.Empty(t, again.owes(t))
}

// TestTooManyFail: beyond --max-failures nothing goes on.
func TestTooManyFail(t *testing.T) {
	t.Parallel() // it waits for refused connections
	r := rackOf(t, 12, choice.Choice{MaxFailures: 2})
	r.breaks(t)
	_, err := r.install(t)
	_, is := errors.AsType[*preflight.ReportsError](err)
	assert.True(t, is, "got %v", err)
	for i := range r.servers {
		assert.False(t, r.joins(i), i)
	}
	assert.Contains(t, advice.Of(r.Policy.wayOut(err, r.Policy.failed())), "3 hosts failed, and --max-failures allows 2")
	assert.Empty(t, r.owes(t))

	r = rackOf(t, 12, choice.Choice{MaxFailures: 3})
	r.breaks(t)
	r.site.Config.SSH.Parallel = 1
	joined, err := r.install(t)
	_, is = errors.AsType[*IncompleteError](err)
	assert.False(t, is)
	assert.ErrorContains(t, err, "did not join")
	assert.Contains(t, advice.Of(err), "4 hosts failed, and --max-failures allows 3")
	assert.False(t, r.joins(5), "the host after the fourth failure")
	assert.Equal(t, "not started: more than 3 hosts failed (--max-failures)", joined[len(joined)-1].Error)
	assert.Len(t, r.owes(t), 11, "all but node2")
}

// TestNoneMayFail: without --max-failures, the first failure stops the command before any change, and says how to go on.
func TestNoneMayFail(t *testing.T) {
	t.Parallel() // it waits for refused connections
	r := rackOf(t, 3, choice.Choice{})
	r.Members[0].host.Port, r.Members[1].host.Port = 1, 1
	_, err := r.install(t)
	assert.ErrorContains(t, err, "2 of 3 other hosts: login failed")
	assert.Contains(t, advice.Of(err), "use --except node[2-3] or --max-failures 2")
	assert.Empty(t, r.owes(t))
}

// TestControlPlaneHostFails: a control-plane host counts as more than a failure.
func TestControlPlaneHostFails(t *testing.T) {
	t.Parallel() // it waits for a refused connection
	r := rackOf(t, 3, choice.Choice{MaxFailures: 3})
	r.Members[0].Node.Roles = []config.Role{config.ControlPlane}
	r.Members[0].host.Port = 1
	_, err := r.install(t)
	assert.ErrorContains(t, err, "1 of 3 other hosts: login failed")
	assert.Contains(t, advice.Of(err), "to go on without the control-plane host node2, which the others then lack as a member of etcd")

	p, _, err := newPolicy(r.site, Options{Choosable: true, AllControlPlanes: true})
	require.NoError(t, err)
	way := advice.Of(p.wayOut(errors.New("login failed"), r.Members[:1]))
	assert.Contains(t, way, "to go on without node2, remove it from the cluster: airgap remove node2 --force")
	assert.NotContains(t, way, "--except", "upgrade and rollback refuse it")
}

// TestLeftOutByUser: hosts that the user leaves out, and absent ones, are asked nothing. Only the former are owed.
func TestLeftOutByUser(t *testing.T) {
	r := rackOf(t, 4, choice.Choice{})
	r.site.Config.Nodes[4].Absent = &config.Absent{Reason: "not delivered"}
	require.NoError(t, r.record.Owe(owed.Debt{Node: "node5", Command: owed.Join}, owed.Debt{Node: "node2", Command: owed.Join},
		owed.Debt{Node: "node4", Command: owed.Join, Why: "login failed: refused"}))
	r.choose(t, choice.Choice{Limit: []string{"node[2-3]"}, Except: []string{"node3"}})
	joined, err := r.install(t)
	require.NoError(t, err)
	require.Len(t, joined, 1)
	assert.Equal(t, map[string]string{"node3": "left out with --except", "node4": "login failed: refused"}, r.owes(t), "the reason of the first run stays")
	for i, wants := range []bool{true, false, false, false} {
		assert.Equal(t, wants, r.servers[i].Asked() != "", i)
	}
	assert.Equal(t, []LeftOut{
		{Node: "node3", Why: "left out with --except"}, {Node: "node4", Why: "left out with --limit"}, {Node: "node5", Why: "absent: not delivered", Absent: true},
	}, r.Policy.LeftOut())
}

// TestOldNodeDoesNotStopNewOnes: the failed check of a node is reported, and new hosts join.
func TestOldNodeDoesNotStopNewOnes(t *testing.T) {
	old := healthy()
	old.membership, old.preflight = `echo '{"joined":true}'`, "echo '"+failing+"'; exit 3"
	r := rackOf(t, 3, choice.Choice{})
	r.is(t, 0, old)
	r.tolerant = true
	_, err := r.install(t)
	assert.ErrorContains(t, err, "1 of 3 other hosts left out, after a failure\n  node2: a node, whose checks do not stop new nodes: preflight failed: swap\n    swap: 8 GiB of swap")
	assert.False(t, r.joins(0))
	assert.True(t, r.joins(1) && r.joins(2))
	assert.Contains(t, r.owes(t), "node2")

	for name, is := range map[string]func(r *rack){
		"a command that adds nothing": func(r *rack) { r.tolerant = false },
		"no new host":                 func(r *rack) { r.Members = r.Members[:1] },
		"a control-plane host":        func(r *rack) { r.Members[0].Node.Roles = []config.Role{config.ControlPlane} },
	} {
		r := rackOf(t, 2, choice.Choice{})
		r.is(t, 0, old)
		r.tolerant = true
		is(r)
		_, err := r.install(t)
		_, failed := errors.AsType[*preflight.ReportsError](err)
		assert.True(t, failed, "%s: %v", name, err)
	}
}

// TestNotReadyNode: a node that is not Ready and does not answer is named with the way out.
func TestNotReadyNode(t *testing.T) {
	t.Parallel() // it waits for a refused connection
	f, m, _, api := enrolling(t)
	api.nodes = `{"apiVersion":"v1","kind":"NodeList","items":[{"metadata":{"name":"node2"},"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}}]}`
	m.hangUp()
	m.host.Port = 1
	err := f.Connect(t.Context())
	assert.ErrorContains(t, err, "its node is not Ready")
	assert.ErrorContains(t, err, "airgap remove node2 --force removes the node")
	assert.NotContains(t, err.Error()+advice.Of(err), "--except", "the command has no such flag")
	r := &rack{Fleet: f}
	f.site.Config.Nodes, f.site.Node = []config.Node{{Name: "node1"}, m.Node}, config.Node{Name: "node1"}
	r.choose(t, choice.Choice{})
	err = f.Connect(t.Context())
	assert.ErrorContains(t, err, "leave it out with --except node2")
	assert.Contains(t, advice.Of(err), "use --except node2 or --max-failures 1")

	m.Node.Roles, f.Policy.masters = []config.Role{config.ControlPlane}, true
	err = f.Connect(t.Context())
	assert.ErrorContains(t, err, "airgap remove node2 --force removes the node")
	assert.NotContains(t, err.Error()+advice.Of(err), "--except", "the command cannot leave out a control-plane host")
}

// TestCurrentNodesAreNotOwed: a node that the user leaves out and that has this bundle already is owed nothing.
func TestCurrentNodesAreNotOwed(t *testing.T) {
	f, m, _, api := enrolling(t)
	f.site.Index = bundletest.New(t).Open(t).Index()
	f.site.Config.Nodes = []config.Node{{Name: "node1"}, m.Node, {Name: "node3"}}
	f.site.Node = f.site.Config.Nodes[0]
	note := fmt.Sprintf(`"annotations":{%q:%q}`, site.BundleNote, f.site.Index.ID())
	api.nodes = `{"apiVersion":"v1","kind":"NodeList","items":[{"metadata":{"name":"node2",` + note + `}},{"metadata":{"name":"node3"}}]}`
	r := &rack{Fleet: f, record: owed.File(filepath.Join(t.TempDir(), "owed.json"))}
	r.choose(t, choice.Choice{Limit: []string{"node1"}})
	require.NoError(t, f.Policy.Settle(t.Context(), r.record, owed.Join, "", ""))
	assert.Equal(t, map[string]string{"node3": "left out with --limit"}, r.owes(t))
}

// TestCheckChoice: without SSH there is no host to choose.
func TestCheckChoice(t *testing.T) {
	r := rackOf(t, 1, choice.Choice{})
	assert.NoError(t, CheckChoice(t.Context(), r.site, choice.Choice{Limit: []string{"node2"}, MaxFailures: 1}, false))
	assert.ErrorContains(t, CheckChoice(t.Context(), r.site, choice.Choice{Limit: []string{"node9"}}, false), "no node node9")
	assert.ErrorContains(t, CheckChoice(t.Context(), r.site, choice.Choice{Limit: []string{"node2"}}, true), "choose hosts that airgap reaches through SSH")
	assert.NoError(t, CheckChoice(t.Context(), r.site, choice.Choice{}, true))
	assert.True(t, advice.IsUsage(CheckChoice(t.Context(), r.site, choice.Choice{MaxFailures: 1}, true)))

	without, config := *r.site, *r.site.Config
	without.Config, config.SSH = &config, nil
	one := choice.Choice{MaxFailures: 1}
	assert.ErrorContains(t, CheckChoice(t.Context(), &without, one, false), "choose hosts that airgap reaches through SSH")
	assert.NoError(t, CheckChoice(access.WithFile(t.Context(), "/etc/site/ssh.yaml"), &without, one, false), "a file of the site has the section ssh")
}

// TestWriteLeftOutGroups: 50 dead hosts have one line. Their errors differ only in their names and addresses.
func TestWriteLeftOutGroups(t *testing.T) {
	var all []LeftOut
	for i := 1; i <= 50; i++ {
		name, address := fmt.Sprintf("node%03d", i), fmt.Sprintf("10.0.0.%d", i)
		all = append(all, FailedHost(name, address, fmt.Errorf("login failed: log in on %s: dial tcp %s:22: no route to host", name, address)))
	}
	var b strings.Builder
	WriteLeftOut(&b, append(all, LeftOut{Node: "w1", Why: "left out with --limit"}))
	assert.Equal(t, "node[001-050]: left out: login failed: log in on HOST: dial tcp HOST:22: no route to host\nw1: left out with --limit\n", b.String())
}
